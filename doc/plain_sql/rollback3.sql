-- Readers of ids of the layout rollback3, for servers where flakeid cannot be installed:
--   back:3 time:38:10ms node:10 sequence:12 epoch=2026-01-01T00:00:00Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION rollback3_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2026-01-01 00:00:00' + (id >> 22 & 274877906943) * interval '10000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION rollback3_timestamp(bigint) IS 'when an id of layout rollback3 was made';

CREATE FUNCTION rollback3_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 12 & 1023)::integer END
$$;
COMMENT ON FUNCTION rollback3_node(bigint) IS 'node that made an id of layout rollback3';

CREATE FUNCTION rollback3_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 4095)::integer END
$$;
COMMENT ON FUNCTION rollback3_sequence(bigint) IS 'counter of an id of layout rollback3 within its tick';

CREATE FUNCTION rollback3_back(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 60 & 7) END
$$;
COMMENT ON FUNCTION rollback3_back(bigint) IS 'field back of an id of layout rollback3';
