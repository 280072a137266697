-- Leases: the coordinator's side, and who may do what. What needs several servers is in test/t.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
SET client_min_messages = warning;
-- The extension grants to this role, which comes first.
DO $$
BEGIN
    CREATE ROLE flakeid_generator NOLOGIN;
EXCEPTION WHEN duplicate_object THEN
    NULL;
END $$;
CREATE EXTENSION flakeid;
CREATE EXTENSION flakeid_coordinator;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set VERBOSITY terse
\set SHOW_CONTEXT never
CREATE TABLE seen (name text PRIMARY KEY, node int, token uuid, lease_start timestamptz, lease_end timestamptz, nodes int);
SELECT flakeid.lease_realm_set('shop', nodes => 4, max_ttl => '1 h');
SELECT flakeid.lease_realm_set('alone', max_ttl => '1 h');

-- Whole seconds, the length asked for, from now on.
SELECT date_trunc('second', clock_timestamp()) AS began \gset
INSERT INTO seen SELECT 'a', * FROM flakeid.lease_acquire('shop', 'host a', '50 s', max_node => 1);
SELECT node, lease_end - lease_start AS length, lease_start = date_trunc('second', lease_start) AS whole,
       lease_start <= clock_timestamp() AS now, lease_start >= :'began' AS later
FROM seen;
-- Any free one, up to a largest node; a particular one. Node 0 is any only where it is the only one.
INSERT INTO seen SELECT 'c', * FROM flakeid.lease_acquire('shop', 'host c', '50.2 s', 2);
SELECT node, lease_end - lease_start AS length FROM seen WHERE name = 'c';
INSERT INTO seen SELECT 'b', * FROM flakeid.lease_acquire('shop', 'host b', '50 s', max_node => 3);
SELECT node FROM seen WHERE name = 'b';
SELECT node FROM flakeid.lease_acquire('alone', 'host a', '1 h', max_node => 0);
-- The search begins anywhere, so that two coordinators that are left beside each other seldom give the same node.
SELECT flakeid.lease_realm_set('wide', nodes => 4096);
SELECT count(DISTINCT node) > 10 AS anywhere, min(node) > 0 AS above_0, max(node) < 4096 AS inside
FROM generate_series(1, 20) AS n, LATERAL flakeid.lease_acquire('wide', 'host ' || n, '10 s');
SELECT reltuples >= 4096 AS planned_as_large FROM pg_class WHERE oid = 'flakeid.lease_node'::regclass;
DELETE FROM flakeid.lease_realm WHERE realm = 'wide';
\set VERBOSITY default
-- No node twice, and none left.
DO $$
BEGIN
    PERFORM flakeid.lease_acquire('shop', 'host d', '10 s', 1);
EXCEPTION WHEN object_in_use THEN
    RAISE WARNING '%', regexp_replace(SQLERRM, 'before .*', 'before ...');
END $$;
DO $$
DECLARE
    detail text;
BEGIN
    PERFORM flakeid.lease_acquire('shop', 'host d', '10 s');
EXCEPTION WHEN configuration_limit_exceeded THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RAISE WARNING '% / % / %', SQLERRM, regexp_replace(detail, 'at 2.*,', 'at ...,'),
        substring(detail FROM 'at (.*), unless')::timestamptz = (SELECT min(lease_end) FROM seen);
END $$;
\set VERBOSITY terse

-- The end moves, the start does not; never back.
SELECT flakeid.lease_renew(token, '1 h') > lease_end + interval '5 s' AS later FROM seen WHERE name = 'a';
SELECT flakeid.lease_renew(token, '5 s') > lease_end + interval '5 s' AS not_back FROM seen WHERE name = 'a';
SELECT h.lease_start = s.lease_start AS same_start, h.renewals, h.state
FROM flakeid.leases AS h JOIN seen AS s USING (node, lease_start) WHERE s.name = 'a' AND h.realm = 'shop';

-- Free when the last stamp has passed, or at the end when it is unknown.
SELECT flakeid.lease_release(token, lease_start) = lease_start + interval '1 s' AS free FROM seen WHERE name = 'c';
SELECT flakeid.lease_release(token, lease_start) = lease_start + interval '1 s' AS again FROM seen WHERE name = 'c';
SELECT flakeid.lease_release(token, NULL) = lease_end AS at_end FROM seen WHERE name = 'b';
SELECT flakeid.lease_renew(token, '60 s') FROM seen WHERE name = 'c';
SELECT pg_sleep(extract(epoch FROM lease_start + interval '1.05 s' - clock_timestamp())) FROM seen WHERE name = 'c';
INSERT INTO seen SELECT 'd', * FROM flakeid.lease_acquire('shop', 'host d', '50 s');
SELECT d.node, d.lease_start >= c.lease_start + interval '1 s' AS after
FROM seen AS c, seen AS d WHERE c.name = 'c' AND d.name = 'd';
SELECT node, holder, state, last_stamp IS NOT NULL AS stamped FROM flakeid.leases WHERE realm <> 'wide' ORDER BY node, lease_start;

-- Half a second is rounded up; the last stamp lies inside the lease.
SELECT flakeid.lease_release(token, lease_start + interval '1.5 s') = lease_start + interval '2 s' AS rounded
FROM seen WHERE name = 'd';
DO $$
BEGIN
    PERFORM flakeid.lease_release(token, lease_end + interval '1 day') FROM seen WHERE name = 'a';
EXCEPTION WHEN datetime_field_overflow THEN
    RAISE WARNING '%', regexp_replace(SQLERRM, 'stamp 2.* lies', 'stamp ... lies');
END $$;
SELECT flakeid.lease_release(gen_random_uuid(), now());

-- What is refused.
SELECT flakeid.lease_acquire('shop', 'host e', '2 h');
SELECT flakeid.lease_acquire('shop', 'host e', '0 s');
SELECT flakeid.lease_acquire('shop', 'host e', NULL);
SELECT flakeid.lease_acquire('shop', '', '10 s');
SELECT flakeid.lease_acquire('shop', repeat('h', 256), '10 s');
SELECT flakeid.lease_acquire('shop', E'host\ne', '10 s');
SELECT flakeid.lease_acquire('nowhere', 'host e', '10 s');
SELECT flakeid.lease_acquire(NULL, 'host e', '10 s');
SELECT flakeid.lease_acquire('shop', 'host e', '10 s', 4);
SELECT flakeid.lease_acquire('shop', 'host e', '10 s', -1);
SELECT flakeid.lease_renew(gen_random_uuid(), '10 s');
SELECT flakeid.lease_realm_set('shop', nodes => 0);
SELECT flakeid.lease_realm_set('', 5);
-- what is not named stays
SELECT flakeid.lease_realm_set('kept', nodes => 5, max_ttl => '1 h', max_skew => '1 min');
SELECT flakeid.lease_realm_set('kept', nodes => 8);
SELECT flakeid.lease_realm_set('made');
SELECT realm, first_node, nodes, lease_nodes, max_ttl_s, max_skew_s FROM flakeid.lease_realm WHERE realm IN ('kept', 'made') ORDER BY realm COLLATE "C";
DELETE FROM flakeid.lease_realm WHERE realm IN ('kept', 'made');
SELECT flakeid.lease_acquire('shop', 'me', '1 s', max_node => -1);

-- Which coordinator it is, as servers ask: a realm by its id, and whoever began last.
\set VERBOSITY default
SELECT flakeid.lease_realm_set('known', id => '6f9619ff-8b86-d011-b42d-00cf4fc964ff');
SELECT realm, realm_id, term, place, term > 0 AS began FROM flakeid.lease_coordinator(1, 'known') \gset
SELECT :'realm' AS realm, :'realm_id' AS realm_id, :'began' AS began;
SELECT term = :term AS same FROM flakeid.lease_coordinator(1, 'known', :'realm_id', :term, :place);
SELECT term = :term AS later FROM flakeid.lease_coordinator(1, 'known', :'realm_id', :term - 1, 1);
DO $$
BEGIN
    PERFORM flakeid.lease_coordinator(1, 'known', '6f9619ff-8b86-d011-b42d-00cf4fc964ff', 9000000000000000, 1);
EXCEPTION WHEN sqlserver_rejected_establishment_of_sqlconnection THEN
    RAISE WARNING '%', SQLERRM;
END $$;
DO $$
BEGIN
    PERFORM flakeid.lease_coordinator(1, 'known', c.realm_id, c.term, c.place + 1) FROM flakeid.lease_coordinator(1, 'known') AS c;
EXCEPTION WHEN sqlserver_rejected_establishment_of_sqlconnection THEN
    RAISE WARNING '%', SQLERRM;
END $$;
SELECT flakeid.lease_coordinator(1, 'known', '00000000-0000-4000-8000-000000000001', 1, 1);
-- A version of the wire that is not known is refused, and the error says which side to update.
SELECT flakeid.lease_coordinator(0, 'known');
SELECT flakeid.lease_coordinator(2, 'known');
-- Whatever begins a rest begins a term.
SELECT flakeid.lease_begin_rest();
SELECT term > :term AS later, place = :place AS same FROM flakeid.lease_coordinator(1, 'known', :'realm_id', :term, :place);
SELECT flakeid.lease_end_rest();
-- A further name leads to the same realm.
SELECT flakeid.lease_realm_add_name('known', 'named');
SELECT realm, realm_id FROM flakeid.lease_coordinator(1, 'named');
SELECT flakeid.lease_realm_set('named', nodes => 3);
SELECT node FROM flakeid.lease_acquire('named', 'host e', '10 s', 2);
SELECT realm, node FROM flakeid.leases WHERE realm IN ('known', 'named');
SELECT flakeid.lease_realm_add_name('shop', 'named');
SELECT flakeid.lease_realm_add_name('named', 'shop');
SELECT flakeid.lease_realm_add_name('named', '');
SELECT flakeid.lease_realm_add_name('nowhere', 'x');
SELECT flakeid.lease_revoke('named', 2);
DELETE FROM flakeid.lease_realm WHERE realm = 'known';
\set VERBOSITY terse

-- Who asks again with a token gets the same lease, and never one that has ended.
SELECT flakeid.lease_realm_set('asked', nodes => 3);
SELECT gen_random_uuid() AS token \gset
SELECT node, lease_start, lease_end, token = :'token' AS mine
FROM flakeid.lease_acquire('asked', repeat('h', 255), '10 s', max_node => 1, token => :'token') \gset
SELECT :'mine' AS mine, node = :node AND lease_start = :'lease_start' AND lease_end > :'lease_end' AND token = :'token' AS same
FROM flakeid.lease_acquire('asked', repeat('h', 255), '20 s', :node, 2, :'token');
SELECT flakeid.lease_acquire('asked', 'another', '20 s', token => :'token');
SELECT flakeid.lease_acquire('asked', repeat('h', 255), '20 s', 2, token => :'token');
SELECT flakeid.lease_acquire('shop', repeat('h', 255), '20 s', token => :'token');
-- One that was never used leaves the node as free as it was.
SELECT flakeid.lease_release(:'token', :'lease_start'::timestamptz - interval '1 s') = :'lease_start' AS unused;
SELECT flakeid.lease_acquire('asked', repeat('h', 255), '20 s', token => :'token');
SELECT node = :node AS same FROM flakeid.lease_acquire('asked', 'host e', '1 s', :node);
DELETE FROM flakeid.lease_realm WHERE realm = 'asked';
SELECT flakeid.lease_forget(NULL);

-- A realm begins with any node, and a lease of it has as many as the realm says: one row, one renewal.
SELECT flakeid.lease_realm_set('ranges', nodes => 64, first_node => 512, lease_nodes => 16);
SELECT node, nodes, free_from FROM flakeid.lease_node WHERE realm = 'ranges' ORDER BY node;
CREATE TABLE ranged AS
SELECT l.* FROM generate_series(1, 3) AS i, LATERAL flakeid.lease_acquire('ranges', 'host ' || i, '50 s', max_node => 560 + i) AS l;
SELECT node, nodes FROM ranged ORDER BY node;
SELECT r.token AS first_token FROM ranged AS r JOIN flakeid.lease_history AS h USING (node) WHERE h.realm = 'ranges' AND h.holder = 'host 1' \gset
UPDATE ranged AS r SET lease_end = l.lease_end FROM flakeid.lease_acquire('ranges', 'host 1', '50 s', token => :'first_token') AS l
WHERE r.token = :'first_token' RETURNING l.nodes, l.token = r.token AND l.node = r.node AS again;
DO $$
BEGIN
    PERFORM flakeid.lease_acquire('ranges', 'host 4', '10 s', max_node => 570);
EXCEPTION WHEN configuration_limit_exceeded THEN
    RAISE WARNING '%', SQLERRM;
END $$;
SELECT node, nodes FROM flakeid.lease_acquire('ranges', 'host 4', '10 s');
\set VERBOSITY default
SELECT flakeid.lease_acquire('ranges', 'host 5', '10 s', 530);
SELECT flakeid.lease_acquire('ranges', 'host 5', '10 s', 511);
SELECT flakeid.lease_acquire('ranges', 'host 5', '10 s', 576);
SELECT flakeid.lease_acquire('ranges', 'host 5', '10 s', max_node => 526);
SELECT flakeid.lease_acquire('ranges', 'host 5', '10 s', 512, 526);
SELECT flakeid.lease_realm_set('ranges', lease_nodes => 5);
SELECT flakeid.lease_realm_set('ranges', first_node => 2147483647);
SELECT flakeid.lease_realm_set('ranges', nodes => 4194305, lease_nodes => 1);
\set VERBOSITY terse
SELECT flakeid.lease_realm_set('ranges', first_node => -1);
SELECT flakeid.lease_realm_set('ranges', lease_nodes => 0);
SELECT node, nodes, state FROM flakeid.leases WHERE realm = 'ranges' ORDER BY node;
-- The holder of a node that lies inside is gone.
SELECT flakeid.lease_revoke('ranges', 575), flakeid.lease_revoke('ranges', 511), flakeid.lease_revoke('ranges', 576);
-- Divided anew: what was leased is not renewed, and is free when its lease has ended.
SELECT flakeid.lease_realm_set('ranges', first_node => 520, nodes => 64, lease_nodes => 8);
SELECT n.node, n.nodes, n.free_from = max(r.lease_end) AS with_that_end, count(r.token) AS leases
FROM flakeid.lease_node AS n LEFT JOIN ranged AS r ON r.node < n.node + n.nodes AND n.node < r.node + r.nodes
WHERE n.realm = 'ranges' GROUP BY 1, 2, n.free_from ORDER BY n.node;
SELECT flakeid.lease_renew(token, '50 s') FROM ranged WHERE node = 512;
SELECT flakeid.lease_release(token, lease_start) = lease_end AS at_its_end FROM ranged WHERE node = 528;
SELECT node > 559 AS free_ones FROM flakeid.lease_acquire('ranges', 'host 6', '10 s');
-- Nodes that a realm lost and got again are not free earlier.
SELECT flakeid.lease_realm_set('ranges', first_node => 0, nodes => 512, lease_nodes => 512), flakeid.lease_realm_set('ranges', nodes => 1024);
SELECT n.node, n.free_from = (SELECT max(lease_end) FROM ranged) AS with_that_end FROM flakeid.lease_node AS n WHERE n.realm = 'ranges' ORDER BY node;
SELECT flakeid.lease_realm_set('ranges', nodes => 4194304, lease_nodes => 1024);
SELECT flakeid.lease_realm_set('ranges', nodes => 2147483647, first_node => 1, lease_nodes => 2147483647);
SELECT node, nodes FROM flakeid.lease_acquire('ranges', 'host 7', '10 s');
SELECT node, nodes FROM flakeid.lease_node WHERE realm = 'ranges';
DELETE FROM flakeid.lease_realm WHERE realm = 'ranges';

-- A length is so many seconds: no calendar, time zone or format of the session makes more of it.
SELECT flakeid.lease_acquire('default', 'host e', '15 years -5399 days -23:58');
SELECT flakeid.lease_acquire('default', 'host e', '-15 years 5479 days');
SELECT flakeid.lease_realm_set('shop', max_ttl => '1 month');
SELECT flakeid.lease_realm_set('shop', max_skew => '1 month -31 days');
SET timezone = 'America/New_York';
SET datestyle = 'Postgres, DMY';
SET intervalstyle = 'sql_standard';
SELECT flakeid.lease_realm_set('day', nodes => 1, max_ttl => '1 day', max_skew => '0 s');
SELECT lease_end - lease_start = interval '24:00' AS a_day_has_24_hours FROM flakeid.lease_acquire('day', 'host e', '1 mon -29 days');
DO $$
BEGIN
    PERFORM flakeid.lease_acquire('day', 'host f', '10 s', 0);
EXCEPTION WHEN object_in_use THEN
    RAISE WARNING '%', regexp_replace(SQLERRM, '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00$', 'one form');
END $$;
SELECT flakeid.lease_revoke('day', 0);
-- A last stamp that 64 bits do not hold in microseconds since 1970 lies outside the lease, as every other that does.
SELECT flakeid.lease_realm_set('day', nodes => 2);
SELECT token FROM flakeid.lease_acquire('day', 'host g', '60 s', 1) \gset
DO $$
DECLARE
    last_stamp timestamptz;
BEGIN
    FOREACH last_stamp IN ARRAY ARRAY['294246-12-31', '294247-01-11', '294276-12-31', 'infinity'] LOOP
        BEGIN
            PERFORM flakeid.lease_release(token, last_stamp) FROM flakeid.lease_node WHERE realm = 'day' AND node = 1;
        EXCEPTION WHEN datetime_field_overflow THEN
            RAISE WARNING '% lies outside', last_stamp;
        END;
    END LOOP;
END $$;
SELECT flakeid.lease_renew(:'token', '60 s', '294276-12-31') > clock_timestamp() AS renewed;
DELETE FROM flakeid.lease_realm WHERE realm = 'day';
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';

-- A lease outlives a crash: never without a synchronous commit.
BEGIN;
SET LOCAL synchronous_commit = off;
SELECT count(*) FROM flakeid.lease_acquire('default', 'host f', '10 s');
SHOW synchronous_commit;
ROLLBACK;
BEGIN;
SET LOCAL synchronous_commit = remote_apply;
SELECT count(*) FROM flakeid.lease_acquire('default', 'host f', '10 s');
SHOW synchronous_commit;
ROLLBACK;
SELECT count(*) FROM flakeid.leases WHERE realm = 'default';

-- A rest, and its end. Nearer to its end than max_skew a lease is not renewed.
SELECT flakeid.lease_realm_set('skewed', max_skew => '1 min');
INSERT INTO seen SELECT 'soon', * FROM flakeid.lease_acquire('skewed', 'host f', '50 s', 900);
SELECT flakeid.lease_begin_rest();
DO $$
BEGIN
    PERFORM flakeid.lease_acquire('default', 'host g', '10 s');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RAISE WARNING '%', regexp_replace(SQLERRM, 'before 2.*', 'before ...');
END $$;
SELECT flakeid.lease_renew(token, '60 s') > clock_timestamp() AS renewals_go_on FROM seen WHERE name = 'a';
SELECT flakeid.lease_renew(token, '60 s') FROM seen WHERE name = 'soon';
SELECT flakeid.lease_end_rest();
-- Nor is a lease renewed that has ended, though nobody took the node.
UPDATE flakeid.lease_node AS n SET free_from = clock_timestamp() - interval '1 s' FROM seen AS s WHERE s.name = 'soon' AND n.token = s.token;
DO $$
BEGIN
    PERFORM flakeid.lease_renew(token, '60 s') FROM seen WHERE name = 'soon';
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RAISE WARNING '%', regexp_replace(SQLERRM, 'at 2.*', 'at ...');
END $$;
-- Once another one has the node, the token of a lease that ended without a word moves nothing of it.
INSERT INTO seen SELECT 'next', * FROM flakeid.lease_acquire('skewed', 'host n', '50 s', 900);
\set VERBOSITY sqlstate
SELECT flakeid.lease_renew(token, '60 s') FROM seen WHERE name = 'soon';
SELECT flakeid.lease_renew(token, '60 s', clock_timestamp() + interval '60 s') FROM seen WHERE name = 'soon';
SELECT flakeid.lease_acquire('skewed', 'host f', '60 s', 900, token => token) FROM seen WHERE name = 'soon';
\set VERBOSITY terse
SELECT count(flakeid.lease_release(token, clock_timestamp() - interval '1 s')) FROM seen WHERE name = 'soon';
SELECT n.free_from = s.lease_end AS until_its_end, n.token = s.token AS its_own
FROM seen AS s JOIN flakeid.lease_node AS n ON n.realm = 'skewed' AND n.node = s.node WHERE s.name = 'next';
-- What a holder says that cannot be is not believed, and begins no rest.
SELECT flakeid.lease_renew(token, '20 s', clock_timestamp() + interval '1 day') < clock_timestamp() + interval '1 h' AS not_believed
FROM seen WHERE name = 'a';
SELECT count(*) FROM flakeid.lease_acquire('default', 'host g', '10 s');

-- A holder that knows of a later end keeps its own node until then; whoever else may say so, nobody rests.
UPDATE seen SET lease_end = date_trunc('second', clock_timestamp()) + interval '30 s' WHERE name = 'a';
UPDATE flakeid.lease_node AS n SET free_from = clock_timestamp() FROM seen AS s WHERE s.name = 'a' AND n.token = s.token;
SELECT flakeid.lease_renew(token, '20 s', lease_end) >= lease_end AS kept FROM seen WHERE name = 'a';
SELECT n.free_from >= s.lease_end AS for_itself FROM flakeid.lease_node AS n JOIN seen AS s USING (token) WHERE s.name = 'a';
SELECT token AS other, lease_end AS other_end FROM flakeid.lease_acquire('default', 'host g', '60 s') \gset
SELECT flakeid.lease_renew(:'other', '10 s', :'other_end'::timestamptz + interval '1 ms') = :'other_end' AS not_more;
SELECT flakeid.lease_renew(:'other', '10 s', :'other_end'::timestamptz + interval '1 s') > :'other_end' AS kept;
SELECT flakeid.lease_renew(:'other', '10 s', 'infinity') <= clock_timestamp() + interval '2 min' AS no_more_than_any_lease;
-- one that ends soon may have been given away by a coordinator whose clock was ahead: kept, and no longer
SELECT token AS other, lease_end AS other_end FROM flakeid.lease_acquire('skewed', 'host g', '50 s') \gset
SELECT flakeid.lease_renew(:'other', '60 s', :'other_end'::timestamptz + interval '2 s') = :'other_end'::timestamptz + interval '2 s' AS not_renewed;
SELECT count(*) AS no_rest FROM flakeid.lease_acquire('default', 'host g', '10 s');

-- In the role of a replica nothing is recorded, and so nothing handed out.
SET session_replication_role = replica;
SELECT flakeid.lease_acquire('default', 'host g', '10 s');
RESET session_replication_role;
-- Whatever turned the triggers on for everyone, as a restore with --disable-triggers does, leases are recorded.
ALTER TABLE flakeid.lease_node DISABLE TRIGGER ALL, ENABLE TRIGGER ALL;
SELECT token AS other FROM flakeid.lease_acquire('default', 'host g', '10 s') \gset
SELECT count(*) FROM flakeid.lease_node WHERE token = :'other';
ALTER TABLE flakeid.lease_node ENABLE REPLICA TRIGGER ignore_replicated, ENABLE ALWAYS TRIGGER rest_after_truncate;

-- Revoking, the clock, forgetting.
SELECT flakeid.lease_revoke('shop', 1), flakeid.lease_revoke('shop', 1) IS NOT NULL AS again;
SELECT free_from = date_trunc('second', free_from) AS whole FROM flakeid.lease_node WHERE realm = 'shop' AND node = 1;
SELECT flakeid.lease_repair_clock() >= interval '0' AS repaired;
SELECT lease_start < now() + interval '1 min' AS right FROM flakeid.lease_acquire('default', 'host h', '10 s');
UPDATE flakeid.lease_history SET lease_end = lease_end - interval '1 day';
SELECT flakeid.lease_forget('infinity') >= 0 AS forgotten;
SELECT count(*) > 0 AS last_ones_kept FROM flakeid.lease_history;
SELECT count(*) AS last_ones_lost FROM flakeid.lease_node AS n
WHERE token IS NOT NULL AND NOT EXISTS (SELECT FROM flakeid.lease_history AS h WHERE h.token = n.token);

-- When nodes are forgotten, nothing is handed out until all leases have ended.
TRUNCATE flakeid.lease_node;
DO $$
BEGIN
    PERFORM flakeid.lease_acquire('default', 'host g', '10 s');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RAISE WARNING '%', regexp_replace(SQLERRM, 'before 2.*', 'before ...');
END $$;
SELECT flakeid.lease_end_rest();

-- A generator may take, renew and release leases, and nothing else; everybody else none of it.
CREATE ROLE flakeid_regress_generator IN ROLE flakeid_generator;
CREATE ROLE flakeid_regress_other;
SET ROLE flakeid_regress_generator;
SELECT count(*) FROM flakeid.lease_acquire('default', 'host i', '10 s') AS l, flakeid.lease_renew(l.token, '20 s');
SELECT flakeid.lease_release(gen_random_uuid(), now());
RESET ROLE;
SELECT role, p.proname
FROM pg_proc AS p, unnest('{flakeid_regress_generator,flakeid_regress_other}'::text[]) AS role
WHERE p.proname ~ '^(flake_)?lease' AND has_function_privilege(role, p.oid, 'EXECUTE')
ORDER BY role, proname COLLATE "C";
-- (What a dump carries is for everyone to read: settings of realms, and that leases were handed out.)
SELECT role, c.relname
FROM pg_class AS c, unnest('{flakeid_regress_generator,flakeid_regress_other}'::text[]) AS role
WHERE c.relname ~ '^(flake_)?lease' AND c.relkind IN ('r', 'v', 'S')
  AND (has_table_privilege(role, c.oid, 'SELECT') OR has_table_privilege(role, c.oid, 'INSERT')
       OR has_table_privilege(role, c.oid, 'UPDATE') OR has_table_privilege(role, c.oid, 'DELETE'))
ORDER BY role, relname COLLATE "C";
DROP ROLE flakeid_regress_generator, flakeid_regress_other;

-- A hostile search_path changes nothing.
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.date_trunc(text, timestamptz) RETURNS timestamptz LANGUAGE sql AS $$ SELECT 'infinity'::timestamptz $$;
CREATE FUNCTION hostile.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT 'infinity'::timestamptz $$;
SET search_path = hostile, public, pg_catalog;
SELECT lease_end < pg_catalog.now() + interval '1 min' AS unharmed FROM flakeid.lease_acquire('default', 'host j', '10 s');
RESET search_path;
DROP SCHEMA hostile CASCADE;

-- The history of a node is kept small; its latest lease stays.
SELECT flakeid.lease_realm_set('history', nodes => 2);
SELECT node FROM flakeid.lease_acquire('history', 'other', '10 s', 1);
DO $$
BEGIN
    FOR i IN 1 .. 50 LOOP
        PERFORM flakeid.lease_release(token, lease_start - interval '1 s') FROM flakeid.lease_acquire('history', 'holder ' || i, '10 s', 0);
    END LOOP;
END $$;
SELECT node, count(*), (array_agg(holder ORDER BY acquired_at DESC))[1] AS latest FROM flakeid.leases WHERE realm = 'history' GROUP BY node ORDER BY node;

-- Settings of the generator's side.
SELECT context, setting FROM pg_settings WHERE name = 'flakeid.coordinator';
\set VERBOSITY default
DO $$ BEGIN PERFORM flake_next(); END $$;
SET flakeid.node = 'auto';
SELECT flake_next();
RESET flakeid.node;
ALTER SYSTEM SET flakeid.coordinator = 'host=db password=secret';
ALTER SYSTEM SET flakeid.coordinator = 'postgresql://u:secret@db/ids';
ALTER SYSTEM SET flakeid.coordinator = 'no such thing';
\set VERBOSITY terse
CREATE ROLE flakeid_regress_other;
SET ROLE flakeid_regress_other;
DO $$
BEGIN
    PERFORM current_setting('flakeid.coordinator');
EXCEPTION WHEN insufficient_privilege THEN
    RAISE WARNING 'not shown';
END $$;
SELECT count(*) FROM pg_settings WHERE name = 'flakeid.coordinator';
RESET ROLE;
DROP ROLE flakeid_regress_other;

DROP TABLE seen;
DROP EXTENSION flakeid CASCADE;
