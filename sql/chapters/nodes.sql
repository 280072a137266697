-- Several servers

-- Which server has which node. Each tells its own; flake_nodes() asks them.

-- The question of another server looks at the owner of this function first: a superuser who asks runs nothing that somebody
-- else put in its place. The argument says nothing; it keeps a planner from computing the answer before that look.
CREATE FUNCTION flakeid.node_report(asked oid) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_node_report' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.node_report(oid) IS 'what this server tells others of its node, as JSON';

CREATE FUNCTION flakeid.ask_node(conninfo text) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_ask_node' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.ask_node(text) IS 'the report of another server, or why there is none';

CREATE FUNCTION flakeid.nodes(conninfos text[],
        OUT server text, OUT nodes text, OUT setting text, OUT layout text, OUT standby bool, OUT problem text)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    reports jsonb[] := ARRAY[flakeid.node_report(0)::jsonb];
    answers jsonb := '[]';
    asked record;
    report jsonb;
BEGIN
    IF to_regproc('pg_catalog.run_command_on_all_nodes') IS NOT NULL THEN
        EXECUTE 'SELECT coalesce(jsonb_agg(jsonb_build_object(
                ''name'', concat(n.nodename, '':'', n.nodeport),
                ''answer'', CASE WHEN r.success THEN r.result ELSE jsonb_build_object(''problem'', r.result)::text END)
                ORDER BY n.nodeid), ''[]'')
            FROM run_command_on_all_nodes(''SELECT flakeid.node_report(p.oid) FROM pg_catalog.pg_proc AS p
                JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) p.proowner
                WHERE p.oid OPERATOR(pg_catalog.=) ''''flakeid.node_report(oid)''''::pg_catalog.regprocedure AND r.rolsuper'') AS r
            JOIN pg_dist_node AS n ON n.nodeid = r.nodeid'
        INTO answers;
    END IF;
    FOR asked IN
        -- Where others than superusers say where to connect to, they need a password of their own there.
        SELECT 'subscription ' || s.subname AS name, s.subconninfo AS conninfo
        FROM pg_catalog.pg_subscription AS s
        WHERE s.subdbid = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
          AND EXISTS (SELECT FROM pg_catalog.pg_roles AS o WHERE o.oid = s.subowner AND o.rolsuper)
        UNION ALL
        SELECT 'connection ' || u.n, u.conninfo
        FROM unnest(nodes.conninfos) WITH ORDINALITY AS u (conninfo, n)
    LOOP
        answers := answers || jsonb_build_object('name', asked.name, 'answer', flakeid.ask_node(asked.conninfo));
    END LOOP;
    FOR asked IN
        SELECT a.v ->> 'name' AS name, a.v ->> 'answer' AS answer FROM jsonb_array_elements(answers) AS a (v)
    LOOP
        -- What others say is looked at before it is believed.
        BEGIN
            IF jsonb_typeof(asked.answer::jsonb) <> 'object' THEN
                RAISE invalid_parameter_value;
            END IF;
            report := jsonb_build_object('server', asked.name) || asked.answer::jsonb;
            PERFORM int8range(split_part(report ->> 'nodes', '-', 1)::int8,
                              regexp_replace(report ->> 'nodes', '^.*-', '')::int8, '[]');
        EXCEPTION WHEN data_exception THEN
            report := jsonb_build_object('server', asked.name, 'problem', 'it gave an answer that is none');
        END;
        reports := reports || report;
    END LOOP;
    RETURN QUERY
    WITH told AS (
        SELECT r.n, r.v ->> 'server' AS server, r.v ->> 'instance' AS instance, r.v ->> 'nodes' AS nodes,
               r.v ->> 'setting' AS setting, r.v ->> 'layout' AS layout, r.v ->> 'problem' AS problem,
               r.v ->> 'standby' IS NOT NULL AS standby, r.v ->> 'unset' IS NOT NULL AS unset,
               CASE WHEN r.v ->> 'nodes' IS NOT NULL
                    THEN int8range(split_part(r.v ->> 'nodes', '-', 1)::int8,
                                   regexp_replace(r.v ->> 'nodes', '^.*-', '')::int8, '[]') END AS range
        FROM unnest(reports) WITH ORDINALITY AS r (v, n)),
    -- One server may be known in several ways.
    found AS (
        SELECT DISTINCT ON (coalesce(t.instance, t.n::text)) t.* FROM (TABLE told) AS t
        ORDER BY coalesce(t.instance, t.n::text), t.n)
    SELECT f.server, f.nodes, f.setting, f.layout, f.standby,
           nullif(concat_ws('; ', f.problem,
               CASE WHEN f.unset AND NOT f.standby
                         AND (SELECT count(*) FROM (TABLE found) AS o WHERE NOT o.standby) > 1
                    THEN 'flakeid.node was never set' END,
               (SELECT 'the same node as ' || string_agg(o.server, ', ' ORDER BY o.n)
                FROM (TABLE found) AS o
                WHERE o.n <> f.n AND o.range && f.range AND NOT o.standby AND NOT f.standby),
               (SELECT 'another flakeid.layout than ' || o.server
                FROM (TABLE found) AS o
                WHERE o.n = 1 AND o.layout <> f.layout)), '')
    FROM (TABLE found) AS f
    ORDER BY f.n;
END
$$;
COMMENT ON FUNCTION flakeid.nodes(text[]) IS 'implementation of flake_nodes()';

CREATE FUNCTION flake_nodes(
        OUT server text, OUT nodes text, OUT setting text, OUT layout text, OUT standby bool, OUT problem text)
    RETURNS SETOF record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT * FROM flakeid.nodes('{}')
$$;
COMMENT ON FUNCTION flake_nodes() IS
    'one row for this server and for each that Citus or a subscription of this database knows; problem is NULL where nothing is wrong';

CREATE FUNCTION flake_nodes(conninfos text[],
        OUT server text, OUT nodes text, OUT setting text, OUT layout text, OUT standby bool, OUT problem text)
    RETURNS SETOF record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT * FROM flakeid.nodes(conninfos)
$$;
COMMENT ON FUNCTION flake_nodes(text[]) IS 'the same, and a row for each server that the connection strings name';

REVOKE ALL ON FUNCTION flakeid.ask_node(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.nodes(text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_nodes() FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_nodes(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION flake_nodes() TO pg_monitor;
