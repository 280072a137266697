-- Every layout of the field: ids of others, spans, who may generate with which, how one ends.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
CREATE EXTENSION flakeid;

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

-- Those of CockroachDB have no sequence: they are read, searched and named, and none is made.
CREATE TEMP TABLE cockroachdb (id bigint, unix_us bigint, node int);
\set file :abs_srcdir '/test/vectors/cockroachdb.csv'
COPY cockroachdb FROM :'file' (FORMAT csv, HEADER);
SELECT count(*) FROM cockroachdb;
CREATE TEMP VIEW dated AS SELECT *, '1970-01-01Z'::timestamptz + unix_us / 3600000000 * interval '1 h' + unix_us % 3600000000 * interval '1 us' AS at FROM cockroachdb;
SELECT * FROM dated d WHERE NOT (
    flake_timestamp(id, 'cockroachdb') = at AND flake_node(id, 'cockroachdb') = d.node AND flake_sequence(id, 'cockroachdb') = 0
    AND flake_field(id, 'time', 'cockroachdb') = (unix_us - 1420070400000000) / 10
    AND flake_make(at, d.node, 0, 'cockroachdb') = id
    AND flake_floor(at, 'cockroachdb') = id - d.node AND flake_ceil(at + interval '9 us', 'cockroachdb') = id - d.node + 32767
    AND flake_in_range(id, tstzrange(at, at, '[]'), 'cockroachdb') = (at > '2015-01-01Z') AND NOT flake_in_range(id, tstzrange(NULL, at), 'cockroachdb')
    AND flake_valid(id, 'cockroachdb') = (at < now()));
SELECT * FROM flake_inspect(1134663890672549889, 'cockroachdb');
SELECT flake_explain(1134663890672549889, 'cockroachdb');
SELECT layout FROM flake_guess(148656994422095873) LIMIT 1;
SELECT pg_temp.raised($$SELECT flake_field(5, 'sequence', 'cockroachdb')$$);
SELECT pg_temp.raised($$SELECT flake_make(now(), 1, 1, 'cockroachdb')$$);
SET flakeid.layout = 'cockroachdb';
SELECT count(*) FROM dated d WHERE NOT ((id <@ tstzrange(at, at, '[]')) = (at > '2015-01-01Z') AND flake_timestamp(id) = at AND flake_bucket('1 h', id) = date_bin('1 h', at, '2001-01-01Z'));
SELECT count(*) > 100 AS some FROM dated WHERE id <@ tstzrange('2017-01-01Z', '2060-01-01Z');
SELECT call, pg_temp.raised(call) FROM unnest(ARRAY['SELECT flake_next()', 'SELECT flake_block(5)', 'SELECT flake_next_many(2)', 'SELECT flake_settled()',
    'SELECT flake_next(''cockroachdb'')', 'SELECT flake_next(''cockroachdb'', 0)', 'SELECT flake_settled(''cockroachdb'')', 'SELECT flake_next(''time:41:1ms node:10'')']) AS call;
SELECT name, value FROM flakeid.status WHERE name IN ('can generate', 'ids per second and node') ORDER BY name COLLATE "C";
SELECT flake_next('snowflake') > 0 AS of_another, flake_next('time:48:10us node:14 sequence:1 epoch=2015-01-01') > 0 AS of_the_same_bits;
RESET flakeid.layout;
SELECT name, ids_per_second, alive, repeats, nodes_for_1m FROM flakeid.layouts WHERE ids_per_second = 0;

SELECT flake_timestamp(175928847299117063, 'discord'), flake_field(175928847299117063, 'worker', 'discord') AS worker,
       flake_field(175928847299117063, 'process', 'discord') AS process, flake_sequence(175928847299117063, 'discord');
SELECT flake_timestamp(1541815603606036480, 'twitter');
SELECT * FROM flake_inspect(175928847299117063, 'discord');
SELECT flake_field(175928847299117063, 'shard', 'discord');
SELECT flake_timestamp(-1, 'snowflake');
SELECT flake_timestamp(9007199254740992, 'js53');

SELECT flake_explain(175928847299117063, 'discord');

-- A span of nodes: ids move on to the next node before they run ahead.
SET flakeid.node = '8-15';
SET flakeid.layout = 'time:41:1ms node:5 sequence:2';
SELECT name, value FROM flakeid.status WHERE name IN ('node', 'ids per second and node', 'ids per second') ORDER BY name COLLATE "C";
SELECT pg_sleep(extract(epoch FROM flake_timestamp(flake_next()) - clock_timestamp())); -- past the horizon of ids before
SELECT count(DISTINCT id), min(flake_node(id)) >= 8 AND max(flake_node(id)) <= 15 AS in_span, count(DISTINCT flake_node(id)) > 1 AS moves_on
    FROM (SELECT flake_next() AS id FROM generate_series(1, 1000)) s;
SET flakeid.node = '30-40';
SELECT flake_next();
SELECT value FROM flakeid.status WHERE name = 'node';
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

-- Full since 2024-11-20: generating says so and names a successor, reading goes on.
SELECT flake_next('uidgenerator');
SELECT flake_timestamp(5972195147142394100, 'uidgenerator');
SELECT flake_next('time:30:1h sequence:20');

-- Near its end: a warning once per session.
SELECT set_config('flakeid.layout', format('time:31:1s node:5 sequence:27 epoch=%ss',
    extract(epoch FROM now())::bigint - (1::bigint << 31) + left_s), false) IS NOT NULL AS near_its_end
    FROM (VALUES (2 * 365 * 86400)) AS v (left_s);
\set VERBOSITY sqlstate
SELECT flake_next() > 0;
SELECT flake_next() > 0;
\set VERBOSITY default
RESET flakeid.layout;

DROP EXTENSION flakeid;
