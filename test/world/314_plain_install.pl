# The edition in plain SQL, installed as an ordinary owner does it: as howto/plain_sql.md says, whatever his default privileges and search path
# are, and as a package of pg_tle. Where the server has no pg_tle, a stand-in takes the package: what install_extension() is given
# becomes the files of an extension.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use IPC::Run ();
use Plain;
use lib $FindBin::Bin;
use Programs;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my $super = sub { return $node->safe_psql(@_) };
my $as = sub { my ($role, $database, $sql) = @_; return $node->safe_psql($database, $sql, extra_params => [ '-U', $role ]) };
my $has_pg_tle = $super->('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_tle'");
if ($has_pg_tle)
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_tle'");
	$node->restart;
}
$super->('postgres', "CREATE ROLE $_ LOGIN") for qw(owner clerk anonymous);
$super->('postgres', 'CREATE DATABASE shop OWNER owner');

# What begins howto/plain_sql.md, to which install.md leads, from nothing to the first id.
my ($section) = slurp_file(source_dir() . '/doc/howto/plain_sql.md') =~ /^(.*?)^## /ms;
my $blocks = join "\n", $section =~ /^```sh\n(.*?)^```/msg, "psql -d shop -c 'SELECT flakeid_plain.flake_next()'";
my $top = PostgreSQL::Test::Utils::tempdir();
symlink source_dir() . "/$_", "$top/$_" or die $! for qw(Makefile packaging flakeid.control src sql);
my ($printed, $errors) = ('', '');
{
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($node->host, $node->port, 'owner');
	IPC::Run::run([ 'sh', '-ec', "cd '$top' && $blocks" ], '>', \$printed, '2>', \$errors);
}
like($printed, qr/^ *flake_next *\n-+\n *[0-9]{18,19}\n\(1 row\)$/m, 'the page leads an owner to the first id') or diag "$blocks\n$printed\n$errors";
is($errors, '', 'without a word of warning');
is($super->('shop', "SELECT rolsuper OR rolcreaterole OR rolcreatedb FROM pg_roles WHERE rolname = 'owner'"), 'f', 'who is an ordinary role');

# Everybody has the same rights, whatever the owner gives away by default.
my $rights = q{SELECT coalesce(string_agg(what || ' ' || a.privilege_type || ' ' || CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, E'\n' ORDER BY what, a.privilege_type, a.grantee), '')
	FROM (SELECT oid::regprocedure::text AS what, proowner AS owner, coalesce(proacl, acldefault('f', proowner)) AS acl FROM pg_proc WHERE pronamespace = 'flakeid_plain'::regnamespace
		UNION ALL SELECT oid::regclass::text, relowner, relacl FROM pg_class WHERE relnamespace = 'flakeid_plain'::regnamespace
		UNION ALL SELECT 'schema', nspowner, nspacl FROM pg_namespace WHERE nspname = 'flakeid_plain') AS objects, aclexplode(acl) AS a
	WHERE a.grantee <> owner};
my $expected = $super->('shop', $rights);
unlike($expected, qr/ (anonymous|clerk)$/m, 'nobody is named');
unlike($expected, qr/^flakeid_plain\.((adopt|configure|close_tick|begin_past|extend|flush_wal|secret_rounds)\(|(settings|bound|sure|extended|home|opening|extending|flushing|configuring) )/m,
	'what sets the generator back, tells the secret or holds a lock is the owner\'s');
my %default = (
	open => join('', map { "ALTER DEFAULT PRIVILEGES GRANT ALL ON $_ TO anonymous, PUBLIC; " } qw(FUNCTIONS TABLES SEQUENCES TYPES SCHEMAS)),
	closed => join('', map { "ALTER DEFAULT PRIVILEGES REVOKE ALL ON $_ FROM PUBLIC; " } qw(FUNCTIONS TYPES)));
for my $name (sort keys %default)
{
	$super->('postgres', "CREATE DATABASE $name OWNER owner");
	$as->('owner', $name, $default{$name});
	install_plain($node, $name);
	is($super->($name, $rights), $expected, "default privileges, $name: the same rights");
	like($as->('clerk', $name, 'SELECT flakeid_plain.flake_next()'), qr/^\d+$/, "default privileges, $name: everybody makes ids");
	is($as->('clerk', $name, "SELECT flake_timestamp(id, 'snowflake'), flake_node(id, 'snowflake'), flake_sequence(id, 'snowflake'), flake_field(id, 'node', 'snowflake'),
			(flake_inspect(id, 'snowflake')).node, flake_explain(id, 'snowflake') <> '', flake_floor(now(), 'snowflake') < flake_ceil(now(), 'snowflake'), flake_in_range(id, '[2026-01-01Z,)') FROM flake_make('2026-01-01Z', 5, 6, 'snowflake') AS id"
				=~ s/\b(flake_\w+\()/flakeid_plain.$1/gr =~ s/^/SET timezone = 'UTC';\n/r),
		'2026-01-01 00:00:00+00|5|6|5|5|t|t|t', "default privileges, $name: composes and reads them");
	$as->('owner', $name, "INSERT INTO flakeid_plain.settings VALUES ('layout', 'randflake'), ('secret', '2c1fd0e37b5a4961881f0a4c35d26b97')");
	like($as->('clerk', $name, 'SELECT flakeid_plain.flake_next()'), qr/^-?\d+$/, "default privileges, $name: enciphered ones too");
	is_deeply([ map { refusal($node, "SELECT $_", database => $name, user => 'clerk') =~ s/:.*//sr } 'flakeid_plain.id_of(5)',
			'flakeid_plain.flake_decrypt(5)', "setval('flakeid_plain.word_a', 5)", 'value FROM flakeid_plain.settings' ],
		[ ('42501') x 4 ], "default privileges, $name: nobody looks into them, or sets them back");
}

# Any client can send the files.
cmp_ok(-s (plain_scripts())[0], '<=', 130_000, 'the first file is short enough for an editor');
unlike(slurp_file($_), qr/^\\\w/m, 'a file has no command of psql') for plain_scripts();
my $top_of_clients = copied('test/world/plain_clients/send.mjs', 'test/world/plain_clients/send.py');
for my $language (drivers())
{
	my ($ending, @interpreter) = @$language;
	my $how = $ending eq 'py' ? 'as one string' : 'statement by statement';
	$super->('postgres', "CREATE DATABASE by_$ending OWNER owner");
	local @ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = ($node->host, $node->port, 'owner', "by_$ending");
	$node->command_ok([ @interpreter, "$top_of_clients/send.$ending", plain_scripts() ], "a client sends them $how");
	is($super->("by_$ending", $rights), $expected, 'with the same rights');
	like($as->('clerk', "by_$ending", 'SELECT flakeid_plain.flake_next()'), qr/^\d+$/, 'everybody makes ids');
}

# A file that breaks ends with an error, and nothing of it is left; the second one does not come first.
$super->('postgres', 'CREATE DATABASE broken OWNER owner');
my @send = ('psql', '-XqU', 'owner', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('broken'));
$node->command_fails_like([ @send, '-f', (plain_scripts())[1] ], qr/flakeid_plain\.sql of version \S+ comes first/, 'the files have an order');
write_file("$top/broken.sql", slurp_file((plain_scripts())[0]) =~ s/CREATE TABLE flakeid_plain\.replaced/CREATE TABEL flakeid_plain.replaced/r, 0644);
$node->command_fails_like([ @send, '-f', "$top/broken.sql" ], qr/syntax error/, 'a broken file is told');
is($super->('broken', "SELECT count(*) FROM pg_namespace WHERE nspname = 'flakeid_plain'"), 0, 'and nothing of it is left');

# A search path in which somebody else's functions come first.
$super->('postgres', 'CREATE DATABASE trapped OWNER owner');
$super->('trapped', join '', 'CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC;',
	map { "CREATE FUNCTION evil.$_ LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION \$\$trapped\$\$; END';" }
	'format(text, text) RETURNS text', 'format(text, name) RETURNS text', 'nextval(regclass) RETURNS bigint', 'setval(regclass, bigint, boolean) RETURNS bigint',
	'clock_timestamp() RETURNS timestamptz', 'length(text) RETURNS int', 'extract(text, interval) RETURNS numeric');
$super->('postgres', 'ALTER DATABASE trapped SET search_path = evil, pg_catalog');
install_plain($node, 'trapped');
like($as->('clerk', 'trapped', 'SELECT flakeid_plain.flake_next()'), qr/^\d+$/, 'installed under a search path of traps');

# The package of pg_tle.
my $directory = "$top/build/plain";
my ($version) = slurp_file(source_dir() . '/flakeid.control') =~ /^default_version = '(.*)'/m;
my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
my $extensions = `$pg_config --sharedir` =~ s{\n}{/extension}r;
END { unlink glob "$extensions/flakeid_plain*" if $extensions && !$has_pg_tle }
sub take_package
{
	my ($database) = @_;
	if ($has_pg_tle)
	{
		$super->($database, 'CREATE EXTENSION pg_tle; GRANT pgtle_admin TO owner');
	}
	else
	{
		$super->($database, q{CREATE SCHEMA pgtle; GRANT USAGE, CREATE ON SCHEMA pgtle TO owner; CREATE TABLE pgtle.taken (name text, version text, script text);
			GRANT ALL ON pgtle.taken TO owner; CREATE FUNCTION pgtle.install_extension(name text, version text, description text, ext text) RETURNS boolean
			LANGUAGE sql AS 'INSERT INTO pgtle.taken VALUES (name, version, ext) RETURNING true'});
	}
	$node->command_ok([ 'psql', '-XqU', 'owner', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', "$directory/flakeid_plain.pg_tle.sql" ], 'the package is taken');
	return if $has_pg_tle;
	is($super->($database, 'SELECT name, version FROM pgtle.taken'), "flakeid_plain|$version", 'by its name and version');
	write_file("$extensions/flakeid_plain.control", "default_version = '$version'\nsuperuser = false\nrelocatable = false\n", 0644);
	write_file("$extensions/flakeid_plain--$version.sql", $super->($database, 'SELECT script FROM pgtle.taken'), 0644);
	$super->($database, 'DROP SCHEMA pgtle CASCADE');
	return;
}
SKIP: {
skip 'the server has no pg_tle, and its extensions are closed to a stand-in', 9 if !$has_pg_tle && !-w $extensions;
note $has_pg_tle ? 'with pg_tle ' . $super->('postgres', "SELECT default_version FROM pg_available_extensions WHERE name = 'pg_tle'") : 'with a stand-in for pg_tle';
$super->('postgres', 'CREATE DATABASE packaged OWNER owner');
take_package('packaged');
$as->('owner', 'packaged', 'CREATE EXTENSION flakeid_plain');
is($as->('owner', 'packaged', "SELECT count(*) FROM pg_depend AS d JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
		WHERE e.extname = 'flakeid_plain' AND d.classid = 'pg_class'::regclass AND d.objid = 'flakeid_plain.settings'::regclass"), 1, 'as an extension');
$as->('owner', 'packaged', "INSERT INTO flakeid_plain.settings VALUES ('node', '5')");
my $before = $as->('clerk', 'packaged', 'SELECT max(flakeid_plain.flake_next()) FROM generate_series(1, 100)');
is($as->('owner', 'packaged', "SELECT flakeid_plain.flake_node($before)"), 5, 'its settings');
$super->('postgres', 'CREATE DATABASE again OWNER owner');
take_package('again') if $has_pg_tle;
$node->command_ok([ 'pg_dump', '-Fc', '-n', 'flakeid_plain', '-e', 'flakeid_plain', '-f', "$top/dump", $node->connstr('packaged') ], 'dumped');
$node->command_ok([ 'pg_restore', '-U', 'owner', '--no-owner', '-d', $node->connstr('again'), "$top/dump" ], 'and restored by the owner');
my $after = $as->('clerk', 'again', 'SELECT flakeid_plain.flake_next()');
cmp_ok($after, '>', $before, 'ids go on above');
is($as->('owner', 'again', "SELECT flakeid_plain.flake_node($after)"), 5, 'with the settings');
$as->('owner', $_, 'DROP EXTENSION flakeid_plain CASCADE') for qw(packaged again);
is($as->('owner', 'packaged', "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('flakeid_plain')"), 0, 'removed');
}

$node->stop;
done_testing();
