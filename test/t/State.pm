# What the tests of the durable state share: a server whose clock is moved, and the life of a row:
# ids, what is done to the state, ids, kill -9, the clock set back, ids.
package State;
use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use File::Spec ();
use lib dirname(File::Spec->rel2abs(__FILE__)) . '/../torture/lib';
use Test::More;
use Torture::Draws;
use Torture::Server;

our @EXPORT = qw(horizon survives judged accepted refused);

my $set_back = 20;    # s; less than the max_ahead of these servers

# Both horizons of a database.
sub horizon
{
	my ($server, $database) = @_;
	my $answer = $server->connect($database)->run('SELECT plain_horizon, back_horizon FROM flakeid.state');
	return $answer->{rows}[0] // [ 0, 0 ];
}

sub accepted
{
	my ($server, $sql, $what, $database) = @_;
	my $answer = $server->connect($database)->run($sql);
	is($answer->{code} // ($answer->{lost} ? 'lost' : ''), '', $what) or diag $answer->{message};
	return $answer->{rows};
}

sub refused
{
	my ($server, $sql, $code, $what, $database) = @_;
	my $answer = $server->connect($database)->run($sql);
	is($answer->{code}, $code, $what) or diag $answer->{message} // 'no error';
	return $answer;
}

# Draws so many ids, all above the last ones.
sub above
{
	my ($server, $draws, $database, $count, $what) = @_;
	my $answer = $draws->draw($server->connect($database), $count);
	is(@{ $answer->{drawn} }, $count, "$what: ids go on") or diag $answer->{message} // 'connection lost';
	my $last = $draws->{last}{$database};
	if ($last && @{ $answer->{drawn} })
	{
		my $first = $answer->{drawn}[0];
		cmp_ok($first->[1], '>', $last->[1], "$what: above the last one") if $draws->{shape}{ordered};
		cmp_ok($first->[3], '>=', $last->[3], "$what: in no earlier tick") if !$draws->{shape}{ordered};
	}
	$draws->{last}{$database} = $answer->{drawn}[-1] // $last;
	return;
}

# A row. `action` is done while others draw, or to a server where nobody does (alone). Options: ids
# (drawn after it), database. Few ids do: the first one after a start is held against the last one before it.
sub survives
{
	my ($server, $draws, $what, $action, %o) = @_;
	my $database = $o{database} // 'd1';
	above($server, $draws, $database, 300, "$what, before");
	my $before = horizon($server, $database);
	$draws->start($server, databases => [$database], sessions => 2, batch => 50, pause => 0.01) if !$o{alone};
	$action->();
	my $after = horizon($server, $database);
	ok($after->[$_] >= $before->[$_], "$what: horizon $_ is not lower") or diag "$after->[$_] after $before->[$_]" for 0, 1;
	above($server, $draws, $database, $o{ids} // 300, "$what, after");
	$server->kill_all;
	$draws->stop if !$o{alone};    # also whoever found no server any more
	$draws->next_run;
	$server->move_clock(-$set_back);
	$server->start;
	above($server, $draws, $database, 500, "$what, killed and set back");
	$server->move_clock($set_back);
	return;
}

# All that was drawn is told apart.
sub judged
{
	my ($draws, $what, $least, @errors) = @_;
	my $judged = $draws->judge;
	is($judged->{repeated}, 0, "$what: no id twice among $judged->{ids}");
	cmp_ok($judged->{ids}, '>=', $least, "$what: of at least $least");
	is($judged->{disorder} // 0, 0, "$what: in order");
	is_deeply([ grep { my $code = $_; !grep { $code =~ $_ } qr/^57/, @errors } keys %{ $judged->{errors} } ],
		[], "$what: no errors but those told") or diag explain $judged->{messages};
	return $judged;
}

1;
