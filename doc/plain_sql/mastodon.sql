-- Readers of ids of the layout mastodon, for servers where flakeid cannot be installed:
--   time:48:1ms sequence:16 epoch=1970-01-01T00:00:00Z
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION mastodon_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (timestamp '1970-01-01 00:00:00' + (id >> 16 & 281474976710655) / 1000 * interval '1 second' + (id >> 16 & 281474976710655) % 1000 * interval '1000 microseconds') AT TIME ZONE 'UTC'
$$;
COMMENT ON FUNCTION mastodon_timestamp(bigint) IS 'when an id of layout mastodon was made';

CREATE FUNCTION mastodon_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT 0::integer
$$;
COMMENT ON FUNCTION mastodon_node(bigint) IS 'node that made an id of layout mastodon';

CREATE FUNCTION mastodon_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (id & 65535)::integer
$$;
COMMENT ON FUNCTION mastodon_sequence(bigint) IS 'counter of an id of layout mastodon within its tick';
