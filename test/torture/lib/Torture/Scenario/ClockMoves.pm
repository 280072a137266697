# The clock is moved under sessions that draw.
package Torture::Scenario::ClockMoves;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(shuffle);
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;

our @EXPORT = qw(clock_moves session_cache);

# The clock is moved under 8 sessions in 3 databases, and each time moved back.
sub clock_moves
{
	my ($layout, %o) = @_;
	my $server = Torture::Server->create(layout => $layout, databases => 3, conf => "flakeid.when_ahead = error");
	my $draws = Torture::Draws->new($layout);
	$draws->start($server, sessions => 8, pause => pause_for($layout));
	my $look = $server->connect;
	my ($moved, $hours, $told) = (0, 0, 0);
	my @moves = (-0.001, -0.010, -1, -4, -3600, -86400, 1, 3600);
	while ($draws->drawn < $o{ids} || $moved < 2 * @moves)
	{
		for my $move (shuffle @moves)
		{
			next if $move == 3600 && $hours++ >= 20;    # max_leap is a day
			$moved += 2;
			$draws->draw($look, 1);
			$server->move_clock($move);
			$told++ if $move <= -3600 && ($draws->draw($look, 1)->{code} // '') eq '55000';
			sleep($move > 1 ? 1.3 : 0.2);    # one extension of the horizon a second
			$server->move_clock(-$move);
			sleep 0.2;
			# What was issued an hour ahead stays: ids go on when the clock is there again.
			$server->move_clock($move) if $move == 3600;
		}
	}

	# One database alone is a day ahead.
	my ($late, @others) = reverse @{ $server->{databases} };
	$server->value($late, $Torture::Server::plain
		? "SELECT flakeid_plain.adopt(flake_make(clock_timestamp() + '1 day', 0, 0))"
		: "SELECT flakeid.raise_horizon(clock_timestamp() + '1 day')");
	sleep 0.5;
	my $error = Torture::Draws::batch($server->connect($late), 1);
	is($error->{code}, '55000', "clock moves, $layout: a database whose horizon lies a day ahead stops")
	  if $layout ne 'rollback2';
	for my $other (@others)
	{
		my $answer = $draws->draw($server->connect($other), 100);
		is(@{ $answer->{drawn} }, 100, "clock moves, $layout: $other goes on") or diag $answer->{message};
	}
	sleep 0.5;
	$draws->stop;
	cmp_ok($told, '>', 0, "clock moves, $layout: told when the clock was too far back")
	  if $layout ne 'rollback2' || $moved > 2 * @moves;
	my $row = row('clock moves', $draws,
		"3 databases, $moved moves by 1 ms, 10 ms, 1 s, 4 s, 1 h and 1 day back, by 1 s and 1 h forward, and back again; then one database's horizon a day ahead", %o, server => $server);
	$server->drop;
	return $row;
}

# Ids that a session keeps for itself are as close to the clock as others.
sub session_cache
{
	my ($layout) = @_;
	my $name = "session cache, $layout";
	my $server = Torture::Server->create(layout => $layout, conf => "flakeid.when_ahead = error\nflakeid.cache = 1000");
	my $draws = Torture::Draws->new($layout);
	my ($session, $first, $drawn);
	# A machine that stalls may leave the cache no time: then another one.
	for (1 .. 10)
	{
		$session = $server->connect;
		$first = $draws->draw($session, 1)->{drawn}[0][1];
		$drawn = $draws->draw($session, 1)->{drawn}[0];
		last if $drawn->[1] == $first + 1;
	}
	is($drawn->[1], $first + 1, "$name: the second id is of the first one's cache");
	$server->move_clock(-20);
	is($draws->draw($session, 1)->{code}, '55000', "$name: nothing of it when the clock lies 20 s back");
	$server->move_clock(30);
	$drawn = $draws->draw($session, 1)->{drawn}[0];
	cmp_ok($drawn->[3], '>=', $drawn->[0] - 1e6 * $max_ahead, "$name: nothing of it 10 s later");
	row('session cache', $draws, '', server => $server);
	$server->drop;
	return;
}

1;
