# What the scenarios share. Each scenario is a sub that checks with Test::More and returns the rows of
# the table; `ids` is how many ids a row shall have at least.
package Torture::Scenario;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use lib dirname(__FILE__) . '/../../..';
use Constants;
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Server;
use Torture::Session;

our @EXPORT = qw($max_ahead $longest_move $year_2000 $horizon_moment row pause_for draw_first waited wait_until caught_up);

our $max_ahead = seconds('assumed_ahead_us');
our $longest_move = seconds('extension_us');    # of the horizon
our $year_2000 = 946_684_800_000_000;    # PostgreSQL's epoch, in microseconds since 1970

# How far the horizon allows ids, in microseconds since 1970.
our $horizon_moment = $Torture::Server::plain ? 'SELECT last_value FROM flakeid_plain.bound' : 'SELECT greatest(plain_horizon, back_horizon & ((1::bigint << 56) - 1)) FROM flakeid.state';

# How many draws of a server waited until they had an id, and how many seconds, as it counted them.
sub waited
{
	my ($server) = @_;
	my $answer = $server->connect->run('SELECT waits, extract(epoch FROM wait_time) FROM flakeid.stats');
	return @{ $answer->{rows}[0] };
}

# Waits for a condition; false when it does not come true in minutes.
sub wait_until
{
	my ($condition) = @_;
	my $until = Torture::Session::steady() + 180;
	until ($condition->())
	{
		return 0 if Torture::Session::steady() > $until;
		sleep 0.02;
	}
	return 1;
}

# Whatever the one wrote has come to the other.
sub caught_up
{
	my ($from, $to) = @_;
	my $lsn = $from->value('postgres', 'SELECT pg_current_wal_flush_lsn()');
	wait_until(sub { $to->value('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'") eq 't' }) or die "the standby does not catch up\n";
	return;
}

# Checks what must hold of every draw and makes a row of it. Options: ahead and longest, other than
# the settings' defaults; nodes, where there are several; server, the one that they were drawn from,
# when it still runs. How long a statement took depends on the machine and is only told.
sub row
{
	my ($scenario, $draws, $what, %o) = @_;
	my $judged = $draws->judge;
	my $name = "$scenario, $draws->{layout}";
	is($judged->{repeated}, 0, "$name: no id twice among $judged->{ids}");
	delete $judged->{disorder} if $o{nodes};    # only the ids of one node are in order
	is($judged->{disorder}, 0, "$name: in order") if defined $judged->{disorder};
	cmp_ok($judged->{ahead}, '<=', $o{ahead} // $max_ahead, "$name: not further ahead than max_ahead");
	if ($o{server} && !$Torture::Server::plain)    # which counts no waits
	{
		my ($waits, $seconds) = waited($o{server});
		my $most = $waits * ($o{longest} // $max_ahead + $longest_move);
		cmp_ok($seconds, '<=', $most, "$name: $waits waits, none too long if they are alike");
	}
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

# Draws the first ids of a run, where need be after the clock has come near enough to the horizon. Returns when the first
# was asked for, by the clock of its session.
sub draw_first
{
	my ($draws, $server, $database) = @_;
	my $session = $server->connect($database);
	for (1 .. 120)
	{
		my $answer = $draws->draw($session, 10);
		return ($answer->{drawn}[0][0] + $year_2000) / 1e6 if !$answer->{code};
		die "$answer->{code} $answer->{message}\n" if $answer->{code} ne '55000';
		$server->move_clock(0.5);
	}
	die "the clock came near the horizon of $database, and no ids\n";
}

1;
