# The owner of a database, who is no superuser, renames, replaces and shadows whatever the extension
# names; roles see ids through views, policies and functions without a right on its schema. Nobody
# becomes more than he is, and a rightful ALTER SCHEMA ... RENAME breaks nothing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use Leases;
use Owner;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('owned');
$node->init;
my $secret = write_file($node->basedir . '/secret', '00112233445566778899aabbccddeeff');
$node->append_conf('postgresql.conf', "flakeid.secret_file = '$secret'");
$node->start;
$node->safe_psql('postgres', q{
	CREATE ROLE owner LOGIN;
	CREATE ROLE application LOGIN;
	CREATE DATABASE shop OWNER owner});
$node->safe_psql('shop', q{CREATE ROLE flakeid_generator; CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_tables; CREATE EXTENSION flakeid_coordinator; CREATE ROLE generator LOGIN IN ROLE flakeid_generator});

sub as { my ($user, $sql) = @_; return scalar $node->safe_psql('shop', $sql, extra_params => [ '-U', $user ]) }
sub try { my ($user, $sql) = @_; my ($code, $out, $err) = $node->psql('shop', $sql, extra_params => [ '-U', $user ]); return $code == 0 ? $out : $err }
sub rows { my ($sql) = @_; return split /\n/, $node->safe_psql('shop', $sql) }
sub superusers { return $node->safe_psql('shop', 'SELECT count(*) FROM pg_roles WHERE rolsuper') }

# Nothing of the extension is the owner's to change.
my $member = members();
my @changes = (changes($node, 'shop'), 'DROP EXTENSION flakeid CASCADE', 'ALTER EXTENSION flakeid UPDATE', 'ALTER EXTENSION flakeid ADD FUNCTION trap()');
cmp_ok(scalar(@changes), '>', 400, 'the owner tries all changes');
is(join("\n", tried($node, 'shop', @changes)), '', 'none is his');

# He may rename the schema that is his. What the extension does goes on without it.
$node->safe_psql('shop', q{
	GRANT EXECUTE ON FUNCTION flake_decrypt(bigint) TO application, owner;
	CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), n int);
	CREATE TABLE secret_orders (id flake PRIMARY KEY DEFAULT flake_next('randflake'), n int);
	CREATE INDEX ON orders (flake_timestamp(id, 'snowflake'));
	CREATE INDEX ON secret_orders (flake_timestamp(id, 'randflake'));
	INSERT INTO orders (n) SELECT generate_series(1, 2000);
	INSERT INTO secret_orders (n) SELECT generate_series(1, 20);
	ANALYZE;
	CREATE SCHEMA app;
	CREATE VIEW app.recent WITH (security_invoker) AS SELECT * FROM orders WHERE id <@ tstzrange(now() - interval '1 h', NULL);
	CREATE VIEW app.stamped WITH (security_invoker) AS SELECT flake_node(id, 'randflake') AS node, n FROM secret_orders;
	CREATE FUNCTION app.found() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT count(*) FROM app.recent $$;
	CREATE TABLE app.guarded (id bigint, n int);
	INSERT INTO app.guarded SELECT id, n FROM orders;
	ALTER TABLE app.guarded ENABLE ROW LEVEL SECURITY;
	CREATE POLICY stamped ON app.guarded USING (id <@ tstzrange(now() - interval '1 h', NULL) AND flake_node(flake_encrypt(5, 'sixteen letters!')::bigint, 'randflake') >= 0);
	GRANT USAGE ON SCHEMA app TO application;
	GRANT SELECT ON ALL TABLES IN SCHEMA app TO application;
	GRANT SELECT, INSERT ON orders, secret_orders TO application;
	REVOKE ALL ON SCHEMA public FROM PUBLIC});
like(try('application', 'SELECT public.flake_next()'), qr/permission denied for schema public/, 'a role without USAGE on the extension\'s schema');
my $plan = as('application', 'EXPLAIN (COSTS OFF) SELECT * FROM app.recent');
like($plan, qr/flake_range_floor.*flake_range_ceil/s, 'gets the comparisons of <@');
sub through
{
	my ($when) = @_;
	is(as('application', 'SELECT count(*), app.found() FROM app.recent'), '2000|2000', "$when: <@ in a view and in a function");
	is(as('application', 'SELECT count(*) FROM app.guarded'), '2000', "$when: <@ and an enciphered reader in a policy");
	is(as('application', 'SELECT count(*), min(node) FROM app.stamped'), '20|0', "$when: an enciphered reader in a view");
	return;
}
through('without USAGE');
as('owner', 'ALTER SCHEMA public RENAME TO renamed');
through('after ALTER SCHEMA ... RENAME');
$node->safe_psql('shop', 'INSERT INTO renamed.orders (n) VALUES (0); INSERT INTO renamed.secret_orders (n) VALUES (0);
	DELETE FROM renamed.orders WHERE n = 0; DELETE FROM renamed.secret_orders WHERE n = 0; REINDEX SCHEMA renamed');
is($node->safe_psql('shop', q{SELECT value FROM flakeid.status WHERE name = 'can generate'}), 'yes', 'flakeid.status works');
is($node->safe_psql('shop', 'SELECT count(*) > 10 FROM flakeid.layouts'), 't', 'flakeid.layouts works');

# A generator that is connected already goes on, with its keeper's functions under the same name.
my $where = $node->connstr('shop') . ' user=generator';
my $server = generator('server', $node, ttl => '12s', conninfo => $where =~ s/'/''/gr);
ok(wait_until(sub { error_of($server) eq '' }), 'a generator gets a lease');
as('owner', 'ALTER SCHEMA renamed RENAME TO renamed2');

# No lock that everyone may take keeps nodes from those who want them.
$node->safe_psql('shop', "SELECT flakeid.lease_realm_set('fresh', nodes => 2)");
my $session = $node->background_psql('shop', extra_params => [ '-U', 'application' ]);
$session->query_safe(q{SELECT pg_advisory_lock(hashtextextended('flakeid realm ' || r, 0)) FROM unnest('{default,fresh}'::text[]) AS r});
like(try('application', "BEGIN; $_; ROLLBACK"), qr/permission denied/, "an ordinary role has no right to $_")
  for 'SELECT FROM flakeid.lease_realm FOR KEY SHARE', 'LOCK TABLE flakeid.lease_realm IN SHARE UPDATE EXCLUSIVE MODE';
is(try('generator', q{SET lock_timeout = '2min'; SELECT count(*) FROM flakeid.lease_acquire('fresh', 'g', '10 s', NULL, NULL)}), 1, 'a fresh node is given');
$session->quit;

# Where the machine stalls for longer than a lease, a draw takes the next one, which is renewed then.
sub renewed
{
	my $renewals = 'SELECT pg_catalog.sum(renewals) FROM flakeid.leases';
	my $before = $node->safe_psql('shop', $renewals);
	return wait_until(sub { return error_of($server) eq '' && $node->safe_psql('shop', $renewals) > $before });
}
ok(renewed(), 'and renews it after the next renaming');

# The traps: in the renamed schema, in a new one of the old name, and before pg_catalog for everybody,
# everything that the extension names, as far as an owner can make it.
as('owner', q{
	CREATE SCHEMA public;
	GRANT ALL ON SCHEMA public TO PUBLIC;
	CREATE TABLE public.caught (what text);
	GRANT INSERT ON public.caught TO PUBLIC;
	CREATE FUNCTION public.spring(what text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO public.caught VALUES (pg_catalog.concat(what, ' as ', current_user));
		BEGIN ALTER ROLE owner SUPERUSER; EXCEPTION WHEN OTHERS THEN NULL; END;
		RETURN NULL;
	END $$;
	GRANT ALL ON SCHEMA renamed2 TO PUBLIC});
my @traps = rows(qq{
	WITH member AS ($member),
	own AS (SELECT p.proname, p.proargtypes, p.proretset FROM member JOIN pg_proc AS p ON classid = 'pg_proc'::regclass AND p.oid = objid),
	used AS (
		SELECT DISTINCT lower(m[1]) AS name FROM member JOIN pg_proc AS p ON classid = 'pg_proc'::regclass AND p.oid = objid
			JOIN pg_language AS l ON l.oid = p.prolang AND lanname IN ('sql', 'plpgsql'),
		regexp_matches(p.prosrc, '([a-z_]+)\\s*\\(', 'gi') AS m),
	named AS (
		SELECT proname, proargtypes FROM own UNION
		SELECT p.proname, p.proargtypes FROM pg_proc AS p JOIN used ON used.name = p.proname
		WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f')
	SELECT format('CREATE FUNCTION %I.%I(%s) RETURNS text LANGUAGE sql AS %L', s, proname,
		(SELECT string_agg(format_type(t, NULL), ', ' ORDER BY o) FROM unnest(proargtypes) WITH ORDINALITY AS a (t, o)),
		format('SELECT public.spring(%L)', proname))
	FROM named, unnest('{public,renamed2}'::text[]) AS s
	WHERE NOT EXISTS (SELECT FROM unnest(proargtypes) AS t WHERE t IN ('internal'::regtype, 'cstring'::regtype) OR t::regtype::text ~ '^any')
	UNION ALL SELECT format('CREATE FUNCTION %I.flake_lease_%s RETURNS text LANGUAGE sql AS %L', s, f, format('SELECT public.spring(%L)', f))
	FROM unnest('{public,renamed2}'::text[]) AS s,
	unnest(ARRAY['renew(text, interval, timestamptz)', 'release(text, timestamptz)', 'acquire(varchar, varchar, interval, int, int)', 'begin(text)', 'clock()', 'seconds(interval, interval)']) AS f
	UNION ALL SELECT format('CREATE FUNCTION public.compared_%1\$s_%2\$s(%1\$s, %2\$s) RETURNS bool LANGUAGE sql AS %3\$L', a, b, 'SELECT public.spring(''operator'') IS NULL')
	FROM (VALUES ('timestamptz', 'timestamptz'), ('int8', 'int8'), ('int4', 'int4'), ('text', 'text'), ('uuid', 'uuid'), ('renamed2.flake', 'renamed2.flake'), ('numeric', 'int4')) AS o (a, b)
	WHERE a NOT LIKE '%flake'
	UNION ALL SELECT format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.compared_%2\$s_%3\$s)', op, a, b)
	FROM (VALUES ('timestamptz', 'timestamptz'), ('int8', 'int8'), ('int4', 'int4'), ('text', 'text'), ('uuid', 'uuid'), ('numeric', 'int4')) AS o (a, b),
	unnest('{=,<>,<,<=,>,>=,+,-,*,/,&,||}'::text[]) AS op
	UNION ALL SELECT 'CREATE FUNCTION public.same(renamed2.flake, renamed2.flake) RETURNS bool LANGUAGE sql AS ''SELECT public.spring(''''=(flake, flake)'''') IS NULL'''
	UNION ALL SELECT 'CREATE OPERATOR public.= (LEFTARG = renamed2.flake, RIGHTARG = renamed2.flake, FUNCTION = public.same)'
	UNION ALL SELECT format('CREATE TABLE public.%I (realm text, node int, token uuid, free_from timestamptz)', split_part(identity, '.', 2)) FROM member WHERE type = 'table'
	UNION ALL SELECT format('CREATE FUNCTION renamed2.%s RETURNS text LANGUAGE sql AS %L', f, format('SELECT public.spring(%L)', f))
	FROM unnest(ARRAY['flake_timestamp(int4)', 'flake_timestamp(int4, text)', 'flake_ceil(text, text)', 'flake_ceil(timestamp)', 'flake_make(timestamptz, int8, int4)']) AS f
	UNION ALL SELECT format('CREATE DOMAIN public.%I AS varchar CHECK (public.spring(%L) IS NULL)', t, 'domain ' || t) FROM unnest('{text,int4,int8,bool,interval,timestamptz,uuid,numeric,float8,regclass}'::text[]) AS t});
cmp_ok(scalar(@traps), '>', 200, 'the owner sets traps');
# Those that one cannot make (an operator that is there, a name of a type) are left out.
my $err = q{};
my $set = $node->psql('shop', join(";\n", @traps) . ";\n", extra_params => [ '-U', 'owner' ], on_error_stop => 0, stderr => \$err);
cmp_ok(as('owner', q{SELECT count(*) FROM pg_proc WHERE proowner = 'owner'::regrole}), '>', 150, 'most of them can be set');
$node->safe_psql('shop', 'ALTER DATABASE shop SET search_path = public, renamed2, pg_catalog', extra_params => [ '-U', 'owner' ]);

# What people call, by its own schema or by none, as each of them.
my $next = 'SELECT renamed2.flake_next() IS NOT NULL';
for my $user ($node->safe_psql('postgres', 'SELECT current_user'), 'application', 'generator')
{
	my $super = $user !~ /application|generator/;
	$node->safe_psql('shop', "GRANT USAGE ON SCHEMA renamed2 TO PUBLIC");
	is(as($user, $next), 't', "$user: an id");
	is(as($user, "SELECT value FROM flakeid.status WHERE name LIKE 'can generate'"), 'yes', "$user: flakeid.status") ;
	as($user, 'SELECT pg_catalog.count(*) FROM flakeid.layouts');
	as($user, 'SELECT pg_catalog.count(*) FROM flakeid.stats');
	as($user, 'SELECT renamed2.flake_timestamp(5::pg_catalog.int8), renamed2.flake_floor(pg_catalog.now()), renamed2.flake_inspect(5::pg_catalog.int8)');
	as($user, 'SELECT 5::pg_catalog.int8 OPERATOR(renamed2.<@) pg_catalog.tstzrange(pg_catalog.now(), NULL)');
	next if $user eq 'application';
	as($user, "SET timezone = 'America/New_York'; SELECT node AS number, token AS mine, lease_end AS until FROM flakeid.lease_acquire('default'::pg_catalog.text, '$user'::pg_catalog.text,
			'60 s'::pg_catalog.interval, NULL::pg_catalog.int4, NULL::pg_catalog.int4) \\gset
		SELECT flakeid.lease_renew(:'mine'::pg_catalog.uuid, '90 s'::pg_catalog.interval,
			:'until'::pg_catalog.timestamptz OPERATOR(pg_catalog.+) '1 s'::pg_catalog.interval);
		SELECT flakeid.lease_release(:'mine'::pg_catalog.uuid, NULL::pg_catalog.timestamptz)");
	next if !$super;
	as($user, q{
		SELECT flakeid.lease_realm_set('trapped'::pg_catalog.text, 3, '10 s'::pg_catalog.interval, '1 s'::pg_catalog.interval);
		SELECT flakeid.lease_begin_rest(); SELECT flakeid.lease_end_rest(); SELECT flakeid.lease_repair_clock();
		SELECT flakeid.lease_revoke('trapped'::pg_catalog.text, 0::pg_catalog.int4); SELECT flakeid.lease_forget('-infinity'::pg_catalog.timestamptz);
		SELECT pg_catalog.count(*) FROM flakeid.leases;
		SELECT flakeid.raise_horizon('epoch'::pg_catalog.timestamptz); SELECT flakeid.stats_reset()});
	as($user, q{
		CREATE SCHEMA tried;
		CREATE TABLE tried.parts (id renamed2.flake PRIMARY KEY DEFAULT renamed2.flake_next());
		CREATE TABLE tried.moved (id pg_catalog.uuid PRIMARY KEY DEFAULT pg_catalog.gen_random_uuid(), made pg_catalog.timestamptz DEFAULT pg_catalog.now());
		CREATE TABLE tried.listed (id serial PRIMARY KEY);
		INSERT INTO tried.moved DEFAULT VALUES;
		CALL flakeid.partition('tried.parts', '1 month'); CALL flakeid.maintain(); SELECT flakeid.maintain_plan('tried.parts');
		CALL flakeid.convert('tried.moved', created_at => 'made', also => '{}'); CALL flakeid.convert_undo('tried.moved');
		CALL flakeid.convert_all('{tried.listed}'); CALL flakeid.convert_undo_all('{tried.listed}'); SELECT flakeid.convert_plan('tried.listed');
		SELECT flakeid.layout_above(1); SELECT pg_catalog.count(*) FROM flakeid.partitions; SELECT pg_catalog.count(*) FROM flakeid.conversions;
		DROP SCHEMA tried CASCADE});
}
through('among traps');
ok(renewed(), 'the generator renews its lease among them');
$server->restart;
ok(wait_until(sub { error_of($server) eq '' }), 'and gets a new one');
$server->stop;
is(as('owner', 'SELECT pg_catalog.string_agg(DISTINCT what, pg_catalog.chr(10)) FROM public.caught'), '', 'no trap is sprung');
is(superusers(), 1, 'and nobody has become a superuser');

# The traps are live: what a user writes by himself is his own affair.
$node->safe_psql('shop', 'SELECT flake_lease_begin(NULL::pg_catalog.text)');
$node->safe_psql('shop', 'SELECT pg_catalog.count(*) FROM renamed2.orders WHERE id = id');
like(as('owner', "SELECT pg_catalog.string_agg(DISTINCT what COLLATE pg_catalog.\"C\", pg_catalog.chr(10)) FROM public.caught"), qr/=\(flake, flake\).*begin/s,
	'an operator =(flake, flake) of the search_path wins over that of bigint');
$node->stop;
done_testing();
