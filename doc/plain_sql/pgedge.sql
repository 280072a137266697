-- Readers of ids of the layout pgedge, for servers where flakeid cannot be installed:
--   time:41:1ms node:10 sequence:12 epoch=2023-01-01T00:00:00Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION pgedge_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2023-01-01 00:00:00' + (id >> 22 & 2199023255551) * interval '1000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION pgedge_timestamp(bigint) IS 'when an id of layout pgedge was made';

CREATE FUNCTION pgedge_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 12 & 1023)::integer END
$$;
COMMENT ON FUNCTION pgedge_node(bigint) IS 'node that made an id of layout pgedge';

CREATE FUNCTION pgedge_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 4095)::integer END
$$;
COMMENT ON FUNCTION pgedge_sequence(bigint) IS 'counter of an id of layout pgedge within its tick';
