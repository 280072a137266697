-- Readers of ids of the layout uidgenerator31, for servers where flakeid cannot be installed:
--   time:31:1s worker:23 sequence:9 epoch=2016-05-19T16:00:00Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION uidgenerator31_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (timestamp '2016-05-19 16:00:00' + (id >> 32 & 2147483647) * interval '1000000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION uidgenerator31_timestamp(bigint) IS 'when an id of layout uidgenerator31 was made';

CREATE FUNCTION uidgenerator31_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 9 & 8388607)::integer END
$$;
COMMENT ON FUNCTION uidgenerator31_node(bigint) IS 'node that made an id of layout uidgenerator31';

CREATE FUNCTION uidgenerator31_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id & 511)::integer END
$$;
COMMENT ON FUNCTION uidgenerator31_sequence(bigint) IS 'counter of an id of layout uidgenerator31 within its tick';

CREATE FUNCTION uidgenerator31_worker(id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id >= 0 THEN (id >> 9 & 8388607) END
$$;
COMMENT ON FUNCTION uidgenerator31_worker(bigint) IS 'field worker of an id of layout uidgenerator31';
