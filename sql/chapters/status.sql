-- The settings in effect, and what follows from them

CREATE FUNCTION flakeid.in_effect(OUT name text, OUT value text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_in_effect' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.in_effect() IS 'internal: what follows from the settings';

CREATE FUNCTION flakeid.prepare() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_prepare' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.prepare() IS 'internal: does what flake_next() does, except that it issues no id';

CREATE FUNCTION flakeid.can_generate() RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM flakeid.prepare();
    RETURN 'yes';
EXCEPTION WHEN OTHERS THEN
    RETURN 'no: ' || SQLERRM;
END
$$;
COMMENT ON FUNCTION flakeid.can_generate() IS 'internal: yes, or the error of flake_next()';

CREATE FUNCTION flakeid.settled() RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_settled' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.settled() IS 'internal: what flake_settled() returns';

CREATE FUNCTION flakeid.settled_or_error() RETURNS pg_catalog.text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN flakeid.settled();
EXCEPTION WHEN OTHERS THEN
    RETURN 'none: ' || SQLERRM;
END
$$;
COMMENT ON FUNCTION flakeid.settled_or_error() IS 'internal: the settled mark, or the error of flake_settled()';

CREATE FUNCTION flakeid.held_back() RETURNS pg_catalog.text
    LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE count(*)
           WHEN 0 THEN 'no'
           ELSE format('%s by %s', clock_timestamp() - min(u.since), string_agg(DISTINCT coalesce('process ' || u.pid, 'prepared transaction ' || u.xid), ', ')) END
    FROM flakeid.unsettled_now() AS u
$$;
COMMENT ON FUNCTION flakeid.held_back() IS 'internal: for how long the settled mark has been held back, and by whom';

CREATE VIEW flakeid.status AS
    SELECT 'can generate' AS name, flakeid.can_generate() AS value, 'follows from the settings' AS source
    UNION ALL
    SELECT name, value, 'follows from the settings'
    FROM flakeid.in_effect()
    UNION ALL
    SELECT 'settled mark', flakeid.settled_or_error(), 'follows from the transactions'
    UNION ALL
    SELECT 'settled mark held back', flakeid.held_back(), 'follows from the transactions'
    UNION ALL
    SELECT name, pg_catalog.current_setting(name),
           pg_catalog.concat_ws(' ', source, sourcefile OPERATOR(pg_catalog.||) ':' OPERATOR(pg_catalog.||) sourceline)
    FROM pg_catalog.pg_settings
    WHERE pg_catalog.starts_with(name, 'flakeid.');
COMMENT ON VIEW flakeid.status IS 'settings in effect in this session, where each came from, and what follows from them';
COMMENT ON COLUMN flakeid.status.name IS 'of a setting, or of what follows from all of them';
COMMENT ON COLUMN flakeid.status.value IS 'what is in effect in this session';
COMMENT ON COLUMN flakeid.status.source IS 'where a setting came from: as in pg_settings, with file and line';
GRANT SELECT ON flakeid.status TO PUBLIC;
