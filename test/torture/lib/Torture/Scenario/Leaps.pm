# A clock that leaps forward, and the back field.
package Torture::Scenario::Leaps;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max);
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;

our @EXPORT = qw(leaps back_field);

# A clock that leapt forward is refused before an id carries its time; a database whose horizon
# lies in the future can be repaired.
sub leaps
{
	my ($layout, %o) = @_;
	my $day = 86400;
	my $name = "leaps, $layout";
	my $server = Torture::Server->create(layout => $layout, databases => 2, conf => 'flakeid.when_ahead = error');
	my $draws = Torture::Draws->new($layout);
	my ($first) = @{ $server->{databases} };
	my $draw = sub { return $draws->draw($server->connect($first), 10) };
	$draws->start($server, sessions => 8, batch => 20, pause => max(0.005, pause_for($layout)));
	sleep 1.2;
	my $log = $server->log_size;

	$server->move_clock(1.1 * $day);
	my $answer = $draw->();
	is($answer->{code}, '55000', "$name: a leap of more than a day is refused");
	like($answer->{message}, qr/ran ahead of the uptime clock by/, "$name: says so");
	like($answer->{detail}, qr/wall clock says .* uptime clock/, "$name: shows both clocks");
	like($answer->{hint}, qr/flakeid.accept_clock/, "$name: and the way out");
	sleep 1.2;
	$server->move_clock(-1.1 * $day);
	$answer = $draw->();
	is($answer->{code}, undef, "$name: no id was stamped there") or diag $answer->{message};
	sleep 1.2;
	my $said = $server->log($log);
	is(() = $said =~ /LOG:  the clock leapt forward by/g, 1, "$name: one line of log for the leap");
	is(() = $said =~ /LOG:  the clock was set back by/g, 1, "$name: and one for the way back")
	  or diag $said;

	# Small leaps add up.
	my $leaps = 0;
	while ($leaps < 8)
	{
		$server->move_clock(0.25 * $day);
		sleep 1.3;
		$answer = $draw->();
		last if $answer->{code};
		$leaps++;
	}
	cmp_ok($leaps, '<=', 4, "$name: small leaps add up");
	is($answer->{code}, '55000', "$name: and are refused");
	$server->value('postgres', 'CREATE ROLE clerk');
	is($server->connect($first)->run('SET ROLE clerk; SELECT flakeid.accept_clock()')->{code}, '42501', "$name: not everyone may accept a clock");
	$server->value($first, 'SELECT flakeid.accept_clock()');
	sleep 1.2;
	$answer = $draw->();
	is($answer->{code}, undef, "$name: accepted") or diag $answer->{message};

	# Two days too far, accepted by mistake: the way back.
	$server->move_clock(2 * $day);
	$server->value($first, 'SELECT flakeid.accept_clock()');
	sleep 1.2;
	is($draw->()->{code}, undef, "$name: two days ahead");
	sleep 0.2 while $draws->drawn < ($o{ids} // 0);
	$draws->stop;
	$server->move_clock(-2 * $day);
	my $right = $server->{offset};
	$answer = $draw->();
	if ($layout eq 'rollback2')
	{
		is($answer->{code}, undef, "$name: the back field is raised") or diag $answer->{message};
	}
	else
	{
		is($answer->{code}, '55000', "$name: no ids two days later");
		my $session = $server->connect($first);
		is($session->run('SET ROLE clerk; SELECT flakeid.repair_horizon()')->{code}, '42501', "$name: not everyone may repair a horizon");
		for my $database (@{ $server->{databases} })    # each made ids there
		{
			$server->value('postgres', "ALTER DATABASE $database SET flakeid.node = 8");
			is($server->value($database, 'SELECT flakeid.repair_horizon()'), 't', "$name: repaired $database");
		}
		is($server->value($first, 'SELECT flakeid.repair_horizon()'), 'f', "$name: which was needed once");
		my $offset = $server->{offset};
		draw_first($draws, $server, $first);
		cmp_ok($server->{offset} - $offset, '<=', 1, "$name: ids again, with another node");
		$server->kill_all;
		$server->start;
		$draws->next_run;
		draw_first($draws, $server, $first);
		cmp_ok($server->{offset} - $right, '<', 30, "$name: at the right time, after a crash too");

		$server->value($first, "SELECT flakeid.raise_horizon(clock_timestamp() + '1 day')");
		is($draw->()->{code}, '55000', "$name: a horizon raised by a day");
		is($server->connect($first)->run('SELECT flakeid.repair_horizon()')->{code}, '55000', "$name: its node may have made ids there");
		is($server->value($first, 'SELECT flakeid.repair_horizon(none_kept => true)'), 't', "$name: repaired where none was kept");
		draw_first($draws, $server, $first);
		cmp_ok($server->{offset} - $right, '<', 60, "$name: at the right time");
	}
	my $row = row('leaps', $draws,
		'leaps of 1.1 days and of 6 h that add up; flakeid.accept_clock(); two days ahead by mistake, flakeid.repair_horizon() with another node', nodes => 2, server => $server);
	$server->drop;
	return $row;
}

# The back field: raised instead of waiting, until it is used up; its count survives everything.
sub back_field
{
	my ($layout, %o) = @_;
	my $server = Torture::Server->create(layout => $layout, conf => 'flakeid.when_ahead = error');
	my $draws = Torture::Draws->new($layout);
	my ($first) = @{ $server->{databases} };
	my $most = $layout eq 'rollback2' ? 3 : 7;
	my $n = int(($o{ids} // 0) / (2 * $most)) + 10;
	my $back = sub {
		my ($database) = @_;
		my $session = $server->connect($database);
		my $answer = $draws->draw($session, $n);
		return $answer->{code} ? "$answer->{code}" : $session->value("SELECT flake_field($answer->{drawn}[-1][1], 'back')");
	};
	is($back->($first), 0, "back field, $layout: 0 at first");
	for my $count (1 .. $most)
	{
		sleep 0.2;
		$server->move_clock(-100);
		is($back->($first), $count, "back field, $layout: $count after $count set-backs");
		my $how = ('kill', 'fast', 'immediate')[ $count % 3 ];
		$how eq 'kill' ? $server->kill_all : $server->stop($how);
		$draws->next_run;
		$server->start;
		draw_first($draws, $server, $first);
		is($back->($first), $count, "back field, $layout: still $count after $how");
	}
	$server->move_clock(-100);
	is($back->($first), '55000', "back field, $layout: used up");
	like($server->connect($first)->run('SELECT flake_next()')->{hint}, qr/0 of its values left/, "back field, $layout: and says so");
	$server->move_clock(100);
	is($back->($first), $most, "back field, $layout: goes on when the clock is back");
	my $row = row('back field', $draws, "$most set-backs of 100 s with kill -9, fast and immediate shutdown after each, then one more", %o, server => $server);
	$server->drop;
	return $row;
}

1;
