-- Readers of ids of the layout sonyflake, for servers where flakeid cannot be installed:
--   time:39:10ms sequence:8 machine:16 epoch=2014-09-01T00:00:00Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION sonyflake_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2014-09-01 00:00:00' + (id >> 24 & 549755813887) * interval '10000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION sonyflake_timestamp(bigint) IS 'when an id of layout sonyflake was made';

CREATE FUNCTION sonyflake_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 65535)::integer END
$$;
COMMENT ON FUNCTION sonyflake_node(bigint) IS 'node that made an id of layout sonyflake';

CREATE FUNCTION sonyflake_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 16 & 255)::integer END
$$;
COMMENT ON FUNCTION sonyflake_sequence(bigint) IS 'counter of an id of layout sonyflake within its tick';

CREATE FUNCTION sonyflake_machine(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 65535) END
$$;
COMMENT ON FUNCTION sonyflake_machine(bigint) IS 'field machine of an id of layout sonyflake';
