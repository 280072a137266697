-- -------------------------------------------------------------------------------------------------
-- Moving tables in: what stands round a column
-- -------------------------------------------------------------------------------------------------
--
-- What holds a column by its number keeps it from changing: it goes, and comes again. The text that the server prints for it then has
-- casts that the first one had not, so the first one is kept, with a hash of what took its place; an undo puts it back where the hash fits.

-- What depends on columns but a conversion's own triggers and constraints, found by an index, however large the catalog is.
CREATE FUNCTION flakeid.convert_held(rels oid[], atts int2[], OUT rel oid, OUT att int2, OUT class oid, OUT obj oid) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 20 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT c.rel, c.att, d.classid, d.objid
        FROM unnest(rels, atts) AS c (rel, att)
             CROSS JOIN LATERAL (SELECT x.classid, x.objid FROM pg_depend AS x WHERE x.refclassid = 'pg_class'::regclass AND x.refobjid = c.rel AND x.refobjsubid = c.att OFFSET 0) AS d
        WHERE NOT EXISTS (SELECT FROM pg_constraint AS k WHERE d.classid = 'pg_constraint'::regclass AND k.oid = d.objid AND starts_with(k.conname, 'flakeid_full'))
          AND NOT EXISTS (SELECT FROM pg_trigger AS t WHERE d.classid = 'pg_trigger'::regclass AND t.oid = d.objid AND starts_with(t.tgname, 'zzzz_flakeid_'));
END
$$;
COMMENT ON FUNCTION flakeid.convert_held(oid[], int2[]) IS 'internal: what depends on columns';

CREATE FUNCTION flakeid.convert_views(rels oid[], atts int2[], OUT view oid, OUT depth int4) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE v AS (
            SELECT r.ev_class AS view, 1 AS depth
            FROM flakeid.convert_held(rels, atts) AS h JOIN pg_rewrite AS r ON h.class = 'pg_rewrite'::regclass AND r.oid = h.obj AND r.rulename = '_RETURN'
            WHERE r.ev_class <> h.rel
            UNION
            SELECT r.ev_class, v.depth + 1
            FROM v CROSS JOIN LATERAL (SELECT x.objid FROM pg_depend AS x WHERE x.refclassid = 'pg_class'::regclass AND x.refobjid = v.view AND x.classid = 'pg_rewrite'::regclass OFFSET 0) AS d
                 JOIN pg_rewrite AS r ON r.oid = d.objid AND r.rulename = '_RETURN'
            WHERE r.ev_class <> v.view
        )
        SELECT v.view, max(v.depth) FROM v GROUP BY v.view;
END
$$;
COMMENT ON FUNCTION flakeid.convert_views(oid[], int2[]) IS 'internal: views that read a column, and those that read them, with how far away each is';

-- Nothing that was granted by default to a new relation stays, unless it stood in the list of the old one.
CREATE FUNCTION flakeid.convert_no_defaults(owner oid, kind "char", name text, acl aclitem[]) RETURNS SETOF text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('REVOKE ALL ON %s FROM %s', name, string_agg(CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE x.grantee::regrole::text END, ', '))
    FROM (SELECT 0::oid AS grantee WHERE acl IS NOT NULL
          UNION SELECT owner WHERE acl IS NOT NULL
          UNION SELECT e.grantee FROM pg_default_acl AS d, aclexplode(d.defaclacl) AS e
                WHERE d.defaclrole = owner AND d.defaclobjtype = kind AND e.grantee <> owner) AS x
    HAVING count(*) > 0
$$;
COMMENT ON FUNCTION flakeid.convert_no_defaults(oid, "char", text, aclitem[]) IS 'internal: a statement that takes away what default privileges give';

-- What makes a view as it is, after the view itself.
CREATE FUNCTION flakeid.convert_view_more(view oid) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v record;
BEGIN
    SELECT c.relowner, c.relacl, c.oid::regclass::text AS name INTO v FROM pg_class AS c WHERE c.oid = view;
    RETURN QUERY SELECT flakeid.convert_no_defaults(v.relowner, 'r', v.name, v.relacl);
    RETURN QUERY SELECT flakeid.grant_statements(v.relacl, v.name, '');
    RETURN QUERY SELECT flakeid.grant_statements(a.attacl, v.name, format('(%I)', a.attname)) FROM pg_attribute AS a WHERE a.attrelid = view;
    RETURN QUERY SELECT format('ALTER VIEW %s ALTER COLUMN %I SET DEFAULT %s', v.name, a.attname, flakeid.convert_default(view, a.attnum))
                 FROM pg_attribute AS a WHERE a.attrelid = view AND a.atthasdef;
    RETURN QUERY SELECT unnest(flakeid.trigger_statements(t.oid)) FROM pg_trigger AS t WHERE t.tgrelid = view AND NOT t.tgisinternal;
    RETURN QUERY SELECT x FROM pg_rewrite AS r, unnest(pg_get_ruledef(r.oid) || flakeid.comment_statements(obj_description(r.oid, 'pg_rewrite'), format('RULE %I ON %s', r.rulename, v.name))) AS x
                 WHERE r.ev_class = view AND r.rulename <> '_RETURN';
    RETURN QUERY SELECT unnest(flakeid.comment_statements(obj_description(view, 'pg_class'), 'VIEW ' || v.name));
    RETURN QUERY SELECT unnest(flakeid.comment_statements(col_description(view, a.attnum), format('COLUMN %s.%I', v.name, a.attname)))
                 FROM pg_attribute AS a WHERE a.attrelid = view AND a.attnum > 0;
END
$$;
COMMENT ON FUNCTION flakeid.convert_view_more(oid) IS 'internal: statements that give a view its grants, defaults, comments, triggers and rules';

CREATE FUNCTION flakeid.convert_index_more(idx oid) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    i record;
BEGIN
    SELECT k.relname, k.relnamespace::regnamespace AS nsp, x.indrelid::regclass AS tab, x.indisclustered, x.indisreplident INTO i
    FROM pg_index AS x JOIN pg_class AS k ON k.oid = x.indexrelid WHERE x.indexrelid = idx;
    RETURN QUERY SELECT format('ALTER INDEX %s.%I ALTER COLUMN %s SET STATISTICS %s', i.nsp, i.relname, a.attnum, a.attstattarget)
                 FROM pg_attribute AS a WHERE a.attrelid = idx AND a.attstattarget >= 0;
    RETURN QUERY SELECT unnest(flakeid.comment_statements(obj_description(idx, 'pg_class'), format('INDEX %s.%I', i.nsp, i.relname)));
    IF i.indisclustered THEN
        RETURN NEXT format('ALTER TABLE %s CLUSTER ON %I', i.tab, i.relname);
    END IF;
    IF i.indisreplident THEN
        RETURN NEXT format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', i.tab, i.relname);
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.convert_index_more(oid) IS 'internal: statements that give an index its statistics target, comment and roles';

-- The server gives the indexes that it makes for partitions names of its choice, and the parent's comment. Each is known by its table and by
-- the index that it is a part of.
CREATE FUNCTION flakeid.convert_parts(places flakeid.convert_place[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT jsonb_agg(flakeid.convert_present(jsonb_build_object('part_of', pg_partition_root(x.oid)::regclass::text, 'table', x.rel::regclass::text, 'name', x.relname,
                       'comment', obj_description(x.oid, 'pg_class'), 'about', (SELECT obj_description(c.oid, 'pg_constraint') FROM pg_constraint AS c WHERE c.conindid = x.oid AND c.conrelid = x.rel AND c.contype IN ('p', 'u')),
                       'more', ARRAY(SELECT flakeid.convert_index_more(x.oid)))) ORDER BY x.oid)
        FROM (SELECT DISTINCT k.oid, k.relname, t.rel
              FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t
                   JOIN pg_index AS i ON i.indrelid = t.rel JOIN pg_class AS k ON k.oid = i.indexrelid AND k.relispartition
              WHERE t.att = ANY (i.indkey) OR EXISTS (SELECT FROM flakeid.convert_held(ARRAY[t.rel], ARRAY[t.att]) AS h WHERE h.class = 'pg_class'::regclass AND h.obj = k.oid)) AS x);
END
$$;
COMMENT ON FUNCTION flakeid.convert_parts(flakeid.convert_place[]) IS 'internal: what indexes of partitions have of their own';

CREATE FUNCTION flakeid.convert_put_back(parts jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    x record;
BEGIN
    FOR later IN 0 .. 1 LOOP -- one may have the name that another one is to have
        FOR x IN SELECT i.indexrelid AS idx, k.relname, i.indrelid::regclass AS tab, c.oid AS con, p.*
                 FROM jsonb_to_recordset(parts) AS p (part_of text, "table" text, name name, comment text, about text, more text[])
                      JOIN pg_index AS i ON i.indrelid = to_regclass(p."table") AND pg_partition_root(i.indexrelid) = to_regclass(p.part_of)
                      JOIN pg_class AS k ON k.oid = i.indexrelid
                      LEFT JOIN pg_constraint AS c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid AND c.contype IN ('p', 'u') LOOP
            IF x.relname <> x.name THEN
                EXECUTE format('ALTER INDEX %s RENAME TO %I', x.idx::regclass, CASE later WHEN 0 THEN flakeid.convert_name('part', x.name) ELSE x.name END);
            END IF;
            CONTINUE WHEN later = 0;
            IF obj_description(x.idx, 'pg_class') IS DISTINCT FROM x.comment THEN
                EXECUTE format('COMMENT ON INDEX %s IS %L', x.idx::regclass, x.comment);
            END IF;
            IF obj_description(x.con, 'pg_constraint') IS DISTINCT FROM x.about THEN
                EXECUTE format('COMMENT ON CONSTRAINT %I ON %s IS %L', x.name, x.tab, x.about);
            END IF;
            PERFORM flakeid.convert_run(x.more);
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_put_back(jsonb) IS 'internal: gives indexes of partitions what they had';

CREATE FUNCTION flakeid.convert_index_text(idx oid) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
    SELECT CASE WHEN s.spcname IS NULL THEN pg_get_indexdef(idx)
                ELSE regexp_replace(pg_get_indexdef(idx), '( WHERE .*)?$', format(' TABLESPACE %I\1', s.spcname)) END
    FROM pg_class AS k LEFT JOIN pg_tablespace AS s ON s.oid = k.reltablespace WHERE k.oid = idx
$$;
COMMENT ON FUNCTION flakeid.convert_index_text(oid) IS 'internal: the definition of an index, with its tablespace';

CREATE FUNCTION flakeid.convert_key_text(con oid) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
    SELECT regexp_replace(pg_get_constraintdef(con), '( DEFERRABLE.*| INITIALLY.*)?$', replace(concat(
               ' WITH (' || flakeid.option_list(k.reloptions, '') || ')', ' USING INDEX TABLESPACE ' || quote_ident(s.spcname)), '\', '\\') || '\1')
    FROM pg_constraint AS x JOIN pg_class AS k ON k.oid = x.conindid LEFT JOIN pg_tablespace AS s ON s.oid = k.reltablespace WHERE x.oid = con
$$;
COMMENT ON FUNCTION flakeid.convert_key_text(oid) IS 'internal: the definition of a key, with the parameters and the tablespace of its index';

-- rank: what goes first comes last.
CREATE FUNCTION flakeid.convert_items(places flakeid.convert_place[], OUT rank int4, OUT oid oid, OUT key text, OUT before text, OUT made text, OUT more text[], OUT validates text)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rels oid[];
    atts int2[];
BEGIN
    SELECT array_agg(t.rel), array_agg(t.att) INTO rels, atts FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t;
    RETURN QUERY
    WITH c AS MATERIALIZED (
        SELECT t.* FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t
    ), held AS MATERIALIZED (
        SELECT h.class AS classid, h.obj AS objid, bool_or(c.replaced) AS replaced
        FROM flakeid.convert_held(rels, atts) AS h JOIN c USING (rel, att)
        GROUP BY h.class, h.obj
    ), it AS (
        SELECT 500 + v.depth AS rank, 'pg_class'::regclass AS class, v.view AS oid, format('DROP VIEW %s', v.view::regclass) AS before,
               format('CREATE VIEW %s%s AS %s', v.view::regclass, ' WITH (' || array_to_string(k.reloptions, ', ') || ')', rtrim(pg_get_viewdef(v.view), ';')) AS made,
               ARRAY(SELECT flakeid.convert_view_more(v.view)) AS more, NULL AS validates
        FROM flakeid.convert_views(rels, atts) AS v JOIN pg_class AS k ON k.oid = v.view
        UNION ALL
        SELECT 400, h.classid, p.oid, format('DROP POLICY %I ON %s', p.polname, p.polrelid::regclass), s.s[1], s.s[2:], NULL
        FROM held h JOIN pg_policy AS p ON h.classid = 'pg_policy'::regclass AND p.oid = h.objid, LATERAL (SELECT flakeid.policy_statements(p.oid)) AS s (s)
        UNION ALL
        SELECT 390, h.classid, t.oid, format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass), s.s[1], s.s[2:], NULL
        FROM held h JOIN pg_trigger AS t ON h.classid = 'pg_trigger'::regclass AND t.oid = h.objid, LATERAL (SELECT flakeid.trigger_statements(t.oid)) AS s (s)
        WHERE NOT t.tgisinternal AND t.tgparentid = 0
        UNION ALL
        -- Foreign keys of replaced columns, from either side; checks and statistics of any
        SELECT CASE k.contype WHEN 'f' THEN 300 ELSE 290 END, 'pg_constraint'::regclass, k.oid, format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, k.conname),
               format('ALTER TABLE %s ADD CONSTRAINT %I %s%s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid), CASE WHEN l.later THEN ' NOT VALID' END),
               flakeid.comment_statements(obj_description(k.oid, 'pg_constraint'), format('CONSTRAINT %I ON %s', k.conname, k.conrelid::regclass)),
               CASE WHEN l.later THEN format('ALTER TABLE %s VALIDATE CONSTRAINT %I', k.conrelid::regclass, k.conname) END
        FROM pg_constraint AS k JOIN pg_class AS r ON r.oid = k.conrelid, LATERAL (SELECT k.convalidated AND (k.contype = 'c' OR r.relkind = 'r') AS later) AS l
        WHERE k.conparentid = 0 AND k.coninhcount = 0
          AND (k.contype = 'c' AND k.oid IN (SELECT h.objid FROM held h WHERE h.classid = 'pg_constraint'::regclass)
               OR k.contype = 'f' AND EXISTS (SELECT FROM c x WHERE x.replaced AND (k.conrelid = x.rel AND x.att = ANY (k.conkey) OR k.confrelid = x.rel AND x.att = ANY (k.confkey))))
        UNION ALL
        SELECT 200, h.classid, e.oid, format('DROP STATISTICS %s.%I', e.stxnamespace::regnamespace, e.stxname), s.s[1], s.s[2:], NULL
        FROM held h JOIN pg_statistic_ext AS e ON h.classid = 'pg_statistic_ext'::regclass AND e.oid = h.objid, LATERAL (SELECT flakeid.statistics_statements(e.oid)) AS s (s)
        UNION ALL
        -- Indexes over expressions of a column that stays in its place, which the server would write anew, with casts; and those of partitioned tables,
        -- which take what is ready in the partitions
        SELECT CASE WHEN h.replaced THEN 110 ELSE 100 END, h.classid, i.indexrelid, format('DROP INDEX %s', i.indexrelid::regclass), replace(flakeid.convert_index_text(i.indexrelid), ' ON ONLY ', ' ON '),
               ARRAY(SELECT flakeid.convert_index_more(i.indexrelid)), NULL
        FROM held h JOIN pg_index AS i ON h.classid = 'pg_class'::regclass AND i.indexrelid = h.objid JOIN pg_class AS k ON k.oid = i.indexrelid
        WHERE (NOT h.replaced OR k.relkind = 'I') AND NOT k.relispartition AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL) AND NOT i.indisexclusion
        UNION ALL
        -- What excludes rows has an index that cannot be made before it.
        SELECT 90, 'pg_constraint'::regclass, k.oid, format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, k.conname),
               format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)),
               ARRAY(SELECT format('ALTER INDEX %s.%I SET TABLESPACE %I', i.relnamespace::regnamespace, k.conname, s.spcname) FROM pg_class AS i JOIN pg_tablespace AS s ON s.oid = i.reltablespace WHERE i.oid = k.conindid)
               || ARRAY(SELECT flakeid.convert_index_more(k.conindid)) || flakeid.comment_statements(obj_description(k.oid, 'pg_constraint'), format('CONSTRAINT %I ON %s', k.conname, k.conrelid::regclass)), NULL
        FROM pg_constraint AS k
        WHERE k.contype = 'x' AND EXISTS (SELECT FROM held h WHERE (h.classid, h.objid) IN (('pg_constraint'::regclass, k.oid), ('pg_class'::regclass, k.conindid)))
    )
    SELECT it.rank, it.oid, (pg_identify_object(it.class, it.oid, 0)).type || ' ' || (pg_identify_object(it.class, it.oid, 0)).identity, it.before, it.made, it.more, it.validates
    FROM it ORDER BY it.rank DESC, it.oid DESC;
END
$$;
COMMENT ON FUNCTION flakeid.convert_items(flakeid.convert_place[]) IS
    'internal: what must go before columns change, in order, and the statements that make each again, in the other order';

-- By their names; those that are replaced, by the names of the new ones.
CREATE FUNCTION flakeid.convert_index_columns(idx oid, places flakeid.convert_place[]) RETURNS SETOF name
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT coalesce(p.new_col, a.attname)
        FROM pg_index AS i
             JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum > 0
             LEFT JOIN unnest(places) AS p ON p.replaced AND p.col = a.attname AND p.rel = coalesce(pg_partition_root(i.indrelid), i.indrelid)
        WHERE i.indexrelid = idx
          AND (a.attnum = ANY (i.indkey)
               OR EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = idx AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid = a.attnum));
END
$$;
COMMENT ON FUNCTION flakeid.convert_index_columns(oid, flakeid.convert_place[]) IS 'internal: the columns that an index is in, as they will be';

CREATE FUNCTION flakeid.convert_indexes(places flakeid.convert_place[],
        OUT idx oid, OUT rel oid, OUT nsp regnamespace, OUT name name, OUT leaf bool, OUT attached bool, OUT ready bool, OUT bytes int8)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT i.indexrelid, i.indrelid, k.relnamespace::regnamespace, k.relname, k.relkind = 'i', k.relispartition,
               -- One that was made beside another conversion of the table may be in columns that are none of this index any more.
               (SELECT n.indisvalid AND NOT EXISTS (SELECT flakeid.convert_index_columns(n.indexrelid, '{}') EXCEPT SELECT flakeid.convert_index_columns(i.indexrelid, places))
                FROM pg_class AS c JOIN pg_index AS n ON n.indexrelid = c.oid
                WHERE c.relnamespace = k.relnamespace AND c.relname = flakeid.convert_name('new', k.relname) AND n.indrelid = i.indrelid),
               pg_table_size(i.indrelid)
        FROM flakeid.convert_trees(places) AS m
             JOIN pg_index AS i ON i.indrelid = m.rel
             JOIN pg_class AS k ON k.oid = i.indexrelid
        WHERE m.replaced AND NOT i.indisexclusion AND NOT (k.relkind = 'I' AND NOT k.relispartition AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL))
          AND (m.att = ANY (i.indkey)
               OR EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                            AND d.refclassid = 'pg_class'::regclass AND d.refobjid = m.rel AND d.refobjsubid = m.att));
END
$$;
COMMENT ON FUNCTION flakeid.convert_indexes(flakeid.convert_place[]) IS 'internal: the indexes that replaced columns are in, and whether one for the new columns is ready';

-- -- Whether it can be read as another type ---------------------------------------------------------

-- What statements mean is asked of the server: a text must be one that it takes with the column as it is, and as it will be. No row is read.
CREATE FUNCTION flakeid.convert_fails(statement text) RETURNS text
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE statement;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END
$$;
COMMENT ON FUNCTION flakeid.convert_fails(text) IS 'internal: the error of a statement';

-- A row of a table as it is, or as it will be; the columns that change have a large number where probe is given.
CREATE FUNCTION flakeid.convert_row(tab oid, places flakeid.convert_place[], changed bool, alias text, probe text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('(SELECT %s%s OFFSET 0) AS %s', string_agg(format('CAST(%s AS %s) AS %I', coalesce(CASE WHEN p.rel IS NOT NULL THEN probe END, 'NULL'),
               CASE WHEN changed AND p.rel IS NOT NULL THEN p.new_type ELSE format_type(a.atttypid, a.atttypmod) END, a.attname), ', ' ORDER BY a.attnum),
               CASE WHEN probe IS NULL THEN ' WHERE false' END, alias)
    FROM pg_attribute AS a
         LEFT JOIN unnest(places) AS p ON (p.rel = a.attrelid OR p.rel = pg_partition_root(a.attrelid)) AND p.col = a.attname AND (p.replaced OR p.retyped)
    WHERE a.attrelid = tab AND a.attnum > 0 AND NOT a.attisdropped
$$;
COMMENT ON FUNCTION flakeid.convert_row(oid, flakeid.convert_place[], bool, text, text) IS 'internal: a subquery that has the columns of a table, with their types of now or of afterwards';

CREATE FUNCTION flakeid.convert_unreadable(places flakeid.convert_place[], originals jsonb, OUT problem text, OUT hint text) RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    i record;
    e record;
    path text := current_setting('search_path');
    said text;
    rows text[] := '{}';
    half int4;
    asked bool;
    rels oid[];
    atts int2[];
    owner oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = (places[1]).rel);
    big text := CASE WHEN (places[1]).new_type IN ('int2', 'int4', 'smallint', 'integer') THEN '1' WHEN (places[1]).new_type = 'uuid' THEN NULL ELSE '4611686018427387905' END;
    casts text; -- where the key is read as a number that is too small for new ids, which nothing that reads no row would show
BEGIN
    IF big <> '1' AND (places[1]).typ <> flakeid.convert_type(NULL) THEN
        SELECT format('(^|[^\w"])(%s)\)?::(smallint|integer)\M', string_agg(DISTINCT regexp_replace(quote_ident(p.col), '\W', '.', 'g'), '|')) INTO casts
        FROM unnest(flakeid.convert_changed(places)) AS p;
    END IF;
    SELECT array_agg(t.rel), array_agg(t.att) INTO rels, atts FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t;
    -- Expressions of tables; those that are immutable are tried with a number that only eight bytes hold
    FOR i IN SELECT DISTINCT x.what, x.rel, x.expression, x.runs, x.old, x.key
             FROM flakeid.convert_held(rels, atts) AS d CROSS JOIN LATERAL (
                 SELECT pg_describe_object(d.class, d.obj, 0) AS what, d.rel, y.expression, y.runs, y.old,
                        (pg_identify_object(d.class, d.obj, 0)).type || ' ' || (pg_identify_object(d.class, d.obj, 0)).identity AS key
                 FROM (
                     SELECT pg_get_indexdef(n.indexrelid, k, false) AS expression, true AS runs, NULL AS old FROM pg_index AS n, generate_series(1, n.indnatts) AS k
                     WHERE d.class = 'pg_class'::regclass AND n.indexrelid = d.obj AND n.indkey[k - 1] = 0
                     UNION ALL SELECT pg_get_expr(n.indpred, n.indrelid), true, NULL FROM pg_index AS n WHERE d.class = 'pg_class'::regclass AND n.indexrelid = d.obj
                     UNION ALL SELECT pg_get_expr(k.conbin, k.conrelid), true, NULL FROM pg_constraint AS k WHERE d.class = 'pg_constraint'::regclass AND k.oid = d.obj
                     UNION ALL SELECT unnest(pg_get_statisticsobjdef_expressions(s.oid)), true, NULL FROM pg_statistic_ext AS s WHERE d.class = 'pg_statistic_ext'::regclass AND s.oid = d.obj
                     UNION ALL SELECT unnest(ARRAY[pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)]), false, NULL
                               FROM pg_policy AS p WHERE d.class = 'pg_policy'::regclass AND p.oid = d.obj AND p.polrelid = d.rel
                     UNION ALL SELECT (regexp_match(pg_get_triggerdef(t.oid), ' WHEN \((.*)\) EXECUTE FUNCTION '))[1], false, 'old'
                               FROM pg_trigger AS t WHERE d.class = 'pg_trigger'::regclass AND t.oid = d.obj AND t.tgqual IS NOT NULL) AS y
                 WHERE y.expression IS NOT NULL) AS x
             WHERE originals -> x.key IS NULL
             ORDER BY x.what LOOP
        FOR e IN SELECT format('SELECT %s FROM %s', i.expression, CASE WHEN i.old IS NULL THEN flakeid.convert_row(i.rel, places, s.changed, (SELECT quote_ident(c.relname) FROM pg_class AS c WHERE c.oid = i.rel), s.probe)
                           ELSE flakeid.convert_row(i.rel, places, s.changed, 'old', NULL) || ', ' || flakeid.convert_row(i.rel, places, s.changed, 'new', NULL) END) AS text, s.changed
                 FROM (VALUES (false, CASE WHEN i.runs THEN '1' END), (true, CASE WHEN i.runs THEN big END)) AS s (changed, probe)
                 WHERE (places[1]).typ <> 'uuid'::regtype OR s.changed ORDER BY 2 LOOP
            said := flakeid.convert_fails(e.text);
            EXIT WHEN said IS NOT NULL AND NOT e.changed; -- it cannot be asked this way
        END LOOP;
        IF NOT i.runs AND i.expression ~ casts THEN
            problem := upper(left(i.what, 1) COLLATE "C") || substr(i.what, 2) || ' casts it to a smaller integer.';
            hint := 'Drop it before, and create it again afterwards.';
            RETURN NEXT;
        ELSIF said IS NOT NULL AND e.changed THEN
            problem := format('%s of table %s cannot read it as %s: %s.', upper(left(i.what, 1) COLLATE "C") || substr(i.what, 2), i.rel::regclass, (places[1]).new_type, said);
            hint := 'Drop it before, and create it again afterwards.';
            RETURN NEXT;
        END IF;
    END LOOP;

    -- Views, and policies of other tables: where they name a table, they find one that has the types of afterwards. Those of other roles
    -- are not asked: planning a statement runs functions that it calls.
    PERFORM set_config('search_path', (SELECT string_agg(DISTINCT c.relnamespace::regnamespace::text, ', ') FROM pg_class AS c
        WHERE c.oid = ANY (rels) OR c.oid IN (SELECT v.view FROM flakeid.convert_views(rels, atts) AS v)) || ', pg_temp', true);
    FOR i IN SELECT v.view AS oid, 1 + max(v.depth) AS depth, rtrim(pg_get_viewdef(v.view), ';') AS def, pg_table_is_visible(v.view) AS seen,
                    originals -> ('view ' || (pg_identify_object('pg_class'::regclass, v.view, 0)).identity) IS NOT NULL AS comes_back,
                    format('View %s', v.view::regclass) AS what
             FROM flakeid.convert_views(rels, atts) AS v JOIN pg_class AS c ON c.oid = v.view AND c.relkind = 'v' AND c.relowner = owner GROUP BY v.view
             UNION
             SELECT p.oid, 1000, format('SELECT %s FROM %s', concat_ws(', ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)), p.polrelid::regclass), false,
                    originals -> ('policy ' || (pg_identify_object('pg_policy'::regclass, p.oid, 0)).identity) IS NOT NULL, format('Policy %I of table %s', p.polname, p.polrelid::regclass)
             FROM flakeid.convert_held(rels, atts) AS h JOIN pg_policy AS p ON h.class = 'pg_policy'::regclass AND p.oid = h.obj AND p.polrelid <> h.rel
                  JOIN pg_class AS c ON c.oid = p.polrelid AND c.relowner = owner
             ORDER BY 2, 1 LOOP
        IF rows = '{}' THEN
            SELECT array_agg(format('%I AS (SELECT * FROM %s)', (SELECT c.relname FROM pg_class AS c WHERE c.oid = r.rel), flakeid.convert_row(r.rel, places, s.changed, 'x', NULL)) ORDER BY s.changed, r.rel)
            INTO rows FROM (SELECT DISTINCT t.rel FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t WHERE pg_table_is_visible(t.rel)) AS r, (VALUES (false), (true)) AS s (changed);
            rows := coalesce(rows, '{}');
        END IF;
        said := NULL;
        half := cardinality(rows) / 2;
        FOR later IN 0 .. 1 LOOP
            BEGIN
                EXECUTE format('WITH %s SELECT FROM (%s) AS x WHERE false', array_to_string(rows[later * half + 1:(later + 1) * half], ', '), i.def);
            EXCEPTION WHEN OTHERS THEN
                said := SQLERRM;
                asked := later = 1;
                EXIT;
            END;
        END LOOP;
        IF i.def ~ casts AND NOT i.comes_back THEN
            problem := i.what || ' casts it to a smaller integer.';
            hint := 'Drop it before, and create it again afterwards.';
            RETURN NEXT;
        END IF;
        IF said IS NULL AND i.seen THEN
            said := format('%I AS (%s)', (SELECT c.relname FROM pg_class AS c WHERE c.oid = i.oid), i.def);
            rows := rows[:half] || said || rows[half + 1:] || said;
        ELSIF said IS NOT NULL AND asked AND NOT i.comes_back THEN
            problem := format('%s cannot read it as %s: %s.', i.what, (places[1]).new_type, said);
            hint := 'Drop it before, and create it again afterwards.';
            RETURN NEXT;
        END IF;
    END LOOP;
    PERFORM set_config('search_path', path, true);
END
$$;
COMMENT ON FUNCTION flakeid.convert_unreadable(flakeid.convert_place[], jsonb) IS 'internal: what would not work with the column as it will be, but those that an undo puts back';
