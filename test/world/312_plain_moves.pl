# From the edition in plain SQL to the extension and back, twice each way, with tables, views, functions and partitions in place,
# and with dumps across.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use Plain;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = server('main', 'flakeid.node = 3');
install_plain($node, 'shop');
my $database = 'shop';
my $dumps = PostgreSQL::Test::Utils::tempdir();
my $sql = sub { return $node->safe_psql($database, @_) };
$sql->("INSERT INTO flakeid_plain.settings VALUES ('node', '3')");

# Made with the one edition or the other, as users of each write it.
sub make_shop
{
	my ($prefix, $schema, $type) = @_;
	my $tables = join '', map {
		"CREATE TABLE $prefix$_ (id $type PRIMARY KEY DEFAULT $schema.flake_next(), of bigint REFERENCES ${prefix}1, item text);\n"
	} 2 .. 18;
	$sql->(<<"END");
CREATE TABLE ${prefix}1 (id $type PRIMARY KEY DEFAULT $schema.flake_next(), item text CHECK (item <> $schema.flake_to_text(5, 'base58')));
$tables
CREATE TABLE ${prefix}19 (id bigint DEFAULT $schema.flake_next(), item text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE ${prefix}19_old PARTITION OF ${prefix}19 FOR VALUES FROM (0) TO (1000000000000000000);
CREATE TABLE ${prefix}19_new PARTITION OF ${prefix}19 FOR VALUES FROM (1000000000000000000) TO (MAXVALUE);
CREATE TABLE ${prefix}20 (id $type ARRAY, item text);
CREATE INDEX ${prefix}made ON ${prefix}2 ($schema.flake_timestamp(id, 'snowflake'));
CREATE VIEW ${prefix}recent AS SELECT id, item, $schema.flake_timestamp(id) AS made FROM ${prefix}2 WHERE id > $schema.flake_floor('2020-01-01');
CREATE VIEW ${prefix}newest AS SELECT max(made) AS made, max(id) AS id FROM ${prefix}recent;
GRANT SELECT ON ${prefix}newest TO owner;
COMMENT ON VIEW ${prefix}newest IS 'the newest';
CREATE MATERIALIZED VIEW ${prefix}days AS SELECT count(*) AS rows, $schema.flake_node(id) AS node FROM ${prefix}3 GROUP BY 2;
CREATE FUNCTION ${prefix}add(item text) RETURNS bigint LANGUAGE plpgsql AS \$\$
DECLARE
    made $type := $schema.flake_next();
BEGIN
    INSERT INTO ${prefix}2 VALUES (made, NULL, item);
    RETURN made;
END \$\$;
END
	return;
}

my $all = sub {
	my ($prefix) = @_;
	return join ' UNION ALL ', map { "SELECT id FROM $prefix$_" } 1 .. 19;
};

# Rows go into all of it, and no id is one that was there before.
sub work
{
	my ($prefix, $what) = @_;
	my ($before, $highest) = split /\|/, $sql->("SELECT count(*), coalesce(max(id), 0) FROM (@{[ $all->($prefix) ]}) AS ids");
	$sql->("INSERT INTO $prefix$_ (item) SELECT 'x' FROM generate_series(1, 50)") for 1 .. 19;
	$sql->("SELECT ${prefix}add('y')");
	is( $sql->("SELECT count(*) - $before, count(DISTINCT id) - $before, count(*) FILTER (WHERE id > $highest) FROM (@{[ $all->($prefix) ]}) AS ids"),
		'951|951|951', "$what: new ids, above all others");
	is($sql->("SELECT id = (SELECT max(id) FROM ${prefix}2), made IS NOT NULL FROM ${prefix}newest"), 't|t', "$what: views");
	is($sql->("SET enable_seqscan = off; SELECT count(*) >= 50 FROM ${prefix}2 WHERE made > now() - interval '1 day'" =~ s/made/(SELECT flakeid_plain.flake_timestamp(id, 'snowflake'))/r),
		't', "$what: readers");
	return;
}

sub digest
{
	my ($prefix) = @_;
	return $sql->("SELECT count(*), md5(string_agg(id::text, ',' ORDER BY id)) FROM (@{[ $all->($prefix) ]}) AS ids");
}

make_shop('plain_', 'flakeid_plain', 'bigint');
work('plain_', 'plain SQL');
is(refusal($node, 'CALL flakeid_plain.to_extension()', database => 'shop') =~ s/\n.*//sr, '55000: extension flakeid is not installed', 'not without the extension');
$sql->('CREATE EXTENSION flakeid');
$sql->("SET flakeid.node = 4; DO \$\$ BEGIN CALL flakeid_plain.to_extension(); EXCEPTION WHEN OTHERS THEN ASSERT SQLERRM = 'the extension makes other ids'; END \$\$");
for my $round (1, 2)
{
	my $kept = digest('plain_');
	$sql->('CREATE EXTENSION IF NOT EXISTS flakeid_tables CASCADE');
	$sql->('CALL flakeid_plain.to_extension()');
	is(digest('plain_'), $kept, "round $round: no id has changed on the way in");
	like($sql->("EXPLAIN (VERBOSE, COSTS OFF) SELECT flakeid_plain.flake_next()"), qr/Output: flake_next\(\)/, 'the extension makes the ids, and no call is left');
	work('plain_', "round $round, in");
	if ($round == 1)
	{
		make_shop('extension_', 'public', 'flake');
		$sql->('DROP TABLE extension_20');
		work('extension_', 'made with the extension');

		# A dump of what is between the two, restored where the extension is.
		$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dumps/in", $node->connstr('shop') ], 'dumped');
		$node->safe_psql('postgres', 'CREATE DATABASE elsewhere');
		$node->command_ok([ 'pg_restore', '-d', $node->connstr('elsewhere'), "$dumps/in" ], 'and restored');
		$database = 'elsewhere';
		work('extension_', 'restored');
		work('plain_', 'restored');
		$database = 'shop';
	}
	my @kept = map { digest($_) } qw(plain_ extension_);
	$sql->("CREATE TABLE extension_declared (id bigint PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id); CALL flakeid.partition('extension_declared', '1 month')") if $round == 1;
	$sql->('CALL flakeid_plain.from_extension()');
	is($sql->("SELECT count(*) FROM flakeid_plain.partitions WHERE parent = 'extension_declared'::regclass"), '4', 'what was declared is so here');
	is_deeply([ map { digest($_) } qw(plain_ extension_) ], \@kept, "round $round: no id has changed on the way out");
	is($sql->("SELECT count(*) FROM pg_extension WHERE extname = 'flakeid'"), 0, 'the extension is gone');
	work('plain_', "round $round, out");
	work('extension_', "round $round, out");
	is($sql->("SELECT has_table_privilege('owner', 'extension_newest', 'SELECT'), obj_description('extension_newest'::regclass)"), 't|the newest',
		'rights and comments of views');
	$sql->('REFRESH MATERIALIZED VIEW extension_days');
}

# A dump of what came out, restored where there is no extension.
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dumps/out", $node->connstr('shop') ], 'dumped');
unlike((PostgreSQL::Test::Utils::run_command([ 'pg_restore', '-l', "$dumps/out" ]))[0], qr/ EXTENSION /, 'without the extension');
$node->safe_psql('postgres', 'CREATE DATABASE provider');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('provider'), "$dumps/out" ], 'and restored');
$database = 'provider';
work('extension_', 'at the provider');
work('plain_', 'at the provider');

# From an extension whose state this edition does not know, as a later one may have: nothing is moved.
install_plain($node, 'later');
$database = 'later';
$sql->(<<'END');
CREATE EXTENSION flakeid;
INSERT INTO flakeid_plain.settings VALUES ('node', '3');
CREATE TABLE kept (id flake DEFAULT flake_next());
INSERT INTO kept DEFAULT VALUES;
ALTER EXTENSION flakeid DROP MATERIALIZED VIEW flakeid.state;
ALTER MATERIALIZED VIEW flakeid.state RENAME TO known;
CREATE MATERIALIZED VIEW flakeid.state AS SELECT format + 1 AS format, plain_horizon, back_horizon FROM flakeid.known;
CREATE OR REPLACE FUNCTION flake_next() RETURNS flake LANGUAGE sql AS 'SELECT public.flake_make(now(), 3, 0)::public.flake';
END
is(refusal($node, 'CALL flakeid_plain.from_extension()', database => 'later'),
	"55000: the state of the extension is of format 2\ndetail: This edition knows format 1.\nhint: Install the edition of the version of the extension.", 'a later state is refused');
is($sql->("SELECT format_type(atttypid, NULL), (SELECT count(*) FROM pg_extension WHERE extname = 'flakeid') FROM pg_attribute WHERE attrelid = 'kept'::regclass AND attname = 'id'"),
	'flake|1', 'and nothing is moved');

$node->stop;
done_testing();
