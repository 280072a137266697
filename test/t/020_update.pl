# ALTER EXTENSION flakeid UPDATE: the catalogs of an updated database are those of a fresh one, from each version that was
# released. Until there are two, a made-up next version stands for them: the script of this one, and an update that changes nothing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
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

my $node = server('main');
my $version = $node->safe_psql('postgres', 'SELECT flakeid.version()');
is($version, $node->safe_psql('postgres', q{SELECT default_version FROM pg_available_extensions WHERE name = 'flakeid'}), 'the version of the library');

chomp(my $share = (run_command([ 'pg_config', '--sharedir' ]))[0]);
my @made;
sub make_up { my ($name, $text) = @_; push @made, write_file("$share/extension/$name", $text, 0644); return }
END { my $status = $?; unlink @made; $? = $status }
sub script { my ($name) = @_; return slurp_file("$share/extension/$name--$version.sql") }
my @extensions = qw(flakeid flakeid_tables flakeid_coordinator);
for my $name (@extensions)
{
	make_up("$name--next.sql", script($name));
	make_up("$name--$version--next.sql", '');
}

# The walk: from each older version to this one, and from this one to the next.
sub facts_after
{
	my ($database, @statements) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, $_) for @statements;
	is(refusal($node, 'SELECT flake_next()', database => $database), '', "$database: ids are made");
	return $node->safe_psql($database, $facts);
}
sub created { my ($of) = @_; return map { "CREATE EXTENSION $_ VERSION '$of'" } @extensions }
for my $to ($version, 'next')
{
	my $fresh = facts_after("fresh_$to" =~ tr/./_/r, created($to));
	cmp_ok(scalar(split /\n/, $fresh), '>', 500, "$to: there are facts to compare");
	for my $from (split /\n/, $node->safe_psql('postgres', qq{SELECT source FROM pg_extension_update_paths('flakeid') WHERE target = '$to' AND path IS NOT NULL}))
	{
		my $updated = facts_after("${from}_to_$to" =~ tr/./_/r =~ s/^/from_/r, created($from),
			map { "ALTER EXTENSION $_ UPDATE TO '$to'" } @extensions);
		is(difference($fresh, $updated), '', "from $from to $to: the catalogs are those of a fresh database");
	}
}
isnt(difference(facts_after('whole', 'CREATE EXTENSION flakeid'), facts_after('changed', 'CREATE EXTENSION flakeid', 'REVOKE EXECUTE ON FUNCTION flake_next(text) FROM PUBLIC')),
	'', 'a right that differs is found');

# An older library that the server still runs, under the objects of a newer one
my $stand_in = c_library('stand_in', '#include "utils/builtins.h"
PG_FUNCTION_INFO_V1(flakeid_version); Datum flakeid_version(PG_FUNCTION_ARGS) { return CStringGetTextDatum("0.0.1"); }');
make_up('flakeid--newer.control', "module_pathname = '$stand_in'\n");
make_up('flakeid--newer.sql', script('flakeid'));
$node->safe_psql('postgres', 'CREATE DATABASE never');
like(refusal($node, q{CREATE EXTENSION flakeid VERSION 'newer'}, database => 'never'),
	qr/^55000: the running server uses another version of the flakeid library\ndetail: The SQL objects are of version \Q$version\E, the library is of version 0\.0\.1\.\nhint: Restart the server\.$/, 'CREATE EXTENSION says restart');

# Objects whose durable state has another shape than the library keeps
make_up('flakeid--older.sql', script('flakeid') =~ s{AS SELECT \* FROM flakeid.state_now\(\)}{AS SELECT 1 AS older}r);
$node->safe_psql('postgres', 'CREATE DATABASE late');
$node->safe_psql('late', q{CREATE EXTENSION flakeid VERSION 'older'});
is(refusal($node, 'SELECT flake_next()', database => 'late'), "55000: extension flakeid of this database does not fit the library\n"
	  . "detail: The SQL objects are of version older, the library is of version $version.\nhint: Run: ALTER EXTENSION flakeid UPDATE", 'an update is due');
$node->stop;

done_testing();
