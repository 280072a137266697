-- Retention takes only what it understands, with nobody's rights but those of the table's owner.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
-- All of this happens on one day: on the next one, where this one ends soon.
SELECT pg_sleep_until(date_trunc('day', now() + interval '3 min'));
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION flakeid_tables CASCADE;
CREATE ROLE regress_flakeid_owner;
CREATE ROLE regress_flakeid_mallory;
CREATE ROLE regress_flakeid_reader;
CREATE ROLE regress_flakeid_both IN ROLE regress_flakeid_owner, regress_flakeid_mallory;
CREATE SCHEMA regress_flakeid_shop AUTHORIZATION regress_flakeid_owner;
GRANT USAGE ON SCHEMA regress_flakeid_shop TO PUBLIC;
GRANT CREATE ON SCHEMA regress_flakeid_shop TO regress_flakeid_mallory;
SET search_path = regress_flakeid_shop, public;
SET ROLE regress_flakeid_owner;
CREATE FUNCTION day_id(days float) RETURNS flake LANGUAGE sql AS $$ SELECT flake_floor(date_trunc('day', now(), 'UTC') + days * interval '1 day', 'snowflake') $$;
-- What a table lost, and what was detached from it
CREATE FUNCTION detached() RETURNS SETOF regclass LANGUAGE sql AS $$ SELECT partition FROM flakeid.partitions WHERE NOT attached ORDER BY 1 $$;
CREATE FUNCTION problems() RETURNS SETOF text LANGUAGE sql AS $$ SELECT regexp_replace(problem, '\d{4}-\d\d-\d\d [\d:.+]+|\m[1-8]\d{17,18}\M|\m9\d{17}\M', '...', 'g') FROM flakeid.partitions WHERE problem IS NOT NULL ORDER BY 1 $$;

-- Serial numbers carry no time: whatever keeps them is not asked for them.
CREATE TABLE serial (id bigserial PRIMARY KEY, at timestamptz DEFAULT now()) PARTITION BY RANGE (id);
CREATE TABLE serial_default PARTITION OF serial DEFAULT;
CREATE TABLE identity (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE of_a_program (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CALL flakeid.partition('serial', every => '1 month', keep => '90 days', drop_old => true);
CALL flakeid.partition('serial', every => '1 month', keep => '90 days', layout => 'snowflake');
CALL flakeid.partition('identity', every => '1 month', keep => '90 days');
CALL flakeid.partition('of_a_program', every => '1 month', keep => '90 days');
CALL flakeid.partition('of_a_program', every => '1 month', keep => '90 days', layout => 'snowflake');
CALL flakeid.partition('of_a_program', every => '1 month', keep => '80 days');
CALL flakeid.partition('serial', every => '1 month');
INSERT INTO serial DEFAULT VALUES;
INSERT INTO serial SELECT nextval('serial_id_seq') FROM generate_series(1, 999);
CALL flakeid.maintain('serial');
SELECT count(*) FROM serial;
SELECT problems();
-- A default that becomes a sequence afterwards
CREATE SEQUENCE later;
CREATE TABLE later_serial (id bigint PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
CALL flakeid.partition('later_serial', every => '1 day', keep => '2 days');
CREATE TABLE later_old PARTITION OF later_serial FOR VALUES FROM (1) TO (1000);
ALTER TABLE later_serial ALTER id SET DEFAULT nextval('later');
CALL flakeid.maintain('later_serial');
SELECT detached();
DROP TABLE serial, identity, of_a_program, later_serial;

-- Kept ids: of a conversion, and what is below the first day of the layout
CREATE TABLE builds (id bigserial PRIMARY KEY, x int) PARTITION BY RANGE (id);
CREATE TABLE builds_1 PARTITION OF builds FOR VALUES FROM (1) TO (5001);
CREATE TABLE builds_2 PARTITION OF builds FOR VALUES FROM (5001) TO (10001);
INSERT INTO builds (x) SELECT generate_series(1, 10000);
CALL flakeid.convert('builds', type => 'bigint');
CALL flakeid.partition('builds', every => '1 month', keep => '90 days', drop_old => true);
SELECT count(*) FROM builds;
SELECT detached();
SELECT problems();
DELETE FROM builds WHERE id < 5001;
CALL flakeid.maintain('builds');
SELECT count(*) FROM builds;
SELECT detached();
DROP TABLE builds, builds_1;

-- A sentinel, the largest number, ids of another layout and of the future, in a default partition
CREATE TABLE odd (id flake PRIMARY KEY DEFAULT flake_next(), name text, n int GENERATED ALWAYS AS IDENTITY, long int NOT NULL GENERATED ALWAYS AS (length(name)) STORED) PARTITION BY RANGE (id);
CREATE TABLE odd_default PARTITION OF odd DEFAULT;
INSERT INTO odd VALUES (0, 'system'), (-5, 'negative'), (9223372036854775807, 'infinity'), (day_id(-400), 'import'), (flake_floor(now(), 'tsid'), 'tsid'), (day_id(40.5), 'to come'), (day_id(-1.5), 'young');
SET client_min_messages = error;
CALL flakeid.partition('odd', every => '1 day', ahead => 1, keep => '2 days', drop_old => true);
SELECT name, n, long, tableoid::regclass::text LIKE 'odd_2%' AS moved FROM odd ORDER BY id;
SELECT detached();
CALL flakeid.maintain();
SET client_min_messages = warning;
SELECT count(*) FROM odd;
SELECT problems();
DROP TABLE odd;

-- What is detached is dropped a period later, a day at least, and not at once; and not what only looks so.
CREATE TABLE event (id flake PRIMARY KEY DEFAULT flake_next(), what text) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE event_%s PARTITION OF event FOR VALUES FROM (%s) TO (%s)', d, day_id(-d), day_id(1 - d)) FROM generate_series(3, 6) AS d
\set ECHO none
\gexec
\set ECHO all
COMMENT ON TABLE event_5 IS 'what it''s about';
INSERT INTO event SELECT day_id(-d) + 1, d FROM generate_series(3, 6) AS d;
CALL flakeid.partition('event', every => '1 day', ahead => 1, keep => '5 days', drop_old => true);
SELECT detached();
CALL flakeid.maintain();
SELECT detached();
CREATE FUNCTION grow_old(tab regclass, by interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    said jsonb := substr(obj_description(tab, 'pg_class'), 11);
BEGIN
    EXECUTE format('COMMENT ON TABLE %s IS %L', tab, 'flakeid 1 ' || jsonb_set(said, '{at}', to_jsonb((said ->> 'at')::timestamptz - by))::text);
END
$$;
CALL flakeid.partition('event', every => '1 day', ahead => 1, keep => '4 days', drop_old => true);
SELECT obj_description('event_5'::regclass)::text LIKE '%"comment": "what it''s about"%' AS keeps_its_comment;
SELECT grow_old('event_6', '25 hours'), grow_old('event_5', '23 hours');
CALL flakeid.maintain();
SELECT detached();
SELECT grow_old('event_5', '2 hours');
CALL flakeid.partition('event', every => '1 day', ahead => 1, keep => '4 days');
CALL flakeid.maintain();
SELECT detached();
RESET ROLE;
-- another's table with such a comment
SET ROLE regress_flakeid_mallory;
CREATE TABLE forged (id int);
COMMENT ON TABLE forged IS 'flakeid 1 {"of": "regress_flakeid_shop.event", "at": "2000-01-01 00:00Z"}';
RESET ROLE;
SET ROLE regress_flakeid_owner;
CALL flakeid.partition('event', every => '1 day', ahead => 1, keep => '4 days', drop_old => true);
SELECT to_regclass('forged') IS NOT NULL AS there, to_regclass('event_5') IS NULL AS dropped;
-- Who may not use the schema sees as much, and nothing that an owner writes keeps others from looking.
CREATE TABLE odd_one (id int);
COMMENT ON TABLE odd_one IS 'flakeid 1 {"of": "regress_flakeid_shop.event", "at": "2100-01-01 00:00Z"}';
RESET ROLE;
REVOKE USAGE ON SCHEMA regress_flakeid_shop FROM PUBLIC;
SET ROLE regress_flakeid_reader;
SELECT partition FROM flakeid.partitions WHERE NOT attached;
RESET ROLE;
GRANT USAGE ON SCHEMA regress_flakeid_shop TO PUBLIC;
SET ROLE regress_flakeid_owner;
COMMENT ON TABLE odd_one IS 'flakeid 1 {"of": "a.b.c.d.e"}';
SELECT problems();
COMMENT ON TABLE odd_one IS 'flakeid 1 {"of": "regress_flakeid_shop.event", "at": "then"}';
SELECT problems();
DROP TABLE odd_one;
-- nor what was detached from a table that had the name before
CALL flakeid.partition('event', every => '1 day', ahead => 1, keep => '3 days');
SELECT detached();
ALTER TABLE event RENAME TO event_before;
CREATE TABLE event (id flake PRIMARY KEY DEFAULT flake_next(), what text) PARTITION BY RANGE (id);
CALL flakeid.partition('event', every => '1 day', ahead => 1, keep => '3 days', drop_old => true);
SELECT grow_old('event_4', '49 hours');
CALL flakeid.maintain();
SELECT count(*) FROM event_4;
SELECT detached();
DROP TABLE event;
ALTER TABLE event_before RENAME TO event;
SELECT detached();
CALL flakeid.partition('event', every => '1 day', ahead => 1, keep => '3 days', drop_old => true);
SELECT to_regclass('event_4') IS NULL AS dropped;
DROP TABLE event;

-- A default partition that is partitioned keeps its rows, and the others are made.
CREATE TABLE deep (id flake PRIMARY KEY DEFAULT flake_next(), what text) PARTITION BY RANGE (id);
CREATE TABLE deep_default PARTITION OF deep DEFAULT PARTITION BY RANGE (id);
CREATE TABLE deep_all PARTITION OF deep_default DEFAULT;
INSERT INTO deep VALUES (day_id(1.5), 'stray'), (day_id(-40), 'import');
SET client_min_messages = error;
CALL flakeid.partition('deep', every => '1 day', ahead => 2);
CALL flakeid.maintain('deep');
SET client_min_messages = warning;
SELECT to_time - date_trunc('day', now(), 'UTC') AS ends, from_time - date_trunc('day', now(), 'UTC') AS begins FROM flakeid.partitions WHERE parent = 'deep'::regclass ORDER BY to_time;
SELECT count(*) FROM deep_all;
SELECT problems();
DROP TABLE deep;

-- The right TRIGGER declares nothing.
CREATE TABLE target (id flake PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
SELECT day_id(-5) AS low, day_id(-4) AS high \gset
CREATE TABLE target_old PARTITION OF target FOR VALUES FROM (:low) TO (:high);
GRANT ALL ON target TO regress_flakeid_mallory;
SET ROLE regress_flakeid_mallory;
CREATE TRIGGER flakeid_partitions AFTER TRUNCATE ON target FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION flakeid.declared('every=1 day', 'keep=1 hour');
COMMENT ON TRIGGER flakeid_partitions ON target IS 'flakeid 1 {"every": "1 day", "ahead": 1, "keep": "1 hour", "layout": "snowflake", "drop_old": true}';
SET ROLE regress_flakeid_owner;
CALL flakeid.maintain();
SELECT problems();
CALL flakeid.partition('target', every => '1 month');
SET ROLE regress_flakeid_mallory;
CREATE OR REPLACE TRIGGER flakeid_partitions AFTER TRUNCATE ON target FOR EACH STATEMENT EXECUTE FUNCTION flakeid.declared('keep=1 hour');
SET ROLE regress_flakeid_owner;
CALL flakeid.maintain('target');
SELECT every, keep FROM flakeid.partition_declared('target');
-- what cannot be read
COMMENT ON TRIGGER flakeid_partitions ON target IS 'flakeid 1 {"every": "1 day", "ahead": 1, "layout": "no such layout"}';
SELECT problems();
CALL flakeid.maintain('target');
COMMENT ON TRIGGER flakeid_partitions ON target IS 'mine';
-- and the others go on
CREATE TABLE other (id flake PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
CALL flakeid.partition('other', every => '1 month', ahead => 1);
SELECT partition AS last FROM flakeid.partitions WHERE parent = 'other'::regclass ORDER BY to_time DESC LIMIT 1 \gset
DROP TABLE :last;
CALL flakeid.maintain();
SELECT count(*) FROM flakeid.partitions WHERE parent = 'other'::regclass;
DROP TABLE target, other;

-- New partitions have the parent's grants and no others.
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_flakeid_shop GRANT SELECT, DELETE ON TABLES TO regress_flakeid_reader, PUBLIC;
CREATE TABLE salary (id flake PRIMARY KEY DEFAULT flake_next(), what text, sum int);
REVOKE ALL ON salary FROM regress_flakeid_reader, PUBLIC;
GRANT UPDATE ON salary TO regress_flakeid_both;
GRANT SELECT (sum) ON salary TO regress_flakeid_both;
CALL flakeid.partition('salary', every => '1 day', ahead => 3);
SELECT DISTINCT replace(relacl::text, 'xtm/', 'xt/') AS relacl, (SELECT attacl FROM pg_attribute WHERE attrelid = c.oid AND attname = 'sum') AS of_sum FROM pg_class c WHERE relname LIKE 'salary%' AND relkind IN ('r', 'p');
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_flakeid_shop REVOKE ALL ON TABLES FROM regress_flakeid_reader, PUBLIC;
DROP TABLE salary;

-- Odd names
CREATE TABLE "it's $flakeid$ a ""table""" (id flake PRIMARY KEY DEFAULT flake_next(), "n'$$" int) PARTITION BY RANGE (id);
CALL flakeid.partition('"it''s $flakeid$ a ""table"""', every => '1 day', ahead => 1, keep => '2 days');
CREATE TABLE "o'ld $q$" PARTITION OF "it's $flakeid$ a ""table""" FOR VALUES FROM (:low) TO (:high);
CALL flakeid.maintain();
SELECT count(*) FROM flakeid.partitions WHERE attached;
SELECT detached();
DROP TABLE "it's $flakeid$ a ""table""", "o'ld $q$";
CREATE TABLE "it's $flakeid$ a ""plain""" (id flake PRIMARY KEY DEFAULT flake_next(), "n'$$" int);
CALL flakeid.partition('"it''s $flakeid$ a ""plain"""', every => '1 day', ahead => 1);
DROP TABLE "it's $flakeid$ a ""plain""";

-- Code of the owner runs with the rights of the owner, whoever calls.
RESET ROLE;
SET SESSION AUTHORIZATION regress_flakeid_mallory;
CREATE FUNCTION really() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        PERFORM set_config('role', session_user, true);
        ALTER ROLE regress_flakeid_mallory SUPERUSER;
    EXCEPTION WHEN insufficient_privilege OR invalid_parameter_value THEN NULL;
    END;
    BEGIN
        PERFORM set_config('role', 'regress_flakeid_owner', true);
        CREATE TABLE regress_flakeid_shop.taken ();
    EXCEPTION WHEN insufficient_privilege OR invalid_parameter_value THEN NULL;
    END;
    RETURN 1;
END
$$;
CREATE FUNCTION evil(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN regress_flakeid_shop.really(); END $$;
CREATE TABLE trap (id flake PRIMARY KEY DEFAULT flake_next(), item text);
INSERT INTO trap (item) VALUES ('pen');
ALTER TABLE trap ADD CHECK (regress_flakeid_shop.evil(1) > 0);
CREATE TABLE trap_2 (id flake DEFAULT flake_next()) PARTITION BY RANGE (id);
CREATE TABLE trap_default PARTITION OF trap_2 DEFAULT;
CREATE INDEX ON trap_2 ((regress_flakeid_shop.evil(1) + id));
ALTER TABLE trap_2 ADD CHECK (regress_flakeid_shop.evil(1) > 0);
INSERT INTO trap_2 VALUES (day_id(40)), (5);
CALL flakeid.partition('trap_2', every => '1 day', ahead => 1, keep => '2 days');
SELECT partition AS last FROM flakeid.partitions WHERE parent = 'trap_2'::regclass AND partition <> 'trap_default'::regclass ORDER BY to_time LIMIT 1 \gset
DROP TABLE :last;
INSERT INTO trap_2 VALUES (day_id(50));
RESET SESSION AUTHORIZATION;
CALL flakeid.maintain();
CALL flakeid.partition('trap', every => '1 day', ahead => 1);
SELECT flakeid.maintain_plan('trap_2');
SELECT rolsuper, to_regclass('taken') AS taken FROM pg_roles WHERE rolname = 'regress_flakeid_mallory';
SET SESSION AUTHORIZATION regress_flakeid_both;
CALL flakeid.maintain();
SELECT to_regclass('regress_flakeid_shop.taken') AS taken;
RESET SESSION AUTHORIZATION;

-- Partitions and referrers of others
CREATE ROLE regress_flakeid_root SUPERUSER;
CREATE TABLE superusers (id flake PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
ALTER TABLE superusers OWNER TO regress_flakeid_root;
CREATE TABLE theirs (id flake PRIMARY KEY);
ALTER TABLE theirs OWNER TO regress_flakeid_mallory;
ALTER TABLE superusers ATTACH PARTITION theirs FOR VALUES FROM (:low) TO (:high);
CALL flakeid.partition('superusers', every => '1 day');
DROP TABLE superusers;
DROP ROLE regress_flakeid_root;
SET ROLE regress_flakeid_owner;
CREATE TABLE referred (id flake PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
CREATE TABLE referred_old PARTITION OF referred FOR VALUES FROM (:low) TO (:high);
GRANT REFERENCES ON referred TO regress_flakeid_mallory;
RESET ROLE;
SET SESSION AUTHORIZATION regress_flakeid_mallory;
CREATE TABLE referrer (id flake REFERENCES regress_flakeid_shop.referred CHECK (regress_flakeid_shop.evil(1) > 0));
RESET SESSION AUTHORIZATION;
SET ROLE regress_flakeid_owner;
CALL flakeid.partition('referred', every => '1 day', ahead => 2, keep => '2 days');
SELECT count(*) FROM flakeid.partitions WHERE parent = 'referred'::regclass AND attached;
SELECT problems();
RESET ROLE;

-- What Citus distributes can have no trigger, a session's own tables are not for jobs, and masks that labels put on columns would be lost.
SET ROLE regress_flakeid_owner;
CREATE TEMP TABLE mine (id flake PRIMARY KEY) PARTITION BY RANGE (id);
CALL flakeid.partition('mine', every => '1 day');
CREATE TABLE spread (id flake PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TRIGGER flakeid_partitions AFTER TRUNCATE ON spread FOR EACH STATEMENT EXECUTE FUNCTION suppress_redundant_updates_trigger();
CALL flakeid.partition('spread', every => '1 day');
DROP TRIGGER flakeid_partitions ON spread;
DROP TABLE mine;
RESET ROLE;
BEGIN;
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition AS SELECT 'regress_flakeid_shop.spread'::regclass AS logicalrelid;
GRANT SELECT ON pg_catalog.pg_dist_partition TO PUBLIC;
SET LOCAL ROLE regress_flakeid_owner;
SELECT flakeid.partition_require('regress_flakeid_shop.spread');
ROLLBACK;
BEGIN;
SET LOCAL ROLE regress_flakeid_owner;
CREATE TABLE person (id bigserial PRIMARY KEY, name text);
CREATE VIEW people AS SELECT * FROM person;
RESET ROLE;
SET LOCAL allow_system_table_mods = on;
INSERT INTO pg_seclabel VALUES ('person'::regclass, 'pg_class'::regclass, 1, 'anon', 'MASKED WITH VALUE 0'), ('people'::regclass, 'pg_class'::regclass, 2, 'anon', 'MASKED WITH VALUE NULL');
SET LOCAL ROLE regress_flakeid_owner;
SELECT statement FROM flakeid.convert_plan('person') WHERE statement LIKE '-- refused%' ORDER BY statement;
SELECT flakeid.partition_require('person');
ROLLBACK;

SET client_min_messages = error;
DROP SCHEMA regress_flakeid_shop CASCADE;
DROP EXTENSION flakeid, flakeid_tables;
DROP OWNED BY regress_flakeid_owner, regress_flakeid_mallory, regress_flakeid_both;
DROP ROLE regress_flakeid_both, regress_flakeid_owner, regress_flakeid_mallory, regress_flakeid_reader;
