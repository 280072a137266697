# ALTER EXTENSION ... UPDATE, of each subset of the extensions and in every order: the catalogs of an updated database are those of a fresh one,
# from each version that was released, and to a made-up next one, whose objects are those of this one. A server gets its library as a package
# brings it, while it runs, and has data. On the way ids are made, partitions kept and leases handed out; where versions do not fit, an error says
# what to do. The edition in plain SQL is updated as its page says.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use File::Basename qw(dirname);
use File::Copy qw(copy);
use Leases;
use Plain;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Everything that the catalogs say of the extension, one fact a line
my $facts = q{
SET search_path = '';
SET client_min_messages = warning;
CREATE TEMP VIEW member AS SELECT classid, objid FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'flakeid%');
CREATE TEMP VIEW relation AS SELECT c.* FROM pg_class c WHERE relnamespace = 'flakeid'::regnamespace
	OR oid IN (SELECT objid FROM member WHERE classid = 'pg_class'::regclass);
CREATE TEMP VIEW mine AS SELECT * FROM member UNION SELECT 'pg_class'::regclass, oid FROM relation
	UNION SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid IN (SELECT oid FROM relation)
	UNION SELECT 'pg_trigger'::regclass, oid FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM relation)
	UNION SELECT 'pg_rewrite'::regclass, oid FROM pg_rewrite WHERE ev_class IN (SELECT oid FROM relation)
	UNION SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typnamespace = 'flakeid'::regnamespace;
CREATE FUNCTION pg_temp.sorted(aclitem[]) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(a::text, ' ' ORDER BY a::text COLLATE "C"), 'default') FROM unnest($1) AS a $$;
SELECT fact FROM (
	SELECT pg_describe_object(classid, objid, 0) || ': ' || coalesce(obj_description(objid, classid::regclass::name), 'no comment') FROM mine
	UNION ALL
	SELECT concat_ws(' | ', attrelid::regclass, attname, col_description(attrelid, attnum)) FROM pg_attribute WHERE attrelid IN (SELECT oid FROM relation)
	UNION ALL
	SELECT concat_ws(' | ', pg_describe_object(classid, objid, objsubid), deptype, pg_describe_object(refclassid, refobjid, refobjsubid))
	FROM pg_depend WHERE (classid, objid) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', pg_describe_object(classid, objid, objsubid), 'shared', deptype, pg_describe_object(refclassid, refobjid, 0))
	FROM pg_shdepend WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND (classid, objid) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', pg_describe_object(classoid, objoid, objsubid), 'initially', privtype, pg_temp.sorted(initprivs))
	FROM pg_init_privs WHERE (classoid, objoid) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', 'config', table_oid::regclass, condition) FROM pg_extension, unnest(extconfig, extcondition) AS u(table_oid, condition)
	WHERE extname LIKE 'flakeid%'
	UNION ALL
	SELECT concat_ws(' | ', extname, extversion, extrelocatable, extnamespace::regnamespace, extowner::regrole) FROM pg_extension WHERE extname LIKE 'flakeid%'
	UNION ALL
	SELECT concat_ws(' | ', p.oid::regprocedure, CASE prokind WHEN 'a' THEN (SELECT concat_ws(' ', aggtransfn, aggcombinefn, aggsortop::regoperator, aggtranstype::regtype) FROM pg_aggregate WHERE aggfnoid = p.oid) ELSE pg_get_functiondef(p.oid) END, prorettype::regtype, proleakproof, proowner::regrole, pg_temp.sorted(proacl))
	FROM pg_proc p WHERE ('pg_proc'::regclass, p.oid) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', c.oid::regclass, relkind, relpersistence, relowner::regrole, pg_temp.sorted(relacl), reloptions, relreplident, relrowsecurity,
		relispartition, relispopulated, reltablespace, (SELECT amname FROM pg_am WHERE pg_am.oid = relam), pg_get_viewdef(c.oid)) FROM relation c
	UNION ALL
	SELECT concat_ws(' | ', attrelid::regclass, row_number() OVER (PARTITION BY attrelid ORDER BY attnum), attname, format_type(atttypid, atttypmod), attnotnull,
		attidentity, attgenerated, attstorage, attcompression, attislocal, attinhcount, attcollation::regcollation, pg_temp.sorted(attacl), (SELECT string_agg(o, ' ') FROM unnest(attoptions) AS o WHERE o LIKE 'n_distinct%'),
		pg_get_expr(adbin, adrelid)) FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
	WHERE attnum > 0 AND NOT attisdropped AND attrelid IN (SELECT oid FROM relation)
	UNION ALL
	SELECT concat_ws(' | ', pg_get_indexdef(indexrelid), indisprimary, indisvalid, indisclustered, indisreplident) FROM pg_index WHERE indrelid IN (SELECT oid FROM relation)
	UNION ALL
	SELECT concat_ws(' | ', conrelid::regclass, conname, contype, pg_get_constraintdef(oid), convalidated) FROM pg_constraint WHERE conrelid IN (SELECT oid FROM relation)
	UNION ALL
	SELECT concat_ws(' | ', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM relation)
	UNION ALL
	SELECT concat_ws(' | ', t.oid::regtype, typowner::regrole, typlen, typbyval, typtype, typcategory, typispreferred, typinput, typoutput, typreceive, typsend,
		typalign, typstorage, typelem::regtype, typarray::regtype, pg_temp.sorted(typacl)) FROM pg_type t WHERE ('pg_type'::regclass, t.oid) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext, castmethod)
	FROM pg_cast c WHERE ('pg_cast'::regclass, c.oid) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', o.oid::regoperator, oprcom::regoperator, oprnegate::regoperator, oprcode, oprrest, oprjoin, oprcanmerge, oprcanhash, oprowner::regrole)
	FROM pg_operator o WHERE ('pg_operator'::regclass, o.oid) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', pg_describe_object('pg_amop'::regclass, o.oid, 0), amopopr::regoperator, amoppurpose) FROM pg_amop o WHERE ('pg_opfamily'::regclass, amopfamily) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', pg_describe_object('pg_amproc'::regclass, o.oid, 0), amproc::regprocedure) FROM pg_amproc o WHERE ('pg_opfamily'::regclass, amprocfamily) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', opcname, opcowner::regrole, opcintype::regtype, opcdefault, opckeytype::regtype) FROM pg_opclass o WHERE ('pg_opclass'::regclass, o.oid) IN (SELECT * FROM mine)
	UNION ALL
	SELECT concat_ws(' | ', n.oid::regnamespace, nspowner::regrole, pg_temp.sorted(nspacl)) FROM pg_namespace n WHERE ('pg_namespace'::regclass, n.oid) IN (SELECT * FROM mine)
) AS all_facts (fact) ORDER BY fact COLLATE "C"};

# What is in one list only
sub difference
{
	my ($was, $is) = @_;
	my %count;
	$count{$_}-- for split /\n/, $was;
	$count{$_}++ for split /\n/, $is;
	return join "\n", map { ($count{$_} > 0 ? '+ ' : '- ') . $_ } grep { $count{$_} } sort keys %count;
}

#
# Two versions of everything
#
my $bin = installation();
my ($libraries, $share) = map { (run_command([ "$bin/pg_config", $_ ]))[0] =~ s/\n//r } '--pkglibdir', '--sharedir';
my @extensions = qw(flakeid flakeid_tables flakeid_coordinator);
my ($version) = slurp_file(source_dir() . '/flakeid.control') =~ /^default_version = '(.*)'/m;
my $next = $version =~ s/(\d+)$/$1 + 1/er;

# Builds files of the sources, as of another version; only what names the version is compiled anew.
sub build
{
	my ($directory, $of, @targets) = @_;
	system('cp', '-pR', map({ source_dir() . "/$_" } qw(src sql packaging Makefile flakeid.control)), $directory) == 0 or die;
	my %names = map { $_ => 1 } split /\n/, (run_command([ 'sh', '-c', "cd '$directory' && grep -rl --include=*.[ch]pp FLAKEID_VERSION src" ]))[0];
	for my $made (glob "$directory/src/*.d $directory/src/*/*.d $directory/src/*/*/*.d")
	{
		unlink $made =~ s/d$/o/r if grep { $names{$_} } slurp_file($made) =~ m{\bsrc/[\w/]+\.[ch]pp\b}g;
	}
	my ($out, $err) = run_command([ 'make', '-s', '-C', $directory, 'with_llvm=no', "EXTVERSION=$of", @targets ]);
	-e "$directory/$_" or die "no $_: $out $err" for @targets;
	return;
}
my @libraries = qw(flakeid.so flakeid_libpq.so);
my $tempdir = PostgreSQL::Test::Utils::tempdir();
mkdir "$tempdir/$_" for 'this', 'next';
copy("$libraries/$_", "$tempdir/this/$_") or die $! for @libraries;
build("$tempdir/next", $next, @libraries, map { "sql/$_--$next.sql" } @extensions);

# A server that has a file mapped keeps it, as with a package.
sub install
{
	my ($from, $to) = @_;
	unlink $to;
	copy($from, $to) or die "$to: $!";
	return;
}
sub install_libraries { my ($of) = @_; install("$tempdir/$of/$_", "$libraries/$_") for @libraries; return }
sub make_up { my ($name, $text) = @_; return write_file("$share/extension/$name", $text, 0644) }

my $node = PostgreSQL::Test::Cluster->new('main', install_path => dirname($bin));
$node->init;
write_file($node->data_dir . '/own.conf', "flakeid.node = auto\nflakeid.lease_ttl = 600s\nflakeid.coordinator = '" . $node->connstr('ids') =~ s/'/''/gr . "'\n");
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\ninclude = 'own.conf'");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE flakeid_generator; CREATE DATABASE ids');
$node->safe_psql('ids', "CREATE EXTENSION flakeid_coordinator CASCADE; SELECT flakeid.lease_realm_set('default', 1024, '1 hour', '2 s')");
ok(wait_until(sub { refusal($node, 'SELECT flake_next()', database => 'ids') eq '' }), 'a server that is its own coordinator');

#
# The walk
#

# What each extension does for its users
my %does = (
	flakeid => 'SELECT flake_timestamp(flake_next()) IS NOT NULL',
	flakeid_tables => 'CALL flakeid.maintain()',
	flakeid_coordinator => q{SELECT flakeid.lease_release(token, NULL) FROM flakeid.lease_acquire('default', 'holder', '5 s')});
my %first = (flakeid_tables => q{CREATE TABLE t (id flake PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id); CALL flakeid.partition('t', every => '1 day', ahead => 1)});
sub does { return join '; ', 'SET client_min_messages = warning', @does{@_} }

sub create
{
	my ($database, $of, @of_it) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, join '; ', (map { ("CREATE EXTENSION $_ VERSION '$of'", $first{$_} // ()) } @of_it), does(@of_it));
	return;
}

# Updates a database in that order; all that its extensions do is done after each step. Who comes before flakeid is told so, and goes on after it.
sub update
{
	my ($database, $from, $to, @order) = @_;
	my @steps = @order;
	if ($order[0] ne 'flakeid')
	{
		is(refusal($node, "ALTER EXTENSION $order[0] UPDATE TO '$to'", database => $database), "55000: extension flakeid of this database is of version $from\n"
			  . "detail: What is to be made needs version $to of it.\nhint: Run: ALTER EXTENSION flakeid UPDATE", "$database: $order[0] before flakeid");
		@steps = ('flakeid', grep { $_ ne 'flakeid' } @order);
	}
	is(refusal($node, join('; ', does(@order), map { ("ALTER EXTENSION $_ UPDATE TO '$to'", does(@order)) } @steps), database => $database), '', "$database: all goes on meanwhile");
	return;
}

# Every order of a list
sub orders { my @of = @_; return @of ? map { my $i = $_; map { [ $of[$i], @$_ ] } orders(@of[ grep { $_ != $i } 0 .. $#of ]) } 0 .. $#of : [] }
sub named { return join('_', map { /^flakeid(?:_(.))?/ ? $1 // 'f' : $_ } @_) =~ tr/./_/r }
sub walk
{
	my ($to) = @_;
	my @older = split /\n/, $node->safe_psql('postgres', qq{SELECT source FROM pg_extension_update_paths('flakeid') WHERE target = '$to' AND path IS NOT NULL});
	for my $subset ([], ['flakeid_tables'], ['flakeid_coordinator'], [ 'flakeid_tables', 'flakeid_coordinator' ])
	{
		my @of_it = ('flakeid', @$subset);
		create(my $fresh = named('fresh', $to, @of_it), $to, @of_it);
		my $expected = $node->safe_psql($fresh, $facts);
		cmp_ok(scalar(split /\n/, $expected), '>', 500, "$fresh: there are facts to compare");
		for my $from (@older)
		{
			for my $order (orders(@of_it))
			{
				create(my $database = named('from', $from, 'to', $to, @$order), $from, @of_it);
				update($database, $from, $to, @$order);
				is(difference($expected, $node->safe_psql($database, $facts)), '', "$database: the catalogs are those of a fresh database");
			}
		}
	}
	return;
}
walk($version);
is($node->safe_psql(named('fresh', $version, 'flakeid'), 'SELECT flakeid.version()'), $version, 'the version of the library');
isnt(difference(map { $node->safe_psql(named('fresh', $version, 'flakeid'), $_) } $facts, "REVOKE EXECUTE ON FUNCTION flake_next(text) FROM PUBLIC;\n$facts"), '', 'a right that differs is found');

#
# The next version is installed while the server runs
#
create('shop', $version, @extensions);
write_file(my $secret = $node->basedir . '/secret', '2c1fd0e37b5a4961881f0a4c35d26b97');
$node->safe_psql('postgres', "ALTER DATABASE shop SET flakeid.secret_file = '$secret'");
$node->safe_psql('shop', q{
	CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), public text);
	INSERT INTO orders SELECT FROM generate_series(1, 1000);
	UPDATE orders SET public = flake_seal(id, 'ord');
	CREATE TABLE drawn (id flake);
	CREATE TABLE hidden (id flake_sealed PRIMARY KEY DEFAULT flake_next());
	INSERT INTO hidden SELECT FROM generate_series(1, 1000);
	INSERT INTO t SELECT FROM generate_series(1, 1000);
	CREATE TABLE key (id bigserial PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now());
	CREATE TABLE refers (key bigint REFERENCES key);
	INSERT INTO key SELECT FROM generate_series(1, 1000);
	INSERT INTO refers SELECT id FROM key});
$node->safe_psql('shop', q{CALL flakeid.convert('key', created_at => 'created_at')});
my @leases = map { [split /\|/] } split /\n/, $node->safe_psql('ids', q{SELECT flakeid.lease_acquire('default', 'program', '1 hour'); SELECT holder, token, renewals FROM flakeid.lease_history WHERE released_at IS NULL ORDER BY holder = 'program'} =~ s/^SELECT/SELECT count(*) FROM/r);
shift @leases;
is(scalar(@leases), 2, 'the server holds a lease, and so does a program');

# The edition in plain SQL, of a role that is no superuser
install_plain($node, 'plain');
sub in_plain { my ($sql) = @_; return $node->safe_psql('plain', $sql, extra_params => [ '-U', 'owner' ]) }
in_plain(q{INSERT INTO flakeid_plain.settings VALUES ('node', '5');
	SET search_path = public, flakeid_plain;
	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_next(), item text);
	INSERT INTO orders (item) SELECT 'pen' FROM generate_series(1, 1000);
	CREATE TABLE event (id bigint PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
	CALL partition('event', every => '1 day');
	INSERT INTO event SELECT FROM generate_series(1, 1000)});

# Draws many ids, and keeps them for the end: here, or in a table.
my %drawn = (shop => [], plain => []);
my $many = 'flake_next() FROM generate_series(1, 10000)';
sub draw { my ($database) = @_; push $drawn{shop}->@*, split /\n/, $node->safe_psql($database, "SELECT $many"); return }
sub draw_plain { push $drawn{plain}->@*, split /\n/, in_plain("SELECT flakeid_plain.$many"); return }
sub draw_in { my ($session) = @_; $session->query_safe("INSERT INTO drawn SELECT $many"); return }

# A dump, without what is another each time
sub dumped
{
	my ($database, @options) = @_;
	my ($out, $err) = run_command([ "$bin/pg_dump", @options, '-d', $node->connstr($database) ]);
	$out or die $err;
	return join "\n", grep { !/^\\(?:un)?restrict / } split /\n/, $out;
}
draw($_) for 'shop', 'ids';
draw_plain();
my $open = $node->background_psql('shop');
draw_in($open);
install_libraries('next');
for my $name (@extensions)
{
	install("$tempdir/next/sql/$name--$next.sql", "$share/extension/$name--$next.sql");
	make_up("$name--$version--$next.sql", "SELECT flakeid.require_version('$next');");
	make_up("$name.control", slurp_file(source_dir() . "/$name.control") =~ s/^default_version = '\K[^']*/$next/mr);
}
my $restart = "55000: the running server uses another version of the flakeid library\n"
  . "detail: The SQL objects are of version $next, the library is of version $version.\nhint: Restart the server.";
is(refusal($node, does(@extensions), database => 'shop'), '', 'before the restart all goes on');
is(refusal($node, "ALTER EXTENSION $_ UPDATE", database => 'shop'), $restart, "and ALTER EXTENSION $_ says restart") for @extensions;
$node->safe_psql('postgres', 'CREATE DATABASE early');
is(refusal($node, 'CREATE EXTENSION flakeid', database => 'early'), $restart, 'so does CREATE EXTENSION flakeid');
$node->safe_psql('early', "CREATE EXTENSION flakeid VERSION '$version'");
is(refusal($node, "CREATE EXTENSION $_", database => 'early'), $restart, "so does CREATE EXTENSION $_") for @extensions[ 1, 2 ];
draw_in($open);
draw('ids');
$open->quit;
$node->restart;
draw($_) for 'shop', 'ids';
is(refusal($node, does(@extensions), database => 'shop'), '', 'a later library serves the objects of an earlier one');
is($node->safe_psql('shop', 'SELECT flakeid.version()'), $next, 'the version of the library');
is(refusal($node, "CREATE EXTENSION $_", database => 'early'), "55000: extension flakeid of this database is of version $version\n"
	  . "detail: What is to be made needs version $next of it.\nhint: Run: ALTER EXTENSION flakeid UPDATE", "CREATE EXTENSION $_ beside an earlier flakeid") for @extensions[ 1, 2 ];
walk($next);

# Nothing of the data is changed but the version.
my $session = $node->background_psql('shop');
draw_in($session);
my %before = map { $_ => dumped($_) } 'shop', 'ids';
for my $name (@extensions)
{
	$node->safe_psql('shop', "ALTER EXTENSION $name UPDATE");
	$node->safe_psql('ids', "ALTER EXTENSION $name UPDATE") if $name ne 'flakeid_tables';
}
is(difference($before{$_}, dumped($_)), '', "$_: the dump after the update is the one before") for sort keys %before;
is(difference(map { $node->safe_psql($_, $facts) } named('fresh', $next, @extensions), 'shop'), '', 'the catalogs are those of a fresh database');
draw_in($session);
$session->quit;
draw($_) for 'shop', 'ids', 'ids';
is(refusal($node, does(@extensions), database => 'shop'), '', 'all goes on');
is($node->safe_psql('shop', q{SELECT count(*) FROM orders WHERE flake_unseal(public, 'ord') = id AND public = flake_seal(id, 'ord')}), 1000, 'sealed keys with a prefix are what they were');
$node->safe_psql('shop', 'INSERT INTO key DEFAULT VALUES; INSERT INTO t DEFAULT VALUES; INSERT INTO hidden DEFAULT VALUES');
$node->safe_psql('shop', q{CALL flakeid.convert_undo('key')});
is($node->safe_psql('shop', 'SELECT min(id), max(id), count(*) FROM key'), '1|1001|1001', 'a conversion that an earlier version made is undone');
is($node->safe_psql('ids', "SELECT flakeid.lease_renew('$leases[1][1]', '1 hour') > now() + interval '59 min'"), 't', 'the program renews its lease');
$node->safe_psql('postgres', q{ALTER SYSTEM SET flakeid.lease_ttl = '1200s'});
$node->reload;
ok(wait_until(sub { $node->safe_psql('ids', "SELECT renewals > $leases[0][2] FROM flakeid.lease_history WHERE token = '$leases[0][1]' AND released_at IS NULL") eq 't' }),
	'and the server its own');

# The edition in plain SQL is installed anew, as its page says.
write_file("$tempdir/next/flakeid.control", slurp_file("$share/extension/flakeid.control"));
my ($page) = slurp_file(source_dir() . '/doc/howto/plain_sql.md') =~ /^## Upgrade\n(.*?)^## /ms;
system("$tempdir/next/packaging/plain/build $tempdir/build/plain >/dev/null") == 0 or die;
my @plain = ('psql', '-XqU', 'owner', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('plain'));
$node->command_fails_like([ @plain, '-f', "$tempdir/build/plain/flakeid_plain.sql" ], qr/flakeid in plain SQL is installed already\n.*\n?HINT: .*"Upgrade"/, 'what is installed is not installed over');
$node->command_fails_like([ @plain, '-f', "$tempdir/build/plain/flakeid_plain_tables.sql" ], qr/flakeid_plain\.sql of version \Q$next\E comes first/, 'and the second file asks for the first');
my %plain_before = map { $_ => dumped('plain', '-n', $_, $_ eq 'public' ? () : '-s') } 'public', 'flakeid_plain';
write_file("$tempdir/upgrade.sql", join "SET client_min_messages = warning;\n\\cd $tempdir\n", '', $page =~ /^```sql\n(.*?)^```/gms);
$node->command_ok([ @plain, '-f', "$tempdir/upgrade.sql" ], 'the page upgrades it');
in_plain(q{ALTER TABLE event ALTER id SET DEFAULT flakeid_plain.flake_next(); CALL flakeid_plain.partition('event', every => '1 day')});
# A table that is declared anew is declared since then.
is(difference(map { s/"since": "[^"]+"/since/gr } $plain_before{public}, dumped('plain', '-n', 'public')), '', 'tables and rows are what they were');
is(difference($plain_before{flakeid_plain} =~ s/\Q$version\E/$next/gr, dumped('plain', '-sn', 'flakeid_plain')), '', 'nothing else is changed but the version');
draw_plain();
in_plain('INSERT INTO orders DEFAULT VALUES; INSERT INTO event DEFAULT VALUES');
push $drawn{shop}->@*, split /\n/, $node->safe_psql('shop', 'TABLE drawn');
for my $of (sort keys %drawn)
{
	my %once = map { $_ => 1 } $drawn{$of}->@*;
	is(scalar(keys %once), scalar($drawn{$of}->@*), "$of: none of the " . $drawn{$of}->@* . ' ids twice');
}

#
# The earlier library again, under objects of the next version
#
install_libraries('this');
write_file($node->data_dir . '/own.conf', "flakeid.coordinator = ''\nflakeid.node = 5\n");
$node->restart;
is($node->safe_psql('shop', 'SELECT flakeid.version(), flake_timestamp(5) IS NOT NULL'), "$version|t", 'an earlier library reads');
for my $name (@extensions)
{
	is(refusal($node, $_, database => 'shop'), "55000: extension $name of this database does not fit the library\n"
		  . "detail: The SQL objects are of version $next, the library is of version $version.\nhint: Install version $next of flakeid, and restart the server.", "$name: $_")
	  for {
		flakeid => ['SELECT flake_next()'],
		flakeid_tables => [ q{CALL flakeid.partition('t', every => '1 day')}, q{CALL flakeid.maintain()}, q{CALL flakeid.convert('refers', 'key')} ],
		flakeid_coordinator => [ q{SELECT flakeid.lease_acquire('default', 'holder', '5 s')}, q{SELECT flakeid.lease_begin_rest()}, q{SELECT flakeid.lease_end_rest()} ]
	  }->{$name}->@*;
}

# Objects whose durable state has another shape than the library keeps
make_up('flakeid--0.0.1.sql', slurp_file("$share/extension/flakeid--$version.sql") =~ s/\Q$version\E/0.0.1/gr =~ s{AS SELECT \* FROM flakeid.state_now\(\)}{AS SELECT 1 AS older}r);
$node->safe_psql('postgres', 'CREATE DATABASE late');
$node->safe_psql('late', q{CREATE EXTENSION flakeid VERSION '0.0.1'});
is(refusal($node, 'SELECT flake_next()', database => 'late'), "55000: extension flakeid of this database does not fit the library\n"
	  . "detail: The SQL objects are of version 0.0.1, the library is of version $version.\nhint: Run: ALTER EXTENSION flakeid UPDATE", 'an update is due');
$node->stop;

done_testing();
