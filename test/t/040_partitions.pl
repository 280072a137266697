# flakeid.partition() and flakeid.maintain() beside sessions that write, killed and run again, two at once, after a crash, on
# a subscriber, and what a dump carries. SQL test partition says what they do; test/bench/partitions does it with millions of rows.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

srand 28;
my $node = PostgreSQL::Test::Cluster->new('partitions');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', "flakeid.node = 1\nmax_connections = 40\ndeadlock_timeout = 10s\n");    # a step waits a fifth of that for its locks
$node->start;
$node->safe_psql('postgres', q{CREATE ROLE shop LOGIN; CREATE DATABASE shop OWNER shop});
$node->safe_psql('shop', 'CREATE EXTENSION flakeid_tables CASCADE; GRANT CREATE ON SCHEMA public TO shop');

# All of this happens on one day: on the next one, where this one ends soon.
$node->safe_psql('shop', q{SELECT pg_sleep_until(date_trunc('day', now() + interval '5 min', 'UTC'))});

sub sql { my ($sql) = @_; return scalar $node->safe_psql('shop', $sql, extra_params => [ '-U', 'shop' ]) }

# A statement of the owner, or of somebody else, beside us; what it printed as errors, when it ends.
sub beside
{
	my ($name, $sql, %by) = @_;
	local %ENV = $node->_get_env(PGAPPNAME => $name, PGOPTIONS => '-c client_min_messages=warning ' . ($by{options} // ''));
	my $err = '';
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-U', $by{user} // 'shop', '-d', 'shop', '-c', $sql ], '<', \undef, '>', \my $out, '2>', \$err);
	return sub { $run->finish; return $err };
}

sub kill_named { my ($name) = @_; return $node->safe_psql('shop', "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '$name'") }

# Sessions that run a script of pgbench until they are told to stop; then their errors.
sub clients
{
	my ($script) = @_;
	sql('DROP TABLE IF EXISTS go; CREATE TABLE go (on_with_it bool); INSERT INTO go VALUES (true)');
	sql(q{CREATE OR REPLACE FUNCTION go() RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF NOT (SELECT on_with_it FROM go) THEN RAISE 'no more'; END IF; END $$});
	my $file = write_file($node->basedir . '/clients.sql', "SELECT go();\n$script\\sleep 20 ms\n", 0644);
	local %ENV = $node->_get_env;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ qw(pgbench -n -c 8 -j 2 -T 36000 -U shop -f), $file, 'shop' ], '<', \undef, '>', \$out, '2>', \$err);
	return sub {
		sql('UPDATE go SET on_with_it = false');
		$run->finish;
		return join "\n", grep { !/no more/ } $err =~ /(?:ERROR|FATAL|PANIC): +(.*)/g;
	};
}

# A table that others refer to becomes partitioned while it is used, whatever happens on the way.
sql(q{
	CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), n int NOT NULL, half int GENERATED ALWAYS AS (n / 2) STORED);
	CREATE TABLE line (orders flake REFERENCES orders ON DELETE CASCADE);
	CREATE TABLE note (orders flake NOT NULL REFERENCES orders);
	INSERT INTO orders (n) SELECT generate_series(1, 20000);
	INSERT INTO line SELECT id FROM orders WHERE n % 2 = 0;
	INSERT INTO note SELECT id FROM orders WHERE n % 100 = 0;
	CREATE TABLE before AS SELECT * FROM orders});
my $end = clients("BEGIN;\nINSERT INTO orders (n) VALUES (0) RETURNING id \\gset\nINSERT INTO line VALUES (:id);\nCOMMIT;\nUPDATE orders SET n = n - 1 WHERE id = :id;\n");
my $kills = 0;
for (1 .. 10)
{
	my $ended = beside('converter', "CALL flakeid.partition('orders', '1 month')");
	sleep(rand 0.15);
	$kills += kill_named('converter');
	$ended->();
}
note "killed $kills times";
my @two = map { beside("converter $_", "CALL flakeid.partition('orders', '1 month')") } 1, 2;
my @errors = map { $_->() } @two;
ok($errors[0] eq '' || $errors[1] eq '', 'of two at once one ends well') or diag @errors;
is(beside('converter', "CALL flakeid.partition('orders', '1 month')")->(), '', 'and so does the next one');
is($end->(), '', 'no session had an error');
is(sql("SELECT relkind FROM pg_class WHERE oid = 'orders'::regclass"), 'p', 'the table is partitioned');
is(sql('SELECT count(*) FROM (TABLE before EXCEPT TABLE orders) AS d'), '0', 'with all rows that it had');
is(sql('SELECT (SELECT count(*) FROM orders WHERE n = -1) = (SELECT count(*) FROM line) - 10000'), 't', 'and all that came meanwhile')
  or diag sql('SELECT (SELECT count(*) FROM orders WHERE n < 1), (SELECT count(*) FROM line) - 10000');
is(sql("SELECT count(*), bool_and(convalidated) FROM pg_constraint WHERE confrelid = 'orders'::regclass AND conparentid = 0"), '2|t', 'both foreign keys hold');
is(sql("SELECT count(*) FROM pg_constraint WHERE conname = 'flakeid_partition'"), '0', 'nothing is left behind');
is(sql("SELECT count(*) FROM flakeid.partition_missing('orders')"), '0', 'every period has its partition');
is(sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'orders_before%' AND relkind = 'r'"), '1', 'it happened once');

# A table with strays is maintained while rows come, stray ones too, whatever happens on the way.
sql(q{
	CREATE TABLE event (id flake PRIMARY KEY DEFAULT flake_next(), n int) PARTITION BY RANGE (id);
	CREATE TABLE event_default PARTITION OF event DEFAULT});
my $day = sub { my ($n) = @_; return "flake_floor(date_trunc('day', now(), 'UTC') + $n * interval '1 day', 'snowflake')" };
sql(join '', map {
	my ($from, $to) = map { $day->($_) } $_, $_ + 1;
	"CREATE TABLE event_d@{[ $_ + 10 ]} PARTITION OF event FOR VALUES FROM ($from) TO ($to); INSERT INTO event SELECT $from + g, 1 FROM generate_series(1, 100) AS g;"
} -10 .. 0);
sql('INSERT INTO event SELECT ' . $day->(20) . ' + g * 100000000000, 2 FROM generate_series(1, 3000) AS g');
$end = clients("\\set stray random(1, 20)\n\\if :stray = 1\nINSERT INTO event SELECT " . $day->('(40 * random())') . " + :client_id * 16 + (random() * 15)::int, 3 ON CONFLICT DO NOTHING;\n\\else\nINSERT INTO event (n) VALUES (4);\n\\endif\n");
$kills = 0;
for my $round (1 .. 20)
{
	my $ended = beside('maintainer', "CALL flakeid.partition('event', '1 day', ahead => $round, keep => '" . (11 - int($round / 3)) . " days', drop_old => " . ($round % 2 ? 'true' : 'false') . ')');
	sleep(rand 0.3);
	$kills += kill_named('maintainer');
	$ended->();
	is(sql('SELECT count(*) FROM event WHERE n = 2'), '3000', "round $round: each stray row is seen all the time") if $round % 5 == 0;
}
note "killed $kills times";
sql(q{COMMENT ON TRIGGER flakeid_partitions ON event IS 'flakeid 1 {"every": "1 day", "ahead": 22, "keep": "5 days", "layout": "snowflake", "drop_old": true}'});
@two = map { beside("maintainer $_", 'CALL flakeid.maintain()') } 1, 2;
is($_->(), '', 'two at once end well') for @two;
is($end->(), '', 'no session had an error');
is(beside('maintainer', 'CALL flakeid.maintain()')->(), '', 'and one more');
is(sql('SELECT count(*) FROM event_default'), '0', 'no row strays any more');
is(sql('SELECT count(*) FROM event WHERE n = 2'), '3000', 'all that did before are there');
is(sql('SELECT count(*) FROM event WHERE n = 1'), '600', 'and all that are young enough');
is(sql("SELECT count(*) FROM flakeid.partition_missing('event')"), '0', 'every period has its partition');
is(sql("SELECT count(*) FROM flakeid.partition_old('event')"), '0', 'none is too old');
is(sql("SELECT count(*) FROM pg_class WHERE relname LIKE '%moved%'"), '0', 'nothing is left behind');
is(sql(q{SELECT count(*) FROM (SELECT lead(from_time) OVER (ORDER BY from_time) < to_time AS overlap FROM flakeid.partitions WHERE parent = 'event'::regclass AND attached) AS o WHERE overlap}), '0', 'no two overlap');

# A writer whose transaction stays open keeps no other from inserting, whatever waits for the writer meanwhile: the others' INSERTs end
# before the writer, since each step gives up its locks soon.
my @declare = (
	[ fresh => "CALL flakeid.partition('fresh', '1 month')", 'a table is declared' ],
	[ strays => "CALL flakeid.partition('strays', '1 month', ahead => 6)", 'a table with a default partition is declared again' ],
	[ plain => "CALL flakeid.partition('plain', '1 month')", 'a table becomes partitioned' ]);
sql(q{
	CREATE TABLE fresh (id flake PRIMARY KEY DEFAULT flake_next(), n int) PARTITION BY RANGE (id);
	CREATE TABLE fresh_default PARTITION OF fresh DEFAULT;
	CREATE TABLE strays (LIKE fresh INCLUDING ALL) PARTITION BY RANGE (id);
	CREATE TABLE strays_default PARTITION OF strays DEFAULT;
	CREATE TABLE again (LIKE fresh INCLUDING ALL) PARTITION BY RANGE (id);
	CREATE TABLE plain (LIKE fresh INCLUDING ALL)});
sql("CALL flakeid.partition('$_', '1 month', ahead => 2)") for qw(strays again);
my $writer = $node->background_psql('shop');
$writer->query_safe('BEGIN; ' . join '; ', map { "INSERT INTO $_ (n) VALUES (1)" } qw(fresh strays again plain));
is(beside('declarer', "CALL flakeid.partition('again', '1 month', ahead => 6, keep => '5 years')")->(), '', 'a table is declared again, and gets partitions, beside a writer');
sql('INSERT INTO again (n) VALUES (2)');
my @declarers = map { beside("declarer $_->[0]", $_->[1]) } @declare;
for my $d (@declare)
{
	my $waiting = "SELECT count(*) > 0 FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) WHERE a.application_name = 'declarer $d->[0]' AND l.relation = '$d->[0]'::regclass AND NOT l.granted";
	for (1 .. 2)
	{
		$node->poll_query_until('shop', $waiting) or die "$d->[2] without waiting\n";
		sql("SET lock_timeout = '3min'; INSERT INTO $d->[0] (n) VALUES (2)");
	}
	pass("$d->[2] behind a writer: others insert before it ends");
}
$writer->query_safe('COMMIT');
$writer->quit;
is($declarers[$_]->(), '', "$declare[$_][2] once the writer has ended") for 0 .. $#declare;
is(sql(join ' UNION ALL ', map { "SELECT '$_ ' || string_agg(n::text, ',' ORDER BY n) FROM $_" } qw(fresh strays again plain)), "fresh 1,2,2\nstrays 1,2,2\nagain 1,2\nplain 1,2,2", 'with all rows');

# Somebody who keeps a table locked keeps no other from being maintained.
my $holder = $node->background_psql('shop');
$holder->query_safe('BEGIN; LOCK TABLE strays_default');
sql('DROP TABLE ' . sql("SELECT partition FROM flakeid.partitions WHERE parent = 'again'::regclass ORDER BY to_time DESC LIMIT 1"));
like(beside('maintainer', 'CALL flakeid.maintain()', user => $node->safe_psql('shop', 'SELECT current_user'), options => '-c deadlock_timeout=10ms -c statement_timeout=3min')->(),
	qr/table public\.strays is not maintained: canceling statement due to lock timeout/, 'one table is locked');
is(sql("SELECT count(*) FROM flakeid.partition_missing('again')"), '0', 'and the one after it is maintained');
$holder->query_safe('ROLLBACK');
$holder->quit;

# A detachment that was interrupted is ended.
my $old = sql("SELECT partition FROM flakeid.partitions WHERE parent = 'event'::regclass ORDER BY from_time LIMIT 1");
sql('DROP TABLE event_default');
my $reader = $node->background_psql('shop');
$reader->query_safe("BEGIN; SELECT count(*) FROM event");
$node->psql('shop', "SET statement_timeout = '1s';\nALTER TABLE event DETACH PARTITION $old CONCURRENTLY", extra_params => [ '-U', 'shop' ], on_error_stop => 0);
is(sql("SELECT inhdetachpending FROM pg_inherits WHERE inhrelid = '$old'::regclass"), 't', 'a partition is half detached');
is(sql("SELECT attached FROM flakeid.partitions WHERE partition = '$old'::regclass"), 'f', 'and the view says so');
$reader->query_safe('ROLLBACK');
$reader->quit;
is(beside('maintainer', "CALL flakeid.partition('event', '1 day', ahead => 22)")->(), '', 'a run ends that');
is(sql("SELECT count(*) FROM pg_inherits WHERE inhrelid = '$old'::regclass"), '0', 'it is detached');

# A dump of the owner carries what was declared, and he restores it.
$node->safe_psql('postgres', 'CREATE DATABASE restored OWNER shop');
$node->safe_psql('restored', 'GRANT CREATE ON SCHEMA public TO shop; ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO shop');
my $dump = $node->basedir . '/shop.sql';
$node->command_ok([ 'pg_dump', '-U', 'shop', '-h', $node->host, '-p', $node->port, '-f', $dump, 'shop' ], 'the owner dumps');
my $said = '';
IPC::Run::run([ 'psql', '-Xq', '-U', 'shop', '-h', $node->host, '-p', $node->port, '-f', $dump, 'restored' ], '<', \undef, '>', \my $out, '2>', \$said);
unlike($said, qr/ERROR.*(?:partition|event|orders|line)/, 'and restores');
my $declared = q{SELECT tgrelid::regclass, obj_description(oid, 'pg_trigger') FROM pg_trigger WHERE tgname = 'flakeid_partitions' ORDER BY tgrelid::regclass::text};
is($node->safe_psql('restored', $declared), $node->safe_psql('shop', $declared), 'what was declared is there');
is($node->safe_psql('restored', 'SELECT count(*) FROM flakeid.partitions'), $node->safe_psql('shop', 'SELECT count(*) FROM flakeid.partitions'), 'and all partitions, with what was detached');
$node->safe_psql('restored', 'CALL flakeid.maintain()', extra_params => [ '-U', 'shop' ]);

# A subscriber gets every row, of a table that becomes partitioned, and of strays that move.
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->append_conf('postgresql.conf', "flakeid.node = 2");
$subscriber->start;
$subscriber->safe_psql('postgres', 'CREATE EXTENSION flakeid_tables CASCADE; CREATE TABLE sent (id flake PRIMARY KEY, n int)');
sql('CREATE TABLE sent (id flake PRIMARY KEY DEFAULT flake_next(), n int); INSERT INTO sent (n) SELECT generate_series(1, 100)');
$node->safe_psql('shop', 'CREATE PUBLICATION sent FOR TABLE sent WITH (publish_via_partition_root); ALTER PUBLICATION sent OWNER TO shop');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION sent CONNECTION 'host=" . $node->host . ' port=' . $node->port . " dbname=shop user=postgres' PUBLICATION sent");
$subscriber->wait_for_subscription_sync($node, 'sent');
is(beside('converter', "CALL flakeid.partition('sent', '1 day', ahead => 2)")->(), '', 'a published table becomes partitioned');
sql('CREATE TABLE sent_default PARTITION OF sent DEFAULT; INSERT INTO sent (n) SELECT generate_series(101, 200); UPDATE sent SET n = n + 1000 WHERE n % 2 = 0');
sql('INSERT INTO sent SELECT ' . $day->(30) . ' + g, g FROM generate_series(1, 50) AS g');
sql("CALL flakeid.maintain('sent')");
is(sql('SELECT count(*) FROM sent_default'), '0', 'strays moved');
sql('UPDATE sent SET n = n + 5000 WHERE id >= ' . $day->(30));
$node->wait_for_catchup('sent');
my $all = 'SELECT count(*), sum(n), sum(hashint8(id)::bigint) FROM sent';
is($subscriber->safe_psql('postgres', $all), sql($all), 'the subscriber has every row as it is');
$subscriber->stop;
$node->stop;
done_testing();
