-- Readers of ids of the layout uidgenerator, for servers where flakeid cannot be installed:
--   time:28:1s worker:22 sequence:13 epoch=2016-05-19T16:00:00Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION uidgenerator_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2016-05-19 16:00:00' + (id >> 35 & 268435455) * interval '1000000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION uidgenerator_timestamp(bigint) IS 'when an id of layout uidgenerator was made';

CREATE FUNCTION uidgenerator_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 13 & 4194303)::integer END
$$;
COMMENT ON FUNCTION uidgenerator_node(bigint) IS 'node that made an id of layout uidgenerator';

CREATE FUNCTION uidgenerator_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 8191)::integer END
$$;
COMMENT ON FUNCTION uidgenerator_sequence(bigint) IS 'counter of an id of layout uidgenerator within its tick';

CREATE FUNCTION uidgenerator_worker(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 13 & 4194303) END
$$;
COMMENT ON FUNCTION uidgenerator_worker(bigint) IS 'field worker of an id of layout uidgenerator';
