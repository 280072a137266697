-- Readers of ids of the layout tsid, for servers where flakeid cannot be installed:
--   time:42:1ms node:10 sequence:12 epoch=2020-01-01T00:00:00Z
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION tsid_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (timestamp '2020-01-01 00:00:00' + (id >> 22 & 4398046511103) * interval '1000 microseconds') AT TIME ZONE 'UTC'
$$;
COMMENT ON FUNCTION tsid_timestamp(bigint) IS 'when an id of layout tsid was made';

CREATE FUNCTION tsid_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (id >> 12 & 1023)::integer
$$;
COMMENT ON FUNCTION tsid_node(bigint) IS 'node that made an id of layout tsid';

CREATE FUNCTION tsid_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (id & 4095)::integer
$$;
COMMENT ON FUNCTION tsid_sequence(bigint) IS 'counter of an id of layout tsid within its tick';
