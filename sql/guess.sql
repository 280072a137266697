-- Is it an id, and of which layout?
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set file :abs_srcdir '/test/sql/secret.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE EXTENSION flakeid;
\pset format unaligned
\pset tuples_only

-- Negative numbers are ids of no plain layout, whatever its width and its highest field.
SELECT l, pg_temp.raised(format('SELECT flake_timestamp(-99, %L)', l)) FROM unnest(ARRAY['mastodon', 'snowflake', 'node:10 time:42:1ms sequence:12']) AS l;
SELECT DISTINCT regexp_replace(pg_temp.raised(format('SELECT %s(-99, %L)', reader, name)), E'\n.*', '') COLLATE "C" AS refused
FROM unnest(ARRAY['discord', 'instagram', 'js53']) AS name,
     unnest(ARRAY['flake_timestamp', 'flake_node', 'flake_sequence', 'flake_inspect', 'flake_explain']) AS reader ORDER BY refused;
SELECT pg_temp.raised($$SELECT flake_field(-99, 'time', 'tsid')$$);
CREATE VIEW plain AS SELECT name FROM flakeid.layouts WHERE NOT enciphered OFFSET 0;
SELECT name FROM plain WHERE flake_valid(-99, name) OR flake_valid((-9223372036854775808)::bigint, name);

-- From the epoch to now, and what may lie ahead of it
SELECT flake_valid(175928847299117063, 'discord'), flake_valid(175928847299117063, 'js53'), flake_valid(0, 'discord'), flake_valid(-1, 'discord');
SELECT flake_valid(flake_next()) AS made, flake_valid(flake_make(now() + interval '4 s', 0, 0)) AS near, flake_valid(flake_make(now() + interval '60 s', 0, 0)) AS far;
SET flakeid.max_ahead = '120s';
SELECT flake_valid(flake_make(now() + interval '60 s', 0, 0)) AS near;
RESET flakeid.max_ahead;
SET flakeid.layout = 'discord';
SELECT flake_valid(flake_ceil('2014-12-31Z', 'twitter')), flake_valid(flake_floor('2026-01-01Z', 'snowflake')), flake_valid(flake_floor('2026-01-01Z', 'discord'));
RESET flakeid.layout;
SELECT num_nulls(flake_valid(NULL), flake_valid(NULL, 'js53'), flake_valid(5, NULL)), (SELECT count(*) FROM flake_guess(NULL));
SELECT pg_temp.raised($$SELECT flake_valid(5, 'nothing')$$);

-- A report over foreign ids does not end at one row that is none.
CREATE TABLE accounts (id bigint PRIMARY KEY);
INSERT INTO accounts VALUES (-99), (103270115826048975), (9223372036854775807);
SELECT pg_temp.raised($$SELECT max(flake_timestamp(id, 'mastodon')) FROM accounts$$);
SELECT max(flake_timestamp(id, 'mastodon')) FROM accounts WHERE flake_valid(id, 'mastodon');
SELECT id, g.layout FROM accounts LEFT JOIN LATERAL (SELECT layout FROM flake_guess(id) LIMIT 1) AS g ON true ORDER BY id;

-- A guess is every preset under which the id is valid, with what the readers say of it.
CREATE TABLE known (id bigint, now_ms bigint, preset text, secret_hex text, source text, guesses text);
\set file :abs_srcdir '/test/vectors/guess.csv'
COPY known FROM :'file' (FORMAT csv, HEADER);
SELECT count(*) > 600 AS many, count(DISTINCT preset) AS presets FROM known;
SELECT g.id, v.id, layout, name FROM (SELECT id, (flake_guess(id)).* FROM known) AS g
FULL JOIN (SELECT id, name FROM known, plain WHERE flake_valid(id, name)) AS v ON g.id = v.id AND g.layout = v.name
WHERE layout IS NULL OR name IS NULL;
SELECT k.id, g.* FROM known k, flake_guess(k.id) g
WHERE (g.timestamp, g.node, g.sequence) IS DISTINCT FROM (flake_timestamp(k.id, g.layout), flake_node(k.id, g.layout), flake_sequence(k.id, g.layout));
SELECT * FROM flake_guess(175928847299117063) WITH ORDINALITY LIMIT 3;

-- Enciphered ids are for who may look into them. A guess says nothing there, and raises nothing.
SELECT pg_temp.raised($$SELECT flake_valid(5, 'randflake')$$) ~ '^55000: no secret is configured';
SELECT pg_temp.secret_file('6e4e2ba5d9d4d5bb5b5c5d5e5f606162') AS secret_file \gset
SET flakeid.secret_file = :'secret_file';
SELECT flake_make('2025-11-20 12:00Z', 131071, 7, 'randflake') AS opaque, flake_make('2050-11-20 12:00Z', 0, 0, 'randflake') AS late \gset
SELECT * FROM flake_guess(:opaque) WHERE layout = 'randflake';
SELECT flake_valid(:opaque, 'randflake'), flake_valid(:late, 'randflake'), (SELECT count(*) FROM flake_guess(:late) WHERE layout = 'randflake');
CREATE ROLE regress_flakeid_user;
SET ROLE regress_flakeid_user;
SELECT count(*) FROM flake_guess(:opaque) WHERE layout = 'randflake';
SELECT pg_temp.raised(format('SELECT flake_valid(%s, ''randflake'')', :opaque)) ~ '^42501: permission denied to look into enciphered ids';
RESET ROLE;
SET flakeid.secret_file = '/nowhere/at/all';
SELECT count(*) FROM flake_guess(:opaque) WHERE layout = 'randflake';
SELECT pg_temp.raised(format('SELECT flake_valid(%s, ''randflake'')', :opaque)) ~ 'could not open the secret file';
SET flakeid.secret_file = :'secret_file';
SELECT count(*) FROM flake_guess(:opaque) WHERE layout = 'randflake';
RESET flakeid.secret_file;
SELECT pg_temp.remove_secret_files();

SELECT p.oid::regprocedure, provolatile, proparallel FROM pg_proc p WHERE proname IN ('flake_valid', 'flake_guess') ORDER BY 1;
DROP VIEW plain;
DROP TABLE accounts, known;
DROP ROLE regress_flakeid_user;
DROP EXTENSION flakeid;
