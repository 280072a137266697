-- -------------------------------------------------------------------------------------------------
-- Moving tables in: statements and steps
-- -------------------------------------------------------------------------------------------------
--
-- Ids that change stand in a table of old and new ones: each column that refers to the key holds its values, so all find theirs there. An
-- undo reads the same table the other way round. Where somebody writes a value that is not in it yet, the trigger adds it, and the row
-- that the value stands for finds it there when it comes: so no order of rows, and no constraint that is deferred, leaves any without.
--
-- A constraint says that new columns are filled wherever old ones are: from the moment when the triggers stand it holds for every row that
-- is written, and once it is validated it holds for all.

CREATE FUNCTION flakeid.convert_locks(rels oid[]) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', string_agg(r::regclass::text, ', ' ORDER BY r)) FROM unnest(rels) AS r
$$;
COMMENT ON FUNCTION flakeid.convert_locks(oid[]) IS 'internal: a statement that locks tables, always in the same order';

-- An identity as it is: its sequence goes with it.
CREATE FUNCTION flakeid.convert_identity(rel oid, att int2) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    q record;
    s record;
BEGIN
    SELECT a.attidentity, c.oid, c.oid::regclass::text AS name, c.relowner, c.relacl, x.* INTO q
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = flakeid.convert_sequence(rel, att) JOIN pg_sequence AS x ON x.seqrelid = c.oid
    WHERE a.attrelid = rel AND a.attnum = att AND a.attidentity <> '';
    IF q IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT last_value, is_called FROM %s', q.name) INTO s;
    RETURN jsonb_build_object('kind', CASE q.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, 'name', q.name, 'type', q.seqtypid::regtype,
        'options', format('INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s', q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcache,
                          CASE WHEN q.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END),
        'last', s.last_value, 'called', s.is_called,
        'more', to_jsonb(ARRAY(SELECT flakeid.convert_no_defaults(q.relowner, 'S', 'SEQUENCE ' || q.name, q.relacl)
                               UNION ALL SELECT flakeid.grant_statements(q.relacl, 'SEQUENCE ' || q.name, ''))
                         || flakeid.comment_statements(obj_description(q.oid, 'pg_class'), 'SEQUENCE ' || q.name)));
END
$$;
COMMENT ON FUNCTION flakeid.convert_identity(oid, int2) IS 'internal: an identity, with all that its sequence is';

-- A sequence goes on above ids with a time, if it can, and if it makes nothing else.
CREATE FUNCTION flakeid.convert_lift(seq regclass, rel regclass, col name, kept int8) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    reached int8 := flakeid.convert_highest(rel, col);
    q pg_sequence := (SELECT x FROM pg_sequence AS x WHERE x.seqrelid = seq);
BEGIN
    IF reached > kept OR kept IS NULL AND reached IS NOT NULL THEN
        IF reached < q.seqmax AND q.seqincrement > 0 AND (SELECT count(*) FROM pg_attrdef AS f
            WHERE EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = seq)
               OR pg_get_expr(f.adbin, f.adrelid) LIKE 'nextval((%' AND flakeid.convert_source(f.adrelid, f.adnum) = seq) <= 1 THEN
            PERFORM setval(seq, reached);
        ELSE
            RAISE NOTICE '%: sequence % goes on where it was, below the ids that carry a time', rel, seq;
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.convert_lift(regclass, regclass, name, int8) IS 'internal: sets a sequence above ids that were made since a conversion';

CREATE FUNCTION flakeid.convert_identity_statements(tab text, col name, i jsonb, source text) RETURNS SETOF text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN NEXT format('ALTER TABLE %s ALTER COLUMN %I ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s)', tab, col, i ->> 'kind', i ->> 'name', i ->> 'options');
    RETURN NEXT CASE WHEN source IS NULL THEN format('SELECT pg_catalog.setval(%L, %s, %L)', i ->> 'name', i ->> 'last', i ->> 'called')
                     ELSE format('SELECT pg_catalog.setval(%L, s.last_value, s.is_called) FROM %s AS s', i ->> 'name', source) END;
    RETURN QUERY SELECT jsonb_array_elements_text(i -> 'more');
END
$$;
COMMENT ON FUNCTION flakeid.convert_identity_statements(text, name, jsonb, text) IS 'internal: statements that make an identity as it was, its sequence where it was or where another is';

-- What an undo of the swap that is about to be will need.
CREATE FUNCTION flakeid.convert_remains(root oid, root_att int2, places flakeid.convert_place[], memory jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    key flakeid.convert_place := places[1];
BEGIN
    RETURN coalesce(flakeid.convert_was(root, root_att), flakeid.convert_present(jsonb_build_object('way', memory ->> 'way', 'from', key.typ::text, 'type', memory ->> 'type', 'replaced', key.replaced,
        'kept', CASE WHEN memory ->> 'way' = 'kept' THEN coalesce(flakeid.convert_highest(root, key.col), 0) END,
        'map', memory ->> 'map', 'node', memory -> 'node', 'also', memory -> 'also',
        'default', flakeid.convert_default(root, root_att), 'parts', flakeid.convert_part_defaults(root, root_att),
        'fresh', flakeid.convert_fresh(root, root_att),
        'identity', flakeid.convert_identity(root, root_att),
        'columns', (SELECT jsonb_agg(flakeid.convert_present(jsonb_build_object('table', p.rel::regclass::text, 'column', p.col,
                              'type', format_type(a.atttypid, a.atttypmod), 'condition', p.condition,
                              -- as they will be, for one that is renamed
                              'oid', p.rel::int8, 'att', (SELECT n.attnum FROM pg_attribute AS n WHERE n.attrelid = p.rel AND n.attname = CASE WHEN p.replaced THEN p.new_col ELSE p.col END)))
                          ORDER BY p.depth, p.rel, p.att)
                     FROM unnest(places) AS p JOIN pg_attribute AS a ON a.attrelid = p.rel AND a.attnum = p.att))));
END
$$;
COMMENT ON FUNCTION flakeid.convert_remains(oid, int2, flakeid.convert_place[], jsonb) IS 'internal: what a column is before it is converted';

-- Partitions may have defaults of their own, or none.
CREATE FUNCTION flakeid.convert_part_defaults(rel oid, att int2) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_agg(jsonb_build_object('table', d.relid::regclass::text, 'default', d.own) ORDER BY d.level, d.relid)
    FROM (SELECT t.relid, t.level, flakeid.convert_default(t.relid, a.attnum) AS own, flakeid.convert_default(t.parentrelid, p.attnum) AS parents
          FROM pg_partition_tree(rel) AS t
               JOIN pg_attribute AS a ON a.attrelid = t.relid AND a.attname = flakeid.convert_column_name(rel, att)
               JOIN pg_attribute AS p ON p.attrelid = t.parentrelid AND p.attname = a.attname
          WHERE t.level > 0) AS d
    WHERE d.own IS DISTINCT FROM d.parents
$$;
COMMENT ON FUNCTION flakeid.convert_part_defaults(oid, int2) IS 'internal: the defaults of partitions that are not that of what they are a part of';

CREATE FUNCTION flakeid.convert_part_statements(rel oid, col name, parts jsonb) RETURNS text[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(format('ALTER TABLE %s ALTER COLUMN %I %s', x."table", col, coalesce('SET DEFAULT ' || x."default", 'DROP DEFAULT')) ORDER BY t.level), '{}')
    FROM jsonb_to_recordset(parts) AS x ("table" text, "default" text) JOIN pg_partition_tree(rel) AS t ON t.relid = to_regclass(x."table")
$$;
COMMENT ON FUNCTION flakeid.convert_part_statements(oid, name, jsonb) IS 'internal: statements that give partitions their defaults';

-- From PostgreSQL 18 on, a NOT NULL has a name and a comment, in each partition its own, where it may outlast that of the parent ("alone"), or
-- be no more than that one ("given").
CREATE FUNCTION flakeid.convert_not_nulls(rel oid, att int2, OUT tab regclass, OUT name name, OUT def text, OUT comment text, OUT level int4, OUT alone bool, OUT given bool) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT x.conrelid::regclass, x.conname, pg_get_constraintdef(x.oid), obj_description(x.oid, 'pg_constraint'), t.level, x.conislocal AND x.coninhcount > 0,
           NOT x.conislocal AND EXISTS (SELECT FROM pg_constraint AS o WHERE o.conrelid = t.parent AND o.contype = 'n' AND o.conname = x.conname)
    FROM (SELECT rel AS oid, 0 AS level, 0::oid AS parent UNION ALL SELECT t.relid, t.level, t.parentrelid FROM pg_partition_tree(rel) AS t WHERE t.level > 0) AS t
         JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attname = flakeid.convert_column_name(rel, att)
         JOIN pg_constraint AS x ON x.conrelid = t.oid AND x.contype = 'n' AND x.conkey = ARRAY[a.attnum] ORDER BY t.level DESC, t.oid
$$;
COMMENT ON FUNCTION flakeid.convert_not_nulls(oid, int2) IS 'internal: the constraints NOT NULL of a column and of its partitions, from the last of these on';

CREATE FUNCTION flakeid.convert_swap(root oid, root_att int2, places flakeid.convert_place[], memory jsonb, OUT statements text[], OUT slow jsonb, OUT validates text[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    home text := flakeid.convert_home();
    way text := memory ->> 'way';
    forth bool := way IN ('kept', 'made');
    was jsonb := memory -> 'was';
    key flakeid.convert_place := places[1];
    any_replaced bool := (SELECT bool_or(p.replaced) FROM unnest(places) AS p);
    fitting jsonb := CASE WHEN forth THEN '{}' ELSE flakeid.convert_fitting(places, was -> 'originals') END;
    around text[] := '{}';
    keys text[] := '{}';
    c record;
    r record;
    identity text;
    parts jsonb;
    statement text;
BEGIN
    statements := ARRAY[flakeid.convert_locks(ARRAY(SELECT DISTINCT p.rel FROM unnest(places) AS p WHERE p.replaced OR p.retyped OR p.rel = root))];
    slow := '{}';
    validates := '{}';
    FOR r IN SELECT i.*, coalesce(fitting ->> i.key, i.made) AS statement FROM flakeid.convert_items(places) AS i ORDER BY i.rank DESC, i.oid DESC LOOP
        statements := statements || r.before;
        around := r.statement || r.more || around;
        validates := validates || array_remove(ARRAY[r.validates], NULL);
        IF r.rank <= 100 THEN
            slow := slow || jsonb_build_object(r.statement, flakeid.convert_lasts((SELECT sum(pg_table_size(t.oid))::int8
                FROM pg_index AS i CROSS JOIN LATERAL (SELECT i.indrelid AS oid UNION SELECT p.relid FROM pg_partition_tree(i.indrelid) AS p) AS t
                WHERE i.indexrelid = coalesce((SELECT k.conindid FROM pg_constraint AS k WHERE k.oid = r.oid AND r.rank < 100), r.oid))));
        ELSIF r.rank = 300 AND r.validates IS NULL THEN
            slow := slow || jsonb_build_object(r.statement, flakeid.convert_lasts((SELECT sum(pg_table_size(t.relid)) FROM pg_constraint AS k, pg_partition_tree(k.conrelid) AS t WHERE k.oid = r.oid)::int8));
        END IF;
    END LOOP;

    IF any_replaced THEN
        -- Indexes, first those of partitions, which stand ready under other names; then those that are made of them
        FOR r IN SELECT x.*, k.oid AS con, k.conname, k.contype, k.condeferrable, k.condeferred, x.rel::regclass AS tab
                 FROM flakeid.convert_indexes(places) AS x
                      LEFT JOIN pg_constraint AS k ON k.conindid = x.idx AND k.contype IN ('p', 'u') AND k.conrelid = x.rel
                 ORDER BY NOT x.leaf, x.idx LOOP
            IF NOT r.attached THEN
                statements := statements || CASE WHEN r.con IS NOT NULL THEN format('ALTER TABLE %s DROP CONSTRAINT %I', r.tab, r.conname)
                                  ELSE format('DROP INDEX %s', r.idx::regclass) END;
            END IF;
            IF r.leaf THEN
                keys := keys || format('ALTER INDEX %s.%I RENAME TO %I', r.nsp, flakeid.convert_name('new', r.name), r.name);
                -- Its columns have names of their own.
                keys := keys || ARRAY(SELECT format('ALTER TABLE %s.%I RENAME COLUMN %I TO %I', r.nsp, r.name, n.attname, o.attname)
                                      FROM pg_class AS k JOIN pg_attribute AS n ON n.attrelid = k.oid
                                           JOIN pg_attribute AS o ON o.attrelid = r.idx AND o.attnum = n.attnum
                                      WHERE k.relnamespace = r.nsp AND k.relname = flakeid.convert_name('new', r.name) AND n.attname <> o.attname);
                IF r.con IS NOT NULL THEN
                    keys := keys || format('ALTER TABLE %s ADD CONSTRAINT %I %s USING INDEX %I%s%s', r.tab, r.name,
                        CASE r.contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END, r.name,
                        CASE WHEN r.condeferrable THEN ' DEFERRABLE' END, CASE WHEN r.condeferred THEN ' INITIALLY DEFERRED' END);
                END IF;
            ELSIF NOT r.attached THEN
                keys := keys || CASE WHEN r.con IS NOT NULL THEN format('ALTER TABLE %s ADD CONSTRAINT %I %s', r.tab, r.conname, flakeid.convert_key_text(r.con))
                                     ELSE replace(flakeid.convert_index_text(r.idx), ' ON ONLY ', ' ON ') END;
            END IF;
            IF r.leaf OR NOT r.attached THEN
                keys := keys || ARRAY(SELECT flakeid.convert_index_more(r.idx))
                             || flakeid.comment_statements(obj_description(r.con, 'pg_constraint'), format('CONSTRAINT %s ON %s', quote_ident(r.conname), r.tab));
            END IF;
        END LOOP;
        statements := statements || ARRAY(SELECT format('DROP TRIGGER %I ON %s', f.trigger, f.rel::regclass) FROM flakeid.convert_fills(root, root_att) AS f);
        statements := statements || ARRAY(SELECT DISTINCT format('DROP FUNCTION %s', f.func::regprocedure) FROM flakeid.convert_fills(root, root_att) AS f);
        IF memory ? 'finds' THEN
            statements := statements || format('DROP FUNCTION %s(%s)', memory ->> 'finds', memory ->> 'from');
        END IF;
    END IF;

    -- The default of the key
    SELECT CASE WHEN a.attidentity <> '' THEN format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY', root::regclass, a.attname)
                WHEN a.atthasdef OR flakeid.convert_part_defaults(root, root_att) IS NOT NULL THEN format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT', root::regclass, a.attname) END
    INTO statement FROM pg_attribute AS a WHERE a.attrelid = root AND a.attnum = root_att;
    statements := statements || CASE WHEN statement IS NULL THEN '{}' ELSE ARRAY[statement] END;

    FOR r IN SELECT p.* FROM unnest(places) AS p WHERE p.retyped LOOP
        statements := statements || format('ALTER TABLE %s ALTER COLUMN %I TYPE %s', r.rel::regclass, r.col, r.new_type);
        -- The server makes each NOT NULL again: in partitions by the name of the parent's, and without a comment.
        statements := statements || ARRAY(SELECT unnest(flakeid.comment_statements(n.comment, format('CONSTRAINT %I ON %s', n.name, n.tab))) FROM flakeid.convert_not_nulls(r.rel, r.att) AS n WHERE n.given);
    END LOOP;

    -- Columns change places
    FOR c IN SELECT p.*, p.rel::regclass AS tab, a.attnotnull, a.attstattarget, CASE WHEN forth THEN p.old_col ELSE flakeid.convert_name('gone', p.col) END AS gone,
                    CASE WHEN p.depth > 0 THEN flakeid.convert_default(p.rel, p.att) END AS def, CASE WHEN p.depth > 0 THEN flakeid.convert_part_defaults(p.rel, p.att) END AS parts,
                    CASE WHEN a.attidentity = '' THEN flakeid.convert_sequence(p.rel, p.att) END AS seq
             FROM unnest(places) AS p JOIN pg_attribute AS a ON a.attrelid = p.rel AND a.attnum = p.att
             WHERE p.replaced LOOP
        IF c.def IS NOT NULL OR c.parts IS NOT NULL THEN
            statements := statements || format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT', c.tab, c.col);
        END IF;
        statements := statements || CASE WHEN c.attnotnull THEN ARRAY[format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', c.tab, c.col)] ELSE '{}' END
            || ARRAY(SELECT format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', n.tab, c.col) FROM flakeid.convert_not_nulls(c.rel, c.att) AS n WHERE n.alone ORDER BY n.level)
            || format('ALTER TABLE %s RENAME COLUMN %I TO %I', c.tab, c.col, c.gone) || format('ALTER TABLE %s RENAME COLUMN %I TO %I', c.tab, c.new_col, c.col)
            || CASE WHEN c.attnotnull AND current_setting('server_version_num')::int4 < 180000 THEN ARRAY[format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL', c.tab, c.col)] ELSE '{}' END
            || ARRAY(SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', n.tab, n.name, n.def) FROM flakeid.convert_not_nulls(c.rel, c.att) AS n WHERE NOT n.given)
            || ARRAY(SELECT unnest(flakeid.comment_statements(n.comment, format('CONSTRAINT %I ON %s', n.name, n.tab))) FROM flakeid.convert_not_nulls(c.rel, c.att) AS n);
        -- In partitions the column has rights, comments and the like of its own. A target for statistics goes on to them.
        FOR r IN SELECT a.attrelid::regclass AS tab, a.attacl, a.attoptions, coalesce(a.attstattarget, -1) AS target, col_description(a.attrelid, a.attnum) AS comment
                 FROM (SELECT c.rel AS oid, 0 AS level UNION SELECT p.relid, p.level FROM pg_partition_tree(c.rel) AS p) AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attname = c.col ORDER BY t.level, t.oid LOOP
            IF r.target <> (CASE WHEN r.tab = c.tab THEN -1 ELSE coalesce(c.attstattarget, -1) END) THEN
                statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', r.tab, c.col, r.target);
            END IF;
            -- The server keeps options of its own there too, which are not for copying.
            statements := statements || ARRAY(SELECT format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', r.tab, c.col, o)
                         FROM unnest(r.attoptions) AS o WHERE starts_with(o, 'n_distinct'));
            statements := statements || ARRAY(SELECT flakeid.grant_statements(r.attacl, r.tab::text, format('(%I)', c.col)));
            statements := statements || flakeid.comment_statements(r.comment, format('COLUMN %s.%I', r.tab, c.col));
            IF forth THEN
                -- What the old column has, would come back with it.
                statements := statements || ARRAY(SELECT format('REVOKE ALL (%I) ON %s FROM %s', c.gone, r.tab, CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE e.grantee::regrole::text END)
                                                  FROM (SELECT DISTINCT x.grantee FROM aclexplode(r.attacl) AS x) AS e)
                    || CASE WHEN r.comment IS NOT NULL THEN ARRAY[format('COMMENT ON COLUMN %s.%I IS NULL', r.tab, c.gone)] ELSE '{}' END;
            END IF;
        END LOOP;
        IF c.seq IS NOT NULL THEN
            statements := statements || format('ALTER SEQUENCE %s OWNED BY %s.%I', c.seq::regclass, c.tab, c.col);
        END IF;
        IF c.def IS NOT NULL THEN
            statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', c.tab, c.col, c.def);
        END IF;
        statements := statements || flakeid.convert_part_statements(c.rel, c.col, c.parts);
    END LOOP;
    statements := statements || ARRAY(SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', k.rel::regclass, k.filled) FROM flakeid.convert_marks(places) AS k);
    statements := statements || ARRAY(SELECT format('ALTER TABLE %s DROP COLUMN %I', p.rel::regclass, flakeid.convert_name('gone', p.col)) FROM unnest(places) AS p WHERE p.replaced AND NOT forth);

    IF forth THEN
        statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s.flake_next()', root::regclass, key.col, home);
    ELSIF was ? 'identity' THEN
        identity := CASE WHEN way = 'back' THEN memory ->> 'sequence' END;
        statements := statements || ARRAY(SELECT flakeid.convert_identity_statements(root::regclass::text, key.col, was -> 'identity', identity));
        statements := statements || CASE WHEN identity IS NULL THEN '{}' ELSE ARRAY['DROP SEQUENCE ' || identity] END;
    ELSIF was ? 'default' THEN
        statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', root::regclass, key.col, was ->> 'default');
    END IF;
    statements := statements || CASE WHEN forth THEN '{}' ELSE flakeid.convert_part_statements(root, key.col, was -> 'parts') END;
    parts := flakeid.convert_parts(places);
    statements := statements || keys || around || CASE WHEN parts IS NOT NULL THEN ARRAY[format('SELECT flakeid.convert_put_back(%L)', parts)] ELSE '{}' END;
    -- Whether ids were made since is looked up under the lock.
    IF way = 'undo' THEN
        identity := coalesce(was #>> '{identity,name}', (regexp_match(was ->> 'fresh', '^nextval\((''(?:[^'']|'''')+'')::regclass\)$'))[1]);
        IF identity IS NOT NULL THEN
            statements := statements || format('SELECT flakeid.convert_lift(%s, %L, %L, %s)', CASE WHEN was ? 'identity' THEN quote_literal(identity) ELSE identity END, root::regclass, key.col, coalesce(was ->> 'kept', 'NULL'));
        END IF;
    END IF;
    IF way = 'back' THEN
        statements := statements || CASE WHEN was ? 'node' THEN ARRAY[format('SELECT flakeid.release_old_row_node(%L, %L)', root::regclass, was ->> 'node')] ELSE '{}' END;
        statements := statements || CASE WHEN memory ? 'map' THEN ARRAY[format('DROP TABLE %s', memory ->> 'map')] ELSE '{}' END;
    END IF;
    IF forth AND NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = root AND t.tgname = flakeid.convert_name('was', key.col)) THEN
        statements := statements || format('CREATE TRIGGER %I AFTER TRUNCATE ON %s WHEN (false) EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()', flakeid.convert_name('was', key.col), root::regclass);
    ELSIF NOT forth AND validates = '{}' THEN
        statements := statements || format('DROP TRIGGER %I ON %s', flakeid.convert_name('was', key.col), root::regclass);
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.convert_swap(oid, int2, flakeid.convert_place[], jsonb) IS 'internal: the statements of the one short lock, and those that validate constraints after it';

-- -- New columns -----------------------------------------------------------------------------------

CREATE FUNCTION flakeid.convert_begin(root oid, root_att int2, places flakeid.convert_place[], memory jsonb) RETURNS text[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    way text := memory ->> 'way';
    key flakeid.convert_place := places[1];
    was jsonb := memory -> 'was';
    owner oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = root);
    statements text[];
    map text := memory ->> 'map';
BEGIN
    statements := ARRAY[flakeid.convert_locks(ARRAY(SELECT DISTINCT p.rel FROM unnest(places) AS p WHERE p.replaced))];
    IF map IS NOT NULL AND NOT (way = 'back' AND was ? 'map') THEN
        statements := statements || format('CREATE TABLE %s (old_id %s PRIMARY KEY, new_id %s NOT NULL UNIQUE)', map,
            CASE way WHEN 'back' THEN key.new_type ELSE memory ->> 'from' END, CASE way WHEN 'back' THEN memory ->> 'from' ELSE key.new_type END);
        statements := statements || ARRAY(SELECT flakeid.convert_no_defaults(owner, 'r', map, NULL));
    END IF;
    IF memory ? 'sequence' THEN
        statements := statements || format('CREATE SEQUENCE %s AS %s %s', memory ->> 'sequence', was #>> '{identity,type}', was #>> '{identity,options}')
            || format('SELECT pg_catalog.setval(%L, %s, %L)', memory ->> 'sequence', was #>> '{identity,last}', was #>> '{identity,called}')
            || ARRAY(SELECT flakeid.convert_no_defaults(owner, 'S', 'SEQUENCE ' || (memory ->> 'sequence'), NULL));
    END IF;
    -- An undo takes the old column, as far as somebody has left it.
    statements := statements || ARRAY(SELECT CASE WHEN a.attname IS NOT NULL THEN format('ALTER TABLE %s RENAME COLUMN %I TO %I', p.rel::regclass, a.attname, p.new_col)
                                                  ELSE format('ALTER TABLE %s ADD COLUMN %I %s', p.rel::regclass, p.new_col, p.new_type) END
        FROM unnest(places) AS p LEFT JOIN pg_attribute AS a ON way = 'back' AND a.attrelid = p.rel AND a.attname = p.old_col AND format_type(a.atttypid, a.atttypmod) = p.new_type
        WHERE p.replaced ORDER BY p.depth, p.rel, p.att);
    IF memory ? 'finds' THEN
        statements := statements || format('CREATE FUNCTION %s(wanted %s) RETURNS %s LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS %L',
            memory ->> 'finds', memory ->> 'from', key.new_type, format($f$
DECLARE
    other %1$s;
    fresh %1$s;
    first %1$s;
BEGIN%2$s
    WHILE wanted IS NOT NULL LOOP
        SELECT m.%3$s INTO other FROM %4$s AS m WHERE m.%5$s = wanted;
        EXIT WHEN FOUND;
        fresh := %6$s;%7$s
        INSERT INTO %4$s (%5$s, %3$s) VALUES (wanted, fresh) ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN other;
END
$f$, key.new_type, CASE WHEN way = 'back' AND was ? 'kept' THEN format('
    IF wanted <= %s THEN
        RETURN wanted;
    END IF;', was ->> 'kept') END,
            CASE way WHEN 'back' THEN 'old_id' ELSE 'new_id' END, map, CASE way WHEN 'back' THEN 'new_id' ELSE 'old_id' END, memory ->> 'fresh',
            CASE WHEN way = 'back' THEN format('
        IF fresh = first THEN
            RAISE sequence_generator_limit_exceeded USING MESSAGE = %L;
        END IF;
        first := coalesce(first, fresh);', format('no value is left for column %I of table %s', key.col, root::regclass)) END
            -- Somebody may have taken numbers that the sequence had not reached.
            || CASE WHEN way = 'back' AND was ? 'kept' THEN format('
        CONTINUE WHEN EXISTS (SELECT FROM %s AS t WHERE t.%I = fresh);', root::regclass, key.col) ELSE '' END))
            || format('REVOKE ALL ON FUNCTION %s(%s) FROM PUBLIC', memory ->> 'finds', memory ->> 'from')
            || ARRAY(SELECT flakeid.convert_no_defaults(owner, 'f', format('FUNCTION %s(%s)', memory ->> 'finds', memory ->> 'from'), NULL));
    END IF;
    statements := statements || flakeid.convert_trigger(root, places, memory, root, memory, false);
    RETURN CASE WHEN memory ? 'map' THEN statements ELSE statements || flakeid.convert_arm(root, places, memory) END;
END
$$;
COMMENT ON FUNCTION flakeid.convert_begin(oid, int2, flakeid.convert_place[], jsonb) IS 'internal: the statements that make new columns';

CREATE FUNCTION flakeid.convert_trigger(root oid, places flakeid.convert_place[], memory jsonb, tab oid, remember jsonb, updates bool) RETURNS text[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mark record;
    name text;
    body text;
    holds text;
    statements text[] := '{}';
BEGIN
    SELECT k.* INTO mark FROM flakeid.convert_marks(places) AS k WHERE k.rel = tab;
    name := (SELECT format('%s.%I', c.relnamespace::regnamespace, format('flakeid_fill_%s_%s', c.oid, mark.att)) FROM pg_class AS c WHERE c.oid = tab);
    SELECT string_agg(format(E'\n    %s;', CASE WHEN NOT memory ? 'finds' THEN format('NEW.%I := %s', p.new_col, flakeid.convert_value(format('NEW.%I', p.col), p.typ, p.new_type))
                  WHEN p.condition IS NULL THEN format('NEW.%I := %s(NEW.%I::%s)', p.new_col, memory ->> 'finds', p.col, memory ->> 'from')
                  ELSE format('NEW.%1$I := CASE WHEN (SELECT (%4$s) FROM (SELECT NEW.*) AS %5$I) THEN %2$s(NEW.%3$I::%6$s) ELSE NEW.%3$I END', p.new_col, memory ->> 'finds', p.col, p.condition,
                      (SELECT c.relname FROM pg_class AS c WHERE c.oid = tab), memory ->> 'from') END), '' ORDER BY p.depth, p.att),
           CASE WHEN bool_and(p.condition IS NULL) AND memory ->> 'way' <> 'back' THEN string_agg(CASE WHEN memory ? 'finds' THEN format('NEW.%2$I IS DISTINCT FROM OLD.%2$I OR NEW.%1$I IS NULL AND NEW.%2$I IS NOT NULL', p.new_col, p.col)
                  ELSE format('NEW.%I IS DISTINCT FROM %s', p.new_col, flakeid.convert_value(format('NEW.%I', p.col), p.typ, p.new_type)) END, ' OR ') END
    INTO body, holds FROM unnest(places) AS p WHERE p.replaced AND p.rel = tab;
    IF remember IS NOT NULL THEN
        statements := ARRAY[
            format('CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql%s AS %L', name, CASE WHEN memory ? 'finds' THEN ' SECURITY DEFINER SET search_path = pg_catalog, pg_temp' END,
                format(E'\nBEGIN%s\n    RETURN NEW;\nEND\n', body)),
            format('REVOKE ALL ON FUNCTION %s() FROM PUBLIC', name)]
            || ARRAY(SELECT flakeid.convert_no_defaults(c.relowner, 'f', format('FUNCTION %s()', name), NULL) FROM pg_class AS c WHERE c.oid = tab)
            || ARRAY[
            format('COMMENT ON FUNCTION %s() IS %L', name, flakeid.convert_comment(remember)),
            format('CREATE TRIGGER %I BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION %s()', mark.fill, tab::regclass, name),
            format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', tab::regclass, mark.fill)];
    END IF;
    IF updates THEN
        statements := statements || format('CREATE TRIGGER %I BEFORE UPDATE ON %s FOR EACH ROW%s EXECUTE FUNCTION %s()', mark.move, tab::regclass, ' WHEN (' || holds || ')', name)
            || format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', tab::regclass, mark.move);
    END IF;
    RETURN statements;
END
$$;
COMMENT ON FUNCTION flakeid.convert_trigger(oid, flakeid.convert_place[], jsonb, oid, jsonb, bool) IS 'internal: statements that make the triggers of one table: for new rows, and for updates too';

-- Once old rows are in the map, every write finds its ids there.
CREATE FUNCTION flakeid.convert_arm(root oid, places flakeid.convert_place[], memory jsonb) RETURNS text[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t record;
    statements text[] := '{}';
BEGIN
    FOR t IN SELECT k.rel, k.filled, string_agg(CASE WHEN a.attnotnull THEN format('%I IS NOT NULL', p.new_col) ELSE format('(%I IS NULL) = (%I IS NULL)', p.new_col, p.col) END, ' AND ' ORDER BY p.att) AS full
             FROM flakeid.convert_marks(places) AS k JOIN unnest(places) AS p USING (rel) JOIN pg_attribute AS a ON a.attrelid = p.rel AND a.attnum = p.att
             WHERE p.replaced GROUP BY k.rel, k.filled ORDER BY min(p.depth), k.rel LOOP
        statements := statements || flakeid.convert_trigger(root, places, memory, t.rel,
                CASE WHEN t.rel <> root THEN flakeid.convert_present(jsonb_build_object('table', memory -> 'table', 'oid', memory -> 'oid', 'column', memory -> 'column', 'way', memory -> 'way',
                    'list', memory -> 'list')) END, true)
            || format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%s) NOT VALID', t.rel::regclass, t.filled, t.full);
    END LOOP;
    RETURN statements;
END
$$;
COMMENT ON FUNCTION flakeid.convert_arm(oid, flakeid.convert_place[], jsonb) IS 'internal: statements after which every row that is written has its new ids';

-- The ids of a node are numbered through all its ticks: (tick, sequence) is tick * sequences + sequence. Each row takes the number
-- of its own tick, or the one after the row before it where that is higher: so a full tick runs over into the next.
CREATE FUNCTION flakeid.convert_map(root oid, key flakeid.convert_place, memory jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home text := flakeid.convert_home();
    l record;
    ahead int8;
BEGIN
    IF memory ->> 'way' = 'back' THEN
        EXECUTE format('SELECT count(%s(t.%I)) FROM %s AS t WHERE t.%I IS NULL%s', memory ->> 'finds', key.col, root::regclass, key.new_col,
            CASE WHEN memory #> '{was,kept}' IS NOT NULL THEN format(' AND t.%I > %s', key.col, memory #>> '{was,kept}') END);
        RETURN;
    ELSIF memory ->> 'created_at' IS NULL THEN
        EXECUTE format('INSERT INTO %1$s SELECT s.id, %4$s.flake_next() FROM (SELECT t.%2$I AS id FROM %3$s AS t WHERE t.%5$I IS NULL AND t.%2$I IS NOT NULL ORDER BY t.%2$I) AS s ON CONFLICT DO NOTHING',
            memory ->> 'map', key.col, root::regclass, home, key.new_col);
        RETURN;
    END IF;
    l := flakeid.convert_layout();
    EXECUTE format('
        WITH made AS (
            INSERT INTO %1$s
            SELECT w.id, w.word / $1 * $2 + $3 + w.word %% $1 * $4
            FROM (SELECT s.id, s.n + max(s.tick * $1 - s.n) OVER (ORDER BY s.n) AS word
                  FROM (SELECT t.%2$I AS id, %3$s.flake_floor(t.%4$I::timestamptz) / $2 AS tick, row_number() OVER (ORDER BY t.%4$I, t.%2$I) AS n
                        FROM %5$s AS t WHERE t.%6$I IS NULL AND t.%2$I IS NOT NULL) AS s) AS w
            ON CONFLICT DO NOTHING
            RETURNING new_id)
        SELECT count(*) FILTER (WHERE new_id > %3$s.flake_floor(clock_timestamp())) FROM made',
        memory ->> 'map', key.col, home, memory ->> 'created_at', root::regclass, key.new_col)
    INTO ahead
    USING l.sequences, l.tick, (memory ->> 'node_base')::int8, coalesce(l.sequence_step, 1);
    IF ahead > 0 THEN
        PERFORM flakeid.convert_refuse(root, format('So many rows are of the same moments in column %I that %s ids would lie ahead of the clock.', memory ->> 'created_at', ahead),
                format('CALL flakeid.convert_undo(%L);', root::regclass::text));
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.convert_map(oid, flakeid.convert_place, jsonb) IS 'internal: gives every old row its new id, in the order of time';

-- -- Steps -----------------------------------------------------------------------------------------

CREATE FUNCTION flakeid.convert_ms(since timestamptz) RETURNS numeric
    LANGUAGE sql VOLATILE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT round(extract(epoch FROM clock_timestamp() - since) * 1000, 1)
$$;
COMMENT ON FUNCTION flakeid.convert_ms(timestamptz) IS 'internal: milliseconds since a moment';

CREATE FUNCTION flakeid.convert_run(statements text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    statement text;
BEGIN
    FOREACH statement IN ARRAY statements LOOP
        RAISE DEBUG '%', statement;
        EXECUTE statement;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_run(text[]) IS 'internal: runs statements, all in the transaction of the caller';

-- Partitions after the table that they are parts of, as the server does it.
CREATE FUNCTION flakeid.convert_all_of(rels oid[]) RETURNS regclass[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT array_agg(t.rel::regclass ORDER BY r.oid, t.level, t.rel)
        FROM unnest(rels) AS r (oid) CROSS JOIN LATERAL (SELECT c.oid AS rel, 0 AS level FROM pg_class AS c WHERE c.oid = r.oid
                                                         UNION SELECT p.relid, p.level FROM pg_partition_tree(r.oid) AS p) AS t);
END
$$;
COMMENT ON FUNCTION flakeid.convert_all_of(oid[]) IS 'internal: tables and their partitions, in the order in which they are locked';

-- The names of columns and indexes are changed for a moment, so that the server itself writes the statements.
CREATE FUNCTION flakeid.convert_index_statements(places flakeid.convert_place[], fitting jsonb, OUT statements text[], OUT texts jsonb, OUT held numeric)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    locked timestamptz;
    x record;
    missing oid[] := ARRAY(SELECT i.idx FROM flakeid.convert_indexes(places) AS i WHERE i.leaf AND i.ready IS NOT TRUE ORDER BY i.idx);
    def text;
BEGIN
    statements := '{}';
    texts := '{}';
    IF missing = '{}' THEN
        RETURN;
    END IF;
    BEGIN
        locked := flakeid.partition_lock(flakeid.convert_all_of(ARRAY(SELECT DISTINCT p.rel FROM unnest(places) AS p WHERE p.replaced)), 'ACCESS EXCLUSIVE');
        -- A build that was stopped left an index that nothing uses.
        FOR x IN SELECT i.nsp, flakeid.convert_name('new', i.name) AS name FROM flakeid.convert_indexes(places) AS i WHERE i.leaf AND i.ready = false LOOP
            statements := statements || format('DROP INDEX %s.%I', x.nsp, x.name);
            EXECUTE format('DROP INDEX %s.%I', x.nsp, x.name);
        END LOOP;
        FOR x IN SELECT p.* FROM unnest(places) AS p WHERE p.replaced LOOP
            EXECUTE format('ALTER TABLE %s RENAME COLUMN %I TO %I', x.rel::regclass, x.new_col, flakeid.convert_name('gone', x.col));
            EXECUTE format('ALTER TABLE %s RENAME COLUMN %I TO %I', x.rel::regclass, x.col, x.new_col);
        END LOOP;
        FOR x IN SELECT k.oid, k.oid::regclass AS name, flakeid.convert_name('new', k.relname) AS other, 'index ' || (pg_identify_object('pg_class'::regclass, k.oid, 0)).identity AS key
                 FROM pg_class AS k WHERE k.oid = ANY (missing) ORDER BY k.oid LOOP
            EXECUTE format('ALTER INDEX %s RENAME TO %I', x.name, x.other);
            def := coalesce(fitting ->> x.key, flakeid.convert_index_text(x.oid));
            statements := statements || def;
            texts := texts || jsonb_build_object(x.key, def);
        END LOOP;
        RAISE EXCEPTION USING ERRCODE = 'FL000';
    EXCEPTION WHEN SQLSTATE 'FL000' THEN
        held := flakeid.convert_ms(locked);
    END;
END
$$;
COMMENT ON FUNCTION flakeid.convert_index_statements(flakeid.convert_place[], jsonb) IS 'internal: statements that make the indexes of the new columns, as far as they are missing';

CREATE FUNCTION flakeid.convert_remember(root oid, root_att int2, memory jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    f record;
BEGIN
    FOR f IN SELECT x.func FROM flakeid.convert_fills(root, root_att) AS x LIMIT 1 LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', f.func::regprocedure, flakeid.convert_comment(memory));
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_remember(oid, int2, jsonb) IS 'internal: writes down how far a conversion is';

-- Who waits for it must read what the one before wrote, so this writes nothing. It locks the function, and no table.
CREATE FUNCTION flakeid.convert_take(root oid, root_att int2) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    f record;
BEGIN
    FOR f IN SELECT x.func FROM flakeid.convert_fills(root, root_att) AS x LIMIT 1 LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO CURRENT_USER', f.func::regprocedure);
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_take(oid, int2) IS 'internal: lets one session at a time take a step';

-- One batch of rows, by blocks. It fills the new columns of all conversions of the call: so each row is written once. Returns what it remembers now.
CREATE FUNCTION flakeid.convert_fill(root oid, places flakeid.convert_place[], memory jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    unit int4 := coalesce((memory ->> 'unit')::int4, 0);
    block int8 := coalesce((memory ->> 'block')::int8, 0);
    until int8;
    step int8;
    rows int8;
    began timestamptz;
    patience interval := current_setting('deadlock_timeout');
    file oid;
    moved bool;
    u record;
BEGIN
    SELECT t.rel, string_agg(format('%I = %s', p.new_col, v.whole), ', ' ORDER BY p.att) AS sets,
           string_agg(CASE c.memory ->> 'way' WHEN 'back' THEN format('t.%I IS DISTINCT FROM %s', p.new_col, v.whole) -- it may be older than the reference
                      ELSE format('t.%I IS NULL AND t.%I IS NOT NULL', p.new_col, p.col) END, ' OR ' ORDER BY p.att) AS missing INTO u
    FROM (SELECT true AS own, convert_fill.memory, convert_fill.places, convert_fill.memory #>> '{was,kept}' AS kept
          UNION ALL SELECT false, f.memory, f.places, NULL FROM flakeid.convert_fellows(root, convert_fill.memory -> 'list') AS f WHERE f.memory ? 'armed') AS c
         CROSS JOIN LATERAL unnest(c.places) AS p
         CROSS JOIN LATERAL (SELECT format(CASE WHEN NOT c.memory ? 'finds' THEN replace(flakeid.convert_value(format('t.%I', p.col), p.typ, p.new_type), '%', '%%')
                 ELSE CASE WHEN c.kept IS NOT NULL THEN 'CASE WHEN t.%1$I <= %5$s THEN t.%1$I ELSE ' ELSE '' END || 'coalesce((SELECT m.%3$I FROM %2$s AS m WHERE m.%4$I = t.%1$I), %6$s(t.%1$I::%7$s))' || CASE WHEN c.kept IS NOT NULL THEN ' END' ELSE '' END END,
             p.col, c.memory ->> 'map', CASE c.memory ->> 'way' WHEN 'back' THEN 'old_id' ELSE 'new_id' END, CASE c.memory ->> 'way' WHEN 'back' THEN 'new_id' ELSE 'old_id' END, c.kept, c.memory ->> 'finds', c.memory ->> 'from') AS value) AS x
         CROSS JOIN LATERAL (SELECT CASE WHEN p.condition IS NULL THEN x.value ELSE format('CASE WHEN (SELECT (%s) FROM (SELECT t.*) AS %I) THEN %s ELSE t.%I END',
                 p.condition, (SELECT k.relname FROM pg_class AS k WHERE k.oid = p.rel), x.value, p.col) END AS whole) AS v
         JOIN LATERAL (SELECT t.rel FROM flakeid.convert_trees(ARRAY[p]::flakeid.convert_place[]) AS t WHERE t.leaf) AS t ON true
    WHERE p.replaced GROUP BY t.rel HAVING bool_or(c.own) ORDER BY min(p.depth) FILTER (WHERE c.own), t.rel OFFSET unit LIMIT 1;
    IF u.rel IS NULL THEN
        RETURN memory || '{"filled": true}';
    END IF;
    IF EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = u.rel AND NOT t.tgisinternal AND t.tgenabled = 'O') AND has_parameter_privilege('session_replication_role', 'SET') THEN
        PERFORM set_config('session_replication_role', 'replica', true);
    END IF;
    step := coalesce((memory ->> 'step')::int8, 100);
    file := CASE WHEN block = 0 THEN pg_relation_filenode(u.rel) ELSE (memory ->> 'file')::oid END;
    -- What comes behind the end of the table has been through the triggers.
    until := CASE WHEN block = 0 THEN pg_relation_size(u.rel) / current_setting('block_size')::int8 ELSE (memory ->> 'until')::int8 END;
    began := clock_timestamp();
    EXECUTE format('UPDATE %s AS t SET %s WHERE t.ctid >= %L::tid AND t.ctid < %L::tid AND (%s)', u.rel::regclass, u.sets, format('(%s,0)', block), format('(%s,0)', block + step), u.missing);
    GET DIAGNOSTICS rows = ROW_COUNT;
    -- What was rewritten meanwhile, as by VACUUM FULL, has its rows in other blocks: it begins again.
    moved := file IS DISTINCT FROM pg_relation_filenode(u.rel);
    block := block + step;
    -- Others wait for its rows, and it for theirs, together for less than deadlock_timeout: so none of them fails for a deadlock.
    IF clock_timestamp() - began > patience / 4 THEN
        step := greatest(step / 2, 1);
    ELSIF clock_timestamp() - began < patience / 10 AND rows < 10000 AND step < 4096 THEN
        step := step * 2;
    END IF;
    RETURN memory || jsonb_build_object('table_now', u.rel::regclass::text, 'step', step, 'until', until, 'file', file::int8,
        'unit', CASE WHEN moved OR block < until THEN unit ELSE unit + 1 END, 'block', CASE WHEN moved OR block >= until THEN 0 ELSE block END,
        'rows', coalesce((memory ->> 'rows')::int8, 0) + rows);
END
$$;
COMMENT ON FUNCTION flakeid.convert_fill(oid, flakeid.convert_place[], jsonb) IS 'internal: fills some rows of the new columns and returns how far that is';

-- Before anything has changed places, an undo takes the new columns away, and all that hangs on them.
CREATE FUNCTION flakeid.convert_drop(root oid, root_att int2, places flakeid.convert_place[], memory jsonb) RETURNS text[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(s) FROM (
        SELECT flakeid.convert_locks(array_agg(DISTINCT f.rel)) AS s FROM (SELECT f.rel FROM flakeid.convert_fills(root, root_att) AS f UNION SELECT p.rel FROM unnest(places) AS p WHERE p.replaced) AS f
        UNION ALL
        SELECT format('DROP TRIGGER %I ON %s', f.trigger, f.rel::regclass) FROM flakeid.convert_fills(root, root_att) AS f
        UNION ALL
        SELECT DISTINCT format('DROP FUNCTION %s', f.func::regprocedure) FROM flakeid.convert_fills(root, root_att) AS f
        UNION ALL
        SELECT format('DROP FUNCTION %s(%s)', memory ->> 'finds', memory ->> 'from') WHERE memory ? 'finds'
        UNION ALL
        SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, k.conname)
        FROM pg_constraint AS k WHERE k.contype = 'c' AND k.coninhcount = 0
          AND (k.conrelid, k.conname) IN (SELECT f.rel, regexp_replace(f.trigger, '^zzzz_flakeid_(fill|move)_', 'flakeid_full_') FROM flakeid.convert_fills(root, root_att) AS f)
        UNION ALL
        SELECT format('ALTER TABLE %s DROP COLUMN %I', a.attrelid::regclass, a.attname)
        FROM pg_attribute AS a WHERE starts_with(a.attname::text, 'flakeid_new_') AND NOT a.attisdropped
          AND a.attrelid IN (SELECT f.rel FROM flakeid.convert_fills(root, root_att) AS f UNION SELECT p.rel FROM unnest(places) AS p WHERE p.replaced)
          AND (a.attrelid, a.attname) NOT IN (SELECT p.rel, p.new_col FROM flakeid.convert_fellows(root, memory -> 'list') AS f, unnest(f.places) AS p)
        UNION ALL
        SELECT format('SELECT flakeid.release_old_row_node(%L, %L)', root::regclass, memory ->> 'node') WHERE memory ? 'node'
        UNION ALL
        SELECT format('DROP TABLE %s', m.map) FROM (SELECT to_regclass(memory ->> 'map') AS map) AS m WHERE m.map IS NOT NULL) AS x
$$;
COMMENT ON FUNCTION flakeid.convert_drop(oid, int2, flakeid.convert_place[], jsonb) IS 'internal: the statements that take a conversion back before its swap';
