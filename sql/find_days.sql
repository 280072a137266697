-- Finding ids by days, local times and several ranges; buckets of time.
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
\pset format unaligned
\pset tuples_only
CREATE TABLE event (id flake PRIMARY KEY, at timestamptz);
INSERT INTO event SELECT flake_make(at, 0, 0), at FROM generate_series('2026-03-25Z'::timestamptz, '2026-04-05Z', '7 min') AS at;
INSERT INTO event SELECT flake_make(at, 3, 4095), at FROM generate_series('2026-10-20Z'::timestamptz, '2026-11-01Z', '7 min') AS at;
INSERT INTO event VALUES (flake_make('2026-03-29Z', 1, 0), '2026-03-29Z'), (flake_make('2026-03-28 23:59:59.999Z', 1, 4095), '2026-03-28 23:59:59.999Z'), (flake_make('2010-11-06Z', 0, 0), '2010-11-06Z');
ANALYZE event;

-- Days and local times mean what the zone of the session says, through an index, in a plan that was made under another zone too.
PREPARE days AS SELECT count(*), min(at), max(at) FROM event WHERE id <@ daterange('2026-03-29', '2026-03-30');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE days;
EXECUTE days;
SET timezone = 'Europe/Berlin';
EXECUTE days;
SET timezone = 'UTC';
EXECUTE days;
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id <@ tsrange('2026-03-29 02:00', '2026-03-29 03:00');
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id <@ tstzmultirange(tstzrange('2026-03-29 02:00Z', '2026-03-29 03:00Z'), tstzrange('2026-03-30 02:00Z', NULL));
CREATE VIEW of_view AS SELECT count(*) FROM event WHERE id <@ daterange('2026-03-29', '2026-03-30');
SELECT * FROM of_view;
SET timezone = 'Asia/Tokyo';
SELECT * FROM of_view;
SET timezone = 'UTC';

-- The same rows as the time itself finds, in zones that lack an hour, have one twice, or lack a day
CREATE TABLE wrong (zone text, range text, by_id bigint, by_time bigint);
DO $$
DECLARE
    zone text;
    r text;
BEGIN
    FOREACH zone IN ARRAY ARRAY['UTC', 'Europe/Berlin', 'Africa/Cairo', 'America/Havana', 'Australia/Lord_Howe', 'Pacific/Apia'] LOOP
        PERFORM set_config('timezone', zone, true);
        FOREACH r IN ARRAY ARRAY['[2026-03-29,2026-03-30)', '[2026-03-29,2026-03-29]', '(2026-03-28,2026-04-01)', '(,2026-03-29)', '[2026-03-29,)', '(,)', 'empty', '[2026-10-25,2026-10-26)',
                '[-infinity,2026-03-29)', '[2026-03-29,infinity]', '(,-infinity]'] LOOP
            EXECUTE format('INSERT INTO wrong SELECT %1$L, %2$L, count(*) FILTER (WHERE id <@ %2$L::daterange), count(*) FILTER (WHERE at <@ flake_moments(%2$L::daterange)) FROM event', zone, r);
            EXECUTE format('INSERT INTO wrong SELECT %1$L, %2$L, (SELECT count(*) FROM event WHERE id <@ %2$L::daterange),
                (SELECT count(*) FROM event WHERE (isfinite(lower(d)) IS NOT TRUE OR at >= lower(d)::timestamptz) AND (isfinite(upper(d)) IS NOT TRUE OR at < upper(d)::timestamptz)
                     AND NOT isempty(d) AND upper(d) IS DISTINCT FROM ''-infinity'' AND lower(d) IS DISTINCT FROM ''infinity'')
                FROM (SELECT %2$L::daterange AS d) AS v WHERE %2$L !~ ''infinity[])]''', zone, r);
        END LOOP;
        FOREACH r IN ARRAY ARRAY['[2026-03-29 01:30,2026-03-29 03:30)', '(2026-03-29 02:30,2026-03-29 02:45]', '[2026-03-29 02:45,2026-03-29 03:00)', '[2026-10-25 02:00,2026-10-25 02:30]', '[2026-10-25 02:30,2026-10-25 03:00)', '(,2026-04-01 12:00]'] LOOP
            EXECUTE format('INSERT INTO wrong SELECT %1$L, %2$L, (SELECT count(*) FROM event WHERE id <@ %2$L::tsrange), (SELECT count(*) FROM event WHERE at <@ flake_moments(%2$L::tsrange))', zone, r);
        END LOOP;
    END LOOP;
END $$;
SELECT count(*) > 150 AS many, count(DISTINCT by_id) > 10 AS different FROM wrong;
SELECT * FROM wrong WHERE by_id <> by_time;
SELECT flake_moments(tsrange('2026-03-29 02:45', '2026-03-29 03:00')), flake_moments(daterange('2026-03-29', '2026-03-29')), flake_moments('{}'::tstzmultirange), flake_moments('{[2026-01-01Z,2026-01-02Z),[2026-03-01Z,)}'::tstzmultirange);
SET timezone = 'Europe/Berlin';
SELECT flake_moments(tsrange('2026-03-29 02:45', '2026-03-29 03:00')), flake_moments(daterange('2026-03-29', '2026-03-30')) = tstzrange('2026-03-28 23:00Z', '2026-03-29 22:00Z');
SET timezone = 'UTC';

-- Several ranges, by index, without an index, and where nothing is rewritten
SELECT r, (SELECT count(*) FROM event WHERE id <@ r::tstzmultirange) = (SELECT count(*) FROM event WHERE at <@ r::tstzmultirange) AS same,
       (SELECT count(*) FROM event WHERE at <@ r::tstzmultirange) AS rows, (SELECT count(*) FROM event WHERE id <@ (SELECT r::tstzmultirange)) = (SELECT count(*) FROM event WHERE at <@ r::tstzmultirange) AS whole
FROM unnest(ARRAY['{}', '{(,)}', '{[2026-03-29Z,2026-03-29Z]}', '{[2026-03-26Z,2026-03-27Z),(2026-03-29Z,2026-03-30Z],[2026-10-25Z,)}', '{(,2026-03-26Z),(2026-04-01Z,2026-10-21Z)}']) AS r;
SELECT (-99)::bigint <@ '{(,)}'::tstzmultirange, (-99)::bigint <@ '(,)'::daterange, (-99)::bigint <@ tstzrange(NULL, NULL), NULL::bigint <@ '(,)'::daterange, 5::bigint <@ NULL::daterange;

-- Partitions are pruned.
CREATE TABLE part (id flake PRIMARY KEY) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE part_%s PARTITION OF part FOR VALUES FROM (%s) TO (%s)', n, flake_floor('2026-01-01Z'::timestamptz + (n || ' month')::interval), flake_floor('2026-01-01Z'::timestamptz + (n + 1 || ' month')::interval))
FROM generate_series(0, 5) AS n \gexec
EXPLAIN (COSTS OFF) SELECT * FROM part WHERE id <@ daterange('2026-02-10', '2026-03-05');
EXPLAIN (COSTS OFF) SELECT * FROM part WHERE id <@ '{[2026-02-10Z,2026-02-15Z),[2026-03-10Z,2026-03-15Z)}'::tstzmultirange;

-- Ids without a time order, and other layouts by moments
SET flakeid.layout = 'rollback3';
SELECT split_part(pg_temp.raised($$SELECT 5::bigint <@ daterange('2026-01-01', NULL)$$), E'\n', 1), split_part(pg_temp.raised($$SELECT 5::bigint <@ '{(,)}'::tstzmultirange$$), E'\n', 1);
RESET flakeid.layout;
SELECT flake_in_range(175928847299117063, flake_moments(daterange('2016-04-30', '2016-05-01')), 'discord');

-- Buckets
SELECT flake_bucket('1 hour', id) AS hour, count(*) FROM event WHERE id <@ daterange('2026-03-29', '2026-03-30') GROUP BY hour ORDER BY hour LIMIT 3;
SELECT count(*) FROM event WHERE flake_bucket('1 day', id) <> date_bin('1 day', flake_timestamp(id), '2001-01-01Z') OR flake_bucket('7 days', id, '2026-03-28 12:00Z') <> date_bin('7 days', flake_timestamp(id), '2026-03-28 12:00Z');
SELECT flake_bucket('1 hour', NULL), flake_bucket(NULL, 5), extract(isodow FROM flake_bucket('7 days', flake_make('2026-11-28Z', 0, 0)));
DROP VIEW of_view;
DROP TABLE event, part, wrong;
DROP EXTENSION flakeid;
