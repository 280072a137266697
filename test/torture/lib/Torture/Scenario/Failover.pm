# A standby is promoted that has not seen all of its primary.
package Torture::Scenario::Failover;

use strict;
use warnings;

use Exporter 'import';
use IO::Select;
use IO::Socket::UNIX;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;
use Torture::Session;

our @EXPORT = qw(failover);

# Stands between a standby and its primary and hands on what the primary sends half a second late.
# What is killed with it has never reached the standby.
sub start_late_line
{
	my ($dir, $target) = @_;
	mkdir $dir;
	my $listen = IO::Socket::UNIX->new(Local => "$dir/.s.PGSQL.5432", Listen => 5) or die $!;
	my $parent = $$;
	my $pid = fork // die $!;
	return $pid if $pid;
	$SIG{$_} = 'DEFAULT' for qw(TERM INT);
	my (%peer, %down, @late);
	my $select = IO::Select->new($listen);
	while (getppid == $parent)
	{
		for my $ready ($select->can_read(0.01))
		{
			if ($ready == $listen)
			{
				my $near = $listen->accept or next;
				my $far = IO::Socket::UNIX->new(Peer => "$target/.s.PGSQL.5432") or next;
				@peer{ $near, $far } = ($far, $near);
				$down{$far} = 1;
				$select->add($near, $far);
				next;
			}
			my $got = sysread $ready, my $data, 65536;
			push @late, [ Torture::Session::steady() + ($down{$ready} ? 0.5 : 0), $peer{$ready}, $got ? $data : undef ];
			$select->remove($ready) if !$got;
		}
		while (@late && $late[0][0] <= Torture::Session::steady())
		{
			my (undef, $to, $data) = @{ shift @late };
			defined $data ? syswrite $to, $data : $to->shutdown(1);
		}
		@late = sort { $a->[0] <=> $b->[0] } @late;
	}
	POSIX::_exit(0);
}

# The old primary is killed under load, when it has issued ids that only its last extension of the
# horizon allowed, in a busy database and in one that was idle, and the standby promoted that is
# half a second behind and has a clock that is three, however long the promotion takes: the same
# moments come again.
sub failover
{
	my ($layout, %o) = @_;
	my $primary = Torture::Server->create(layout => $layout, databases => 3);
	my $draws = Torture::Draws->new($layout);
	my @databases = @{ $primary->{databases} };
	my $second = $draws->ids_a_second;
	my ($rounds, $lost, $beyond) = (0, 0, 0);
	my $least = $o{rounds} // 1;
	# A machine that stalls may let an extension through: then another time.
	while ($rounds < $least || ($beyond < 2 * $least && $rounds < $least + 9))
	{
		$rounds++;
		my $standby = Torture::Server->new(layout => $layout, standby_of => $primary, offset => $primary->{offset} - 3);
		my $line = start_late_line("$standby->{dir}/line", $primary->{dir});
		$standby->start;

		push @databases, shift @databases;    # another one is idle
		my ($idle, @busy) = @databases;
		my %session = map { $_ => $primary->connect($_) } @databases;
		my %look = map { $_ => $primary->connect($_) } @databases;
		$draws->start($primary, databases => \@busy, sessions => 8, batch => 20, pause => pause_for($layout) / 4);
		sleep 4 + rand 0.5;
		caught_up($primary, $standby);
		# The moment after an extension, and a second of ids at once.
		my $session = $session{ $busy[0] };
		my $horizon = $session->value($horizon_moment);
		for (1 .. 400)
		{
			last if $session->value($horizon_moment) != $horizon;
			sleep 0.005;
		}
		$session->value("SELECT max(id) FROM flake_next_many($second) AS id");
		my %issued = map { $_ => $draws->draw($session{$_}, 10)->{drawn}[-1][3] + $year_2000 } $busy[0], $idle;
		$session->send("SELECT max(id) FROM flake_next_many($second) AS id;" x 4);    # which only later ones allow
		sleep 0.1 + rand 0.1;
		$_->send($horizon_moment) for values %look;
		sleep 0.05;
		kill 'KILL', $line;
		my $killed = $primary->now;
		$primary->kill_all;
		waitpid $line, 0;
		$draws->finish;
		$draws->next_run;

		$standby->value('postgres', 'SELECT pg_promote()');
		$lost += grep { my $told = $look{$_}->receive->{rows}[0]; $told && $standby->value($_, $horizon_moment) < $told->[0] } @databases;
		$beyond += grep { $standby->value($_, $horizon_moment) < $issued{$_} } keys %issued;
		$standby->move_clock($killed - 3 - $standby->now);
		$draws->draw($standby->connect($idle), 1000);
		$draws->start($standby, sessions => 8, batch => 20, pause => pause_for($layout) / 4);
		sleep 3;
		$draws->stop;
		$primary->drop;
		$primary = $standby;
	}
	$draws->start($primary, sessions => 8, pause => pause_for($layout));
	sleep 0.2 while $draws->drawn < $o{ids};
	$draws->stop;
	cmp_ok($beyond, '>=', 2 * $least, "failover, $layout: ids beyond the promoted server's horizon were issued");
	my $row = row('failover', $draws,
		"3 databases; $rounds times the primary killed and the standby promoted, 0.5 s of WAL lost with $lost extensions of horizons, ids issued that only these allowed in a busy database and an idle one, its clock 3 s behind", %o, server => $primary);
	$primary->drop;
	return $row;
}

1;
