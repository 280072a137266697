-- Readers of ids of the layout instagram, for servers where flakeid cannot be installed:
--   time:41:1ms shard:13 sequence:10 epoch=2011-08-24T21:07:01.721Z
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION instagram_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (timestamp '2011-08-24 21:07:01.721' + (id >> 23 & 2199023255551) * interval '1000 microseconds') AT TIME ZONE 'UTC'
$$;
COMMENT ON FUNCTION instagram_timestamp(bigint) IS 'when an id of layout instagram was made';

CREATE FUNCTION instagram_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (id >> 10 & 8191)::integer
$$;
COMMENT ON FUNCTION instagram_node(bigint) IS 'node that made an id of layout instagram';

CREATE FUNCTION instagram_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (id & 1023)::integer
$$;
COMMENT ON FUNCTION instagram_sequence(bigint) IS 'counter of an id of layout instagram within its tick';

CREATE FUNCTION instagram_shard(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (id >> 10 & 8191)
$$;
COMMENT ON FUNCTION instagram_shard(bigint) IS 'field shard of an id of layout instagram';
