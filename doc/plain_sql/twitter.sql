-- Readers of ids of the layout twitter, for servers where flakeid cannot be installed:
--   time:41:1ms datacenter:5 worker:5 sequence:12 epoch=2010-11-04T01:42:54.657Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION twitter_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2010-11-04 01:42:54.657' + (id >> 22 & 2199023255551) * interval '1000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION twitter_timestamp(bigint) IS 'when an id of layout twitter was made';

CREATE FUNCTION twitter_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (((id >> 17 & 31) << 5) | (id >> 12 & 31))::integer END
$$;
COMMENT ON FUNCTION twitter_node(bigint) IS 'node that made an id of layout twitter';

CREATE FUNCTION twitter_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 4095)::integer END
$$;
COMMENT ON FUNCTION twitter_sequence(bigint) IS 'counter of an id of layout twitter within its tick';

CREATE FUNCTION twitter_datacenter(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 17 & 31) END
$$;
COMMENT ON FUNCTION twitter_datacenter(bigint) IS 'field datacenter of an id of layout twitter';

CREATE FUNCTION twitter_worker(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 12 & 31) END
$$;
COMMENT ON FUNCTION twitter_worker(bigint) IS 'field worker of an id of layout twitter';
