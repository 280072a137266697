-- Settings: defaults, bounds, bad values, who may set them, and that they take effect.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE EXTENSION flakeid;
SELECT flake_next() > 0 AS loaded;

SELECT name, boot_val, unit, vartype, context, min_val, max_val, enumvals FROM pg_settings WHERE name LIKE 'flakeid.%' ORDER BY name;
SHOW flakeid.layout;
SHOW flakeid.node;
SHOW flakeid.secret;
SHOW flakeid.secret_file;
SHOW flakeid.max_ahead;
SHOW flakeid.when_ahead;
SHOW flakeid.max_leap;
SHOW flakeid.cache;
SELECT count(*) AS undescribed FROM pg_settings WHERE name LIKE 'flakeid.%' AND short_desc = '';

-- Every good value is kept as it was written.
CREATE TABLE value (number int GENERATED ALWAYS AS IDENTITY, name text, value text);
INSERT INTO value (name, value) VALUES
    ('layout', 'randflake'), ('layout', 'time:31:1s node:5 sequence:27'), ('layout', ' time:41:1ms  node:10 sequence:12 epoch=0 '),
    ('node', '1'), ('node', '1023'), ('node', '2147483647'), ('node', '8-15'), ('node', '7-7'), ('node', '0-2147483647'), ('node', '007'),
    ('node', 'hostname'), ('node', 'ip'), ('secret_file', '/nowhere/secret'), ('secret_file', ''),
    ('max_ahead', '1s'), ('max_ahead', '1000ms'), ('max_ahead', '1h'), ('max_ahead', '1d'), ('when_ahead', 'error'), ('when_ahead', 'wait'),
    ('max_leap', '0'), ('max_leap', '1s'), ('max_leap', '2147483647'), ('cache', '1'), ('cache', '1000000');
CREATE FUNCTION shown_after(name text, value text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('flakeid.' || name, value, true);
    RETURN current_setting('flakeid.' || name);
END $$;
SELECT name, value, shown_after(name, value) FROM value ORDER BY number;
-- and undone with the transaction
SHOW flakeid.layout;
SHOW flakeid.node;
SHOW flakeid.cache;

-- Bad values are refused when they are set.
\pset format unaligned
\pset tuples_only
TRUNCATE value;
INSERT INTO value (name, value) VALUES
    ('layout', ''), ('layout', 'snowflakes'), ('layout', 'node:10 sequence:12'),
    ('node', ''), ('node', '-1'), ('node', '2147483648'), ('node', '99999999999999999999'), ('node', '1.5'), ('node', ' 5'), ('node', '5 '),
    ('node', '5-'), ('node', '-5'), ('node', '9-8'), ('node', '1-2-3'), ('node', '0x10'), ('node', 'Hostname'), ('node', 'any'),
    ('secret_file', 'secret'), ('secret_file', './secret'), ('secret_file', '~/secret'),
    ('max_ahead', '999ms'), ('max_ahead', '0'), ('max_ahead', '-1'), ('max_ahead', '86400001ms'), ('max_ahead', 'soon'),
    ('when_ahead', 'never'), ('when_ahead', ''), ('max_leap', '-1'), ('max_leap', '69000d'), ('cache', '0'), ('cache', '1000001'), ('cache', '1.5x'),
    ('secret', '6e4e2ba5d9d4d5bb5b5c5d5e5f606162'), ('nonsense', '1'), ('lay', 'snowflake');
SELECT regexp_replace(pg_temp.raised(format('SET flakeid.%s = %L', name, value)), '\((\d+) m?s \.\. (\d+) m?s\)', '(\1 .. \2)') -- units came with 17
    FROM value ORDER BY number;
\pset format aligned
\pset tuples_only off
SHOW flakeid.node;

-- Only superusers set them, in any way.
CREATE ROLE regress_flakeid_user CREATEDB CREATEROLE;
TRUNCATE value;
INSERT INTO value (name, value) VALUES ('layout', 'twitter'), ('node', '5'), ('secret_file', '/nowhere/secret'), ('secret', '0123456789abcdef'),
    ('max_ahead', '1h'), ('when_ahead', 'error'), ('max_leap', '0'), ('cache', '100');
GRANT ALL ON value TO regress_flakeid_user;
GRANT CREATE ON SCHEMA public TO regress_flakeid_user;
CREATE DATABASE regress_flakeid_own OWNER regress_flakeid_user TEMPLATE template0;
CREATE TABLE way (statement text);
INSERT INTO way VALUES ('SET flakeid.%1$s = %2$L'), ('SET LOCAL flakeid.%1$s = %2$L'), ('SELECT set_config(''flakeid.%1$s'', %2$L, false)'),
    ('RESET flakeid.%1$s'), ('ALTER ROLE regress_flakeid_user SET flakeid.%1$s = %2$L'),
    ('ALTER DATABASE regress_flakeid_own SET flakeid.%1$s = %2$L'), ('ALTER ROLE regress_flakeid_user IN DATABASE regress_flakeid_own SET flakeid.%1$s = %2$L'),
    ('CREATE FUNCTION with_setting() RETURNS flake LANGUAGE sql SET flakeid.%1$s = %2$L AS ''SELECT flake_next()''; SELECT with_setting()');
GRANT SELECT ON way TO PUBLIC;
SET ROLE regress_flakeid_user;
SELECT left(pg_temp.raised(format(statement, name, value)), 5) AS sqlstate, statement, count(*), string_agg(name, ' ' ORDER BY number) AS names
    FROM value, way GROUP BY 1, 2 ORDER BY statement COLLATE "C", 1;
ALTER SYSTEM SET flakeid.node = 5;
UPDATE pg_settings SET setting = 5 WHERE name = 'flakeid.node';
SHOW flakeid.node;
SHOW flakeid.layout;
-- what tells of a secret is for superusers
SELECT left(pg_temp.raised('SHOW flakeid.secret'), 5), left(pg_temp.raised('SHOW flakeid.secret_file'), 5), left(pg_temp.raised($$SELECT current_setting('flakeid.secret')$$), 5);
SELECT name FROM pg_settings WHERE name LIKE 'flakeid.secret%';
-- all else is for everyone
SHOW flakeid.max_ahead;
SELECT name, value, CASE source WHEN 'database' THEN 'default' ELSE source END AS source -- defaults.sql sets them so where the server differs
    FROM flakeid.status WHERE name NOT LIKE 'flakeid.secret%' AND name NOT IN ('preloaded', 'settled mark', 'settled mark held back', 'horizon', 'end of the layout') ORDER BY name COLLATE "C";
RESET ROLE;
-- Superusers may let others.
GRANT SET ON PARAMETER flakeid.node TO regress_flakeid_user;
SET ROLE regress_flakeid_user;
SET flakeid.node = 5;
SELECT flake_node(flake_next());
RESET flakeid.node;
RESET ROLE;
REVOKE SET ON PARAMETER flakeid.node FROM regress_flakeid_user;

-- Nobody gets past this before the library is loaded, when settings are placeholders that anyone sets.
\c
SET client_min_messages = error; -- if it is preloaded, they are errors at once
SET ROLE regress_flakeid_user;
DO $$
DECLARE
    v record;
BEGIN
    FOR v IN SELECT * FROM value LOOP
        BEGIN
            PERFORM set_config('flakeid.' || v.name, v.value, false);
        EXCEPTION WHEN insufficient_privilege OR cant_change_runtime_param THEN NULL;
        END;
    END LOOP;
END $$;
ALTER ROLE regress_flakeid_user SET flakeid.node = 5;
ALTER DATABASE regress_flakeid_own SET flakeid.node = 5;
SELECT flake_node(flake_next());
SELECT name, setting FROM pg_settings WHERE name LIKE 'flakeid.%' ORDER BY name;
RESET ROLE;
SHOW flakeid.secret_file;
RESET client_min_messages;
\set ECHO none
\i :file
\set ECHO all

-- They take effect at once, as far as the transaction or function reaches.
SELECT flake_node(flake_next());
BEGIN;
SET LOCAL flakeid.node = 17;
SELECT flake_node(flake_next());
SAVEPOINT s;
SET flakeid.node = 18;
SET flakeid.layout = 'twitter';
SELECT flake_node(flake_next()), layout_text LIKE '%datacenter%' AS twitter FROM flake_inspect(flake_next());
ROLLBACK TO s;
SELECT flake_node(flake_next()), layout_text LIKE '%datacenter%' AS twitter FROM flake_inspect(flake_next());
COMMIT;
SELECT flake_node(flake_next());
CREATE FUNCTION of_shard(id bigint) RETURNS int LANGUAGE sql SET flakeid.layout = 'instagram' AS $$ SELECT flake_field(id, 'shard')::int $$;
SELECT of_shard(flake_make(now(), 77, 0, 'instagram')), flake_node(8192);
SET flakeid.node = '20-23';
SELECT flake_node(flake_next()), value FROM flakeid.status WHERE name = 'node';
RESET flakeid.layout;
RESET flakeid.node;
-- per database and role, from the next session on
ALTER DATABASE :"DBNAME" SET flakeid.node = 7;
ALTER ROLE CURRENT_USER IN DATABASE :"DBNAME" SET flakeid.layout = 'tsid';
\c
SELECT flake_node(flake_next()), abs(extract(epoch FROM clock_timestamp() - flake_timestamp(flake_next(), 'tsid'))) < 86400 AS tsid;
SELECT name, value, source FROM flakeid.status WHERE name IN ('flakeid.node', 'flakeid.layout', 'node') ORDER BY name COLLATE "C";
ALTER DATABASE :"DBNAME" RESET flakeid.node;
ALTER ROLE CURRENT_USER IN DATABASE :"DBNAME" RESET flakeid.layout;
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
SELECT flake_node(flake_next());

DROP FUNCTION shown_after, of_shard;
DROP TABLE value, way;
DROP DATABASE regress_flakeid_own;
DROP EXTENSION flakeid;
REVOKE ALL ON SCHEMA public FROM regress_flakeid_user;
DROP ROLE regress_flakeid_user;
