-- Readers of ids of the layout uidgenerator30, for servers where flakeid cannot be installed:
--   time:30:1s worker:27 sequence:6 epoch=2016-05-19T16:00:00Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION uidgenerator30_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2016-05-19 16:00:00' + (id >> 33 & 1073741823) * interval '1000000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION uidgenerator30_timestamp(bigint) IS 'when an id of layout uidgenerator30 was made';

CREATE FUNCTION uidgenerator30_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 6 & 134217727)::integer END
$$;
COMMENT ON FUNCTION uidgenerator30_node(bigint) IS 'node that made an id of layout uidgenerator30';

CREATE FUNCTION uidgenerator30_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 63)::integer END
$$;
COMMENT ON FUNCTION uidgenerator30_sequence(bigint) IS 'counter of an id of layout uidgenerator30 within its tick';

CREATE FUNCTION uidgenerator30_worker(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 6 & 134217727) END
$$;
COMMENT ON FUNCTION uidgenerator30_worker(bigint) IS 'field worker of an id of layout uidgenerator30';
