# The settled mark among several sessions: who holds it, until when, and what a snapshot from before
# is told; preloaded or not, with few and with many connections.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../torture/lib";
use Test::More;
use Torture::Scenario;
use Torture::Server;

my $narrow = 'time:41:1ms node:10 sequence:1';

# Whether the ids of a session are held, as another session sees it
sub held
{
	my ($poller, $id) = @_;
	return $poller->value("SELECT flake_settled() <= $id") eq 't' ? 'held' : 'settled';
}

# The first process of a server that is free again for a session
sub ended
{
	my ($server, $pid) = @_;
	return wait_until(sub { !defined Torture::Server::parent($pid) });
}

sub sessions_hold
{
	my ($server, $with) = @_;
	my ($poller, $writer, $reader) = map { $server->connect } 1 .. 3;
	$writer->value('CREATE TABLE t (id flake PRIMARY KEY DEFAULT flake_next(), what text)');
	my $last = $writer->value('SELECT flake_next()');
	is($poller->value('SELECT flake_settled()'), $last + 1, "$with: idle, the mark is the next id");

	# Each way to draw, and each end
	for my $way (
		[ 'a row', q{INSERT INTO t VALUES (DEFAULT) RETURNING id} ],
		[ 'a savepoint', q{SAVEPOINT s; SELECT flake_next()}, 'ROLLBACK TO s' ],
		[ 'many', q{SELECT min(id) FROM flake_next_many(1000) AS id} ],
		[ 'a block', 'SELECT flake_block(100)' ],
		[ 'reserved ones', q{SET LOCAL flakeid.cache = 100; SELECT flake_next()} ],
		[ 'nothing written', 'SELECT flake_next()' ])
	{
		my ($what, $sql, $then) = @$way;
		for my $end ('COMMIT', 'ROLLBACK')
		{
			$writer->value('BEGIN');
			my $answer = $writer->run($sql);
			my $id = $answer->{rows}[0][0];
			$writer->value($then) if $then;
			is(held($poller, $id), 'held', "$with: $what holds the mark");
			is($poller->value("SELECT concat_ws(' ', pid, usename, database, lowest_id) FROM flakeid.unsettled"),
				"$writer->{pid} postgres d1 $id", "$with: the view names it");
			$writer->value($end);
			is(held($poller, $id), 'settled', "$with: and after $end not");
		}
	}

	# Readers hold nothing
	$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$reader->value('SELECT count(*) FROM t');
	$last = $writer->value('SELECT flake_next()');
	is($poller->value('SELECT flake_settled()'), $last + 1, "$with: a reader holds nothing");
	$reader->value('COMMIT');

	# Another session's end, however it comes
	for my $how ('pg_terminate_backend', 'a closed connection')
	{
		my $other = $server->connect;
		$other->value('BEGIN');
		my $id = $other->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
		is(held($poller, $id), 'held', "$with: held");
		if ($how eq 'pg_terminate_backend') { $poller->value("SELECT pg_terminate_backend($other->{pid})") }
		else { close $other->{socket} }
		ended($server, $other->{pid});
		is(held($poller, $id), 'settled', "$with: $how ends it");
	}

	# A snapshot from before is not told of what it cannot see.
	$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$reader->value('SELECT count(*) FROM t');
	my $id = $writer->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
	is(held($poller, $id), 'settled', "$with: settled for those who see it");
	is(held($reader, $id), 'held', "$with: and not for those who do not");
	$writer->value('BEGIN');
	my $later = $writer->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
	$writer->value('ROLLBACK');
	is(held($reader, $later), 'held', "$with: nor anything above it");
	$reader->value('COMMIT');
	is(held($reader, $later), 'settled', "$with: until their transaction has ended");

	# Of each session so many transactions are known, and the next one may be overwritten.
	$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
	$reader->value('SELECT count(*) FROM t');
	my $commits = 'DO $$ BEGIN FOR i IN 1..%d LOOP INSERT INTO t VALUES (DEFAULT); COMMIT; END LOOP; END $$';
	$id = $writer->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
	$writer->value(sprintf $commits, 1021);
	is(held($reader, $id), 'held', "$with: held for a snapshot that is 1,022 transactions old");
	$writer->value(sprintf $commits, 1);
	my $refused = $reader->run('SELECT flake_settled()');
	like("$refused->{code} $refused->{message}", qr/^55000 the snapshot is too old for a settled mark$/, "$with: refused to an older one");
	$reader->value('ROLLBACK');

	# A commit that waits for a standby has not ended for others. Commits wait once the checkpointer
	# has read the setting.
	$server->value('postgres', $_) for q{ALTER SYSTEM SET synchronous_standby_names = 'none'}, 'SELECT pg_reload_conf()';
	my $waits = wait_until(sub {
		$writer->value('BEGIN');
		$id = $writer->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
		$writer->send('COMMIT');
		my $state;
		wait_until(sub {
			$state = $poller->value(qq{SELECT CASE WHEN wait_event = 'SyncRep' THEN 'waits' WHEN state = 'idle' THEN 'ended' ELSE '' END
				FROM pg_stat_activity WHERE pid = $writer->{pid}});
		});
		$writer->receive if $state eq 'ended';
		return $state eq 'waits';
	});
	ok($waits, "$with: a commit waits");
	$server->value('d1', 'SET synchronous_commit = local; INSERT INTO t VALUES (DEFAULT)');
	is(held($poller, $id), 'held', "$with: and holds the mark, though later ones have ended");
	$server->value('postgres', $_) for 'ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()';
	$writer->receive;
	is(held($poller, $id), 'settled', "$with: until it has ended");

	# One mark for all scans of a statement, though the first one sees a transaction that ends without
	# having written anything.
	$writer->value('BEGIN');
	$id = $writer->value('SELECT flake_next()');
	$server->value('d1', 'INSERT INTO t VALUES (DEFAULT)');
	$reader->value('BEGIN');
	$reader->value("DECLARE c CURSOR FOR SELECT flake_settled() <= $id FROM generate_series(1, 2)");
	is($reader->value('FETCH FROM c'), 't', "$with: a cursor begins");
	$writer->value('COMMIT');
	is(held($poller, $id), 'settled', "$with: a transaction ends");
	is($reader->value('FETCH FROM c'), 't', "$with: the cursor goes on with its mark");
	is($reader->value("SELECT flake_settled() <= $id"), 'f', "$with: the next statement has another one");
	$reader->value('COMMIT');
	return;
}

sub workers_hold
{
	my ($server, $with) = @_;
	my $poller = $server->connect;
	for my $end ('COMMIT', 'ROLLBACK', 'PREPARE TRANSACTION')
	{
		my $leader = $server->connect;
		my $setting = $leader->value(q{SELECT name FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')});
		$leader->value("BEGIN; SET LOCAL $setting = on");
		my $id = $leader->value('SELECT flake_next()');
		my $plan = $leader->run('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT flake_next()');
		like(join("\n", map { $_->[0] } @{ $plan->{rows} }), qr/Workers Launched: 1/, "$with: a worker draws");
		is(held($poller, $id), 'held', "$with: for its leader");
		is($poller->value('SELECT pid FROM flakeid.unsettled'), $leader->{pid}, "$with: whom the view names");
		$leader->value("SET LOCAL $setting = off; CREATE TABLE of_worker ()");
		$leader->value($end =~ /PREPARE/ ? "$end 'of_worker'" : $end);
		is(held($poller, $id), $end =~ /PREPARE/ ? 'held' : 'settled', "$with: until $end");
		$leader->value(q{COMMIT PREPARED 'of_worker'}) if $end =~ /PREPARE/;
		$leader->value('DROP TABLE IF EXISTS of_worker');
		is(held($poller, $id), 'settled', "$with: and not longer");
	}
	return;
}

sub prepared_hold
{
	my ($server, $with) = @_;
	my ($poller, $writer, $reader) = map { $server->connect } 1 .. 3;
	for my $end ('COMMIT', 'ROLLBACK')
	{
		$writer->value('BEGIN');
		my $id = $writer->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
		$writer->value(q{PREPARE TRANSACTION 'first'});
		is(held($poller, $id), 'held', "$with: a prepared transaction holds the mark");
		is($poller->value(q{SELECT concat_ws(' ', coalesce(pid, 0), usename, gid, lowest_id) FROM flakeid.unsettled}),
			"0 postgres first $id", "$with: the view names it");
		$reader->value('BEGIN ISOLATION LEVEL REPEATABLE READ');
		$reader->value('SELECT count(*) FROM t');
		$poller->value("$end PREPARED 'first'");
		is(held($poller, $id), 'settled', "$with: until another session's $end PREPARED");
		if ($end eq 'COMMIT')
		{
			is(held($reader, $id), 'held', "$with: for a snapshot from before, longer");
			# in the same place
			$writer->value(q{BEGIN; INSERT INTO t VALUES (DEFAULT); PREPARE TRANSACTION 'second'});
			is(held($reader, $id), 'held', "$with: also when others were prepared since");
			$poller->value(q{ROLLBACK PREPARED 'second'});
		}
		$reader->value('COMMIT');
	}
	for (1 .. 100)
	{
		$writer->value("BEGIN; INSERT INTO t VALUES (DEFAULT); PREPARE TRANSACTION 'again'");
		$poller->value(q{COMMIT PREPARED 'again'});
	}
	my $last = $writer->value('SELECT flake_next()');
	is($poller->value('SELECT flake_settled()'), $last + 1, "$with: a hundred leave nothing");
	is($poller->value('SELECT count(*) FROM flakeid.unsettled'), 0, "$with: as the view says");

	# A failed PREPARE TRANSACTION
	$writer->value('BEGIN');
	my $id = $writer->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
	$poller->value(q{BEGIN; CREATE TABLE gone (); PREPARE TRANSACTION 'taken'});
	is($writer->run(q{PREPARE TRANSACTION 'taken'})->{code}, '42710', "$with: a name that is taken");
	is(held($poller, $id), 'settled', "$with: leaves nothing");
	$poller->value(q{ROLLBACK PREPARED 'taken'});

	# Nobody knows after a restart what prepared transactions drew.
	for my $stop (sub { $server->stop }, sub { $server->kill_all })
	{
		$writer->value('BEGIN');
		$id = $writer->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
		$writer->value(q{PREPARE TRANSACTION 'it''s old'});
		$stop->();
		$server->start;
		($poller, $writer) = map { $server->connect } 1 .. 2;
		my $answer = $poller->run('SELECT flake_settled()');
		is($answer->{code}, '55000', "$with: after a restart there is no mark");
		is($answer->{detail}, q{They are 'it''s old'.}, "$with: the error names it");
		is($poller->value(q{SELECT concat_ws(' ', gid, coalesce(lowest_id::text, '-')) FROM flakeid.unsettled}), q{it's old -}, "$with: as the view does");
		$writer->value('BEGIN');
		my $new = $writer->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
		$writer->value(q{PREPARE TRANSACTION 'new'});
		$poller->value(q{COMMIT PREPARED 'it''s old'});
		is(held($poller, $id), 'settled', "$with: until it has ended");
		is(held($poller, $new), 'held', "$with: and what is prepared since is known");
		$poller->value(q{COMMIT PREPARED 'new'});
		is(held($poller, $new), 'settled', "$with: as ever");
	}
	return;
}

sub others_hold_nothing
{
	my ($server, $with) = @_;
	my ($poller, $writer) = map { $server->connect } 1 .. 2;
	my $elsewhere = $server->connect('d2');
	$elsewhere->value('BEGIN');
	$elsewhere->value('CREATE TABLE elsewhere AS SELECT flake_next() AS id');
	my $last = $writer->value('SELECT flake_next()');
	is($poller->value('SELECT flake_settled()'), $last + 1, "$with: another database's sessions hold nothing");
	is($poller->value('SELECT count(*) FROM flakeid.unsettled'), 0, "$with: and are not in the view");
	$elsewhere->value('COMMIT');

	# Words that an idle session has reserved are given up.
	$writer->value('SET flakeid.cache = 100');
	my $reserved = $writer->value('SELECT flake_next()');
	my $mark = $poller->value('SELECT flake_settled()');
	cmp_ok($mark, '>', $reserved + 99, "$with: reserved words hold nothing");
	cmp_ok($writer->value('SELECT flake_next()'), '>=', $mark, "$with: and are not drawn below the mark");

	# Somebody else's transaction shows as in pg_stat_activity.
	$writer->value('BEGIN; SELECT flake_next()');
	$server->value('postgres', q{DO $$ BEGIN CREATE ROLE clerk; EXCEPTION WHEN duplicate_object THEN NULL; END $$});
	is($server->connect->value(q{SET ROLE clerk; SELECT concat_ws(' ', pid, usename, since, lowest_id) FROM flakeid.unsettled}),
		"$writer->{pid} postgres", "$with: without what others may not see");
	is($server->connect->value(q{SET ROLE pg_read_all_stats; SELECT count(since) + count(lowest_id) FROM flakeid.unsettled}), 2, "$with: which monitors may");
	$writer->value('COMMIT');
	return;
}

# Several nodes, with a clock that stands still, so that ids run ahead of it
sub nodes
{
	my ($server, $with) = @_;
	my $session = sub {
		my ($node) = @_;
		my $made = $server->connect;
		$made->value("SET flakeid.layout = '$narrow'; SET flakeid.node = '$node'");
		return $made;
	};
	my ($poller, $writer) = map { $session->('100-163') } 1 .. 2;
	$writer->value('SELECT flake_next()'); # extends the horizon
	$server->stop_clock($server->now);
	$writer->value('BEGIN');
	my $first = $writer->value('SELECT min(id) FROM (SELECT flake_next() AS id FROM generate_series(1, 60) OFFSET 0) AS drawn');
	is($poller->value('SELECT count(*) || \' \' || count(lowest_id) FROM flakeid.unsettled'), '9 8', "$with: eight nodes and others");
	is(held($poller, $first), 'held', "$with: a span holds the mark");
	my $last = $writer->value('INSERT INTO t SELECT id FROM (SELECT flake_next() AS id FROM generate_series(1, 2) OFFSET 0) AS drawn RETURNING id');
	is(held($poller, $last), 'held', "$with: its further nodes too");
	$writer->value('COMMIT');
	$server->set_clock(0);
	ok(wait_until(sub { held($poller, $last) eq 'settled' }), "$with: and not when the clock has left it");

	# A node that nobody used before begins above the mark.
	$writer = $session->(500);
	$writer->value('SELECT flake_next()');
	$server->stop_clock($server->now);
	$writer->value('SELECT max(id) FROM (SELECT flake_next() AS id FROM generate_series(1, 2000) OFFSET 0) AS drawn');
	my $mark = $session->(500)->value('SELECT flake_settled()');
	cmp_ok($session->($_)->value('SELECT flake_next()'), '>=', $mark, "$with: node $_ begins above the mark") for 7, 501;
	$server->set_clock(0);
	return;
}

for my $setup ([ 0, 20 ], [ 1, 2000 ])
{
	my ($preload, $connections) = @$setup;
	my $with = ($preload ? 'preloaded' : 'not preloaded') . ", $connections connections";
	my $server = Torture::Server->create(preload => $preload, databases => 2,
		conf => "max_connections = $connections\nmax_prepared_transactions = 5\nflakeid.max_ahead = '10s'\n");
	sessions_hold($server, $with);
	workers_hold($server, $with);
	prepared_hold($server, $with);
	others_hold_nothing($server, $with);
	nodes($server, $with);

	# kill -9 of one session takes all down, and nothing stays behind.
	my $writer = $server->connect;
	$writer->value('BEGIN');
	my $id = $writer->value('INSERT INTO t VALUES (DEFAULT) RETURNING id');
	my $log = $server->log_size;
	kill 'KILL', $writer->{pid};
	ok(wait_until(sub { $server->log($log) =~ /database system is ready/ }), "$with: a killed backend");
	is(held($server->connect, $id), 'settled', "$with: leaves nothing");
	cmp_ok($server->value('d1', 'SELECT flake_next()'), '>=', $server->value('d1', 'SELECT flake_settled()') - 1, "$with: and ids go on");

	if ($connections == 20)
	{
		my $standby = Torture::Server->new(standby_of => $server, preload => $preload);
		open my $line, '>>', "$standby->{data}/postgresql.conf" or die $!;
		print $line "max_connections = 20\nmax_prepared_transactions = 5\n";
		close $line;
		$standby->start;
		is($standby->connect('d1')->run('SELECT flake_settled()')->{code}, '55000', "$with: a standby has no mark");
		is($standby->value('d1', 'SELECT count(*) FROM flakeid.unsettled'), 0, "$with: nor holders");
		$standby->stop;
	}
	$server->drop;
}
done_testing();
