-- Finding ids by time: bounds, id <@ tstzrange, indexes and partitions.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
CREATE EXTENSION flakeid;

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

-- Plans with constants are made anew when flakeid.layout changes, whatever changes it.
CREATE TABLE of_layout (id flake PRIMARY KEY);
INSERT INTO of_layout SELECT flake_floor('2026-06-01Z'::timestamptz + g * interval '1 hour', 'snowflake') FROM generate_series(0, 47) g;
INSERT INTO of_layout SELECT flake_floor('2026-06-01Z'::timestamptz + g * interval '1 hour', 'mastodon') FROM generate_series(0, 5) g;
PREPARE prepared AS SELECT count(*) FROM of_layout WHERE id <@ tstzrange('2026-06-01Z', '2026-06-03Z');
CREATE VIEW of_view AS SELECT count(*) FROM of_layout WHERE tstzrange('2026-06-01Z', '2026-06-03Z') @> id;
CREATE FUNCTION of_plpgsql() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN RETURN (SELECT count(*) FROM of_layout WHERE id <@ tstzrange('2026-06-01Z', '2026-06-03Z')); END $$;
CREATE FUNCTION simple(id flake) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN RETURN id <@ tstzrange('2026-06-01Z', '2026-06-03Z'); END $$;
CREATE FUNCTION inlined(id flake) RETURNS boolean LANGUAGE sql STABLE AS $$ SELECT id <@ tstzrange('2026-06-01Z', '2026-06-03Z') $$;
CREATE FUNCTION of_sql() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT count(*) FROM of_layout WHERE inlined(id) $$;
CREATE FUNCTION with_set() RETURNS text LANGUAGE plpgsql SET flakeid.layout = 'mastodon' AS $$
BEGIN RETURN concat_ws(' ', of_plpgsql(), of_sql(), (SELECT count FROM of_view)); END $$;
CREATE FUNCTION counts() RETURNS text LANGUAGE plpgsql AS $$
BEGIN RETURN concat_ws(' ', of_plpgsql(), of_sql(), (SELECT count FROM of_view),
    (SELECT count(*) FROM of_layout WHERE inlined(id)), (SELECT count(*) FROM of_layout WHERE simple(id))); END $$;
EXPLAIN (COSTS OFF) EXECUTE prepared;
SELECT counts();
EXECUTE prepared;
SELECT with_set(), counts();
SET flakeid.layout = 'mastodon';
EXPLAIN (COSTS OFF) EXECUTE prepared;
SELECT counts();
EXECUTE prepared;
SET flakeid.layout = 'time:48:1ms sequence:16'; -- the same
EXECUTE prepared;
RESET flakeid.layout;
SELECT counts();
BEGIN;
SET LOCAL flakeid.layout = 'mastodon';
SELECT counts();
SAVEPOINT inner_one;
SET LOCAL flakeid.layout = 'snowflake';
SELECT counts();
ROLLBACK TO inner_one;
SELECT counts();
EXECUTE prepared;
ROLLBACK;
SELECT counts();
EXECUTE prepared;
CREATE ROLE regress_flakeid_finds;
GRANT SELECT ON of_layout, of_view TO regress_flakeid_finds;
SET ROLE regress_flakeid_finds;
SELECT counts(), with_set(); -- which this role may not set
RESET ROLE;
SET flakeid.layout = 'randflake';
EXECUTE prepared;
SET flakeid.layout = 'mastodon';
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) EXECUTE prepared;
EXECUTE prepared;
RESET flakeid.layout;
EXECUTE prepared;
RESET ALL;
SET timezone = 'UTC';
DROP EXTENSION flakeid CASCADE;
EXECUTE prepared;
DROP FUNCTION of_plpgsql, of_sql, with_set, counts;
DROP TABLE IF EXISTS event, part, of_layout;
DROP ROLE regress_flakeid_finds;
DEALLOCATE ALL;
CREATE EXTENSION flakeid;

-- 5,000 random ranges: planned with constants and without, the same rows
CREATE TABLE event (id flake PRIMARY KEY);
INSERT INTO event SELECT flake_make('2026-11-20 12:00Z'::timestamptz + g * interval '1 ms', 1, g & 1) FROM generate_series(-200, 200) g;
ANALYZE event;
DO $$
DECLARE
    r tstzrange;
    constants bigint;
    calls bigint;
BEGIN
    FOR i IN 1..5000 LOOP
        r := (SELECT tstzrange(least(x, y), greatest(x, y), bounds)
            FROM (SELECT '2026-11-20 12:00Z'::timestamptz + trunc(random() * 1000 - 500) * interval '0.5 ms',
                '2026-11-20 12:00Z'::timestamptz + trunc(random() * 1000 - 500) * interval '0.5 ms',
                (ARRAY['[)', '[]', '()', '(]'])[1 + i % 4]) AS v (x, y, bounds));
        EXECUTE format('SELECT count(*) FROM event WHERE id <@ %L::tstzrange', r) INTO constants;
        SELECT count(*) FROM event, (SELECT r OFFSET 0) AS v WHERE id <@ v.r INTO calls;
        ASSERT constants = calls, format('%s: %s, and %s', r, constants, calls);
    END LOOP;
END $$;

-- What is old begins a day after the epoch: serial numbers carry no time, and no range that begins with all that is old finds them.
CREATE TABLE kept (id bigint PRIMARY KEY, made timestamptz);
INSERT INTO kept SELECT n, now() FROM unnest(ARRAY[-5, 0, 1, 1000000, 2147483647, 300000000000]) AS n;
INSERT INTO kept SELECT flake_make(at, 1, 0), at FROM unnest(ARRAY['2010-11-04 01:42:54.657Z', '2010-11-04 12:00Z', '2010-11-05 01:42:54.656Z', '2010-11-05 01:42:54.657Z', '2018-10-10Z']::timestamptz[]) AS at;
DO $$
DECLARE
    r text;
    has text;
    found text;
BEGIN
    SET LOCAL timezone = 'UTC';
    FOREACH r IN ARRAY ARRAY['(,2026-01-01 00:00)', '[-infinity,2026-01-01 00:00)', '(-infinity,infinity)', '[2000-01-01 00:00,2026-01-01 00:00)', '[2010-11-04 01:42:54.657,2026-01-01 00:00]',
            '(2010-11-04 01:42:54.657,2026-01-01 00:00]', '[2010-11-04 01:42:54.658,2026-01-01 00:00)', '(,2010-11-05 01:42:54.657)', '[2010-11-04 01:42:54.657,2010-11-05 00:00)', '[2010-11-04 12:00,2010-11-04 12:00]', '(,)'] LOOP
        FOREACH has IN ARRAY ARRAY['id <@ %L::tstzrange', '%L::tstzrange @> id', 'id <@ (SELECT %L::tstzrange)', 'flake_in_range(id, %L::tstzrange, ''snowflake'')', 'id <@ %L::tsrange', 'id <@ tstzmultirange(%L::tstzrange)',
                'id <@ (SELECT tstzmultirange(%L::tstzrange))', 'id BETWEEN flake_range_floor(%L::tstzrange) AND flake_range_ceil(%1$L::tstzrange)'] LOOP
            EXECUTE format('SELECT string_agg(id::text, '' '' ORDER BY id) FROM kept WHERE ' || has, r) INTO has;
            has := coalesce(has, 'none');
            found := coalesce(found, has);
            ASSERT found = has, format('%s: %s, and %s', r, found, has);
        END LOOP;
        RAISE NOTICE '%: %', r, found;
        found := NULL;
    END LOOP;
END $$;
SELECT flake_in_range(5, '(,)', 'time:20:1ms node:10 sequence:12'), flake_in_range(5, '(,)', 'mastodon'), flake_in_range(5, '[1970-01-01Z,)', 'mastodon'), flake_in_range(5, '(,)', 'js53');
-- A clean-up of what is old takes nothing of today.
DELETE FROM kept WHERE id <@ tstzrange(NULL, now() - interval '90 days');
SELECT count(*) FROM kept WHERE made > now() - interval '1 hour';
DROP TABLE kept;

-- readers with a layout serve in indexes and generated columns
CREATE INDEX ON event (flake_timestamp(id, 'snowflake'));
CREATE TABLE stamped (id flake PRIMARY KEY DEFAULT flake_next(),
    made timestamptz GENERATED ALWAYS AS (flake_timestamp(id, 'snowflake')) STORED);
SELECT date_trunc('milliseconds', clock_timestamp()) AS began \gset
INSERT INTO stamped SELECT FROM generate_series(1, 10);
SELECT count(*) FROM stamped WHERE made = flake_timestamp(id) AND made BETWEEN :'began' AND now() + interval '5 s';
SELECT pg_temp.raised('CREATE INDEX ON event (flake_timestamp(id))');

-- Statements that compare ranges with what has no type yet mean beside flakeid what they mean without it.
SELECT '[2026-11-20,2026-11-21)' <@ tstzrange('2026-11-01', NULL), tstzrange('2026-11-01', NULL) @> '[2026-11-20,2026-11-21)', tstzrange('2026-11-01', NULL) @> NULL,
       '[2026-11-20,2026-11-21)' <@ daterange('2026-11-01', NULL), '[2026-11-20,2026-11-21)' <@ tsrange('2026-11-01', NULL), '{[2026-11-20,2026-11-21)}' <@ tstzmultirange(tstzrange('2026-11-01', NULL));
PREPARE inside AS SELECT $1 <@ tstzrange('2026-11-01', NULL), tstzrange('2026-11-01', NULL) @> $2, $3 <@ daterange('2026-11-01', NULL), $4 <@ tsrange('2026-11-01', NULL);
EXECUTE inside ('[2026-11-20,2026-11-21)', '[2026-11-20,2026-11-21)', '[2026-11-20,2026-11-21)', '[2026-11-20,2026-11-21)');
DEALLOCATE inside;

-- All 64 bits are time.
SELECT flake_floor('2026-11-20Z', 'time:64:1ms'), flake_ceil('2026-11-20Z', 'time:64:1ms'), flake_range_ceil('(,)', 'time:64:1ms'), flake_in_range(flake_floor('2026-11-20Z', 'time:64:1ms'), '[2026-11-20Z,2026-11-20Z]', 'time:64:1ms');

DROP TABLE event, stamped;
DROP EXTENSION flakeid;
