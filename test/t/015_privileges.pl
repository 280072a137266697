# Who may do what: each function, view, table and setting of the extension for each kind of role, as
# doc/dev/privileges.md or doc/dev/privileges_functions.md says it. What has no line there, or another one, is an error. It is the same
# whatever the default privileges of the installer are.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('matrix');
$node->init;
$node->start;
$node->safe_psql('postgres', q{
	CREATE ROLE anonymous LOGIN;
	CREATE ROLE application LOGIN;
	CREATE ROLE owner LOGIN;
	CREATE ROLE monitor LOGIN IN ROLE pg_monitor;
	CREATE ROLE super LOGIN SUPERUSER;
	CREATE ROLE flakeid_generator;
	CREATE ROLE generator LOGIN IN ROLE flakeid_generator});
my %default = (
	shop => '',
	hosted => join('', map { "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON $_ TO anonymous, monitor, PUBLIC; " } qw(FUNCTIONS TABLES TYPES)),
	open => join('', map { "ALTER DEFAULT PRIVILEGES GRANT ALL ON $_ TO anonymous, application WITH GRANT OPTION; ALTER DEFAULT PRIVILEGES GRANT ALL ON $_ TO PUBLIC; " } qw(FUNCTIONS TABLES TYPES SCHEMAS)),
	closed => join('', map { "ALTER DEFAULT PRIVILEGES REVOKE ALL ON $_ FROM PUBLIC; " } qw(FUNCTIONS TYPES)));
for my $database (sort keys %default)
{
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER owner");
	$node->safe_psql($database, $default{$database} . q{
		CREATE EXTENSION flakeid;
		CREATE EXTENSION flakeid_tables;
		CREATE EXTENSION flakeid_coordinator;
		GRANT EXECUTE ON FUNCTION flake_decrypt(bigint), flake_encrypt(bigint), flake_seal(bigint), flake_unseal(flake_sealed), flake_in_range(flake_sealed, tstzrange) TO application});
}
my @roles = qw(anonymous application owner generator monitor super);
my $roles = join ',', @roles;

# Objects, from the catalogs
my $objects = qq{
	WITH member AS (
		SELECT d.classid, d.objid, i.type, CASE i.type WHEN 'function' THEN replace(d.objid::regprocedure::text, ',', ', ')
			ELSE regexp_replace(i.identity, '^public\\.', '') END AS identity
		FROM pg_depend AS d, pg_identify_object(d.classid, d.objid, 0) AS i
		WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'flakeid%')),
	cell AS (
		SELECT type, identity, o, CASE type
			WHEN 'function' THEN CASE WHEN has_function_privilege(role, objid, 'EXECUTE') THEN 'calls' END
			WHEN 'schema' THEN concat_ws(', ', CASE WHEN has_schema_privilege(role, objid, 'USAGE') THEN 'looks up' END,
				CASE WHEN has_schema_privilege(role, objid, 'CREATE') THEN 'creates' END)
			WHEN 'type' THEN CASE WHEN has_type_privilege(role, objid, 'USAGE') THEN 'uses' END
			ELSE concat_ws(', ', CASE WHEN has_table_privilege(role, objid, 'SELECT') OR has_any_column_privilege(role, objid, 'SELECT') THEN 'reads' END,
				CASE WHEN has_table_privilege(role, objid, 'UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
					OR has_any_column_privilege(role, objid, 'UPDATE, REFERENCES') THEN 'writes'
					WHEN has_table_privilege(role, objid, 'INSERT') OR has_any_column_privilege(role, objid, 'INSERT') THEN 'inserts' END) END AS may
		FROM member, unnest('{$roles}'::text[]) WITH ORDINALITY AS r (role, o)
		WHERE type IN ('function', 'schema', 'type', 'view', 'materialized view', 'table', 'sequence', 'foreign table')
		AND NOT (type = 'type' AND EXISTS (SELECT FROM pg_type AS t WHERE t.oid = objid AND (typrelid <> 0 OR typelem <> 0))))
	SELECT format('| %s `%s` | %s |', type, identity, string_agg(coalesce(may, ''), ' | ' ORDER BY o))
	FROM cell GROUP BY type, identity ORDER BY 1};
my %objects = map { ($_ => $node->safe_psql($_, $objects)) } keys %default;
is($objects{$_}, $objects{shop}, "under default privileges: $_") for qw(hosted open closed);
my @lines = split /\n/, $objects{shop};

# Settings, by trying
my %may;
my @settings = split /\n/, $node->safe_psql('shop', q{SELECT FROM flake_next() \g /dev/null
	SELECT name FROM pg_settings WHERE name LIKE 'flakeid.%' UNION SELECT 'flakeid.secret'});
for my $role (@roles)
{
	for my $setting (@settings)
	{
		my ($read, $value) = $node->psql('shop', "SELECT FROM flake_next() \\g /dev/null\nSHOW $setting", extra_params => [ '-U', $role ]);
		my $set = $node->psql('shop', "SELECT FROM flake_next() \\g /dev/null\nSET $setting TO DEFAULT", extra_params => [ '-U', $role ]);
		my $alter = $node->safe_psql('shop', "SELECT has_parameter_privilege('$role', '$setting', 'ALTER SYSTEM')");
		push @{ $may{$setting} }, join ', ', ($read == 0 ? 'reads' : ()), ($set == 0 ? 'sets' : ()), ($alter eq 't' ? 'configures' : ());
	}
}
push @lines, map { "| setting `$_` | " . join(' | ', @{ $may{$_} }) . ' |' } @settings;

my @pages = qw(dev/privileges dev/privileges_functions);
my %is = map { s/ +/ /gr => 1 } @lines;
my %told = map { chomp; s/ +/ /gr => 1 } grep { /^\| (?:materialized |foreign )?\w+ `/ } split /^/, join '', map { slurp_file(source_dir() . "/doc/$_.md") } @pages;
cmp_ok(scalar(keys %is), '>', 60, 'objects of the extension');
my @missing = sort grep { !$told{$_} } keys %is;
my @wrong = sort grep { !$is{$_} } keys %told;
is(join("\n", @missing), '', "each has its line in one of doc: @pages");
is(join("\n", @wrong), '', 'which says nothing else');

$node->stop;
done_testing();
