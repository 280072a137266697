-- What CREATE EXTENSION leaves in the catalogs, and that nobody else gets a foot into it.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
\pset null none
CREATE EXTENSION flakeid;
CREATE EXTENSION flakeid_tables;
CREATE EXTENSION flakeid_coordinator;

-- Everything of the extension has a comment, but casts, and the types that come by themselves.
CREATE VIEW member AS
SELECT classid, objid, pg_describe_object(classid, objid, 0) COLLATE "C" AS object, obj_description(objid, classid::regclass::name) AS comment
FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
    AND refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'flakeid%');
SELECT classid::regclass, count(*) > 0 AS some FROM member GROUP BY 1 ORDER BY 1::text COLLATE "C";
SELECT object FROM member WHERE coalesce(comment, '') = '' AND classid <> 'pg_cast'::regclass
    AND NOT EXISTS (SELECT FROM pg_type t WHERE classid = 'pg_type'::regclass AND t.oid = objid AND (typrelid <> 0 OR typelem <> 0)) ORDER BY 1;
SELECT comment FROM member WHERE object LIKE 'type flake';
SELECT obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname LIKE 'flakeid%' ORDER BY extname COLLATE "C";
-- of one manner: no capital, no full stop
SELECT object, comment FROM member WHERE comment ~ '^[A-HJ-Z]|\.$' ORDER BY 1;

-- In the user's schema stand the two types, their operators, and functions: nothing that a tool for schemas lists, compares or drops.
SELECT i.type, count(*) > 0 AS some FROM member, pg_identify_object(classid, objid, 0) AS i WHERE i.schema = 'public' GROUP BY 1 ORDER BY 1;

-- Functions: none but those for generators runs as its owner, all say whether they are safe in parallel workers.
SELECT object FROM member JOIN pg_proc p ON p.oid = objid WHERE classid = 'pg_proc'::regclass
    AND (prosecdef OR proparallel = 'u' AND has_function_privilege('public', p.oid, 'EXECUTE')) AND prorettype <> 'internal'::regtype ORDER BY 1;
-- What is safe there calls nothing that is not, such as what catches errors.
SELECT f.object, g.object AS calls FROM member AS f JOIN pg_proc AS p ON p.oid = f.objid AND f.classid = 'pg_proc'::regclass AND p.proparallel = 's'
    JOIN member AS g ON g.classid = 'pg_proc'::regclass JOIN pg_proc AS q ON q.oid = g.objid AND q.prokind = 'f' AND q.proparallel <> 's'
    AND regexp_replace(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), 'HINT = [^\n]*', '', 'g') ~ format('flakeid\.%s\(', q.proname) ORDER BY 1, 2;
-- Where a backslash stands in a string, it is one whatever the session says of strings.
SELECT f.object FROM member AS f JOIN pg_proc AS p ON p.oid = f.objid AND f.classid = 'pg_proc'::regclass AND p.prosqlbody IS NULL JOIN pg_language AS l ON l.oid = p.prolang AND l.lanname IN ('sql', 'plpgsql')
WHERE regexp_replace(p.prosrc, $$\mE'([^'\\]|\\.|'')*'$$, '', 'g') ~ '\\' AND NOT 'standard_conforming_strings=on' = ANY (coalesce(p.proconfig, '{}')) ORDER BY 1;
-- and these are not for everyone.
SELECT object FROM member JOIN pg_proc p ON p.oid = objid WHERE classid = 'pg_proc'::regclass AND NOT has_function_privilege('public', p.oid, 'EXECUTE')
    ORDER BY 1;
CREATE ROLE regress_flakeid_user;
SELECT object, privilege FROM member, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'USAGE']) AS privilege
WHERE classid = 'pg_class'::regclass
    AND CASE WHEN object LIKE 'sequence%' THEN privilege IN ('SELECT', 'UPDATE', 'USAGE') AND has_sequence_privilege('regress_flakeid_user', objid, privilege)
             ELSE privilege <> 'USAGE' AND has_table_privilege('regress_flakeid_user', objid, privilege) END ORDER BY 1, 2;
SET ROLE regress_flakeid_user;
SELECT FROM flakeid.state;
INSERT INTO flakeid.restored VALUES ('plain horizon', 4000000000000000);
SELECT flakeid.restore('plain horizon', 1);
SELECT flakeid.state_now();
SELECT flakeid.raise_horizon(now());
SELECT flakeid.repair_horizon();
SELECT flakeid.accept_clock();
SELECT flakeid.stats_reset();
SELECT count(*) > 0 AS layouts FROM flakeid.layouts;
SELECT count(*) AS stats FROM flakeid.stats;
RESET ROLE;
DROP VIEW member;
DROP EXTENSION flakeid CASCADE;

-- The state is where the library writes it, whatever tables are by default.
CREATE ACCESS METHOD regress_flakeid_tables TYPE TABLE HANDLER heap_tableam_handler;
SET default_table_access_method = regress_flakeid_tables;
CREATE EXTENSION flakeid;
CREATE EXTENSION flakeid_tables;
CREATE EXTENSION flakeid_coordinator;
RESET default_table_access_method;
SELECT relname, amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relnamespace = 'flakeid'::regnamespace AND amtype = 't' AND amname <> 'heap' ORDER BY 1;
DROP EXTENSION flakeid CASCADE;
DROP ACCESS METHOD regress_flakeid_tables;

-- In a schema of its own, with another search_path or none at all
CREATE SCHEMA regress_flakeid_schema;
CREATE EXTENSION flakeid_tables SCHEMA regress_flakeid_schema CASCADE;
SET search_path = '';
CREATE TABLE public.t (id regress_flakeid_schema.flake PRIMARY KEY DEFAULT regress_flakeid_schema.flake_next(), n int);
INSERT INTO public.t (n) VALUES (1), (2);
SELECT count(*) FROM public.t WHERE id OPERATOR(regress_flakeid_schema.<@) pg_catalog.tstzrange(now() - interval '1 day', NULL);
SELECT name FROM flakeid.layouts WHERE NOT alive;
SELECT count(*) > 5 AS status FROM flakeid.status;
SELECT count(*) AS partitions FROM flakeid.partitions;
ALTER EXTENSION flakeid SET SCHEMA public;
RESET search_path;
DROP TABLE t;
DROP EXTENSION flakeid;
DROP EXTENSION flakeid CASCADE;

-- A schema where a hostile role waits with whatever the script might call instead of the server's own
CREATE ROLE regress_flakeid_thief;
CREATE TABLE caught (by text);
GRANT INSERT ON caught TO PUBLIC;
GRANT ALL ON SCHEMA regress_flakeid_schema TO regress_flakeid_thief;
SET ROLE regress_flakeid_thief;
SET search_path = regress_flakeid_schema, public;
CREATE FUNCTION trap(by text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.caught VALUES (by || ' as ' || current_user); END $$;
-- functions whose arguments fit better than, or as well as, the server's
CREATE FUNCTION unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('unnest'); RETURN; END $$;
CREATE FUNCTION concat_ws(text, text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('concat_ws'); RETURN ''; END $$;
CREATE FUNCTION starts_with(text, unknown text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('starts_with'); RETURN true; END $$;
CREATE FUNCTION current_setting(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('current_setting'); RETURN ''; END $$;
CREATE FUNCTION pg_extension_config_dump(text, text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('config_dump'); END $$;
CREATE FUNCTION flake_floor(date) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('floor'); RETURN 0; END $$;
CREATE FUNCTION flake_range_floor(anyrange) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('range_floor'); RETURN 0; END $$;
CREATE FUNCTION flake_decrypt(int) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('decrypt'); RETURN 0; END $$;
CREATE FUNCTION joined(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('||'); RETURN ''; END $$;
CREATE FUNCTION joined(text, int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('||'); RETURN ''; END $$;
CREATE FUNCTION compared(bigint, bigint) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('compared'); RETURN true; END $$;
CREATE FUNCTION compared(text, text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM regress_flakeid_schema.trap('compared'); RETURN true; END $$;
CREATE OPERATOR || (LEFTARG = text, RIGHTARG = text, FUNCTION = joined);
CREATE OPERATOR || (LEFTARG = text, RIGHTARG = int, FUNCTION = joined);
CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = compared);
CREATE OPERATOR >= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = compared);
CREATE OPERATOR <= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = compared);
CREATE OPERATOR ~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = compared);
-- types under the names of the server's
CREATE DOMAIN int8 AS pg_catalog.text;
CREATE DOMAIN bigint AS pg_catalog.text;
CREATE DOMAIN timestamptz AS pg_catalog.text;
CREATE DOMAIN text AS pg_catalog.int4;
CREATE DOMAIN cstring AS pg_catalog.text;
CREATE VIEW pg_settings AS SELECT 'flakeid.node'::pg_catalog.text AS name, trap('pg_settings')::pg_catalog.text AS source, ''::pg_catalog.text AS sourcefile, 1 AS sourceline;
RESET ROLE;
CREATE EXTENSION flakeid_tables SCHEMA regress_flakeid_schema CASCADE;
-- installed, seen by an administrator who trusts that schema, with the server's own names last
SET search_path = regress_flakeid_schema, public, pg_catalog;
SELECT pg_catalog.count(*) > 0 AS layouts FROM flakeid.layouts;
SELECT pg_catalog.count(*) > 0 AS status FROM flakeid.status;
SELECT pg_catalog.count(*) > 0 AS stats FROM flakeid.stats;
CREATE TABLE public.t (id flake DEFAULT flake_next() PRIMARY KEY, n pg_catalog.int4);
INSERT INTO public.t (n) VALUES (1);
PREPARE recent AS SELECT n FROM public.t WHERE id <@ pg_catalog.tstzrange(pg_catalog.now() OPERATOR(pg_catalog.-) pg_catalog.interval '1 day', NULL);
EXECUTE recent;
EXPLAIN (COSTS OFF, VERBOSE) EXECUTE recent;
SELECT flake_node(id) FROM public.t;
SELECT flake_timestamp(5, 'randflake');
RESET search_path;
SELECT * FROM caught;
SELECT pg_describe_object(d.classid, d.objid, 0) FROM pg_depend d JOIN pg_depend e ON (e.classid, e.objid) = (d.classid, d.objid) AND e.deptype = 'e'
WHERE e.refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'flakeid%') AND d.refclassid = 'pg_proc'::regclass
    AND d.refobjid IN (SELECT oid FROM pg_proc WHERE proowner = 'regress_flakeid_thief'::regrole);

-- What stands there already is not taken over.
\set SHOW_CONTEXT never
DROP TABLE t;
DROP EXTENSION flakeid_tables;
DROP EXTENSION flakeid;
SET ROLE regress_flakeid_thief;
CREATE FUNCTION regress_flakeid_schema.flake_next() RETURNS bigint LANGUAGE sql AS 'SELECT 1::pg_catalog.int8';
RESET ROLE;
CREATE EXTENSION flakeid SCHEMA regress_flakeid_schema;
DROP FUNCTION regress_flakeid_schema.flake_next();
CREATE SCHEMA flakeid AUTHORIZATION regress_flakeid_thief;
CREATE EXTENSION flakeid SCHEMA regress_flakeid_schema;
DROP SCHEMA flakeid;
\set SHOW_CONTEXT errors

-- A role with CREATE on the database installs it, and owns nothing of what the code names.
DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_flakeid_user', current_database()); END $$;
SET ROLE regress_flakeid_user;
CREATE EXTENSION flakeid_tables SCHEMA regress_flakeid_schema CASCADE;
RESET ROLE;
SELECT nspowner::regrole <> 'regress_flakeid_user'::regrole AS of_the_installer FROM pg_namespace WHERE nspname = 'flakeid';
SET ROLE regress_flakeid_user;
DROP EXTENSION flakeid, flakeid_tables;
RESET ROLE;
DO $$ BEGIN EXECUTE format('REVOKE ALL ON DATABASE %I FROM regress_flakeid_user', current_database()); END $$;

SET client_min_messages = warning;
DROP SCHEMA regress_flakeid_schema CASCADE;
DROP TABLE caught;
DROP ROLE regress_flakeid_thief, regress_flakeid_user;
