# What the edition in plain SQL shares with the extension works where the extension is not installed, for an owner: partitions and
# retention, conversion of keys and back, also once the extension is beside.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use Plain;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
install_plain($node, 'shop');
my $sql = sub { return $node->safe_psql('shop', $_[0], extra_params => [ '-U', 'owner' ]) };
is($sql->("SELECT count(*) FROM pg_extension WHERE extname = 'flakeid'"), 0, 'there is no extension');
is($sql->('SELECT current_user'), 'owner', 'and no superuser');
$sql->('CREATE SCHEMA AUTHORIZATION owner');

for my $beside (0, 1)
{
	my $name = $beside ? 'extension beside' : 'alone';
	$node->safe_psql('shop', 'CREATE EXTENSION flakeid') if $beside;

	$sql->("CREATE TABLE event$beside (id bigint PRIMARY KEY DEFAULT flakeid_plain.flake_next(), item text);
		INSERT INTO event$beside (item) SELECT 'x' FROM generate_series(1, 100)");
	my $kept = $sql->("SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM event$beside");
	$sql->("CALL flakeid_plain.partition('event$beside', every => '1 day', ahead => 3)");
	$sql->('CALL flakeid_plain.maintain()');
	is($sql->("SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM event$beside"), $kept, "$name: partitioned, and no id has changed");
	cmp_ok($sql->("SELECT count(*) FROM pg_inherits WHERE inhparent = 'event$beside'::regclass"), '>=', 3, "$name: with partitions ahead");
	like(refusal($node, "CALL flakeid_plain.maintain('owner.event$beside')", database => 'shop'), qr/^42501: table owner\.event$beside is for a session of its owner, role owner$/m, "$name: a superuser would lend his rights");
	$sql->("INSERT INTO event$beside (item) SELECT 'y' FROM generate_series(1, 100)");
	is($sql->("SELECT count(*), count(DISTINCT id) FROM event$beside"), '200|200', "$name: rows go on");

	$sql->("CREATE TABLE days$beside (id bigint PRIMARY KEY DEFAULT flakeid_plain.flake_next()) PARTITION BY RANGE (id);
		CREATE TABLE days${beside}_default PARTITION OF days$beside DEFAULT;
		INSERT INTO days$beside SELECT flakeid_plain.flake_make(at, 0, 0) FROM generate_series('2011-12-28 10:00Z'::timestamptz, '2012-01-01 09:59Z', '6 hours') AS at");
	$sql->("CALL flakeid_plain.partition('days$beside', every => '1 day', ahead => 1, time_zone => 'Pacific/Apia')");
	is($sql->("SELECT string_agg(substr(partition::text, 7), ' ' ORDER BY from_time) FROM flakeid_plain.partitions WHERE parent = 'days$beside'::regclass AND from_time < '2013-01-01'"),
		'2011_12_28 2011_12_29 2011_12_31 2012_01_01', "$name: at midnight of a zone that lacks a day");
	is($sql->("SELECT count(*) FROM days$beside WHERE flakeid_plain.flake_in_range(id, tstzrange(NULL, '2012-01-01')) AND id > 5"), 15, "$name: what is old is found");
	$sql->("INSERT INTO days$beside VALUES (5)");
	is($sql->("SELECT count(*) FROM days$beside WHERE flakeid_plain.flake_in_range(id, tstzrange(NULL, '2012-01-01'))"), 15, "$name: and a serial number is not taken for it");

	$sql->("CREATE TABLE customer$beside (id serial PRIMARY KEY, item text);
		CREATE TABLE bill$beside (id bigserial PRIMARY KEY, customer int REFERENCES customer$beside);
		INSERT INTO customer$beside (item) SELECT 'x' FROM generate_series(1, 50);
		INSERT INTO bill$beside (customer) SELECT id FROM customer$beside");
	$sql->("CALL flakeid_plain.convert('customer$beside')");
	is($sql->("SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'customer$beside'::regclass AND attname = 'id'"),
		$beside ? $sql->("SELECT flakeid_plain.convert_type(NULL)::text") : 'bigint', "$name: converted");
	$sql->("INSERT INTO customer$beside (item) VALUES ('new')");
	like($sql->("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'customer$beside'::regclass AND pg_get_expr(adbin, adrelid) LIKE '%flake%'"),
		qr/^flakeid_plain\.flake_next\(\)/, "$name: by this edition");
	is($sql->("SELECT count(*) FROM bill$beside JOIN customer$beside ON customer$beside.id = customer"), 50, "$name: references hold");
	cmp_ok($sql->("SELECT max(id) FROM customer$beside"), '>', 2**60, "$name: new rows have ids");
}

# A dump and a restore keep what was declared.
my $dump = $node->basedir . '/shop.sql';
my @as = ('-U', 'owner', '-h', $node->host, '-p', $node->port);
$node->safe_psql('postgres', 'CREATE DATABASE restored OWNER owner');
$node->command_ok([ 'pg_dump', @as, '-N', 'flakeid', '-f', $dump, 'shop' ], 'the owner dumps');
IPC::Run::run([ 'psql', '-Xq', @as, '-f', $dump, 'restored' ], '<', \undef, '>', \my $out, '2>', \my $err);
my $restored = sub { return $node->safe_psql('restored', $_[0], extra_params => [ '-U', 'owner' ]) };
my $partitions = "SELECT count(*) FROM flakeid_plain.partitions WHERE parent = 'event0'::regclass";
is($restored->($partitions), $sql->($partitions), 'the declaration is restored') or diag $err;
$restored->('DROP TABLE ' . $restored->("SELECT partition FROM flakeid_plain.partitions WHERE parent = 'event0'::regclass ORDER BY to_time DESC LIMIT 1"));
$restored->("CALL flakeid_plain.maintain('event0')");
is($restored->($partitions), $sql->($partitions), 'and looked after');

$node->stop;
done_testing();
