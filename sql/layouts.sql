-- Every layout of the field: presets, layout texts, ids of others, finding by time, blocks, spans.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
CREATE EXTENSION flakeid;

SELECT name, layout_text, ids_per_second, nodes, first_date, end_date, enciphered, alive FROM flake_layouts;

-- A layout prints back as its normal text, and that text is its own normal text.
SELECT name FROM flake_layouts WHERE (flake_layout(layout_text)).layout_text <> layout_text;
SELECT layout_text, ids_per_second, nodes, first_date, end_date, enciphered, alive FROM unnest(ARRAY[
    'time:31:1s node:5 sequence:27',
    ' sequence:12   time:41:1000us  a:3 b:7 epoch=1288834974657 ',
    'time:20:7200s sequence:10 epoch=-86400s',
    'node:1 time:42:1ms sequence:21']) AS t, flake_layout(t);

-- The presets that may have made an id which the layout makes from now on
SELECT name, expected, got FROM (VALUES
    ('snowflake', 'twitter', true), ('twitter', 'snowflake', true), ('snowflake', 'snowflake', false),
    ('snowflake', 'rollback2', false), ('rollback2', 'rollback3', true), ('tsid', 'snowflake', true),
    ('snowflake', 'tsid', false), ('uidgenerator31', 'uidgenerator', true), ('uidgenerator30', 'uidgenerator', true),
    ('uidgenerator', 'uidgenerator31', false), ('randflake', 'snowflake', false)) AS t (name, other, expected),
    LATERAL (SELECT other = ANY (repeats) AS got FROM flake_layouts l WHERE l.name = t.name) AS l
WHERE got IS DISTINCT FROM expected;

-- Ids of others

CREATE TEMP TABLE bwmarrin (id bigint, unix_ms bigint, node int, step int,
    base2 text, base32 text, base36 text, base58 text, base64 text);
\set file :abs_srcdir '/test/vectors/bwmarrin.csv'
COPY bwmarrin FROM :'file' (FORMAT csv, HEADER);
SELECT count(*) FROM bwmarrin;
SELECT * FROM bwmarrin b WHERE NOT (
    flake_timestamp(id, 'snowflake') = to_timestamp(unix_ms / 1000.0)
    AND flake_node(id, 'snowflake') = b.node AND flake_sequence(id, 'snowflake') = step
    AND flake_make(to_timestamp(unix_ms / 1000.0), b.node, step, 'snowflake') = id);

CREATE TEMP TABLE sonyflake_v1 (id bigint, ticks bigint, sequence int, machine int);
\set file :abs_srcdir '/test/vectors/sonyflake_v1.csv'
COPY sonyflake_v1 FROM :'file' (FORMAT csv, HEADER);
SELECT count(*) FROM sonyflake_v1;
SELECT * FROM sonyflake_v1 s WHERE NOT (
    flake_field(id, 'time', 'sonyflake') = ticks
    AND flake_timestamp(id, 'sonyflake') = '2014-09-01Z'::timestamptz + ticks * interval '10 ms'
    AND flake_node(id, 'sonyflake') = machine AND flake_sequence(id, 'sonyflake') = s.sequence
    AND flake_make('2014-09-01Z'::timestamptz + ticks * interval '10 ms', machine, s.sequence, 'sonyflake') = id);

CREATE TEMP TABLE sonyflake_v2 (id bigint, unix_ms bigint, sequence int, machine int,
    bits_sequence int, bits_machine int, time_unit_ms int, start_unix_ms bigint);
\set file :abs_srcdir '/test/vectors/sonyflake_v2.csv'
COPY sonyflake_v2 FROM :'file' (FORMAT csv, HEADER);
ALTER TABLE sonyflake_v2 ADD layout text;
UPDATE sonyflake_v2 SET layout = format('time:%s:%sms sequence:%s machine:%s epoch=%sms',
    63 - bits_sequence - bits_machine, time_unit_ms, bits_sequence, bits_machine, start_unix_ms);
SELECT layout, count(*) FROM sonyflake_v2 GROUP BY layout ORDER BY layout COLLATE "C";
SELECT * FROM sonyflake_v2 s WHERE NOT (
    flake_timestamp(id, layout) = to_timestamp((unix_ms - (unix_ms - start_unix_ms) % time_unit_ms) / 1000.0)
    AND flake_node(id, layout) = machine AND flake_sequence(id, layout) = s.sequence
    AND flake_make(to_timestamp(unix_ms / 1000.0), machine, s.sequence, layout) = id);

CREATE TEMP TABLE uidgenerator (id bigint, unix_seconds bigint, worker int, sequence int,
    time_bits int, worker_bits int, seq_bits int);
\set file :abs_srcdir '/test/vectors/uidgenerator.csv'
COPY uidgenerator FROM :'file' (FORMAT csv, HEADER);
ALTER TABLE uidgenerator ADD layout text;
UPDATE uidgenerator SET layout = format('time:%s:1s worker:%s sequence:%s epoch=1463673600s',
    time_bits, worker_bits, seq_bits);
SELECT layout, count(*) FROM uidgenerator GROUP BY layout ORDER BY layout COLLATE "C";
SELECT * FROM uidgenerator u WHERE NOT (
    flake_timestamp(id, layout) = to_timestamp(unix_seconds)
    AND flake_node(id, layout) = worker AND flake_sequence(id, layout) = u.sequence
    AND flake_make(to_timestamp(unix_seconds), worker, u.sequence, layout) = id);

SELECT flake_timestamp(175928847299117063, 'discord'), flake_field(175928847299117063, 'worker', 'discord') AS worker,
       flake_field(175928847299117063, 'process', 'discord') AS process, flake_sequence(175928847299117063, 'discord');
SELECT flake_timestamp(1541815603606036480, 'twitter');
SELECT * FROM flake_inspect(175928847299117063, 'discord');
SELECT flake_field(175928847299117063, 'shard', 'discord');
SELECT flake_timestamp(-1, 'snowflake');
SELECT flake_timestamp(9007199254740992, 'js53');

SELECT flake_explain(175928847299117063, 'discord');

-- Text forms
SELECT * FROM bwmarrin WHERE ROW (base2, base32, base36, base58, base64) IS DISTINCT FROM
    ROW (flake_to_text(id, 'base2'), flake_to_text(id, 'base32'), flake_to_text(id, 'base36'),
         flake_to_text(id, 'base58'), flake_to_text(id, 'base64'));
SELECT id FROM bwmarrin b,
    LATERAL (VALUES ('base2', base2), ('base32', base32), ('base36', base36), ('base58', base58), ('base64', base64)) AS f (format, text)
    WHERE flake_from_text(text, format) <> b.id;
CREATE TEMP TABLE randflake (secret_hex text, unix_seconds bigint, node bigint, sequence bigint,
    raw_id bigint, encrypted_id bigint, base32hex text);
\set file :abs_srcdir '/test/vectors/randflake.csv'
COPY randflake FROM :'file' (FORMAT csv, HEADER);
SELECT count(*), count(*) FILTER (WHERE flake_to_text(encrypted_id, 'base32hex') = base32hex
    AND flake_from_text(base32hex, 'base32hex') = encrypted_id) AS good FROM randflake;
CREATE TEMP TABLE form AS SELECT unnest(ARRAY['base2', 'base16', 'base32', 'base32crockford', 'base32hex',
    'base36', 'base58', 'base62', 'base64', 'base64url']) AS format;
SELECT format, flake_to_text(-1, format) AS minus_one, flake_to_text(0, format) AS zero,
    flake_to_text(175928847299117063, format) AS an_id FROM form;
SELECT format, id FROM form, (SELECT (-9223372036854775808)::bigint AS id UNION SELECT 9223372036854775807
    UNION SELECT encrypted_id FROM randflake) AS ids
    WHERE flake_from_text(flake_to_text(id, format), format) <> id;
SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY flake_to_text(id, 'base32crockford') COLLATE "C") AS before FROM bwmarrin) s WHERE before > id;
SELECT flake_to_text(1, 'base33');
SELECT flake_from_text('', 'base58');
SELECT flake_from_text('0l', 'base58');
SELECT flake_from_text('01', 'base36');
SELECT flake_from_text('zzzzzzzzzzzzz', 'base36');
SELECT flake_from_text('1234567890123456789', 'base62');
SELECT flake_from_text('abc~', 'base32hex');

-- Full since 2024-11-20: generating says so and names a successor, reading goes on.
SELECT flake_next('uidgenerator');
SELECT flake_timestamp(5972195147142394100, 'uidgenerator');
SELECT flake_next('time:30:1h sequence:20');

-- Finding by time

SELECT flake_floor('2026-11-20 12:00Z'::timestamptz, 'snowflake'), flake_ceil('2026-11-20 12:00Z'::timestamptz, 'snowflake');
SELECT flake_floor('-infinity'::timestamptz, 'snowflake'), flake_ceil('infinity'::timestamptz, 'snowflake'),
       flake_floor('1999-01-01'::timestamptz, 'snowflake'), flake_ceil('2999-01-01'::timestamptz, 'snowflake'),
       flake_ceil('2999-01-01'::timestamptz, 'tsid');
SELECT flake_floor(now(), 'randflake');
SELECT flake_ceil(now(), 'rollback3');

CREATE TABLE event (id flake PRIMARY KEY, at timestamptz NOT NULL);
INSERT INTO event SELECT flake_make(at, 1, 0), at
    FROM (SELECT '2026-11-20 12:00Z'::timestamptz + g * interval '1 ms' AS at FROM generate_series(-5000, 5000) g) s;
-- each row: a range, and whether id <@ range says the same as the time itself, as an expression too
SELECT r AS range, count(*) FILTER (WHERE id <@ r) AS ids,
       count(*) FILTER (WHERE (id <@ r) IS DISTINCT FROM (at <@ r)) AS wrong
FROM event, unnest(ARRAY[
    '[2026-11-20 12:00Z,2026-11-20 12:00:01Z)', '(2026-11-20 12:00Z,2026-11-20 12:00:01Z]',
    '[2026-11-20 12:00Z,2026-11-20 12:00Z]', '[2026-11-20 12:00:00.0005Z,2026-11-20 12:00:00.0015Z)',
    '(2026-11-20 12:00:00.0005Z,2026-11-20 12:00:00.0009Z)', 'empty', '(,)', '(,2026-11-20 12:00Z)',
    '[2026-11-20 12:00Z,)', '[-infinity,infinity]', '(infinity,)', '[1990-01-01Z,1991-01-01Z)',
    '[2500-01-01Z,2501-01-01Z)', '[1990-01-01Z,2500-01-01Z)', '(,294276-12-31Z)', NULL]::tstzrange[]) AS r
GROUP BY r ORDER BY r;
-- the same as a condition, which the planner rewrites
SELECT count(*) FROM event WHERE id <@ tstzrange('2026-11-20 12:00Z', '2026-11-20 12:00:01Z');
SELECT count(*) FROM event WHERE id <@ tstzrange('2026-11-20 12:00Z', '2026-11-20 12:00:01Z', '(]');
SELECT count(*) FROM event WHERE id <@ 'empty'::tstzrange;
SELECT count(*) FROM event WHERE id <@ NULL::tstzrange;
SELECT count(*) FROM event WHERE id <@ (SELECT tstzrange('2026-11-20 12:00Z', '2026-11-20 12:00:01Z'));
ANALYZE event;
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id <@ tstzrange('2026-11-20 12:00Z', '2026-11-20 12:00:01Z');
-- the other way round
SELECT count(*), count(*) FILTER (WHERE (r @> id) IS DISTINCT FROM (id <@ r)) AS wrong
FROM event, (VALUES (tstzrange('2026-11-20 12:00Z', '2026-11-20 12:00:01Z')), ('(,)'), ('empty'), (NULL)) AS v (r);
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE tstzrange('2026-11-20 12:00Z', '2026-11-20 12:00:01Z') @> id;
-- what is dear for each row is evaluated once, a range that no row changes is an index condition
CREATE FUNCTION pg_temp.dear(n bigint) RETURNS bigint LANGUAGE plpgsql STABLE COST 1000 AS 'BEGIN RETURN n; END';
CREATE FUNCTION pg_temp.dear(r tstzrange) RETURNS tstzrange LANGUAGE plpgsql STABLE COST 1000 AS 'BEGIN RETURN r; END';
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE pg_temp.dear(id) <@ tstzrange('2026-11-20 12:00Z', '2026-11-20 12:00:01Z');
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id <@ pg_temp.dear(tstzrange('2026-11-20 12:00Z', '2026-11-20 12:00:01Z'));
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id <@ pg_temp.dear(tstzrange(at, NULL));

-- partitions are pruned when the plan is made and when it runs
CREATE TABLE part (id flake DEFAULT flake_next(), what int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE part_%s PARTITION OF part FOR VALUES FROM (%s) TO (%s)', m,
              flake_floor('2026-01-01Z'::timestamptz + (m - 1) * interval '1 month', 'snowflake'),
              flake_floor('2026-01-01Z'::timestamptz + m * interval '1 month', 'snowflake'))
    FROM generate_series(1, 12) m \gexec
INSERT INTO part SELECT flake_make('2026-01-01Z'::timestamptz + g * interval '1 day', 0, 0), g FROM generate_series(0, 364) g;
EXPLAIN (COSTS OFF) SELECT * FROM part
    WHERE id >= flake_floor('2026-05-03Z'::timestamptz, 'snowflake') AND id < flake_floor('2026-05-04Z'::timestamptz, 'snowflake');
PREPARE in_range AS SELECT min(what), max(what), count(*) FROM part WHERE id <@ tstzrange('2026-05-03Z', '2026-06-05Z');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE in_range;
EXECUTE in_range;
SET flakeid.layout = 'time:41:1ms node:10 sequence:12 epoch=2010-11-01T01:42:54.657Z'; -- 3 days earlier
EXECUTE in_range;
SET flakeid.layout = 'randflake';
EXECUTE in_range;
RESET flakeid.layout;
EXECUTE in_range;

-- readers with a layout serve in indexes and generated columns
CREATE INDEX ON event (flake_timestamp(id, 'snowflake'));
CREATE TABLE stamped (id flake PRIMARY KEY DEFAULT flake_next(),
    made timestamptz GENERATED ALWAYS AS (flake_timestamp(id, 'snowflake')) STORED);
SELECT date_trunc('milliseconds', clock_timestamp()) AS began \gset
INSERT INTO stamped SELECT FROM generate_series(1, 10);
SELECT count(*) FROM stamped WHERE made = flake_timestamp(id) AND made BETWEEN :'began' AND now() + interval '5 s';
SELECT pg_temp.raised('CREATE INDEX ON event (flake_timestamp(id))');

-- Ids in bulk

SELECT count(DISTINCT id), count(*) FROM flake_next_many(10000) AS id;
SELECT count(DISTINCT id), count(*) FROM flake_next_many(10000, 'sonyflake2') AS id;
SELECT count(*) FROM flake_next_many(0);
SELECT flake_next_many(-1);
SELECT flake_next_many(NULL);
SELECT count(DISTINCT flake_sequence(id + g)) AS sequences, count(DISTINCT flake_timestamp(id + g)) AS ticks,
       max(flake_sequence(id + g)) - min(flake_sequence(id + g)) AS span
    FROM flake_block(4096) AS id, generate_series(0, 4095) g;
SELECT count(DISTINCT flake_sequence(id + (g << 16), 'sonyflake')) AS sequences
    FROM flake_block(256, 'sonyflake') AS id, generate_series(0, 255) g;
SELECT flake_block(257, 'sonyflake');
SELECT flake_block(0);

-- A span of nodes: ids move on to the next node before they run ahead.
SET flakeid.node = '8-15';
SET flakeid.layout = 'time:41:1ms node:5 sequence:2';
SELECT name, value FROM flake_status WHERE name IN ('node', 'ids per second and node', 'ids per second') ORDER BY name COLLATE "C";
SELECT pg_sleep(extract(epoch FROM flake_timestamp(flake_next()) - clock_timestamp())); -- past the horizon of ids before
SELECT count(DISTINCT id), min(flake_node(id)) >= 8 AND max(flake_node(id)) <= 15 AS in_span, count(DISTINCT flake_node(id)) > 1 AS moves_on
    FROM (SELECT flake_next() AS id FROM generate_series(1, 1000)) s;
SET flakeid.node = '30-40';
SELECT flake_next();
SELECT value FROM flake_status WHERE name = 'node';
-- Ids that a session reserved stay with the node they were reserved for.
SET flakeid.layout = 'time:42:1ms node:10 sequence:4';
SET flakeid.node = '0-7';
SET flakeid.cache = 5;
CREATE TABLE reserved AS SELECT flake_next()::bigint AS id, flake_block(9)::bigint AS first FROM generate_series(1, 5000);
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM reserved UNION ALL SELECT first + g FROM reserved, generate_series(0, 8) g) AS s;
DROP TABLE reserved;
RESET flakeid.cache;
RESET flakeid.node;
RESET flakeid.layout;

-- Who may generate with which layout
CREATE ROLE regress_flakeid_user;
SET ROLE regress_flakeid_user;
SELECT flake_next('tsid') > 0, flake_next('time:42:1ms node:10 sequence:12 epoch=2020-01-01') > 0;
SELECT flake_next('time:42:1ms node:11 sequence:11 epoch=2021-06-01');
SELECT count(*) FROM flake_next_many(3, 'time:42:1ms node:11 sequence:11 epoch=2021-06-01');
RESET ROLE;
SELECT flake_next('time:42:1ms node:11 sequence:11 epoch=2021-06-01') > 0;
DROP ROLE regress_flakeid_user;

-- Near its end: a warning once per session.
SELECT set_config('flakeid.layout', format('time:31:1s node:5 sequence:27 epoch=%ss',
    extract(epoch FROM now())::bigint - (1::bigint << 31) + left_s), false) IS NOT NULL AS near_its_end
    FROM (VALUES (2 * 365 * 86400)) AS v (left_s);
\set VERBOSITY sqlstate
SELECT flake_next() > 0;
SELECT flake_next() > 0;
\set VERBOSITY default
RESET flakeid.layout;

DROP TABLE event, part, stamped;
DROP EXTENSION flakeid;
