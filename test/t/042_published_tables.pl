# Declarations where all tables are published: new partitions go on being made, no declaration travels, and a subscriber that keeps the
# same tables goes on receiving. A temporary table's row and a declaration that cannot be read stop nobody else.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %node;
for my $n (1, 2)
{
	my $node = PostgreSQL::Test::Cluster->new($n == 1 ? 'publisher' : 'subscriber');
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', "flakeid.node = $n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE ROLE shop LOGIN; CREATE DATABASE shop OWNER shop');
	$node->safe_psql('shop', 'CREATE EXTENSION flakeid_tables CASCADE; CREATE SCHEMA AUTHORIZATION shop');
	$node{$n} = $node;
}
# All of this happens on one day: on the next one, where this one ends soon.
$node{1}->safe_psql('shop', q{SELECT pg_sleep_until(date_trunc('day', now() + interval '3 min', 'UTC'))});

sub sql { my ($n, $sql) = @_; return scalar $node{$n}->safe_psql('shop', "SET client_min_messages = warning;\n$sql", extra_params => [ '-U', 'shop' ]) }
my $event = 'CREATE TABLE event (id flake PRIMARY KEY DEFAULT flake_next(), what text) PARTITION BY RANGE (id)';
my $ledger = 'CREATE TABLE ledger (id flake PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id)';
my $orders = 'CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text)';
my $old = q{SELECT format('CREATE TABLE ledger_old PARTITION OF ledger FOR VALUES FROM (%s) TO (%s)', flake_floor('2020-01-01Z', 'snowflake'), flake_floor('2020-02-01Z', 'snowflake'))} . "\\gexec\n"
  . q{INSERT INTO ledger SELECT flake_floor('2020-01-15Z', 'snowflake')};
# Where an oid told which table is meant, it would be another one on the other server.
sql(1, "$event; $ledger; $orders; $old");
sql(2, "$ledger; $event; $orders; $old");
my $declared = q{SELECT string_agg(parent::text, ' ' ORDER BY parent::text) FROM flakeid.partition_declarations(NULL)};
my $attached = q{SELECT count(*) FROM flakeid.partitions WHERE attached AND parent = 'event'::regclass};

$node{1}->safe_psql('shop', 'CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root = true)');
sql(1, "CALL flakeid.partition('event', every => '1 day', ahead => 2)");
is(sql(1, $attached), '3', 'a table is partitioned where all tables are published');
sql(1, 'DROP TABLE ' . sql(1, "SELECT partition FROM flakeid.partitions WHERE parent = 'event'::regclass ORDER BY to_time DESC LIMIT 1"));
sql(1, 'CALL flakeid.maintain()');
is(sql(1, $attached), '3', 'and maintained');

my $from = 'host=' . $node{1}->host . ' port=' . $node{1}->port . ' dbname=shop user=postgres';
# In text and in binary: what a subscription brings declares nothing.
for my $binary ('false', 'true')
{
	$node{2}->safe_psql('shop', "CREATE SUBSCRIPTION everything CONNECTION '$from' PUBLICATION everything WITH (binary = $binary, copy_data = false)");
	$node{2}->wait_for_subscription_sync($node{1}, 'everything');
	sql(1, "CALL flakeid.partition('event', every => '1 day', ahead => 2, keep => '30 days', drop_old => true)");
	sql(1, "INSERT INTO orders (item) VALUES ('$binary')");
	$node{1}->wait_for_catchup('everything');
	is(sql(2, "SELECT count(*) FROM orders WHERE item = '$binary'"), '1', "binary = $binary: rows arrive");
	is(sql(2, $declared), '', "binary = $binary: and declare nothing");
	sql(2, 'CALL flakeid.maintain()');
	is(sql(2, "SELECT count(*) FROM ledger"), '1', "binary = $binary: so no table there is taken for the declared one");
	$node{2}->safe_psql('shop', 'DROP SUBSCRIPTION everything');
}

# Both keep the same table.
$node{2}->safe_psql('shop', "CREATE SUBSCRIPTION everything CONNECTION '$from' PUBLICATION everything WITH (copy_data = false)");
$node{2}->wait_for_subscription_sync($node{1}, 'everything');
sql(2, "CALL flakeid.partition('event', every => '1 month', ahead => 1)");
sql(1, "CALL flakeid.partition('event', every => '1 day', ahead => 3, keep => '31 days')");
sql(1, "INSERT INTO orders (item) VALUES ('both'); INSERT INTO event (what) VALUES ('both')");
$node{1}->wait_for_catchup('everything');
is(sql(2, "SELECT (SELECT count(*) FROM orders WHERE item = 'both'), (SELECT count(*) FROM event WHERE what = 'both')"), '1|1', 'both declare the table, and rows go on arriving');
is(sql(2, "SELECT every, ahead, keep FROM flakeid.partition_declared('event')"), '1 mon|1|', 'each by its own declaration');
is($node{2}->safe_psql('shop', 'SELECT sum(apply_error_count) FROM pg_stat_subscription_stats'), '0', 'without an error');
sql($_, 'CALL flakeid.maintain()') for 1, 2;
$node{2}->safe_psql('shop', 'DROP SUBSCRIPTION everything');

# A temporary table of another session, and a declaration that cannot be read: the others are maintained, and the view shows them.
my $session = $node{1}->background_psql('shop', on_error_stop => 0);
$session->query_safe(q{CREATE TEMPORARY TABLE mine (id flake PRIMARY KEY) PARTITION BY RANGE (id);
	CREATE TRIGGER flakeid_partitions AFTER TRUNCATE ON mine FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION flakeid.declared();
	COMMENT ON TRIGGER flakeid_partitions ON mine IS 'flakeid 1 {"every": "1 day", "ahead": 1, "layout": "snowflake"}'});
sql(1, q{CALL flakeid.partition('ledger', every => '1 month'); COMMENT ON TRIGGER flakeid_partitions ON ledger IS 'flakeid 1 {"every": "soon"}'});
my $last = "DROP TABLE " . sql(1, "SELECT partition FROM flakeid.partitions WHERE parent = 'event'::regclass ORDER BY to_time DESC LIMIT 1");
sql(1, $last);
like(refusal($node{1}, 'CALL flakeid.maintain()', database => 'shop'), qr/^55000: the declaration of table shop\.ledger cannot be read$/m, 'the error comes at the end');
is(sql(1, $attached), '4', 'of what a superuser maintains for all');
is(sql(1, "SELECT count(*) FROM flakeid.partitions WHERE problem LIKE 'the declaration of table shop.ledger cannot be read%'"), '1', 'the view tells the problem');
$session->quit;
$node{2}->stop;
$node{1}->stop;
done_testing();
