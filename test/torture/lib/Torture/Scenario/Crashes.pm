# The server is killed, and the same moments come again.
package Torture::Scenario::Crashes;

use strict;
use warnings;

use Exporter 'import';
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;

our @EXPORT = qw(crashes created_again unflushed);

# The whole server is killed `rounds` times in mid-draw, and a backend or the server shut down in
# between. The clock is set back meanwhile, so that the same moments come again.
sub crashes
{
	my ($layout, %o) = @_;
	my $rounds = $o{kills};
	my $server = Torture::Server->create(
		layout => $layout, databases => 3, preload => $o{preload} // 1,
		conf => "flakeid.when_ahead = error");
	my $draws = Torture::Draws->new($layout);
	my @databases = @{ $server->{databases} };
	my ($killed, $others, $hours, $again) = (0, 0, 0);
	while ($killed < $rounds || $draws->drawn < $o{ids})
	{
		push @databases, shift @databases;    # another one draws first
		$server->move_clock($again - $server->now) if $again;    # however long the start took
		my $began = $server->now;
		draw_first($draws, $server, $databases[0]);
		$draws->start($server, databases => \@databases, sessions => 8, batch => 20, pause => pause_for($layout) / 4);
		sleep($killed % 4 == 1 ? 0.05 + rand 0.15 : 0.8 + rand 0.6);

		my $end = ('kill', 'backend', 'kill', 'fast', 'kill', 'immediate')[ ($killed + $others) % 6 ];
		my $clock = (qw(back right back forth))[ int(($killed + $others) / 6 + ($killed + $others)) % 4 ];
		$again = $clock eq 'back' ? $began + 0.1 : undef;    # just after this run's beginning
		my $back = $clock eq 'back' ? $again - $server->now : $clock eq 'forth' ? 8 + rand 2 : 0;    # or past all that was issued
		if ($end eq 'kill')
		{
			$server->kill_all;
			$draws->finish;
			$killed++;
		}
		elsif ($end eq 'backend')
		{
			my $session = $server->connect('postgres');
			my $pid = $session->value(q{SELECT pid FROM pg_stat_activity WHERE query LIKE '%COPY%'
				AND state = 'active' AND pid <> pg_backend_pid() LIMIT 1})
			  // $session->{pid};
			my $log = $server->log_size;
			$server->move_clock($back);
			kill 'KILL', $pid;
			$draws->finish;    # the server ends all sessions
			for (1 .. 200) { last if $server->log($log) =~ /ready to accept/; sleep 0.05 }
			$server->wait_ready;
			$others++;
		}
		else
		{
			$server->stop($end);
			$draws->finish;
			$others++;
		}
		$draws->next_run;
		next if $end eq 'backend';

		# Up to an hour back. A plain generator must not issue anything there.
		if ($killed % 5 == 3 && $layout ne 'rollback2')
		{
			$server->move_clock(-3600);
			$server->start;
			my $session = $server->connect($databases[0]);
			is($draws->draw($session, 1)->{code}, '55000', "crashes, $layout: nothing an hour before the horizon");
			$server->kill_all;
			$draws->next_run;
			$server->move_clock(3600);
			$hours++;
		}
		$server->move_clock($back);
		$server->start;
	}
	$server->stop;
	my $row = row('crashes', $draws,
		"3 databases, another one first each time; kill -9 of the server $killed times, of a backend, immediate and fast shutdown $others times; the clock set back to pass the same moments again, set forth, or left as it was, $hours times set back by an hour", %o);
	unlike($server->log, qr/were copied, put back or changed|file "\S+" is missing/, "crashes, $layout: no restart is taken for a copy");
	cmp_ok($row->{without_memory}, '>', 0, "crashes, $layout: a generator without memory would have repeated $row->{without_memory}");
	$row->{what} .= " (a generator without memory repeats $row->{without_memory})";
	$server->drop;
	return $row;
}

# The extension is dropped and created again a moment after its horizon was extended, and the server
# killed: what was issued without a look at the new horizon does not come again.
sub created_again
{
	my ($layout) = @_;
	my $server = Torture::Server->create(layout => $layout, databases => 1);
	my $draws = Torture::Draws->new($layout);
	my ($database) = @{ $server->{databases} };
	my $began = $server->now;
	draw_first($draws, $server, $database);
	$server->value($database, 'DROP EXTENSION flakeid');
	$server->value($database, 'CREATE EXTENSION flakeid');
	$draws->draw($server->connect($database), 1000);
	$server->kill_all;
	$draws->next_run;
	$server->move_clock($began - $server->now);
	$server->start;
	draw_first($draws, $server, $database);
	$draws->draw($server->connect($database), 10_000);
	row('created again', $draws, '', ids => 10_000, server => $server);
	$server->drop;
	return;
}

# The server is killed while the horizon's WAL record is on its way to the disk: nobody may have
# been given an id that it covers. With a back field, the same for its next count. And it is killed
# when the clock has passed the horizon, or has come to its tick, and no extension is possible yet.
sub unflushed
{
	my ($layout, %o) = @_;
	my $server = Torture::Server->create(layout => $layout, conf => "flakeid.when_ahead = error");
	my $draws = Torture::Draws->new($layout);
	my ($database) = @{ $server->{databases} };
	my $kill = sub {
		$server->kill_all;
		$draws->finish;
		$draws->next_run;
	};
	for my $round (1 .. $o{rounds})
	{
		for my $case (qw(slow past within))
		{
			draw_first($draws, $server, $database);
			my $step = 10;    # away from what the horizon covers
			if ($case eq 'slow')
			{
				sleep 1.1;    # or the next extension waits for its second
				$server->slow_wal(1);
				$step = -600 if $layout eq 'rollback2' && $round <= 2;    # of its 3 counts
			}
			else
			{
				$server->move_clock(10);
				$draws->draw($server->connect($database), 1);    # this one extends it
			}
			if ($case eq 'within')
			{
				my $horizon = $server->value($database, $horizon_moment);
				$step = int($horizon / 1e6) + 0.1 - $server->now;
			}
			$server->move_clock($step);
			my $began = $server->now;
			$draws->start($server, sessions => 4, batch => 1);
			sleep 0.4;
			$kill->();

			$server->slow_wal(0);
			$server->move_clock($began - $server->now);
			$server->start;
			$draws->start($server, sessions => 4, batch => 20, pause => pause_for($layout));
			sleep 1;
			$kill->();
			$server->move_clock(10) if $step > 0;
			$server->start;
		}
	}
	$draws->start($server, sessions => 4, pause => pause_for($layout));
	sleep 0.2 while $draws->drawn < $o{ids};
	$draws->stop;
	my $row = row('unflushed horizon', $draws,
		"kill -9 of the server $o{rounds} times while the horizon's WAL record is being written, and twice as often in the second after that; then the same moments again", %o, server => $server);
	$server->drop;
	return $row;
}

1;
