-- Readers of ids of the layout js53, for servers where flakeid cannot be installed:
--   time:40:1ms node:6 sequence:7 epoch=2026-01-01T00:00:00Z
-- They return null for a number that is no id of this layout.
-- Made by doc/plain_sql/generate; every value is that of flakeid's own readers.

CREATE FUNCTION js53_timestamp(id bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id BETWEEN 0 AND 9007199254740991 THEN (timestamp '2026-01-01 00:00:00' + (id >> 13 & 1099511627775) * interval '1000 microseconds') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION js53_timestamp(bigint) IS 'when an id of layout js53 was made';

CREATE FUNCTION js53_node(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id BETWEEN 0 AND 9007199254740991 THEN (id >> 7 & 63)::integer END
$$;
COMMENT ON FUNCTION js53_node(bigint) IS 'node that made an id of layout js53';

CREATE FUNCTION js53_sequence(id bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id BETWEEN 0 AND 9007199254740991 THEN (id & 127)::integer END
$$;
COMMENT ON FUNCTION js53_sequence(bigint) IS 'counter of an id of layout js53 within its tick';
