-- -------------------------------------------------------------------------------------------------
-- Moving tables in: what a conversion is about
-- -------------------------------------------------------------------------------------------------
--
-- A conversion is a row of steps, each a function that runs in a transaction of its own, with the rights of the table's owner and nobody
-- else's. What is to be done next is read from the catalogs: so a conversion that was stopped goes on where it was.
--
-- The ways: 'kept' (old rows keep their numbers), 'made' (rows get other ids, from a map), and back: 'undo' (columns stay in their
-- places), 'back' (columns are replaced). Keys of eight bytes that keep their numbers are changed in place, with all that refers to them.
-- Others are replaced, with all that refers to them: a new column is filled beside each under triggers, and takes its name in one short lock.
--
--   flakeid_new_id    the column that will be id              flakeid_old_id    the column that was id, and will be again by an undo
--
-- Conversions of one call begin together: each has its columns, triggers and constraint in the tables that it shares with others, and whichever
-- fills a table fills the columns of all. Then each ends by itself, in the order of the list, so that an index is made for one at a time.
--
-- What the catalogs cannot tell, stands beside the table, in comments, which only its owner can write and pg_dump carries:
--   of the trigger functions, while a conversion goes on: how far it is
--   of trigger flakeid_was_id, which never fires: which ids were kept, and what an undo puts back. It calls a function of the server's.
--
-- A step computes its statements once it has its locks, for which it waits for a fifth of deadlock_timeout.

CREATE FUNCTION flakeid.convert_home() RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((SELECT quote_ident(n.nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'flakeid'), 'flakeid');
END
$$;
COMMENT ON FUNCTION flakeid.convert_home() IS 'internal: the schema of flake_next(), quoted';

CREATE FUNCTION flakeid.convert_type(asked text) RETURNS regtype
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    flake regtype := to_regtype(flakeid.convert_home() || '.flake');
BEGIN
    IF asked NOT IN ('bigint', 'flake', flake::text) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('a key can become a flake or a bigint, not "%s"', asked), HINT = 'Write type => ''bigint'', or nothing for a flake.';
    END IF;
    RETURN CASE WHEN asked = 'bigint' THEN 'bigint'::regtype ELSE coalesce(flake, 'bigint'::regtype) END;
END
$$;
COMMENT ON FUNCTION flakeid.convert_type(text) IS 'internal: the type of a converted column: flake, or bigint where that is asked for or there is no type flake';

-- What this extension writes into comments: its name, the number of the format, and JSON.
CREATE FUNCTION flakeid.convert_comment(memory jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT 'flakeid 1 ' || memory::text
$$;
COMMENT ON FUNCTION flakeid.convert_comment(jsonb) IS 'internal: a comment that holds a declaration, or what a conversion remembers';

-- An owner can write what he likes into his comments, so this fails on nothing that it reads. Of a later format it knows two things: that it
-- is one, and which node the ids of old rows have, which stays where it is.
CREATE FUNCTION flakeid.convert_memory(comment text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    parts text[] := regexp_match(comment, '^flakeid (\d{1,9}) (\{.*)$');
BEGIN
    RETURN CASE WHEN parts[1] = '1' THEN parts[2]::jsonb
                WHEN parts IS NOT NULL THEN jsonb_build_object('format', parts[1]::int4, 'node', parts[2]::jsonb -> 'node') END;
EXCEPTION WHEN OTHERS THEN
    RETURN CASE WHEN parts[1] <> '1' THEN jsonb_build_object('format', parts[1]::int4) END;
END
$$;
COMMENT ON FUNCTION flakeid.convert_memory(text) IS 'internal: what such a comment holds';

CREATE FUNCTION flakeid.convert_known(memory jsonb, what text, tab regclass) RETURNS jsonb
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF memory ? 'format' THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the %s of table %s is of format %s', what, tab, memory ->> 'format'),
            DETAIL = 'This version knows format 1.',
            HINT = 'Install the later version of flakeid that wrote it, and update its extensions.';
    END IF;
    RETURN memory;
END
$$;
COMMENT ON FUNCTION flakeid.convert_known(jsonb, text, regclass) IS 'internal: what a comment holds, and an error where it is of another format';

-- jsonb_strip_nulls() would reach into what a caller gave.
CREATE FUNCTION flakeid.convert_present(memory jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each(memory) AS e WHERE e.value <> 'null'
$$;
COMMENT ON FUNCTION flakeid.convert_present(jsonb) IS 'internal: a memory without what is null in it';

CREATE FUNCTION flakeid.convert_lasts(bytes int8) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN coalesce(bytes, 0) < 20000000 THEN 'milliseconds'
                ELSE format('about %s s', ceil(bytes / 1e8)) END
$$;
COMMENT ON FUNCTION flakeid.convert_lasts(int8) IS 'internal: how long a statement takes that reads so much, at 100 MB a second';

CREATE FUNCTION flakeid.convert_column(tab regclass, col name) RETURNS int2
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found int2[];
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = tab) THEN
        RAISE undefined_table USING MESSAGE = format('table %s does not exist', coalesce(tab::text, 'NULL'));
    ELSIF col IS NOT NULL THEN
        found := ARRAY(SELECT a.attnum FROM pg_attribute AS a WHERE a.attrelid = tab AND a.attname = col AND a.attnum > 0 AND NOT a.attisdropped);
        IF cardinality(found) = 0 THEN
            RAISE undefined_column USING MESSAGE = format('table %s has no column "%s"', tab, col);
        END IF;
    ELSE
        found := (SELECT i.indkey::int2[] FROM pg_index AS i WHERE i.indrelid = tab AND i.indisprimary AND i.indnkeyatts = 1);
        IF found IS NULL THEN
            RAISE ambiguous_column USING MESSAGE = format('cannot tell which column of table %s is the id', tab),
                DETAIL = 'It has no primary key of one column.',
                HINT = 'Name the column as the second argument.';
        END IF;
    END IF;
    PERFORM flakeid.convert_known(flakeid.convert_memory(c.comment), 'conversion', tab)
    FROM pg_trigger AS t, unnest(ARRAY[obj_description(t.oid, 'pg_trigger'), obj_description(t.tgfoid, 'pg_proc')]) AS c (comment)
    WHERE t.tgrelid = tab AND t.tgname ~ '^(zzzz_flakeid_(fill|move)|flakeid_was)_';
    RETURN found[array_lower(found, 1)];
END
$$;
COMMENT ON FUNCTION flakeid.convert_column(regclass, name) IS 'internal: the number of a column; without a name, of the primary key';

CREATE FUNCTION flakeid.convert_column_name(rel oid, att int2) RETURNS name
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = rel AND a.attnum = att);
END
$$;
COMMENT ON FUNCTION flakeid.convert_column_name(oid, int2) IS 'internal: the name of a column';

-- Names that would be cut off might be the same then.
CREATE FUNCTION flakeid.convert_name(prefix text, suffix name) RETURNS name
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN 'flakeid_' || prefix || '_' || CASE WHEN octet_length(suffix::text) > 45 THEN md5(suffix::text) ELSE suffix::text END;
END
$$;
COMMENT ON FUNCTION flakeid.convert_name(text, name) IS 'internal: the name of what stands beside something of that name';

CREATE FUNCTION flakeid.convert_was(root oid, root_att int2) RETURNS jsonb
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT flakeid.convert_known(flakeid.convert_memory(d.description), 'conversion', root)
            FROM pg_trigger AS t JOIN pg_description AS d ON d.classoid = 'pg_trigger'::regclass AND d.objoid = t.oid AND d.objsubid = 0
            WHERE t.tgrelid = root AND t.tgname = flakeid.convert_name('was', flakeid.convert_column_name(root, root_att)) AND NOT t.tgisinternal);
END
$$;
COMMENT ON FUNCTION flakeid.convert_was(oid, int2) IS 'internal: what a column was before it was converted, or NULL';

-- Kept ids are the lowest of a table, since a conversion is refused where new ones would not lie above them.
CREATE FUNCTION flakeid.convert_kept(rel oid, att int2) RETURNS int8
    LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT (flakeid.convert_was(rel, att) ->> 'kept')::int8
$$;
COMMENT ON FUNCTION flakeid.convert_kept(oid, int2) IS 'internal: the highest id that a conversion left as it was';

CREATE FUNCTION flakeid.first_real_id(tab regclass, col name DEFAULT NULL) RETURNS int8
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    att int2 := flakeid.convert_column(tab, col);
    kept int8 := flakeid.convert_kept(tab, att);
    first int8;
BEGIN
    EXECUTE format('SELECT min(%1$I)::int8 FROM %2$s WHERE %1$I > $1', flakeid.convert_column_name(tab, att), tab)
    INTO first USING coalesce(kept, -9223372036854775808);
    RETURN coalesce(first, kept + 1);
END
$$;
COMMENT ON FUNCTION flakeid.first_real_id(regclass, name) IS 'the lowest id of a converted table that carries a time; those below were kept';

CREATE FUNCTION flakeid.convert_default(rel oid, att int2) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef AS d WHERE d.adrelid = rel AND d.adnum = att);
END
$$;
COMMENT ON FUNCTION flakeid.convert_default(oid, int2) IS 'internal: the default of a column';

CREATE FUNCTION flakeid.convert_is_made(rel oid, att int2) RETURNS bool
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce(starts_with(flakeid.convert_default(rel, att), flakeid.convert_home() || '.flake_next('), false);
END
$$;
COMMENT ON FUNCTION flakeid.convert_is_made(oid, int2) IS 'internal: whether the default of a column is flake_next()';

CREATE FUNCTION flakeid.convert_sequence(rel oid, att int2) RETURNS oid
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT d.objid FROM pg_depend AS d JOIN pg_class AS s ON s.oid = d.objid AND s.relkind = 'S'
        WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
          AND d.refobjid = rel AND d.refobjsubid = att
        ORDER BY d.objid LIMIT 1);
END
$$;
COMMENT ON FUNCTION flakeid.convert_sequence(oid, int2) IS 'internal: the sequence that belongs to a column';

-- Such a column may hold ids that only look otherwise: each is cast to its new type, and back.
CREATE FUNCTION flakeid.convert_is_cast(typ regtype) RETURNS bool
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT typ IN ('text'::regtype, 'varchar'::regtype, 'numeric'::regtype)
$$;
COMMENT ON FUNCTION flakeid.convert_is_cast(regtype) IS 'internal: whether a type can hold ids as decimal numbers that no cast reads unasked';

CREATE FUNCTION flakeid.convert_value(col text, typ regtype, new_type text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN flakeid.convert_is_cast(typ) OR new_type ~ '^(text|character varying|numeric)' THEN format('%s::pg_catalog.text::%s', col, new_type) ELSE col END
$$;
COMMENT ON FUNCTION flakeid.convert_value(text, regtype, text) IS 'internal: an expression, as its new type';

CREATE FUNCTION flakeid.convert_highest(rel oid, col name) RETURNS int8
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    highest int8;
BEGIN
    EXECUTE format(CASE WHEN flakeid.convert_is_cast((SELECT x.atttypid FROM pg_attribute AS x WHERE x.attrelid = rel AND x.attname = col)) THEN 'SELECT max(%I::text::int8) FROM %s'
                        ELSE 'SELECT max(%I)::int8 FROM %s' END, col, rel::regclass) INTO highest;
    RETURN highest;
END
$$;
COMMENT ON FUNCTION flakeid.convert_highest(oid, name) IS 'internal: max(id)';

CREATE FUNCTION flakeid.convert_is_led_to(rel oid, att int2) RETURNS bool
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = rel AND i.indkey[0] = att AND i.indisvalid)
$$;
COMMENT ON FUNCTION flakeid.convert_is_led_to(oid, int2) IS 'internal: whether an index begins with a column';

-- One column of a conversion. The first one of an array is the key; the others hold its values, since they refer to it.
CREATE TYPE flakeid.convert_place AS (rel oid, att int2, col name, typ regtype, new_type text, replaced bool, retyped bool, depth int4, via oid, condition text, new_col name, old_col name);
COMMENT ON TYPE flakeid.convert_place IS 'internal: a column that is converted: its type, the one that it will have, and how; the foreign key, or the condition, by which it follows';

-- Columns that refer without a constraint, as the call names them: {"table.column": condition or null}.
CREATE FUNCTION flakeid.convert_also(root oid, also jsonb, undo bool, OUT rel oid, OUT col name, OUT condition text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    a record;
    names text[];
BEGIN
    IF jsonb_typeof(also) <> 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'columns that follow must be an object of JSON', HINT = 'Write {"table.column": null}, or {} where none follows.';
    END IF;
    FOR a IN SELECT e.key, e.value #>> '{}' AS condition FROM jsonb_each(also) AS e LOOP
        names := parse_ident(a.key);
        IF cardinality(names) = 2 THEN -- of the schema of the table
            names := (SELECT n.nspname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = root) || names;
        END IF;
        SELECT t.attrelid, t.attname, a.condition INTO rel, col, condition FROM pg_attribute AS t
        WHERE t.attrelid = to_regclass(format('%I.%I', names[1], names[2])) AND t.attname = names[3] AND t.attnum > 0 AND NOT t.attisdropped AND cardinality(names) = 3;
        CONTINUE WHEN rel IS NULL AND undo; -- it has another name now, or is gone
        IF rel IS NULL THEN
            RAISE undefined_column USING MESSAGE = format('column that follows, "%s", does not exist', a.key), HINT = 'Write table.column, or schema.table.column.';
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_also(oid, jsonb, bool) IS 'internal: columns that follow a key without a foreign key';

-- Where the name of one leads nowhere, it was renamed: numbers find it, in the database where they were written down.
CREATE FUNCTION flakeid.convert_followed(root oid, was jsonb, OUT rel oid, OUT col name, OUT was_col name, OUT type text, OUT condition text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT ON (a.attrelid, a.attnum) a.attrelid, a.attname, c."column", c.type, c.condition
        FROM jsonb_to_recordset(was -> 'columns') AS c ("table" text, "column" name, type text, condition text, oid oid, att int2)
             JOIN pg_attribute AS a ON NOT a.attisdropped
                  AND (a.attrelid = to_regclass(c."table") AND a.attname = c."column"
                       OR was #>> '{columns,0,oid}' = root::text AND a.attrelid = c.oid AND a.attnum = c.att
                          AND NOT EXISTS (SELECT FROM pg_attribute AS n WHERE n.attrelid = to_regclass(c."table") AND n.attname = c."column"))
        ORDER BY a.attrelid, a.attnum, a.attname <> c."column";
END
$$;
COMMENT ON FUNCTION flakeid.convert_followed(oid, jsonb) IS 'internal: the columns that followed in a conversion, by their names of now, and what they were';

-- Foreign keys are those of whole tables; one of a partition counts for the table that it is a part of.
CREATE FUNCTION flakeid.convert_places(root oid, root_att int2, memory jsonb) RETURNS flakeid.convert_place[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    way text := memory ->> 'way';
    target text := memory ->> 'type';
BEGIN
    RETURN ARRAY(
        WITH RECURSIVE w AS (
            SELECT * FROM flakeid.convert_followed(root, memory -> 'was')
        ), k AS (
            SELECT f.oid AS via, coalesce(pg_partition_root(f.confrelid), f.confrelid) AS parent, pa.attname AS parent_col,
                   coalesce(pg_partition_root(f.conrelid), f.conrelid) AS child, ca.attname AS child_col, NULL AS condition
            FROM pg_constraint AS f
                 CROSS JOIN LATERAL unnest(f.confkey, f.conkey) AS u (there, here)
                 JOIN pg_attribute AS pa ON pa.attrelid = f.confrelid AND pa.attnum = u.there
                 JOIN pg_attribute AS ca ON ca.attrelid = f.conrelid AND ca.attnum = u.here
            WHERE f.contype = 'f' AND f.conparentid = 0
            UNION ALL
            SELECT 0, root, flakeid.convert_column_name(root, root_att), a.rel, a.col, a.condition FROM flakeid.convert_also(root, coalesce(memory -> 'also', '{}'), memory ? 'was') AS a
            UNION ALL
            -- An undo takes back what followed, also where a foreign key has gone since.
            SELECT 0, root, flakeid.convert_column_name(root, root_att), c.rel, c.col, c.condition
            FROM w c
            WHERE EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.rel AND NOT a.attisdropped
                          AND CASE way WHEN 'back' THEN a.attname IN (flakeid.convert_name('old', c.was_col), flakeid.convert_name('new', c.col))
                                                             OR a.attname = c.col AND a.atttypid = to_regtype(memory ->> 'from')
                                       WHEN 'undo' THEN a.attname = c.col AND a.atttypid = flakeid.convert_type(NULL) END)
              AND NOT EXISTS (SELECT FROM flakeid.convert_also(root, coalesce(memory -> 'also', '{}'), true) AS a WHERE a.rel = c.rel AND a.col = c.col)
        ), g AS (
            SELECT root AS rel, flakeid.convert_column_name(root, root_att) AS col, 0 AS depth, 0::oid AS via, NULL AS condition
            UNION
            SELECT k.child, k.child_col, g.depth + 1, k.via, k.condition
            FROM g, k
            WHERE k.parent = g.rel AND k.parent_col = g.col AND g.depth < 64 AND NOT (k.child = root AND k.child_col = flakeid.convert_column_name(root, root_att))
        ), one AS (
            SELECT DISTINCT ON (g.rel, g.col) g.* FROM g ORDER BY g.rel, g.col, g.depth, g.via
        )
        SELECT ROW(one.rel, a.attnum, a.attname, a.atttypid::regtype, n.new_type, r.replaced,
                   NOT r.replaced AND format_type(a.atttypid, NULL) <> n.new_type AND (a.atttypid = 'int8'::regtype OR a.atttypid = flakeid.convert_type(NULL)),
                   one.depth, one.via, one.condition, flakeid.convert_name('new', a.attname), flakeid.convert_name('old', coalesce(w.was_col, a.attname)))::flakeid.convert_place
        FROM one JOIN pg_attribute AS a ON a.attrelid = one.rel AND a.attname = one.col
             CROSS JOIN LATERAL (SELECT way IN ('made', 'back') OR way = 'kept' AND (memory ->> 'from' IN ('smallint', 'integer') OR memory ? 'casts')) AS r (replaced)
             LEFT JOIN w USING (rel, col)
             LEFT JOIN pg_attribute AS o ON way = 'back' AND o.attrelid = one.rel AND o.attname = flakeid.convert_name('old', a.attname) -- as long as it stands, it tells
             CROSS JOIN LATERAL (SELECT coalesce(w.type, format_type(o.atttypid, o.atttypmod), target)) AS n (new_type)
        ORDER BY one.depth, one.rel, a.attnum);
END
$$;
COMMENT ON FUNCTION flakeid.convert_places(oid, int2, jsonb) IS 'internal: a key column and all columns that refer to it, directly or through others';

-- A column by its name in the whole tree of partitions; a table that is not partitioned is a tree of its own.
CREATE FUNCTION flakeid.convert_trees(places flakeid.convert_place[], OUT rel oid, OUT att int2, OUT leaf bool, OUT replaced bool, OUT whole oid, OUT new_col name) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT c.oid, c.attnum, c.leaf, p.replaced, p.rel, p.new_col
        FROM unnest(places) AS p
             CROSS JOIN LATERAL (SELECT p.rel AS oid UNION SELECT t.relid FROM pg_partition_tree(p.rel) AS t) AS t
             CROSS JOIN LATERAL (SELECT k.oid, a.attnum, k.relkind <> 'p' AS leaf FROM pg_class AS k JOIN pg_attribute AS a ON a.attrelid = k.oid WHERE k.oid = t.oid AND a.attname = p.col OFFSET 0) AS c;
END
$$;
COMMENT ON FUNCTION flakeid.convert_trees(flakeid.convert_place[]) IS 'internal: columns in their tables and all partitions';

CREATE FUNCTION flakeid.convert_changed(places flakeid.convert_place[]) RETURNS flakeid.convert_place[]
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT p::flakeid.convert_place FROM unnest(places) AS p WHERE p.replaced OR p.retyped);
END
$$;
COMMENT ON FUNCTION flakeid.convert_changed(flakeid.convert_place[]) IS 'internal: the columns whose type changes';

-- The triggers of a conversion that goes on, and what it remembers.
CREATE FUNCTION flakeid.convert_fills(root oid, root_att int2, OUT rel oid, OUT trigger name, OUT func oid, OUT enabled bool, OUT memory jsonb)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT t.tgrelid, t.tgname, t.tgfoid, t.tgenabled = 'A', m.memory
        FROM pg_class AS r
             JOIN pg_attribute AS a ON a.attrelid = r.oid AND a.attnum = root_att
             JOIN pg_class AS c ON c.relowner = r.relowner
             JOIN pg_trigger AS t ON t.tgrelid = c.oid AND t.tgname ~ '^zzzz_flakeid_(fill|move)_' AND t.tgparentid = 0
             JOIN pg_proc AS p ON p.oid = t.tgfoid AND p.proowner = r.relowner
             JOIN pg_description AS d ON d.classoid = 'pg_proc'::regclass AND d.objoid = p.oid AND d.objsubid = 0
             CROSS JOIN LATERAL flakeid.convert_memory(d.description) AS m (memory)
        WHERE r.oid = root AND m.memory ->> 'column' = a.attname
          AND (m.memory ->> 'table' = root::regclass::text
               OR m.memory ->> 'oid' = root::text AND to_regclass(m.memory ->> 'table') IS NULL)
        ORDER BY t.tgrelid <> root, t.tgrelid, t.tgname;
END
$$;
COMMENT ON FUNCTION flakeid.convert_fills(oid, int2) IS 'internal: the triggers of a conversion that goes on, and what it remembers';

-- Names that stand once in each table of a conversion: two of them never have a column in common.
CREATE FUNCTION flakeid.convert_marks(places flakeid.convert_place[], OUT rel oid, OUT att int2, OUT fill name, OUT move name, OUT filled name) RETURNS SETOF record
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT ON (p.rel) p.rel, p.att, ('zzzz_' || flakeid.convert_name('fill', p.col))::name, ('zzzz_' || flakeid.convert_name('move', p.col))::name, flakeid.convert_name('full', p.col)
        FROM unnest(places) AS p WHERE p.replaced ORDER BY p.rel, p.depth, p.att;
END
$$;
COMMENT ON FUNCTION flakeid.convert_marks(flakeid.convert_place[]) IS 'internal: the names of triggers and constraint in each table whose columns are replaced';

-- Conversions of the same call that go on, with their own columns in the same tables, and of the same owner.
CREATE FUNCTION flakeid.convert_fellows(root oid, list jsonb, OUT memory jsonb, OUT places flakeid.convert_place[]) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT f.memory, flakeid.convert_places(c.oid, i.indkey[0], f.memory)
        FROM jsonb_array_elements_text(list) AS l (name)
             JOIN pg_class AS c ON c.oid = to_regclass(l.name) AND c.oid <> root AND c.relowner = (SELECT r.relowner FROM pg_class AS r WHERE r.oid = root)
             JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
             CROSS JOIN LATERAL (SELECT x.memory FROM flakeid.convert_fills(c.oid, i.indkey[0]) AS x LIMIT 1) AS f
        WHERE f.memory -> 'list' = list;
END
$$;
COMMENT ON FUNCTION flakeid.convert_fellows(oid, jsonb) IS 'internal: other conversions of the same call that go on';

-- Columns and triggers of a conversion's names that are none of the same call's. A conversion that has begun has its columns in all its tables,
-- and its triggers only later.
CREATE FUNCTION flakeid.convert_foreign(root oid, rels oid[], memory jsonb, OUT rel oid, OUT kind text, OUT name name) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT x.* FROM (SELECT a.attrelid AS rel, 'column' AS kind, a.attname AS name FROM pg_attribute AS a WHERE a.attrelid = ANY (rels) AND NOT a.attisdropped
              UNION ALL SELECT t.tgrelid, 'trigger', t.tgname FROM pg_trigger AS t WHERE t.tgrelid = ANY (rels)) AS x
        WHERE (starts_with(x.name, 'flakeid_new_') OR starts_with(x.name, 'zzzz_flakeid_'))
          AND NOT EXISTS (SELECT FROM flakeid.convert_fellows(root, memory -> 'list') AS f, unnest(f.places) AS p, flakeid.convert_marks(f.places) AS k
                          WHERE x.kind = 'column' AND (p.rel, p.new_col) = (x.rel, x.name) OR x.kind = 'trigger' AND k.rel = x.rel AND x.name IN (k.fill, k.move));
END
$$;
COMMENT ON FUNCTION flakeid.convert_foreign(oid, oid[], jsonb) IS 'internal: what has names that a conversion needs';

-- Conversions that may not go on beside this one. Those of one call begin together, and take their places one after the other.
CREATE FUNCTION flakeid.convert_others(root oid, root_att int2, rels oid[], memory jsonb, started bool, OUT rel oid, OUT tab text, OUT col text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    list text[] := ARRAY(SELECT jsonb_array_elements_text(memory -> 'list'));
BEGIN
    RETURN QUERY
        SELECT DISTINCT t.tgrelid, m.memory ->> 'table', m.memory ->> 'column'
        FROM pg_trigger AS t LEFT JOIN pg_description AS d ON d.classoid = 'pg_proc'::regclass AND d.objoid = t.tgfoid AND d.objsubid = 0
             CROSS JOIN LATERAL flakeid.convert_memory(d.description) AS m (memory)
        WHERE starts_with(t.tgname, 'zzzz_flakeid_fill') AND t.tgrelid = ANY (rels) AND t.tgparentid = 0
          AND NOT EXISTS (SELECT FROM flakeid.convert_fills(root, root_att) AS f WHERE f.func = t.tgfoid)
          AND (m.memory -> 'list' = convert_others.memory -> 'list'
               AND (NOT started OR array_position(list, m.memory ->> 'table') > array_position(list, convert_others.memory ->> 'table'))) IS NOT TRUE;
END
$$;
COMMENT ON FUNCTION flakeid.convert_others(oid, int2, oid[], jsonb, bool) IS 'internal: conversions of the same tables that are to end first';
