# Spans fill the ticks of their nodes evenly, after a restart too; shards that are schemas have a node
# each; a server has room for thousands of generators.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Killed while the horizon lies ahead of the clock
my $node = server('span', 'restart_after_crash = off', "flakeid.layout = 'sonyflake'", "flakeid.node = '0-9'");
$node->safe_psql('postgres', 'CREATE UNLOGGED TABLE drawn (n serial, id bigint DEFAULT flake_next())');
$node->safe_psql('postgres', 'SELECT count(flake_next()) FROM generate_series(1, 1000)');
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', 'INSERT INTO drawn SELECT FROM generate_series(1, 100000)');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT id), count(DISTINCT flake_node(id)) FROM drawn'), '100000|10', 'after a kill the first ids are of all nodes');
is($node->safe_psql('postgres', q{
	WITH ticks AS (SELECT flake_field(id, 'time') AS tick, count(*) AS ids FROM drawn GROUP BY 1)
	SELECT count(*) FROM ticks WHERE tick NOT IN ((SELECT min(tick) FROM ticks), (SELECT max(tick) FROM ticks)) AND ids <> 2560
	AND tick > (SELECT min(flake_field(flake_floor(now()), 'time')) FROM ticks)}), '0', 'each tick ahead of the clock is filled on every node before the next one');
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM (SELECT flake_timestamp(id) AS at, lag(flake_timestamp(id)) OVER (ORDER BY n) AS before FROM drawn) AS s WHERE at < before}),
	'0', 'the ticks of one session never go back');

# Sessions that meet on a node go apart, and no id comes twice.
$node->append_conf('postgresql.conf', "flakeid.layout = 'time:31:1s node:5 sequence:27'\n");
$node->restart;
my @drawn = draw_at_once($node, map { [ 'postgres', 'SELECT flake_next() FROM generate_series(1, 200000)' ] } 1 .. 4);
is(counts(@drawn), '800000 of 800000', 'ids of sessions that draw at once are distinct');
$node->stop;

# A schema for each of 2,000 shards, with defaults that name its node; an ordinary role fills them.
my $shards = 2000;
$node = server('shards', "flakeid.layout = 'instagram'", "flakeid.node = '0-4351'", 'max_locks_per_transaction = 1024', 'fsync = off');
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN; GRANT CREATE ON DATABASE postgres TO ordinary');
my @ordinary = (extra_params => [ '-U', 'ordinary' ]);
for my $first (map { $_ * 500 } 0 .. $shards / 500 - 1)
{
	$node->safe_psql('postgres', qq{DO \$\$ BEGIN FOR n IN $first .. $first + 499 LOOP
		EXECUTE format('CREATE SCHEMA shard_%s; CREATE TABLE shard_%1\$s.t (id bigint PRIMARY KEY DEFAULT flake_next(''instagram'', %1\$s), at int)', n);
		EXECUTE format('INSERT INTO shard_%s.t (at) SELECT generate_series(1, 10)', n);
	END LOOP; END \$\$}, @ordinary);
}
is($node->safe_psql('postgres', qq{DO \$\$ BEGIN CREATE TEMP TABLE ids (shard int, id bigint);
	FOR n IN 0 .. $shards - 1 LOOP EXECUTE format('INSERT INTO ids SELECT %s, id FROM shard_%1\$s.t', n); END LOOP; END \$\$;
	SELECT count(*), count(DISTINCT id), count(DISTINCT shard), bool_and(flake_node(id) = shard) FROM ids}),
	10 * $shards . '|' . 10 * $shards . "|$shards|t", "$shards shards, none refused, each with ids of its node");
is($node->safe_psql('postgres', q{SELECT flake_node(flake_next('tsid'), 'tsid'), flake_node(flake_next('discord'), 'discord')}, @ordinary), '0|0',
	'other layouts have room beside them, and use the first node');
my $memory = $node->safe_psql('postgres', q{SELECT flake_next() \g /dev/null
	SELECT sum(allocated_size) FROM pg_shmem_allocations WHERE name LIKE 'flakeid%'});
cmp_ok($memory, '<', 1024, 'nothing of the main memory is taken for them');

# The nodes that a caller may name end where the room for spans does.
like(refusal($node, q{SELECT count(flake_next('instagram', n)) FROM generate_series(0, 4351) AS n}, user => 'ordinary'),
	qr/^53400: all 4352 generators that the nodes of spans may have are taken\n/, 'past the room for spans is an error');
is(refusal($node, q{SELECT flake_next('instagram', 5), flake_next('mastodon'), flake_next()}, user => 'ordinary'), '', 'which takes nothing from others');
$node->stop;
done_testing();
