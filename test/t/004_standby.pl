# A hot standby makes no ids and says so; it reads them; promoted, it goes on above the primary's.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
my $secret = write_file($primary->basedir . '/secret', '3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49');
$primary->append_conf('postgresql.conf', "flakeid.secret_file = '$secret'");
$primary->start;
$primary->safe_psql('postgres', q{CREATE EXTENSION flakeid;
	CREATE TABLE t (id flake PRIMARY KEY DEFAULT flake_next(), opaque flake UNIQUE DEFAULT flake_next('randflake'), n int)});
$primary->safe_psql('postgres', 'CREATE DATABASE unused');
$primary->safe_psql('unused', 'CREATE EXTENSION flakeid');
$primary->backup('backup');

for my $preload (0, 1)
{
	my $with = $preload ? 'preloaded' : 'not preloaded';
	my $standby = PostgreSQL::Test::Cluster->new("standby_$preload");
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	$standby->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'") if $preload;
	$standby->start;

	$primary->safe_psql('postgres', 'INSERT INTO t (n) SELECT generate_series(1, 1000)');
	my $last = $primary->safe_psql('postgres', 'SELECT max(id) FROM t');
	$primary->wait_for_catchup($standby);

	my $refused = "25006: cannot generate ids during recovery\nhint: Generate ids on the primary, or promote this server.";
	for my $call ('flake_next()', q{flake_next('randflake')}, q{flake_next('time:31:1s node:5 sequence:27')}, 'flake_next_many(5)',
		'flake_block(5)', q{flakeid.raise_horizon('2020-01-01')}, 'flakeid.repair_horizon()')
	{
		is(refusal($standby, "SELECT $call"), $refused, "$with: a standby refuses $call");
	}
	is($standby->safe_psql('postgres', q{SELECT count(*), count(*) FILTER (WHERE flake_timestamp(id) <= clock_timestamp()
			AND flake_node(opaque, 'randflake') = 0 AND flake_decrypt(flake_encrypt(id)) = id) FROM t WHERE id <@ tstzrange(now() - interval '1 hour', NULL)}),
		$primary->safe_psql('postgres', 'SELECT count(*), count(*) FROM t'), "$with: and reads all of them");
	is($standby->safe_psql('postgres', 'SELECT count(*) > 5, (SELECT count(*) > 5 FROM flakeid.layouts), (SELECT count(*) FROM flakeid.stats) FROM flakeid.status'),
		't|t|1', "$with: its views work");

	# A session that was refused before the promotion goes on after it.
	my $session = $standby->background_psql('postgres', on_error_stop => 0);
	is($session->query('SELECT flake_next()'), '', "$with: an open session is refused");
	$primary->safe_psql('postgres', 'INSERT INTO t (n) SELECT generate_series(1, 1000)');
	$last = $primary->safe_psql('postgres', 'SELECT max(id) FROM t');
	$primary->wait_for_catchup($standby);
	# The last extension of the horizon does not reach it.
	$standby->safe_psql('postgres', q{ALTER SYSTEM SET primary_conninfo = ''});
	$standby->reload;
	$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver');
	my $ahead = draw_ahead($primary, 'postgres');
	$standby->promote;
	cmp_ok($session->query('SELECT flake_next()'), '>', $last, "$with: promoted, the same session makes ids above those of the primary");
	cmp_ok($standby->safe_psql('postgres', "SELECT flake_next('$FlakeTest::narrow')"), '>', $ahead, "$with: also where they ran ahead of the clock, and the standby missed that");
	cmp_ok($standby->safe_psql('postgres', 'INSERT INTO t (n) VALUES (1) RETURNING id'), '>', $last, "$with: and so does a new one");
	is(refusal($standby, 'INSERT INTO t (n) SELECT generate_series(1, 1000)'), '', "$with: by default values, plain and enciphered");
	is(refusal($standby, 'SELECT flake_next()', database => 'unused'), '', "$with: and in a database that never made one");
	is($standby->safe_psql('postgres', 'SELECT count(*) = count(DISTINCT id) AND count(*) = count(DISTINCT opaque) FROM t'), 't', "$with: all are distinct");
	$session->quit;
	$standby->restart;
	cmp_ok($standby->safe_psql('postgres', 'SELECT flake_next()'), '>', $standby->safe_psql('postgres', 'SELECT max(id) FROM t'),
		"$with: and after its restart");
	$standby->stop;
}
$primary->stop;

done_testing();
