# Shared memory beside other extensions, without preloading: flakeid takes next to nothing of the
# server's small reserve, says so when not even that is there, and outlives crashes of sessions.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# An extension that takes of the reserve what it wants
my $greedy = c_library('greedy', q{
	#include "storage/shmem.h"
	PG_FUNCTION_INFO_V1(take);
	Datum take(PG_FUNCTION_ARGS)
	{
		bool found;
		char name[32];
		snprintf(name, sizeof name, "greedy %d", PG_GETARG_INT32(0));
		ShmemInitStruct(name, PG_GETARG_INT32(1), &found);
		PG_RETURN_VOID();
	}});

my $node = server('room', "shared_buffers = '128kB'", "max_connections = 10", 'restart_after_crash = on', "shared_preload_libraries = 'pg_stat_statements'");
$node->safe_psql('postgres', "CREATE EXTENSION pg_stat_statements; CREATE FUNCTION take(n int, bytes int) RETURNS void AS '$greedy' LANGUAGE C");

# Leaves `rest` bytes of the reserve, or a little less, for a server that was just started: what the
# server has is more than it can give at once.
sub leave
{
	my ($rest) = @_;
	$node->safe_psql('postgres', qq{DO \$\$
		DECLARE
			want int := 0;
			n int := 0;
		BEGIN
			SELECT size - $rest INTO want FROM pg_shmem_allocations WHERE name IS NULL;
			WHILE want > 0 LOOP
				n := n + 1;
				BEGIN
					PERFORM take(n, want);
				EXCEPTION WHEN OTHERS THEN
					want := want / 2;
				END;
				SELECT least(want, size - $rest) INTO want FROM pg_shmem_allocations WHERE name IS NULL;
			END LOOP;
		END \$\$});
	my $left = $node->safe_psql('postgres', 'SELECT size FROM pg_shmem_allocations WHERE name IS NULL');
	cmp_ok($left, '<=', $rest, "$rest bytes are left");
	return;
}

$node->restart;
leave(2048);
is(refusal($node, 'SELECT flake_next()'), '', 'flakeid has room where others took nearly all');
cmp_ok($node->safe_psql('postgres', q{SELECT sum(allocated_size) FROM pg_shmem_allocations WHERE name LIKE 'flakeid%'}), '<', 1024,
	'it takes less than 1 kB');
is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM pg_stat_statements'), 't', 'pg_stat_statements works');

SKIP:
{
	skip 'pgvector is not installed', 1
	  if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'}) == 0;
	$node->restart;
	$node->safe_psql('postgres', q{CREATE EXTENSION vector; CREATE TABLE v (id flake PRIMARY KEY DEFAULT flake_next(), e vector(3));
		INSERT INTO v (e) SELECT ARRAY[g, g, g]::vector FROM generate_series(1, 100) g;
		CREATE INDEX ON v USING ivfflat (e vector_l2_ops) WITH (lists = 2)});
	is($node->safe_psql('postgres', 'INSERT INTO v (e) SELECT ARRAY[g, g, g]::vector FROM generate_series(1, 100) g;
		SELECT count(DISTINCT id) FROM v'), '200', 'pgvector works');
}

$node->restart;
leave(64);
like(refusal($node, 'SELECT flake_next()'), qr/^53200: the server has no shared memory left for flakeid\ndetail: .*\nhint: Add flakeid to shared_preload_libraries and restart the server\.$/s,
	'where nothing is left, it says what to do');
like(refusal($node, 'SELECT flake_next()'), qr/^53200: the server has no shared memory/, 'and again');
is(refusal($node, 'SELECT flake_timestamp(5)'), '', 'ids can still be read');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'pg_stat_statements, flakeid'");
$node->restart;
leave(64);
is(refusal($node, 'SELECT flake_next()'), '', 'preloaded, it has room');

# The first session to use it is a parallel worker.
for my $preloaded (1, 0)
{
	my $with = $preloaded ? 'preloaded' : 'not preloaded';
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'pg_stat_statements'") if !$preloaded;
	$node->restart;
	my $parallel = parallel_setting($node);
	my $first = $node->safe_psql('postgres', "SET $parallel = on; SELECT flake_next()");
	cmp_ok($node->safe_psql('postgres', 'SELECT flake_next()'), '>', $first, "$with: a parallel worker was first, and others go on");

	# A session dies, and the server begins anew without a restart.
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my ($last, $pid) = split /\|/, $session->query('SELECT max(id), pg_backend_pid() FROM flake_next_many(100000) AS id');
	my $offset = -s $node->logfile;
	kill 'KILL', $pid;
	$node->wait_for_log(qr/database system is ready to accept connections/, $offset);
	$session->{run}->kill_kill;
	cmp_ok($node->safe_psql('postgres', 'SELECT flake_next()'), '>', $last, "$with: after a crash ids go on above");
	is($node->safe_psql('postgres', 'SELECT count(DISTINCT id) FROM (SELECT flake_next() AS id FROM generate_series(1, 1000)) AS s'), '1000', "$with: and distinct");
}
$node->stop;

done_testing();
