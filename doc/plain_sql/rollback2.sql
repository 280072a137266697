-- Readers of ids of the layout rollback2, for servers where flakeid cannot be installed:
--   time:41:1ms node:8 back:2 sequence:12 epoch=2025-01-01T00:00:00Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION rollback2_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2025-01-01 00:00:00' + (id >> 22 & 2199023255551) * interval '1000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION rollback2_timestamp(bigint) IS 'when an id of layout rollback2 was made';

CREATE FUNCTION rollback2_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 14 & 255)::integer END
$$;
COMMENT ON FUNCTION rollback2_node(bigint) IS 'node that made an id of layout rollback2';

CREATE FUNCTION rollback2_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 4095)::integer END
$$;
COMMENT ON FUNCTION rollback2_sequence(bigint) IS 'counter of an id of layout rollback2 within its tick';

CREATE FUNCTION rollback2_back(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 12 & 3) END
$$;
COMMENT ON FUNCTION rollback2_back(bigint) IS 'field back of an id of layout rollback2';
