-- -------------------------------------------------------------------------------------------------
-- Moving tables in: whether it can be done, and what somebody should know before
-- -------------------------------------------------------------------------------------------------

-- How ids lie in the layout in effect, asked of the functions that everybody has.
CREATE FUNCTION flakeid.convert_layout(OUT tick int8, OUT sequences int8, OUT sequence_step int8, OUT nodes int4, OUT epoch timestamptz)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home text := flakeid.convert_home();
    at_zero int8;
    made int8;
BEGIN
    EXECUTE format('SELECT %1$s.flake_ceil(now()) - %1$s.flake_floor(now()) + 1, %1$s.flake_make(now(), 0, 0), %1$s.flake_timestamp(0::int8)', home)
    INTO tick, at_zero, epoch;
    sequences := 1;
    nodes := 1;
    FOR bit IN 0 .. 30 LOOP
        BEGIN
            EXECUTE format('SELECT %s.flake_make(now(), 0, $1)', home) INTO made USING (1::int8 << bit)::int4;
        EXCEPTION WHEN OTHERS THEN
            EXIT;
        END;
        sequence_step := coalesce(sequence_step, made - at_zero);
        sequences := 2::int8 << bit;
    END LOOP;
    FOR bit IN 0 .. 30 LOOP
        BEGIN
            EXECUTE format('SELECT %s.flake_make(now(), $1, 0)', home) INTO made USING (1::int8 << bit)::int4;
        EXCEPTION WHEN OTHERS THEN
            EXIT;
        END;
        nodes := least(2::int8 << bit, 2147483647);
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_layout() IS
    'internal: of the layout in effect: how far ids of neighbouring ticks and of neighbouring sequence numbers lie apart, how many sequence numbers and nodes there are, the epoch';

CREATE FUNCTION flakeid.layout_above(max_id int8) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    home text := flakeid.convert_home();
    candidate text;
    fields text;
    tick int8;
    top int8;
    second_tick timestamptz;
    old_epoch timestamptz;
    epoch timestamptz;
    length interval;
BEGIN
    FOREACH candidate IN ARRAY ARRAY[nullif(current_setting('flakeid.layout', true), ''), 'snowflake'] LOOP
        BEGIN
            EXECUTE 'SELECT d.layout_text FROM flakeid.describe($1) d WHERE d.ids_per_second > 0' INTO fields USING candidate;
            EXECUTE format('SELECT %1$s.flake_ceil(now(), $1) - %1$s.flake_floor(now(), $1) + 1, %1$s.flake_ceil(timestamptz ''infinity'', $1), %1$s.flake_timestamp(0::int8, $1)', home)
            INTO tick, top, old_epoch USING fields;
            EXECUTE format('SELECT %s.flake_timestamp($2, $1)', home) INTO second_tick USING fields, tick;
            length := second_tick - old_epoch;
            -- The first of January before it, so that the layout can be read; ten years must be left.
            epoch := least(old_epoch, date_trunc('year', now() - (max_id / tick + 1) * length, 'UTC'));
        EXCEPTION WHEN OTHERS THEN
            CONTINUE; -- enciphered, not in the order of time, or too short by far
        END;
        IF epoch + (top / tick) * length > now() + interval '10 years' THEN
            RETURN CASE WHEN epoch = old_epoch THEN fields
                        ELSE regexp_replace(fields, ' epoch=\S+', to_char(epoch AT TIME ZONE 'UTC', '" epoch="YYYY-MM-DD"T00:00:00Z"')) END;
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION flakeid.layout_above(int8) IS
    'a layout whose ids lie above an id from now on, for ten years at least: flakeid.layout, or snowflake, with an earlier epoch; NULL where there is none';

-- Expressions and triggers of a table run when its rows are written, so all tables of a conversion must be one owner's, whoever calls.
CREATE FUNCTION flakeid.convert_strangers(root oid, places flakeid.convert_place[], OUT problem text, OUT hint text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT format('Table %s belongs to role %s, and table %s to role %s.', root::regclass, (SELECT r.relowner::regrole FROM pg_class AS r WHERE r.oid = root), c.oid::regclass, c.relowner::regrole), NULL
        FROM (SELECT DISTINCT t.rel FROM flakeid.convert_trees(places) AS t) AS t JOIN pg_class AS c ON c.oid = t.rel
        WHERE c.relowner <> (SELECT r.relowner FROM pg_class AS r WHERE r.oid = root)
        ORDER BY c.oid::regclass::text COLLATE "C";
END
$$;
COMMENT ON FUNCTION flakeid.convert_strangers(oid, flakeid.convert_place[]) IS 'internal: tables of a conversion that are not the owner''s';

-- What somebody has changed meanwhile so that the triggers do not see every row, or see rows that are none of this conversion.
CREATE FUNCTION flakeid.convert_broken(root oid, root_att int2, places flakeid.convert_place[], memory jsonb, OUT problem text, OUT hint text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT format('The foreign keys or triggers of table %s are not those with which the conversion began.', rel::regclass),
               CASE WHEN memory ->> 'way' <> 'back' THEN format('CALL flakeid.convert_undo(%L);', root::regclass::text) END
        FROM (SELECT p.rel, bool_and(EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = p.rel AND a.attname = p.new_col AND NOT a.attisdropped)) AS has
              FROM unnest(places) AS p WHERE p.replaced AND (memory ? 'armed' OR p.rel = root) GROUP BY p.rel) AS x
             FULL JOIN (SELECT f.rel, bool_and(f.enabled) AS has FROM flakeid.convert_fills(root, root_att) AS f GROUP BY f.rel) AS f USING (rel)
        WHERE (x.has AND f.has) IS NOT TRUE
        ORDER BY rel;
END
$$;
COMMENT ON FUNCTION flakeid.convert_broken(oid, int2, flakeid.convert_place[], jsonb) IS 'internal: why a conversion that has begun cannot go on';

-- Columns of other tables that hold whole rows of a table, in whatever type.
CREATE FUNCTION flakeid.convert_row_types(tabs oid[], OUT tab oid, OUT rel oid, OUT col name) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE t AS (
            SELECT c.oid AS tab, c.reltype AS typ, 0::oid AS rel, NULL::name AS col FROM pg_class AS c WHERE c.oid = ANY (tabs)
            UNION
            SELECT t.tab, CASE d.classid WHEN 'pg_type'::regclass THEN d.objid ELSE k.reltype END, k.oid, a.attname
            FROM t CROSS JOIN LATERAL (SELECT x.classid, x.objid, x.objsubid FROM pg_depend AS x WHERE x.refclassid = 'pg_type'::regclass AND x.refobjid = t.typ OFFSET 0) AS d
                 LEFT JOIN pg_class AS k ON d.classid = 'pg_class'::regclass AND k.oid = d.objid
                 LEFT JOIN pg_attribute AS a ON a.attrelid = k.oid AND a.attnum = d.objsubid AND a.attnum > 0
            WHERE d.classid = 'pg_type'::regclass OR k.relkind = 'c' OR k.relkind IN ('r', 'p', 'm', 'f') AND a.attnum > 0
        )
        SELECT DISTINCT t.tab, t.rel, t.col FROM t JOIN pg_class AS k ON k.oid = t.rel AND k.relkind IN ('r', 'p', 'm', 'f');
END
$$;
COMMENT ON FUNCTION flakeid.convert_row_types(oid[]) IS 'internal: columns that hold rows of tables';

-- A default makes keys if it can give another value each time. It is evaluated without a search_path: a sequence that it names as a text,
-- as nextval() of old versions did, is that of the table's schema.
CREATE FUNCTION flakeid.convert_fresh(rel oid, att int2) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    def text := flakeid.convert_default(rel, att);
    named text[] := parse_ident(replace((regexp_match(def, '^nextval\(\(''((?:[^'']|'''')+)''::text\)::regclass\)$'))[1], '''''', ''''));
    seq regclass;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_attrdef AS d CROSS JOIN LATERAL regexp_matches(d.adbin::text, ':(?:op)?funcid (\d+)', 'g') AS f (m) JOIN pg_proc AS p ON p.oid = f.m[1]::oid
                   WHERE d.adrelid = rel AND d.adnum = att AND p.provolatile = 'v') THEN
        RETURN NULL;
    END IF;
    seq := (SELECT to_regclass(format('%I.%I', CASE WHEN cardinality(named) = 1 THEN n.nspname ELSE named[1] END, named[cardinality(named)]))
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = rel AND cardinality(named) <= 2);
    RETURN CASE WHEN seq IS NULL THEN def ELSE format('nextval(%L::regclass)', seq) END;
END
$$;
COMMENT ON FUNCTION flakeid.convert_fresh(oid, int2) IS 'internal: an expression that makes values of a column as its default does';

-- What makes keys of a column beside others: the sequence of a default that is nextval() and nothing else, or of an identity.
CREATE FUNCTION flakeid.convert_source(rel oid, att int2) RETURNS oid
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
BEGIN
    RETURN (SELECT CASE WHEN a.attidentity <> '' THEN flakeid.convert_sequence(rel, att)
                        ELSE to_regclass(replace((regexp_match(flakeid.convert_fresh(rel, att), '^nextval\(''((?:[^'']|'''')+)''::regclass\)$'))[1], '''''', '''')) END
        FROM pg_attribute AS a WHERE a.attrelid = rel AND a.attnum = att);
END
$$;
COMMENT ON FUNCTION flakeid.convert_source(oid, int2) IS 'internal: the sequence that makes the values of a column';

-- What is made again is read by names, in schemas; and what each row is asked runs with the owner's rights.
CREATE FUNCTION flakeid.convert_denied(root oid, root_att int2, places flakeid.convert_place[], views oid[], OUT problem text, OUT hint text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = root);
    changed oid[];
    changed_atts int2[];
BEGIN
    SELECT array_agg(t.rel), array_agg(t.att) INTO changed, changed_atts FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t;
    RETURN QUERY
        WITH x AS (
            SELECT h.class, h.obj, true AS made, h.class = 'pg_trigger'::regclass AS runs FROM flakeid.convert_held(changed, changed_atts) AS h
            UNION SELECT 'pg_rewrite'::regclass, w.oid, true, false FROM pg_rewrite AS w WHERE w.ev_class = ANY (views)
            UNION SELECT 'pg_trigger'::regclass, g.oid, true, true FROM pg_trigger AS g WHERE g.tgrelid = ANY (views) AND NOT g.tgisinternal
            UNION SELECT 'pg_attrdef'::regclass, f.oid, true, (places[1]).replaced FROM pg_attrdef AS f WHERE (f.adrelid, f.adnum) = (root, root_att)
            UNION SELECT r.class, r.obj, false, true
                  FROM flakeid.convert_trees(places) AS t CROSS JOIN LATERAL (
                      SELECT 'pg_constraint'::regclass AS class, k.oid AS obj FROM pg_constraint AS k WHERE k.conrelid = t.rel AND k.contype = 'c'
                      UNION ALL SELECT 'pg_class'::regclass, i.indexrelid FROM pg_index AS i WHERE i.indrelid = t.rel
                      UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid FROM pg_statistic_ext AS s WHERE s.stxrelid = t.rel
                      UNION ALL SELECT 'pg_attrdef'::regclass, f.oid FROM pg_attrdef AS f JOIN pg_attribute AS a ON (a.attrelid, a.attnum) = (f.adrelid, f.adnum)
                                WHERE f.adrelid = t.rel AND a.attgenerated <> '') AS r
                  WHERE t.replaced
        ), d AS (
            SELECT x.*, pg_describe_object(x.class, x.obj, 0) AS what, y.refclassid, y.refobjid,
                   (pg_identify_object(y.refclassid, y.refobjid, 0)).schema AS nsp
            FROM x CROSS JOIN LATERAL (SELECT p.refclassid, p.refobjid FROM pg_depend AS p WHERE p.classid = x.class AND p.objid = x.obj AND p.deptype IN ('n', 'a')
                                       UNION ALL SELECT 'pg_class'::regclass, w.ev_class FROM pg_rewrite AS w WHERE x.class = 'pg_rewrite'::regclass AND w.oid = x.obj OFFSET 0) AS y
        )
        SELECT DISTINCT format('Role %I has no right USAGE on schema %I, which %s needs.', me, n.nspname, d.what), format('GRANT USAGE ON SCHEMA %I TO %I;', n.nspname, me)
        FROM d JOIN pg_namespace AS n ON d.nsp = quote_ident(n.nspname) WHERE d.made AND NOT has_schema_privilege(me, n.oid, 'USAGE')
        UNION
        SELECT format('Role %I has no right EXECUTE on function %s, which %s needs.', me, p.oid::regprocedure, d.what), format('GRANT EXECUTE ON FUNCTION %s TO %I;', p.oid::regprocedure, me)
        FROM d JOIN pg_proc AS p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
        WHERE d.runs AND NOT has_function_privilege(me, p.oid, 'EXECUTE')
          AND (d.class <> 'pg_trigger'::regclass OR p.oid = (SELECT g.tgfoid FROM pg_trigger AS g WHERE g.oid = d.obj))
        ORDER BY 1;
END
$$;
COMMENT ON FUNCTION flakeid.convert_denied(oid, int2, flakeid.convert_place[], oid[]) IS 'internal: rights on what stands round the columns that the owner lacks';

CREATE FUNCTION flakeid.convert_problems(root oid, root_att int2, places flakeid.convert_place[], memory jsonb, started bool, OUT problem text, OUT hint text)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home text := flakeid.convert_home();
    way text := memory ->> 'way';
    forth bool := way IN ('kept', 'made');
    created_at name := memory ->> 'created_at';
    me name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = root);
    key flakeid.convert_place := places[1];
    target text := memory ->> 'type';
    key_source oid;
    fresh text;
    rels oid[];
    replaced oid[];
    changed oid[];
    changed_atts int2[];
    views oid[];
    together flakeid.convert_place[] := places;
    highest int8;
    drawn int8;
    r record;
    l record;
    anew text := 'Drop it before, and create it again afterwards.';
BEGIN
    SELECT array_agg(DISTINCT p.rel), coalesce(array_agg(DISTINCT p.rel) FILTER (WHERE p.replaced), '{}') INTO rels, replaced FROM unnest(places) AS p;
    SELECT array_agg(t.rel), array_agg(t.att) INTO changed, changed_atts FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t;
    views := ARRAY(SELECT v.view FROM flakeid.convert_views(changed, changed_atts) AS v);

    -- The tables. Where anything is wrong with them, their rows are not read.
    RETURN QUERY SELECT s.* FROM flakeid.convert_strangers(root, places) AS s;
    IF FOUND THEN
        RETURN;
    END IF;
    -- An owner can take rights from himself.
    RETURN QUERY
        SELECT format('Role %I has no right %s on table %s.', me, need.name, t.rel::regclass), format('GRANT %s ON %s TO %I;', need.name, t.rel::regclass, me)
        FROM unnest(rels) AS t (rel) CROSS JOIN (VALUES ('SELECT'), ('UPDATE'), ('TRIGGER'), ('REFERENCES')) AS need (name)
        WHERE NOT has_table_privilege(me, t.rel, need.name)
          AND CASE need.name WHEN 'UPDATE' THEN t.rel = ANY (replaced)
                            WHEN 'REFERENCES' THEN EXISTS (SELECT FROM unnest(places) AS p JOIN pg_constraint AS f ON f.oid = p.via WHERE p.replaced AND f.confrelid = t.rel)
                            ELSE t.rel = root OR t.rel = ANY (replaced) END ORDER BY t.rel, need.name;
    IF FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT d.* FROM flakeid.convert_denied(root, root_att, places, views) AS d;
    BEGIN
        key_source := flakeid.convert_source(root, root_att);
        fresh := flakeid.convert_fresh(root, root_att);
    EXCEPTION WHEN insufficient_privilege THEN
        RETURN; -- it is named already
    END;
    RETURN QUERY
        SELECT p.problem, p.hint
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace CROSS JOIN LATERAL (SELECT c.oid::regclass, c.oid = ANY (replaced)) AS t (name, is_replaced)
             CROSS JOIN LATERAL (VALUES
            (c.relkind NOT IN ('r', 'p') OR c.relispartition OR c.reloftype <> 0 OR c.relpersistence = 't' OR n.nspname IN ('pg_catalog', 'information_schema')
                OR EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'),
             format('%s is not an ordinary or partitioned table of its own.', t.name), NULL),
            (c.relkind = 'r' AND NOT c.relispartition AND EXISTS (SELECT FROM pg_inherits AS i WHERE c.oid IN (i.inhrelid, i.inhparent)),
             format('Table %s takes part in inheritance.', t.name), NULL),
            (c.relforcerowsecurity AND (c.oid = root OR t.is_replaced),
             format('Policies of table %s hide rows from its owner.', t.name), format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY;', t.name)),
            (t.is_replaced AND NOT has_schema_privilege(me, n.oid, 'CREATE'),
             format('Role %I cannot create anything in schema %I.', me, n.nspname), NULL)) AS p (holds, problem, hint)
        WHERE c.oid = ANY (rels) AND p.holds
        UNION ALL
        SELECT format('Table %s takes part in the conversion of column %I of table %s, which is not finished.', o.rel::regclass, o.col, o.tab), format('CALL flakeid.convert(%L, %L);', o.tab, o.col)
        FROM flakeid.convert_others(root, root_att, replaced || root, memory, started) AS o
        UNION ALL
        SELECT y.* FROM (SELECT format('Table %s has a %s of the name %I, which the conversion needs.', x.rel::regclass, x.kind, x.name) AS problem, NULL
        FROM flakeid.convert_foreign(root, replaced, memory) AS x WHERE NOT started ORDER BY x.rel, x.kind, x.name COLLATE "C") AS y
        UNION ALL
        SELECT format('Relation %s has the name that the conversion needs for an index.', k.oid::regclass), NULL
        FROM flakeid.convert_indexes(places) AS i JOIN pg_class AS k ON k.relnamespace = i.nsp AND k.relname = flakeid.convert_name('new', i.name)
        WHERE NOT started AND i.leaf;
    IF FOUND THEN
        RETURN;
    END IF;

    -- Tables of one call, all of which change
    FOR r IN SELECT c.oid::regclass AS tab, flakeid.convert_places(c.oid, i.indkey[0], flakeid.convert_intent(c.oid, i.indkey[0], created_at, target, NULL, NULL, false)) AS places
             FROM jsonb_array_elements_text(memory -> 'list') AS n (name)
                  JOIN pg_class AS c ON c.oid = to_regclass(n.name) AND c.oid <> root
                  JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1
             WHERE NOT started LOOP
        together := together || r.places;
        RETURN QUERY SELECT format('Column %I of table %s follows table %s of the list too.', p.col, p.rel::regclass, r.tab), 'Convert one of them before.'
                     FROM unnest(places) AS p JOIN unnest(r.places::flakeid.convert_place[]) AS q ON p.rel = q.rel AND p.att = q.att WHERE p.replaced;
    END LOOP;

    -- The columns
    RETURN QUERY SELECT format('Column %I is of type %s.', key.col, key.typ), NULL
        WHERE key.typ NOT IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'uuid'::regtype, flakeid.convert_type(NULL)) AND NOT (flakeid.convert_is_cast(key.typ) AND way <> 'made');
    IF FOUND THEN
        RETURN;
    END IF;
    IF memory ? 'casts' AND forth THEN
        RETURN QUERY SELECT * FROM flakeid.convert_misfits(places);
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    RETURN QUERY
        SELECT format('Column %I of table %s, which follows, is of type %s.', p.col, p.rel::regclass, p.typ), NULL
        FROM unnest(places) AS p
        WHERE forth AND p.depth > 0 AND NOT memory ? 'casts'
          AND (p.typ NOT IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'uuid'::regtype, flakeid.convert_type(NULL)) OR (p.typ = 'uuid'::regtype) <> (key.typ = 'uuid'::regtype));
    RETURN QUERY
        SELECT format('Column %I of table %s has fewer bytes than the key, and an undo could not give them back.', p.col, p.rel::regclass),
               format('ALTER TABLE %s ALTER COLUMN %I TYPE %s;', p.rel::regclass, p.col, key.typ)
        FROM unnest(places) AS p WHERE way = 'kept' AND NOT key.replaced AND p.typ IN ('int2'::regtype, 'int4'::regtype);
    RETURN QUERY
        SELECT format('Column %I refers to table %s by foreign key %I.', key.col, f.confrelid::regclass, f.conname), format('CALL flakeid.convert(%L);', f.confrelid::regclass)
        FROM pg_constraint AS f WHERE f.contype = 'f' AND f.conrelid = root AND root_att = ANY (f.conkey) AND forth ORDER BY f.conname;
    RETURN QUERY
        SELECT format('Column %I of table %s is an identity.', p.col, p.rel::regclass), format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY;', p.rel::regclass, p.col)
        FROM unnest(places) AS p JOIN pg_attribute AS a ON a.attrelid = p.rel AND a.attnum = p.att WHERE p.depth > 0 AND p.replaced AND a.attidentity <> '';
    RETURN QUERY
        SELECT format('%s depends on sequence %s of the identity, which ends.', upper(left(x.what, 1) COLLATE "C") || substr(x.what, 2), key_source::regclass), anew
        FROM (SELECT DISTINCT pg_describe_object(d.classid, d.objid, 0) AS what
              FROM pg_attribute AS a JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = key_source AND d.deptype = 'n'
              WHERE forth AND a.attrelid = root AND a.attnum = root_att AND a.attidentity <> '') AS x ORDER BY x.what COLLATE "C";
    RETURN QUERY SELECT format('Nothing makes values of column %I, so rows that come afterwards could not get one of type %s in an undo.', key.col, key.typ),
               'Give it a default that does, or change its type to bigint by ALTER TABLE first.'
        WHERE forth AND key.replaced AND key.typ IN ('int2'::regtype, 'int4'::regtype)
          AND key_source IS NULL AND NOT flakeid.convert_is_made(root, root_att) AND fresh IS NULL;
    IF forth AND key.replaced AND key_source IS NULL AND fresh IS NOT NULL AND NOT memory ? 'casts' THEN
        BEGIN
            EXECUTE 'SELECT ' || fresh;
            RAISE EXCEPTION USING ERRCODE = 'FL000'; -- what it has written is gone
        EXCEPTION WHEN SQLSTATE 'FL000' THEN NULL;
                  WHEN OTHERS THEN
            problem := format('The default of column %I cannot be evaluated without a search_path: %s.', key.col, SQLERRM);
            hint := 'Write names with their schema.';
            RETURN NEXT;
        END;
    END IF;

    -- What cannot follow a change of type, or a new column
    RETURN QUERY
        SELECT format('%s depends on %s.', upper(left(x.what, 1) COLLATE "C") || substr(x.what, 2), x.rel), anew
        FROM (SELECT pg_describe_object(h.class, h.obj, 0) AS what, h.rel::regclass AS rel
              FROM flakeid.convert_held(changed, changed_atts) AS h WHERE h.class = 'pg_proc'::regclass
              UNION
              SELECT pg_describe_object(d.classid, d.objid, d.objsubid), v::regclass
              FROM unnest(views) AS v
                   CROSS JOIN LATERAL (SELECT 'pg_class'::regclass AS class, v AS obj UNION ALL
                       SELECT 'pg_type'::regclass, unnest(ARRAY[t.oid, t.typarray]) FROM pg_class AS c JOIN pg_type AS t ON t.oid = c.reltype WHERE c.oid = v) AS o
                   CROSS JOIN LATERAL (SELECT x.classid, x.objid, x.objsubid FROM pg_depend AS x WHERE x.refclassid = o.class AND x.refobjid = o.obj AND x.deptype = 'n' OFFSET 0) AS d
              WHERE d.classid <> 'pg_rewrite'::regclass
                 OR o.class <> 'pg_class'::regclass AND (SELECT w.ev_class FROM pg_rewrite AS w WHERE w.oid = d.objid) <> ALL (views)) AS x ORDER BY x.what, x.rel;
    -- Where another role has put something, the owner may not make it again.
    RETURN QUERY
        SELECT DISTINCT format('Role %I cannot create anything in tablespace %I, where index %s is.', me, s.spcname, x.idx::regclass), format('GRANT CREATE ON TABLESPACE %I TO %I;', s.spcname, me)
        FROM (SELECT i.idx FROM flakeid.convert_indexes(places) AS i UNION SELECT h.obj FROM flakeid.convert_held(changed, changed_atts) AS h WHERE h.class = 'pg_class'::regclass) AS x (idx)
             JOIN pg_class AS k ON k.oid = x.idx AND k.relkind IN ('i', 'I') JOIN pg_tablespace AS s ON s.oid = k.reltablespace
        WHERE NOT has_tablespace_privilege(me, s.oid, 'CREATE') ORDER BY 1;
    RETURN QUERY
        SELECT DISTINCT format('Role %I cannot create anything in schema %I, where %s is.', me, n.nspname, x.what), format('GRANT CREATE ON SCHEMA %I TO %I;', n.nspname, me)
        FROM (SELECT c.relnamespace AS nsp, pg_describe_object('pg_class'::regclass, c.oid, 0) AS what FROM pg_class AS c WHERE c.oid = ANY (views)
              UNION ALL
              SELECT e.stxnamespace, pg_describe_object('pg_statistic_ext'::regclass, e.oid, 0)
              FROM flakeid.convert_held(changed, changed_atts) AS h JOIN pg_statistic_ext AS e ON h.class = 'pg_statistic_ext'::regclass AND e.oid = h.obj) AS x
             JOIN pg_namespace AS n ON n.oid = x.nsp
        WHERE NOT has_schema_privilege(me, n.oid, 'CREATE') ORDER BY 1;
    -- What is made again belongs to the owner of the table, and its rights come from there.
    RETURN QUERY
        SELECT format('Statistics %s.%I belong to role %I.', e.stxnamespace::regnamespace, e.stxname, pg_get_userbyid(e.stxowner)),
               format('ALTER STATISTICS %s.%I OWNER TO %I;', e.stxnamespace::regnamespace, e.stxname, me)
        FROM pg_statistic_ext AS e
        WHERE pg_get_userbyid(e.stxowner) <> me AND e.oid IN (SELECT h.obj FROM flakeid.convert_held(changed, changed_atts) AS h WHERE h.class = 'pg_statistic_ext'::regclass) ORDER BY 1;
    RETURN QUERY
        SELECT DISTINCT format('Rights on %s were granted by role %s, in whose name nobody else can grant them again.', o.what, g.grantor::regrole),
               'Revoke them before, and let it grant them again afterwards.'
        FROM (SELECT c.relowner AS owner, c.relacl AS acl, pg_describe_object('pg_class'::regclass, c.oid, 0) AS what
              FROM pg_class AS c WHERE c.oid = ANY (views) OR c.oid = key_source AND forth AND (SELECT a.attidentity FROM pg_attribute AS a WHERE a.attrelid = root AND a.attnum = root_att) <> ''
              UNION ALL
              SELECT c.relowner, a.attacl, pg_describe_object('pg_class'::regclass, c.oid, a.attnum)
              FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attacl IS NOT NULL
              WHERE c.oid = ANY (views) OR (c.oid, a.attnum) IN (SELECT t.rel, t.att FROM flakeid.convert_trees(places) AS t WHERE t.replaced)) AS o
             CROSS JOIN LATERAL aclexplode(o.acl) AS g
        WHERE g.grantor <> o.owner ORDER BY 1;
    RETURN QUERY
        SELECT format('Table %s has no room for another column; those that were dropped count too.', c.oid::regclass), NULL
        FROM (SELECT t.rel, count(*) AS n FROM flakeid.convert_trees(places) AS t
              WHERE t.replaced AND NOT started AND (forth OR NOT EXISTS (SELECT FROM unnest(places) AS p JOIN pg_attribute AS a ON a.attrelid = t.rel AND a.attname = p.old_col WHERE p.new_col = t.new_col))
              GROUP BY t.rel) AS t JOIN pg_class AS c ON c.oid = t.rel WHERE c.relnatts + t.n > 1600 ORDER BY t.rel;
    -- The text of a rule cannot be had with other types.
    RETURN QUERY
        SELECT DISTINCT format('Rule %I of %s %s reads the column.', w.rulename, CASE k.relkind WHEN 'v' THEN 'view' ELSE 'table' END, w.ev_class::regclass),
               format('Drop the rule before, and create it again afterwards: DROP RULE %I ON %s;', w.rulename, w.ev_class::regclass)
        FROM flakeid.convert_held(changed, changed_atts) AS h
             JOIN pg_rewrite AS w ON h.class = 'pg_rewrite'::regclass AND w.oid = h.obj AND w.rulename <> '_RETURN'
             JOIN pg_class AS k ON k.oid = w.ev_class
        WHERE w.ev_class <> ALL (views)
        UNION
        SELECT format('Rule %I of view %s, which reads the column, would be made again.', w.rulename, w.ev_class::regclass),
               format('Drop the rule before, and create it again afterwards: DROP RULE %I ON %s;', w.rulename, w.ev_class::regclass)
        FROM pg_rewrite AS w WHERE w.ev_class = ANY (views) AND w.rulename <> '_RETURN'
        UNION
        SELECT format('Rule %I of table %s stands in the way of a new column.', w.rulename, w.ev_class::regclass),
               format('Drop the rule before, and create it again afterwards: DROP RULE %I ON %s;', w.rulename, w.ev_class::regclass)
        FROM pg_rewrite AS w WHERE w.ev_class = ANY (replaced)
          AND NOT EXISTS (SELECT FROM flakeid.convert_held(changed, changed_atts) AS h WHERE h.class = 'pg_rewrite'::regclass AND h.obj = w.oid);
    RETURN QUERY
        SELECT CASE WHEN x.member THEN format('View %s, of an extension, reads the column.', x.name)
                    WHEN x.relpersistence = 't' THEN format('View %s is a temporary one.', x.name)
                    WHEN x.relkind = 'm' THEN format('Materialized view %s reads the column.', x.name)
                    ELSE format('View %s belongs to another role, %s.', x.name, x.owner) END,
               CASE WHEN x.relpersistence = 't' THEN 'It ends with its session, or when that drops it.' WHEN x.member OR x.relkind <> 'v' THEN anew ELSE 'Let that role drop it before, and create it again afterwards.' END
        FROM (SELECT c.relkind, c.relpersistence, pg_get_userbyid(c.relowner) AS owner, c.oid::regclass AS name,
                     EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') AS member
              FROM pg_class AS c WHERE c.oid = ANY (views)) AS x
        WHERE x.member OR x.relkind <> 'v' OR x.relpersistence = 't' OR x.owner <> me ORDER BY x.name;
    RETURN QUERY
        SELECT DISTINCT format('Policy %I of table %s, which belongs to another role, %s, reads the column.', p.polname, c.oid::regclass, c.relowner::regrole),
               'Let that role drop it before, and create it again afterwards.'
        FROM flakeid.convert_held(changed, changed_atts) AS h JOIN pg_policy AS p ON h.class = 'pg_policy'::regclass AND p.oid = h.obj
             JOIN pg_class AS c ON c.oid = p.polrelid
        WHERE pg_get_userbyid(c.relowner) <> me ORDER BY 1;
    RETURN QUERY
        SELECT format('Column %I of table %s holds rows of table %s.', x.col, x.rel::regclass, x.tab::regclass), anew
        FROM flakeid.convert_row_types(changed) AS x ORDER BY x.rel, x.col;
    RETURN QUERY
        SELECT format('Column %I of table %s is generated.', a.attname, x.rel),
               CASE a.attgenerated WHEN 's' THEN format('ALTER TABLE %s ALTER COLUMN %I DROP EXPRESSION;', x.rel, a.attname) ELSE anew END
        FROM (SELECT c.rel::regclass AS rel, c.att FROM unnest(changed, changed_atts) AS c (rel, att)
              UNION
              SELECT e.adrelid, e.adnum
              FROM flakeid.convert_held(changed, changed_atts) AS h JOIN pg_attrdef AS e ON h.class = 'pg_attrdef'::regclass AND e.oid = h.obj
              UNION
              SELECT d.refobjid, d.refobjsubid::int2
              FROM unnest(changed, changed_atts) AS c (rel, att)
                   JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.rel AND d.objsubid = c.att
                                       AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.rel AND d.refobjsubid <> 0) AS x
             JOIN pg_attribute AS a ON a.attrelid = x.rel AND a.attnum = x.att AND a.attgenerated <> '' ORDER BY x.rel, a.attname;
    RETURN QUERY
        SELECT format('Table %s is partitioned by the column.', p.partrelid::regclass),
               CASE WHEN way = 'kept' AND key.typ = 'int8'::regtype THEN format('CALL flakeid.convert(%L, type => ''bigint'');', root::regclass)
                    WHEN NOT forth THEN 'Give its partitions to a new table whose column has the former type; the manual shows it under "Back to bigint".' END
        FROM pg_partitioned_table AS p
        WHERE EXISTS (SELECT FROM unnest(changed, changed_atts) AS c (rel, att)
                      WHERE c.rel = p.partrelid
                        AND (c.att = ANY (p.partattrs)
                             OR EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = p.partrelid
                                          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = p.partrelid AND d.refobjsubid = c.att)));
    RETURN QUERY
        SELECT format('Publication %I has table %s.', x.pubname, x.rel),
               'Subscribers need the new column before it is filled. Take the table out of the publication, convert it, and let subscribers copy it anew.'
        FROM (SELECT c.rel::regclass AS rel, pub.pubname
              FROM pg_publication AS pub
                   JOIN pg_publication_rel AS pr ON pr.prpubid = pub.oid
                   JOIN unnest(changed, changed_atts) AS c (rel, att) ON c.rel = pr.prrelid
              WHERE pr.prrelid = ANY (replaced) OR pr.prqual IS NOT NULL OR pr.prattrs IS NOT NULL
              UNION
              SELECT c::regclass, p.pubname FROM unnest(replaced) AS c JOIN pg_class AS k ON k.oid = c
                   JOIN pg_namespace AS n ON n.oid = k.relnamespace
                   JOIN pg_publication_tables AS p ON p.schemaname = n.nspname AND p.tablename = k.relname) AS x;
    RETURN QUERY
        SELECT DISTINCT CASE WHEN x.contype = 'x' THEN format('The column is in exclusion constraint %I of table %s, which is partitioned.', x.conname, x.conrelid::regclass)
                             ELSE format('Constraint %I of table %s is not %s.', x.conname, x.conrelid::regclass, CASE WHEN x.enforced THEN 'valid' ELSE 'enforced' END) END,
               format('ALTER TABLE %s %s CONSTRAINT %I;', x.conrelid::regclass, CASE WHEN x.contype = 'x' OR NOT x.enforced THEN 'DROP' ELSE 'VALIDATE' END, x.conname)
        FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t
             JOIN (SELECT k.*, coalesce((to_jsonb(k) ->> 'conenforced')::bool, true) AS enforced FROM pg_constraint AS k) AS x ON x.conrelid = t.rel
        WHERE x.conparentid = 0 AND (x.contype = 'x' AND NOT t.leaf AND t.att = ANY (x.conkey)
                                     OR t.replaced AND (x.contype IN ('c', 'n') OR x.contype = 'f' AND (SELECT a.atttypid FROM pg_attribute AS a WHERE a.attrelid = t.rel AND a.attnum = t.att) <> key.typ) AND NOT x.convalidated AND t.att = ANY (x.conkey) AND NOT starts_with(x.conname, 'flakeid_full')) ORDER BY 2;
    -- ALTER TABLE fails where it makes the NOT NULL of the parent again first.
    RETURN QUERY
        SELECT format('Constraint %I of partition %s would stand beside that of the table when its type changes.', n.name, n.tab), format('Detach partition %s, and attach it again, which makes them one.', n.tab)
        FROM unnest(places) AS p CROSS JOIN LATERAL flakeid.convert_not_nulls(p.rel, p.att) AS n
        WHERE p.retyped AND n.alone AND n.name NOT IN (SELECT m.name FROM flakeid.convert_not_nulls(p.rel, p.att) AS m WHERE m.level < n.level) ORDER BY n.tab;
    RETURN QUERY
        SELECT format('The column is in %s, which is WITHOUT OVERLAPS.', i.indexrelid::regclass), anew
        FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t JOIN pg_index AS i ON i.indrelid = t.rel AND t.att = ANY (i.indkey)
        WHERE i.indisexclusion AND i.indisunique ORDER BY i.indexrelid;
    RETURN QUERY
        SELECT format('Index %s has operator class %I, which takes %s and no other type.', i.indexrelid::regclass, o.opcname, o.opcintype::regtype), anew
        FROM flakeid.convert_trees(places) AS t
             JOIN pg_index AS i ON i.indrelid = t.rel CROSS JOIN LATERAL unnest(i.indkey, i.indclass) AS u (att, class)
             JOIN pg_opclass AS o ON o.oid = u.class
        WHERE t.replaced AND u.att = t.att AND NOT o.opcdefault AND (forth OR o.opcintype <> places[1].typ)
          AND o.opcintype IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'uuid'::regtype, 'text'::regtype, 'numeric'::regtype) ORDER BY i.indexrelid;
    RETURN QUERY
        SELECT format('Security label of provider %s stands on %s.', s.provider, pg_describe_object(s.classoid, s.objoid, s.objsubid)),
               'Take it away before, and set it again afterwards.'
        FROM pg_seclabel AS s
        WHERE s.classoid = 'pg_class'::regclass AND (s.objoid = ANY (views)
              OR EXISTS (SELECT FROM flakeid.convert_trees(places) AS t WHERE t.replaced AND t.rel = s.objoid AND t.att = s.objsubid));
    RETURN QUERY SELECT u.* FROM flakeid.convert_unreadable(together, CASE WHEN forth THEN '{}' ELSE flakeid.convert_fitting(places, memory #> '{was,originals}') END) AS u;

    -- Each row is updated once. Other triggers would see it, unless replication's part is played.
    RETURN QUERY
        SELECT format('Trigger %I of table %s would fire for each row.', t.tgname, t.tgrelid::regclass),
               CASE t.tgenabled WHEN 'O' THEN format('GRANT SET ON PARAMETER session_replication_role TO %I;', me)
                                ELSE format('ALTER TABLE %s DISABLE TRIGGER %I;', t.tgrelid::regclass, t.tgname) END
        FROM pg_trigger AS t
        WHERE NOT started AND t.tgrelid = ANY (replaced) AND NOT t.tgisinternal AND t.tgtype & 16 = 16
          AND cardinality(t.tgattr::int2[]) = 0 AND NOT starts_with(t.tgname, 'zzzz_flakeid_')
          AND (t.tgenabled IN ('A', 'R') OR t.tgenabled = 'O' AND NOT has_parameter_privilege(me, 'session_replication_role', 'SET')) ORDER BY t.tgrelid, t.tgname;
    RETURN QUERY
        SELECT format('Column %I of table %s still stands, from a conversion before.', p.old_col, p.rel::regclass), format('ALTER TABLE %s DROP COLUMN %I;', p.rel::regclass, p.old_col)
        FROM unnest(places) AS p JOIN pg_attribute AS a ON a.attrelid = p.rel AND a.attname = p.old_col WHERE p.replaced AND forth;
    -- Its other parents would need the same new ids.
    RETURN QUERY
        SELECT format('Column %I of table %s refers to table %s too, by foreign key %I.', p.col, p.rel::regclass, f.confrelid::regclass, f.conname),
               format('ALTER TABLE %s DROP CONSTRAINT %I;', p.rel::regclass, f.conname)
        FROM unnest(places) AS p JOIN pg_constraint AS f ON f.conrelid = p.rel AND p.att = ANY (f.conkey)
        WHERE p.replaced AND (way <> 'kept' OR memory ? 'casts') AND p.depth > 0 AND f.contype = 'f' AND f.conparentid = 0
          AND NOT EXISTS (SELECT FROM unnest(places) AS g
                          WHERE g.rel = coalesce(pg_partition_root(f.confrelid), f.confrelid)
                            AND g.col = flakeid.convert_column_name(f.confrelid, f.confkey[array_position(f.conkey, p.att)])) ORDER BY p.rel, f.conname;
    RETURN QUERY
        SELECT format('The condition of column %I of table %s cannot be read: %s.', p.col, p.rel::regclass, f.f), NULL
        FROM unnest(places) AS p, LATERAL flakeid.convert_fails(format('SELECT (%s)::bool FROM %s WHERE false', p.condition, p.rel::regclass)) AS f WHERE p.condition IS NOT NULL AND f.f IS NOT NULL;
    IF NOT forth THEN
        -- Whether the old column can be had again
        RETURN QUERY SELECT 'The table of old and new ids is gone.', NULL WHERE memory #>> '{was,map}' IS NOT NULL AND to_regclass(memory #>> '{was,map}') IS NULL;
        RETURN QUERY
            SELECT format('Table %s of old and new ids is not an ordinary table of role %I.', c.oid::regclass, me), CASE WHEN c.relkind = 'r' THEN format('ALTER TABLE %s OWNER TO %I;', c.oid::regclass, me) END
            FROM pg_class AS c WHERE c.oid = to_regclass(memory #>> '{was,map}') AND (c.relkind <> 'r' OR pg_get_userbyid(c.relowner) <> me);
        RETURN QUERY SELECT format('The default that the column had cannot be set: %s.', f), NULL
            FROM flakeid.convert_fails('EXPLAIN SELECT ' || concat_ws(', ', memory #>> '{was,default}', memory #>> '{was,fresh}')) AS f WHERE f IS NOT NULL;
        RETURN QUERY SELECT format('Relation %s has the name of the sequence that the column had.', q), NULL
            FROM to_regclass(memory #>> '{was,identity,name}') AS q WHERE q IS NOT NULL AND NOT started;
        RETURN;
    END IF;

    -- The ids
    BEGIN
        EXECUTE format('SELECT %1$s.flake_next(), %1$s.flake_floor(now())', home) INTO drawn, highest;
    EXCEPTION WHEN OTHERS THEN
        problem := format('No ids can be made: %s.', SQLERRM);
        GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
        RETURN NEXT;
        RETURN;
    END;
    IF key.typ <> 'uuid'::regtype AND NOT flakeid.convert_is_made(root, root_att) THEN
        highest := flakeid.convert_highest(root, key.col);
        hint := 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET flakeid.layout = ' || quote_literal(flakeid.layout_above(highest)) || ';';
        RETURN QUERY SELECT format('New ids would not lie above the highest one, %s.%s', highest, CASE WHEN hint IS NULL THEN ' Nor would those of another layout.' END), hint
            WHERE highest >= drawn;
    END IF;
    IF way <> 'made' OR started THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT format('Ids change, and no foreign key refers to table %s.', root::regclass),
            'Name the columns that follow, as in also => ''{"table.column": null}'', or say with also => ''{}'' that there are none.'
        WHERE NOT memory ? 'also' AND NOT EXISTS (SELECT FROM unnest(places) AS p WHERE p.via <> 0);
    IF created_at IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = root AND a.attname = created_at AND NOT a.attisdropped
                       AND a.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype)) THEN
            RETURN QUERY SELECT format('Table %s has no column %I that holds a time.', root::regclass, created_at), NULL;
            RETURN;
        END IF;
        l := flakeid.convert_layout();
        IF l.nodes < 2 THEN
            RETURN QUERY SELECT 'The layout has no node, so ids of old rows could be those of new ones.', NULL;
        ELSIF memory ? 'wanted' THEN
            IF flakeid.convert_node(root, (memory ->> 'wanted')::int4, false) IS NULL THEN
                RETURN QUERY SELECT format('Node %s is no node of the layout, or old rows of another table have it.', memory ->> 'wanted'), NULL;
            ELSIF flakeid.convert_has_node((memory ->> 'wanted')::int4) THEN
                RETURN QUERY SELECT format('This server makes ids with node %s.', memory ->> 'wanted'), NULL;
            END IF;
        ELSE
            RETURN QUERY SELECT 'No node is left for ids of old rows.', 'Name one that no server ever had, as in node => N.' WHERE flakeid.convert_node(root, NULL, false) IS NULL;
        END IF;
        EXECUTE format('SELECT count(*) FILTER (WHERE %1$I IS NULL) AS without, count(*) FILTER (WHERE %1$I > clock_timestamp()) AS ahead,
                              count(*) FILTER (WHERE %1$I < $1) AS early FROM %2$s', created_at, root::regclass)
        INTO r USING l.epoch;
        RETURN QUERY SELECT p.problem, NULL FROM (VALUES
            (r.without + r.early, format('Of the rows, %s have no time in column %I, and %s lie before the epoch of the layout, %s.', r.without, created_at, r.early, l.epoch)),
            (r.ahead, format('Of the rows, %s lie ahead of the clock by column %I.', r.ahead, created_at))) AS p (rows, problem) WHERE p.rows > 0;
    END IF;
    RETURN QUERY SELECT format('Column %I alone is not unique.', key.col), NULL
        WHERE NOT EXISTS (SELECT FROM pg_index AS i
            WHERE i.indrelid = root AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1 AND i.indkey[0] = root_att AND i.indpred IS NULL);
    RETURN QUERY
        SELECT format('Column %I of table %s has a default.', p.col, p.rel::regclass), format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT;', p.rel::regclass, p.col)
        FROM unnest(places) AS p WHERE p.depth > 0 AND flakeid.convert_default(p.rel, p.att) IS NOT NULL;
    -- Once a column has followed, the condition would say something else; and a trigger before the row has no generated column yet.
    RETURN QUERY
        SELECT format('The condition of column %I of table %s reads %s.', p.col, p.rel::regclass, s.what), s.advice
        FROM unnest(places) AS p JOIN pg_class AS c ON c.oid = p.rel
             CROSS JOIN (VALUES (false, 'a column that follows', NULL), (true, 'a generated column', 'Write the expression of that column instead.')) AS s (made, what, advice)
             CROSS JOIN LATERAL (SELECT string_agg(quote_ident(a.attname), ', ') AS others FROM pg_attribute AS a
                                 WHERE a.attrelid = p.rel AND a.attnum > 0 AND NOT a.attisdropped
                                   AND CASE WHEN s.made THEN a.attgenerated = '' ELSE NOT EXISTS (SELECT FROM unnest(places) AS q WHERE q.rel = a.attrelid AND q.att = a.attnum) END) AS o
             CROSS JOIN LATERAL flakeid.convert_fails(format('SELECT (%s)::bool FROM %s WHERE false', p.condition, p.rel::regclass)) AS f (f)
             CROSS JOIN LATERAL flakeid.convert_fails(format('SELECT (%s)::bool FROM (SELECT %s FROM %s) AS %I WHERE false', p.condition, o.others, p.rel::regclass, c.relname)) AS g (g)
        WHERE p.condition IS NOT NULL AND f.f IS NULL AND g.g IS NOT NULL ORDER BY s.made;
    RETURN QUERY SELECT format('Column %I of table %s follows under a condition, and a uuid is no id.', p.col, p.rel::regclass), NULL
        FROM unnest(places) AS p WHERE p.condition IS NOT NULL AND p.typ = 'uuid'::regtype;
END
$$;
COMMENT ON FUNCTION flakeid.convert_problems(oid, int2, flakeid.convert_place[], jsonb, bool) IS 'internal: why a conversion cannot be done, and a statement that helps';

-- Ids that are written as text or numeric must come back from an undo as they are, and new ones must have room there.
CREATE FUNCTION flakeid.convert_misfits(places flakeid.convert_place[], OUT problem text, OUT hint text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    p record;
    misfits record;
BEGIN
    -- Casts that nobody wrote: a statement that is written alike has none of them once the column is a number.
    RETURN QUERY
        SELECT DISTINCT format('Index %s has casts that are there because column %I is of type %s; statements would not use it afterwards.', i.indexrelid::regclass, c.col, c.typ),
               'Drop it before, and create it again afterwards.'
        FROM unnest(places) AS c CROSS JOIN LATERAL flakeid.convert_trees(ARRAY[c::flakeid.convert_place]) AS t
             JOIN pg_index AS i ON i.indrelid = t.rel AND NOT i.indisexclusion JOIN pg_class AS k ON k.oid = i.indexrelid AND NOT k.relispartition
             CROSS JOIN LATERAL (SELECT concat(i.indexprs, i.indpred), pg_get_indexdef(i.indexrelid)) AS x (tree, def)
        WHERE c.replaced AND x.tree ~ format(':varattno %s\M', t.att)
          AND (x.tree ~ ':(func|relabel|coerce)format 2\M' OR c.typ = 'numeric'::regtype AND x.def ~ '''::numeric') ORDER BY 1;
    FOR p IN SELECT x.*, x.rel::regclass AS tab, a.atttypmod AS typmod, a.attcollation, t.typcollation, d.adbin IS NOT NULL AS has_default
             FROM unnest(places) AS x JOIN pg_attribute AS a ON a.attrelid = x.rel AND a.attnum = x.att JOIN pg_type AS t ON t.oid = a.atttypid
                  LEFT JOIN pg_attrdef AS d ON d.adrelid = x.rel AND d.adnum = x.att ORDER BY x.depth, x.rel, x.att LOOP
        hint := NULL;
        IF NOT flakeid.convert_is_cast(p.typ) OR (p.typ = 'numeric'::regtype) <> ((places[1]).typ = 'numeric'::regtype) THEN
            problem := format('Column %I of table %s, which follows, is of type %s, and the key of type %s.', p.col, p.tab, p.typ, (places[1]).typ);
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF p.condition IS NOT NULL THEN
            problem := format('Column %I of table %s follows under a condition, and what it holds otherwise may be no number.', p.col, p.tab);
            RETURN NEXT;
        ELSIF p.attcollation <> p.typcollation THEN
            problem := format('Column %I of table %s has a collation of its own.', p.col, p.tab);
            RETURN NEXT;
        ELSIF EXISTS (SELECT FROM pg_index AS i CROSS JOIN LATERAL unnest(i.indkey, i.indcollation) AS u (att, coll) WHERE i.indrelid = p.rel AND u.att = p.att AND u.coll <> p.attcollation) THEN
            problem := format('Column %I of table %s is in an index with a collation of its own.', p.col, p.tab);
            hint := 'Drop it before, and create it again afterwards.';
            RETURN NEXT;
        ELSIF p.depth > 0 AND p.has_default THEN
            problem := format('Column %I of table %s has a default.', p.col, p.tab);
            hint := format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT;', p.tab, p.col);
            RETURN NEXT;
        ELSIF p.typmod >= 0 AND (CASE p.typ WHEN 'numeric'::regtype THEN (p.typmod - 4) >> 16 < 19 OR (p.typmod - 4) & 2047 > 0 ELSE p.typmod - 4 < 19 END) THEN
            problem := format('Column %I of table %s has no room for ids of 19 digits.', p.col, p.tab);
            hint := format('ALTER TABLE %s ALTER COLUMN %I TYPE %s;', p.tab, p.col, p.typ);
            RETURN NEXT;
        END IF;
        EXECUTE format($q$
            SELECT count(*) AS rows, string_agg(quote_literal(left(m.v, 40)), ', ' ORDER BY m.n) FILTER (WHERE m.n <= 3) AS some
            FROM (SELECT t.v, row_number() OVER () AS n FROM (SELECT %1$I::text AS v FROM %2$s) AS t
                  WHERE CASE WHEN t.v ~ '^(0|-?[1-9][0-9]{0,18})$' THEN t.v::numeric NOT BETWEEN -9223372036854775808 AND 9223372036854775807 ELSE t.v IS NOT NULL END) AS m$q$, p.col, p.tab) INTO misfits;
        IF misfits.rows > 0 THEN
            problem := format('Of the values in column %I of table %s, %s are no ids in decimal digits: %s.', p.col, p.tab, misfits.rows, misfits.some || CASE WHEN misfits.rows > 3 THEN ', ...' ELSE '' END);
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_misfits(flakeid.convert_place[]) IS 'internal: why columns of text or numeric cannot become ids';

-- The texts that an undo puts back, as far as what took their place is as it was.
CREATE FUNCTION flakeid.convert_fitting(places flakeid.convert_place[], originals jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_object_agg(x.key, originals -> x.key -> 'made'), '{}')
        FROM (SELECT i.key, i.made FROM flakeid.convert_items(places) AS i
              UNION ALL SELECT 'index ' || (pg_identify_object('pg_class'::regclass, x.idx, 0)).identity, flakeid.convert_index_text(x.idx) FROM flakeid.convert_indexes(places) AS x) AS x
        WHERE originals #>> ARRAY[x.key, 'hash'] = md5(x.made));
END
$$;
COMMENT ON FUNCTION flakeid.convert_fitting(flakeid.convert_place[], jsonb) IS 'internal: definitions that an undo can put back';
