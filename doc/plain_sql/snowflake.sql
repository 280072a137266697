-- Readers of ids of the layout snowflake, for servers where flakeid cannot be installed:
--   time:41:1ms node:10 sequence:12 epoch=2010-11-04T01:42:54.657Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION snowflake_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2010-11-04 01:42:54.657' + (id >> 22 & 2199023255551) * interval '1000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION snowflake_timestamp(bigint) IS 'when an id of layout snowflake was made';

CREATE FUNCTION snowflake_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 12 & 1023)::integer END
$$;
COMMENT ON FUNCTION snowflake_node(bigint) IS 'node that made an id of layout snowflake';

CREATE FUNCTION snowflake_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 4095)::integer END
$$;
COMMENT ON FUNCTION snowflake_sequence(bigint) IS 'counter of an id of layout snowflake within its tick';
