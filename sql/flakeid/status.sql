-- The settings in effect, and what follows from them

CREATE FUNCTION flakeid.status_now(OUT name text, OUT value text, OUT source text, OUT until timestamptz) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_status_now' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.status_now() IS 'internal: the settings, and what follows from them and from transactions';

CREATE VIEW flakeid.status AS
    SELECT name, value, source, until FROM flakeid.status_now()
    UNION ALL
    SELECT 'settled mark held back',
           (SELECT CASE WHEN pg_catalog.bool_or(true)
                   THEN pg_catalog.format('%s by %s', pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) pg_catalog.min(u.since),
                        pg_catalog.string_agg(DISTINCT CASE WHEN u.pid IS NULL THEN pg_catalog.format('prepared transaction %s', u.xid)
                                                            ELSE pg_catalog.format('process %s', u.pid) END, ', '))
                   ELSE 'no' END
            FROM flakeid.unsettled_now() AS u),
           'follows from the transactions', NULL;
COMMENT ON VIEW flakeid.status IS 'settings in effect in this session, and what follows from them';
COMMENT ON COLUMN flakeid.status.name IS 'of a setting, or of what follows';
COMMENT ON COLUMN flakeid.status.value IS 'what is in effect';
COMMENT ON COLUMN flakeid.status.source IS 'where a setting came from, with file and line';
COMMENT ON COLUMN flakeid.status.until IS 'the moment that ends it: of a lease, the horizon, the layout';
