# What the scenarios share. Each scenario is a sub that checks with Test::More and returns the rows of
# the table; `ids` is how many ids a row shall have at least.
package Torture::Scenario;

use strict;
use warnings;

use Exporter 'import';
use Test::More;

our @EXPORT = qw($max_ahead $slack $year_2000 $horizon_moment row pause_for draw_first);

our $max_ahead = 5;
our $slack = 1;    # s, for a busy machine
our $year_2000 = 946_684_800_000_000;    # PostgreSQL's epoch, in microseconds since 1970

# How far the horizon allows ids, in microseconds since 1970.
our $horizon_moment = 'SELECT greatest(plain_horizon, back_horizon & ((1::bigint << 56) - 1)) FROM flakeid.state';

# Checks what must hold of every draw and makes a row of it. Options: ahead and longest, other than
# the settings' defaults; nodes, where there are several.
sub row
{
	my ($scenario, $draws, $what, %o) = @_;
	my $judged = $draws->judge;
	my $name = "$scenario, $draws->{layout}";
	is($judged->{repeated}, 0, "$name: no id twice among $judged->{ids}");
	delete $judged->{disorder} if $o{nodes};    # only the ids of one node are in order
	is($judged->{disorder}, 0, "$name: in order") if defined $judged->{disorder};
	cmp_ok($judged->{ahead}, '<=', $o{ahead} // $max_ahead, "$name: not further ahead than max_ahead");
	cmp_ok($judged->{longest}, '<=', $o{longest} // $max_ahead + 2 + $slack, "$name: nobody waited longer");
	is_deeply([ grep { $_ ne '55000' && !/^57/ } keys %{ $judged->{errors} } ],
		[], "$name: no other errors than told") or diag explain $judged->{messages};
	cmp_ok($judged->{ids}, '>=', $o{ids}, "$name: enough ids") if $o{ids};
	note explain $judged;
	return { %$judged, scenario => $scenario, what => $what };
}

# Sessions of a layout with few ids a second pause, so that the clock and not the sequence rules.
sub pause_for
{
	my ($layout) = @_;
	return $layout eq 'sonyflake' ? 0.05 : $layout eq 'randflake' ? 0.01 : 0;
}

# Draws the first ids of a run, where need be after the clock has come near enough to the horizon.
sub draw_first
{
	my ($draws, $server, $database) = @_;
	my $session = $server->connect($database);
	for (1 .. 40)
	{
		my $answer = $draws->draw($session, 10);
		return 1 if !$answer->{code};
		die "$answer->{code} $answer->{message}\n" if $answer->{code} ne '55000';
		$server->move_clock(0.5);
	}
	die "the clock came near the horizon of $database, and no ids\n";
}

1;
