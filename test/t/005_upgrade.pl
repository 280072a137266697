# pg_upgrade, pg_dump and restore: data, defaults and plans survive, and ids go on above the old ones.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = PostgreSQL::Test::Cluster->new('old');
$old->init;
my $dir = $old->basedir;
my $secret = write_file("$dir/secret", '3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49');
my $conf = "flakeid.secret_file = '$secret'\nflakeid.node = 5\nflakeid.when_ahead = error\n";
$old->append_conf('postgresql.conf', $conf);
$old->start;
$old->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN; CREATE DATABASE shop; CREATE DATABASE far; CREATE DATABASE of_ordinary OWNER ordinary');
$old->safe_psql($_, 'CREATE EXTENSION flakeid') for 'shop', 'far', 'of_ordinary';
$old->safe_psql('shop', q{
	ALTER DATABASE shop SET flakeid.layout = 'twitter';
	CREATE TABLE with_flake (id flake PRIMARY KEY, n int);
	CREATE TABLE with_bigint (id bigint PRIMARY KEY, n int);
	INSERT INTO with_flake SELECT g, g % 1000 FROM generate_series(1, 10000) g;
	INSERT INTO with_bigint SELECT g, g % 1000 FROM generate_series(1, 10000) g;
	CREATE TABLE made (id flake PRIMARY KEY DEFAULT flake_next(), opaque bigint UNIQUE DEFAULT flake_next('randflake'), n int,
		owner flake REFERENCES with_bigint, at timestamptz GENERATED ALWAYS AS (flake_timestamp(id, 'twitter')) STORED);
	CREATE INDEX made_at ON made (flake_timestamp(id, 'twitter'));
	CREATE INDEX made_hash ON made USING hash (id);
	CREATE INDEX made_brin ON made USING brin (id);
	CREATE TABLE parted (id flake PRIMARY KEY DEFAULT flake_next(), n int) PARTITION BY HASH (id);
	CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE VIEW recent AS SELECT n FROM made WHERE id <@ tstzrange(now() - interval '1 day', NULL);
	INSERT INTO made (n, owner) SELECT g, g FROM generate_series(1, 1000) g;
	INSERT INTO parted (n) SELECT generate_series(1, 1000);
	VACUUM ANALYZE});
$old->safe_psql('far', q{SET flakeid.max_leap = 0; SELECT flake_next(); SELECT flakeid.raise_horizon(now() + interval '1 day')});
# A copy of that time, to be restored over what comes later
$old->command_ok([ 'pg_dump', '-d', $old->connstr('shop'), '-f', "$dir/early.sql" ], 'pg_dump');
$old->safe_psql('shop', 'INSERT INTO made (n) SELECT generate_series(1001, 2000); INSERT INTO parted (n) SELECT generate_series(1001, 2000)');

# What is to be the same
sub content
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, q{
		SELECT md5(string_agg(m::text, ' ' ORDER BY id)) FROM made m;
		SELECT md5(string_agg(p::text, ' ' ORDER BY id)) FROM parted p;
		SELECT count(*) FROM recent;
		SELECT attrelid::regclass, attname, atttypid::regtype, pg_get_expr(adbin, adrelid) FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
			WHERE attrelid IN ('made'::regclass, 'parted'::regclass, 'parted_0'::regclass) AND attnum > 0 ORDER BY attrelid::regclass::text, attname;
		SELECT indexrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'made'::regclass ORDER BY indexrelid::regclass::text;
		SELECT extname, extversion FROM pg_extension WHERE extname = 'flakeid';
		SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
			AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid')});
}

sub plans
{
	my ($node, $database) = @_;
	my ($out, $err) = run_command([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database),
		'-c', 'SET max_parallel_workers_per_gather = 0', '-f', source_dir() . '/test/sql/plans.sql' ]);
	return $out . $err;
}

# Ids of it are above all there are, and distinct from them.
sub goes_on
{
	my ($node, $database, $what) = @_;
	is($node->safe_psql($database, q{SELECT max(id) AS last FROM (SELECT id FROM made UNION ALL SELECT id FROM parted) AS s \gset
		INSERT INTO made (n) SELECT generate_series(1, 1000);
		INSERT INTO parted (n) SELECT generate_series(1, 1000);
		SELECT count(*), count(DISTINCT id), min(id) > :last, min(flake_node(id)), max(flake_node(id)) FROM
			(SELECT id FROM made WHERE id > :last UNION ALL SELECT id FROM parted WHERE id > :last) AS s}),
		'2000|2000|t|5|5', "$what: ids go on above the old ones");
	is($node->safe_psql($database, q{SELECT count(*) = count(DISTINCT opaque) FROM made}), 't', "$what: enciphered ones as well");
}

my $far = qr/^55000: the horizon of database "\w+" lies 8\d\d\d\d\.\d+ s ahead of the clock/;
like(refusal($old, 'SELECT flake_next()', database => 'far'), $far, 'a horizon that lies a day ahead, before');
my $content = content($old, 'shop');
my $plans = plans($old, 'shop');
like($plans, qr/Index Scan using with_flake_pkey on with_flake.*Merge Cond: .*f\.id/s, 'there are plans');
unlike($plans, qr/^psql/m, 'without errors');

#
# pg_upgrade to the same major
#
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
$new->append_conf('postgresql.conf', $conf =~ s/^flakeid.node.*\n//mr);
$old->stop;
my ($bindir) = split /\n/, (run_command([ 'pg_config', '--bindir' ]))[0];
chdir PostgreSQL::Test::Utils::tempdir() or die $!;
command_ok([ 'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir,
		'-s', $new->host, '-p', $old->port, '-P', $new->port ], 'pg_upgrade');
chdir source_dir();
$new->start;
my $forgot = refusal($new, 'SELECT flake_next()', database => 'shop');
like($forgot, qr/^55000: flakeid.node is not set, and was 5 when ids were made here$/m, 'pg_upgrade: without its node the server makes no ids');
my ($line) = $forgot =~ /, with it for N: (LOAD .*;)$/m;
$new->safe_psql('postgres', $line =~ s/= N;/= 5;/r);
$new->poll_query_until('postgres', q{LOAD 'flakeid'; SHOW flakeid.node}, "LOAD\n5") or die;
is(content($new, 'shop'), $content, 'pg_upgrade: data, defaults and indexes are the same');
$new->safe_psql('shop', 'ANALYZE');
is(plans($new, 'shop'), $plans, 'pg_upgrade: and so are the plans');
is($new->safe_psql('shop', 'SHOW flakeid.layout'), 'twitter', 'pg_upgrade: and the settings of the database');
like(refusal($new, 'SELECT flake_next()', database => 'far'), $far, 'pg_upgrade: the horizon is there');
goes_on($new, 'shop', 'pg_upgrade');
is(refusal($new, 'SELECT flake_next()', database => 'of_ordinary'), '', 'pg_upgrade: with the line of the hint it goes on');
is(refusal($new, 'DROP EXTENSION flakeid CASCADE; CREATE EXTENSION flakeid; SELECT flake_next()', database => 'of_ordinary'), '',
	'pg_upgrade: the extension can be made anew');

#
# A dump of everything, restored by a superuser into another cluster
#
$content = content($new, 'shop');
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init;
$restored->append_conf('postgresql.conf', $conf);
$restored->start;
$new->command_ok([ 'pg_dumpall', '-d', $new->connstr('postgres'), '-f', "$dir/all.sql" ], 'pg_dumpall');
my ($out, $err) = run_command([ 'psql', '-Xq', '-d', $restored->connstr('postgres'), '-f', "$dir/all.sql" ]);
unlike($err, qr/ERROR(?!:  role ".*" already exists)/, 'restored without errors');
is(content($restored, 'shop'), $content, 'pg_dumpall: data, defaults and indexes are the same');
$restored->safe_psql('shop', 'VACUUM ANALYZE');
is(plans($restored, 'shop'), $plans, 'pg_dumpall: and so are the plans');
like(refusal($restored, 'SELECT flake_next()', database => 'far'), $far, 'pg_dumpall: the horizon came along');
goes_on($restored, 'shop', 'pg_dumpall');
command_ok([ 'pg_dump', '-Fc', '-d', $new->connstr('far'), '-f', "$dir/far.dump" ], 'pg_dump in another format');
$restored->safe_psql('postgres', 'CREATE DATABASE again');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $restored->connstr('again'), "$dir/far.dump" ], 'pg_restore');
like(refusal($restored, 'SELECT flake_next()', database => 'again'), $far, 'carries the horizon, too');

# A server that has none of the settings
my $bare = PostgreSQL::Test::Cluster->new('bare_3');
$bare->init;
$bare->start;
$bare->safe_psql('postgres', 'CREATE ROLE ordinary');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $bare->connstr('postgres'), "$dir/far.dump" ], 'pg_restore without settings');
my $was = qr/^55000: flakeid.node is not set, and was (\S+) when ids were made here/;
like(refusal($bare, 'SELECT flake_next()'), $was, 'the dump carries that a node was given');
for my $given ('7-9', 'cluster_name', '0')
{
	$bare->append_conf('postgresql.conf', "flakeid.node = '$given'\n");
	$bare->restart;
	$bare->safe_psql('postgres', 'SELECT flakeid.repair_horizon(none_kept => true)');
	is(refusal($bare, 'SELECT flake_next()'), '', "given $given");
	$bare->append_conf('postgresql.conf', "flakeid.node = 0\n");
	$bare->adjust_conf('postgresql.conf', 'flakeid.node', undef);
	$bare->restart;
	my ($told) = refusal($bare, 'SELECT flake_next()') =~ $was;
	is($told // '0', $given, 'which is what the error says when it is missing');
}
$bare->safe_psql('postgres', 'CREATE DATABASE leased');
$bare->safe_psql('leased', q{CREATE EXTENSION flakeid; INSERT INTO flakeid.restored VALUES ('node assigned', 1)});
like(refusal($bare, 'SELECT flake_next()', database => 'leased'), qr/^55000: flakeid.coordinator is not set, and nodes were leased when ids were made here/, 'a lost coordinator');
$bare->safe_psql('postgres', 'CREATE DATABASE automatic');
$bare->safe_psql('automatic', "CREATE EXTENSION flakeid; INSERT INTO flakeid.restored VALUES ('node assigned', 5)");
like(refusal($bare, 'SELECT flake_next()', database => 'automatic'), qr/ and was auto when .*\nhint: Set flakeid\.coordinator as it was, and then: LOAD 'flakeid'; ALTER SYSTEM SET flakeid\.node = 'auto';/s,
	'a lost coordinator and auto');
is(refusal($bare, "SET flakeid.node = 0; SELECT flake_next()", database => 'leased'), '', 'a session that sets its node makes ids');
like(refusal($bare, "INSERT INTO flakeid.restored VALUES ('node assigned', 31)", database => 'leased'), qr/^22003: 31 is no node that was assigned/, 'what is none');
like(refusal($bare, "INSERT INTO flakeid.restored VALUES ('most ahead of server 1 1', 1)", database => 'leased'), qr/^22003: 1 is no max_ahead of a server/, 'what no server has');
$bare->stop;

#
# A restore never lowers the horizon: an early copy over a live database
#
my $late = $new->safe_psql('shop', 'SELECT flake_next()');
$new->safe_psql('shop', 'SET flakeid.max_leap = 0; SELECT flakeid.raise_horizon(now() + interval \'1 day\')');
like(refusal($new, 'SELECT flake_next()', database => 'shop'), $far, 'a live database');
my ($horizon, @others) = slurp_file("$dir/early.sql") =~ /^plain horizon\t(\d+)$/mg;
ok($horizon, 'the copy holds a horizon');
is(scalar @others, 0, 'one');
$new->safe_psql('shop', "INSERT INTO flakeid.restored VALUES ('plain horizon', $horizon)");
like(refusal($new, 'SELECT flake_next()', database => 'shop'), $far, 'is not rewound by an early copy');
$new->restart;
like(refusal($new, 'SELECT flake_next()', database => 'shop'), $far, 'after a restart neither');

# It is of this database alone, until it is repaired.
is(refusal($new, 'SELECT flake_next()', database => 'of_ordinary'), '', 'another database goes on');
$new->safe_psql('shop', 'SELECT flakeid.repair_horizon(none_kept => true)');

#
# An ordinary role's pg_dump and restore
#
$new->safe_psql('of_ordinary', "GRANT CREATE ON SCHEMA public TO ordinary");
$new->safe_psql('of_ordinary', 'CREATE TABLE own (id flake PRIMARY KEY DEFAULT flake_next(), n int); INSERT INTO own (n) SELECT generate_series(1, 100)',
	extra_params => [ '-U', 'ordinary' ]);
$new->command_ok([ 'pg_dump', '-U', 'ordinary', '-d', $new->connstr('of_ordinary'), '-Fc', '-f', "$dir/own.dump" ], q{an ordinary role's pg_dump works});
my $own = $new->safe_psql('of_ordinary', 'SELECT md5(string_agg(own::text, \' \' ORDER BY id)) FROM own');
$new->safe_psql('postgres', 'CREATE DATABASE of_ordinary_too OWNER ordinary');
$new->safe_psql('of_ordinary_too', 'CREATE EXTENSION flakeid; GRANT CREATE ON SCHEMA public TO ordinary');
run_command([ 'pg_restore', '-U', 'ordinary', '-d', $new->connstr('of_ordinary_too'), '-t', 'own', "$dir/own.dump" ]);
is($new->safe_psql('of_ordinary_too', 'SELECT md5(string_agg(own::text, \' \' ORDER BY id)) FROM own'), $own, 'and it restores its table');
is($new->safe_psql('of_ordinary_too', 'SELECT max(id) AS last FROM own \gset
		INSERT INTO own (n) SELECT generate_series(1, 100) RETURNING id > :last') =~ tr/t//, 100, 'with ids above');
#
# What the other server made after the dump, as far ahead of the clock as its sessions may go, does not come again. Where it is the
# same server, its horizon says that already.
my $reach = "SET flakeid.layout = 'sonyflake'; SET flakeid.max_ahead = '%s';";
$new->safe_psql('postgres', 'CREATE DATABASE left_behind');
$new->safe_psql('left_behind', 'CREATE EXTENSION flakeid; ' . sprintf("$reach SELECT flake_next()", '10 min'));
command_ok([ 'pg_dump', '-d', $new->connstr('left_behind'), '-f', "$dir/behind.sql" ], 'pg_dump');
$new->safe_psql('left_behind', sprintf "$reach COPY (SELECT id::bigint FROM flake_next_many(1000000) AS id) TO '$dir/after_dump'", '10 min');
for my $node ($restored, $new)
{
	$node->safe_psql('postgres', 'CREATE DATABASE taken_over');
	command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('taken_over'), '-f', "$dir/behind.sql" ], 'restored');
	is($node->safe_psql('taken_over', sprintf(q{CREATE TABLE before (id bigint); COPY before FROM '%s/after_dump';
		CREATE TABLE now AS SELECT id::bigint FROM (SELECT set_config('flakeid.layout', 'sonyflake', false), set_config('flakeid.max_ahead', '20 min', false)) AS s,
			flake_next_many(1000000, 'sonyflake') AS id;
		SELECT count(*) FROM now JOIN before USING (id)}, $dir)), '0', $node->name . ': ids that were made after the dump do not come again');
}
$_->stop for $new, $restored;

done_testing();
