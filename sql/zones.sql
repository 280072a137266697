-- Partitions at midnight of a zone, which may lack midnight, have it twice, or lack the day
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
-- All of this happens on one day of each zone: on the next one, where this one ends soon.
SELECT pg_sleep_until(date_trunc('hour', now() + interval '1 min'));
SET client_min_messages = warning;
CREATE EXTENSION flakeid_tables CASCADE;

-- Periods follow each other, none is empty, and each begins with the first moment of its date.
CREATE FUNCTION wrong_periods(zone text, every interval, first timestamptz, past timestamptz, OUT periods int, OUT wrong int, OUT shortest interval, OUT longest interval) LANGUAGE plpgsql AS $$
DECLARE
    s timestamptz := (flakeid.period_of(first, every, zone)).starts;
    e timestamptz;
BEGIN
    periods := 0;
    wrong := 0;
    WHILE s < past LOOP
        e := (flakeid.period_of(s, every, zone)).ends;
        IF e <= s OR (flakeid.period_of(s, every, zone)).starts <> s OR (flakeid.period_of(s + interval '30 min', every, zone)).starts <> s OR (flakeid.period_of(s + (e - s) / 2, every, zone)).starts <> s OR (flakeid.period_of(e - interval '1 us', every, zone)).starts <> s
            OR (flakeid.period_of(e - interval '1 us', every, zone)).ends <> e OR (s AT TIME ZONE zone)::date <= ((s - interval '1 us') AT TIME ZONE zone)::date
            OR every >= interval '1 month' AND extract(day FROM s AT TIME ZONE zone) <> 1
        THEN
            wrong := wrong + 1;
        END IF;
        periods := periods + 1;
        shortest := least(shortest, e - s);
        longest := greatest(longest, e - s);
        s := e;
    END LOOP;
END
$$;
SELECT zone, w.* FROM unnest(ARRAY['Europe/Berlin', 'Africa/Cairo', 'America/Havana', 'Australia/Lord_Howe', 'Pacific/Apia', 'America/Santiago', 'America/St_Johns', 'UTC']) AS zone,
    wrong_periods(zone, '1 day', '2011-01-02 12:00Z', '2012-01-02 12:00Z') AS w;
SELECT zone, every, w.periods, w.wrong FROM unnest(ARRAY['Europe/Berlin', 'Africa/Cairo', 'America/Havana', 'Pacific/Apia', 'America/Santiago']) AS zone,
    (VALUES ('1 week'::interval, '2009-12-02 12:00Z'::timestamptz, '2014-01-02 12:00Z'::timestamptz), ('2 days', '2011-09-02 12:00Z', '2012-04-02 12:00Z'), ('1 month', '2009-12-02 12:00Z', '2014-01-02 12:00Z'), ('1 year', '2001-01-02 12:00Z', '2031-01-02 12:00Z')) AS v (every, first, past),
    wrong_periods(zone, every, first, past) AS w;
-- A date that has a minute, an hour of the one before, and then the rest
SELECT * FROM wrong_periods('America/St_Johns', '1 day', '2010-11-02 12:00Z', '2010-11-12 12:00Z');
SELECT zone, day, flakeid.date_start(day, zone) AS first_moment, flakeid.date_start(day, zone) AT TIME ZONE zone AS says FROM (VALUES
    ('Africa/Cairo', date '2023-04-28'), ('America/Santiago', '2023-09-03'), ('America/Havana', '2023-11-05'), ('Pacific/Apia', '2011-12-30'), ('Pacific/Apia', '2011-12-31'), ('America/St_Johns', '2010-11-07')) AS v (zone, day);

-- Tables: rows of days on which the clock is moved leave a default partition for those of their day.
CREATE FUNCTION bounds(tab regclass, zone text, OUT partitions bigint, OUT gaps bigint, OUT overlapping bigint, OUT not_at_midnight bigint, OUT shortest interval) LANGUAGE sql AS $$
    SELECT count(*), count(*) FILTER (WHERE next > to_time), count(*) FILTER (WHERE next < to_time), count(*) FILTER (WHERE from_time <> flakeid.date_start((from_time AT TIME ZONE zone)::date, zone)), min(to_time - from_time) FILTER (WHERE isfinite(from_time))
    FROM (SELECT p.*, lead(p.from_time) OVER (ORDER BY p.from_time) AS next FROM flakeid.partitions AS p WHERE p.parent = tab AND p.from_time IS NOT NULL) AS o
$$;
CREATE TABLE of_zones (zone text, partitions bigint, gaps bigint, overlapping bigint, not_at_midnight bigint, shortest interval, rows bigint, strays bigint, names text);
DO $$ BEGIN
    FOR i IN 1 .. 5 LOOP
        EXECUTE format('CREATE TABLE t%s (id flake PRIMARY KEY, at timestamptz) PARTITION BY RANGE (id)', i);
        EXECUTE format('CREATE TABLE t%s_default PARTITION OF t%1$s DEFAULT', i);
    END LOOP;
END $$;
INSERT INTO t1 SELECT flake_make(at, 0, 0, 'snowflake'), at FROM generate_series('2023-03-24 23:00Z'::timestamptz, '2023-03-28 21:59Z', '1 hour') AS at;
INSERT INTO t2 SELECT flake_make(at, 0, 0, 'snowflake'), at FROM generate_series('2023-04-26 22:00Z'::timestamptz, '2023-04-30 20:59Z', '1 hour') AS at;
INSERT INTO t3 SELECT flake_make(at, 0, 0, 'snowflake'), at FROM generate_series('2023-11-04 04:00Z'::timestamptz, '2023-11-07 04:59Z', '1 hour') AS at;
INSERT INTO t4 SELECT flake_make(at, 0, 0, 'snowflake'), at FROM generate_series('2023-09-29 13:30Z'::timestamptz, '2023-10-03 12:59Z', '30 min') AS at;
INSERT INTO t5 SELECT flake_make(at, 0, 0, 'snowflake'), at FROM generate_series('2011-12-28 10:00Z'::timestamptz, '2012-01-02 09:59Z', '1 hour') AS at;
CALL flakeid.partition('t1', every => '1 day', ahead => 1, layout => 'snowflake', time_zone => 'Europe/Berlin');
CALL flakeid.partition('t2', every => '1 day', ahead => 1, layout => 'snowflake', time_zone => 'Africa/Cairo');
CALL flakeid.partition('t3', every => '1 day', ahead => 1, layout => 'snowflake', time_zone => 'America/Havana');
CALL flakeid.partition('t4', every => '1 day', ahead => 1, layout => 'snowflake', time_zone => 'Australia/Lord_Howe');
CALL flakeid.partition('t5', every => '1 day', ahead => 1, layout => 'snowflake', time_zone => 'Pacific/Apia');
DO $$
DECLARE
    z text;
BEGIN
    FOR i IN 1 .. 5 LOOP
        z := (SELECT time_zone FROM flakeid.partition_declared(format('t%s', i)::regclass));
        -- one gap: from the days of the rows to those of now
        EXECUTE format('INSERT INTO of_zones SELECT %L, b.*, (SELECT count(*) FROM t%s), (SELECT count(*) FROM t%2$s_default),
            (SELECT string_agg(substr(partition::text, 4), '' '' ORDER BY from_time) FROM flakeid.partitions WHERE parent = ''t%2$s''::regclass AND from_time < now() - interval ''3 days'') FROM bounds(''t%2$s'', %1$L) AS b', z, i);
        EXECUTE format('SELECT count(*) FROM t%s WHERE substr(tableoid::regclass::text, 4) <> to_char(at AT TIME ZONE %L, ''YYYY_MM_DD'')', i, z) INTO z;
        ASSERT z = '0', z || ' rows are in the partition of another day';
    END LOOP;
END $$;
SELECT * FROM of_zones;
SELECT substr(max(partition::text), 4) = to_char(now() AT TIME ZONE 'Pacific/Apia' + interval '1 day', 'YYYY_MM_DD') AS of_tomorrow_there
FROM flakeid.partitions WHERE parent = 't5'::regclass AND partition <> 't5_default'::regclass;

-- The rules of the zone have changed since partitions were made: no gap, no overlap, and no sliver.
CREATE FUNCTION local_day(days int, hours int) RETURNS flake LANGUAGE sql AS $$ SELECT flake_floor(flakeid.date_start((now() AT TIME ZONE 'Europe/Berlin')::date + days, 'Europe/Berlin') + hours * interval '1 hour', 'snowflake') $$;
CREATE TABLE later (id flake PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
CREATE TABLE earlier (id flake PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
SELECT local_day(-1, 1) AS later_from, local_day(1, 1) AS later_to, local_day(-1, -1) AS earlier_from, local_day(1, -1) AS earlier_to \gset
CREATE TABLE later_1 PARTITION OF later FOR VALUES FROM (:later_from) TO (:later_to);
CREATE TABLE earlier_1 PARTITION OF earlier FOR VALUES FROM (:earlier_from) TO (:earlier_to);
CALL flakeid.partition('later', every => '1 day', ahead => 3, time_zone => 'Europe/Berlin');
CALL flakeid.partition('earlier', every => '1 day', ahead => 3, time_zone => 'Europe/Berlin');
SELECT tab, b.partitions, b.gaps, b.overlapping, b.not_at_midnight, b.shortest > interval '20 hours' AS whole_days FROM unnest(ARRAY['later', 'earlier']::regclass[]) AS tab, bounds(tab, 'Europe/Berlin') AS b;
INSERT INTO later DEFAULT VALUES;

-- Retention in the zone, months, and a plain table
CREATE TABLE event (id flake PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE event_%s PARTITION OF event FOR VALUES FROM (%s) TO (%s)', d, flake_floor(flakeid.date_start(t - d, 'Asia/Tokyo'), 'snowflake'), flake_floor(flakeid.date_start(t - d + 1, 'Asia/Tokyo'), 'snowflake'))
FROM generate_series(1, 4) AS d, (SELECT (now() AT TIME ZONE 'Asia/Tokyo')::date) AS v (t)
\set ECHO none
\gexec
\set ECHO all
CALL flakeid.partition('event', every => '1 day', ahead => 1, keep => '2 days', time_zone => 'Asia/Tokyo');
SELECT partition FROM flakeid.partitions WHERE NOT attached ORDER BY 1;
CREATE TABLE plain (id flake PRIMARY KEY DEFAULT flake_next());
INSERT INTO plain DEFAULT VALUES;
CALL flakeid.partition('plain', every => '1 month', ahead => 14, time_zone => 'America/Santiago');
SELECT b.partitions, b.gaps, b.overlapping, b.not_at_midnight FROM bounds('plain', 'America/Santiago') AS b;
SELECT count(*) FROM flakeid.partitions WHERE parent = 'plain'::regclass AND from_time > now() AND extract(day FROM from_time AT TIME ZONE 'America/Santiago') <> 1;

-- What is refused
\set SHOW_CONTEXT never
CALL flakeid.partition('event', every => '12 hours', time_zone => 'Europe/Berlin');
CALL flakeid.partition('event', every => '24 hours', time_zone => 'UTC');
CALL flakeid.partition('event', every => '1 day', time_zone => 'Europe/Nowhere');
DROP TABLE t1, t2, t3, t4, t5, of_zones, later, earlier, event, plain, event_3, event_4;
DROP FUNCTION wrong_periods, bounds, local_day;
DROP EXTENSION flakeid_tables, flakeid;
