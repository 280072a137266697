# Every place that can call a function.
package Torture::Scenario::Places;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max);
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;

our @EXPORT = qw(places);

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
flakeid.node = 0
END
	my ($here, $there) = map { $server->connect($_) } qw(d1 d2);
	my $draws = Torture::Draws->new($layout);
	my %meanwhile = (sessions => 2, pause => max(0.01, pause_for($layout)));
	$draws->start($server, %meanwhile);
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

	# Logical replication: the subscriber's default and trigger are run by its apply worker. Both are of
	# one server, which keeps node 0.
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
	wait_until(sub { $there->value('SELECT count(*) FROM events') == 5000 });
	$take->('logical replication', $there, 'SELECT id FROM events UNION ALL SELECT other FROM events', 10000);
	$there->value($_)
	  for 'ALTER SUBSCRIPTION events DISABLE', 'ALTER SUBSCRIPTION events SET (slot_name = NONE)', 'DROP SUBSCRIPTION events';

	# Prepared transactions outlive the server.
	$take->("prepared transaction $_", $here, "BEGIN; $insert; PREPARE TRANSACTION 't$_'", 500) for 1 .. 4;
	$here->value($_) for "COMMIT PREPARED 't1'", "ROLLBACK PREPARED 't2'";
	$server->kill_all;
	$draws->finish;
	$draws->next_run;
	$server->move_clock(-2);
	$server->start;
	$draws->start($server, %meanwhile);
	$here = $server->connect('d1');
	$here->value($_) for "COMMIT PREPARED 't3'", "ROLLBACK PREPARED 't4'";
	$take->('after the kill', $here, $insert, 500);
	sleep 1;
	$draws->stop;

	# What the other sessions drew was written down by them; all of it must be different.
	my $row = row('places', $draws,
		'READ ONLY, deferrable, cache, many, blocks, parallel CREATE TABLE AS, functions, triggers, defaults, rewrite, subtransactions, prepared transactions, kill -9, logical replication apply', server => $server);
	my $written = $draws->ids('d1');
	is(Torture::Draws::repeated($written . pack 'q*', @ids), 0, "places, $layout: none of them twice");
	$row->{ids} += @ids;
	$server->drop;
	return $row;
}

1;
