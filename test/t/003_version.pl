# Another version of the library under a running server: an error that says restart, never a second
# shared memory.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The same library with another format of the shared memory, as the next release may have
my ($format) = slurp_file(source_dir() . '/src/server/shared.cpp') =~ /^#define FLAKEID_SHARED_VERSION (\d+)$/m;
my $next_format = $format + 1;
my $dir = PostgreSQL::Test::Utils::tempdir();
system('cp', '-pR', map({ source_dir() . "/$_" } qw(src sql Makefile flakeid.control)), $dir) == 0 or die;
unlink "$dir/src/server/shared.o", "$dir/flakeid.so";
my ($log, $err) = run_command([ 'make', '-s', '-C', $dir, 'with_llvm=no', 'flakeid.so',
	"PG_CPPFLAGS=-Isrc -DFLAKEID_SHARED_VERSION=$next_format" ]);
rename "$dir/flakeid.so", "$dir/other.so" or die "no other.so: $log $err";

my $use_other = qq{CREATE SCHEMA other; CREATE FUNCTION other.flake_next() RETURNS bigint AS '$dir/other.so', 'flakeid_next' LANGUAGE C};
sub refused
{
	my ($running, $this) = @_;
	return "55000: the running server uses another version of the flakeid library\n"
	  . "detail: Its shared memory has format $running, this library has format $this.\nhint: Restart the server.";
}

# A session that reads, and has led parallel workers, has nothing in the memory of another library.
sub commits_after_parallel
{
	my ($server, $reads, $what) = @_;
	my $on = parallel_setting($server);
	my $sql = "$reads; CREATE TABLE IF NOT EXISTS big AS SELECT generate_series(1, 100) AS i; SET $on = on; SELECT count(*) FROM big; RESET $on";
	like($server->safe_psql('postgres', "SET $on = on; EXPLAIN (ANALYZE, COSTS off) SELECT count(*) FROM big"), qr/Workers Launched: 1/, "$what: a worker")
	  if $server->safe_psql('postgres', "SELECT to_regclass('big')") ne '';
	return is(refusal($server, "$sql; INSERT INTO big VALUES (0); BEGIN; CREATE TABLE made (); PREPARE TRANSACTION 'made'; ROLLBACK PREPARED 'made'"), '',
		"$what: a session that reads commits after a parallel query");
}

my $node = server('main', 'max_prepared_transactions = 1');
commits_after_parallel($node, 'SELECT flake_node(5)', 'no memory yet');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_shmem_allocations WHERE name = \'flakeid memory\''), '0', 'and makes none');
$node->safe_psql('postgres', $use_other);
my $old = $node->background_psql('postgres', on_error_stop => 0);
my $first = $old->query('SELECT flake_next()');
is(refusal($node, 'SELECT other.flake_next()'), refused($format, $next_format), 'a newer library under a running server is refused');
is(refusal($node, 'SELECT other.flake_next()'), refused($format, $next_format), 'by the next session too');
is(refusal($node, 'SELECT other.flake_next(); SELECT other.flake_next()'), refused($format, $next_format), 'and when it tries again');
cmp_ok($old->query('SELECT flake_next()'), '>', $first, 'sessions of the old one go on');
commits_after_parallel($node, "LOAD '$dir/other'", 'a newer library');
my $last = $node->safe_psql('postgres', 'SELECT max(id) FROM flake_next_many(10000) AS id');
cmp_ok($last, '>', $first, 'and so do new ones of the old');
is($node->safe_psql('postgres', 'SELECT count(*), max(size) < 1024 FROM pg_shmem_allocations WHERE name LIKE \'%flake%\''), '1|t', 'there is one shared memory, a small one');
$old->quit;

# After the restart the newer one is first, and the older one is refused.
$node->restart;
$node->safe_psql('postgres', 'SELECT other.flake_next()');
is(refusal($node, 'SELECT flake_next()'), refused($next_format, $format), 'after the restart the older one is refused');
is(refusal($node, 'SELECT flake_node(5), flakeid.describe(\'tsid\')'), '', 'reading needs no shared memory');
commits_after_parallel($node, 'SELECT flake_node(5)', 'an older library');
$node->restart;
cmp_ok($node->safe_psql('postgres', 'SELECT flake_next()'), '>', $last, 'back at the older one, ids are above those before');
$node->stop;

# A server that preloads one has it for all sessions, whatever is installed meanwhile.
$node->append_conf('postgresql.conf', "shared_preload_libraries = '$dir/other'");
$node->start;
is(refusal($node, 'SELECT other.flake_next()'), '', 'preloaded');
like(refusal($node, 'SELECT flake_next()'), qr/^\w{5}: /, 'a second one is refused');
is($node->safe_psql('postgres', q{SELECT string_agg(name, ', ' ORDER BY name COLLATE "C") FROM pg_shmem_allocations WHERE name LIKE '%flake%'}),
	'flakeid, flakeid memory', 'there is one shared memory');
$node->stop;

# A library whose memory under the name has another size
my $old_library = c_library('old', q{
	#include "storage/shmem.h"
	PG_FUNCTION_INFO_V1(make_old);
	Datum make_old(PG_FUNCTION_ARGS)
	{
		bool found;
		*(uint32 *) ShmemInitStruct("flakeid", 40 * 1024, &found) = 1;
		PG_RETURN_BOOL(found);
	}});
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', undef);
$node->start;
is($node->safe_psql('postgres', "CREATE FUNCTION make_old() RETURNS boolean AS '$old_library' LANGUAGE C; SELECT make_old()"), 'f', 'the memory of an older library');
like(refusal($node, 'SELECT flake_next()'), qr/^55000: the running server uses another version of the flakeid library\n.*hint: Restart the server\.$/s,
	'an older library in the running server');
like(refusal($node, 'SELECT flake_next()'), qr/^55000: the running server/, 'and again in the next session');
$node->restart;
is(refusal($node, 'SELECT flake_next()'), '', 'a restart helps');
$node->restart;
$node->safe_psql('postgres', 'SELECT make_old()');
commits_after_parallel($node, 'SELECT flake_node(5)', 'memory of another size');
$node->restart;

# Where a worker has set a pin for a leader that is not attached, a leader of the other library cannot know whether it is the one.
my $parallel = parallel_setting($node);
$node->safe_psql('postgres', "SET $parallel = on; SELECT flake_next()");
like(refusal($node, "LOAD '$dir/other'; SET $parallel = on; SELECT count(*) FROM big; RESET $parallel; INSERT INTO big VALUES (0)"), qr/^55000: the running server uses another version/, 'ids that workers drew are not forgotten');
$node->stop;

done_testing();
