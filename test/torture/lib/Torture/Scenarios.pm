# What is done to servers, one sub a scenario. Each checks with Test::More and returns the rows of
# the table. `ids` is how many ids a row shall have at least.
package Torture::Scenarios;

use strict;
use warnings;

use IO::Select;
use IO::Socket::UNIX;
use List::Util qw(min max shuffle);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Server;

my $max_ahead = 5;
my $slack = 1;    # s, for a busy machine
my $year_2000 = 946_684_800_000_000;    # PostgreSQL's epoch, in microseconds since 1970

# How far the horizon allows ids, in microseconds since 1970.
my $horizon_moment = 'SELECT greatest(plain_horizon, back_horizon & ((1::bigint << 56) - 1)) FROM flakeid.state';

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

# The clock is moved under 8 sessions in 3 databases, and each time moved back.
sub clock_moves
{
	my ($layout, %o) = @_;
	my $server = Torture::Server->create(layout => $layout, databases => 3, conf => "flakeid.when_ahead = error");
	my $draws = Torture::Draws->new($layout);
	$draws->start($server, sessions => 8, pause => pause_for($layout));
	my ($moved, $hours) = (0, 0);
	my @moves = (-0.001, -0.010, -1, -4, -3600, -86400, 1, 3600);
	while ($draws->drawn < $o{ids} || $moved < 2 * @moves)
	{
		for my $move (shuffle @moves)
		{
			next if $move == 3600 && $hours++ >= 20;    # max_leap is a day
			$moved += 2;
			$server->move_clock($move);
			sleep($move > 1 ? 1.3 : 0.2);    # one extension of the horizon a second
			$server->move_clock(-$move);
			sleep 0.2;
			# What was issued an hour ahead stays: ids go on when the clock is there again.
			$server->move_clock($move) if $move == 3600;
		}
	}

	# One database alone is a day ahead.
	my ($late, @others) = reverse @{ $server->{databases} };
	$server->value($late, "SELECT flake_raise_horizon(clock_timestamp() + '1 day')");
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
	ok(exists $draws->{errors}{55000}, "clock moves, $layout: told when the clock was too far back")
	  if $layout ne 'rollback2' || $moved > 2 * @moves;
	my $row = row('clock moves', $draws,
		"3 databases, $moved moves by 1 ms, 10 ms, 1 s, 4 s, 1 h and 1 day back, by 1 s and 1 h forward, and back again; then one database's horizon a day ahead", %o);
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
	my $session = $server->connect;
	my $first = $draws->draw($session, 1)->{drawn}[0][1];
	my $drawn = $draws->draw($session, 1)->{drawn}[0];
	is($drawn->[1], $first + 1, "$name: the second id is of the first one's cache");
	$server->move_clock(-20);
	is($draws->draw($session, 1)->{code}, '55000', "$name: nothing of it when the clock lies 20 s back");
	$server->move_clock(30);
	$drawn = $draws->draw($session, 1)->{drawn}[0];
	cmp_ok($drawn->[3], '>=', $drawn->[0] - 1e6 * $max_ahead, "$name: nothing of it 10 s later");
	row('session cache', $draws, '');
	$server->drop;
	return;
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
	my ($killed, $others, $hours) = (0, 0, 0);
	while ($killed < $rounds || $draws->drawn < $o{ids})
	{
		push @databases, shift @databases;    # another one draws first
		my $began = $server->now;
		draw_first($draws, $server, $databases[0]);
		$draws->start($server, databases => \@databases, sessions => 8, batch => 20, pause => pause_for($layout) / 4);
		sleep($killed % 4 == 1 ? 0.05 + rand 0.15 : 0.8 + rand 0.6);

		my $end = ('kill', 'backend', 'kill', 'fast', 'kill', 'immediate')[ ($killed + $others) % 6 ];
		my $back = $began - $server->now + 0.1;    # to just after this run's beginning
		$back = 4 + rand 2 if ($killed + $others) % 3 == 2;    # past all that was issued
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
		"3 databases, another one first each time; kill -9 of the server $killed times, of a backend, immediate and fast shutdown $others times; the clock set back each time to pass the same moments again, $hours times by an hour", %o);
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
	row('created again', $draws, '', ids => 10_000);
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
		"kill -9 of the server $o{rounds} times while the horizon's WAL record is being written, and twice as often in the second after that; then the same moments again", %o);
	$server->drop;
	return $row;
}

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
	while ($rounds < $least || ($beyond < 2 * $least && $rounds < $least + 4))
	{
		$rounds++;
		my $standby = Torture::Server->new(layout => $layout, standby_of => $primary, offset => $primary->{offset} - 3);
		my $line = start_late_line("$standby->{dir}/line", $primary->{dir});
		$standby->start;

		push @databases, shift @databases;    # another one is idle
		my ($idle, @busy) = @databases;
		my %session = map { $_ => $primary->connect($_) } @databases;
		$draws->start($primary, databases => \@busy, sessions => 8, batch => 20, pause => pause_for($layout) / 4);
		sleep 4 + rand 0.5;
		# The moment after an extension, and a second of ids at once.
		my $session = $session{ $busy[0] };
		my $horizon = $session->value($horizon_moment);
		for (1 .. 400)
		{
			last if $session->value($horizon_moment) != $horizon;
			sleep 0.005;
		}
		$session->value("SELECT flake_next_many($second) LIMIT 1");
		my %issued = map { $_ => $draws->draw($session{$_}, 10)->{drawn}[-1][3] + $year_2000 } $busy[0], $idle;
		$session->send("SELECT flake_next_many($second) LIMIT 1;" x 4);    # which only later ones allow
		sleep 0.1 + rand 0.1;
		my %old = map { $_ => $primary->value($_, $horizon_moment) } @databases;
		kill 'KILL', $line;
		my $killed = $primary->now;
		$primary->kill_all;
		waitpid $line, 0;
		$draws->finish;
		$draws->next_run;

		$standby->value('postgres', 'SELECT pg_promote()');
		$lost += grep { $standby->value($_, $horizon_moment) < $old{$_} } @databases;
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
		"3 databases; $rounds times the primary killed and the standby promoted, 0.5 s of WAL lost with $lost extensions of horizons, ids issued that only these allowed in a busy database and an idle one, its clock 3 s behind", %o);
	cmp_ok($row->{without_memory}, '>', 0, "failover, $layout: a generator without memory would have repeated $row->{without_memory}");
	$row->{what} .= " (a generator without memory repeats $row->{without_memory})";
	$primary->drop;
	return $row;
}


# Draws in every database of a server for a while, and returns the last id of each as the server
# reads it.
sub draw_everywhere
{
	my ($draws, $server, %o) = @_;
	my $enough = $draws->drawn + ($o{ids} // 0);
	$draws->start($server, sessions => 8, batch => 50, pause => pause_for($draws->{layout}));
	sleep 0.5;
	sleep 0.2 while $draws->drawn < $enough;
	$draws->stop;
	return { map { $_ => last_id($draws, $server, $_) } @{ $server->{databases} } };
}

# An id as one number that rises with every id: enciphered ids are deciphered, and a count of
# set-backs comes before the time.
my $word = q{SELECT CASE WHEN jsonb_exists(fields, 'back')
		THEN extract(epoch from "timestamp") + (fields->>'back')::numeric * 1e10
		ELSE raw_id::numeric END
	FROM flake_inspect(%s)};

sub last_id
{
	my ($draws, $server, $database) = @_;
	my $session = $server->connect($database);
	my $answer = $draws->draw($session, 1);
	die $answer->{message} if $answer->{code};
	$session->value("INSERT INTO kept VALUES ($answer->{drawn}[0][1])");
	return $session->value(sprintf $word, $answer->{drawn}[0][1]);
}

# The first id of each database after `old` ones, which it must exceed.
sub first_ids_exceed
{
	my ($draws, $server, $old, $what) = @_;
	for my $database (@{ $server->{databases} })
	{
		my $session = $server->connect($database);
		my $answer = $draws->draw($session, 1);
		if ($answer->{code})
		{
			fail("$what, $database: $answer->{message}");
			next;
		}
		my $first = $session->value(sprintf $word, $answer->{drawn}[0][1]);
		ok($first > $old->{$database}, "$what, $draws->{layout}: the first id in $database is above all old ones")
		  or diag "$first after $old->{$database}";
	}
	return;
}

# Dumps and pg_upgrade carry the horizon; an old dump does not turn it back.
sub dumps
{
	my ($layout, %o) = @_;
	my $conf = 'wal_level = minimal
max_wal_senders = 0';
	my $number = $o{databases} // 3;
	my $old = Torture::Server->create(layout => $layout, databases => $number, conf => $conf);
	my @databases = @{ $old->{databases} };
	my $draws = Torture::Draws->new($layout);
	for my $database (@databases)
	{
		$old->value($database, 'CREATE TABLE kept (id flake PRIMARY KEY DEFAULT flake_next())');
	}
	$old->value('postgres', 'CREATE ROLE clerk LOGIN');
	my $dir = $old->{dir};
	my $dump = sub {
		my ($name) = @_;
		$old->client('pg_dump', '-Fc', '-f', "$dir/$_.$name", $_) for @databases;
	};
	my $restore = sub {
		my ($server, $name, @options) = @_;
		$server->client('pg_restore', '-d', $_, @options, "$dir/$_.$name") for @databases;
	};
	my $ids = ($o{ids} // 0) / 4;

	draw_everywhere($draws, $old, ids => $ids);
	$dump->('early');
	my $last = draw_everywhere($draws, $old, ids => $ids);
	$dump->('late');

	# An ordinary role's dump.
	my ($database) = @databases;
	$old->value($database, $_) for 'GRANT SELECT ON kept TO clerk', 'CREATE SCHEMA AUTHORIZATION clerk',
	  'SET ROLE clerk; CREATE TABLE clerk.own (id bigint DEFAULT flake_next()); INSERT INTO clerk.own VALUES (DEFAULT)';
	my $dumped = Torture::Server::command(Torture::Server::bin() . '/pg_dump', '-h', $dir, '-p', 5432, '-U', 'clerk', $database);
	like($dumped, qr/COPY clerk.own/, "dumps, $layout: an ordinary role's pg_dump");
	$old->value($database, 'DROP SCHEMA clerk CASCADE');
	like($dumped, qr/^(plain|back) horizon\t[1-9]/m, "dumps, $layout: carries the horizon");

	# Into a new server, whose clock is 4 s behind.
	my $new = Torture::Server->new(layout => $layout, databases => $number, offset => $old->{offset} - 4, conf => $conf);
	$new->start;
	$new->value('postgres', "CREATE ROLE clerk");
	$new->value('postgres', "CREATE DATABASE $_") for @databases;
	my $before = $draws->branch;
	$draws->next_run;
	$restore->($new, 'late');
	first_ids_exceed($draws, $new, $last, 'restored');
	draw_everywhere($draws, $new, ids => 2 * $ids);
	$new->drop;
	my $restored = row('dump and restore', $draws,
		"$number databases: pg_dump and pg_restore into a new server whose clock is 4 s behind", %o);

	# An old dump into the live database, data alone and then everything.
	$draws = $before;
	$last = draw_everywhere($draws, $old);
	for my $options ([ '--data-only', '--disable-triggers' ], [ '--clean', '--if-exists' ])
	{
		$old->move_clock(4);
		$old->value($_, 'TRUNCATE kept') for @databases;
		$restore->($old, 'early', @$options);
		$last = draw_everywhere($draws, $old);
		$old->kill_all;
		$draws->next_run;
		$old->move_clock(-4);
		$old->start;
		first_ids_exceed($draws, $old, $last, "old dump, @$options");
		$last = draw_everywhere($draws, $old);
	}

	# pg_upgrade, to the same major version.
	my $upgrade = $o{upgrade} // 1;
	if ($upgrade)
	{
		my $bin = Torture::Server::bin();
		my $upgraded = Torture::Server->new(layout => $layout, databases => $number, offset => $old->{offset} - 4, conf => $conf);
		$last = draw_everywhere($draws, $old, ids => $ids);
		$old->stop;
		Torture::Server::command("$bin/pg_upgrade", '--no-sync', '-b', $bin, '-B', $bin, '-U', 'postgres',
			'-d', $old->{data}, '-D', $upgraded->{data}, '-s', $upgraded->{dir});
		$draws->next_run;
		$upgraded->start;
		first_ids_exceed($draws, $upgraded, $last, 'pg_upgrade');
		draw_everywhere($draws, $upgraded, ids => $ids);
		$upgraded->drop;
	}
	my $row = row($upgrade ? 'old dump, pg_upgrade' : 'old dump', $draws,
		"$number databases: an old dump into the live databases (data alone, everything), kill -9, clock 4 s back"
		  . ($upgrade ? '; pg_upgrade, clock 4 s back' : ''), %o);
	$old->drop;
	return $restored, $row;
}


# Ids out of every place that can call a function; everything else of a server draws meanwhile.
sub places
{
	my ($layout, %o) = @_;
	my $n = max(2000, int(($o{ids} // 0) / 3));
	my $server = Torture::Server->create(
		layout => $layout, databases => 2, conf => <<'END');
wal_level = logical
max_prepared_transactions = 20
max_parallel_workers_per_gather = 4
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
END
	my ($here, $there) = map { $server->connect($_) } qw(d1 d2);
	my $draws = Torture::Draws->new($layout);
	$draws->start($server, sessions => 2, pause => max(0.01, pause_for($layout)), reconnect => 1);
	my (@ids, @done);
	my $take = sub {
		my ($what, $session, $sql, $at_least) = @_;
		my $answer = $session->run($sql);
		ok(!$answer->{code} && @{ $answer->{rows} } >= ($at_least // 1), "$what, $layout")
		  or diag $answer->{message} // scalar @{ $answer->{rows} };
		push @ids, map { $_->[0] } @{ $answer->{rows} };
	};

	$take->('read-only transaction', $here, "BEGIN READ ONLY; SELECT flake_next() FROM generate_series(1, $n); COMMIT", $n);
	$take->('serializable, deferrable', $here,
		"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; SELECT flake_next() FROM generate_series(1, 1000); COMMIT", 1000);
	$take->('session cache', $here,
		"SET flakeid.cache = 50; SELECT flake_next() FROM generate_series(1, 1010); SET flakeid.cache = 1", 1010);
	$take->('many at once', $here, "SELECT flake_next_many($n)", $n);
	$take->('blocks', $here, q{SELECT first::bigint + n * step
		FROM (SELECT flake_block(16) AS first FROM generate_series(1, 100) OFFSET 0) AS blocks, generate_series(0, 15) AS n,
			(SELECT flake_make(now(), 0, 1)::bigint - flake_make(now(), 0, 0)::bigint AS step) AS steps}, 1600)
	  if $layout ne 'randflake';

	# Workers of a parallel plan each make ids.
	$here->value("CREATE TABLE numbers AS SELECT generate_series(1, $n) AS n; ANALYZE numbers");
	my $plan = $here->run('EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) CREATE TABLE parallel AS SELECT flake_next() AS id FROM numbers');
	my $text = join "\n", map { $_->[0] } @{ $plan->{rows} };
	like($text, qr/Workers Launched: [1-9].*Parallel Seq Scan.*Output: flake_next\(\)/s, "places, $layout: workers make ids")
	  or diag $text;
	$take->('parallel CREATE TABLE AS', $here, 'SELECT id FROM parallel', $n);

	# Functions and subtransactions that roll back: a variable remembers what they drew.
	$here->value(q{
		CREATE FUNCTION try(n int) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
		DECLARE id bigint;
		BEGIN
			FOR i IN 1..n LOOP
				BEGIN
					id := flake_next();
					IF i % 2 = 0 THEN RAISE 'rolled back'; END IF;
				EXCEPTION WHEN raise_exception THEN NULL;
				END;
				RETURN NEXT id;
			END LOOP;
		END $$;
		CREATE FUNCTION plain() RETURNS bigint LANGUAGE sql AS 'SELECT flake_next()'});
	$take->('subtransactions that roll back', $here, 'SELECT try(5000)', 5000);
	$take->('SQL function', $here, 'SELECT plain() FROM generate_series(1, 1000)', 1000);

	# Triggers, defaults and a rewrite.
	$here->value(q{
		CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), n int, other bigint);
		CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN NEW.other := flake_next(); RETURN NEW; END $$;
		CREATE TRIGGER fill BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION fill()});
	$take->('default', $here, "INSERT INTO orders (n) SELECT generate_series(1, 5000) RETURNING id", 5000);
	$take->('trigger', $here, 'SELECT other FROM orders', 5000);
	$here->value('ALTER TABLE orders ADD COLUMN rewritten bigint DEFAULT flake_next()');
	$take->('rewrite', $here, 'SELECT rewritten FROM orders', 5000);
	my $insert = 'INSERT INTO orders (n) SELECT generate_series(1, 500) RETURNING id';
	$take->('savepoint', $here, "BEGIN; SAVEPOINT a; $insert; ROLLBACK TO a; $insert; COMMIT", 1000);
	$take->('rollback', $here, "BEGIN; $insert; ROLLBACK", 500);

	# Logical replication: the subscriber's default and trigger are run by its apply worker.
	$here->value('CREATE TABLE events (n int PRIMARY KEY); CREATE PUBLICATION events FOR TABLE events');
	$there->value(q{
		CREATE TABLE events (n int PRIMARY KEY, id flake DEFAULT flake_next(), other bigint);
		CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN NEW.other := public.flake_next(); RETURN NEW; END $$;
		CREATE TRIGGER fill BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION fill();
		ALTER TABLE events ENABLE ALWAYS TRIGGER fill});
	$here->value(q{SELECT pg_create_logical_replication_slot('events', 'pgoutput')});
	$there->value("CREATE SUBSCRIPTION events CONNECTION 'host=$server->{dir} port=5432 user=postgres dbname=d1'
		PUBLICATION events WITH (create_slot = false, slot_name = 'events', copy_data = false)");
	$here->value("INSERT INTO events SELECT generate_series(1, 5000)");
	for (1 .. 600) { last if $there->value('SELECT count(*) FROM events') == 5000; sleep 0.05 }
	$take->('logical replication', $there, 'SELECT id FROM events UNION ALL SELECT other FROM events', 10000);
	$there->value($_)
	  for 'ALTER SUBSCRIPTION events DISABLE', 'ALTER SUBSCRIPTION events SET (slot_name = NONE)', 'DROP SUBSCRIPTION events';

	# Prepared transactions outlive the server.
	$take->("prepared transaction $_", $here, "BEGIN; $insert; PREPARE TRANSACTION 't$_'", 500) for 1 .. 4;
	$here->value($_) for "COMMIT PREPARED 't1'", "ROLLBACK PREPARED 't2'";
	$server->kill_all;
	$server->move_clock(-2);
	$draws->next_run;
	$server->start;
	$here = $server->connect('d1');
	$here->value($_) for "COMMIT PREPARED 't3'", "ROLLBACK PREPARED 't4'";
	$take->('after the kill', $here, $insert, 500);
	sleep 1;
	$draws->stop;

	# What the other sessions drew was written down by them; all of it must be different.
	my $row = row('places', $draws,
		'READ ONLY, deferrable, cache, many, blocks, parallel CREATE TABLE AS, functions, triggers, defaults, rewrite, subtransactions, prepared transactions, kill -9, logical replication apply');
	my $written = $draws->ids('d1');
	is(Torture::Draws::repeated($written . pack 'q*', @ids), 0, "places, $layout: none of them twice");
	$row->{ids} += @ids;
	$server->drop;
	return $row;
}

# How long a session takes to answer what it was sent.
sub ends_within
{
	my ($session, $seconds, $code, $what) = @_;
	my $from = Torture::Session::steady();
	my $answer = $session->receive($seconds + 5);
	my $took = Torture::Session::steady() - $from;
	ok($took <= $seconds, "$what: at once") or diag "$took s";
	like($answer->{code} // ($answer->{lost} ? 'lost' : $answer->{late} ? 'late' : 'none'), $code, "$what: says so")
	  or diag $answer->{message};
	return;
}

# A wait for the clock ends at once when it is told to, and is a wait of one session alone.
sub waits
{
	my ($layout, %o) = @_;
	my $at_once = $slack;
	my $server = Torture::Server->create(layout => $layout, databases => 2);
	my $waiting = sub {
		my ($settings) = @_;
		my $session = $server->connect('d1');
		$session->value($settings) if $settings;
		$session->send('SELECT flake_next()');
		ok($session->receive(0.3)->{late}, "waits, $layout: it waits");
		return $session;
	};
	my $session = $server->connect('d1');
	$session->value('SELECT flake_next()');
	$server->value('d2', 'SELECT flake_next()');
	# Some seconds to wait, for what is running and after a start.
	my $back = sub {
		my $horizon = $server->value('d1', 'SELECT plain_horizon FROM flakeid.state') / 1e6;
		$server->move_clock($horizon - 10.5 - $server->now);
	};
	$back->();

	my $waits = $waiting->();
	$waits->cancel;
	ends_within($waits, $at_once, qr/57014/, "waits, $layout: cancel");

	$waits = $server->connect('d1');
	$waits->value("SET statement_timeout = '500ms'");
	$waits->send('SELECT flake_next()');
	ends_within($waits, 0.5 + $at_once, qr/57014/, "waits, $layout: statement_timeout");

	$waits = $waiting->();
	$session->value("SELECT pg_terminate_backend($waits->{pid})");
	ends_within($waits, $at_once, qr/57P01/, "waits, $layout: pg_terminate_backend");

	$back->();

	# Nobody else waits: another node, another layout, whoever wants an error, and the rest of SQL.
	my @waiting = map { $waiting->() } 1 .. 2;
	for my $other (
		[ 'another node', 'SET flakeid.node = 7; SELECT flake_next()', '' ],
		[ 'another layout', q{SELECT flake_next('pgedge')}, '' ],
		[ 'when_ahead = error', 'SET flakeid.when_ahead = error; SELECT flake_next()', '55000' ],
		[ 'statistics', 'SELECT * FROM flake_stats', '' ],
		[ 'raising the horizon', q{SELECT flake_raise_horizon('2020-01-01')}, '' ],
		[ 'repairing the horizon', q{SELECT flake_repair_horizon()}, '' ],
		[ 'reading', 'SELECT flake_timestamp(1)', '' ])
	{
		my ($what, $sql, $code) = @$other;
		my $answer = $server->connect($what =~ /layout|repair/ ? 'd2' : 'd1')->run($sql, 3);
		is($answer->{code} // ($answer->{late} ? 'late' : ''), $code, "waits, $layout: $what does not wait") or diag $answer->{message};
		cmp_ok($answer->{seconds} // 9, '<=', $code ? $at_once : 1 + $slack, "waits, $layout: $what is at once");
	}
	$_->cancel for @waiting;
	ends_within($_, $at_once, qr/57014/, "waits, $layout: cancel of several") for @waiting;

	# Others draw all the while.
	my $others = Torture::Draws->new('pgedge');
	$others->start($server, databases => ['d2'], sessions => 4, batch => 1000, settings => q{SET flakeid.layout = 'pgedge'});
	do
	{
		$back->();
		@waiting = map { $waiting->() } 1 .. 2;
		sleep 2;
		$_->cancel for @waiting;
		ends_within($_, $at_once, qr/57014/, "waits, $layout: they waited while others drew") for @waiting;
	} while ($others->drawn < $o{ids});
	$others->stop;
	is($others->{errors}{55000}, undef, "waits, $layout: others are not refused");
	my $row = row('waits', $others, 'cancel, statement_timeout, pg_terminate_backend, shutdowns, death of the postmaster during a wait; '
		. 'max_ahead = 1s; four sessions draw from another layout meanwhile', %o, longest => 1 + $slack);
	$back->();

	for my $mode (qw(fast immediate))
	{
		$waits = $waiting->();
		my $from = Torture::Session::steady();
		$server->stop($mode);
		cmp_ok(Torture::Session::steady() - $from, '<=', 1 + $slack, "waits, $layout: $mode shutdown is at once");
		ends_within($waits, $at_once, qr/57P01|lost|57P02/, "waits, $layout: $mode shutdown");
		$server->start;
		$back->();
	}
	$waits = $waiting->();
	my @children = Torture::Server::children($server->{pid});
	kill 'KILL', $server->{pid};
	waitpid delete $server->{pid}, 0;
	ends_within($waits, $at_once, qr/lost|57P/, "waits, $layout: death of the postmaster");
	for (1 .. 100) { last if !grep { defined Torture::Server::parent($_) } @children; sleep 0.05 }
	ok(!(grep { defined Torture::Server::parent($_) } @children), "waits, $layout: nothing is left of the server");
	$server->start;

	# Never longer than max_ahead + 2 s: the error at once, or when it has lasted that long.
	my $longest = 3;
	my $draws = Torture::Draws->new($layout);
	$server->move_clock(60 - ($server->now - int $server->now) + 0.05);
	$draws->draw($server->connect('d1'), 1);
	$session = $server->connect('d1');
	$session->value('SET flakeid.max_ahead = 1000');
	$server->move_clock(-5);
	my $answer = $draws->draw($session, 1);
	is($answer->{code}, '55000', "waits, $layout: an error rather than a wait of 4 s");
	cmp_ok($answer->{seconds}, '<=', $at_once, "waits, $layout: at once");
	$server->move_clock(2);
	$answer = $draws->draw($session, 1);
	is($answer->{code}, undef, "waits, $layout: a wait of 2 s") or diag $answer->{message};
	cmp_ok($answer->{seconds}, '<=', $longest, "waits, $layout: no longer");
	my $longest_wait = $answer->{seconds};
	$server->move_clock(-1.5);
	$session->send('SELECT flake_next()');
	while (Torture::Session::steady() < $session->{sent} + $longest - 0.1)
	{
		last if !($answer = $session->receive(0.7))->{late};
		$server->move_clock(-0.7);    # set back again during the wait
	}
	$answer = $session->receive(10) if $answer->{late};
	is($answer->{code}, '55000', "waits, $layout: an error when the clock goes on going back");
	cmp_ok($answer->{seconds}, '>', $longest - 0.1, "waits, $layout: when it has waited");
	cmp_ok($answer->{seconds}, '<=', $longest + $slack, "waits, $layout: max_ahead + 2 s");
	$longest_wait = max($longest_wait, $answer->{seconds});
	$server->drop;
	return { %$row, layout => $layout, sessions => 6, longest => $longest_wait,
		what => sprintf '%s, %.3f s at most', $row->{what}, $row->{longest} };
}


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
		push @rows, row($name, $draws, $what, %more, $more{once} ? () : %o);
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
	my @full = (layout => $small, pause => 0, ahead => 1, longest => 3 + $slack);
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
	my $row = row('slow then fast', $draws, '50,000 ids in one second and 141,071 in the next, again and again', %o);
	$server->drop;
	return $row;
}

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
	like($answer->{hint}, qr/flake_accept_clock/, "$name: and the way out");
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
	is($server->connect($first)->run('SET ROLE clerk; SELECT flake_accept_clock()')->{code}, '42501', "$name: not everyone may accept a clock");
	$server->value($first, 'SELECT flake_accept_clock()');
	sleep 1.2;
	$answer = $draw->();
	is($answer->{code}, undef, "$name: accepted") or diag $answer->{message};

	# Two days too far, accepted by mistake: the way back.
	$server->move_clock(2 * $day);
	$server->value($first, 'SELECT flake_accept_clock()');
	sleep 1.2;
	is($draw->()->{code}, undef, "$name: two days ahead");
	sleep 0.2 while $draws->drawn < ($o{ids} // 0);
	$draws->stop;
	$server->move_clock(-2 * $day);
	my $last = $server->now;
	$answer = $draw->();
	if ($layout eq 'rollback2')
	{
		is($answer->{code}, undef, "$name: the back field is raised") or diag $answer->{message};
	}
	else
	{
		is($answer->{code}, '55000', "$name: no ids two days later");
		my $session = $server->connect($first);
		is($session->run('SET ROLE clerk; SELECT flake_repair_horizon()')->{code}, '42501', "$name: not everyone may repair a horizon");
		$server->value('postgres', "ALTER DATABASE $first SET flakeid.node = 8");
		is($server->value($first, 'SELECT flake_repair_horizon()'), 't', "$name: repaired");
		is($server->value($first, 'SELECT flake_repair_horizon()'), 'f', "$name: which was needed once");
		my $offset = $server->{offset};
		draw_first($draws, $server, $first);
		cmp_ok($server->{offset} - $offset, '<=', 1, "$name: ids again, with another node");
		$server->kill_all;
		$server->start;
		$draws->next_run;
		draw_first($draws, $server, $first);
		cmp_ok($server->now - $last, '<', 30, "$name: at the right time, after a crash too");

		$server->value($first, "SELECT flake_raise_horizon(clock_timestamp() + '1 day')");
		is($draw->()->{code}, '55000', "$name: a horizon raised by a day");
		is($server->value($first, 'SELECT flake_repair_horizon()'), 't', "$name: repaired as well");
		draw_first($draws, $server, $first);
		cmp_ok($server->now - $last, '<', 60, "$name: at the right time");
	}
	my $row = row('leaps', $draws,
		'leaps of 1.1 days and of 6 h that add up; flake_accept_clock(); two days ahead by mistake, flake_repair_horizon() with another node', nodes => 2);
	$server->drop;
	return $row;
}

# The counters say what happened.
sub counters
{
	my ($layout, %o) = @_;
	my $server = Torture::Server->create(layout => $layout, databases => 2);
	my $look = sub {
		my $session = $server->connect('d2');
		my $answer = $session->run('SELECT issued, extract(epoch FROM ahead_now), extract(epoch FROM ahead_max), waits,
			extract(epoch FROM wait_time), set_backs, extract(epoch FROM set_back_max), extensions FROM flake_stats');
		my %stats;
		@stats{qw(issued ahead_now ahead_max waits wait_time set_backs set_back_max extensions)} = @{ $answer->{rows}[0] };
		return \%stats;
	};
	$server->value('d2', 'SELECT flake_stats_reset()');
	$server->value('d1', 'SELECT count(flake_next()) FROM generate_series(1, 1000)');
	my $session = $server->connect('d1');
	$session->value('BEGIN');
	$session->value('SELECT flake_next_many(499)');
	$session->value('ROLLBACK');
	$session->value('SELECT flake_next()');
	my $stats = $look->();
	is($stats->{issued}, 1500, "counters, $layout: issued");
	is($stats->{extensions}, 1, "counters, $layout: one extension");
	is("$stats->{waits} $stats->{set_backs}", '0 0', "counters, $layout: no wait, no set-back");

	my $log = $server->log_size;
	$server->move_clock(-6);
	$server->value('d1', 'SELECT flake_next()');    # a session that has not seen the clock before
	$stats = $look->();
	is($stats->{waits}, 1, "counters, $layout: a wait");
	ok($stats->{wait_time} > 0 && $stats->{wait_time} < 1 + $slack, "counters, $layout: of a second") or diag $stats->{wait_time};
	is($stats->{set_backs}, 1, "counters, $layout: a set-back");
	ok($stats->{set_back_max} > 6 - $slack && $stats->{set_back_max} <= 6, "counters, $layout: of 6 s since it was last read") or diag $stats->{set_back_max};
	ok($stats->{ahead_max} > 4.5 && $stats->{ahead_max} <= 5, "counters, $layout: ahead") or diag $stats->{ahead_max};
	ok($stats->{ahead_now} > 5 - $slack && $stats->{ahead_now} <= 5, "counters, $layout: still ahead") or diag $stats->{ahead_now};
	is(() = $server->log($log) =~ /LOG:  the clock was set back by [56]\./g, 1, "counters, $layout: one line of log");
	$server->value('postgres', 'CREATE ROLE clerk');
	is($server->connect('d1')->run('SET ROLE clerk; SELECT flake_stats_reset()')->{code}, '42501', "counters, $layout: not everyone may reset");
	$server->value('d1', 'SELECT flake_stats_reset()');
	$stats = $look->();
	is("$stats->{issued} $stats->{waits} $stats->{set_backs} $stats->{extensions}", '0 0 0 0', "counters, $layout: reset");
	$server->drop;
	return;
}

# What the horizon costs: little WAL at full speed, none when idle.
sub wal
{
	my ($layout, %o) = @_;
	my $seconds = $o{seconds} // 5;
	my $server = Torture::Server->create(layout => $layout, databases => 1, conf => "wal_level = minimal\nmax_wal_senders = 0");
	my $session = $server->connect;
	my $written = sub { return $session->value("SELECT pg_current_wal_insert_lsn() - '0/0'") };
	$session->value('SELECT flake_next()');
	$session->value('CHECKPOINT');
	my $from = $written->();
	my @sessions = map { $server->connect } 1 .. 2;
	my $until = Torture::Session::steady() + $seconds;
	my $ids = 0;
	while (Torture::Session::steady() < $until)
	{
		$_->send('SELECT count(flake_next()) FROM generate_series(1, 200000)') for @sessions;
		$ids += $_->receive->{rows}[0][0] for @sessions;
	}
	my $bytes = $written->() - $from;
	cmp_ok($bytes, '<', 100_000 * $seconds / 60 + ($seconds < 60 ? 4000 : 0), "wal, $layout: $bytes bytes in $seconds s");
	sleep 3;
	$from = $written->();
	my $horizon = $session->value('SELECT plain_horizon FROM flakeid.state');
	sleep($seconds / 2);
	is($written->(), $from, "wal, $layout: an idle server writes nothing");
	is($session->value('SELECT plain_horizon FROM flakeid.state'), $horizon, "wal, $layout: and leaves the horizon alone");
	$server->drop;
	return { layout => $layout, scenario => 'WAL', ids => $ids, sessions => 2, what => "$seconds s at full speed: $bytes bytes of WAL; idle: none" };
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
	my $row = row('back field', $draws, "$most set-backs of 100 s with kill -9, fast and immediate shutdown after each, then one more", %o);
	$server->drop;
	return $row;
}

1;
