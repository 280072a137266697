-- -------------------------------------------------------------------------------------------------
-- Moving tables in
-- -------------------------------------------------------------------------------------------------
--
-- A conversion is a row of steps, each a function that runs in a transaction of its own. What is to be done next is read from
-- the catalogs: so a conversion that was stopped goes on where it was, and two that run at once do each step once.
--
-- A column that has eight bytes already is changed in place. For any other, and wherever ids change, a new column is filled
-- beside it, under a trigger, and takes its name in one short lock. What the catalogs cannot tell stands in comments on what
-- belongs to the owner of the table: on the trigger functions while it goes on, on constraints until they are validated, on the old
-- column afterwards, and for good on the sequence of the column. So no other role can write it, and a dump carries it.
--
--   flakeid_new_id    the column that will be id              flakeid_old_id    the column that was id, until somebody drops it
--
-- The ways: 'kept' (old rows keep their numbers), 'made' (rows get other ids, from a map), 'back' (an undo).
--
-- The functions run with the rights of the caller, who must be the owner of all tables at each step: a table's triggers and expressions
-- are its owner's code, which nobody else should run by accident. A trigger or function of another owner is none of a conversion.
--
-- A step holds nothing while it waits for its locks, which it does for a fifth of deadlock_timeout in all. Once it has them it looks again:
-- where anything that its statements were made from has changed meanwhile, nothing is done, and the step begins anew.

CREATE FUNCTION flakeid.convert_home() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT quote_ident(n.nspname)
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE p.proname = 'flake_next' AND p.pronargs = 0
      AND (n.nspname = 'flakeid'
           OR EXISTS (SELECT FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
                      WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
                        AND d.refclassid = 'pg_extension'::regclass AND e.extname = 'flakeid'))
$$;
COMMENT ON FUNCTION flakeid.convert_home() IS 'internal: the schema of flake_next(), quoted';

CREATE FUNCTION flakeid.convert_type(asked text) RETURNS regtype
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN asked = 'bigint' THEN 'bigint'::regtype
                ELSE coalesce(to_regtype(flakeid.convert_home() || '.flake'), 'bigint'::regtype) END
$$;
COMMENT ON FUNCTION flakeid.convert_type(text) IS 'internal: the type of a converted column: flake, or bigint where that is asked for or there is no type flake';

-- Anybody can write what he likes into comments on what is his, so nothing here fails on what it reads.
CREATE FUNCTION flakeid.convert_memory(comment text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE WHEN starts_with(comment, 'flakeid {') THEN substr(comment, 9)::jsonb END;
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION flakeid.convert_memory(text) IS 'internal: what a conversion wrote into a comment';

CREATE FUNCTION flakeid.convert_lasts(bytes int8) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN coalesce(bytes, 0) < 20000000 THEN 'milliseconds'
                ELSE format('about %s s', ceil(bytes / 1e8)) END
$$;
COMMENT ON FUNCTION flakeid.convert_lasts(int8) IS 'internal: how long a statement takes that reads so much, at 100 MB a second';

-- A column by its name in the whole tree of partitions; a table that is not partitioned is a tree of its own.
CREATE FUNCTION flakeid.convert_tree(of_rel oid, of_att int2, OUT rel oid, OUT att int2, OUT leaf bool) RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.oid, a.attnum, c.relkind <> 'p'
    FROM pg_catalog.pg_attribute r
         CROSS JOIN LATERAL (SELECT r.attrelid AS oid UNION SELECT t.relid FROM pg_partition_tree(r.attrelid) t) t
         JOIN pg_catalog.pg_class c ON c.oid = t.oid
         JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = r.attname
    WHERE r.attrelid = $1 AND r.attnum = $2
    ORDER BY c.oid <> $1, c.oid
$$;
COMMENT ON FUNCTION flakeid.convert_tree(oid, int2) IS 'internal: a column in its table and all partitions';

-- Foreign keys are those of whole tables; one of a partition counts for the table that it is a part of.
CREATE FUNCTION flakeid.convert_graph(root oid, root_att int2,
        OUT rel oid, OUT att int2, OUT col name, OUT typ regtype, OUT needed bool, OUT depth int4, OUT via oid)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE k AS (
        SELECT f.oid AS via, coalesce(pg_partition_root(f.confrelid), f.confrelid) AS parent, pa.attname AS parent_col,
               coalesce(pg_partition_root(f.conrelid), f.conrelid) AS child, ca.attname AS child_col
        FROM pg_catalog.pg_constraint f
             CROSS JOIN LATERAL unnest(f.confkey, f.conkey) AS u (there, here)
             JOIN pg_catalog.pg_attribute pa ON pa.attrelid = f.confrelid AND pa.attnum = u.there
             JOIN pg_catalog.pg_attribute ca ON ca.attrelid = f.conrelid AND ca.attnum = u.here
        WHERE f.contype = 'f' AND f.conparentid = 0
    ), g AS (
        SELECT a.attrelid AS rel, a.attname AS col, 0 AS depth, 0::oid AS via
        FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1 AND a.attnum = $2
        UNION
        SELECT k.child, k.child_col, g.depth + 1, k.via
        FROM g, k
        WHERE k.parent = g.rel AND k.parent_col = g.col AND g.depth < 64 AND NOT (k.child = $1 AND k.child_col = (SELECT a.attname FROM pg_catalog.pg_attribute a
                                                                   WHERE a.attrelid = $1 AND a.attnum = $2))
    ), one AS (
        SELECT DISTINCT ON (g.rel, g.col) g.* FROM g ORDER BY g.rel, g.col, g.depth, g.via
    )
    SELECT one.rel, a.attnum, a.attname, a.atttypid::regtype, a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'uuid'::regtype), one.depth, one.via
    FROM one JOIN pg_catalog.pg_attribute a ON a.attrelid = one.rel AND a.attname = one.col
    ORDER BY one.depth, one.rel, a.attnum
$$;
COMMENT ON FUNCTION flakeid.convert_graph(oid, int2) IS
    'internal: a key column and all columns that refer to it, directly or through others; whether each has another size than an id';

CREATE FUNCTION flakeid.convert_column(tab regclass, col name) RETURNS int2
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found int2[];
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = tab) THEN
        RAISE undefined_table USING MESSAGE = format('table %s does not exist', coalesce(tab::text, 'NULL'));
    ELSIF col IS NOT NULL THEN
        SELECT array_agg(a.attnum) INTO found FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = tab AND a.attname = col AND a.attnum > 0 AND NOT a.attisdropped;
        IF found IS NULL THEN
            RAISE undefined_column USING MESSAGE = format('table %s has no column "%s"', tab, col);
        END IF;
    ELSE
        -- Of a primary key of several columns, the one that is made by a default and refers to nothing.
        WITH k AS (
            SELECT a.attnum, a.attidentity <> '' OR a.atthasdef AS made
            FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
            WHERE i.indrelid = tab AND i.indisprimary AND array_position(i.indkey::int2[], a.attnum) < i.indnkeyatts
              AND (a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'uuid'::regtype) OR a.atttypid = flakeid.convert_type(NULL))
              AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint f
                              WHERE f.contype = 'f' AND f.conrelid = tab AND a.attnum = ANY (f.conkey)))
        SELECT CASE WHEN count(*) = 1 THEN array_agg(attnum)
                    WHEN count(*) FILTER (WHERE made) = 1 THEN array_agg(attnum) FILTER (WHERE made) END
        INTO found FROM k;
        IF found IS NULL THEN
            RAISE ambiguous_column USING MESSAGE = format('cannot tell which column of table %s is the id', tab),
                HINT = 'Name the column as the second argument.';
        END IF;
    END IF;
    RETURN found[1];
END
$$;
COMMENT ON FUNCTION flakeid.convert_column(regclass, name) IS 'internal: the number of a column; without a name, of the id in the primary key';

-- Names that would be cut off might be the same then.
CREATE FUNCTION flakeid.convert_name(prefix text, suffix name) RETURNS name
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ('flakeid_' || prefix || '_' || CASE WHEN octet_length(suffix::text) > 50 THEN md5(suffix::text) ELSE suffix::text END)::name
$$;
COMMENT ON FUNCTION flakeid.convert_name(text, name) IS 'internal: the name of what stands beside something of that name';

CREATE FUNCTION flakeid.convert_columns(root oid, root_att int2, way text, target regtype,
        OUT rel oid, OUT att int2, OUT col name, OUT typ regtype, OUT replaced bool, OUT retyped bool, OUT depth int4, OUT via oid,
        OUT new_col name, OUT old_col name, OUT new_att int2, OUT old_att int2)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT g.rel, g.att, g.col, g.typ, r.replaced, NOT r.replaced AND g.typ <> target AND g.typ IN ('int8'::regtype, flakeid.convert_type(NULL)), g.depth, g.via, n.new_col, n.old_col,
           (SELECT a.attnum FROM pg_catalog.pg_attribute a WHERE a.attrelid = g.rel AND a.attname = n.new_col),
           (SELECT a.attnum FROM pg_catalog.pg_attribute a WHERE a.attrelid = g.rel AND a.attname = n.old_col)
    FROM flakeid.convert_graph(root, root_att) g
         CROSS JOIN LATERAL (SELECT way IN ('made', 'back') OR way = 'kept' AND g.needed AS replaced) r
         CROSS JOIN LATERAL (SELECT flakeid.convert_name('new', g.col) AS new_col, flakeid.convert_name('old', g.col) AS old_col) n
    ORDER BY g.depth, g.rel, g.att
$$;
COMMENT ON FUNCTION flakeid.convert_columns(oid, int2, text, regtype) IS
    'internal: the columns of a conversion: whether each is replaced by a new one, or gets another type in place';

CREATE FUNCTION flakeid.convert_column_name(rel oid, att int2) RETURNS name
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = rel AND a.attnum = att
$$;
COMMENT ON FUNCTION flakeid.convert_column_name(oid, int2) IS 'internal: the name of a column';

CREATE FUNCTION flakeid.convert_sequence(rel oid, att int2) RETURNS oid
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.objid FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class s ON s.oid = d.objid AND s.relkind = 'S'
    WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
      AND d.refobjid = rel AND d.refobjsubid = att
    ORDER BY d.objid LIMIT 1
$$;
COMMENT ON FUNCTION flakeid.convert_sequence(oid, int2) IS 'internal: the sequence that belongs to a column';

CREATE FUNCTION flakeid.convert_default(rel oid, att int2) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = rel AND d.adnum = att
$$;
COMMENT ON FUNCTION flakeid.convert_default(oid, int2) IS 'internal: the default of a column';

CREATE FUNCTION flakeid.convert_is_made(rel oid, att int2) RETURNS bool
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(starts_with(flakeid.convert_default(rel, att), flakeid.convert_home() || '.flake_next('), false)
$$;
COMMENT ON FUNCTION flakeid.convert_is_made(oid, int2) IS 'internal: whether the default of a column is flake_next()';

-- Kept ids are the lowest of a table, since a conversion is refused where new ones would not lie above them.
CREATE FUNCTION flakeid.convert_kept(rel oid, att int2) RETURNS int8
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT (flakeid.convert_memory(obj_description(flakeid.convert_sequence(rel, att), 'pg_class')) ->> 'kept')::int8
$$;
COMMENT ON FUNCTION flakeid.convert_kept(oid, int2) IS 'internal: the highest id that a conversion left as it was';

CREATE FUNCTION flakeid.convert_highest(rel oid, col name) RETURNS int8
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    highest int8;
BEGIN
    EXECUTE format('SELECT max(%I)::int8 FROM %s', col, rel::regclass) INTO highest;
    RETURN highest;
END
$$;
COMMENT ON FUNCTION flakeid.convert_highest(oid, name) IS 'internal: max(id)';

CREATE FUNCTION flakeid.convert_is_led_to(rel oid, att int2) RETURNS bool
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = rel AND i.indkey[0] = att AND i.indisvalid)
$$;
COMMENT ON FUNCTION flakeid.convert_is_led_to(oid, int2) IS 'internal: whether an index begins with a column';

-- What others wrote about a table that is not theirs does not count. The name tells a table after a restore, its number after it was renamed.
CREATE FUNCTION flakeid.convert_fills(root oid, root_att int2, OUT rel oid, OUT trigger name, OUT func oid, OUT memory jsonb)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.tgrelid, t.tgname, t.tgfoid, m.memory
    FROM pg_catalog.pg_class r
         JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = root_att
         JOIN pg_catalog.pg_class c ON c.relowner = r.relowner
         JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid AND t.tgname IN ('zzzz_flakeid_fill', 'zzzz_flakeid_late') AND t.tgparentid = 0
         JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid AND p.proowner = r.relowner
         CROSS JOIN LATERAL flakeid.convert_memory(obj_description(p.oid, 'pg_proc')) AS m (memory)
    WHERE r.oid = root AND m.memory ->> 'column' = a.attname
      AND (m.memory ->> 'table' = root::regclass::text
           OR m.memory ->> 'oid' = root::text AND to_regclass(m.memory ->> 'table') IS NULL)
    ORDER BY t.tgrelid, t.tgname
$$;
COMMENT ON FUNCTION flakeid.convert_fills(oid, int2) IS 'internal: the triggers of a conversion that goes on, and what it remembers';

-- -- What stands round a column ---------------------------------------------------------------------

CREATE FUNCTION flakeid.convert_views(rels oid[], atts int2[], OUT view oid, OUT depth int4) RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE v AS (
        SELECT r.ev_class AS view, 1 AS depth
        FROM unnest(rels, atts) AS c (rel, att)
             JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = c.rel AND d.refobjsubid = c.att
             JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
        WHERE r.ev_class <> c.rel
        UNION
        SELECT r.ev_class, v.depth + 1
        FROM v JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = v.view
             JOIN pg_catalog.pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
        WHERE r.ev_class <> v.view
    )
    SELECT v.view, max(v.depth) FROM v GROUP BY v.view
$$;
COMMENT ON FUNCTION flakeid.convert_views(oid[], int2[]) IS 'internal: views that read a column, and those that read them, with how far away each is';

-- Nothing that was granted by default to a new view stays, unless it stood in the list of the old one.
CREATE FUNCTION flakeid.convert_view(view oid) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v record;
BEGIN
    SELECT c.oid, c.relowner, c.relacl, array_to_string(c.reloptions, ', ') AS options, c.oid::regclass::text AS name INTO v
    FROM pg_catalog.pg_class c WHERE c.oid = view;
    RETURN NEXT format('CREATE VIEW %s%s AS %s', v.name, ' WITH (' || v.options || ')', rtrim(pg_get_viewdef(view), ';'));
    RETURN QUERY
        SELECT format('REVOKE ALL ON %s FROM %s', v.name, string_agg(CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE x.grantee::regrole::text END, ', '))
        FROM (SELECT 0::oid AS grantee WHERE v.relacl IS NOT NULL
              UNION SELECT v.relowner WHERE v.relacl IS NOT NULL
              UNION SELECT e.grantee FROM pg_catalog.pg_default_acl d, aclexplode(d.defaclacl) e
                    WHERE d.defaclrole = v.relowner AND d.defaclobjtype = 'r' AND e.grantee <> v.relowner) x
        HAVING count(*) > 0;
    RETURN QUERY SELECT flakeid.grant_statements(v.relacl, v.name, '');
    RETURN QUERY SELECT flakeid.grant_statements(a.attacl, v.name, format('(%I)', a.attname)) FROM pg_catalog.pg_attribute a WHERE a.attrelid = view;
    RETURN QUERY SELECT format('ALTER VIEW %s ALTER COLUMN %I SET DEFAULT %s', v.name, a.attname, flakeid.convert_default(view, a.attnum))
                 FROM pg_catalog.pg_attribute a WHERE a.attrelid = view AND a.atthasdef;
    RETURN QUERY SELECT pg_get_triggerdef(t.oid) FROM pg_catalog.pg_trigger t WHERE t.tgrelid = view AND NOT t.tgisinternal;
    RETURN QUERY SELECT pg_get_ruledef(r.oid) FROM pg_catalog.pg_rewrite r WHERE r.ev_class = view AND r.rulename <> '_RETURN';
    RETURN QUERY SELECT unnest(flakeid.comment_statements(obj_description(view, 'pg_class'), 'VIEW ' || v.name));
    RETURN QUERY SELECT unnest(flakeid.comment_statements(col_description(view, a.attnum), format('COLUMN %s.%I', v.name, a.attname)))
                 FROM pg_catalog.pg_attribute a WHERE a.attrelid = view AND a.attnum > 0;
END
$$;
COMMENT ON FUNCTION flakeid.convert_view(oid) IS 'internal: statements that make a view as it is, with its grants, comments, triggers and rules';

-- Views, policies and triggers hold a column by its number and keep it from changing: they go, and come again.
CREATE FUNCTION flakeid.convert_around(rels oid[], atts int2[], OUT before text, OUT after text[]) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH held AS (
        SELECT DISTINCT d.classid, d.objid
        FROM unnest(rels, atts) AS c (rel, att)
             JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = c.rel AND d.refobjsubid = c.att
    ), it AS (
        SELECT format('DROP POLICY %I ON %s', p.polname, p.polrelid::regclass) AS before, 1000 AS rank, p.oid,
               flakeid.policy_statements(p.oid) AS after
        FROM held h JOIN pg_catalog.pg_policy p ON h.classid = 'pg_policy'::regclass AND p.oid = h.objid
        UNION ALL
        SELECT format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass), 999, t.oid, flakeid.trigger_statements(t.oid)
        FROM held h JOIN pg_catalog.pg_trigger t ON h.classid = 'pg_trigger'::regclass AND t.oid = h.objid
        WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND NOT starts_with(t.tgname, 'zzzz_flakeid_')
        UNION ALL
        SELECT format('DROP VIEW %s', v.view::regclass), v.depth, v.view, ARRAY(SELECT s FROM flakeid.convert_view(v.view) s)
        FROM flakeid.convert_views(rels, atts) v
    )
    SELECT it.before, it.after FROM it ORDER BY it.rank DESC, it.oid DESC
$$;
COMMENT ON FUNCTION flakeid.convert_around(oid[], int2[]) IS
    'internal: what must go before a column changes, in order, and how each comes again, in the other order';

-- -- Whether it can be done -------------------------------------------------------------------------

-- How ids lie in the layout in effect, asked of the functions that everybody has.
CREATE FUNCTION flakeid.convert_layout(OUT tick int8, OUT sequences int8, OUT sequence_step int8, OUT nodes int4, OUT epoch timestamptz)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home text := flakeid.convert_home();
    at_zero int8;
    made int8;
BEGIN
    EXECUTE format('SELECT %1$s.flake_ceil(now()) - %1$s.flake_floor(now()) + 1, %1$s.flake_make(now(), 0, 0), %1$s.flake_timestamp(0)', home)
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
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
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
            EXECUTE 'SELECT d.layout_text FROM flakeid.describe($1) d' INTO fields USING candidate;
            EXECUTE format('SELECT %1$s.flake_ceil(now(), $1) - %1$s.flake_floor(now(), $1) + 1, %1$s.flake_ceil(''infinity'', $1), %1$s.flake_timestamp(0, $1)', home)
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

CREATE FUNCTION flakeid.first_real_id(tab regclass, col name DEFAULT NULL) RETURNS int8
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    att int2 := flakeid.convert_column(tab, col);
    kept int8 := flakeid.convert_kept(tab, att);
    first int8;
BEGIN
    EXECUTE format('SELECT min(%1$I)::int8 FROM %2$s WHERE %1$I > $1',
        (SELECT a.attname FROM pg_catalog.pg_attribute a WHERE a.attrelid = tab AND a.attnum = att), tab)
    INTO first USING coalesce(kept, -9223372036854775808);
    RETURN coalesce(first, kept + 1);
END
$$;
COMMENT ON FUNCTION flakeid.first_real_id(regclass, name) IS 'the lowest id of a converted table that carries a time; those below were kept';

-- A conversion runs the code of whoever owns what it touches: so each step asks.
CREATE FUNCTION flakeid.convert_strangers(root oid, root_att int2, OUT problem text, OUT hint text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH o AS MATERIALIZED (
        SELECT t.rel AS oid FROM flakeid.convert_graph(root, root_att) g, flakeid.convert_tree(g.rel, g.att) t
        UNION SELECT to_regclass(f.memory ->> 'map') FROM flakeid.convert_fills(root, root_att) f
    )
    SELECT DISTINCT ON (c.relowner) format('Table %s belongs to another role, %s.', c.oid::regclass, c.relowner::regrole),
           CASE WHEN pg_has_role(current_user, c.relowner, 'MEMBER') THEN format('SET ROLE %s;', c.relowner::regrole) END
    FROM o JOIN pg_catalog.pg_class c ON c.oid = o.oid
    WHERE c.relowner <> (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = current_user)
    ORDER BY c.relowner, c.oid
$$;
COMMENT ON FUNCTION flakeid.convert_strangers(oid, int2) IS 'internal: the roles that own tables of a conversion and are not the caller';

-- What somebody has changed meanwhile so that the triggers do not see every row, or see rows that are none of this conversion.
CREATE FUNCTION flakeid.convert_broken(root oid, root_att int2, way text, target regtype, OUT problem text, OUT hint text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('The foreign keys or triggers of table %s are not those with which the conversion began.', rel::regclass),
           CASE WHEN way <> 'back' THEN format('CALL flakeid.convert_undo(%L);', root::regclass::text) END
    FROM (SELECT x.rel, bool_and(x.new_att IS NOT NULL) AS has FROM flakeid.convert_columns(root, root_att, way, target) x WHERE x.replaced GROUP BY x.rel) x
         FULL JOIN (SELECT f.rel, bool_and(t.tgenabled = 'A') AS has FROM flakeid.convert_fills(root, root_att) f
                    JOIN pg_catalog.pg_trigger t ON t.tgrelid = f.rel AND t.tgname = f.trigger GROUP BY f.rel) f USING (rel)
    WHERE (x.has AND f.has) IS NOT TRUE
    ORDER BY rel
$$;
COMMENT ON FUNCTION flakeid.convert_broken(oid, int2, text, regtype) IS 'internal: why a conversion that has begun cannot go on';

CREATE FUNCTION flakeid.convert_problems(root oid, root_att int2, way text, target regtype, created_at name, started bool,
        OUT problem text, OUT hint text)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home text := flakeid.convert_home();
    root_col name := flakeid.convert_column_name(root, root_att);
    root_typ regtype := (SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = root AND a.attnum = root_att);
    rels oid[];
    replaced oid[];
    changed oid[];
    changed_atts int2[];
    highest int8;
    drawn int8;
    floor int8;
    r record;
    l record;
    anew text := 'Drop it before, and create it again afterwards.';
BEGIN
    SELECT array_agg(DISTINCT c.rel), array_agg(DISTINCT c.rel) FILTER (WHERE c.replaced) INTO rels, replaced
    FROM flakeid.convert_columns(root, root_att, way, target) c;
    SELECT array_agg(t.rel), array_agg(t.att) INTO changed, changed_atts
    FROM flakeid.convert_columns(root, root_att, way, target) c, flakeid.convert_tree(c.rel, c.att) t WHERE c.replaced OR c.retyped;

    -- The tables. Where anything is wrong with them, their rows are not read.
    RETURN QUERY SELECT s.* FROM flakeid.convert_strangers(root, root_att) s;
    IF FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT p.problem, p.hint
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace CROSS JOIN LATERAL (SELECT c.oid::regclass, c.oid = ANY (replaced)) AS t (name, is_replaced)
             CROSS JOIN LATERAL (VALUES
            (c.relkind NOT IN ('r', 'p') OR c.relispartition OR c.reloftype <> 0 OR n.nspname IN ('pg_catalog', 'information_schema')
                OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'),
             format('%s is not an ordinary or partitioned table of its own.', t.name), NULL),
            (c.relkind = 'r' AND NOT c.relispartition AND EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)),
             format('Table %s takes part in inheritance.', t.name), NULL),
            (c.relforcerowsecurity AND (c.oid = root OR t.is_replaced),
             format('Policies of table %s hide rows from its owner.', t.name), format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY;', t.name)),
            (t.is_replaced AND NOT has_schema_privilege(n.oid, 'CREATE'),
             format('Role %s cannot create anything in schema %I.', current_user, n.nspname), NULL),
            (t.is_replaced AND EXISTS (SELECT FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid),
             format('Table %s has rules.', t.name), NULL)) AS p (holds, problem, hint)
        WHERE c.oid = ANY (rels) AND p.holds
        UNION ALL
        SELECT DISTINCT format('Table %s takes part in the conversion of column %I of table %s, which is not finished.', t.tgrelid::regclass, m.memory ->> 'column', m.memory ->> 'table'),
               format('CALL flakeid.convert(%L, %L);', m.memory ->> 'table', m.memory ->> 'column')
        FROM pg_catalog.pg_trigger t, flakeid.convert_memory(obj_description(t.tgfoid, 'pg_proc')) AS m (memory)
        WHERE t.tgname = 'zzzz_flakeid_fill' AND t.tgrelid = ANY (coalesce(replaced, '{}') || root) AND t.tgparentid = 0
          AND NOT EXISTS (SELECT FROM flakeid.convert_fills(root, root_att) f WHERE f.func = t.tgfoid);
    IF FOUND THEN
        RETURN;
    END IF;

    -- The column
    RETURN QUERY SELECT format('Column %I is of type %s.', root_col, root_typ), NULL
        WHERE root_typ NOT IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'uuid'::regtype, target, flakeid.convert_type(NULL));
    RETURN QUERY
        SELECT format('Column %I refers to table %s by foreign key %I.', root_col, f.confrelid::regclass, f.conname), format('CALL flakeid.convert(%L);', f.confrelid::regclass)
        FROM pg_catalog.pg_constraint f WHERE f.contype = 'f' AND f.conrelid = root AND root_att = ANY (f.conkey) ORDER BY f.conname;

    -- What cannot follow a change of type, or a new column
    RETURN QUERY
        SELECT format('%s depends on %s.', upper(left(x.what, 1)) || substr(x.what, 2), x.rel), anew
        FROM (SELECT pg_describe_object(d.classid, d.objid, 0) AS what, d.refobjid::regclass AS rel
              FROM unnest(changed, changed_atts) AS c (rel, att)
                   JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = c.rel AND d.refobjsubid = c.att
              WHERE d.classid = 'pg_proc'::regclass
              UNION
              SELECT pg_describe_object(d.classid, d.objid, 0), v.view::regclass
              FROM flakeid.convert_views(changed, changed_atts) v
                   JOIN pg_catalog.pg_class c ON c.oid = v.view
                   JOIN pg_catalog.pg_depend d ON (d.refclassid = 'pg_class'::regclass AND d.refobjid = v.view)
                                               OR (d.refclassid = 'pg_type'::regclass AND d.refobjid = c.reltype)
              WHERE d.classid IN ('pg_proc'::regclass, 'pg_policy'::regclass)) x ORDER BY x.what, x.rel;
    RETURN QUERY
        SELECT CASE WHEN x.member THEN format('View %s, of an extension, reads the column.', x.name)
                    WHEN x.relkind <> 'v' THEN format('Materialized view %s reads the column.', x.name)
                    ELSE format('View %s belongs to another role, %s.', x.name, x.owner) END,
               CASE WHEN x.member OR x.relkind <> 'v' THEN anew ELSE 'Let that role drop it before, and create it again afterwards.' END
        FROM (SELECT c.relkind, pg_get_userbyid(c.relowner) AS owner, v.view::regclass AS name,
                     EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = v.view AND d.deptype = 'e') AS member
              FROM flakeid.convert_views(changed, changed_atts) v JOIN pg_catalog.pg_class c ON c.oid = v.view) x
        WHERE x.member OR x.relkind <> 'v' OR x.owner <> current_user ORDER BY x.name;
    RETURN QUERY
        SELECT format('Column %I of table %s is generated.', a.attname, x.rel), format('ALTER TABLE %s ALTER COLUMN %I DROP EXPRESSION;', x.rel, a.attname)
        FROM (SELECT c.rel::regclass AS rel, c.att FROM unnest(changed, changed_atts) AS c (rel, att)
              UNION
              SELECT e.adrelid, e.adnum
              FROM unnest(changed, changed_atts) AS c (rel, att)
                   JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = c.rel AND d.refobjsubid = c.att
                   JOIN pg_catalog.pg_attrdef e ON d.classid = 'pg_attrdef'::regclass AND e.oid = d.objid
              UNION
              SELECT d.refobjid, d.refobjsubid::int2
              FROM unnest(changed, changed_atts) AS c (rel, att)
                   JOIN pg_catalog.pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.rel AND d.objsubid = c.att
                                                  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.rel AND d.refobjsubid <> 0) x
             JOIN pg_catalog.pg_attribute a ON a.attrelid = x.rel AND a.attnum = x.att AND a.attgenerated <> '' ORDER BY x.rel, a.attname;
    RETURN QUERY
        SELECT format('Table %s is partitioned by the column.', p.partrelid::regclass),
               CASE WHEN way = 'kept' AND root_typ = 'int8'::regtype THEN format('CALL flakeid.convert(%L, type => ''bigint'');', root::regclass) END
        FROM pg_catalog.pg_partitioned_table p
        WHERE EXISTS (SELECT FROM unnest(changed, changed_atts) AS c (rel, att)
                      WHERE c.rel = p.partrelid
                        AND (c.att = ANY (p.partattrs)
                             OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = p.partrelid
                                          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = p.partrelid AND d.refobjsubid = c.att)));
    RETURN QUERY
        SELECT format('Publication %I has table %s.', x.pubname, x.rel),
               'Subscribers need the new column before it is filled. Take the table out of the publication, convert it, and let subscribers copy it anew.'
        FROM (SELECT c.rel::regclass AS rel, pub.pubname
              FROM pg_catalog.pg_publication pub
                   JOIN pg_catalog.pg_publication_rel pr ON pr.prpubid = pub.oid
                   JOIN unnest(changed, changed_atts) AS c (rel, att) ON c.rel = pr.prrelid
              WHERE pr.prrelid = ANY (replaced)
                 OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_publication_rel'::regclass AND d.objid = pr.oid
                              AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.rel AND d.refobjsubid = c.att AND pr.prqual IS NOT NULL)
              UNION
              SELECT c::regclass, p.pubname FROM unnest(replaced) AS c JOIN pg_catalog.pg_class k ON k.oid = c
                   JOIN pg_catalog.pg_namespace n ON n.oid = k.relnamespace
                   JOIN pg_catalog.pg_publication_tables p ON p.schemaname = n.nspname AND p.tablename = k.relname) x;
    RETURN QUERY
        SELECT DISTINCT CASE x.contype WHEN 'x' THEN format('The column is in exclusion constraint %I of table %s.', x.conname, x.conrelid::regclass)
                                       ELSE format('Constraint %I of table %s is not valid.', x.conname, x.conrelid::regclass) END,
               format('ALTER TABLE %s %s CONSTRAINT %I;', x.conrelid::regclass, CASE x.contype WHEN 'x' THEN 'DROP' ELSE 'VALIDATE' END, x.conname)
        FROM flakeid.convert_columns(root, root_att, way, target) c, flakeid.convert_tree(c.rel, c.att) t
             JOIN pg_catalog.pg_constraint x ON x.conrelid = t.rel AND t.att = ANY (x.conkey)
        WHERE c.replaced AND x.conparentid = 0 AND (x.contype = 'x' OR x.contype IN ('f', 'c') AND NOT x.convalidated) ORDER BY 2;
    -- Each row is updated once. Other triggers would see it, unless replication's part is played.
    RETURN QUERY
        SELECT format('Trigger %I of table %s would fire for each row.', t.tgname, t.tgrelid::regclass),
               CASE t.tgenabled WHEN 'O' THEN format('GRANT SET ON PARAMETER session_replication_role TO %I;', current_user)
                                ELSE format('ALTER TABLE %s DISABLE TRIGGER %I;', t.tgrelid::regclass, t.tgname) END
        FROM pg_catalog.pg_trigger t
        WHERE NOT started AND t.tgrelid = ANY (replaced) AND NOT t.tgisinternal AND t.tgtype & 16 = 16
          AND cardinality(t.tgattr::int2[]) = 0 AND NOT starts_with(t.tgname, 'zzzz_flakeid_')
          AND (t.tgenabled IN ('A', 'R') OR t.tgenabled = 'O' AND NOT has_parameter_privilege('session_replication_role', 'SET')) ORDER BY t.tgrelid, t.tgname;
    RETURN QUERY
        SELECT format('Column %I of table %s still stands, from a conversion before.', c.old_col, c.rel::regclass), format('ALTER TABLE %s DROP COLUMN %I;', c.rel::regclass, c.old_col)
        FROM flakeid.convert_columns(root, root_att, way, target) c WHERE c.replaced AND way <> 'back' AND c.old_att IS NOT NULL;
    -- Its other parents would need the same new ids.
    RETURN QUERY
        SELECT format('Column %I of table %s refers to table %s too, by foreign key %I.', c.col, c.rel::regclass, f.confrelid::regclass, f.conname),
               format('ALTER TABLE %s DROP CONSTRAINT %I;', c.rel::regclass, f.conname)
        FROM flakeid.convert_columns(root, root_att, way, target) c JOIN pg_catalog.pg_constraint f ON f.conrelid = c.rel AND c.att = ANY (f.conkey)
        WHERE c.replaced AND way <> 'kept' AND c.via <> 0 AND f.contype = 'f' AND f.conparentid = 0
          AND NOT EXISTS (SELECT FROM flakeid.convert_graph(root, root_att) g
                          WHERE g.rel = coalesce(pg_partition_root(f.confrelid), f.confrelid)
                            AND g.col = flakeid.convert_column_name(f.confrelid, f.confkey[array_position(f.conkey, c.att)])) ORDER BY c.rel, f.conname;
    IF way IN ('undo', 'back') THEN
        RETURN;
    END IF;

    -- The ids
    BEGIN
        EXECUTE format('SELECT %1$s.flake_next(), %1$s.flake_floor(now())', home) INTO drawn, floor;
    EXCEPTION WHEN OTHERS THEN
        problem := format('No ids can be made: %s.', SQLERRM);
        GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
        RETURN NEXT;
        RETURN;
    END;
    IF root_typ <> 'uuid'::regtype AND NOT flakeid.convert_is_made(root, root_att) THEN
        highest := flakeid.convert_highest(root, root_col);
        hint := 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET flakeid.layout = ' || quote_literal(flakeid.layout_above(highest)) || ';';
        RETURN QUERY SELECT format('New ids would not lie above the highest one, %s.%s', highest, CASE WHEN hint IS NULL THEN ' Nor would those of another layout.' END), hint
            WHERE highest >= drawn;
    END IF;
    IF created_at IS NOT NULL THEN
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = root AND a.attname = created_at AND NOT a.attisdropped
                       AND a.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype)) THEN
            RETURN QUERY SELECT format('Table %s has no column %I that holds a time.', root::regclass, created_at), NULL;
            RETURN;
        END IF;
        l := flakeid.convert_layout();
        EXECUTE format('SELECT count(*) FILTER (WHERE %1$I IS NULL) AS without, count(*) FILTER (WHERE %1$I > clock_timestamp()) AS ahead,
                              count(*) FILTER (WHERE %1$I < $1) AS early FROM %2$s%3$s', created_at, root::regclass,
            CASE WHEN flakeid.convert_is_made(root, root_att) THEN format(' WHERE %I <= %s', root_col, coalesce(flakeid.convert_kept(root, root_att), -1)) END)
        INTO r USING l.epoch;
        RETURN QUERY SELECT p.problem, NULL FROM (VALUES
            (r.without + r.early, format('Of the rows, %s have no time in column %I, and %s lie before the epoch of the layout, %s.', r.without, created_at, r.early, l.epoch)),
            (r.ahead, format('Of the rows, %s lie ahead of the clock by column %I.', r.ahead, created_at))) AS p (rows, problem) WHERE p.rows > 0;
    END IF;
    RETURN QUERY SELECT format('Column %I alone is not unique.', root_col), NULL
        WHERE way = 'made' AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i
            WHERE i.indrelid = root AND i.indisunique AND i.indisvalid AND i.indnkeyatts = 1 AND i.indkey[0] = root_att AND i.indpred IS NULL);
    RETURN QUERY
        SELECT format('Column %I of table %s has a default.', c.col, c.rel::regclass), format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT;', c.rel::regclass, c.col)
        FROM flakeid.convert_columns(root, root_att, way, target) c WHERE way = 'made' AND c.via <> 0 AND flakeid.convert_default(c.rel, c.att) IS NOT NULL;
END
$$;
COMMENT ON FUNCTION flakeid.convert_problems(oid, int2, text, regtype, name, bool) IS 'internal: why a conversion cannot be done, and a statement that helps';

-- -- Statements ------------------------------------------------------------------------------------
--
-- What a step does is a list of statements, which convert() runs and convert_plan() prints.

CREATE FUNCTION flakeid.convert_locks(rels oid[]) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', string_agg(r::regclass::text, ', ' ORDER BY r)) FROM unnest(rels) AS r
$$;
COMMENT ON FUNCTION flakeid.convert_locks(oid[]) IS 'internal: a statement that locks tables, always in the same order';

-- The statements are made before the lock is had, so what rows and sequences hold is asked by the statements themselves.

CREATE FUNCTION flakeid.convert_keep(seq regclass, rel regclass, col name, memory jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('COMMENT ON SEQUENCE %s IS %L', seq,
        format('flakeid %s', jsonb_strip_nulls(memory || jsonb_build_object('kept', CASE WHEN col IS NOT NULL THEN flakeid.convert_highest(rel, col) END))));
END
$$;
COMMENT ON FUNCTION flakeid.convert_keep(regclass, regclass, name, jsonb) IS 'internal: writes down on a sequence what an undo needs, and the highest id that stays';

-- The sequence stays, to go back to. That of an identity goes with it, so another takes its place.
CREATE FUNCTION flakeid.convert_keep_sequence(rel oid, att int2, keeps bool) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    col record;
    q record;
    seq oid := flakeid.convert_sequence(rel, att);
    name text;
BEGIN
    SELECT c.relname, n.oid::regnamespace AS nsp, c.oid::regclass AS tab, a.attname, a.attidentity, a.atttypid::regtype AS typ INTO col
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE a.attrelid = rel AND a.attnum = att;
    SELECT q1.*, c.relname INTO q FROM pg_catalog.pg_sequence q1 JOIN pg_catalog.pg_class c ON c.oid = q1.seqrelid WHERE q1.seqrelid = seq;
    name := format('%s.%I', col.nsp, coalesce(q.relname, flakeid.free_name(col.nsp, format('%s_%s', col.relname, col.attname), '_flakeid_seq')));
    IF seq IS NULL THEN
        RETURN NEXT format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT', col.tab, col.attname);
        RETURN NEXT format('CREATE SEQUENCE %s OWNED BY %s.%I', name, col.tab, col.attname);
    ELSIF col.attidentity <> '' THEN
        RETURN NEXT format('CREATE SEQUENCE %s.flakeid_sequence AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s', col.nsp,
            q.seqtypid::regtype, q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcache, CASE WHEN q.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END);
        RETURN NEXT format('SELECT pg_catalog.setval(%L, s.last_value, s.is_called) FROM %s s', format('%s.flakeid_sequence', col.nsp), seq::regclass);
        RETURN NEXT format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY', col.tab, col.attname);
        RETURN NEXT format('ALTER SEQUENCE %s.flakeid_sequence RENAME TO %I', col.nsp, q.relname);
        RETURN NEXT format('ALTER SEQUENCE %s OWNED BY %s.%I', name, col.tab, col.attname);
    ELSE
        RETURN NEXT format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT', col.tab, col.attname);
    END IF;
    RETURN NEXT format('SELECT flakeid.convert_keep(%L, %L, %L, %L)', name, col.tab, CASE WHEN keeps THEN col.attname END,
        jsonb_strip_nulls(jsonb_build_object('default', flakeid.convert_default(rel, att), 'identity', nullif(col.attidentity, ''), 'type', col.typ::text,
            'comment', obj_description(seq, 'pg_class'))));
END
$$;
COMMENT ON FUNCTION flakeid.convert_keep_sequence(oid, int2, bool) IS 'internal: statements that take the default from a column, and keep what an undo needs';

CREATE FUNCTION flakeid.convert_give_sequence(rel oid, att int2, col name, memory jsonb, widen bool) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seq oid := flakeid.convert_sequence(rel, att);
    tab text := rel::regclass;
    kind text := memory ->> 'identity';
    old_default text := memory ->> 'default';
    name text;
    source text;
    q record;
BEGIN
    SELECT coalesce(seq::regclass::text, format('%s.%I', c.relnamespace::regnamespace, flakeid.free_name(c.relnamespace, format('%s_%s', c.relname, col), '_seq'))) INTO name
    FROM pg_catalog.pg_class c WHERE c.oid = rel;
    SELECT q1.*, c.relname, c.relnamespace::regnamespace AS nsp INTO q
    FROM pg_catalog.pg_sequence q1 JOIN pg_catalog.pg_class c ON c.oid = q1.seqrelid WHERE q1.seqrelid = seq;
    source := name;
    IF seq IS NULL THEN
        IF old_default IS NOT NULL THEN
            RETURN NEXT format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', tab, col, old_default);
        END IF;
        IF old_default IS NOT NULL OR memory ? 'type' THEN
            RETURN; -- there was no sequence
        END IF;
        RETURN NEXT format('CREATE SEQUENCE %s OWNED BY %s.%I', name, tab, col);
    ELSIF memory IS NOT NULL AND old_default IS NULL AND kind IS NULL THEN
        RETURN NEXT format('DROP SEQUENCE %s', name); -- it was made for its comment
        RETURN;
    ELSE
        RETURN NEXT format('COMMENT ON SEQUENCE %s IS %L', name, memory ->> 'comment');
        IF widen AND q.seqtypid <> 'int8'::regtype THEN
            RETURN NEXT format('ALTER SEQUENCE %s AS bigint', name);
        END IF;
    END IF;
    IF kind IS NOT NULL THEN
        source := format('%s.flakeid_sequence', q.nsp);
        RETURN NEXT format('ALTER SEQUENCE %s OWNED BY NONE', name);
        RETURN NEXT format('ALTER SEQUENCE %s RENAME TO flakeid_sequence', name);
        RETURN NEXT format('ALTER TABLE %s ALTER COLUMN %I ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s INCREMENT BY %s START WITH %s CACHE %s %s)', tab, col,
            CASE kind WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, name, q.seqincrement, q.seqstart, q.seqcache,
            CASE WHEN q.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END);
    ELSE
        RETURN NEXT format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', tab, col, coalesce(old_default, format('pg_catalog.nextval(%L)', name)));
    END IF;
    RETURN NEXT format('SELECT pg_catalog.setval(%L, m.reached) FROM (SELECT greatest((SELECT max(%I)::int8 FROM %s), (SELECT CASE WHEN s.is_called THEN s.last_value END FROM %s s)) AS reached) m WHERE m.reached IS NOT NULL',
        name, col, tab, source);
    IF kind IS NOT NULL THEN
        RETURN NEXT format('DROP SEQUENCE %s', source);
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.convert_give_sequence(oid, int2, name, jsonb, bool) IS
    'internal: statements that give a column its default back, its sequence above every id';

-- Changes whenever somebody changes a definition that statements were made from.
CREATE FUNCTION flakeid.convert_print(rels oid[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE r AS (
        SELECT unnest(rels) AS oid
        UNION
        SELECT x.oid FROM r, LATERAL (
            SELECT i.inhrelid AS oid FROM pg_catalog.pg_inherits i WHERE i.inhparent = r.oid
            UNION ALL
            SELECT coalesce(w.ev_class, s.seqrelid) FROM pg_catalog.pg_depend d
                 LEFT JOIN pg_catalog.pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
                 LEFT JOIN pg_catalog.pg_sequence s ON d.classid = 'pg_class'::regclass AND s.seqrelid = d.objid
            WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = r.oid) x
        WHERE x.oid IS NOT NULL
    ), o AS (SELECT array_agg(r.oid) AS oids FROM r)
    SELECT md5(string_agg(x.row, ' ' ORDER BY x.row)) FROM o, LATERAL (
        SELECT concat('class ', c.oid, ' ', c.xmin) AS row FROM pg_catalog.pg_class c WHERE c.oid = ANY (o.oids)
        UNION ALL SELECT concat('column ', a.attrelid, ' ', a.attnum, ' ', a.xmin) FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY (o.oids)
        UNION ALL SELECT concat('default ', d.oid, ' ', d.xmin) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = ANY (o.oids)
        UNION ALL SELECT concat('index ', i.indexrelid, ' ', i.xmin, ' ', c.xmin) FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = ANY (o.oids)
        UNION ALL SELECT concat('constraint ', k.oid, ' ', k.xmin) FROM pg_catalog.pg_constraint k WHERE k.conrelid = ANY (o.oids) OR k.confrelid = ANY (o.oids)
        UNION ALL SELECT concat('trigger ', t.oid, ' ', t.xmin) FROM pg_catalog.pg_trigger t WHERE t.tgrelid = ANY (o.oids)
        UNION ALL SELECT concat('policy ', p.oid, ' ', p.xmin) FROM pg_catalog.pg_policy p WHERE p.polrelid = ANY (o.oids)
        UNION ALL SELECT concat('rule ', w.oid, ' ', w.xmin) FROM pg_catalog.pg_rewrite w WHERE w.ev_class = ANY (o.oids)
        UNION ALL SELECT concat('statistics ', e.oid, ' ', e.xmin) FROM pg_catalog.pg_statistic_ext e WHERE e.stxrelid = ANY (o.oids)
        UNION ALL SELECT concat('sequence ', s.seqrelid, ' ', s.xmin) FROM pg_catalog.pg_sequence s WHERE s.seqrelid = ANY (o.oids)
        UNION ALL SELECT concat('comment ', m.objoid, ' ', m.objsubid, ' ', m.xmin) FROM pg_catalog.pg_description m WHERE m.classoid = 'pg_class'::regclass AND m.objoid = ANY (o.oids)
        UNION ALL SELECT concat('depends ', d.classid, ' ', d.objid, ' ', d.refobjsubid) FROM pg_catalog.pg_depend d
            WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (o.oids)) x
$$;
COMMENT ON FUNCTION flakeid.convert_print(oid[]) IS 'internal: a fingerprint of the definitions of tables';

-- Where a flake is reckoned with, the server writes a cast to bigint into what it prints. The type before had none, and may not even
-- be castable.
CREATE FUNCTION flakeid.convert_uncast(statement text, cols name[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    col name;
BEGIN
    FOREACH col IN ARRAY coalesce(cols, '{}') LOOP
        statement := regexp_replace(statement, format('\(((?:(?:\w+|"(?:[^"]|"")+")\.)*%s)\)::bigint', regexp_replace(quote_ident(col), '([^\w" ])', '\\\1', 'g')), '\1', 'g');
    END LOOP;
    RETURN statement;
END
$$;
COMMENT ON FUNCTION flakeid.convert_uncast(text, name[]) IS 'internal: a definition without casts of these columns to bigint';

CREATE FUNCTION flakeid.convert_cast_columns(rels oid[], atts int2[]) RETURNS name[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(DISTINCT x.name) FROM (
        SELECT a.attname AS name FROM unnest(rels, atts) AS c (rel, att) JOIN pg_catalog.pg_attribute a ON a.attrelid = c.rel AND a.attnum = c.att
        UNION
        SELECT a.attname FROM flakeid.convert_views(rels, atts) v JOIN pg_catalog.pg_attribute a ON a.attrelid = v.view
        WHERE a.attnum > 0 AND a.atttypid = flakeid.convert_type(NULL)) x
$$;
COMMENT ON FUNCTION flakeid.convert_cast_columns(oid[], int2[]) IS 'internal: the names that columns have in their tables, and in views of them';

CREATE FUNCTION flakeid.convert_swap(root oid, root_att int2, memory jsonb, OUT statements text[], OUT slow jsonb)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home text := flakeid.convert_home();
    way text := memory ->> 'way';
    target regtype := memory ->> 'type';
    restores bool := way IN ('undo', 'back');
    rels oid[];
    changed oid[];
    changed_atts int2[];
    moved oid[];
    moved_atts int2[];
    around text[];
    keys text[];
    later text[];
    c record;
    r record;
    was jsonb; -- what an undo of this will need
    stay bool := way = 'kept' OR way = 'made';
    uncast name[];
    statement text;
BEGIN
    SELECT array_agg(DISTINCT x.rel) INTO rels FROM flakeid.convert_columns(root, root_att, way, target) x
    WHERE x.replaced OR x.retyped OR x.rel = root;
    SELECT array_agg(t.rel) FILTER (WHERE x.retyped OR x.replaced), array_agg(t.att) FILTER (WHERE x.retyped OR x.replaced),
           array_agg(t.rel) FILTER (WHERE x.replaced), array_agg(t.att) FILTER (WHERE x.replaced)
    INTO changed, changed_atts, moved, moved_atts
    FROM flakeid.convert_columns(root, root_att, way, target) x, flakeid.convert_tree(x.rel, x.att) t;

    statements := ARRAY[flakeid.convert_locks(rels)];
    slow := '{}';
    around := '{}';
    uncast := CASE WHEN way = 'back' THEN flakeid.convert_cast_columns(changed, changed_atts) END;
    FOR r IN SELECT * FROM flakeid.convert_around(coalesce(changed, '{}'), coalesce(changed_atts, '{}')) LOOP
        statements := statements || r.before;
        around := ARRAY(SELECT flakeid.convert_uncast(a, uncast) FROM unnest(r.after) AS a) || around;
    END LOOP;

    IF moved IS NOT NULL THEN
        -- Foreign keys and checks: their texts are the same before and after, since the new column takes the name
        FOR r IN SELECT DISTINCT x.oid, x.contype, x.conname, x.conrelid::regclass AS rel, k.relkind, pg_get_constraintdef(x.oid) AS def,
                        obj_description(x.oid, 'pg_constraint') AS comment
                 FROM unnest(moved, moved_atts) AS m (rel, att)
                      JOIN pg_catalog.pg_constraint x ON x.conparentid = 0 AND (x.contype IN ('f', 'c') AND x.conrelid = m.rel AND m.att = ANY (x.conkey)
                                                                             OR x.contype = 'f' AND x.confrelid = m.rel AND m.att = ANY (x.confkey))
                      JOIN pg_catalog.pg_class k ON k.oid = x.conrelid
                 WHERE x.coninhcount = 0 AND NOT starts_with(x.conname, 'flakeid_new_')
                 ORDER BY x.oid LOOP
            statements := statements || format('ALTER TABLE %s DROP CONSTRAINT %I', r.rel, r.conname);
            -- Those that are to be validated tell it in their comments.
            statement := format('ALTER TABLE %s ADD CONSTRAINT %I %s', r.rel, r.conname, flakeid.convert_uncast(r.def, uncast));
            IF r.relkind = 'r' OR r.contype = 'c' THEN
                statement := statement || ' NOT VALID';
                r.comment := format('flakeid %s', jsonb_strip_nulls(jsonb_build_object('comment', r.comment)));
            ELSE
                slow := slow || jsonb_build_object(statement, flakeid.convert_lasts((SELECT sum(pg_table_size(p.relid)) FROM pg_partition_tree(r.rel) p)::int8));
            END IF;
            later := later || statement || flakeid.comment_statements(r.comment, format('CONSTRAINT %I ON %s', r.conname, r.rel));
        END LOOP;
        FOR r IN SELECT DISTINCT s.oid, s.stxname, s.stxnamespace::regnamespace AS nsp
                 FROM unnest(moved, moved_atts) AS m (rel, att)
                      JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = m.rel AND d.refobjsubid = m.att
                      JOIN pg_catalog.pg_statistic_ext s ON d.classid = 'pg_statistic_ext'::regclass AND s.oid = d.objid LOOP
            statements := statements || format('DROP STATISTICS %s.%I', r.nsp, r.stxname);
            later := later || flakeid.statistics_statements(r.oid);
        END LOOP;

        -- Indexes, first those of partitions, which stand ready under other names; then those that are made of them
        FOR r IN SELECT x.*, k.oid AS con, k.conname, k.contype, k.condeferrable, k.condeferred, x.rel::regclass AS tab
                 FROM flakeid.convert_indexes(moved, moved_atts) x
                      LEFT JOIN pg_catalog.pg_constraint k ON k.conindid = x.idx AND k.contype IN ('p', 'u') AND k.conrelid = x.rel
                 ORDER BY NOT x.leaf, x.idx LOOP
            IF NOT r.attached THEN
                statements := statements || CASE WHEN r.con IS NOT NULL THEN format('ALTER TABLE %s DROP CONSTRAINT %I', r.tab, r.conname)
                                  ELSE format('DROP INDEX %s', r.idx::regclass) END;
            END IF;
            IF r.leaf THEN
                keys := keys || format('ALTER INDEX %s.%I RENAME TO %I', r.nsp, flakeid.convert_name('new', r.name), r.name);
                -- Its columns have names of their own.
                keys := keys || ARRAY(SELECT format('ALTER TABLE %s.%I RENAME COLUMN %I TO %I', r.nsp, r.name, n.attname, o.attname)
                                      FROM pg_catalog.pg_class k JOIN pg_catalog.pg_attribute n ON n.attrelid = k.oid
                                           JOIN pg_catalog.pg_attribute o ON o.attrelid = r.idx AND o.attnum = n.attnum
                                      WHERE k.relnamespace = r.nsp AND k.relname = flakeid.convert_name('new', r.name) AND n.attname <> o.attname);
                IF r.con IS NOT NULL THEN
                    keys := keys || format('ALTER TABLE %s ADD CONSTRAINT %I %s USING INDEX %I%s%s', r.tab, r.name,
                        CASE r.contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END, r.name,
                        CASE WHEN r.condeferrable THEN ' DEFERRABLE' END, CASE WHEN r.condeferred THEN ' INITIALLY DEFERRED' END);
                END IF;
            ELSIF NOT r.attached THEN
                keys := keys || CASE WHEN r.con IS NOT NULL THEN format('ALTER TABLE %s ADD CONSTRAINT %I %s', r.tab, r.conname, pg_get_constraintdef(r.con))
                                     ELSE replace(pg_get_indexdef(r.idx), ' ON ONLY ', ' ON ') END;
            END IF;
            IF r.leaf OR NOT r.attached THEN
                keys := keys || flakeid.comment_statements(obj_description(r.idx, 'pg_class'), format('INDEX %s.%I', r.nsp, r.name))
                             || flakeid.comment_statements(obj_description(r.con, 'pg_constraint'), format('CONSTRAINT %s ON %s', quote_ident(r.conname), r.tab));
            END IF;
            IF r.clustered THEN
                keys := keys || format('ALTER TABLE %s CLUSTER ON %I', r.tab, r.name);
            END IF;
            IF r.identifies THEN
                keys := keys || format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', r.tab, r.name);
            END IF;
        END LOOP;
        statements := statements || ARRAY(SELECT format('DROP TRIGGER %I ON %s', f.trigger, f.rel::regclass)
                     FROM flakeid.convert_fills(root, root_att) f);
        statements := statements || ARRAY(SELECT format('DROP FUNCTION %s', f.func::regprocedure)
                     FROM flakeid.convert_fills(root, root_att) f);
    END IF;

    -- Columns of eight bytes
    SELECT x.* INTO c FROM flakeid.convert_columns(root, root_att, way, target) x WHERE x.rel = root AND x.att = root_att;
    IF NOT c.replaced THEN
        IF restores THEN
            IF flakeid.convert_is_made(root, root_att) THEN
                statements := statements || format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT', root::regclass, c.col);
            END IF;
        ELSIF NOT flakeid.convert_is_made(root, root_att) THEN
            statements := statements || ARRAY(SELECT k FROM flakeid.convert_keep_sequence(root, root_att, way = 'kept') k);
        END IF;
    END IF;
    FOR r IN SELECT x.* FROM flakeid.convert_columns(root, root_att, way, target) x WHERE x.retyped LOOP
        statement := format('ALTER TABLE %s ALTER COLUMN %I TYPE %s', r.rel::regclass, r.col, target);
        -- What has an expression over the column is made anew, and what is checked with it is checked again.
        slow := slow || jsonb_build_object(statement, flakeid.convert_lasts((
            SELECT sum(pg_table_size(t.rel) * (SELECT count(DISTINCT d.objid) FROM pg_catalog.pg_depend d
                    LEFT JOIN pg_catalog.pg_index x ON d.classid = 'pg_class'::regclass AND x.indexrelid = d.objid
                    LEFT JOIN pg_catalog.pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
                    WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = t.rel AND d.refobjsubid = t.att
                      AND (x.indexprs IS NOT NULL OR x.indpred IS NOT NULL OR k.contype = 'c')))
            FROM flakeid.convert_tree(r.rel, r.att) t WHERE t.leaf)::int8));
        statements := statements || statement;
    END LOOP;
    IF NOT c.replaced THEN
        IF NOT restores AND NOT flakeid.convert_is_made(root, root_att) THEN
            statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s.flake_next()', root::regclass, c.col, home);
        ELSIF restores AND flakeid.convert_is_made(root, root_att) THEN
            statements := statements || ARRAY(SELECT g FROM flakeid.convert_give_sequence(root, root_att, c.col, flakeid.convert_memory(obj_description(flakeid.convert_sequence(root, root_att), 'pg_class')), true) g);
        END IF;
    END IF;

    IF moved IS NOT NULL THEN
        -- The columns change places
        FOR c IN SELECT x.*, x.rel::regclass AS tab, a.attnotnull, a.attacl, a.attstattarget, a.attoptions, a.attidentity,
                        flakeid.convert_default(x.rel, x.att) AS def, col_description(x.rel, x.att) AS comment
                 FROM flakeid.convert_columns(root, root_att, way, target) x JOIN pg_catalog.pg_attribute a ON a.attrelid = x.rel AND a.attnum = x.att
                 WHERE x.replaced LOOP
            was := NULL;
            IF c.rel = root AND c.att = root_att AND stay THEN
                was := jsonb_strip_nulls(jsonb_build_object('column', c.col, 'default', c.def, 'identity', nullif(c.attidentity, ''), 'type', c.typ::text,
                                                            'map', CASE WHEN way = 'made' THEN memory ->> 'map' END));
                IF c.typ <> 'uuid'::regtype AND flakeid.convert_is_made(root, root_att) IS NOT TRUE THEN
                    statements := statements || ARRAY(SELECT k FROM flakeid.convert_keep_sequence(root, root_att, way = 'kept') k);
                ELSIF c.def IS NOT NULL THEN
                    statements := statements || format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT', c.tab, c.col);
                END IF;
            ELSIF c.def IS NOT NULL THEN
                statements := statements || format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT', c.tab, c.col);
            END IF;
            IF c.attnotnull THEN
                statements := statements || format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', c.tab, c.col);
            END IF;
            statements := statements || format('ALTER TABLE %s RENAME COLUMN %I TO %I', c.tab, c.col, c.old_col);
            statements := statements || format('ALTER TABLE %s RENAME COLUMN %I TO %I', c.tab, c.new_col, c.col);
            IF c.attnotnull THEN
                statement := format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL', c.tab, c.col);
                statements := statements || statement
                    || ARRAY(SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', c.tab, k.conname)
                             FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.rel AND k.conname = flakeid.convert_name('null', c.col));
                IF flakeid.convert_defers(c.via, way) THEN
                    slow := slow || jsonb_build_object(statement, flakeid.convert_lasts(pg_table_size(c.rel)));
                END IF;
            END IF;
            IF c.attstattarget >= 0 THEN
                statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', c.tab, c.col, c.attstattarget);
            END IF;
            -- The server keeps options of its own there too, which are not for copying.
            statements := statements || ARRAY(SELECT format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', c.tab, c.col, o)
                         FROM unnest(c.attoptions) AS o WHERE starts_with(o, 'n_distinct'));
            statements := statements || ARRAY(SELECT flakeid.grant_statements(c.attacl, c.tab::text, format('(%I)', c.col)));
            IF c.comment IS NOT NULL OR way = 'back' THEN
                statements := statements || format('COMMENT ON COLUMN %s.%I IS %L', c.tab, c.col, c.comment);
            END IF;
            IF flakeid.convert_sequence(c.rel, c.att) IS NOT NULL THEN
                statements := statements || format('ALTER SEQUENCE %s OWNED BY %s.%I', flakeid.convert_sequence(c.rel, c.att)::regclass, c.tab, c.col);
            ELSIF was IS NOT NULL AND c.typ <> 'uuid'::regtype THEN
                statements := statements || (SELECT format('ALTER SEQUENCE %s.%I OWNED BY %s.%I', k.relnamespace::regnamespace,
                    flakeid.free_name(k.relnamespace, format('%s_%s', k.relname, c.col), '_flakeid_seq'), c.tab, c.col) FROM pg_catalog.pg_class k WHERE k.oid = c.rel);
            END IF;
            IF was IS NOT NULL THEN
                statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s.flake_next()', c.tab, c.col, home);
            ELSIF c.def IS NOT NULL AND NOT (c.rel = root AND c.att = root_att) THEN
                statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', c.tab, c.col, c.def);
            END IF;
            IF stay THEN
                statements := statements || format('COMMENT ON COLUMN %s.%I IS %L', c.tab, c.old_col, format('flakeid %s', coalesce(was, '{}')));
            ELSE
                -- after what belonged to it has gone over
                later := later || format('ALTER TABLE %s DROP COLUMN %I', c.tab, c.old_col);
            END IF;
        END LOOP;
        IF way = 'back' AND NOT memory ? 'fresh' THEN
            statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s.flake_next()', root::regclass, flakeid.convert_column_name(root, root_att), home);
        ELSIF way = 'back' THEN
            statements := statements || ARRAY(SELECT g FROM flakeid.convert_give_sequence(root, root_att, flakeid.convert_column_name(root, root_att),
                    coalesce(flakeid.convert_memory(obj_description(flakeid.convert_sequence(root, root_att), 'pg_class')), memory -> 'was'), false) g);
        END IF;
        IF way = 'back' THEN
            statements := statements || ARRAY(SELECT format('DROP TABLE %s', m.map)
                FROM (SELECT to_regclass(memory #>> '{was,map}') AS map) m WHERE flakeid.convert_memory(obj_description(m.map, 'pg_class')) ? 'table');
        END IF;
    END IF;
    statements := statements || keys || later || around;
    -- The highest id is read under the lock.
    IF NOT flakeid.convert_is_led_to(root, root_att) THEN
        slow := slow || coalesce((SELECT jsonb_object_agg(s, flakeid.convert_lasts((SELECT sum(pg_table_size(t.rel)) FROM flakeid.convert_tree(root, root_att) t)::int8))
                                  FROM unnest(statements) AS s WHERE starts_with(s, 'SELECT ')), '{}');
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.convert_swap(oid, int2, jsonb) IS 'internal: the statements of the one short lock';

CREATE FUNCTION flakeid.convert_defers(foreign_key oid, way text) RETURNS bool
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT way <> 'kept' AND EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE f.oid = foreign_key AND f.condeferrable)
$$;
COMMENT ON FUNCTION flakeid.convert_defers(oid, text) IS
    'internal: whether a row may come before the one that it refers to, so that its new column can be empty until its transaction ends';

CREATE FUNCTION flakeid.convert_indexes(rels oid[], atts int2[],
        OUT idx oid, OUT rel oid, OUT nsp regnamespace, OUT name name, OUT leaf bool, OUT attached bool, OUT clustered bool, OUT identifies bool,
        OUT ready bool, OUT bytes int8)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT i.indexrelid, i.indrelid, k.relnamespace::regnamespace, k.relname, k.relkind = 'i', k.relispartition, i.indisclustered, i.indisreplident,
           (SELECT n.indisvalid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index n ON n.indexrelid = c.oid
            WHERE c.relnamespace = k.relnamespace AND c.relname = flakeid.convert_name('new', k.relname) AND n.indrelid = i.indrelid),
           pg_table_size(i.indrelid)
    FROM unnest(rels, atts) AS m (rel, att)
         JOIN pg_catalog.pg_index i ON i.indrelid = m.rel
         JOIN pg_catalog.pg_class k ON k.oid = i.indexrelid
    WHERE NOT starts_with(k.relname, 'flakeid_new_')
      AND (m.att = ANY (i.indkey)
           OR EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                        AND d.refclassid = 'pg_class'::regclass AND d.refobjid = m.rel AND d.refobjsubid = m.att))
$$;
COMMENT ON FUNCTION flakeid.convert_indexes(oid[], int2[]) IS 'internal: the indexes that a column is in, and whether one for the new column is ready';

-- -- New columns -----------------------------------------------------------------------------------

-- The row that a row refers to, by the whole foreign key and its own operators.
CREATE FUNCTION flakeid.convert_lookup(rel oid, att int2, via oid, referring text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('SELECT p.%I FROM %s p WHERE %s',
                  max(flakeid.convert_name('new', pa.attname)) FILTER (WHERE ca.attname = own.attname), f.confrelid::regclass,
                  string_agg(format('p.%I OPERATOR(%I.%s) %s.%I', pa.attname, n.nspname, o.oprname, referring, ca.attname), ' AND ' ORDER BY k.i))
    FROM pg_catalog.pg_constraint f
         CROSS JOIN LATERAL unnest(f.confkey, f.conkey, f.conpfeqop) WITH ORDINALITY AS k (there, here, op, i)
         JOIN pg_catalog.pg_attribute pa ON pa.attrelid = f.confrelid AND pa.attnum = k.there
         JOIN pg_catalog.pg_attribute ca ON ca.attrelid = f.conrelid AND ca.attnum = k.here
         JOIN pg_catalog.pg_attribute own ON own.attrelid = rel AND own.attnum = att
         JOIN pg_catalog.pg_operator o ON o.oid = k.op
         JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace
    WHERE f.oid = via
    GROUP BY f.confrelid
$$;
COMMENT ON FUNCTION flakeid.convert_lookup(oid, int2, oid, text) IS 'internal: a query for the new id of the row that a row refers to';

CREATE FUNCTION flakeid.convert_begin(root oid, root_att int2, memory jsonb, OUT statements text[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    way text := memory ->> 'way';
    target regtype := memory ->> 'type';
    t record;
    c record;
    fill text;
    late text;
    missing text;
    name text;
BEGIN
    statements := ARRAY[flakeid.convert_locks(ARRAY(SELECT DISTINCT x.rel FROM flakeid.convert_columns(root, root_att, way, target) x WHERE x.replaced))];
    IF memory ? 'map' THEN
        statements := statements || format('CREATE TABLE %s (old_id %s PRIMARY KEY, new_id %s NOT NULL)', memory ->> 'map', memory ->> 'from', target);
        statements := statements || format('COMMENT ON TABLE %s IS %L', memory ->> 'map', format('flakeid %s', jsonb_build_object('table', memory -> 'table', 'node', memory -> 'node')));
    END IF;
    FOR t IN SELECT x.rel, x.rel::regclass AS tab, k.relnamespace::regnamespace AS nsp FROM flakeid.convert_columns(root, root_att, way, target) x
             JOIN pg_catalog.pg_class k ON k.oid = x.rel WHERE x.replaced
             GROUP BY x.rel, k.relnamespace ORDER BY min(x.depth), x.rel LOOP
        fill := '';
        late := '';
        missing := NULL;
        FOR c IN SELECT x.*, x.rel = root AND x.att = root_att AS is_root FROM flakeid.convert_columns(root, root_att, way, target) x
                 WHERE x.rel = t.rel AND x.replaced LOOP
            IF c.is_root AND way = 'back' THEN
                statements := statements || format('ALTER TABLE %s RENAME COLUMN %I TO %I', t.tab, c.old_col, c.new_col);
            ELSE
                statements := statements || format('ALTER TABLE %s%s ADD COLUMN %I %s', t.tab,
                    CASE WHEN way = 'back' AND c.old_att IS NOT NULL THEN format(' DROP COLUMN %I,', c.old_col) END, c.new_col,
                    CASE WHEN way = 'back' AND c.old_att IS NOT NULL
                         THEN (SELECT a.atttypid::regtype::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.rel AND a.attnum = c.old_att)
                         -- what was changed in place had eight bytes before
                         WHEN way = 'back' AND target IN ('int2'::regtype, 'int4'::regtype) AND NOT c.is_root THEN 'bigint'
                         ELSE target::text END);
            END IF;
            IF way = 'kept' THEN
                fill := fill || format(E'\n    NEW.%I := NEW.%I;', c.new_col, c.col);
            ELSIF c.is_root AND way = 'back' THEN
                fill := fill || format(E'\n    IF NEW.%1$I IS NULL THEN NEW.%1$I := %2$s; END IF;', c.new_col, coalesce(memory ->> 'fresh', format('NEW.%I', c.col)));
            ELSIF c.is_root THEN
                fill := fill || format('
    IF NEW.%1$I IS NULL THEN
        NEW.%1$I := %5$s;
        IF NEW.%1$I IS NULL AND TG_OP = ''INSERT'' THEN
            NEW.%1$I := %4$s.flake_next();
            INSERT INTO %3$s VALUES (NEW.%2$I, NEW.%1$I) ON CONFLICT DO NOTHING;
        END IF;
    END IF;', c.new_col, c.col, memory ->> 'map', flakeid.convert_home(),
                    flakeid.convert_source(memory, format('coalesce(OLD.%1$I, NEW.%1$I)', c.col)));
            ELSE
                fill := fill || format('
    IF NEW.%2$I IS NULL THEN
        NEW.%1$I := NULL;
    ELSIF NEW.%1$I IS NULL OR TG_OP = ''INSERT'' OR NEW.%2$I IS DISTINCT FROM OLD.%2$I THEN
        NEW.%1$I := (%3$s FOR KEY SHARE);
    END IF;', c.new_col, c.col, flakeid.convert_lookup(c.rel, c.att, c.via, 'NEW'));
                late := late || format('
    IF NEW.%2$I IS NOT NULL AND NEW.%1$I IS NULL AND (%3$s) IS NOT NULL THEN
        UPDATE %4$s SET %1$I = NULL WHERE %2$I OPERATOR(pg_catalog.=) NEW.%2$I AND %1$I IS NULL;
    END IF;', c.new_col, c.col, flakeid.convert_lookup(c.rel, c.att, c.via, 'NEW'), t.tab);
                missing := concat_ws(' OR ', missing, format('NEW.%I IS NOT NULL AND NEW.%I IS NULL', c.col, c.new_col));
            END IF;
        END LOOP;
        FOR c IN SELECT * FROM (VALUES ('fill', fill, 'NEW'), ('late', late, 'NULL')) AS f (kind, body, result) WHERE body <> '' LOOP
            name := format('%s.%I', t.nsp, 'flakeid_' || c.kind || '_' || t.rel);
            statements := statements || format(E'CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $flakeid$\nBEGIN%s\n    RETURN %s;\nEND\n$flakeid$',
                name, c.body, c.result);
            statements := statements || format('REVOKE ALL ON FUNCTION %s() FROM PUBLIC', name);
            statements := statements || format('COMMENT ON FUNCTION %s() IS %L', name, format('flakeid %s', jsonb_strip_nulls(memory)));
            statements := statements || CASE c.kind
                WHEN 'fill' THEN format('CREATE TRIGGER zzzz_flakeid_fill BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %s()', t.tab, name)
                ELSE format('CREATE CONSTRAINT TRIGGER zzzz_flakeid_late AFTER INSERT OR UPDATE ON %s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (%s) EXECUTE FUNCTION %s()',
                            t.tab, missing, name) END;
            statements := statements || format('ALTER TABLE %s ENABLE ALWAYS TRIGGER zzzz_flakeid_%s', t.tab, c.kind);
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_begin(oid, int2, jsonb) IS 'internal: the statements that make new columns, and the triggers that keep them';

-- An id that carries its time already stays.
CREATE FUNCTION flakeid.convert_source(memory jsonb, old_id text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN memory ? 'real' THEN format('CASE WHEN %1$s > %3$s THEN %1$s ELSE (SELECT m.new_id FROM %2$s m WHERE m.old_id = %1$s) END',
                                                old_id, memory ->> 'map', memory ->> 'real')
                ELSE format('(SELECT m.new_id FROM %2$s m WHERE m.old_id = %1$s)', old_id, memory ->> 'map') END
$$;
COMMENT ON FUNCTION flakeid.convert_source(jsonb, text) IS 'internal: where the new id of an old one comes from';

-- The ids of a node are numbered through all its ticks: (tick, sequence) is tick * sequences + sequence. Each row takes the number
-- of its own tick, or the one after the row before it where that is higher: so a full tick runs over into the next.
CREATE FUNCTION flakeid.convert_map(root oid, col name, memory jsonb) RETURNS int8
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home text := flakeid.convert_home();
    l record;
    rows int8;
    ahead int8;
    twice int8;
BEGIN
    -- A row whose key was changed meanwhile comes last, with an id of now.
    IF memory ->> 'created_at' IS NULL OR memory ? 'again' THEN
        EXECUTE format('INSERT INTO %1$s SELECT s.%2$I, %4$s.flake_next() FROM (SELECT t.%2$I FROM %3$s t WHERE t.%5$I IS NULL ORDER BY t.%2$I) s ON CONFLICT DO NOTHING',
            memory ->> 'map', col, root::regclass, home, flakeid.convert_name('new', col));
        GET DIAGNOSTICS rows = ROW_COUNT;
        RETURN rows;
    END IF;
    l := flakeid.convert_layout();
    EXECUTE format('
        WITH made AS (
            INSERT INTO %1$s
            SELECT w.id, w.word / $1 * $2 + $3 + w.word %% $1 * $4
            FROM (SELECT s.id, s.n + max(s.tick * $1 - s.n) OVER (ORDER BY s.n) AS word
                  FROM (SELECT t.%2$I AS id, %3$s.flake_floor(t.%4$I::timestamptz) / $2 AS tick, row_number() OVER (ORDER BY t.%4$I, t.%2$I) AS n
                        FROM %5$s t WHERE t.%6$I IS NULL%7$s) s) w
            ON CONFLICT DO NOTHING
            RETURNING new_id)
        SELECT count(*), count(*) FILTER (WHERE new_id > %3$s.flake_floor(clock_timestamp())) FROM made',
        memory ->> 'map', col, home, memory ->> 'created_at', root::regclass, flakeid.convert_name('new', col),
        CASE WHEN memory ? 'real' THEN format(' AND t.%I <= %s', col, memory ->> 'real') END)
    INTO rows, ahead
    USING l.sequences, l.tick, (memory ->> 'node_base')::int8, coalesce(l.sequence_step, 1);
    IF ahead > 0 THEN
        PERFORM flakeid.convert_refuse(root, format('So many rows are of the same moments in column %I that %s ids would lie ahead of the clock.', memory ->> 'created_at', ahead),
                format('CALL flakeid.convert_undo(%L);', root::regclass::text));
    END IF;
    IF memory ? 'real' THEN
        EXECUTE format('SELECT count(*) FROM %1$s m JOIN %2$s t ON t.%3$I = m.new_id', memory ->> 'map', root::regclass, col) INTO twice;
        IF twice > 0 THEN
            PERFORM flakeid.convert_refuse(root, format('%s ids of node %s are in the table already.', twice, memory ->> 'node'),
                format('CALL flakeid.convert_undo(%L);', root::regclass::text));
        END IF;
    END IF;
    RETURN rows;
END
$$;
COMMENT ON FUNCTION flakeid.convert_map(oid, name, jsonb) IS 'internal: gives every old row its new id, in the order of time, and returns how many';

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
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(t.rel::regclass ORDER BY r.oid, t.level, t.rel)
    FROM unnest(rels) AS r (oid) CROSS JOIN LATERAL (SELECT c.oid AS rel, 0 AS level FROM pg_catalog.pg_class c WHERE c.oid = r.oid
                                                     UNION SELECT p.relid, p.level FROM pg_partition_tree(r.oid) p) t
$$;
COMMENT ON FUNCTION flakeid.convert_all_of(oid[]) IS 'internal: tables and their partitions, in the order in which they are locked';

CREATE FUNCTION flakeid.convert_locked(kind text, root oid, root_att int2, memory jsonb, rels oid[], print text) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    statements text[];
    locked timestamptz;
BEGIN
    BEGIN
        EXECUTE format('SELECT s.statements FROM flakeid.%I($1, $2, $3) s', 'convert_' || kind) INTO statements USING root, root_att, memory;
        RAISE EXCEPTION USING ERRCODE = 'FL000'; -- gives back the locks on what was read: nothing is held while this waits
    EXCEPTION WHEN SQLSTATE 'FL000' THEN
        locked := flakeid.partition_lock(flakeid.convert_all_of(rels), 'ACCESS EXCLUSIVE');
    END;
    IF print IS DISTINCT FROM flakeid.convert_print(rels) THEN
        RETURN NULL;
    END IF;
    PERFORM flakeid.convert_run(statements[2:]);
    RETURN locked;
END
$$;
COMMENT ON FUNCTION flakeid.convert_locked(text, oid, int2, jsonb, oid[], text) IS
    'internal: runs the statements of convert_begin, convert_swap or convert_drop, and returns since when tables are locked; NULL, and nothing was done, where definitions are not those of a fingerprint any more';

-- The names of columns and indexes are changed for a moment, so that the server itself writes the statements.
CREATE FUNCTION flakeid.convert_index_statements(root oid, root_att int2, way text, target regtype, OUT statements text[], OUT held numeric)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    locked timestamptz;
    c record;
    x record;
    moved oid[];
    moved_atts int2[];
    missing oid[];
    def text;
    uncast name[] := CASE WHEN way = 'back' THEN ARRAY(SELECT m.new_col FROM flakeid.convert_columns(root, root_att, way, target) m) END;
BEGIN
    SELECT array_agg(t.rel), array_agg(t.att) INTO moved, moved_atts
    FROM flakeid.convert_columns(root, root_att, way, target) m, flakeid.convert_tree(m.rel, m.att) t WHERE m.replaced;
    SELECT array_agg(i.idx ORDER BY i.idx) INTO missing FROM flakeid.convert_indexes(moved, moved_atts) i WHERE i.leaf AND i.ready IS NOT TRUE;
    statements := '{}';
    IF missing IS NULL THEN
        RETURN;
    END IF;
    BEGIN
        locked := flakeid.partition_lock(flakeid.convert_all_of(ARRAY(SELECT DISTINCT m.rel FROM flakeid.convert_columns(root, root_att, way, target) m WHERE m.replaced)), 'ACCESS EXCLUSIVE');
        -- A build that was stopped left an index that nothing uses.
        FOR x IN SELECT i.nsp, flakeid.convert_name('new', i.name) AS name FROM flakeid.convert_indexes(moved, moved_atts) i WHERE i.leaf AND i.ready = false LOOP
            statements := statements || format('DROP INDEX %s.%I', x.nsp, x.name);
            EXECUTE format('DROP INDEX %s.%I', x.nsp, x.name);
        END LOOP;
        FOR c IN SELECT m.* FROM flakeid.convert_columns(root, root_att, way, target) m WHERE m.replaced LOOP
            EXECUTE format('ALTER TABLE %s RENAME COLUMN %I TO %I', c.rel::regclass, c.new_col, flakeid.convert_name('that', c.col));
            EXECUTE format('ALTER TABLE %s RENAME COLUMN %I TO %I', c.rel::regclass, c.col, c.new_col);
        END LOOP;
        FOR x IN SELECT k.oid, k.oid::regclass AS name, flakeid.convert_name('new', k.relname) AS other,
                        (SELECT s.spcname FROM pg_catalog.pg_tablespace s WHERE s.oid = k.reltablespace) AS place
                 FROM pg_catalog.pg_class k WHERE k.oid = ANY (missing) ORDER BY k.oid LOOP
            EXECUTE format('ALTER INDEX %s RENAME TO %I', x.name, x.other);
            def := flakeid.convert_uncast(pg_get_indexdef(x.oid), uncast);
            statements := statements || CASE WHEN x.place IS NULL THEN def
                                   ELSE regexp_replace(def, '( WHERE .*)?$', format(' TABLESPACE %I\1', x.place)) END;
        END LOOP;
        RAISE EXCEPTION USING ERRCODE = 'FL000';
    EXCEPTION WHEN SQLSTATE 'FL000' THEN
        held := flakeid.convert_ms(locked);
    END;
END
$$;
COMMENT ON FUNCTION flakeid.convert_index_statements(oid, int2, text, regtype) IS 'internal: statements that make the indexes of the new columns, as far as they are missing';

CREATE FUNCTION flakeid.convert_remember(root oid, root_att int2, memory jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    f record;
BEGIN
    FOR f IN SELECT x.func FROM flakeid.convert_fills(root, root_att) x LIMIT 1 LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', f.func::regprocedure, format('flakeid %s', memory));
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_remember(oid, int2, jsonb) IS 'internal: writes down how far a conversion is';

-- One batch of rows, by blocks. Returns what it remembers now.
CREATE FUNCTION flakeid.convert_fill(root oid, root_att int2, memory jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    way text := memory ->> 'way';
    unit int4 := coalesce((memory ->> 'unit')::int4, 0);
    block int8 := coalesce((memory ->> 'block')::int8, 0);
    until int8;
    step int8;
    rows int8;
    began timestamptz;
    patience interval := current_setting('deadlock_timeout');
    u record;
BEGIN
    SELECT x.*, t.rel AS leaf, x.rel = root AND x.att = root_att AS is_root INTO u
    FROM flakeid.convert_columns(root, root_att, way, (memory ->> 'type')::regtype) x, flakeid.convert_tree(x.rel, x.att) t
    WHERE x.replaced AND t.leaf ORDER BY x.depth, x.rel, x.att, t.rel OFFSET unit LIMIT 1;
    IF u.rel IS NULL THEN
        RETURN memory || '{"filled": true}';
    END IF;
    IF way <> 'kept' AND NOT u.is_root AND block = 0 AND (memory ->> 'barrier')::int4 IS DISTINCT FROM unit THEN
        -- Whoever wrote before the rows that are referred to had their new ids has ended, once this lock is had.
        PERFORM flakeid.partition_lock(ARRAY[u.leaf::regclass], 'SHARE ROW EXCLUSIVE');
        RETURN memory || jsonb_build_object('barrier', unit);
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = u.leaf AND NOT t.tgisinternal AND t.tgenabled = 'O') AND has_parameter_privilege('session_replication_role', 'SET') THEN
        PERFORM set_config('session_replication_role', 'replica', true);
    END IF;
    step := coalesce((memory ->> 'step')::int8, 100);
    -- What comes behind the end of the table has been through the trigger.
    until := CASE WHEN block = 0 THEN pg_relation_size(u.leaf) / current_setting('block_size')::int8 ELSE (memory ->> 'until')::int8 END;
    began := clock_timestamp();
    EXECUTE format('UPDATE %1$s AS t SET %2$I = %3$s WHERE t.ctid >= %4$L::tid AND t.ctid < %5$L::tid AND t.%2$I IS NULL AND t.%6$I IS NOT NULL',
        u.leaf::regclass, u.new_col,
        CASE WHEN way = 'kept' THEN format('t.%I', u.col)
             WHEN u.is_root AND way = 'back' THEN coalesce(memory ->> 'fresh', format('t.%I', u.col))
             WHEN u.is_root THEN flakeid.convert_source(memory, format('t.%I', u.col))
             ELSE format('(%s)', flakeid.convert_lookup(u.rel, u.att, u.via, 't')) END,
        format('(%s,0)', block), format('(%s,0)', block + step), u.col);
    GET DIAGNOSTICS rows = ROW_COUNT;
    block := block + step;
    -- Others wait for its rows, and it for theirs, together for less than deadlock_timeout: so none of them fails for a deadlock.
    IF clock_timestamp() - began > patience / 4 THEN
        step := greatest(step / 2, 1);
    ELSIF clock_timestamp() - began < patience / 10 AND rows < 10000 AND step < 4096 THEN
        step := step * 2;
    END IF;
    RETURN memory || jsonb_build_object('table_now', u.leaf::regclass::text, 'column_now', u.col, 'step', step, 'until', until,
        'unit', CASE WHEN block < until THEN unit ELSE unit + 1 END, 'block', CASE WHEN block < until THEN block ELSE 0 END,
        'rows', coalesce((memory ->> 'rows')::int8, 0) + rows);
END
$$;
COMMENT ON FUNCTION flakeid.convert_fill(oid, int2, jsonb) IS 'internal: fills some rows of the new columns and returns how far that is';

-- A table that is attached afterwards brings rows that no trigger has seen.
CREATE FUNCTION flakeid.convert_leaves(root oid, root_att int2, memory jsonb) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT md5(string_agg(DISTINCT t.rel::text, ' ')) FROM flakeid.convert_columns(root, root_att, memory ->> 'way', (memory ->> 'type')::regtype) x, flakeid.convert_tree(x.rel, x.att) t
    WHERE x.replaced AND t.leaf
$$;
COMMENT ON FUNCTION flakeid.convert_leaves(oid, int2, jsonb) IS 'internal: a fingerprint of the tables that hold rows of new columns';

CREATE FUNCTION flakeid.convert_check(root oid, root_att int2, memory jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c record;
    empty int8;
BEGIN
    FOR c IN SELECT x.* FROM flakeid.convert_columns(root, root_att, memory ->> 'way', (memory ->> 'type')::regtype) x WHERE x.replaced LOOP
        EXECUTE format('SELECT count(*) FROM %s t WHERE t.%I IS NULL AND t.%I IS NOT NULL', c.rel::regclass, c.new_col, c.col) INTO empty;
        IF empty > 0 AND coalesce((memory ->> 'again')::int4, 0) > 3 THEN
            PERFORM flakeid.convert_refuse(root, format('In table %s, %s rows refer by column %I to rows that are not there.', c.rel::regclass, empty, c.col),
                format('CALL flakeid.convert_undo(%L);', root::regclass::text));
        ELSIF empty > 0 THEN
            RETURN memory - 'filled' - 'mapped' - 'barrier' || jsonb_build_object('unit', 0, 'block', 0, 'again', coalesce((memory ->> 'again')::int4, 0) + 1);
        END IF;
    END LOOP;
    RETURN memory || jsonb_build_object('checked', flakeid.convert_leaves(root, root_att, memory));
END
$$;
COMMENT ON FUNCTION flakeid.convert_check(oid, int2, jsonb) IS 'internal: looks whether every row has its new ids, and returns what is to be done';

-- A check that a column is not null lets SET NOT NULL believe it. A row that may come before the one that it refers to cannot have one.
CREATE FUNCTION flakeid.convert_not_null(root oid, root_att int2, memory jsonb) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN k.oid IS NULL THEN format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%I IS NOT NULL) NOT VALID', x.rel::regclass, n.name, x.new_col)
                ELSE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', x.rel::regclass, n.name) END
    FROM flakeid.convert_columns(root, root_att, memory ->> 'way', (memory ->> 'type')::regtype) x
         JOIN pg_catalog.pg_attribute a ON a.attrelid = x.rel AND a.attnum = x.att
         CROSS JOIN LATERAL flakeid.convert_name('null', x.col) AS n (name)
         LEFT JOIN pg_catalog.pg_constraint k ON k.conrelid = x.rel AND k.conname = n.name
    WHERE x.replaced AND a.attnotnull AND NOT flakeid.convert_defers(x.via, memory ->> 'way') AND k.convalidated IS NOT TRUE
    ORDER BY x.depth, x.rel, x.att LIMIT 1
$$;
COMMENT ON FUNCTION flakeid.convert_not_null(oid, int2, jsonb) IS 'internal: the next statement that proves that new columns are not null';

CREATE FUNCTION flakeid.convert_validate(root oid, root_att int2) RETURNS text[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY[format('ALTER TABLE %s VALIDATE CONSTRAINT %I', k.conrelid::regclass, k.conname),
                 format('COMMENT ON CONSTRAINT %I ON %s IS %L', k.conname, k.conrelid::regclass, m.memory ->> 'comment')]
    FROM pg_catalog.pg_constraint k CROSS JOIN LATERAL flakeid.convert_memory(obj_description(k.oid, 'pg_constraint')) AS m (memory)
    WHERE m.memory IS NOT NULL AND k.contype IN ('f', 'c') AND k.conparentid = 0 AND k.conrelid IN (SELECT g.rel FROM flakeid.convert_graph(root, root_att) g)
    ORDER BY k.oid LIMIT 1
$$;
COMMENT ON FUNCTION flakeid.convert_validate(oid, int2) IS 'internal: the statements that validate the next constraint which was made again';

-- Before anything has changed places, an undo takes the new columns away, and all that hangs on them.
CREATE FUNCTION flakeid.convert_drop(root oid, root_att int2, memory jsonb, OUT statements text[])
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(s) FROM (
        SELECT flakeid.convert_locks(array_agg(DISTINCT f.rel)) AS s FROM flakeid.convert_fills(root, root_att) f
        UNION ALL
        SELECT format('DROP TRIGGER %I ON %s', f.trigger, f.rel::regclass) FROM flakeid.convert_fills(root, root_att) f
        UNION ALL
        SELECT format('DROP FUNCTION %s', f.func::regprocedure) FROM flakeid.convert_fills(root, root_att) f
        UNION ALL
        SELECT format('ALTER TABLE %s DROP COLUMN %I', a.attrelid::regclass, a.attname)
        FROM pg_catalog.pg_attribute a WHERE starts_with(a.attname::text, 'flakeid_new_') AND NOT a.attisdropped AND a.attrelid IN (SELECT f.rel FROM flakeid.convert_fills(root, root_att) f)
        UNION ALL
        SELECT format('DROP TABLE %s', m.map) FROM (SELECT to_regclass(memory ->> 'map') AS map) m WHERE m.map IS NOT NULL) x
$$;
COMMENT ON FUNCTION flakeid.convert_drop(oid, int2, jsonb) IS 'internal: the statements that take a conversion back before its swap';

-- The highest node of the layout that no other table of this database had for its old rows, and that is not this server's now.
CREATE FUNCTION flakeid.convert_node() RETURNS int4
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    nodes int4 := (flakeid.convert_layout()).nodes;
    candidate int4;
    used int4[];
BEGIN
    SELECT array_agg((m.memory ->> 'node')::int4) INTO used
    FROM pg_catalog.pg_description d, flakeid.convert_memory(d.description) AS m (memory)
    WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND m.memory ->> 'node' ~ '^\d{1,9}$';
    candidate := nodes - 1;
    WHILE candidate >= 0 AND (candidate = ANY (used) OR flakeid.convert_has_node(candidate)) LOOP
        candidate := candidate - 1;
    END LOOP;
    RETURN nullif(candidate, -1);
END
$$;
COMMENT ON FUNCTION flakeid.convert_node() IS 'internal: a node for ids of old rows';

CREATE FUNCTION flakeid.convert_has_node(node int4) RETURNS bool
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l record := flakeid.convert_layout();
    beyond int8;
BEGIN
    -- What an id that is made now has beyond the first one of its tick and that node, is a sequence number or not.
    EXECUTE format('SELECT n.id - %1$s.flake_make(%1$s.flake_timestamp(n.id), $1, 0) FROM (SELECT %1$s.flake_next()::int8 AS id) n', flakeid.convert_home())
    INTO beyond USING node;
    RETURN beyond >= 0 AND beyond % coalesce(l.sequence_step, 1) = 0 AND beyond / coalesce(l.sequence_step, 1) < l.sequences;
END
$$;
COMMENT ON FUNCTION flakeid.convert_has_node(int4) IS 'internal: whether this server makes ids with a node';

-- -- The procedures --------------------------------------------------------------------------------

CREATE FUNCTION flakeid.convert_advice(root oid, root_att int2, way text, target regtype) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rows int8;
    bytes int8;
BEGIN
    SELECT sum(greatest(k.reltuples, 0))::int8, sum(pg_table_size(k.oid) + pg_indexes_size(k.oid))::int8 INTO rows, bytes
    FROM flakeid.convert_columns(root, root_att, way, target) x, flakeid.convert_tree(x.rel, x.att) t, pg_catalog.pg_class k
    WHERE x.replaced AND t.leaf AND k.oid = t.rel;
    IF bytes IS NOT NULL THEN
        RETURN NEXT format('Every row is written once more: have %s of disk free, and as much for the WAL. The new columns stand at the end of their tables.', pg_size_pretty(bytes + rows * 16));
    END IF;
    RETURN QUERY
        SELECT format('No index begins with column %I of table %s, so %s: CREATE INDEX CONCURRENTLY ON %s (%I);', x.col, x.rel::regclass,
            CASE x.via WHEN 0 THEN 'the lock of the change lasts as long as reading the table' ELSE 'each DELETE of what it refers to reads the whole table' END, x.rel::regclass, x.col)
        FROM flakeid.convert_columns(root, root_att, way, target) x WHERE NOT flakeid.convert_is_led_to(x.rel, x.att);
    IF way = 'kept' THEN
        RETURN NEXT 'Old rows keep their ids, which carry no time: id <@ tstzrange(...) leaves them out.';
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.convert_advice(oid, int2, text, regtype) IS 'internal: what somebody should know before a conversion';

CREATE FUNCTION flakeid.convert_refuse(root oid, problem text, hint text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF hint IS NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('cannot convert table %s', root::regclass), DETAIL = problem;
    END IF;
    RAISE object_not_in_prerequisite_state USING MESSAGE = format('cannot convert table %s', root::regclass), DETAIL = problem, HINT = hint;
END
$$;
COMMENT ON FUNCTION flakeid.convert_refuse(oid, text, text) IS 'internal: an error';

-- What a conversion is to do, before it has begun.
CREATE FUNCTION flakeid.convert_intent(root oid, root_att int2, created_at name, asked text, asked_node int4, undo bool, OUT way text, OUT memory jsonb)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    a record;
    target regtype := flakeid.convert_type(asked);
    old record;
    kept int8 := flakeid.convert_kept(root, root_att);
    base int8;
    was jsonb;
BEGIN
    SELECT x.attname, x.atttypid::regtype AS typ, k.relname, k.relnamespace::regnamespace AS nsp INTO a
    FROM pg_catalog.pg_attribute x JOIN pg_catalog.pg_class k ON k.oid = x.attrelid WHERE x.attrelid = root AND x.attnum = root_att;
    SELECT o.atttypid::regtype AS typ, flakeid.convert_memory(col_description(root, o.attnum)) AS memory INTO old
    FROM pg_catalog.pg_attribute o WHERE o.attrelid = root AND o.attname = flakeid.convert_name('old', a.attname);
    memory := jsonb_build_object('table', root::regclass::text, 'oid', root::int8, 'column', a.attname, 'from', a.typ::text, 'type', target::text);
    IF undo THEN
        way := CASE WHEN old.typ IS NOT NULL THEN 'back' ELSE 'undo' END;
        IF way = 'undo' THEN
            memory := memory || jsonb_build_object('type', 'bigint');
        ELSE
            was := coalesce(old.memory, '{}') || coalesce(flakeid.convert_memory(obj_description(flakeid.convert_sequence(root, root_att), 'pg_class')), '{}');
            -- Where the old column has eight bytes too, ids that were made since are ids there as well.
            memory := memory || jsonb_build_object('type', old.typ::text, 'was', was, 'fresh',
                CASE WHEN old.typ NOT IN ('int2'::regtype, 'int4'::regtype, 'uuid'::regtype) THEN NULL
                     WHEN flakeid.convert_sequence(root, root_att) IS NOT NULL AND was ->> 'default' IS NULL
                     THEN format('pg_catalog.nextval(%L)', flakeid.convert_sequence(root, root_att)::regclass)
                     ELSE coalesce(was ->> 'default', CASE WHEN old.typ = 'uuid'::regtype THEN 'pg_catalog.gen_random_uuid()' END) END);
        END IF;
    ELSIF a.typ = 'uuid'::regtype OR created_at IS NOT NULL THEN
        way := 'made';
        IF a.typ IN ('int8'::regtype, target) AND NOT flakeid.convert_is_made(root, root_att) THEN
            way := 'kept';  -- so that rows to come are no old ones, then again
        END IF;
        memory := memory || jsonb_build_object('created_at', created_at, 'map', format('%s.%I', a.nsp, flakeid.free_name(a.nsp, format('%s_%s', a.relname, a.attname), '_map')),
            'real', CASE WHEN a.typ IN ('int8'::regtype, target) THEN coalesce(kept, -1) END);
        IF created_at IS NOT NULL AND way = 'made' THEN
            IF flakeid.convert_has_node(asked_node) THEN
                PERFORM flakeid.convert_refuse(root, format('This server makes ids with node %s.', asked_node), NULL);
            END IF;
            asked_node := coalesce(asked_node, flakeid.convert_node());
            IF asked_node IS NULL THEN
                PERFORM flakeid.convert_refuse(root, 'No node is left for ids of old rows.', NULL);
            END IF;
            EXECUTE format('SELECT %1$s.flake_make(now(), $1, 0) - %1$s.flake_floor(now())', flakeid.convert_home()) INTO base USING asked_node;
            memory := memory || jsonb_build_object('node', asked_node, 'node_base', base);
        END IF;
    ELSE
        way := 'kept';
    END IF;
    memory := jsonb_strip_nulls(memory || jsonb_build_object('way', way));
END
$$;
COMMENT ON FUNCTION flakeid.convert_intent(oid, int2, name, text, int4, bool) IS 'internal: which way a conversion goes, and what it must remember';

-- What a step has done is told, and how long its lock lasted, once it is committed: by the step after it.
CREATE FUNCTION flakeid.convert_tell(tab regclass, state jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lock text := state ->> 'lock';
    lasted numeric := greatest(flakeid.convert_ms((state ->> 'locked')::timestamptz), (state ->> 'held')::numeric);
BEGIN
    IF lasted IS NULL THEN
        RETURN state;
    END IF;
    IF state ? 'did' THEN
        RAISE NOTICE '%: %; % % ms', tab, state ->> 'did', CASE lock WHEN 'writers' THEN 'writers waited' ELSE 'the lock lasted' END, lasted;
    END IF;
    RETURN state - 'locked' - 'held' - 'did' - 'lock' || jsonb_build_object(lock, greatest(lasted, (state ->> lock)::numeric));
END
$$;
COMMENT ON FUNCTION flakeid.convert_tell(regclass, jsonb) IS 'internal: tells what the step before has done, and remembers the longest lock';

CREATE FUNCTION flakeid.convert_step(tab regclass, col name, created_at name, type text, node int4, undo bool, state jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET jit = off AS $$
DECLARE
    root oid := tab;
    root_att int2;
    root_col name;
    rels oid[];
    print text;
    memory jsonb;
    way text;
    target regtype;
    started bool;
    replaces bool;
    statements text[];
    problems text;
    hint text;
    text text;
    locked timestamptz;
    held numeric;
BEGIN
    state := flakeid.convert_tell(tab, coalesce(state, '{}') - 'wait');
    IF state ? 'over' THEN
        RETURN NULL;
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtext('flakeid.convert'), hashtext(root::text)) THEN
        RAISE NOTICE '%: another session converts it; this one waits', tab;
        PERFORM pg_advisory_xact_lock(hashtext('flakeid.convert'), hashtext(root::text));
    END IF;
    -- Here, so that all that follows is seen as it is now
    root_att := flakeid.convert_column(tab, coalesce(col, (state ->> 'column')::name));
    root_col := flakeid.convert_column_name(root, root_att);
    state := state || jsonb_build_object('column', root_col);
    IF state ? 'tries' THEN
        PERFORM flakeid.partition_knock(flakeid.convert_all_of(ARRAY(SELECT DISTINCT g.rel FROM flakeid.convert_graph(root, root_att) g)));
    END IF;
    PERFORM flakeid.partition_lock('{}', NULL); -- no lock is waited for longer
    SELECT f.memory INTO memory FROM flakeid.convert_fills(root, root_att) f LIMIT 1;
    started := memory IS NOT NULL;
    IF started THEN
        IF NOT undo AND memory ->> 'way' = 'back' THEN
            PERFORM flakeid.convert_refuse(root, 'It is being undone.', format('CALL flakeid.convert_undo(%L);', root::regclass::text));
        END IF;
    ELSE
        IF NOT undo AND state ? 'begun' AND NOT flakeid.convert_is_made(root, root_att) THEN
            PERFORM flakeid.convert_refuse(root, 'Another session has undone it meanwhile.', NULL);
        END IF;
        SELECT i.memory INTO memory FROM flakeid.convert_intent(root, root_att, created_at, type, node, undo) i;
        IF state ? 'begun' AND undo
           OR NOT undo AND EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = root AND a.attname = flakeid.convert_name('old', root_col)
                                     AND (created_at IS NULL OR flakeid.convert_memory(col_description(root, a.attnum)) ? 'map')) THEN
            state := state || '{"swapped": true}'; -- by another call
        END IF;
    END IF;
    way := memory ->> 'way';
    target := (memory ->> 'type')::regtype;
    SELECT array_agg(DISTINCT x.rel), bool_or(x.replaced) INTO rels, replaces FROM flakeid.convert_columns(root, root_att, way, target) x;

    BEGIN
        -- Looked at before, and again once there is a lock
        rels := ARRAY(SELECT unnest(rels) UNION SELECT f.rel FROM flakeid.convert_fills(root, root_att) f);
        print := flakeid.convert_print(rels);
        -- A call that was killed after its swap may have left some.
        statements := flakeid.convert_validate(root, root_att);
        IF statements IS NOT NULL AND NOT started AND NOT state ? 'swapped' THEN
            PERFORM flakeid.convert_run(statements);
            RETURN state;
        END IF;
        BEGIN
            SELECT string_agg(x.problem, E'\n'), (array_agg(x.hint) FILTER (WHERE x.hint IS NOT NULL))[1] INTO problems, hint FROM (
                SELECT s.* FROM flakeid.convert_strangers(root, root_att) s WHERE started OR state ? 'swapped'
                UNION ALL
                SELECT b.* FROM flakeid.convert_broken(root, root_att, way, target) b WHERE started AND (NOT undo OR way = 'back')
                UNION ALL
                -- Much may have been made since the conversion began.
                SELECT p.* FROM flakeid.convert_problems(root, root_att, way, target, CASE WHEN NOT started THEN created_at END, started) p
                WHERE NOT state ? 'swapped' AND (NOT started OR memory ? 'analyzed' AND NOT (undo AND way <> 'back'))) x;
            RAISE EXCEPTION USING ERRCODE = 'FL000'; -- gives back its locks
        EXCEPTION WHEN SQLSTATE 'FL000' THEN NULL;
        END;
        IF problems IS NOT NULL THEN
            PERFORM flakeid.convert_refuse(root, problems, hint);
        END IF;

        -- Back, before anything has changed places
        IF undo AND started AND way <> 'back' THEN
            locked := flakeid.convert_locked('drop', root, root_att, memory, rels, print);
            IF locked IS NULL THEN
                RETURN state;
            END IF;
            RETURN state || jsonb_build_object('over', true, 'did', 'the new columns are gone', 'lock', 'longest', 'locked', locked);
        END IF;

        IF NOT started AND NOT state ?| '{swapped, advised}' THEN
            FOR text IN SELECT * FROM flakeid.convert_advice(root, root_att, CASE WHEN memory ? 'map' THEN 'made' ELSE way END, target) LOOP
                RAISE NOTICE '%', text;
            END LOOP;
            IF memory ? 'node' THEN
                RAISE NOTICE 'Old rows get ids of node %. No other server may have had it.', memory ->> 'node';
            END IF;
            state := state || '{"advised": true}';
        END IF;

        -- New columns
        IF replaces AND NOT state ? 'swapped' THEN
            IF NOT started THEN
                locked := flakeid.convert_locked('begin', root, root_att, memory, rels, print);
                IF locked IS NULL THEN
                    RETURN state;
                END IF;
                RETURN flakeid.convert_note(state, 'longest', locked) || '{"did": "new columns and their triggers are there"}';
            END IF;
            IF memory ? 'map' AND NOT memory ? 'mapped' THEN
                PERFORM flakeid.convert_map(root, root_col, memory);
                PERFORM flakeid.convert_remember(root, root_att, memory || '{"mapped": true}');
                RETURN flakeid.convert_note(state);
            END IF;
            IF NOT memory ? 'filled' THEN
                memory := flakeid.convert_fill(root, root_att, memory);
                PERFORM flakeid.convert_remember(root, root_att, memory);
                IF memory ? 'filled' THEN
                    RAISE NOTICE '%: % values are filled', tab, memory ->> 'rows';
                END IF;
                RETURN flakeid.convert_note(state);
            END IF;
            IF memory ->> 'checked' IS DISTINCT FROM flakeid.convert_leaves(root, root_att, memory) THEN
                PERFORM flakeid.convert_remember(root, root_att, flakeid.convert_check(root, root_att, memory));
                RETURN flakeid.convert_note(state);
            END IF;
            IF NOT memory ? 'analyzed' THEN
                FOR text IN SELECT format('ANALYZE %s', x.rel::regclass) FROM flakeid.convert_columns(root, root_att, way, target) x WHERE x.replaced GROUP BY x.rel LOOP
                    EXECUTE text;
                END LOOP;
                PERFORM flakeid.convert_remember(root, root_att, memory || '{"analyzed": true}');
                RETURN flakeid.convert_note(state);
            END IF;
            SELECT i.statements, i.held INTO statements, held FROM flakeid.convert_index_statements(root, root_att, way, target) i;
            IF cardinality(statements) > 0 THEN
                IF EXISTS (SELECT FROM flakeid.convert_columns(root, root_att, way, target) x, flakeid.convert_tree(x.rel, x.att) t
                           WHERE x.replaced AND t.leaf AND pg_table_size(t.rel) > 500000000) THEN
                    RAISE NOTICE '%: run these statements, which lock nobody out, then call flakeid.convert again:%', tab,
                        (SELECT string_agg(E'\n' || regexp_replace(s, '^(CREATE (UNIQUE )?INDEX|DROP INDEX) ', '\1 CONCURRENTLY ') || ';', '') FROM unnest(statements) AS s);
                    RETURN NULL;
                END IF;
                state := flakeid.convert_tell(tab, state || jsonb_build_object('lock', 'longest', 'held', held));
                locked := clock_timestamp();
                EXECUTE statements[1];
                RETURN flakeid.convert_note(state, 'writers', locked) || jsonb_build_object('did', statements[1]);
            END IF;
            text := flakeid.convert_not_null(root, root_att, memory);
            IF text IS NOT NULL THEN
                locked := CASE WHEN text LIKE '% NOT VALID' THEN clock_timestamp() END;
                EXECUTE text;
                RETURN flakeid.convert_note(state, 'longest', locked);
            END IF;
        END IF;

        -- The swap
        IF NOT state ? 'swapped' AND (EXISTS (SELECT FROM flakeid.convert_columns(root, root_att, way, target) x WHERE x.replaced OR x.retyped)
                                      OR flakeid.convert_is_made(root, root_att) = (way IN ('undo', 'back'))) THEN
            locked := flakeid.convert_locked('swap', root, root_att, memory, rels, print);
            IF locked IS NULL THEN
                RETURN state;
            END IF;
            RETURN flakeid.convert_note(state, 'longest', locked) || jsonb_build_object('did', format('column %I is changed', root_col))
                || CASE WHEN created_at IS NOT NULL AND way = 'kept' AND memory ? 'created_at' THEN '{}'::jsonb ELSE '{"swapped": true}' END;
        END IF;
        statements := flakeid.convert_validate(root, root_att);
        IF statements IS NOT NULL THEN
            PERFORM flakeid.convert_run(statements);
            RETURN flakeid.convert_note(state) || '{"swapped": true}';
        END IF;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        IF coalesce((state ->> 'tries')::int4, 0) >= 120 THEN
            RAISE lock_not_available USING MESSAGE = format('could not lock table %s and what refers to it', tab), DETAIL = SQLERRM,
                HINT = format('Call flakeid.convert%s again: it goes on where it was.', CASE WHEN undo THEN '_undo' END);
        END IF;
        RETURN state || jsonb_build_object('tries', coalesce((state ->> 'tries')::int4, 0) + 1, 'wait', 0.5 + random());
    END;
    RAISE NOTICE '%: done; the longest lock lasted % ms%', tab, coalesce(state ->> 'longest', '0'), coalesce(', and writers waited up to ' || (state ->> 'writers') || ' ms', '');
    FOR text IN SELECT format('ALTER TABLE %s DROP COLUMN %I;', a.attrelid::regclass, a.attname)
                FROM flakeid.convert_columns(root, root_att, way, target) x JOIN pg_catalog.pg_attribute a ON a.attrelid = x.rel AND a.attname = x.old_col LOOP
        RAISE NOTICE 'Once you will not go back: %', text;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION flakeid.convert_step(regclass, name, name, text, int4, bool, jsonb) IS
    'internal: the next step of a conversion; returns what the one after it must know, or NULL after the last';

CREATE FUNCTION flakeid.convert_note(state jsonb, lock text DEFAULT NULL, locked timestamptz DEFAULT NULL) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_strip_nulls(state - 'tries' || jsonb_build_object('begun', true, 'lock', lock, 'locked', locked))
$$;
COMMENT ON FUNCTION flakeid.convert_note(jsonb, text, timestamptz) IS 'internal: the state of a call after a step, which held a lock of that kind since then';

-- A first COMMIT tells at once who calls it inside a transaction. A step must see what others committed while it waited for a lock.
CREATE PROCEDURE flakeid.convert_steps(tab regclass, col pg_catalog.name, created_at pg_catalog.name, type pg_catalog.text, node pg_catalog.int4, undo bool)
    LANGUAGE plpgsql AS $$
DECLARE
    state pg_catalog.jsonb := '{}';
BEGIN
    LOOP
        COMMIT;
        EXIT WHEN state IS NULL;
        PERFORM pg_catalog.pg_sleep(pg_catalog.jsonb_extract_path_text(state, 'wait')::pg_catalog.float8);
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        state := flakeid.convert_step(tab, col, created_at, type, node, undo, state);
    END LOOP;
END
$$;
COMMENT ON PROCEDURE flakeid.convert_steps(regclass, name, name, text, int4, bool) IS 'internal: a conversion, or its undo, from where it is to its end';

CREATE PROCEDURE flakeid.convert(tab regclass, col pg_catalog.name DEFAULT NULL, created_at pg_catalog.name DEFAULT NULL,
                                 type pg_catalog.text DEFAULT NULL, node pg_catalog.int4 DEFAULT NULL)
    LANGUAGE plpgsql AS $$
BEGIN
    CALL flakeid.convert_steps(tab, col, created_at, type, node, false);
END
$$;
COMMENT ON PROCEDURE flakeid.convert(regclass, name, name, text, int4) IS
    'moves a key column to flake_next(), with all columns that refer to it; call it again where it was stopped';

CREATE PROCEDURE flakeid.convert_undo(tab regclass, col pg_catalog.name DEFAULT NULL)
    LANGUAGE plpgsql AS $$
BEGIN
    CALL flakeid.convert_steps(tab, col, NULL, NULL, NULL, true);
END
$$;
COMMENT ON PROCEDURE flakeid.convert_undo(regclass, name) IS
    'takes a conversion back: to the old column while that stands, and else to bigint, with a sequence above every id';

-- -- What is planned, and what goes on --------------------------------------------------------------

CREATE FUNCTION flakeid.convert_plan(tab regclass, col name DEFAULT NULL, created_at name DEFAULT NULL, type text DEFAULT NULL, node int4 DEFAULT NULL)
    RETURNS TABLE (step int4, statement text, lock text, lasts text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET jit = off AS $$
DECLARE
    root oid := tab;
    root_att int2 := flakeid.convert_column(tab, col);
    root_col name := flakeid.convert_column_name(root, root_att);
    intent record;
    memory jsonb;
    way text;
    target regtype;
    swap record;
    x record;
BEGIN
    step := 0;
    SELECT * INTO intent FROM flakeid.convert_intent(root, root_att, created_at, type, node, false);
    way := intent.way;
    memory := intent.memory;
    target := (memory ->> 'type')::regtype;
    FOR statement IN SELECT '-- refused: ' || p.problem || coalesce(' ' || p.hint, '') FROM flakeid.convert_problems(root, root_att, way, target, created_at, false) p
                     UNION ALL SELECT '-- ' || a FROM flakeid.convert_advice(root, root_att, CASE WHEN memory ? 'map' THEN 'made' ELSE way END, target) a LOOP
        RETURN NEXT;
    END LOOP;
    IF EXISTS (SELECT FROM flakeid.convert_columns(root, root_att, way, target) c WHERE c.replaced) THEN
        step := step + 1;
        RETURN QUERY SELECT convert_plan.step, b, 'ACCESS EXCLUSIVE', 'milliseconds' FROM unnest(flakeid.convert_begin(root, root_att, memory)) b;
        IF memory ? 'map' THEN
            step := step + 1;
            statement := format('INSERT INTO %s SELECT ... FROM %s', memory ->> 'map', tab);
            lock := 'ACCESS SHARE';
            lasts := flakeid.convert_lasts(pg_table_size(tab) * 4);
            RETURN NEXT;
        END IF;
        step := step + 1;
        FOR x IN SELECT c.*, t.rel AS leaf FROM flakeid.convert_columns(root, root_att, way, target) c, flakeid.convert_tree(c.rel, c.att) t
                 WHERE c.replaced AND t.leaf ORDER BY c.depth, c.rel, c.att, t.rel LOOP
            statement := format('UPDATE %s SET %I = ... WHERE ctid ...', x.leaf::regclass, x.new_col);
            lock := 'ROW EXCLUSIVE';
            lasts := format('milliseconds, %s times', ceil(pg_table_size(x.leaf) / 819200.0));
            RETURN NEXT;
            statement := format('ANALYZE %s', x.leaf::regclass);
            lock := 'SHARE UPDATE EXCLUSIVE';
            lasts := 'seconds';
            RETURN NEXT;
        END LOOP;
        step := step + 1;
        FOR x IN SELECT DISTINCT i.* FROM flakeid.convert_columns(root, root_att, way, target) c, flakeid.convert_tree(c.rel, c.att) t,
                        flakeid.convert_indexes(ARRAY[t.rel], ARRAY[t.att]) i WHERE c.replaced AND i.leaf ORDER BY i.idx LOOP
            statement := regexp_replace(pg_get_indexdef(x.idx), '^(CREATE (UNIQUE )?INDEX ).*?( ON )', format('\1%I\3', flakeid.convert_name('new', x.name)));
            statement := (SELECT format('%s -- with %s', statement, string_agg(format('%I', c.new_col), ', ')) FROM flakeid.convert_columns(root, root_att, way, target) c WHERE c.replaced AND c.rel = x.rel);
            IF x.bytes > 500000000 THEN
                statement := regexp_replace(statement, '^(CREATE (UNIQUE )?INDEX) ', '\1 CONCURRENTLY ');
                lock := 'SHARE UPDATE EXCLUSIVE';
            ELSE
                lock := 'SHARE';
            END IF;
            lasts := flakeid.convert_lasts(x.bytes);
            RETURN NEXT;
        END LOOP;
        step := step + 1;
        FOR x IN SELECT c.*, n.name FROM flakeid.convert_columns(root, root_att, way, target) c
                        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.rel AND a.attnum = c.att, flakeid.convert_name('null', c.col) AS n (name)
                 WHERE c.replaced AND a.attnotnull AND NOT flakeid.convert_defers(c.via, way) LOOP
            statement := format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%I IS NOT NULL) NOT VALID', x.rel::regclass, x.name, x.new_col);
            lock := 'ACCESS EXCLUSIVE';
            lasts := 'milliseconds';
            RETURN NEXT;
            statement := format('ALTER TABLE %s VALIDATE CONSTRAINT %I', x.rel::regclass, x.name);
            lock := 'SHARE UPDATE EXCLUSIVE';
            lasts := flakeid.convert_lasts(pg_table_size(x.rel));
            RETURN NEXT;
        END LOOP;
    END IF;
    step := step + 1;
    SELECT * INTO swap FROM flakeid.convert_swap(root, root_att, memory);
    RETURN QUERY SELECT convert_plan.step, s, 'ACCESS EXCLUSIVE', coalesce(swap.slow ->> s, 'milliseconds') FROM unnest(swap.statements) s;
    step := step + 1;
    FOR statement, lasts IN SELECT regexp_replace(s, '^(ALTER TABLE .*) ADD CONSTRAINT (".*?"|\S+) .* NOT VALID$', '\1 VALIDATE CONSTRAINT \2'),
                                   flakeid.convert_lasts(pg_table_size((regexp_match(s, '^ALTER TABLE (.*?) ADD CONSTRAINT'))[1]::regclass))
                            FROM unnest(swap.statements) s WHERE s LIKE 'ALTER TABLE % NOT VALID' LOOP
        lock := 'SHARE UPDATE EXCLUSIVE';
        RETURN NEXT;
    END LOOP;
    IF way = 'kept' AND created_at IS NOT NULL THEN
        step := step + 1;
        statement := '-- then new ids for old rows, in another column: ask again once this is done';
        lock := NULL;
        lasts := NULL;
        RETURN NEXT;
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.convert_plan(regclass, name, name, text, int4) IS
    'the statements of a conversion, each with its lock and how long that lasts about; those of one step are one transaction';

CREATE VIEW flakeid.conversions AS
    (SELECT DISTINCT ON (m.memory ->> 'table', m.memory ->> 'column')
           m.memory ->> 'table' AS table_name, m.memory ->> 'column' AS column_name,
           CASE WHEN m.memory ->> 'way' = 'back' THEN 'undo: ' ELSE '' END
           || CASE WHEN m.memory ? 'map' AND NOT m.memory ? 'mapped' THEN 'new ids are made'
                   WHEN NOT m.memory ? 'filled' THEN 'rows are filled' WHEN NOT m.memory ? 'checked' THEN 'rows are checked'
                   ELSE 'indexes are made' END AS step,
           m.memory ->> 'table_now' AS table_now,
           CASE WHEN pg_catalog.jsonb_typeof(m.memory -> 'block') = 'number' AND pg_catalog.jsonb_typeof(m.memory -> 'until') = 'number'
                THEN pg_catalog.round(100 * (m.memory -> 'block')::pg_catalog.numeric / greatest((m.memory -> 'until')::pg_catalog.numeric, 1)) END AS percent_of_it,
           m.memory -> 'rows' AS values_filled
    FROM pg_catalog.pg_trigger AS t
         JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) t.tgrelid AND pg_catalog.pg_has_role(c.relowner, 'USAGE'),
         LATERAL flakeid.convert_memory(pg_catalog.obj_description(t.tgfoid, 'pg_proc')) AS m (memory)
    WHERE t.tgname OPERATOR(pg_catalog.=) 'zzzz_flakeid_fill' AND t.tgparentid OPERATOR(pg_catalog.=) 0 AND m.memory IS NOT NULL
    ORDER BY m.memory ->> 'table', m.memory ->> 'column', t.tgrelid)
    UNION ALL
    SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), m.memory ->> 'column', 'done, the old column stands', NULL, NULL, NULL
    FROM pg_catalog.pg_attribute AS a
         JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) a.attrelid AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                                          AND pg_catalog.pg_has_role(c.relowner, 'USAGE')
         JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace,
         LATERAL flakeid.convert_memory(pg_catalog.col_description(c.oid, a.attnum)) AS m (memory)
    WHERE pg_catalog.starts_with(a.attname::pg_catalog.text, 'flakeid_old_') AND m.memory ? 'type';
COMMENT ON VIEW flakeid.conversions IS 'conversions of the caller''s tables that go on, or that can still go back to the old column';
COMMENT ON COLUMN flakeid.conversions.table_name IS 'the table whose key is converted';
COMMENT ON COLUMN flakeid.conversions.column_name IS 'its column';
COMMENT ON COLUMN flakeid.conversions.step IS 'what is done now';
COMMENT ON COLUMN flakeid.conversions.table_now IS 'the table, or partition, that is filled';
COMMENT ON COLUMN flakeid.conversions.percent_of_it IS 'how far in it';
COMMENT ON COLUMN flakeid.conversions.values_filled IS 'in all tables so far';
