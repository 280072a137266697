# Clocks that are odd without being wrong, and full ticks.
package Torture::Scenario::OddClocks;

use strict;
use warnings;

use Exporter 'import';
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;

our @EXPORT = qw(odd_clocks slow_then_fast);

# Clocks that are odd without being wrong: a leap second that comes twice, one that stands still,
# one that steps back all the time; and more ids than the ticks of the moment hold.
sub odd_clocks
{
	my ($layout, %o) = @_;
	my @rows;
	my $pause = pause_for($layout);
	my $run = sub {
		my ($name, $what, $do, %more) = @_;
		my $server = Torture::Server->create(layout => $more{layout} // $layout);
		my $draws = Torture::Draws->new($more{layout} // $layout);
		$draws->start($server, sessions => 8, batch => 50, pause => $pause, %more);
		do { $do->($server) } while $draws->drawn < $o{ids} && !$more{once};
		$draws->stop;
		push @rows, row($name, $draws, $what, %more, $more{once} ? () : %o, server => $server);
		$server->drop;
		return;
	};

	$run->('leap second', 'the clock repeats a second', sub {
		my ($server) = @_;
		sleep 0.5;
		$server->move_clock(-1);
		sleep 1.5;
		$server->move_clock(1);
	});
	$run->('clock stands still', 'for 3 s, then goes on', sub {
		my ($server) = @_;
		$server->stop_clock(int $server->now);
		sleep 3;
		$server->move_clock(0);
		sleep 0.2;
	});
	$run->('clock jitters', 'a step of 3 ms back a hundred times a second', sub {
		my ($server) = @_;
		for (1 .. 200) { sleep 0.01; $server->move_clock(-0.003) }
		$server->set_clock(0);
	});
	return @rows if $layout ne 'snowflake';

	# More sessions than a tick has ids: ahead of the clock as far as max_ahead, and no further.
	my $small = 'time:41:1ms node:19 sequence:3';
	my $ahead = 'SET flakeid.max_ahead = 1000';
	my @full = (layout => $small, pause => 0, ahead => 1, longest => 1 + $longest_move);
	for my $when (qw(wait error))
	{
		$run->('sequence full', "8 ids a millisecond, max_ahead = 1s, when_ahead = $when", sub { sleep 3 },
			@full, settings => "$ahead; SET flakeid.when_ahead = $when", batch => 5);
	}
	$run->('sequence full, clock stands still', '8 ids a millisecond, max_ahead = 1s, when_ahead = wait', sub {
		my ($server) = @_;
		$server->stop_clock(int $server->now);
		sleep 5;
	}, @full, settings => $ahead, batch => 1, once => 1);
	return @rows;
}

# 50,000 ids in one second and 141,071 in the next, as it repeats ids elsewhere.
sub slow_then_fast
{
	my ($layout, %o) = @_;
	my $server = Torture::Server->create(layout => 'randflake');
	my $draws = Torture::Draws->new('randflake');
	my $moment = 1000 + int $server->now;
	$server->stop_clock($moment);
	my @session = map { $server->connect } 1 .. 2;
	my $rounds = 0;
	while ($rounds++ < 1 || $draws->drawn < $o{ids})
	{
		$draws->draw($_, 25_000) for @session;
		$server->stop_clock(++$moment);
		$draws->draw($_, 70_535) for @session;
		$draws->draw($session[0], 1);
		$server->stop_clock($moment += 2);
	}
	my $row = row('slow then fast', $draws, '50,000 ids in one second and 141,071 in the next, again and again', %o, server => $server);
	$server->drop;
	return $row;
}

1;
