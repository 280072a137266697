-- Readers of ids of the layout sonyflake2, for servers where flakeid cannot be installed:
--   time:39:10ms sequence:8 machine:16 epoch=2025-01-01T00:00:00Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION sonyflake2_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2025-01-01 00:00:00' + (id >> 24 & 549755813887) * interval '10000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION sonyflake2_timestamp(bigint) IS 'when an id of layout sonyflake2 was made';

CREATE FUNCTION sonyflake2_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 65535)::integer END
$$;
COMMENT ON FUNCTION sonyflake2_node(bigint) IS 'node that made an id of layout sonyflake2';

CREATE FUNCTION sonyflake2_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 16 & 255)::integer END
$$;
COMMENT ON FUNCTION sonyflake2_sequence(bigint) IS 'counter of an id of layout sonyflake2 within its tick';

CREATE FUNCTION sonyflake2_machine(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 65535) END
$$;
COMMENT ON FUNCTION sonyflake2_machine(bigint) IS 'field machine of an id of layout sonyflake2';
