-- What layouts allow, and the settings in effect.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
CREATE EXTENSION flakeid;

SELECT name, recommended, layout_text, ids_per_second, nodes, first_date, end_date, enciphered, alive FROM flakeid.layouts;

-- How many nodes make 1, 10 and 100 million ids a second; null where a layout has not got them.
SELECT name, nodes_for_1m, nodes_for_10m, nodes_for_100m FROM flakeid.layouts;

-- A layout prints back as its normal text, and that text is its own normal text.
SELECT name FROM flakeid.layouts WHERE (flakeid.describe(layout_text)).layout_text <> layout_text;
SELECT layout_text, ids_per_second, nodes, first_date, end_date, enciphered, alive FROM unnest(ARRAY[
    'time:31:1s node:5 sequence:27',
    ' sequence:12   time:41:1000us  a:3 b:7 epoch=1288834974657 ',
    'time:20:7200s sequence:10 epoch=-86400s',
    'node:1 time:42:1ms sequence:21']) AS t, flakeid.describe(t);

-- The presets that may have made an id which the layout makes from now on
SELECT name, expected, got FROM (VALUES
    ('snowflake', 'twitter', true), ('twitter', 'snowflake', true), ('snowflake', 'snowflake', false),
    ('snowflake', 'rollback2', false), ('rollback2', 'rollback3', true), ('tsid', 'snowflake', true),
    ('snowflake', 'tsid', false), ('uidgenerator31', 'uidgenerator', true), ('uidgenerator30', 'uidgenerator', true),
    ('uidgenerator', 'uidgenerator31', false), ('randflake', 'snowflake', false)) AS t (name, other, expected),
    LATERAL (SELECT other = ANY (repeats) AS got FROM flakeid.layouts l WHERE l.name = t.name) AS l
WHERE got IS DISTINCT FROM expected;
SELECT 'uidgenerator' = ANY ((flakeid.describe('time:31:1s worker:23 sequence:9 epoch=2016-05-19T16:00:00Z')).repeats) AS repeats;

-- flakeid.status says what flake_next() would
SELECT value FROM flakeid.status WHERE name = 'can generate';
SET flakeid.layout = 'uidgenerator';
SELECT value FROM flakeid.status WHERE name = 'can generate';
SET flakeid.layout = 'time:41:2s node:10 sequence:12';
SELECT value FROM flakeid.status WHERE name = 'can generate';
SET flakeid.layout = 'randflake';
SELECT value FROM flakeid.status WHERE name = 'can generate';
SET flakeid.layout = 'js53';
SET flakeid.node = 1024;
SELECT value FROM flakeid.status WHERE name = 'can generate';
RESET flakeid.node;
RESET flakeid.layout;

-- How many set-backs of the clock a layout with back has left
SELECT count(*) FROM flakeid.status WHERE name = 'set-backs left';
SET flakeid.layout = 'rollback2';
SELECT flake_field(flake_next(), 'back') AS back \gset
SELECT value::int + :back AS all_of_them FROM flakeid.status WHERE name = 'set-backs left';
INSERT INTO flakeid.restored VALUES ('back horizon', (2::bigint << 56) + (extract(epoch FROM now()) * 1e6)::bigint);
SELECT value FROM flakeid.status WHERE name = 'set-backs left';
SET flakeid.layout = 'time:41:1ms node:8 back:1 sequence:12';
SELECT value FROM flakeid.status WHERE name = 'set-backs left';
RESET flakeid.layout;

-- What ends, as moments: the layout, and the horizon, which lies past each id
SELECT value LIKE until || ', in % days' AS said, until = end_date AS ends,
        substring(value FROM 'in (.*) days')::int - extract(day FROM until - now()) IN (0, -1) AS days -- the clock goes on meanwhile
    FROM flakeid.status AS s, flakeid.layouts AS l WHERE s.name = 'end of the layout' AND l.name = 'snowflake';
SELECT flake_next() AS id \gset
SELECT value LIKE until || ', %' AS said, until > flake_timestamp(:id) AS past_ids FROM flakeid.status WHERE name = 'horizon';
SET flakeid.layout = 'time:62:1s sequence:1';
SELECT value LIKE 'infinity, in % days' AS said, until FROM flakeid.status WHERE name = 'end of the layout';
RESET flakeid.layout;
SELECT count(*) AS others FROM flakeid.status WHERE until IS NOT NULL AND name NOT IN ('end of the layout', 'horizon');

-- Counters begin anew with a reset (other sessions of a server may count at once).
BEGIN;
SELECT flake_next() IS NOT NULL AS made FROM generate_series(1, 3);
SELECT issued > 0 AS counted, generators > 0 AND generators < max_generators AS room FROM flakeid.stats;
SELECT flakeid.stats_reset();
SELECT stats_reset BETWEEN now() AND clock_timestamp() AS just_now FROM flakeid.stats;
COMMIT;

DROP EXTENSION flakeid;
