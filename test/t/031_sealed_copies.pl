# Sealed ids in plans and copies: parallel plans, pg_amcheck, dump and restore, pg_upgrade, physical
# and logical replication, with the same secret and with another one: an error, never other ids.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $same = write_file("$dir/same", '3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49');
my $another = write_file("$dir/another", '9f86d081884c7d659a2feaa0c55ad015');
my $conf = "flakeid.node = 5\nmax_logical_replication_workers = 8\nwal_retrieve_retry_interval = 100ms\n";

sub cluster
{
	my ($name, $secret) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', $conf . (defined $secret ? "flakeid.secret_file = '$secret'\n" : ''));
	return $node;
}

# All ids, as texts.
sub texts { my ($node, $database) = @_; return $node->safe_psql($database // 'shop', q{SELECT md5(string_agg(id || ' ' || n, ',' ORDER BY n)) FROM orders}) }

my $other_key = qr/^55000: key 0 is not the one that sealed ids of this database were made with\n/;
my $no_secret = qr/^55000: no secret is configured/;

my $old = cluster('old', $same);
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE shop');
$old->safe_psql('shop', q{
	CREATE EXTENSION flakeid;
	CREATE TABLE orders (id flake_sealed PRIMARY KEY DEFAULT flake_next(), n int);
	INSERT INTO orders (n) SELECT generate_series(1, 2000);
	CREATE TABLE lines (id flake_sealed PRIMARY KEY DEFAULT flake_next(), order_id flake_sealed NOT NULL REFERENCES orders, ids flake_sealed[]);
	INSERT INTO lines (order_id, ids) SELECT id, ARRAY[id] FROM orders;
	CREATE INDEX lines_hash ON lines USING hash (order_id);
	CREATE INDEX lines_brin ON lines USING brin (id);
	CREATE INDEX lines_two ON lines (order_id, id DESC);
	CREATE TABLE by_hash (id flake_sealed PRIMARY KEY) PARTITION BY HASH (id);
	CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE TABLE by_range (id flake_sealed PRIMARY KEY) PARTITION BY RANGE (id);
	INSERT INTO by_hash SELECT id FROM orders;
	CREATE TABLE by_range_1 PARTITION OF by_range FOR VALUES FROM (MINVALUE) TO (flake_seal(flake_floor(now())));
	VACUUM ANALYZE});
my $texts = texts($old);

#
# Parallel plans, and pg_amcheck after CLUSTER, VACUUM FULL and REINDEX
#
my $parallel = q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;};
is($old->safe_psql('shop', "$parallel SELECT count(*), min(o.id) = (SELECT id FROM orders WHERE n = 1), min(length(o.id::text)) FROM orders o JOIN lines l ON l.order_id = o.id AND o.id = l.order_id::text"),
	'2000|t|13', 'a parallel join that seals and unseals');
like($old->safe_psql('shop', "$parallel EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT max(o.id::text) FROM orders o JOIN lines l ON l.order_id = o.id"), qr/Workers Launched: [1-9].*Hash/s, 'in workers');
is($old->safe_psql('shop', "$parallel SELECT count(DISTINCT t) FROM (SELECT flake_next()::flake_sealed AS t FROM orders) AS s"), '2000', 'new sealed ids in workers');
$old->safe_psql('shop', 'CLUSTER orders USING orders_pkey; REINDEX TABLE lines');
$old->safe_psql('shop', 'VACUUM FULL lines');
$old->command_ok([ 'pg_amcheck', '--install-missing', '--heapallindexed', '--parent-check', '-d', 'shop' ], 'pg_amcheck');
is(texts($old), $texts, 'all as before');

#
# Dump and restore
#
command_ok([ 'pg_dump', '-d', $old->connstr('shop'), '-f', "$dir/shop.sql" ], 'pg_dump');
command_ok([ 'pg_dump', '-Fc', '-d', $old->connstr('shop'), '-f', "$dir/shop.dump" ], 'in the other format');
my $new = cluster('new', $same);
$new->start;
$new->safe_psql('postgres', "CREATE DATABASE shop; CREATE DATABASE archive; CREATE DATABASE other; CREATE DATABASE other_archive; CREATE DATABASE bare; CREATE DATABASE used;
	ALTER DATABASE other SET flakeid.secret_file = '$another'; ALTER DATABASE other_archive SET flakeid.secret_file = '$another';
	ALTER DATABASE bare SET flakeid.secret_file = ''");
sub restored { my ($database, @how) = @_; my ($out, $err) = run_command([ @how ? ('pg_restore', '-d', $new->connstr($database), @how) : ('psql', '-Xq', '-d', $new->connstr($database), '-f', "$dir/shop.sql") ]); return $err }
is(restored('shop'), '', 'restored under the same secret');
is(restored('archive', '--exit-on-error', '-j2', "$dir/shop.dump"), '', 'by pg_restore as well');
is(texts($new, $_), $texts, "$_: the same ids") for 'shop', 'archive';
is($new->safe_psql('shop', 'SELECT count(*), count(*) FILTER (WHERE ids = ARRAY[order_id]) FROM lines JOIN orders ON orders.id = order_id JOIN by_hash h ON h.id = order_id'), '2000|2000', 'the same keys, arrays and partitions');
my $refused = restored('other');
like($refused, qr/ERROR:  key 0 is not the one that sealed ids of this database were made with/, 'another secret: an error');
is($new->safe_psql('other', 'SELECT count(*) FROM orders'), '0', 'and no ids');
like(refusal($new, 'INSERT INTO orders (n) VALUES (1) RETURNING id', database => 'other'), $other_key, 'nor any later');
is(refusal($new, "SET flakeid.secret_file = '$same'; INSERT INTO orders (n) VALUES (1) RETURNING id", database => 'other'), '', 'until the secret is right');
like(restored('other_archive', '--exit-on-error', "$dir/shop.dump"), qr/key 0 is not the one/, 'pg_restore stops');
like(restored('bare'), qr/ERROR:  no secret is configured/, 'without a secret: an error');
is($new->safe_psql('bare', 'SELECT count(*) FROM orders'), '0', 'and no ids');
# Whoever had another secret before keeps his own.
$new->safe_psql('used', "CREATE EXTENSION flakeid; SET flakeid.secret_file = '$another'; SELECT flake_next()::flake_sealed::text");
like(restored('used'), qr/ERROR:  key 0 is not the one.*\nDETAIL:  The dump that is restored comes from another secret/, 'a database that has another key says so');
like(refusal($new, "SET flakeid.secret_file = '$another'; SELECT flake_next()::flake_sealed::text", database => 'used'), $other_key, 'and stops');
$new->safe_psql('used', 'SELECT flakeid.accept_secret()');
is(refusal($new, "SET flakeid.secret_file = '$another'; SELECT flake_next()::flake_sealed::text", database => 'used'), '', 'until a superuser says which is right');

# A plain dump for elsewhere
is($old->safe_psql('shop', 'COPY (SELECT flake_unseal(id), n FROM orders ORDER BY n LIMIT 1) TO STDOUT') =~ s/\t1$//r, $old->safe_psql('shop', 'SELECT id::bigint FROM orders WHERE n = 1'), 'COPY of plain ids');

#
# pg_upgrade
#
my $upgraded = cluster('upgraded', $same);
$old->stop;
my ($bindir) = split /\n/, (run_command([ 'pg_config', '--bindir' ]))[0];
chdir $dir or die $!;
command_ok([ 'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $upgraded->data_dir, '-b', $bindir, '-B', $bindir,
		'-s', $upgraded->host, '-p', $old->port, '-P', $upgraded->port ], 'pg_upgrade');
chdir source_dir();
$upgraded->start;
is(texts($upgraded), $texts, 'pg_upgrade: the same ids');
like(refusal($upgraded, "SET flakeid.secret_file = '$another'; SELECT min(id) FROM orders", database => 'shop'), $other_key, 'pg_upgrade: it knows its key');
$upgraded->command_ok([ 'pg_amcheck', '--install-missing', '--heapallindexed', '-d', 'shop' ], 'pg_amcheck of the upgraded');

#
# Physical replication
#
$upgraded->backup('base');
my %standby;
for my $which ('same', 'another')
{
	$standby{$which} = PostgreSQL::Test::Cluster->new("standby_$which");
	$standby{$which}->init_from_backup($upgraded, 'base', has_streaming => 1);
	$standby{$which}->append_conf('postgresql.conf', "flakeid.secret_file = '" . ($which eq 'same' ? $same : $another) . "'\n");
	$standby{$which}->start;
}
$upgraded->wait_for_catchup($standby{same});
is(texts($standby{same}), $texts, 'a standby with the same secret has the same ids');
like(refusal($standby{another}, 'SELECT min(id) FROM orders', database => 'shop'), $other_key, 'one with another secret says so');
like(refusal($standby{another}, q{SELECT '0000000000000'::flake_sealed}, database => 'shop'), $other_key, 'and reads none');
$standby{another}->promote;
like(refusal($standby{another}, 'INSERT INTO orders (n) VALUES (0) RETURNING id', database => 'shop'), $other_key, 'also when it is promoted');
$_->stop for values %standby;

#
# Logical replication
#
$upgraded->safe_psql('shop', 'CREATE PUBLICATION orders FOR TABLE orders');
my %subscriber;
for my $which ('same', 'another', 'none', 'same_binary')
{
	my $secret = $which eq 'another' ? $another : $which eq 'none' ? undef : $same;
	my $node = $subscriber{$which} = cluster("subscriber_$which", $secret);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE TABLE orders (id flake_sealed PRIMARY KEY, n int)');
	my $connection = $upgraded->connstr('shop') =~ s/'/''/gr;
	$node->safe_psql('postgres', "CREATE SUBSCRIPTION $which CONNECTION '$connection' PUBLICATION orders WITH (binary = " . ($which eq 'same_binary' ? 'true' : 'false') . ')');
}
for my $which ('same', 'same_binary')
{
	$subscriber{$which}->poll_query_until('postgres', 'SELECT count(*) = 2000 FROM orders') or die;
	is(texts($subscriber{$which}, 'postgres'), $texts, "$which: the first copy has the same ids");
}
$upgraded->safe_psql('shop', 'INSERT INTO orders (n) SELECT generate_series(2001, 2100)');
for my $which ('same', 'same_binary')
{
	$subscriber{$which}->poll_query_until('postgres', 'SELECT count(*) = 2100 FROM orders') or die;
	is(texts($subscriber{$which}, 'postgres'), texts($upgraded), "$which: and so have changes");
}
my %says = (another => qr/ERROR:  (?:55000: )?a replicated sealed id is no id of flakeid.layout up to now/, none => qr/ERROR:  (?:55000: )?no secret is configured/);
for my $which (sort keys %says)
{
	my $node = $subscriber{$which};
	$node->wait_for_log($says{$which});
	is($node->safe_psql('postgres', 'SELECT count(*) FROM orders'), '0', "subscriber, $which: an error, and no ids");
	like(slurp_file($node->logfile), $says{$which}, 'which the log tells');
}

# One transaction after another: those that are copied under the same secret go on being right.
my $changing = $subscriber{same};
$changing->safe_psql('postgres', 'ALTER SUBSCRIPTION same DISABLE');
$changing->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_subscription WHERE pid IS NOT NULL});
$changing->append_conf('postgresql.conf', "flakeid.secret_file = '$another'");
$changing->restart;
my $offset = -s $changing->logfile;
$changing->safe_psql('postgres', 'ALTER SUBSCRIPTION same ENABLE');
$upgraded->safe_psql('shop', "INSERT INTO orders (n) VALUES ($_)") for 2101 .. 2105;
$changing->wait_for_log(qr/ERROR:  (?:55000: )?key 0 is not the one that sealed ids of this database were made with/, $offset);
is($changing->safe_psql('postgres', 'SELECT count(*) FROM orders'), '2100', 'a subscriber whose secret was changed stops');
$changing->append_conf('postgresql.conf', "flakeid.secret_file = '$same'");
$changing->restart;
$changing->poll_query_until('postgres', 'SELECT count(*) = 2105 FROM orders') or die;
is(texts($changing, 'postgres'), texts($upgraded), 'and goes on under the right one');

$_->stop for values %subscriber, $upgraded, $new;
done_testing();
