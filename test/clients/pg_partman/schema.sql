CREATE EXTENSION flakeid;
CREATE SCHEMA partman;
CREATE EXTENSION pg_partman SCHEMA partman;

-- pg_partman cuts by numbers, and knows the built-in ones: the column is a bigint.
CREATE TABLE event (id bigint NOT NULL DEFAULT flake_next('tsid'), what text) PARTITION BY RANGE (id);

-- A day is 86,400,000 ms, and each has 2^22 ids. pg_partman begins partitions at multiples of that: at midnight UTC with
-- the layout tsid, whose epoch is a midnight; at 01:42:54.657 with snowflake. The first partition is that of yesterday.
SELECT partman.create_parent('public.event', 'id', 'native', (86400000::bigint << 22)::text, p_premake => 4,
    p_start_partition => (flake_floor(date_trunc('day', now() - interval '1 day', 'UTC'), 'tsid')::bigint)::text);

-- For the tests, and for a look
CREATE VIEW bounds AS
    SELECT c.oid::regclass AS partition, (regexp_match(pg_get_expr(relpartbound, c.oid), 'FROM \(''?(-?\d+)'))[1]::bigint AS lower,
           (regexp_match(pg_get_expr(relpartbound, c.oid), 'TO \(''?(-?\d+)'))[1]::bigint AS upper
    FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid
    WHERE inhparent = 'event'::regclass AND pg_get_expr(relpartbound, c.oid) <> 'DEFAULT';
