-- -------------------------------------------------------------------------------------------------
-- To the extension and back
-- -------------------------------------------------------------------------------------------------

-- What the functions were before the extension took their place.
CREATE TABLE flakeid_plain.replaced (function text PRIMARY KEY, definition text NOT NULL);
COMMENT ON TABLE flakeid_plain.replaced IS 'definitions of functions in whose place the extension makes and reads ids';

CREATE FUNCTION flakeid_plain.extension_schema() RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place text := (SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'flakeid');
BEGIN
    IF place IS NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'extension flakeid is not installed', HINT = 'CREATE EXTENSION flakeid;';
    END IF;
    RETURN place;
END
$$;

CREATE FUNCTION flakeid_plain.require_same_ids(place text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g flakeid_plain.generator := flakeid_plain.generator();
    ours text := format('layout %s, node %s', (flakeid_plain.configured()).normal_text, g.node);
    theirs text;
BEGIN
    EXECUTE format('SELECT format(''layout %%s, node %%s'', layout_text, node) FROM %s.flake_inspect(%s.flake_next())', place, place) INTO theirs;
    IF theirs <> ours THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the extension makes other ids',
            DETAIL = format('Here: %s. There: %s.', ours, theirs),
            HINT = format('ALTER DATABASE %I SET flakeid.layout = %L; ALTER SYSTEM SET flakeid.node = N; with the node of here for N, unless another server has it; '
                'reload and connect again; or change flakeid_plain.settings.', current_database(), g.layout);
    END IF;
END
$$;

-- From now on the extension makes and reads ids: the functions of this schema call those of the extension, so that defaults,
-- views, indexes and functions stay as they are. Ids go on past all that were made here. For a superuser.
CREATE PROCEDURE flakeid_plain.to_extension()
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $to_extension$
DECLARE
    place text := flakeid_plain.extension_schema();
    f record;
BEGIN
    IF EXISTS (SELECT FROM flakeid_plain.replaced) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'the extension makes the ids already';
    END IF;
    LOCK TABLE flakeid_plain.opening IN EXCLUSIVE MODE;
    PERFORM flakeid_plain.require_same_ids(place);
    PERFORM flakeid_plain.close_tick();
    EXECUTE 'SELECT flakeid.raise_horizon($1)' USING flakeid_plain.moment((SELECT last_value FROM flakeid_plain.bound));
    INSERT INTO flakeid_plain.replaced
        SELECT oid::regprocedure, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = 'flakeid_plain'::regnamespace
            AND (proname IN ('generator', 'next_id') OR proname LIKE 'flake\_%' AND to_regprocedure(replace(oid::regprocedure::text, 'flakeid_plain.', place || '.')) IS NOT NULL);
    FOR f IN SELECT p.*, pg_get_function_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result,
            (SELECT string_agg('$' || i, ', ') FROM generate_series(1, pronargs) AS i) AS parameters
        FROM flakeid_plain.replaced AS r JOIN pg_proc AS p ON p.oid = r.function::regprocedure AND p.proname LIKE 'flake\_%' LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION flakeid_plain.%I(%s) RETURNS %s LANGUAGE sql %s %s PARALLEL SAFE AS %L',
            f.proname, f.arguments, f.result, CASE f.provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' ELSE 'VOLATILE' END,
            CASE WHEN f.proisstrict THEN 'STRICT' ELSE '' END,
            format(CASE WHEN f.proretset OR f.prorettype = 'record'::regtype THEN 'SELECT * FROM %s.%I(%s)' ELSE 'SELECT %s.%I(%s)' END,
                place, f.proname, coalesce(f.parameters, '')));
    END LOOP;
    EXECUTE format('CREATE OR REPLACE FUNCTION flakeid_plain.next_id() RETURNS bigint LANGUAGE sql VOLATILE AS %L', format('SELECT %s.flake_next()', place));
    -- Who waits for the lock was about to make ids here.
    CREATE OR REPLACE FUNCTION flakeid_plain.generator() RETURNS flakeid_plain.generator LANGUAGE plpgsql STABLE AS $$
    BEGIN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'the extension makes the ids from now on', HINT = 'Run the statement again.';
    END $$;
END
$to_extension$;
COMMENT ON PROCEDURE flakeid_plain.to_extension() IS 'for superusers: from now on the extension makes and reads ids in the place of this';

-- A text of SQL that names the extension's types and functions, with those of this schema.
CREATE FUNCTION flakeid_plain.rewritten(statement text, place text) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT regexp_replace(regexp_replace(statement,
        '(?<![\w.])(?:' || place || '\.)?(flake_(?:next|next_many|block|timestamp|node|sequence|field|inspect|explain|make|floor|ceil|'
            'range_floor|range_ceil|in_range|to_text|from_text|encrypt|decrypt))\(', 'flakeid_plain.\1(', 'g'),
        '(?<![\w.])' || place || '\.flake\M|(?<=::)flake\M|(?<=\s)flake\M(?=\s*(?::=|;|DEFAULT\M))', 'bigint', 'g')
$$;

-- From now on ids are made here, and nothing needs the extension, which is dropped: columns of type flake become bigint; defaults,
-- checks, indexes, views and functions that name the extension's functions name those of this schema. Ids go on past all
-- that were made there. For a superuser, in a database where this edition is installed beside the extension. What it cannot
-- move, it names in an error, and then nothing has changed.
CREATE PROCEDURE flakeid_plain.from_extension()
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place text := flakeid_plain.extension_schema();
    past bigint;
    state_format bigint;
    statement text;
    again text[] := '{}';       -- what is created again, the last dropped first
    o record;
BEGIN
    LOCK TABLE flakeid_plain.opening IN EXCLUSIVE MODE;
    FOR o IN DELETE FROM flakeid_plain.replaced RETURNING definition LOOP
        EXECUTE o.definition;
    END LOOP;
    PERFORM flakeid_plain.require_same_ids(place);
    EXECUTE 'ALTER MATERIALIZED VIEW flakeid.state OWNER TO CURRENT_USER';      -- the extension cannot go on past its horizon
    EXECUTE 'SELECT format FROM flakeid.state' INTO state_format;
    IF state_format <> 1 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the state of the extension is of format %s', state_format),
            DETAIL = 'This edition knows format 1.', HINT = 'Install the edition of the version of the extension.';
    END IF;
    EXECUTE 'SELECT greatest(plain_horizon, back_horizon & ~((-1)::bigint << 56)) FROM flakeid.state' INTO past;
    -- Objects that depend on the extension, and views that depend on these, those that others depend on last.
    CREATE TEMPORARY TABLE moving ON COMMIT DROP AS
        WITH RECURSIVE member AS (
            SELECT classid, objid FROM pg_depend
            WHERE refclassid = 'pg_extension'::regclass AND refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('flakeid', 'flakeid_tables')) AND deptype = 'e'
        ), dependent AS (
            SELECT d.classid, d.objid, d.objsubid, 1 AS depth FROM pg_depend AS d JOIN member AS m ON d.refclassid = m.classid AND d.refobjid = m.objid
            WHERE d.deptype IN ('n', 'a') AND NOT EXISTS (SELECT FROM member AS own WHERE own.classid = d.classid AND own.objid = d.objid)
            UNION
            SELECT d.classid, d.objid, d.objsubid, depth + 1 FROM dependent AS on_
                JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.deptype = 'n' AND d.classid = 'pg_rewrite'::regclass
                    AND (on_.classid = 'pg_class'::regclass AND d.refobjid = on_.objid AND d.refobjsubid = on_.objsubid
                        OR on_.classid = 'pg_rewrite'::regclass AND d.refobjid = (SELECT ev_class FROM pg_rewrite WHERE oid = on_.objid)
                            AND d.objid <> on_.objid)
        )
        SELECT classid, objid, objsubid, max(depth) AS depth FROM dependent AS d
        -- Not what is the extension's own.
        WHERE NOT EXISTS (SELECT FROM member AS own WHERE own.classid = 'pg_class'::regclass AND own.objid IN (
            SELECT ev_class FROM pg_rewrite WHERE d.classid = 'pg_rewrite'::regclass AND oid = d.objid
            UNION ALL SELECT adrelid FROM pg_attrdef WHERE d.classid = 'pg_attrdef'::regclass AND oid = d.objid
            UNION ALL SELECT conrelid FROM pg_constraint WHERE d.classid = 'pg_constraint'::regclass AND oid = d.objid
            UNION ALL SELECT indrelid FROM pg_index WHERE d.classid = 'pg_class'::regclass AND indexrelid = d.objid))
        GROUP BY 1, 2, 3;
    FOR o IN SELECT c.oid::regclass AS view, c.relkind, c.relacl, pg_get_userbyid(c.relowner) AS owner, max(depth) AS depth,
            rtrim(pg_get_viewdef(c.oid), ';') AS definition, array_to_string(c.reloptions, ', ') AS options
        FROM pg_temp.moving JOIN pg_rewrite AS r ON classid = 'pg_rewrite'::regclass AND r.oid = objid JOIN pg_class AS c ON c.oid = ev_class
        GROUP BY c.oid ORDER BY depth DESC LOOP
        IF o.definition ~ ('OPERATOR\(' || place || '\.') THEN
            RAISE feature_not_supported USING MESSAGE = format('view %s uses an operator of the extension', o.view),
                HINT = 'Write it with flake_in_range(id, range), and call this again.';
        END IF;
        again := ARRAY(SELECT format('GRANT %s ON %s TO %s', privilege_type, o.view, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
            FROM aclexplode(o.relacl)) || again;
        again := format('ALTER %s %s OWNER TO %I', CASE o.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END, o.view, o.owner) || again;
        again := array_remove(ARRAY[format('COMMENT ON %s %s IS %L', CASE o.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END, o.view,
            obj_description(o.view, 'pg_class'))], NULL) || again;
        again := (SELECT coalesce(array_agg(pg_get_indexdef(indexrelid)), '{}') FROM pg_index WHERE indrelid = o.view) || again;
        again := (format('CREATE %s %s %s AS ', CASE o.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END, o.view,
            'WITH (' || nullif(o.options, '') || ')') || flakeid_plain.rewritten(o.definition, place)) || again;
        EXECUTE format('DROP %s %s', CASE o.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'VIEW' END, o.view);
    END LOOP;
    -- Defaults; an inherited one is changed by itself too.
    FOR o IN SELECT adrelid::regclass AS of_table, attname, pg_get_expr(adbin, adrelid) AS expression, attgenerated
        FROM pg_temp.moving JOIN pg_attrdef AS d ON classid = 'pg_attrdef'::regclass AND d.oid = objid
            JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum LOOP
        IF o.attgenerated <> '' THEN
            RAISE feature_not_supported USING MESSAGE = format('column %s of table %s is generated with a function of the extension', o.attname, o.of_table),
                HINT = format('ALTER TABLE %s ALTER COLUMN %I DROP EXPRESSION;', o.of_table, o.attname);
        END IF;
        EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I DROP DEFAULT', o.of_table, o.attname);
        again := again || format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT %s', o.of_table, o.attname, flakeid_plain.rewritten(o.expression, place));
    END LOOP;
    FOR o IN SELECT conrelid::regclass AS of_table, conname, pg_get_constraintdef(c.oid) AS definition
        FROM pg_temp.moving JOIN pg_constraint AS c ON classid = 'pg_constraint'::regclass AND c.oid = objid AND contype = 'c' AND conislocal LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', o.of_table, o.conname);
        again := again || format('ALTER TABLE %s ADD CONSTRAINT %I %s', o.of_table, o.conname, flakeid_plain.rewritten(o.definition, place));
    END LOOP;
    FOR o IN SELECT DISTINCT i.indexrelid::regclass AS name, pg_get_indexdef(i.indexrelid) AS definition
        FROM pg_temp.moving JOIN pg_index AS i ON classid = 'pg_class'::regclass AND i.indexrelid = objid
        WHERE NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = i.indexrelid) LOOP
        EXECUTE format('DROP INDEX %s', o.name);
        again := again || flakeid_plain.rewritten(o.definition, place);
    END LOOP;
    -- Declarations of partitioned tables
    FOR o IN SELECT tgrelid::regclass AS of_table, obj_description(oid, 'pg_trigger') AS said FROM pg_trigger
        WHERE tgname = 'flakeid_partitions' AND tgfoid = to_regprocedure('flakeid.declared()') LOOP
        IF to_regprocedure('flakeid_plain.declared()') IS NULL THEN
            RAISE object_not_in_prerequisite_state USING MESSAGE = format('extension flakeid_tables looks after table %s', o.of_table),
                HINT = 'Run flakeid_plain_tables.sql, and call this again.';
        END IF;
        EXECUTE format('DROP TRIGGER flakeid_partitions ON %s', o.of_table);
        again := again || format('CREATE TRIGGER flakeid_partitions AFTER TRUNCATE ON %s FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION flakeid_plain.declared()', o.of_table)
            || format('COMMENT ON TRIGGER flakeid_partitions ON %s IS %L', o.of_table, o.said);
    END LOOP;
    FOR o IN SELECT attrelid::regclass AS of_table, attname FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid
        WHERE atttypid = (place || '.flake')::regtype AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped AND attislocal LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I TYPE bigint', o.of_table, o.attname);
    END LOOP;
    FOREACH statement IN ARRAY again LOOP
        EXECUTE statement;
    END LOOP;
    FOR o IN SELECT p.oid, pg_get_functiondef(p.oid) AS definition FROM pg_proc AS p JOIN pg_language AS l ON l.oid = prolang
        WHERE lanname IN ('sql', 'plpgsql') AND pronamespace <> 'flakeid_plain'::regnamespace AND prosrc ~ '\mflake(_\w+)?\M'
            AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e') LOOP
        EXECUTE flakeid_plain.rewritten(o.definition, place);
    END LOOP;
    PERFORM flakeid_plain.begin_past(greatest(past + 1, (SELECT last_value FROM flakeid_plain.bound)));
    DROP EXTENSION IF EXISTS flakeid_tables;
    DROP EXTENSION flakeid;
END
$$;
COMMENT ON PROCEDURE flakeid_plain.from_extension() IS 'for superusers: from now on ids are made here, and the extension is dropped';
