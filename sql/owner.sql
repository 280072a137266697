-- flakeid.as_owner(): a statement with the rights of a table's owner, and nobody else's, whatever the owner's code tries.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
CREATE EXTENSION flakeid_tables CASCADE;
\set SHOW_CONTEXT never
\pset null null
CREATE ROLE regress_flakeid_owner;
CREATE ROLE regress_flakeid_member IN ROLE regress_flakeid_owner;
CREATE ROLE regress_flakeid_apart NOINHERIT IN ROLE regress_flakeid_owner;
CREATE ROLE regress_flakeid_other;
CREATE SCHEMA regress_flakeid_shop AUTHORIZATION regress_flakeid_owner;
GRANT USAGE ON SCHEMA regress_flakeid_shop TO PUBLIC;
SET search_path = regress_flakeid_shop, public;
SET ROLE regress_flakeid_owner;
CREATE TABLE t (id int, n int CHECK (n > 0));
CREATE TABLE told (by text);
GRANT INSERT ON told TO PUBLIC;
RESET ROLE;

-- What it returns, who may call it, and that all is as it was afterwards
SELECT flakeid.as_owner('t', 'SELECT current_user'), flakeid.as_owner('t', 'SELECT NULL'), flakeid.as_owner('t', 'SELECT 1 WHERE false'),
       flakeid.as_owner('t', 'INSERT INTO regress_flakeid_shop.t VALUES (1, 1)'), flakeid.as_owner('t', 'INSERT INTO regress_flakeid_shop.t VALUES (2, 1), (3, 1) RETURNING id'),
       flakeid.as_owner(NULL, 'SELECT 1'), flakeid.as_owner('t', NULL);
SELECT current_user = session_user AS same, flakeid.as_owner('t', 'SHOW search_path'), current_setting('search_path') AS search_path;
SELECT flakeid.as_owner('t', 'SELECT set_config(''flakeid_regress.mine'', ''1'', false)'), current_setting('flakeid_regress.mine', true) AS mine;
SET ROLE regress_flakeid_member;
SELECT flakeid.as_owner('t', 'SELECT current_user');
SET ROLE regress_flakeid_apart;
SELECT flakeid.as_owner('t', 'SELECT current_user');
SET ROLE regress_flakeid_other;
SELECT flakeid.as_owner('t', 'SELECT current_user');
RESET ROLE;
SELECT flakeid.as_owner(0, 'SELECT 1');
SELECT flakeid.as_owner('t', 'INSERT INTO regress_flakeid_shop.t VALUES (1, -1)');
SELECT current_user = session_user AS same, current_setting('search_path') AS search_path;
DO $$ BEGIN PERFORM flakeid.as_owner('t', 'SELECT 1 / 0'); EXCEPTION WHEN division_by_zero THEN RAISE NOTICE 'superuser again: %, %', current_user = session_user, current_setting('search_path'); END $$;
SELECT flakeid.as_owner('t', 'SELECT 1 FROM t');
SELECT flakeid.as_owner('t', 'COMMIT');

-- What the owner's code tries: the role of the session, what outlives the statement, what runs later.
SET ROLE regress_flakeid_owner;
CREATE FUNCTION try(what text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; RAISE NOTICE '% is done', what; EXCEPTION WHEN insufficient_privilege OR invalid_parameter_value THEN RAISE NOTICE '%: %', what, CASE WHEN what LIKE 'ALTER ROLE %' THEN SQLSTATE ELSE SQLERRM END; END $$; -- 16 says it in other words
CREATE FUNCTION evil(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    PERFORM regress_flakeid_shop.try(w) FROM unnest(ARRAY['RESET ROLE', 'SET ROLE NONE', 'SET SESSION AUTHORIZATION DEFAULT', 'CREATE TEMP TABLE mine ()', 'ALTER ROLE regress_flakeid_owner SUPERUSER',
        'LISTEN mine', 'PREPARE mine AS SELECT 1', 'DECLARE mine CURSOR WITH HOLD FOR SELECT 1', 'DISCARD ALL', 'SELECT set_config(''role'', session_user, true)']) AS w;
    RETURN 1;
END $$;
CREATE TABLE trap (id int CHECK (regress_flakeid_shop.evil(1) > 0));
RESET ROLE;
SELECT flakeid.as_owner('trap', 'INSERT INTO regress_flakeid_shop.trap VALUES (1) RETURNING current_user');
SELECT count(*) AS superusers FROM pg_roles WHERE rolsuper AND rolname LIKE 'regress\_flakeid%';

-- A trigger that waits for the end of the transaction would have the caller's rights.
SET ROLE regress_flakeid_owner;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO regress_flakeid_shop.told VALUES (current_user); RETURN NULL; END $$;
CREATE TABLE later (id int);
CREATE CONSTRAINT TRIGGER later AFTER INSERT ON later DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TABLE late (id int);
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO regress_flakeid_shop.later VALUES (1); RETURN NULL; END $$;
CREATE TRIGGER wait AFTER INSERT ON late FOR EACH ROW EXECUTE FUNCTION wait();
RESET ROLE;
BEGIN;
SELECT flakeid.as_owner('later', 'INSERT INTO regress_flakeid_shop.later VALUES (1)');
COMMIT;
SELECT flakeid.as_owner('late', 'INSERT INTO regress_flakeid_shop.late VALUES (1)');
SELECT * FROM told;

SET client_min_messages = error;
DROP SCHEMA regress_flakeid_shop CASCADE;
DROP EXTENSION flakeid, flakeid_tables;
DROP ROLE regress_flakeid_member, regress_flakeid_apart, regress_flakeid_other, regress_flakeid_owner;
