# Ids of many sessions at once, from two databases, by every kind of session.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Names of the same bits, as presets and as texts
my @names = (
	q{'snowflake'}, q{'twitter'},
	q{'time:41:1ms node:10 sequence:12 epoch=1288834974657ms'},
	q{'time:41:1000us rack:3 host:7 sequence:12 epoch=2010-11-04T01:42:54.657Z'});

# Eight sessions, four in each database
sub draw
{
	my ($node, $query, $options) = @_;
	return draw_at_once($node,
		map { [ $_ % 2 ? 'other' : 'postgres', ref $query ? $query->($_) : $query, $options ] } 0 .. 7);
}

for my $preload (0, 1)
{
	my $with = $preload ? 'preloaded' : 'not preloaded';
	my $node = PostgreSQL::Test::Cluster->new("preload_$preload");
	$node->init;
	my $secret = write_file($node->basedir . '/secret', '3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49');
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'") if $preload;
	$node->append_conf('postgresql.conf', "flakeid.secret_file = '$secret'\nmax_worker_processes = 16");
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE other');
	$node->safe_psql($_, 'CREATE EXTENSION flakeid') for 'postgres', 'other';
	is($node->safe_psql('postgres', q{SELECT value FROM flakeid.status WHERE name = 'preloaded'}),
		$preload ? 'yes' : 'no', "$with: the library is loaded as meant");

	# Plain: the configured layout, and the same bits under other names
	my $each = $preload ? 12_500 : 50_000;
	my $all = 8 * $each;
	my @drawn = draw($node, sub {
		my $name = $_[0] < 4 ? '' : $names[ $_[0] % 4 ];
		return "SELECT flake_next($name) FROM generate_series(1, $each)" });
	is(counts(@drawn), "$all of $all", "$with: ids are distinct");
	is(rising(1, @drawn), 8, "$with: each session's are rising");
	unlink @drawn;

	# Enciphered, one node: 131,072 a second. The raw ids rise, the ids are distinct.
	$each = 12_500;
	$all = 8 * $each;
	@drawn = draw($node, qq{SELECT id, flake_decrypt(id) FROM
		(SELECT flake_next('randflake') AS id FROM generate_series(1, $each) OFFSET 0) AS s});
	is(counts(@drawn), "$all of $all", "$with: enciphered ids are distinct");
	cmp_ok(shell("cat @drawn | grep -c ^-"), '>', 3 * $each, "$with: about half of them are negative");
	is(rising(2, @drawn), 8, "$with: each session's raw ids are rising");
	unlink @drawn;

	# Mixed: one at a time, many, blocks, and reserved ones, all of one generator
	my @kinds = (
		'SELECT flake_next() FROM generate_series(1, 5000)',
		'SELECT flake_next_many(5) FROM generate_series(1, 1000)',
		'SELECT flake_next_many(5000)',
		'SELECT first + generate_series(0, 9) FROM (SELECT flake_block(10) AS first FROM generate_series(1, 500) OFFSET 0) AS s');
	for my $cache (1, 50)
	{
		@drawn = draw($node, sub { $kinds[ $_[0] % 4 ] }, "-c flakeid.cache=$cache");
		is(counts(@drawn), '40000 of 40000', "$with: flakeid.cache = $cache: singles, many and blocks are distinct");
		is(rising(1, @drawn), 8, "$with: flakeid.cache = $cache: each session's are rising");
	}
	@drawn = draw_at_once($node,
		map { [ 'postgres', 'SELECT flake_next() FROM generate_series(1, 5000)', "-c flakeid.cache=$_" ] } 1, 7, 1, 1000);
	is(counts(@drawn), '20000 of 20000', "$with: sessions of different flakeid.cache: distinct");
	is(rising(1, @drawn), 4, "$with: sessions of different flakeid.cache: each session's are rising");

	# Taking turns: in the order issued, whichever the session, database or name
	my @turns = map { $node->background_psql($_) } 'postgres', 'other';
	my @ids = map { $turns[ $_ % 2 ]->query_safe("SELECT flake_next($names[$_ % 3])") } 1 .. 60;
	$_->quit for @turns;
	is(join(' ', @ids), join(' ', sort { $a <=> $b } @ids), "$with: ids rise in the order issued, across sessions");

	# Inserts of many transactions
	$node->safe_psql('postgres', "CREATE TABLE t (id flake PRIMARY KEY DEFAULT flake_next(), n int)");
	$node->pgbench(
		'--no-vacuum --client=8 --jobs=2 --transactions=250', 0, [qr{processed: 2000/2000}], [qr{^$}],
		"$with: single-row inserts",
		{ "insert_$preload" => 'INSERT INTO t (n) VALUES (1);' });
	is($node->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM t'), '2000', "$with: each has an id");

	# Parallel workers
	$node->safe_psql('postgres', 'CREATE TABLE big AS SELECT generate_series(1, 50000) AS n');
	my $parallel = q{SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
		SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;};
	my $plan = $node->safe_psql('postgres',
		"$parallel ALTER TABLE big SET (parallel_workers = 4);
		EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) CREATE TABLE numbered AS SELECT n, flake_next() AS id FROM big");
	like($plan, qr/Workers Launched: [1-4]\n.*Parallel Seq Scan on public.big.*Output: n, flake_next\(\)/s,
		"$with: CREATE TABLE AS draws ids in workers");
	is($node->safe_psql('postgres', 'SELECT count(DISTINCT id), bool_and(flake_node(id) = 0) FROM numbered'),
		'50000|t', "$with: which are distinct");
	is($node->safe_psql('postgres', "$parallel SELECT count(*) FROM (SELECT flake_next('randflake') AS id FROM big OFFSET 0) AS s
		WHERE flake_timestamp(id, 'randflake') BETWEEN date_trunc('second', now()) AND clock_timestamp() + interval '5 s'"),
		'50000', "$with: enciphered ones too, and they are read there");
	my $force = parallel_setting($node);
	my $ahead = draw_ahead($node, 'other');
	$node->restart;    # so that the first draw of a database is made by a worker
	cmp_ok($node->safe_psql('other', "SET $force = on; SELECT flake_next('$FlakeTest::narrow')"), '>', $ahead,
		"$with: after a restart a worker draws above what ran ahead of the clock");
	my @forced = split /\n/, $node->safe_psql('other', "SET $force = on; SELECT flake_next(); SELECT flake_next('twitter');
		SELECT flake_next_many(3); SELECT flake_block(5); SELECT flake_next('tsid') IS NULL;");
	like(pop @forced, qr/^f$/, "$with: a worker draws with any layout");
	is(scalar(@forced), 6, "$with: every function draws in a worker");
	is(join(' ', @forced), join(' ', sort { $a <=> $b } @forced), "$with: rising");
	cmp_ok($forced[0], '>', $node->safe_psql('postgres', 'SELECT max(id) FROM numbered'), "$with: above those before the restart");
	like($node->safe_psql('other', "SET $force = on; EXPLAIN SELECT flake_next()"), qr/Gather/, "$with: it was a worker");

	# A session that ends in the middle of its work
	my $victim = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $victim->query_safe('SELECT pg_backend_pid()');
	$victim->query_until(qr/started/, "\\echo started\nINSERT INTO t (n) SELECT 2 FROM generate_series(1, 100000000);\n");
	$node->poll_query_until('postgres', "SELECT state = 'active' FROM pg_stat_activity WHERE pid = $pid AND query LIKE 'INSERT%'");
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 10000)");
	eval { $victim->quit };
	is($node->safe_psql('postgres', 'INSERT INTO t (n) SELECT 3 FROM generate_series(1, 1000) RETURNING n') =~ tr/3//, 1000,
		"$with: the others go on when a session is terminated");
	$node->stop;
}

done_testing();
