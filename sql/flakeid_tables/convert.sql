-- -------------------------------------------------------------------------------------------------
-- Moving tables in: the procedures
-- -------------------------------------------------------------------------------------------------

-- A node of the layout that no table has for its old rows: not of this server, nor of the one that this database was dumped from.
CREATE FUNCTION flakeid.convert_node(root oid, wanted int4, take bool) RETURNS int4
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
    SELECT flakeid.old_row_node(root, wanted, ARRAY(
        SELECT (m.memory ->> 'node')::int4
        FROM pg_description AS d, flakeid.convert_memory(d.description) AS m (memory)
        WHERE d.classoid IN ('pg_trigger'::regclass, 'pg_proc'::regclass) AND d.objsubid = 0 AND m.memory ->> 'node' ~ '^\d{1,9}$'), take)
$$;
COMMENT ON FUNCTION flakeid.convert_node(oid, int4, bool) IS 'internal: a node for ids of old rows, which the table takes; null: none is left';

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
CREATE FUNCTION flakeid.convert_intent(root oid, root_att int2, created_at name, asked text, node int4, also jsonb, undo bool) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    a record;
    was jsonb := flakeid.convert_was(root, root_att);
    memory jsonb;
    way text;
    seq regclass := flakeid.convert_sequence(root, root_att);
BEGIN
    -- A sequence of the column's own goes with its table to other schemas, and is renamed.
    IF undo AND seq IS NOT NULL AND was ->> 'default' ~ '^nextval\(''([^'']|'''')+''::regclass\)$' AND was -> 'fresh' = was -> 'default' THEN
        was := was || jsonb_build_object('default', format('nextval(%L::regclass)', seq), 'fresh', format('nextval(%L::regclass)', seq));
    END IF;
    SELECT x.attname, x.atttypid::regtype AS typ, k.relname, k.relnamespace AS nsp INTO a
    FROM pg_attribute AS x JOIN pg_class AS k ON k.oid = x.attrelid WHERE x.attrelid = root AND x.attnum = root_att;
    way := CASE WHEN undo THEN CASE WHEN (was ->> 'replaced')::bool THEN 'back' ELSE 'undo' END
                WHEN a.typ = 'uuid'::regtype OR created_at IS NOT NULL THEN 'made' ELSE 'kept' END;
    memory := jsonb_build_object('table', root::regclass::text, 'oid', root::int8, 'column', a.attname, 'from', a.typ::text, 'way', way,
        'type', CASE way WHEN 'undo' THEN 'bigint' WHEN 'back' THEN was ->> 'from' ELSE flakeid.convert_type(asked)::text END,
        'also', coalesce(CASE WHEN undo THEN was -> 'also' END, also), 'created_at', created_at, 'wanted', node,
        -- What fits the old type stays, and so does what refers to no row.
        'was', CASE WHEN undo THEN was || CASE WHEN was ? 'kept' AND was ->> 'from' IN ('smallint', 'integer') THEN jsonb_build_object('kept', CASE was ->> 'from' WHEN 'smallint' THEN 32767 ELSE 2147483647 END) ELSE '{}' END END);
    IF flakeid.convert_is_cast(CASE WHEN undo THEN to_regtype(was ->> 'from') ELSE a.typ END) AND way <> 'made' THEN
        memory := memory || '{"casts": true}';
    ELSIF way IN ('made', 'back') THEN
        memory := memory || jsonb_build_object('finds', format('%s.%I', a.nsp::regnamespace, 'flakeid_find_' || root),
            'map', coalesce(CASE WHEN undo THEN was ->> 'map' END, format('%s.%I', a.nsp::regnamespace, flakeid.free_name(a.nsp, format('%s_%s', a.relname, a.attname), '_map'))),
            'fresh', CASE WHEN way = 'made' THEN flakeid.convert_home() || '.flake_next()'
                          WHEN was ? 'identity' THEN format('pg_catalog.nextval(%L)', format('%s.%I', a.nsp::regnamespace, flakeid.convert_name('new', 'seq')))
                          ELSE coalesce(was ->> 'fresh', CASE was ->> 'from' WHEN 'uuid' THEN 'pg_catalog.gen_random_uuid()' ELSE 'wanted' END) END,
            'sequence', CASE WHEN way = 'back' AND was ? 'identity' THEN format('%s.%I', a.nsp::regnamespace, flakeid.convert_name('new', 'seq')) END);
    END IF;
    RETURN flakeid.convert_present(memory);
END
$$;
COMMENT ON FUNCTION flakeid.convert_intent(oid, int2, name, text, int4, jsonb, bool) IS 'internal: which way a conversion goes, and what it must remember';

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

CREATE FUNCTION flakeid.convert_note(state jsonb, lock text DEFAULT NULL, locked timestamptz DEFAULT NULL) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_strip_nulls(state - 'tries' || jsonb_build_object('begun', true, 'lock', lock, 'locked', locked))
$$;
COMMENT ON FUNCTION flakeid.convert_note(jsonb, text, timestamptz) IS 'internal: the state of a call after a step, which held a lock of that kind since then';

CREATE FUNCTION flakeid.convert_finish(root oid, root_att int2, was jsonb) RETURNS bool
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    trigger name := flakeid.convert_name('was', flakeid.convert_column_name(root, root_att));
BEGIN
    IF (was ? 'validates' OR was ->> 'way' = 'undone') IS NOT TRUE THEN
        RETURN false;
    END IF;
    PERFORM flakeid.partition_lock(ARRAY[root::regclass], CASE WHEN was ? 'validates' THEN 'SHARE UPDATE EXCLUSIVE' ELSE 'ACCESS EXCLUSIVE' END);
    IF flakeid.convert_was(root, root_att) IS DISTINCT FROM was THEN
        RETURN true; -- another session has done it
    ELSIF was ? 'validates' THEN
        PERFORM flakeid.convert_run(ARRAY[was #>> '{validates,0}', format('COMMENT ON TRIGGER %I ON %s IS %L', trigger, root::regclass,
            flakeid.convert_comment(CASE WHEN jsonb_array_length(was -> 'validates') > 1 THEN was #- '{validates,0}' ELSE was - 'validates' END))]);
    ELSE
        EXECUTE format('DROP TRIGGER %I ON %s', trigger, root::regclass);
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION flakeid.convert_finish(oid, int2, jsonb) IS 'internal: does the next of what is left to do after the swap; false: nothing';

CREATE FUNCTION flakeid.convert_list(tables jsonb) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('list', jsonb_agg(t.oid::oid::regclass::text ORDER BY t.n)) FROM jsonb_array_elements_text(tables) WITH ORDINALITY AS t (oid, n)
$$;
COMMENT ON FUNCTION flakeid.convert_list(jsonb) IS 'internal: the tables of a call, by their names';

CREATE FUNCTION flakeid.convert_step(tab regclass, col name, created_at name, type text, node int4, also jsonb, undo bool, state jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on SET quote_all_identifiers = off SET default_tablespace = '' SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    root oid := tab;
    root_att int2;
    places flakeid.convert_place[];
    rels oid[];
    memory jsonb;
    was jsonb;
    way text;
    started bool;
    replaces bool;
    statements text[];
    texts jsonb;
    problems text;
    hint text;
    text text;
    locked timestamptz;
    held numeric;
    swap record;
    base int8;
BEGIN
    state := flakeid.convert_tell(tab, coalesce(state, '{}') - 'wait');
    IF state ? 'over' THEN
        RETURN NULL;
    END IF;
    root_att := flakeid.convert_column(tab, coalesce(col, (state ->> 'column')::name));
    state := state || jsonb_build_object('column', flakeid.convert_column_name(root, root_att));
    PERFORM flakeid.partition_lock('{}', NULL); -- no lock is waited for longer
    SELECT f.memory INTO memory FROM flakeid.convert_fills(root, root_att) AS f LIMIT 1;
    started := memory IS NOT NULL;
    was := flakeid.convert_was(root, root_att);
    IF started THEN
        IF NOT undo AND memory ->> 'way' = 'back' THEN
            PERFORM flakeid.convert_refuse(root, 'It is being undone.', format('CALL flakeid.convert_undo(%L);', root::regclass::text));
        END IF;
    ELSE
        IF NOT undo AND state ? 'begun' AND NOT flakeid.convert_is_made(root, root_att) THEN
            PERFORM flakeid.convert_refuse(root, 'Another session has undone it meanwhile.', NULL);
        END IF;
        IF undo AND was IS NULL AND NOT state ? 'swapped' THEN
            IF flakeid.convert_is_made(root, root_att) AND NOT state ? 'begun' THEN
                PERFORM flakeid.convert_refuse(root, 'Nothing tells what it was before.', (SELECT format('If it was renamed: ALTER TABLE %s RENAME COLUMN %I TO %I;', root::regclass, state ->> 'column', m.memory #>> '{columns,0,column}')
                    FROM pg_trigger AS t, flakeid.convert_memory(obj_description(t.oid, 'pg_trigger')) AS m (memory)
                    WHERE t.tgrelid = root AND t.tgname = flakeid.convert_name('was', (m.memory #>> '{columns,0,column}')::name)
                      AND NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = root AND a.attname = m.memory #>> '{columns,0,column}') LIMIT 1));
            END IF;
            RAISE NOTICE '%: is not converted', tab;
            RETURN NULL;
        END IF;
        memory := flakeid.convert_intent(root, root_att, created_at, type, node, also, undo);
        IF state ? 'list' THEN
            memory := memory || flakeid.convert_list(state -> 'list');
        END IF;
    END IF;
    way := memory ->> 'way';
    places := flakeid.convert_places(root, root_att, memory);
    SELECT array_agg(DISTINCT p.rel), bool_or(p.replaced) INTO rels, replaces FROM unnest(places) AS p;

    SELECT string_agg(s.problem, E'\n') INTO problems FROM flakeid.convert_strangers(root, places) AS s;
    IF problems IS NOT NULL THEN
        PERFORM flakeid.convert_refuse(root, problems, NULL);
    END IF;
    IF state ? 'tries' THEN
        PERFORM flakeid.partition_knock(flakeid.convert_all_of(rels));
        PERFORM flakeid.partition_lock('{}', NULL);
    END IF;

    BEGIN
        -- One session at a time takes a step.
        IF started THEN
            PERFORM flakeid.convert_take(root, root_att);
            SELECT f.memory INTO memory FROM flakeid.convert_fills(root, root_att) AS f LIMIT 1;
            IF memory IS NULL THEN
                RETURN state;
            END IF;
        END IF;

        -- A call that was killed after its swap has left something to do.
        IF NOT started AND state ->> 'until' IS DISTINCT FROM 'asked' AND flakeid.convert_finish(root, root_att, was) THEN
            RETURN CASE WHEN undo = (was ->> 'way' = 'undone') THEN flakeid.convert_note(state) || '{"swapped": true}' ELSE state END;
        END IF;
        IF NOT started AND NOT undo AND flakeid.convert_is_made(root, root_att) AND created_at IS NOT NULL AND was ->> 'way' IS DISTINCT FROM 'made' THEN
            PERFORM flakeid.convert_refuse(root, 'Its ids come from flake_next() already. Old rows get ids of their own time in the call that converts the table, or never.',
                CASE WHEN was IS NOT NULL THEN format('CALL flakeid.convert_undo(%L);', root::regclass::text) END);
        END IF;
        -- Everything is in its place.
        IF NOT started AND NOT undo AND flakeid.convert_is_made(root, root_att) AND (was ->> 'way' = 'made' OR flakeid.convert_changed(places) = '{}') THEN
            state := state || '{"swapped": true}';
        END IF;

        BEGIN
            IF NOT state ?| '{swapped, indexes}' AND (NOT started OR memory ? 'analyzed' AND NOT state ? 'until' OR undo AND way <> 'back') THEN
                SELECT string_agg(x.problem, E'\n'), (array_agg(x.hint) FILTER (WHERE x.hint IS NOT NULL))[1] INTO problems, hint FROM (
                    SELECT b.* FROM flakeid.convert_broken(root, root_att, places, memory) AS b WHERE started AND NOT (undo AND way <> 'back')
                    UNION ALL
                    -- Much may have been made since the conversion began.
                    SELECT p.* FROM flakeid.convert_problems(root, root_att, places, memory, started) AS p WHERE NOT (started AND undo AND way <> 'back')) AS x;
                -- What is asked under the lock of the swap has its plans before it.
                IF problems IS NULL AND (started OR NOT replaces) AND NOT EXISTS (SELECT FROM flakeid.convert_indexes(places) AS i WHERE i.leaf AND i.ready IS NOT TRUE) THEN
                    PERFORM flakeid.convert_swap(root, root_att, places, memory), flakeid.convert_remains(root, root_att, places, memory), flakeid.convert_texts(places);
                END IF;
            ELSIF started THEN
                SELECT string_agg(b.problem, E'\n'), (array_agg(b.hint))[1] INTO problems, hint FROM flakeid.convert_broken(root, root_att, places, memory) AS b;
            END IF;
            RAISE EXCEPTION USING ERRCODE = 'FL000'; -- gives back the locks on what was read: nothing is held while this waits
        EXCEPTION WHEN SQLSTATE 'FL000' THEN NULL;
        END;
        IF problems IS NOT NULL THEN
            IF NOT started AND EXISTS (SELECT FROM flakeid.convert_fills(root, root_att)) THEN
                RETURN state; -- another session has begun meanwhile
            END IF;
            PERFORM flakeid.convert_refuse(root, problems, hint);
        END IF;

        -- A call for several tables asks all of them first, and brings all so far that one fill does for them.
        IF state ->> 'until' = 'asked' OR state ? 'until' AND (started AND memory ? 'armed' OR NOT replaces OR state ? 'swapped') THEN
            RETURN state - 'until';
        END IF;

        -- Back, before anything has changed places
        IF undo AND started AND way <> 'back' THEN
            rels := ARRAY(SELECT unnest(rels) UNION SELECT f.rel FROM flakeid.convert_fills(root, root_att) AS f ORDER BY 1);
            locked := flakeid.partition_lock(flakeid.convert_all_of(rels), 'ACCESS EXCLUSIVE');
            statements := flakeid.convert_drop(root, root_att, places, memory);
            PERFORM flakeid.convert_run(statements[2:]);
            RETURN state || jsonb_build_object('over', true, 'did', 'the new columns are gone', 'lock', 'longest', 'locked', locked);
        END IF;

        IF NOT started AND NOT undo AND NOT state ?| '{swapped, advised}' THEN
            FOR text IN SELECT * FROM flakeid.convert_advice(root, root_att, places, memory) LOOP
                RAISE NOTICE '%', text;
            END LOOP;
            state := state || '{"advised": true}';
        END IF;

        -- New columns
        IF replaces AND NOT state ? 'swapped' THEN
            IF NOT started THEN
                IF way = 'made' AND created_at IS NOT NULL THEN
                    node := flakeid.convert_node(root, node, true);
                    IF node IS NULL THEN
                        RETURN state; -- another conversion took it meanwhile
                    END IF;
                    EXECUTE format('SELECT %1$s.flake_make(now(), $1, 0) - %1$s.flake_floor(now())', flakeid.convert_home()) INTO base USING node;
                    memory := memory || jsonb_build_object('node', node, 'node_base', base);
                    RAISE NOTICE 'Old rows get ids of node %. No other server may have had it.', node;
                ELSIF NOT memory ? 'map' THEN
                    memory := memory || '{"mapped": true, "armed": true}';
                END IF;
                locked := flakeid.partition_lock(flakeid.convert_all_of(rels), 'ACCESS EXCLUSIVE');
                -- Another session may have begun this conversion meanwhile, or another one with one of the tables.
                IF EXISTS (SELECT FROM flakeid.convert_others(root, root_att, rels, memory, false))
                   OR EXISTS (SELECT FROM flakeid.convert_foreign(root, ARRAY(SELECT p.rel FROM unnest(places) AS p WHERE p.replaced), memory))
                   OR places IS DISTINCT FROM flakeid.convert_places(root, root_att, memory) THEN
                    PERFORM flakeid.release_old_row_node(root, node);
                    RETURN state;
                END IF;
                statements := flakeid.convert_begin(root, root_att, places, memory);
                PERFORM flakeid.convert_run(statements[2:]);
                RETURN flakeid.convert_note(state, 'longest', locked) || '{"did": "new columns and their triggers are there"}';
            END IF;
            IF NOT memory ? 'mapped' THEN
                PERFORM flakeid.convert_map(root, places[1], memory);
                PERFORM flakeid.convert_remember(root, root_att, memory || '{"mapped": true}');
                RETURN flakeid.convert_note(state);
            END IF;
            IF NOT memory ? 'armed' THEN
                locked := flakeid.partition_lock(flakeid.convert_all_of(rels), 'ACCESS EXCLUSIVE');
                IF places IS DISTINCT FROM flakeid.convert_places(root, root_att, memory) THEN
                    RETURN state;
                END IF;
                PERFORM flakeid.convert_run(flakeid.convert_arm(root, places, memory));
                PERFORM flakeid.convert_remember(root, root_att, memory || '{"armed": true}');
                RETURN flakeid.convert_note(state, 'longest', locked) || '{"did": "every write fills the new columns"}';
            END IF;
            IF NOT memory ? 'filled' THEN
                memory := flakeid.convert_fill(root, places, memory);
                PERFORM flakeid.convert_remember(root, root_att, memory);
                IF memory ? 'filled' THEN
                    RAISE NOTICE '%: % rows are filled', tab, memory ->> 'rows';
                END IF;
                RETURN flakeid.convert_note(state);
            END IF;
            SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', k.conrelid::regclass, k.conname) INTO text
            FROM flakeid.convert_marks(places) AS m JOIN pg_constraint AS k ON k.conrelid = m.rel AND k.conname = m.filled AND k.contype = 'c' AND NOT k.convalidated ORDER BY k.conrelid LIMIT 1;
            IF text IS NOT NULL THEN
                EXECUTE text;
                RETURN flakeid.convert_note(state);
            END IF;
            IF NOT memory ? 'analyzed' THEN
                FOR text IN SELECT format('ANALYZE %s', p.rel::regclass) FROM unnest(places) AS p WHERE p.replaced GROUP BY p.rel LOOP
                    EXECUTE text;
                END LOOP;
                PERFORM flakeid.convert_remember(root, root_att, memory || '{"analyzed": true}');
                RETURN flakeid.convert_note(state);
            END IF;
            IF NOT state ? 'indexes' THEN
                SELECT i.statements, i.texts, i.held INTO statements, texts, held
                FROM flakeid.convert_index_statements(places, CASE WHEN way = 'back' THEN flakeid.convert_fitting(places, memory #> '{was,originals}') ELSE '{}' END) AS i;
                IF cardinality(statements) > 0 THEN
                    PERFORM flakeid.convert_remember(root, root_att, memory || jsonb_build_object('texts', coalesce(memory -> 'texts', '{}') || texts));
                    IF EXISTS (SELECT FROM flakeid.convert_trees(places) AS t WHERE t.replaced AND t.leaf AND pg_table_size(t.rel) > 500000000) THEN
                        RAISE NOTICE '%: run these statements, which lock nobody out, then call flakeid.convert% again:%', tab, CASE WHEN undo THEN '_undo' END,
                            (SELECT string_agg(E'\n' || regexp_replace(s, '^(CREATE (UNIQUE )?INDEX|DROP INDEX) ', '\1 CONCURRENTLY ') || ';', '') FROM unnest(statements) AS s);
                        RETURN '{"stopped": true}';
                    END IF;
                    RETURN flakeid.convert_note(state) || jsonb_build_object('indexes', statements, 'lock', 'longest', 'held', held);
                END IF;
            ELSE
                locked := clock_timestamp();
                EXECUTE state #>> '{indexes,0}';
                RETURN flakeid.convert_note(CASE WHEN jsonb_array_length(state -> 'indexes') > 1 THEN state #- '{indexes,0}' ELSE state - 'indexes' END, 'writers', locked)
                    || jsonb_build_object('did', state #>> '{indexes,0}');
            END IF;
        END IF;

        -- The swap
        IF NOT state ? 'swapped' THEN
            locked := flakeid.partition_lock(flakeid.convert_all_of(rels), 'ACCESS EXCLUSIVE');
            IF started <> EXISTS (SELECT FROM flakeid.convert_fills(root, root_att)) OR was IS DISTINCT FROM flakeid.convert_was(root, root_att)
               OR places IS DISTINCT FROM flakeid.convert_places(root, root_att, memory)
               OR EXISTS (SELECT FROM flakeid.convert_indexes(places) AS i WHERE i.leaf AND i.ready IS NOT TRUE) THEN
                RETURN state;
            END IF;
            IF NOT undo THEN
                was := flakeid.convert_remains(root, root_att, places, memory);
                texts := coalesce((SELECT jsonb_object_agg(i.key, i.made) FROM flakeid.convert_items(places) AS i), '{}') || coalesce(memory -> 'texts', '{}');
            END IF;
            swap := flakeid.convert_swap(root, root_att, places, memory);
            PERFORM flakeid.convert_run(swap.statements[2:]);
            IF undo THEN
                was := '{"way": "undone"}';
            ELSE
                -- The key has its name and place again, but maybe another number.
                places := flakeid.convert_places(root, flakeid.convert_column(tab, (state ->> 'column')::name), memory);
                was := was || jsonb_build_object('originals', coalesce(was -> 'originals', '{}') || coalesce((
                    SELECT jsonb_object_agg(x.key, jsonb_build_object('made', texts -> x.key, 'hash', md5(x.made)))
                    FROM flakeid.convert_texts(places) AS x WHERE texts ? x.key AND texts ->> x.key <> x.made), '{}'));
            END IF;
            IF NOT undo OR cardinality(swap.validates) > 0 THEN
                EXECUTE format('COMMENT ON TRIGGER %I ON %s IS %L', flakeid.convert_name('was', (state ->> 'column')::name), tab,
                    flakeid.convert_comment(was || CASE WHEN cardinality(swap.validates) > 0 THEN jsonb_build_object('validates', swap.validates) ELSE '{}' END));
            END IF;
            RETURN flakeid.convert_note(state, 'longest', locked) || jsonb_build_object('did', format('column %I is changed', state ->> 'column'), 'swapped', true);
        END IF;
    EXCEPTION WHEN lock_not_available OR deadlock_detected OR undefined_function OR duplicate_table THEN
        IF SQLSTATE = '42P07' THEN
            IF NOT state ? 'indexes' THEN
                RAISE;
            END IF;
            state := state - 'indexes'; -- another session makes the same ones
        END IF;
        IF SQLSTATE = '42883' AND NOT (started AND SQLERRM ~ 'flakeid_(fill|find)_\d+(_\d+)?\(') THEN
            RAISE; -- none of those that end with another session's swap
        END IF;
        IF coalesce((state ->> 'tries')::int4, 0) >= 120 THEN
            RAISE lock_not_available USING MESSAGE = format('could not lock table %s and what refers to it', tab), DETAIL = SQLERRM,
                HINT = format('Call flakeid.convert%s again: it goes on where it was.', CASE WHEN undo THEN '_undo' END);
        END IF;
        RETURN state || jsonb_build_object('tries', coalesce((state ->> 'tries')::int4, 0) + 1, 'wait', 0.5 + random());
    END;
    RAISE NOTICE '%: done; the longest lock lasted % ms%', tab, coalesce(state ->> 'longest', '0'), coalesce(', and writers waited up to ' || (state ->> 'writers') || ' ms', '');
    FOR text IN SELECT format('ALTER TABLE %s DROP COLUMN %I;', p.rel::regclass, p.old_col)
                FROM unnest(places) AS p JOIN pg_attribute AS a ON a.attrelid = p.rel AND a.attname = p.old_col WHERE NOT undo LOOP
        RAISE NOTICE 'Once you will not go back: %', text;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION flakeid.convert_step(regclass, name, name, text, int4, jsonb, bool, jsonb) IS
    'internal: the next step of a conversion; returns what the one after it must know, or NULL after the last';

-- What stands in the place of the originals after a swap.
CREATE FUNCTION flakeid.convert_texts(places flakeid.convert_place[], OUT key text, OUT made text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
        WITH p AS (SELECT ARRAY(SELECT ROW(x.rel, x.att, x.col, x.typ, x.new_type, false, true, x.depth, x.via, x.condition, x.new_col, x.old_col)::flakeid.convert_place FROM unnest(places) AS x) AS now)
        SELECT i.key, i.made FROM p, flakeid.convert_items(p.now) AS i
        UNION
        SELECT 'index ' || (pg_identify_object('pg_class'::regclass, x.idx, 0)).identity, flakeid.convert_index_text(x.idx)
        FROM flakeid.convert_indexes(ARRAY(SELECT ROW(y.rel, y.att, y.col, y.typ, y.new_type, true, false, y.depth, y.via, y.condition, y.new_col, y.old_col)::flakeid.convert_place FROM unnest(places) AS y)) AS x
        WHERE x.leaf;
END
$$;
COMMENT ON FUNCTION flakeid.convert_texts(flakeid.convert_place[]) IS 'internal: definitions of all that stands round columns';

-- A first COMMIT tells at once who calls it inside a transaction. A step must see what others committed while it waited for a lock.
CREATE PROCEDURE flakeid.convert_steps(tab regclass, col pg_catalog.name, created_at pg_catalog.name, type pg_catalog.text, node pg_catalog.int4, also pg_catalog.jsonb, undo bool,
                                       INOUT state pg_catalog.jsonb)
    LANGUAGE plpgsql AS $$
DECLARE
    whole pg_catalog.bool := NOT pg_catalog.jsonb_exists(state, 'until');
BEGIN
    PERFORM flakeid.convert_column(tab, col); -- as_owner() does nothing for no table
    LOOP
        COMMIT;
        EXIT WHEN state IS NULL OR pg_catalog.jsonb_exists(state, 'stopped') OR NOT (whole OR pg_catalog.jsonb_exists(state, 'until'));
        PERFORM pg_catalog.pg_sleep(pg_catalog.jsonb_extract_path_text(state, 'wait')::pg_catalog.float8);
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        state := flakeid.as_owner(tab, pg_catalog.format('SELECT flakeid.convert_step(%L, %L, %L, %L, %L, %L, %L, %L)', tab::pg_catalog.oid, col, created_at, type, node, also, undo, state));
    END LOOP;
END
$$;
COMMENT ON PROCEDURE flakeid.convert_steps(regclass, name, name, text, int4, jsonb, bool, jsonb) IS 'internal: a conversion, or its undo, from where it is to its end, or until what the state says';

CREATE PROCEDURE flakeid.convert(tab regclass, col pg_catalog.name DEFAULT NULL, created_at pg_catalog.name DEFAULT NULL,
                                 type pg_catalog.text DEFAULT NULL, node pg_catalog.int4 DEFAULT NULL, also pg_catalog.jsonb DEFAULT NULL)
    LANGUAGE plpgsql AS $$
DECLARE
    state pg_catalog.jsonb := '{}';
BEGIN
    CALL flakeid.convert_steps(tab, col, created_at, type, node, also, false, state);
END
$$;
COMMENT ON PROCEDURE flakeid.convert(regclass, name, name, text, int4, jsonb) IS
    'moves a key column to flake_next(), with all columns that refer to it; call it again where it was stopped';

CREATE PROCEDURE flakeid.convert_all(tables regclass[], created_at pg_catalog.name DEFAULT NULL, type pg_catalog.text DEFAULT NULL)
    LANGUAGE plpgsql AS $$
DECLARE
    list pg_catalog.oid[] := ARRAY(SELECT DISTINCT t::pg_catalog.oid FROM pg_catalog.unnest(tables) AS t ORDER BY 1);
    until pg_catalog.text;
    states pg_catalog.jsonb[] := '{}';
    state pg_catalog.jsonb;
BEGIN
    FOREACH until IN ARRAY ARRAY['asked', 'armed', NULL] LOOP
        FOR i IN 1 .. pg_catalog.cardinality(list) LOOP
            state := pg_catalog.jsonb_concat(coalesce(states[i], '{}'), pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('list', list, 'until', until)));
            CALL flakeid.convert_steps(list[i], NULL, created_at, type, NULL, NULL, false, state);
            IF pg_catalog.jsonb_exists(state, 'stopped') THEN
                RETURN;
            END IF;
            states[i] := state;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON PROCEDURE flakeid.convert_all(regclass[], name, text) IS
    'convert() for several tables: none changes where one is refused, and each row is written once';

CREATE PROCEDURE flakeid.convert_undo_all(tables regclass[])
    LANGUAGE plpgsql AS $$
DECLARE
    tab pg_catalog.regclass;
    state pg_catalog.jsonb;
BEGIN
    FOREACH tab IN ARRAY ARRAY(SELECT DISTINCT t::pg_catalog.oid FROM pg_catalog.unnest(tables) AS t ORDER BY 1 DESC) LOOP
        state := '{}';
        CALL flakeid.convert_steps(tab, NULL, NULL, NULL, NULL, NULL, true, state);
        IF pg_catalog.jsonb_exists(state, 'stopped') THEN
            RETURN;
        END IF;
    END LOOP;
END
$$;
COMMENT ON PROCEDURE flakeid.convert_undo_all(regclass[]) IS 'convert_undo() for several tables, in the other order';

CREATE PROCEDURE flakeid.convert_undo(tab regclass, col pg_catalog.name DEFAULT NULL)
    LANGUAGE plpgsql AS $$
DECLARE
    state pg_catalog.jsonb := '{}';
BEGIN
    CALL flakeid.convert_steps(tab, col, NULL, NULL, NULL, NULL, true, state);
END
$$;
COMMENT ON PROCEDURE flakeid.convert_undo(regclass, name) IS
    'takes a conversion back: types, defaults and definitions become what they were';

-- -- What is planned, and what goes on --------------------------------------------------------------

CREATE FUNCTION flakeid.convert_advice(root oid, root_att int2, places flakeid.convert_place[], memory jsonb) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    rows int8;
    bytes int8;
    key flakeid.convert_place := places[1];
    types text := CASE WHEN key.typ IN ('int2'::regtype, 'int4'::regtype) THEN 'smallint|int2|integer|int|int4|serial' WHEN key.typ = 'int8'::regtype THEN 'bigint|int8|integer|int|int4' ELSE key.typ::text END;
    tab name := (SELECT c.relname FROM pg_class AS c WHERE c.oid = root);
    -- The name, its last word, and one of each, however its plural is made
    called text := (SELECT string_agg(DISTINCT x, '|') FROM regexp_replace(lower(tab COLLATE "C"), '\W', '.', 'g') AS n,
                           LATERAL unnest(ARRAY[n, regexp_replace(n, '^.*_', '')]) AS w, LATERAL unnest(ARRAY[w, regexp_replace(w, 's$', ''), regexp_replace(w, 'es$', ''), regexp_replace(w, 'ies$', 'y')]) AS x);
    nsp oid := (SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = root);
    me oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = root);
    renumbers bool := memory ? 'map';
    changes bool := flakeid.convert_changed(places) <> '{}';
    names text;
BEGIN
    SELECT string_agg(DISTINCT format('%s.%I', p.rel::regclass, p.col), ', ') INTO names FROM unnest(places) AS p WHERE p.depth > 0;
    RETURN NEXT format('Follow: %s.', coalesce(names, 'no column refers to it by a foreign key'));
    SELECT string_agg(format('%s.%I', a.attrelid::regclass, a.attname), ', ' ORDER BY a.attrelid::regclass::text COLLATE "C", a.attnum) INTO names
    FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = nsp
    WHERE a.attnum > 0 AND NOT a.attisdropped AND NOT EXISTS (SELECT FROM unnest(places) AS p WHERE p.rel = a.attrelid AND p.att = a.attnum)
      AND NOT EXISTS (SELECT FROM pg_constraint AS f WHERE f.contype = 'f' AND f.conrelid = a.attrelid AND a.attnum = ANY (f.conkey))
      AND (a.atttypid = key.typ OR a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype, 'text'::regtype, 'varchar'::regtype)
           OR a.atttypid IN (SELECT t.oid FROM pg_type AS t WHERE t.typelem = key.typ AND t.typcategory = 'A'))
      AND (lower(a.attname) ~ format('^(.*_)?(%s)_?(%s|id|ids|nr|no|key)s?$', called, regexp_replace(lower(key.col), '\W', '.', 'g'))
           OR lower(a.attname) LIKE '%\_id' AND EXISTS (SELECT FROM pg_attribute AS b WHERE b.attrelid = a.attrelid AND NOT b.attisdropped AND lower(b.attname) = regexp_replace(lower(a.attname), '_id$', '_type')));
    IF names IS NOT NULL THEN
        RETURN NEXT format('May refer to it without a foreign key, and %s: %s.', CASE WHEN renumbers THEN 'do not follow unless you name them (also => ...)'
                           WHEN key.replaced THEN 'follow neither to eight bytes nor in an undo unless you name them (also => ...)'
                           ELSE 'are too small for new ids where they have fewer than eight bytes' END, names);
    END IF;
    IF changes THEN
        SELECT string_agg(format('%s (%s)', t.tgname, t.tgrelid::regclass), ', ' ORDER BY t.tgrelid, t.tgname) INTO names
        FROM pg_trigger AS t JOIN pg_proc AS f ON f.oid = t.tgfoid
        WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND NOT starts_with(t.tgname, 'zzzz_flakeid_') AND t.tgrelid IN (SELECT p.rel FROM unnest(places) AS p) AND f.prolang <> 12 AND f.prosrc ~* '\m(new|old)\M';
        IF names IS NOT NULL THEN
            RETURN NEXT format('Triggers that read rows; where one puts the id into %s, INSERT fails afterwards: %s.', CASE key.typ WHEN 'uuid'::regtype THEN 'a uuid' ELSE 'an integer' END, names);
        END IF;
        SELECT string_agg(f.oid::regprocedure::text, ', ' ORDER BY f.oid::regprocedure::text COLLATE "C") INTO names
        FROM pg_proc AS f JOIN pg_language AS l ON l.oid = f.prolang AND l.lanname NOT IN ('internal', 'c')
        WHERE f.pronamespace NOT IN (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname IN ('pg_catalog', 'information_schema', 'flakeid'))
          AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid AND d.deptype = 'e')
          AND (f.prosrc ~* format('(^|\W)%s(\W|$)', regexp_replace(tab, '\W', '.{1,2}', 'g')) OR EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgfoid = f.oid AND t.tgrelid = root)
               OR f.pronamespace = nsp AND f.pronargs > 0)
          AND (f.prosrc ~* format('\m(%s)\M', types) OR pg_get_function_arguments(f.oid) ~* format('\m(%s)\M', types) OR pg_get_function_result(f.oid) ~* format('\m(%s)\M', types));
        IF names IS NOT NULL THEN
            RETURN NEXT format('Functions with %s among their arguments, results or variables, which the key may reach: %s.', key.typ, names);
        END IF;
        SELECT string_agg(DISTINCT v.view::regclass::text, ', ') INTO names
        FROM flakeid.convert_trees(flakeid.convert_changed(places)) AS t, flakeid.convert_views(ARRAY[t.rel], ARRAY[t.att]) AS v;
        IF names IS NOT NULL THEN
            RETURN NEXT format('Views that are made again, with columns of the new type: %s.', names);
        END IF;
        IF memory ->> 'type' <> 'bigint' THEN
            RETURN NEXT 'JSON prints a flake as a string. type => ''bigint'' is what changes least.';
        END IF;
    END IF;
    SELECT string_agg(DISTINCT x.pubname, ', ') INTO names FROM pg_publication_tables AS x JOIN pg_namespace AS n ON n.nspname = x.schemaname JOIN pg_class AS c ON c.relname = x.tablename AND c.relnamespace = n.oid
    WHERE c.oid IN (SELECT p.rel FROM unnest(places) AS p);
    IF names IS NOT NULL THEN
        RETURN NEXT format('Publications of the tables, whose subscribers must change the type too: %s.', names);
    END IF;
    SELECT count(*) INTO rows FROM pg_stat_activity AS s WHERE s.datname = current_database() AND s.pid <> pg_backend_pid() AND s.backend_type = 'client backend';
    IF rows > 0 AND changes THEN
        RETURN NEXT format('Other sessions are open (%s): their prepared statements fail until they are prepared anew, and their triggers until they connect again.', rows);
    END IF;
    IF flakeid.convert_source(root, root_att) IS NOT NULL THEN
        RETURN NEXT 'lastval() and currval() know no new id: use RETURNING.';
    END IF;
    SELECT sum(greatest(k.reltuples, 0))::int8, sum(pg_table_size(k.oid) + pg_indexes_size(k.oid))::int8 INTO rows, bytes
    FROM (SELECT DISTINCT t.rel FROM flakeid.convert_trees(places) AS t WHERE t.replaced AND t.leaf) AS t JOIN pg_class AS k ON k.oid = t.rel;
    IF bytes IS NOT NULL THEN
        RETURN NEXT format('Every row is written once more: have %s of disk free, and as much for the WAL. The new columns stand at the end of their tables.', pg_size_pretty(bytes + rows * 16));
    END IF;
    RETURN QUERY
        SELECT format('No index begins with column %I of table %s, so %s: CREATE INDEX CONCURRENTLY ON %s (%I);', p.col, p.rel::regclass,
            CASE p.depth WHEN 0 THEN 'the lock of the change lasts as long as reading the table' ELSE 'each DELETE of what it refers to reads the whole table' END, p.rel::regclass, p.col)
        FROM unnest(places) AS p WHERE NOT flakeid.convert_is_led_to(p.rel, p.att);
    IF memory ->> 'way' = 'kept' AND NOT memory ? 'casts' THEN
        RETURN NEXT 'Old rows keep their ids. Numbers carry no time: AND id >= (SELECT flakeid.first_real_id(...)) leaves them out of id <@ tstzrange(...).';
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.convert_advice(oid, int2, flakeid.convert_place[], jsonb) IS 'internal: what somebody should know before a conversion';

CREATE FUNCTION flakeid.convert_plan_of(tab regclass, col name, created_at name, type text, also jsonb, list jsonb)
    RETURNS TABLE (step int4, statement text, lock text, lasts text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on SET quote_all_identifiers = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    root oid := tab;
    root_att int2 := flakeid.convert_column(tab, col);
    memory jsonb := flakeid.convert_intent(root, root_att, created_at, type, NULL, also, false) || CASE WHEN list IS NULL THEN '{}' ELSE flakeid.convert_list(list) END;
    places flakeid.convert_place[] := flakeid.convert_places(root, root_att, memory);
    swap record;
    x record;
BEGIN
    step := 0;
    FOR statement IN SELECT '-- refused: ' || p.problem || coalesce(' ' || p.hint, '') FROM flakeid.convert_problems(root, root_att, places, memory, false) AS p LOOP
        RETURN NEXT;
    END LOOP;
    IF NOT EXISTS (SELECT FROM flakeid.convert_strangers(root, places)) THEN
        FOR statement IN SELECT '-- ' || a FROM flakeid.convert_advice(root, root_att, places, memory) AS a LOOP
            RETURN NEXT;
        END LOOP;
    END IF;
    IF EXISTS (SELECT FROM unnest(places) AS p WHERE p.replaced) THEN
        step := step + 1;
        RETURN QUERY SELECT convert_plan_of.step, b, 'ACCESS EXCLUSIVE', 'milliseconds' FROM unnest(flakeid.convert_begin(root, root_att, places, memory)) AS b;
        IF memory ? 'map' THEN
            step := step + 1;
            statement := format('INSERT INTO %s SELECT ... FROM %s', memory ->> 'map', tab);
            lock := 'ACCESS SHARE';
            lasts := flakeid.convert_lasts(pg_table_size(tab) * 4);
            RETURN NEXT;
            step := step + 1;
            RETURN QUERY SELECT convert_plan_of.step, b, 'ACCESS EXCLUSIVE', 'milliseconds' FROM unnest(flakeid.convert_arm(root, places, memory)) AS b;
        END IF;
        step := step + 1;
        FOR x IN SELECT t.rel, string_agg(format('%I = ...', t.new_col), ', ' ORDER BY t.att) AS sets FROM flakeid.convert_trees(places) AS t WHERE t.replaced AND t.leaf GROUP BY t.rel ORDER BY t.rel LOOP
            statement := format('UPDATE %s SET %s WHERE ctid ...', x.rel::regclass, x.sets);
            lock := 'ROW EXCLUSIVE';
            lasts := format('milliseconds, %s times', ceil(pg_table_size(x.rel) / 819200.0));
            RETURN NEXT;
        END LOOP;
        FOR x IN SELECT k.rel, k.filled FROM flakeid.convert_marks(places) AS k ORDER BY k.rel LOOP
            statement := format('ALTER TABLE %s VALIDATE CONSTRAINT %I', x.rel::regclass, x.filled);
            lock := 'SHARE UPDATE EXCLUSIVE';
            lasts := flakeid.convert_lasts((SELECT sum(pg_table_size(t.rel)) FROM flakeid.convert_trees(places) AS t WHERE t.whole = x.rel)::int8);
            RETURN NEXT;
            statement := format('ANALYZE %s', x.rel::regclass);
            lasts := 'seconds';
            RETURN NEXT;
        END LOOP;
        step := step + 1;
        FOR x IN SELECT i.* FROM flakeid.convert_indexes(places) AS i WHERE i.leaf ORDER BY i.idx LOOP
            statement := regexp_replace(pg_get_indexdef(x.idx), '^(CREATE (UNIQUE )?INDEX ).*?( ON )', format('\1%I\3', flakeid.convert_name('new', x.name)));
            statement := (SELECT format('%s -- with %s', statement, string_agg(DISTINCT format('%I', t.new_col), ', ')) FROM flakeid.convert_trees(places) AS t WHERE t.replaced AND t.rel = x.rel);
            IF x.bytes > 500000000 THEN
                statement := regexp_replace(statement, '^(CREATE (UNIQUE )?INDEX) ', '\1 CONCURRENTLY ');
                lock := 'SHARE UPDATE EXCLUSIVE';
            ELSE
                lock := 'SHARE';
            END IF;
            lasts := flakeid.convert_lasts(x.bytes);
            RETURN NEXT;
        END LOOP;
    END IF;
    step := step + 1;
    SELECT * INTO swap FROM flakeid.convert_swap(root, root_att, places, memory);
    RETURN QUERY SELECT convert_plan_of.step, s, 'ACCESS EXCLUSIVE', coalesce(swap.slow ->> s, 'milliseconds') FROM unnest(swap.statements) AS s;
    step := step + 1;
    FOR statement, lasts IN SELECT s, flakeid.convert_lasts(pg_table_size((regexp_match(s, '^ALTER TABLE (.*?) VALIDATE CONSTRAINT'))[1]::regclass)) FROM unnest(swap.validates) AS s LOOP
        lock := 'SHARE UPDATE EXCLUSIVE';
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_plan_of(regclass, name, name, text, jsonb, jsonb) IS 'internal: a plan, for the owner';

CREATE FUNCTION flakeid.convert_plan(tab regclass, col name DEFAULT NULL, created_at name DEFAULT NULL, type text DEFAULT NULL, also jsonb DEFAULT NULL)
    RETURNS TABLE (step int4, statement text, lock text, lasts text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM flakeid.convert_column(tab, col);
    RETURN QUERY SELECT p.* FROM jsonb_to_recordset(flakeid.as_owner(tab, format('SELECT jsonb_agg(p) FROM flakeid.convert_plan_of(%L, %L, %L, %L, %L, NULL) AS p', tab::oid, col, created_at, type, also))::jsonb)
        AS p (step int4, statement text, lock text, lasts text);
END
$$;
COMMENT ON FUNCTION flakeid.convert_plan(regclass, name, name, text, jsonb) IS
    'what is refused, what somebody should know, and the statements of a conversion, each with its lock and how long that lasts about; those of one step are one transaction';

CREATE FUNCTION flakeid.convert_plan_all(tables regclass[], created_at name DEFAULT NULL, type text DEFAULT NULL)
    RETURNS TABLE (tab regclass, step int4, statement text, lock text, lasts text)
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    list oid[] := ARRAY(SELECT DISTINCT t::oid FROM unnest(tables) AS t ORDER BY 1);
BEGIN
    FOREACH tab IN ARRAY list LOOP
        PERFORM flakeid.convert_column(tab, NULL);
        RETURN QUERY SELECT tab, p.* FROM jsonb_to_recordset(flakeid.as_owner(tab, format('SELECT jsonb_agg(p) FROM flakeid.convert_plan_of(%L, NULL, %L, %L, NULL, %L) AS p', tab::oid, created_at, type, to_jsonb(list)))::jsonb)
            AS p (step int4, statement text, lock text, lasts text);
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.convert_plan_all(regclass[], name, text) IS 'convert_plan() for several tables';

CREATE VIEW flakeid.conversions AS
    (SELECT DISTINCT ON (m.memory ->> 'table', m.memory ->> 'column')
           m.memory ->> 'table' AS table_name, m.memory ->> 'column' AS column_name,
           CASE WHEN m.memory ->> 'way' = 'back' THEN 'undo: ' ELSE '' END
           || CASE WHEN NOT m.memory ? 'mapped' THEN 'new ids are made'
                   WHEN NOT m.memory ? 'filled' THEN 'rows are filled' WHEN NOT m.memory ? 'analyzed' THEN 'rows are checked'
                   ELSE 'indexes are made' END AS step,
           m.memory ->> 'table_now' AS table_now,
           CASE WHEN m.memory ->> 'block' ~ '^\d{1,18}$' AND m.memory ->> 'until' ~ '^\d{1,18}$' -- an owner can write what he likes
                THEN pg_catalog.round(100 * (m.memory ->> 'block')::pg_catalog.numeric / greatest((m.memory ->> 'until')::pg_catalog.numeric, 1)) END AS percent_of_it,
           m.memory -> 'rows' AS rows_filled
    FROM pg_catalog.pg_trigger AS t
         JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) t.tgrelid AND pg_catalog.pg_has_role(c.relowner, 'USAGE'),
         LATERAL flakeid.convert_memory(pg_catalog.obj_description(t.tgfoid, 'pg_proc')) AS m (memory)
    WHERE pg_catalog.starts_with(t.tgname::pg_catalog.text, 'zzzz_flakeid_fill_') AND t.tgparentid OPERATOR(pg_catalog.=) 0 AND m.memory ? 'from'
    ORDER BY m.memory ->> 'table', m.memory ->> 'column', t.tgrelid)
    UNION ALL
    SELECT pg_catalog.format('%I.%I', n.nspname, c.relname), a.attname::pg_catalog.text,
           CASE WHEN m.memory ? 'format' THEN pg_catalog.concat('of format ', m.memory ->> 'format', ', which this version does not know')
                WHEN m.memory ? 'validates' THEN 'constraints are validated' WHEN flakeid.convert_is_made(c.oid, a.attnum) THEN 'done'
                ELSE 'done, but another default makes ids now: call flakeid.convert() again' END, NULL, NULL, NULL
    FROM pg_catalog.pg_trigger AS t
         JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) t.tgrelid AND pg_catalog.pg_has_role(c.relowner, 'USAGE')
         JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
         JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) c.oid AND NOT a.attisdropped AND t.tgname OPERATOR(pg_catalog.=) flakeid.convert_name('was', a.attname),
         LATERAL flakeid.convert_memory(pg_catalog.obj_description(t.oid, 'pg_trigger')) AS m (memory)
    WHERE pg_catalog.starts_with(t.tgname::pg_catalog.text, 'flakeid_was_') AND m.memory IS NOT NULL;
COMMENT ON VIEW flakeid.conversions IS 'conversions of the caller''s tables that go on, or that are done and can be undone';
COMMENT ON COLUMN flakeid.conversions.table_name IS 'the table whose key is converted';
COMMENT ON COLUMN flakeid.conversions.column_name IS 'its column';
COMMENT ON COLUMN flakeid.conversions.step IS 'what is done now';
COMMENT ON COLUMN flakeid.conversions.table_now IS 'the table, or partition, that is filled';
COMMENT ON COLUMN flakeid.conversions.percent_of_it IS 'how far in it';
COMMENT ON COLUMN flakeid.conversions.rows_filled IS 'in all tables so far';
