# The owner of a database, who is no superuser, creates the extension, drops it and creates it again. He can do that, make
# his own objects part of it, and no more; and no id comes twice.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use Owner;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('trusting');
$node->init;
# Two ids a millisecond: thousands at once lie ahead of the clock, and nobody waits for it.
$node->append_conf('postgresql.conf', "flakeid.layout = '$FlakeTest::narrow'\nflakeid.max_ahead = '2min'");
$node->start;
$node->safe_psql('postgres', q{
	CREATE ROLE owner LOGIN CREATEROLE;
	CREATE ROLE guest LOGIN;
	CREATE ROLE stranger LOGIN;
	CREATE DATABASE shop OWNER owner;
	CREATE DATABASE other});
sub as { my ($user, $sql) = @_; return scalar $node->safe_psql('shop', $sql, extra_params => [ '-U', $user ]) }
sub refused { my ($user, $sql) = @_; return refusal($node, $sql, database => 'shop', user => $user) =~ s/\n.*//sr }
sub roles { return $node->safe_psql('postgres', 'SELECT rolname, rolsuper FROM pg_roles ORDER BY 1') }

# Who may: those with CREATE on the database.
my $denied = qr/^42501: permission denied to create extension "flakeid"/;
my $roles = roles();
like(refused('guest', 'CREATE EXTENSION flakeid'), $denied, 'a role without rights on the database cannot create the extension');
like(refusal($node, 'CREATE EXTENSION flakeid', database => 'other', user => 'owner'), $denied, 'the owner cannot do it in the database of another');
as('owner', 'CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator');
is(roles(), $roles, 'it makes no roles');
is(as('owner', q{SELECT extowner::regrole FROM pg_extension WHERE extname = 'flakeid'}), 'owner', 'the extension is his');
my $members = members();
is($node->safe_psql('shop', qq{SELECT DISTINCT r.rolname FROM ($members) AS m JOIN pg_shdepend AS d USING (classid, objid) JOIN pg_roles AS r ON r.oid = d.refobjid
		WHERE d.refclassid = 'pg_authid'::regclass AND deptype = 'o' AND d.dbid = (SELECT oid FROM pg_database WHERE datname = 'shop')}), '', 'none of its objects is');

# What is in it stays out of his reach.
my @changes = changes($node, 'shop');
cmp_ok(scalar(@changes), '>', 400, 'he tries all changes');
is(join("\n", tried($node, 'shop', @changes)), '', 'none is allowed');
is( $node->safe_psql('shop', qq{
	SELECT type, identity FROM ($members) AS m WHERE CASE
		WHEN type = 'function' THEN has_function_privilege('owner', objid, 'EXECUTE') <> has_function_privilege('stranger', objid, 'EXECUTE')
		WHEN type = 'schema' THEN has_schema_privilege('owner', objid, 'CREATE') OR has_schema_privilege('owner', objid, 'USAGE') <> has_schema_privilege('stranger', objid, 'USAGE')
		WHEN type ~ 'view|table' THEN has_table_privilege('owner', objid, 'SELECT') <> has_table_privilege('stranger', objid, 'SELECT')
			OR has_table_privilege('owner', objid, 'UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') END}),
	'', 'his rights on its objects are those of everybody');
for my $sql ('SELECT flakeid.raise_horizon(now())', 'SELECT flakeid.repair_horizon()', 'SELECT flakeid.accept_clock()', 'SELECT flakeid.stats_reset()', 'SELECT flakeid.state_now()',
	q{UPDATE flakeid.restored SET value = 1}, q{SELECT flakeid.lease_realm_set('default')}, q{SELECT flakeid.lease_acquire('default', 'me', '10 s')},
	 'SELECT flakeid.lease_begin_rest()', 'SELECT flake_decrypt(1)', 'SELECT flake_encrypt(1)', 'SELECT * FROM flakeid.leases',
	q{SELECT flake_next('time:40:1ms node:10 sequence:13')}, 'SELECT flake_next() \g /dev/null' . "\nSET flakeid.node = 5", q{ALTER DATABASE shop SET flakeid.node = 5}, 'ALTER ROLE owner SET flakeid.max_ahead = 1000')
{
	like(refused('owner', $sql), qr/^42501: /, "not his: $sql");
}
is(as('owner', 'SELECT flake_next() > 0'), 't', 'he makes ids');

# What he makes part of it stays his, and goes with it.
as('owner', 'CREATE FUNCTION mine.own() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$; ALTER EXTENSION flakeid ADD FUNCTION mine.own(); ALTER EXTENSION flakeid UPDATE');
is(as('owner', q{SELECT proowner::regrole FROM pg_proc WHERE proname = 'own'}), 'owner', 'what he adds is his');
# A type that he adds under a name of ours is none of ours, and nobody else runs what its values are checked with.
as('owner', q{
	CREATE EXTENSION flakeid_tables;
	CREATE FUNCTION mine.spring(bigint) RETURNS bool LANGUAGE plpgsql AS 'BEGIN ALTER ROLE owner SUPERUSER; RETURN true; EXCEPTION WHEN insufficient_privilege THEN RETURN true; END';
	CREATE DOMAIN mine.flake AS bigint CHECK (mine.spring(VALUE));
	ALTER EXTENSION flakeid ADD DOMAIN mine.flake;
	CREATE TABLE mine.parts (id mine.flake NOT NULL) PARTITION BY RANGE (id);
	CREATE TABLE mine.part PARTITION OF mine.parts FOR VALUES FROM (1) TO (2);
	CREATE TRIGGER flakeid_partitions AFTER TRUNCATE ON mine.parts FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION flakeid.declared();
	COMMENT ON TRIGGER flakeid_partitions ON mine.parts IS 'flakeid 1 {"every": "1 mon", "ahead": 1, "layout": "snowflake"}'});
is($node->safe_psql('shop', 'SELECT problem FROM flakeid.partitions WHERE partition IS NULL'), 'table mine.parts is not partitioned by range of one column of ids', 'a superuser sees that');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_roles WHERE rolsuper'), '1', 'and lends him nothing');
as('owner', 'DROP EXTENSION flakeid CASCADE; DROP SCHEMA mine CASCADE');
is($node->safe_psql('shop', q{SELECT count(*) FROM pg_proc WHERE proname = 'own'}), '0', 'and is dropped with it');

# What stands where an object of ours is to stand is refused. Nothing that is not finished can stand there, since all operators are of types of ours.
for my $sql ('CREATE SCHEMA flakeid', 'CREATE TYPE flake AS (a int)', 'CREATE FUNCTION flake_next() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$')
{
	like(refused('owner', "BEGIN; $sql; CREATE EXTENSION flakeid; ROLLBACK"), qr/^(42|55)\w{3}: /, "refused after $sql");
}

is($node->safe_psql('shop', q{CREATE EXTENSION flakeid; SELECT count(*) FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'flakeid' AND d.deptype = 'e'
	JOIN pg_operator AS o ON d.classid = 'pg_operator'::regclass AND o.oid = d.objid WHERE NOT EXISTS (SELECT FROM pg_depend AS t WHERE t.refobjid = e.oid AND t.deptype = 'e' AND t.objid IN (o.oprleft, o.oprright)); DROP EXTENSION flakeid}), '0', 'none is of others alone');

# What fits better than what a script means, in the schema of ours and in one that he names, is bound by none of it.
as('owner', q{
	CREATE SCHEMA hostile;
	CREATE FUNCTION hostile.flake_floor(timestamptz, text) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';
	CREATE FUNCTION hostile.flake_ceil(timestamptz, text) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 1::bigint';
	CREATE FUNCTION hostile.flake_timestamp(bigint, text) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS 'SELECT now()';
	CREATE FUNCTION public.format(text, text, text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT ''''::text'});
my $types = q{unnest('{int2,int4,int8,oid,regclass,regproc,name,text,"\"char\"",bool,numeric,jsonb,timestamptz}'::text[])};
as('owner', join ";\n", split /\n/, $node->safe_psql('shop', qq{
	SELECT format('SET search_path = pg_catalog; CREATE FUNCTION %3\$s.of(%1\$s, %2\$s) RETURNS bool LANGUAGE sql IMMUTABLE AS ''SELECT true''; ', a, b, s) || string_agg(format('CREATE OPERATOR %s.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %1\$s.of)', s, op, a, b), '; ')
	FROM $types AS a, $types AS b, unnest('{public,hostile}'::text[]) AS s, unnest('{=,<>,<,>,<=,>=,+,-,*,/,||,->,->>,?}'::text[]) AS op
	WHERE NOT EXISTS (SELECT FROM pg_operator AS o WHERE o.oprname = op AND o.oprleft = a::regtype AND o.oprright = b::regtype) GROUP BY a, b, s}));
as('owner', 'CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_tables SCHEMA hostile; CREATE EXTENSION flakeid_coordinator SCHEMA hostile; DROP EXTENSION flakeid_tables; CREATE EXTENSION flakeid_tables');
my $bound = q{SET search_path = pg_catalog; SELECT pg_describe_object(d.classid, d.objid, 0) || ' needs ' || pg_describe_object(d.refclassid, d.refobjid, 0) FROM pg_depend AS d
	JOIN pg_shdepend AS o ON (o.classid, o.objid) = (d.refclassid, d.refobjid) AND o.refobjid = 'owner'::regrole AND o.deptype = 'o'
		AND o.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
	WHERE d.refclassid <> 'pg_extension'::regclass AND NOT EXISTS (SELECT FROM pg_shdepend AS m WHERE (m.classid, m.objid, m.dbid, m.refobjid) = (d.classid, d.objid, o.dbid, o.refobjid) AND m.deptype = 'o')};
is($node->safe_psql('shop', $bound), '', 'no object of ours needs any of his');
as('owner', 'DROP EXTENSION flakeid CASCADE; SET search_path = pg_catalog; DROP SCHEMA hostile CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public');

# Role flakeid_generator takes leases wherever the extension is created while there is one, and gives its owner nothing else.
as('owner', 'CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator');
is($node->safe_psql('shop', q{SELECT count(*) FROM information_schema.routine_privileges WHERE grantee LIKE 'flakeid%'}), '0', 'no role, no grants');
as('owner', 'DROP EXTENSION flakeid CASCADE');
$node->safe_psql('postgres', 'CREATE ROLE flakeid_generator');
as('owner', 'CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator');
is($node->safe_psql('shop', q{SELECT string_agg(routine_schema || '.' || routine_name, ' ' ORDER BY (routine_schema || '.' || routine_name) COLLATE "C") FROM information_schema.routine_privileges WHERE grantee = 'flakeid_generator'}),
	'flakeid.lease_acquire flakeid.lease_coordinator flakeid.lease_release flakeid.lease_renew', 'with the role, what generators call');

as('owner', 'DROP EXTENSION flakeid_coordinator');

# No id twice: he draws, ahead of the clock too, drops and creates, also with his whole schema, and the server crashes.
as('owner', 'CREATE SCHEMA kept; CREATE TABLE kept.ids (id bigint)');
my $draw = q{INSERT INTO kept.ids SELECT flake_next() FROM generate_series(1, 3600)};
for my $round (1 .. 12)
{
	as('owner', $draw);
	as('owner', $round % 3 == 0 ? 'DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION flakeid' : $round % 3 == 1 ? 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid' : 'BEGIN; DROP EXTENSION flakeid; CREATE EXTENSION flakeid; COMMIT');
	if ($round % 4 == 0)
	{
		$node->stop('immediate');
		$node->start;
	}
}
as('owner', $draw);
is(as('owner', 'SELECT count(*), count(DISTINCT id) FROM kept.ids'), '46800|46800', 'no id twice');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_roles WHERE rolsuper'), '1', 'nobody has become a superuser');

$node->stop;
done_testing();
