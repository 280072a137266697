# ALTER EXTENSION flakeid UPDATE: the catalogs of an updated database are those of a fresh one, and
# nothing that people or flakeid keep is lost. A library and SQL objects that do not fit say so.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $back = 'time:41:1ms back:3 node:7 sequence:12';

# A library of one source file
sub library
{
	my ($name, $source) = @_;
	write_file("$dir/$name.c", $source);
	chomp(my $include = (run_command([ 'pg_config', '--includedir-server' ]))[0]);
	system('cc', '-shared', '-fPIC', "-I$include", '-o', "$dir/$name.so", "$dir/$name.c") == 0 or die "no $name.so";
	return "$dir/$name.so";
}

# What 0.1.0 did to a sequence, which setval cannot: it sets log_cnt, too.
my $old_keep = library('old_keep', <<'END');
#include "postgres.h"
#include "access/generic_xlog.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "commands/sequence.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(old_keep);
Datum old_keep(PG_FUNCTION_ARGS)
{
	Relation relation = relation_open(PG_GETARG_OID(0), AccessShareLock);
	Buffer buffer = ReadBuffer(relation, 0);
	GenericXLogState *record;
	Page page;
	HeapTupleHeader row;
	FormData_pg_sequence_data *data;
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	record = GenericXLogStart(relation);
	page = GenericXLogRegisterBuffer(record, buffer, 0);
	row = (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, FirstOffsetNumber));
	data = (FormData_pg_sequence_data *) ((char *) row + row->t_hoff);
	data->last_value = PG_GETARG_INT64(1);
	data->log_cnt = PG_GETARG_INT64(2);
	GenericXLogFinish(record);
	UnlockReleaseBuffer(buffer);
	relation_close(relation, AccessShareLock);
	PG_RETURN_VOID();
}
END

# A database as 0.1.0 leaves it: both horizons at moments (SQL), the back count, and the timeline
sub old_database
{
	my ($node, $name, %o) = @_;
	my ($plain, $of_back) = map { "((extract(epoch FROM $_) * 1e6)::bigint)" } $o{plain} // 'now()', $o{back} // 'now()';
	$o{count} //= 0;
	$o{timeline} //= 1;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, qq{
		CREATE EXTENSION flakeid VERSION '0.1.0';
		CREATE FUNCTION old_keep(regclass, bigint, bigint) RETURNS void AS '$old_keep', 'old_keep' LANGUAGE C;
		SELECT old_keep('flake_horizon', $plain, ($o{count}::bigint << 56) + $of_back);
		SELECT old_keep('flake_horizon_copy', ($o{count}::bigint << 56) + greatest($plain, $of_back), $o{timeline});
		DROP FUNCTION old_keep});
	return;
}

# Everything that the catalogs say of the extension, one fact a line
my $facts = q{
SET search_path = '';
SET client_min_messages = warning;
CREATE TEMP VIEW member AS SELECT classid, objid FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid');
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
	WHERE extname = 'flakeid'
	UNION ALL
	SELECT concat_ws(' | ', extname, extversion, extrelocatable, extnamespace::regnamespace, extowner::regrole) FROM pg_extension WHERE extname = 'flakeid'
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

my $node = server('main', "flakeid.node = 3", "flakeid.when_ahead = error");
my $version = $node->safe_psql('postgres', 'SELECT flakeid_version()');
is($version, $node->safe_psql('postgres', q{SELECT default_version FROM pg_available_extensions WHERE name = 'flakeid'}), 'the version of the library');

#
# Catalogs
#
# 0.1.0 makes this role, and 0.2.0 grants to it where there is one.
$node->safe_psql('postgres', 'CREATE ROLE flakeid_generator; DROP EXTENSION flakeid; CREATE EXTENSION flakeid');
my $fresh = $node->safe_psql('postgres', $facts);
cmp_ok(scalar(split /\n/, $fresh), '>', 500, 'there are facts to compare');
my @old = split /\n/, $node->safe_psql('postgres',
	qq{SELECT version FROM pg_available_extension_versions WHERE name = 'flakeid' AND version <> '$version' ORDER BY version COLLATE "C"});
cmp_ok(scalar @old, '>', 0, 'there are older versions');
for my $from (@old)
{
	(my $database = "from_$from") =~ s/\./_/g;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "CREATE EXTENSION flakeid VERSION '$from'");
	# One C function is the same for all: row and arguments of a name never change.
	$node->safe_psql($database, q{CREATE TABLE was AS SELECT oid, prosrc, prorettype, proargtypes::oid[] AS types, proallargtypes, proargmodes, proretset
		FROM pg_proc WHERE probin LIKE '%flakeid'});
	$node->safe_psql($database, 'ALTER EXTENSION flakeid UPDATE');
	is($node->safe_psql($database, q{SELECT DISTINCT prosrc FROM was JOIN pg_proc p USING (prosrc) WHERE p.probin LIKE '%flakeid'
		AND NOT EXISTS (SELECT FROM was w WHERE w.prosrc = p.prosrc AND (w.prorettype, w.types, w.proretset) = (p.prorettype, p.proargtypes::oid[], p.proretset)
			AND (w.proallargtypes, w.proargmodes) IS NOT DISTINCT FROM (p.proallargtypes, p.proargmodes))}),
		'', "from $from: what a C function takes and gives is the same");
	$node->safe_psql($database, 'DROP TABLE was');
	is(difference($fresh, $node->safe_psql($database, $facts)), '', "from $from: the catalogs are those of a fresh database");
	is(refusal($node, 'SELECT flake_next()', database => $database), '', "from $from: ids are made");
}

#
# The new library under the SQL objects of 0.1.0: readers go on, generators say what to do
#
my $update = "55000: extension flakeid of this database does not fit the library\n"
  . "detail: The SQL objects are of version 0.1.0, the library is of version $version.\nhint: Run: ALTER EXTENSION flakeid UPDATE";
$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN; CREATE ROLE admin LOGIN; CREATE ROLE app LOGIN');
old_database($node, 'kept', plain => q{now() + '1 hour'});
$node->safe_psql('kept', qq{
	GRANT EXECUTE ON FUNCTION flake_decrypt(bigint), flake_lease_forget(timestamptz) TO reader;
	GRANT EXECUTE ON FUNCTION flake_lease_acquire(text, text, interval, int, int), flake_lease_renew(uuid, interval, timestamptz) TO app;
	REVOKE EXECUTE ON FUNCTION flake_next(text) FROM PUBLIC;
	GRANT EXECUTE ON FUNCTION flake_next(text) TO admin WITH GRANT OPTION;
	REVOKE SELECT ON flake_status FROM PUBLIC;
	ALTER DATABASE kept SET flakeid.layout = 'twitter';
	SELECT flake_lease_realm_set('shop', 64, '30 s', '5 s');
	CREATE TABLE t (id flake PRIMARY KEY DEFAULT flake_next(), opaque bigint DEFAULT flake_next('randflake'), n int,
		at timestamptz GENERATED ALWAYS AS (flake_timestamp(id, 'twitter')) STORED);
	CREATE INDEX t_at ON t (flake_timestamp(id, 'twitter'));
	INSERT INTO t (id, opaque, n) SELECT flake_make('2026-01-01'::timestamptz + g * '1 min'::interval, 1, 0, 'twitter'), g, g FROM generate_series(1, 1000) g;
	CREATE VIEW recent AS SELECT n FROM t WHERE id <@ tstzrange('2026-01-01 01:00', '2026-01-01 02:00');
	CREATE VIEW overview AS SELECT name, l.nodes, l.alive, s.issued FROM flake_layouts, LATERAL flake_layout(name) AS l, flake_stats AS s;
	CREATE VIEW everything AS SELECT l, s FROM flake_layouts AS l, flake_stats AS s;
	CREATE VIEW settings AS SELECT * FROM flake_status;
	CREATE FUNCTION of_row(flake_layouts) RETURNS text LANGUAGE sql AS 'SELECT \$1.name';
	CREATE VIEW leased AS SELECT node, lease_end FROM flake_leases});
$node->safe_psql('kept', "INSERT INTO flake_lease_node VALUES ('shop', 7, '2026-11-22 10:00:00+00', '6b3c3d0e-0000-4000-8000-000000000007');
	INSERT INTO flake_lease_history (token, realm, node, holder, role, lease_start, lease_end, acquired_at)
	VALUES ('6b3c3d0e-0000-4000-8000-000000000007', 'shop', 7, 'host', 'app', '2026-11-22 09:59:00+00', '2026-11-22 10:00:00+00', '2026-11-22 09:59:00.5+00')");
is(refusal($node, $_, database => 'kept'), $update, "the new library under old objects: $_")
  for 'SELECT flake_next()', 'SELECT count(*) FROM flake_next_many(5)', 'SELECT flake_block(5)', "SELECT flake_lease_acquire('shop', 'me', '10 s')",
  'SELECT flake_raise_horizon(now())', 'SELECT flake_repair_horizon()', 'SELECT * FROM flake_lease_clock()', 'SELECT flake_lease_begin_rest()';
my $read = q{SELECT count(*) FROM recent; SELECT count(*), count(DISTINCT at) FROM t WHERE flake_timestamp(id, 'twitter') = at;
	SELECT flake_node(id), flake_sequence(id), flake_field(id, 'datacenter'), flake_inspect(id), flake_explain(id), flake_to_text(id, 'base58') FROM t WHERE n = 5;
	SELECT name, nodes, alive FROM overview ORDER BY name COLLATE "C"; SELECT count(*) > 15 FROM everything; SELECT * FROM leased;
	SELECT max(of_row(l)) FROM flake_layouts AS l; SELECT flake_floor('2026-01-01 00:00+00'), flake_encrypt(5, '0123456789abcdef')};
my $content = $node->safe_psql('kept', $read);
like($content, qr/^60$/m, 'readers, views and indexes go on');
like($node->safe_psql('kept', q{SELECT value FROM settings WHERE name = 'can generate'}), qr/^no: extension flakeid of this database does not fit the library$/,
	'flake_status says that ids cannot be made');
$node->command_ok([ 'pg_dump', '-d', $node->connstr('kept'), '-f', "$dir/old.sql" ], 'pg_dump works');

#
# What is kept
#
my $rights = q{SELECT oid::regprocedure, proacl FROM pg_proc WHERE proname IN ('flake_decrypt', 'flake_lease_forget', 'flake_next', 'flake_lease_acquire', 'flake_lease_renew')
	AND pronamespace = 'public'::regnamespace AND oid::regprocedure::text <> 'flake_next(text,integer)' ORDER BY 1; SELECT relname, relacl FROM pg_class WHERE relname IN ('flake_status', 'flake_stats', 'flake_leases') ORDER BY 1};
my $objects = q{SELECT classid, objid, pg_describe_object(classid, objid, 0) FROM pg_depend JOIN pg_extension e ON e.oid = refobjid AND extname = 'flakeid' WHERE deptype = 'e'
	AND pg_describe_object(classid, objid, 0) !~ '^sequence|^cast from (integer|smallint) |flakeid|flake_lease_(clock|begin|seconds)\(|flake_(in_effect|stats_now|prepare|can_generate|preset_names|in_range_support)\(|table |type flake_lease_' ORDER BY 1, 2};
my %was = (rights => $node->safe_psql('kept', $rights), leases => $node->safe_psql('kept', 'SELECT node, holder, role, lease_start, lease_end, acquired_at FROM flake_leases'));
my @was = split /\n/, $node->safe_psql('kept', $objects);
my $far = qr/^55000: the horizon of database "\w+" lies 3\d\d\d\.\d+ s ahead of the clock/;
like(refusal($node, 'BEGIN; ALTER EXTENSION flakeid UPDATE; SELECT flake_next()', database => 'kept'), qr/^55000: cannot make ids in the transaction that replaces the durable state/,
	'no ids are made in the transaction that updates');
is(refusal($node, 'SELECT flake_next()', database => 'kept'), $update, 'when it is rolled back, nothing has changed');
$node->safe_psql('kept', 'ALTER EXTENSION flakeid UPDATE');
is($node->safe_psql('kept', $rights), $was{rights}, 'the rights of users are kept');
my %is = map { $_ => 1 } split /\n/, $node->safe_psql('kept', $objects);
is_deeply([ grep { !$is{$_} } @was ], [], 'every function, view and operator for people is still the same object (two casts became implicit; nothing refers to a cast)');
is($node->safe_psql('kept', $read), $content, 'readers, views and indexes say the same');
is($node->safe_psql('kept', 'SELECT node, holder, role, lease_start, lease_end, acquired_at FROM flake_leases'), $was{leases}, 'leases are kept');
like(refusal($node, q{SELECT flake_lease_acquire('shop', 'me', '31 s')}, database => 'kept'), qr/a lease cannot last/, 'settings of realms are kept');
is($node->safe_psql('kept', qq{SELECT (${_}acquire('shop', 'me', '10 s', NULL, NULL)).node >= 0}, extra_params => [ '-U', 'app' ]), 't', "a role that was granted them takes leases: ${_}acquire")
  for 'flake_lease_', 'flakeid.lease_';
is($node->safe_psql('kept', 'SHOW flakeid.layout'), 'twitter', 'settings of the database are kept');
like(refusal($node, 'SELECT flake_next()', database => 'kept'), $far, 'the horizon is kept');
like(refusal($node, 'INSERT INTO t (n) VALUES (1)', database => 'kept'), $far, 'defaults meet it');
is(refusal($node, "SELECT flake_next('$back')", database => 'kept'), '', 'and that of layouts with a back field is another one');
$node->restart;
like(refusal($node, 'SELECT flake_next()', database => 'kept'), $far, 'after a restart, too');
my $dump = (run_command([ 'pg_dump', '-s', '-d', $node->connstr('kept') ]))[0];
like($dump, qr/^GRANT ALL ON FUNCTION public.flake_decrypt\(word bigint\) TO reader;$/m, 'pg_dump carries the rights of users');
like($dump, qr/^GRANT ALL ON FUNCTION flakeid.lease_acquire\(.*\) TO app;$/m, 'also those of generators');
like($dump, qr/^GRANT ALL ON FUNCTION public.flake_next\(layout text\) TO admin WITH GRANT OPTION;$/m, 'with the option to grant');

# The back horizon comes with its count.
old_database($node, 'counted', back => q{now() + '1 hour'}, count => 5);
$node->safe_psql('counted', 'ALTER EXTENSION flakeid UPDATE');
is(refusal($node, 'SELECT flake_next()', database => 'counted'), '', 'the plain horizon is its own');
is($node->safe_psql('counted', "SELECT flake_field(flake_next('$back'), 'back', '$back')"), '6', 'set-backs are counted on');

# Ids of a server that was promoted begin past what it may have missed.
old_database($node, 'promoted', plain => q{now() + '3 s'}, timeline => 7);
my $kept = $node->safe_psql('promoted', q{SELECT to_timestamp(last_value / 1e6) FROM flake_horizon});
$node->safe_psql('promoted', 'ALTER EXTENSION flakeid UPDATE');
is($node->safe_psql('promoted', qq{SET flakeid.node = 4; SET flakeid.max_ahead = '10s'; SELECT flake_timestamp(flake_next(), 'snowflake') > '$kept'::timestamptz + '2 s'}), 't',
	'a promotion that nothing was drawn after still counts');

# A dump of 0.1.0 goes where its objects are.
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('restored', q{CREATE EXTENSION flakeid VERSION '0.1.0'});
command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', "$dir/old.sql" ], 'a dump of 0.1.0 is restored');
$node->safe_psql('restored', 'ALTER EXTENSION flakeid UPDATE');
like(refusal($node, 'SELECT flake_next()', database => 'restored'), $far, 'and its horizon is taken over');
like(refusal($node, q{SELECT flake_lease_acquire('shop', 'me', '31 s')}, database => 'restored'), qr/a lease cannot last/, 'and its realms');

# What was issued before a DROP EXTENSION stays behind the horizon.
$node->safe_psql('postgres', 'CREATE DATABASE again');
$node->safe_psql('again', q{SET flakeid.max_leap = 0; CREATE EXTENSION flakeid; SELECT flake_next(); SELECT flake_raise_horizon(now() + '1 hour'); DROP EXTENSION flakeid});
$node->safe_psql('again', q{CREATE EXTENSION flakeid VERSION '0.1.0'});
$node->restart;
$node->safe_psql('again', 'ALTER EXTENSION flakeid UPDATE');
like(refusal($node, 'SELECT flake_next()', database => 'again'), $far, 'older objects made after a DROP EXTENSION keep the horizon');

#
# What the coordinator of leases remembers
#
old_database($node, 'leases');
my $here = q{hashtextextended(concat_ws('/', (SELECT system_identifier FROM pg_control_system()), 1, (SELECT oid FROM pg_database WHERE datname = current_database()),
	'flake_lease_history'::regclass::oid), 0) & 9223372036854775807};
$node->safe_psql('leases', "SELECT setval('flake_lease_place', $here), setval('flake_lease_place_copy', $here),
	setval('flake_lease_latest', ((extract(epoch FROM now()) + 3600) * 1e6)::bigint)");
$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE leases');
$node->safe_psql($_, 'ALTER EXTENSION flakeid UPDATE') for 'leases', 'copied';
is($node->safe_psql('leases', q{SELECT lease_start > now() + '50 min' FROM flake_lease_acquire('default', 'me', '10 s')}), 't', 'the clock of leases is kept, and no rest begins');
like(refusal($node, q{SELECT flake_lease_acquire('default', 'me', '10 s')}, database => 'copied'), qr/the coordinator hands out no leases before/, 'a copy rests');

#
# A schema where a hostile role waits with whatever the script might call instead of the server's own
#
$node->safe_psql('postgres', 'CREATE DATABASE hostile; CREATE ROLE thief');
$node->safe_psql('hostile', q{
	CREATE SCHEMA s AUTHORIZATION thief;
	CREATE EXTENSION flakeid SCHEMA s VERSION '0.1.0';
	CREATE TABLE caught (by text);
	GRANT INSERT ON caught TO PUBLIC;
	SET ROLE thief;
	SET search_path = s, public;
	CREATE FUNCTION trap(by text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.caught VALUES (by || ' as ' || current_user); RETURN by; END $$;
	CREATE FUNCTION format(text, name, name) RETURNS text LANGUAGE sql AS $$ SELECT s.trap('format') $$;
	CREATE FUNCTION starts_with(name, text) RETURNS bool LANGUAGE sql AS $$ SELECT s.trap('starts_with') = '' $$;
	CREATE FUNCTION quote_ident(name) RETURNS text LANGUAGE sql AS $$ SELECT s.trap('quote_ident') $$;
	CREATE FUNCTION ceil(int) RETURNS int LANGUAGE sql AS $$ SELECT length(s.trap('ceil')) $$;
	CREATE FUNCTION array_append(oid[], regtype) RETURNS oid[] LANGUAGE sql AS $$ SELECT ARRAY[length(s.trap('array_append'))::oid] $$;
	CREATE FUNCTION pg_extension_config_dump(text, text) RETURNS void LANGUAGE sql AS $$ SELECT s.trap('config_dump') $$;
	CREATE FUNCTION joined(text, name) RETURNS text LANGUAGE sql AS $$ SELECT s.trap('||') $$;
	CREATE FUNCTION same(oid, regprocedure) RETURNS bool LANGUAGE sql AS $$ SELECT s.trap('=') = '' $$;
	CREATE FUNCTION same(name, text) RETURNS bool LANGUAGE sql AS $$ SELECT s.trap('=') = '' $$;
	CREATE FUNCTION same(bigint, int) RETURNS bool LANGUAGE sql AS $$ SELECT s.trap('=') = '' $$;
	CREATE OPERATOR || (LEFTARG = text, RIGHTARG = name, FUNCTION = joined);
	CREATE OPERATOR = (LEFTARG = oid, RIGHTARG = regprocedure, FUNCTION = same);
	CREATE OPERATOR = (LEFTARG = name, RIGHTARG = text, FUNCTION = same);
	CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = int, FUNCTION = same);
	CREATE OPERATOR <> (LEFTARG = bigint, RIGHTARG = int, FUNCTION = same);
	CREATE DOMAIN regclass AS pg_catalog.text;
	CREATE DOMAIN regprocedure AS pg_catalog.text;
	CREATE DOMAIN int8 AS pg_catalog.text;
	CREATE DOMAIN text AS pg_catalog.int4});
$node->safe_psql('hostile', 'SET search_path = s, public, pg_catalog; ALTER EXTENSION flakeid UPDATE');
is($node->safe_psql('hostile', 'SELECT s.flake_next() > 0; SELECT count(*) > 0 FROM s.flake_status; SELECT * FROM caught'), "t\nt", 'nothing of a hostile schema is called');

#
# pg_upgrade, and then the update
#
old_database($node, 'carried', plain => q{now() + '1 hour'}, back => q{now() + '2 s'}, count => 5);
my $next = PostgreSQL::Test::Cluster->new('next');
$next->init;
$next->append_conf('postgresql.conf', "flakeid.node = 3\nflakeid.when_ahead = error\n");
$node->stop;
my ($bindir) = split /\n/, (run_command([ 'pg_config', '--bindir' ]))[0];
chdir PostgreSQL::Test::Utils::tempdir() or die $!;
command_ok([ 'pg_upgrade', '--no-sync', '-d', $node->data_dir, '-D', $next->data_dir, '-b', $bindir, '-B', $bindir,
		'-s', $next->host, '-p', $node->port, '-P', $next->port ], 'pg_upgrade of objects of 0.1.0');
chdir source_dir();
$next->start;
is(refusal($next, 'SELECT flake_next()', database => 'carried'), $update, 'they are still those of 0.1.0');
$next->safe_psql('carried', 'ALTER EXTENSION flakeid UPDATE');
like(refusal($next, 'SELECT flake_next()', database => 'carried'), $far, 'pg_upgrade: the horizon is taken over');
is($next->safe_psql('carried', "SET flakeid.max_ahead = '1h'; SELECT flake_field(flake_next('$back'), 'back', '$back') >= 5"), 't', 'pg_upgrade: and the count of set-backs');
$next->stop;
$node->start;

#
# Under load: sessions get the one error until the update commits, and then ids.
#
old_database($node, 'busy', plain => q{now() + '2 s'});
my $last_old = $node->safe_psql('busy', q{SELECT flake_ceil(to_timestamp(last_value / 1e6), 'snowflake') FROM flake_horizon});
$node->safe_psql('busy', 'CREATE TABLE drawn (id bigint, error text, hint text)');
my $draw = q{DO $$
DECLARE
	id bigint;
	made int := 0;
	help text;
BEGIN
	WHILE made < 20000 LOOP
		BEGIN
			id := flake_next();
			made := made + 1;
			INSERT INTO drawn (id) VALUES (id);
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
			GET STACKED DIAGNOSTICS help = PG_EXCEPTION_HINT;
			INSERT INTO drawn (error, hint) VALUES (SQLERRM, help);
		END;
		IF made = 0 THEN
			COMMIT;
			PERFORM pg_sleep(0.001);
		END IF;
	END LOOP;
END $$};
my @sessions = map { $node->background_psql('busy') } 1 .. 4;
$_->query_safe(q{SET flakeid.when_ahead = 'wait'}) for @sessions;
$_->{stdin} .= "$draw;\n\\echo drawn\n" for @sessions;
$_->{run}->pump_nb for @sessions;
$node->poll_query_until('busy', 'SELECT count(*) >= 8 FROM drawn') or die 'no session asks for ids';
$node->safe_psql('busy', 'ALTER EXTENSION flakeid UPDATE');
for my $session (@sessions)
{
	$session->{run}->pump until $session->{stdout} =~ /^drawn$/m;
	unlike($session->{stderr}, qr/ERROR/, 'a session under the update');
	$session->quit;
}
is($node->safe_psql('busy', qq{SELECT count(id), count(DISTINCT id), min(id) > $last_old FROM drawn}), '80000|80000|t', 'no id twice, and all above those of 0.1.0');
is($node->safe_psql('busy', 'SELECT DISTINCT error, hint FROM drawn WHERE id IS NULL'),
	'extension flakeid of this database does not fit the library|Run: ALTER EXTENSION flakeid UPDATE', 'the one error that is documented');
$node->stop;

#
# An older library that the server still runs. It has the functions of 0.1.0, and is found in the
# place of the library when the server starts.
#
my ($libdir) = split /\n/, (run_command([ 'pg_config', '--pkglibdir' ]))[0];
my %symbols = map { $_ => 1 } slurp_file(source_dir() . '/sql/flakeid--0.1.0.sql') =~ /'MODULE_PATHNAME', '(\w+)'/g;
my $stand_in = library('stand_in', join "\n", '#include "postgres.h"', '#include "fmgr.h"', 'PG_MODULE_MAGIC;',
	map { "PG_FUNCTION_INFO_V1($_); Datum $_(PG_FUNCTION_ARGS) { PG_RETURN_NULL(); }" } sort keys %symbols);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'");
rename "$libdir/flakeid.so", "$libdir/flakeid.so.new" or die "$libdir: $!";
my $started = eval {
	system('cp', $stand_in, "$libdir/flakeid.so") == 0 or die;
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE late');
	$node->safe_psql('late', q{CREATE EXTENSION flakeid VERSION '0.1.0'});
	1;
};
my $problem = $@;
rename "$libdir/flakeid.so.new", "$libdir/flakeid.so" or die "$libdir: $!";
die $problem if !$started;
my $restart = qr/^55000: the running server uses another version of the flakeid library\ndetail: .*flakeid_version.*\nhint: Restart the server\.$/;
$node->safe_psql('postgres', 'CREATE DATABASE never');
like(refusal($node, 'CREATE EXTENSION flakeid', database => 'never'), $restart, 'an older library under new objects: CREATE EXTENSION says restart');
like(refusal($node, 'ALTER EXTENSION flakeid UPDATE', database => 'late'), $restart, 'and so does ALTER EXTENSION');
is($node->safe_psql('late', q{SELECT extversion, to_regnamespace('flakeid') FROM pg_extension WHERE extname = 'flakeid'}), '0.1.0|', 'nothing has changed');
$node->restart;
$node->safe_psql('late', 'ALTER EXTENSION flakeid UPDATE');
is(refusal($node, 'SELECT flake_next()', database => 'late'), '', 'after the restart it updates');
$node->stop;

done_testing();
