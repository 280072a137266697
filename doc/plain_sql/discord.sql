-- Readers of ids of the layout discord, for servers where flakeid cannot be installed:
--   time:42:1ms worker:5 process:5 sequence:12 epoch=2015-01-01T00:00:00Z
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION discord_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (timestamp '2015-01-01 00:00:00' + (id >> 22 & 4398046511103) * interval '1000 microseconds') AT TIME ZONE 'UTC'
$$;
COMMENT ON FUNCTION discord_timestamp(bigint) IS 'when an id of layout discord was made';

CREATE FUNCTION discord_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (((id >> 17 & 31) << 5) | (id >> 12 & 31))::integer
$$;
COMMENT ON FUNCTION discord_node(bigint) IS 'node that made an id of layout discord';

CREATE FUNCTION discord_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (id & 4095)::integer
$$;
COMMENT ON FUNCTION discord_sequence(bigint) IS 'counter of an id of layout discord within its tick';

CREATE FUNCTION discord_worker(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (id >> 17 & 31)
$$;
COMMENT ON FUNCTION discord_worker(bigint) IS 'field worker of an id of layout discord';

CREATE FUNCTION discord_process(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (id >> 12 & 31)
$$;
COMMENT ON FUNCTION discord_process(bigint) IS 'field process of an id of layout discord';
