-- Partitions and retention by id
--
-- The edition in plain SQL has this chapter too, with its own schema in the place of flakeid. Of the functions that read ids it needs
-- flake_floor, flake_ceil and flake_timestamp, with a layout, and binds them here once.
--
-- A procedure that commits can have no SET clause. So each of its transactions begins with flakeid.partition_begin(), which makes the
-- search_path safe, and what it does stands in functions that have the clause; the types of its variables, which are looked up
-- before, have their schema. Whatever may run code of a table's owner runs through
-- flakeid.as_owner(), and only where all tables that it runs code of are that owner's.
-- All locks of a step are waited for at most a fifth of deadlock_timeout, so that nobody waits long behind it, and no session ever fails
-- for a deadlock with it. A step that does not get them is tried again.

CREATE FUNCTION flakeid.lowest_id(at timestamptz, layout text) RETURNS int8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT flake_floor(lowest_id.at, lowest_id.layout);
END;
COMMENT ON FUNCTION flakeid.lowest_id(timestamptz, text) IS 'internal: lowest id of that layout in the tick of that moment';

CREATE FUNCTION flakeid.highest_id(at timestamptz, layout text) RETURNS int8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT flake_ceil(highest_id.at, highest_id.layout);
END;
COMMENT ON FUNCTION flakeid.highest_id(timestamptz, text) IS 'internal: highest id of that layout in the tick of that moment';

CREATE FUNCTION flakeid.time_of(id int8, layout text) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT flake_timestamp(time_of.id, time_of.layout);
END;
COMMENT ON FUNCTION flakeid.time_of(int8, text) IS 'internal: when an id of that layout was made';

-- What is read when it is made finds nothing else than the catalog's, however well the types of others fit.
SET LOCAL search_path = pg_catalog, pg_temp;

-- What the catalogs do not tell stands in the comment on a trigger of the table that never fires. Only its owner can write it, which GRANT
-- TRIGGER does not allow; it is renamed, dumped and dropped with the table, no subscription brings it, and no writer waits
-- while it is changed. A table of the extension would have none of this. Whether the trigger is enabled does not matter.

CREATE FUNCTION flakeid.declared() RETURNS trigger LANGUAGE plpgsql PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION flakeid.declared() IS 'internal: of the trigger whose comment is what flakeid.partition() was told of a table';

CREATE FUNCTION flakeid.partition_declarations(of_table regclass, OUT parent regclass, OUT owner oid, OUT said jsonb) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Sessions cannot reach temporary tables of each other.
    RETURN QUERY SELECT c.oid::regclass, c.relowner,
            CASE WHEN of_table IS NULL THEN m.memory ELSE flakeid.convert_known(m.memory, 'declaration', of_table) END
        FROM pg_trigger AS g JOIN pg_class AS c ON c.oid = g.tgrelid AND c.relkind = 'p' AND c.relpersistence <> 't',
            flakeid.convert_memory(obj_description(g.oid, 'pg_trigger')) AS m (memory)
        WHERE g.tgname = 'flakeid_partitions' AND g.tgfoid = 'flakeid.declared()'::regprocedure AND (of_table IS NULL OR g.tgrelid = of_table) ORDER BY 1;
END
$$;
COMMENT ON FUNCTION flakeid.partition_declarations(regclass) IS 'internal: the declared tables, or one; said is NULL where it is not the owner who wrote';

CREATE FUNCTION flakeid.partition_declared(parent regclass, OUT every interval, OUT ahead int4, OUT keep interval, OUT layout text, OUT drop_old bool,
        OUT time_zone text, OUT problem text) LANGUAGE plpgsql STABLE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said jsonb;
BEGIN
    SELECT d.said INTO said FROM flakeid.partition_declarations(coalesce(partition_declared.parent, 0)) AS d;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('table %s is not declared', coalesce(parent::text, 'NULL')),
            DETAIL = 'flakeid.partition() says how long its partitions are, and how long they are kept.',
            HINT = format('CALL flakeid.partition(%L, every => ''1 month'');', parent);
    END IF;
    BEGIN
        every := said ->> 'every';
        ahead := said ->> 'ahead';
        keep := said ->> 'keep';
        layout := coalesce(said ->> 'layout', '');
        drop_old := coalesce((said ->> 'drop_old')::bool, false);
        time_zone := coalesce(said ->> 'time_zone', 'UTC');
        problem := said ->> 'problem';
        PERFORM flakeid.partition_check(every, ahead, keep, said ->> 'time_zone'), flakeid.lowest_id(now(), layout);
    EXCEPTION WHEN OTHERS THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('the declaration of table %s cannot be read', parent),
            DETAIL = CASE WHEN said IS NULL THEN 'The comment on trigger flakeid_partitions holds none.' ELSE SQLERRM END,
            HINT = format('CALL flakeid.partition(%L, ...) as its owner, with all that it was told.', parent);
    END;
END
$$;
COMMENT ON FUNCTION flakeid.partition_declared(regclass) IS 'internal: what flakeid.partition() was told of a table, and what flakeid.maintain() could not do at last';

CREATE FUNCTION flakeid.partition_declare(parent regclass, said jsonb,
        OUT action text, OUT object text, OUT object_oid oid, OUT moved int8, OUT locked timestamptz, OUT detail text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    was jsonb;
    is_there bool;
BEGIN
    SELECT d.said INTO was FROM flakeid.partition_declarations(partition_declare.parent) AS d;
    is_there := FOUND;
    said := jsonb_strip_nulls(said || jsonb_build_object('since', coalesce(was -> 'since', to_jsonb(now()))));
    IF was = said THEN
        RETURN;
    END IF;
    locked := flakeid.partition_lock(ARRAY[parent], CASE WHEN is_there THEN 'SHARE UPDATE EXCLUSIVE' ELSE 'SHARE ROW EXCLUSIVE' END);
    IF NOT is_there THEN
        EXECUTE format('CREATE OR REPLACE TRIGGER flakeid_partitions AFTER TRUNCATE ON %s FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION flakeid.declared()', parent);
    END IF;
    EXECUTE format('COMMENT ON TRIGGER flakeid_partitions ON %s IS %L', parent, flakeid.convert_comment(said));
    action := 'declared';
    object := parent;
END
$$;
COMMENT ON FUNCTION flakeid.partition_declare(regclass, jsonb) IS 'internal: a step: writes down what flakeid.partition() was told';

-- Which numbers are taken for ids with a time: from floor to below past. Below floor are ids that a conversion kept, and those of the first
-- day of the layout, where serial numbers and the like lie; from past on, those of its last period. Rows below young, of periods that
-- retention takes, do not leave the default partition: nobody says that they are old.
CREATE FUNCTION flakeid.partition_limits(parent regclass, OUT floor int8, OUT young int8, OUT past int8)
    LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p record;
BEGIN
    p := flakeid.partition_declared(parent);
    floor := greatest(flakeid.lowest_id(flakeid.time_of(flakeid.lowest_id('-infinity', p.layout), p.layout) + interval '1 day', p.layout),
        flakeid.convert_kept(parent, (flakeid.partition_key(parent)).attnum) + 1);
    young := greatest(floor, flakeid.lowest_id((flakeid.period_of(flakeid.partition_horizon(p.keep, p.time_zone), p.every, p.time_zone)).starts, p.layout));
    past := flakeid.lowest_id((flakeid.period_of(flakeid.time_of(flakeid.highest_id('infinity', p.layout), p.layout), p.every, p.time_zone)).starts, p.layout);
END
$$;
COMMENT ON FUNCTION flakeid.partition_limits(regclass) IS 'internal: which numbers are taken for ids with a time';

CREATE FUNCTION flakeid.partition_horizon(keep interval, zone text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (now() AT TIME ZONE zone - keep) AT TIME ZONE zone;
END
$$;
COMMENT ON FUNCTION flakeid.partition_horizon(interval, text) IS 'internal: what ends before this moment is not kept';

-- Periods. They begin at midnight of a zone, months at the first, weeks on Monday: at the first moment that has that date or a later one, since
-- a zone may lack midnight, have it twice, or lack the whole day, whose period is empty then.

CREATE FUNCTION flakeid.date_start(day date, zone text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    midnight timestamptz := day::timestamp AT TIME ZONE zone;
    low timestamptz := midnight - interval '26 hours';
    high timestamptz := midnight + interval '26 hours';
    middle timestamptz;
BEGIN
    IF (low AT TIME ZONE zone) + interval '52 hours' = high AT TIME ZONE zone THEN
        RETURN midnight;
    END IF;
    -- The clock is moved in these hours. The first quarter of an hour that ends with the date, and in it the moment
    SELECT min(t) INTO high FROM generate_series(date_bin('15 min', low, '2000-01-01 00:00Z'), high, interval '15 min') AS t WHERE (t AT TIME ZONE zone)::date >= day;
    low := high - interval '15 min';
    WHILE high - low > interval '1 us' LOOP
        middle := low + (high - low) / 2;
        IF (middle AT TIME ZONE zone)::date >= day THEN
            high := middle;
        ELSE
            low := middle;
        END IF;
    END LOOP;
    RETURN high;
END
$$;
COMMENT ON FUNCTION flakeid.date_start(date, text) IS 'internal: the first moment that has that date in a zone, or a later date';

CREATE FUNCTION flakeid.period_date(day date, every interval) RETURNS date LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    months int4 := extract(year FROM every) * 12 + extract(month FROM every);
    month int4 := extract(year FROM day) * 12 + extract(month FROM day) - 1;
BEGIN
    IF months > 0 THEN
        month := month - month % months;
        RETURN make_date(month / 12, month % 12 + 1, 1);
    END IF;
    RETURN day - (day - date '0001-01-01') % extract(day FROM every)::int4;
END
$$;
COMMENT ON FUNCTION flakeid.period_date(date, interval) IS 'internal: the first date of the period that holds a date';

CREATE FUNCTION flakeid.period_of(at timestamptz, every interval, zone text, OUT starts timestamptz, OUT ends timestamptz) LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    day date;
BEGIN
    IF zone = 'UTC' AND extract(year FROM every) * 12 + extract(month FROM every) = 0 THEN
        starts := date_bin(every, at, timestamptz '0001-01-01 00:00Z');
        ends := (starts AT TIME ZONE 'UTC' + every) AT TIME ZONE 'UTC';
        RETURN;
    END IF;
    day := flakeid.period_date((at AT TIME ZONE zone)::date, every);
    ends := flakeid.date_start(day, zone);
    LOOP
        starts := ends;
        day := day + every;
        ends := flakeid.date_start(day, zone);
        EXIT WHEN ends > at;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.period_of(timestamptz, interval, text) IS 'internal: start and end of the period that holds that moment';

-- Names, keys, bounds

CREATE FUNCTION flakeid.free_name(schema oid, base text, tail text) RETURNS name LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    number int4 := 0;
    suffix text := tail;
    head text;
BEGIN
    LOOP
        head := base;
        WHILE octet_length(head || suffix) > 63 LOOP
            head := left(head, -1);
        END LOOP;
        EXIT WHEN NOT EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = schema AND c.relname = head || suffix)
            AND NOT EXISTS (SELECT FROM pg_type AS t WHERE t.typnamespace = schema AND t.typname = head || suffix)
            AND NOT EXISTS (SELECT FROM pg_statistic_ext AS s WHERE s.stxnamespace = schema AND s.stxname = head || suffix);
        number := number + 1;
        suffix := tail || '_' || number;
    END LOOP;
    RETURN head || suffix;
END
$$;
COMMENT ON FUNCTION flakeid.free_name(oid, text, text) IS 'internal: a name for a relation or statistics of that schema, that no other has';

CREATE FUNCTION flakeid.period_name(at timestamptz, every interval, zone text) RETURNS text LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    months int4 := extract(year FROM every) * 12 + extract(month FROM every);
BEGIN
    RETURN '_' || to_char(at AT TIME ZONE zone, CASE
        WHEN months > 0 AND months % 12 = 0 THEN 'YYYY'
        WHEN months > 0 THEN 'YYYY_MM'
        WHEN extract(epoch FROM every) % 86400 = 0 THEN 'YYYY_MM_DD'
        ELSE 'YYYY_MM_DD_HH24' END);
END
$$;
COMMENT ON FUNCTION flakeid.period_name(timestamptz, interval, text) IS 'internal: the end of the name of the partition that begins then';

CREATE FUNCTION flakeid.partition_key(parent regclass, OUT attnum int2, OUT attname name, OUT type text) LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kind "char" := (SELECT c.relkind FROM pg_class AS c WHERE c.oid = parent);
    candidates int2[];
    serves int2[];
BEGIN
    candidates := ARRAY(SELECT a.attnum FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
        WHERE a.attrelid = parent AND a.attnum > 0 AND NOT a.attisdropped
            AND (t.oid = 'int8'::regtype OR t.typname IN ('flake', 'flake_sealed') AND EXISTS (
                SELECT FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'flakeid' AND e.extnamespace = t.typnamespace -- others may be added to it
                WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'))
        ORDER BY a.attnum);
    IF kind = 'p' THEN
        serves := (SELECT p.partattrs::int2[] FROM pg_partitioned_table AS p WHERE p.partrelid = parent AND p.partstrat = 'r');
        IF serves IS NULL OR cardinality(serves) <> 1 OR NOT serves <@ candidates THEN
            RAISE wrong_object_type USING MESSAGE = format('table %s is not partitioned by range of one column of ids', parent),
                DETAIL = 'Its partition key is ' || pg_get_partkeydef(parent) || '.';
        END IF;
    ELSIF kind = 'r' THEN
        -- of the primary key, if there is one; ids by type before ids by chance
        serves := ARRAY(SELECT c FROM unnest(candidates) AS c
            WHERE NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = parent AND i.indisprimary)
                OR EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = parent AND i.indisprimary
                    AND c = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])));
        IF cardinality(serves) > 1 THEN
            serves := ARRAY(SELECT c FROM unnest(serves) AS c JOIN pg_attribute AS a ON a.attrelid = parent AND a.attnum = c
                WHERE a.atttypid <> 'int8'::regtype);
        END IF;
        IF cardinality(serves) <> 1 THEN
            RAISE wrong_object_type USING MESSAGE = format('cannot tell which column of table %s holds its ids', parent),
                DETAIL = 'It is the one column of type flake, flake_sealed or bigint in the primary key, of several the one of type flake or flake_sealed.';
        END IF;
    ELSE
        RAISE wrong_object_type USING MESSAGE = format('%s is not a table', parent);
    END IF;
    SELECT a.attnum, a.attname, format_type(a.atttypid, NULL) INTO attnum, attname, type
        FROM pg_attribute AS a WHERE a.attrelid = parent AND a.attnum = serves[array_lower(serves, 1)];
END
$$;
COMMENT ON FUNCTION flakeid.partition_key(regclass) IS 'internal: the column of ids that a table is, or can be, partitioned by';

CREATE FUNCTION flakeid.id_text(id int8, type text) RETURNS text LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    shown text;
BEGIN
    EXECUTE format('SELECT $1::%s::text', type) INTO shown USING id;
    RETURN shown;
END
$$;
COMMENT ON FUNCTION flakeid.id_text(int8, text) IS 'internal: an id as everybody sees it';

-- int8's least and largest number stand for MINVALUE and MAXVALUE.
CREATE FUNCTION flakeid.bound_literal(id int8, type text) RETURNS text LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE id WHEN -9223372036854775808 THEN 'MINVALUE' WHEN 9223372036854775807 THEN 'MAXVALUE' ELSE format('%L', flakeid.id_text(id, type)) END;
END
$$;
COMMENT ON FUNCTION flakeid.bound_literal(int8, text) IS 'internal: an id as the bound of a partition, in SQL';

-- The operators of flake and bigint are the server's, those of another type stand beside it.
CREATE FUNCTION flakeid.between_bounds(key name, type text, from_id int8, to_id int8) RETURNS text LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    beside text := (SELECT CASE WHEN t.typname = 'flake_sealed' THEN t.typnamespace::regnamespace ELSE 'pg_catalog' END FROM pg_type AS t WHERE t.oid = type::regtype);
BEGIN
    RETURN concat_ws(' AND ',
        CASE WHEN from_id > -9223372036854775808 THEN format('%I OPERATOR(%s.>=) %s::%s', key, beside, flakeid.bound_literal(from_id, type), type) END,
        CASE WHEN to_id < 9223372036854775807 THEN format('%I OPERATOR(%s.<) %s::%s', key, beside, flakeid.bound_literal(to_id, type), type) END);
END
$$;
COMMENT ON FUNCTION flakeid.between_bounds(name, text, int8, int8) IS 'internal: the condition that an id lies in a partition, in SQL';

CREATE FUNCTION flakeid.bound_id(literal text, type text) RETURNS int8 LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    id int8;
BEGIN
    IF literal = 'MINVALUE' THEN
        RETURN -9223372036854775808;
    ELSIF literal = 'MAXVALUE' THEN
        RETURN 9223372036854775807;
    END IF;
    EXECUTE format('SELECT %L::%s::int8', trim(BOTH '''' FROM literal), type) INTO id;
    RETURN id;
END
$$;
COMMENT ON FUNCTION flakeid.bound_id(text, text) IS 'internal: the id that bound_literal() wrote';

-- Ids from from_id to below to_id; both NULL for a default partition.
CREATE FUNCTION flakeid.partition_ranges(parent regclass, OUT partition regclass, OUT from_id int8, OUT to_id int8, OUT detaching bool)
    RETURNS SETOF record LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
BEGIN
    -- one statement for all: int8's least and largest number stand for MINVALUE and MAXVALUE, as in bound_literal()
    RETURN QUERY EXECUTE format($q$
        SELECT b.partition, CASE b.pair[1] WHEN 'MINVALUE' THEN -9223372036854775808 ELSE trim(BOTH '''' FROM b.pair[1])::%1$s::int8 END,
            CASE b.pair[2] WHEN 'MAXVALUE' THEN 9223372036854775807 ELSE trim(BOTH '''' FROM b.pair[2])::%1$s::int8 END, b.detaching
        FROM (SELECT c.oid::regclass AS partition, regexp_match(pg_get_expr(c.relpartbound, 0), '^FOR VALUES FROM \((.*)\) TO \((.*)\)$') AS pair,
                i.inhdetachpending AS detaching
            FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = $1 OFFSET 0) AS b$q$, (flakeid.partition_key(parent)).type) USING parent;
END
$$;
COMMENT ON FUNCTION flakeid.partition_ranges(regclass) IS 'internal: the ids of each partition';

CREATE FUNCTION flakeid.partition_default(parent regclass) RETURNS regclass LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT nullif(p.partdefid, 0)::regclass FROM pg_catalog.pg_partitioned_table AS p WHERE p.partrelid = partition_default.parent;
END;
COMMENT ON FUNCTION flakeid.partition_default(regclass) IS 'internal: the default partition of a table';

CREATE FUNCTION flakeid.partition_gaps(parent regclass, first int8, past int8, OUT from_id int8, OUT to_id int8)
    RETURNS SETOF record LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    r record;
BEGIN
    from_id := first;
    FOR r IN SELECT p.from_id, p.to_id FROM flakeid.partition_ranges(parent) AS p WHERE p.from_id < past AND p.to_id > first ORDER BY p.from_id LOOP
        to_id := r.from_id;
        IF from_id < to_id THEN
            RETURN NEXT;
        END IF;
        from_id := r.to_id;
    END LOOP;
    to_id := past;
    IF from_id < to_id THEN
        RETURN NEXT;
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.partition_gaps(regclass, int8, int8) IS 'internal: ids from first to below past that no partition but a default one takes';

-- Steps. Each is one transaction. A step looks again once it has its locks, so that of two runs at once the second finds nothing to do.

CREATE FUNCTION flakeid.partition_begin() RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    PERFORM set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO, YMD', true), set_config('IntervalStyle', 'postgres', true),
        set_config('row_security', 'off', true), set_config('default_tablespace', '', true), set_config('default_table_access_method', 'heap', true);
END
$$;
COMMENT ON FUNCTION flakeid.partition_begin() IS 'internal: makes the rest of a transaction the same, whatever the settings of the session';

CREATE FUNCTION flakeid.partition_ask(tab regclass) RETURNS void LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = tab);
BEGIN
    IF owner IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('table %s does not exist', coalesce(tab::text, 'NULL'));
    ELSIF NOT pg_has_role(current_user, owner, 'USAGE') THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', tab);
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.partition_ask(regclass) IS 'internal: an error where the caller does not have the rights of a table''s owner';

-- Statements on a table run code of its owner, and those on its partitions and foreign keys code of the owners of these. So all belong to one
-- role: not to several whose rights the caller has, or each would lend its rights to the others.
CREATE FUNCTION flakeid.partition_strangers(tab regclass, OUT partitions text, OUT referrers text) LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = tab);
BEGIN
    partitions := (SELECT format('partition %s belongs to role %s', c.oid::regclass, c.relowner::regrole)
        FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = tab AND c.relowner <> mine ORDER BY 1 LIMIT 1);
    referrers := (SELECT format('Table %s, which refers to it, belongs to role %s, whose code would run with the rights of role %s.', c.oid::regclass, c.relowner::regrole, mine::regrole)
        FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
        WHERE k.confrelid = tab AND k.contype = 'f' AND k.conparentid = 0 AND c.relowner <> mine ORDER BY 1 LIMIT 1);
END
$$;
COMMENT ON FUNCTION flakeid.partition_strangers(regclass) IS 'internal: a partition, and a table that refers, of another role than the table''s owner';

CREATE FUNCTION flakeid.partition_alone(tab regclass) RETURNS void LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stranger text := (flakeid.partition_strangers(tab)).partitions;
BEGIN
    IF stranger IS NOT NULL THEN
        RAISE insufficient_privilege USING MESSAGE = format('table %s and its partitions are not of one role', tab),
            DETAIL = format('Its %s, whose code would run with the rights of role %s.', stranger, (SELECT c.relowner::regrole FROM pg_class AS c WHERE c.oid = tab));
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.partition_alone(regclass) IS 'internal: an error where a partition is not of the table''s owner';

CREATE FUNCTION flakeid.partition_lock(tables regclass[], mode text) RETURNS timestamptz LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own int8 := extract(epoch FROM current_setting('lock_timeout')::interval) * 1000;
    until timestamptz := clock_timestamp() + current_setting('deadlock_timeout')::interval / 5;
    t regclass;
BEGIN
    FOREACH t IN ARRAY tables LOOP
        PERFORM set_config('lock_timeout',
            greatest(1, least(nullif(own, 0), (extract(epoch FROM until - clock_timestamp()) * 1000)::int8))::text, true);
        EXECUTE format('LOCK TABLE ONLY %s IN %s MODE', t, mode);
        IF pg_get_userbyid((SELECT c.relowner FROM pg_class AS c WHERE c.oid = t)) <> current_user THEN
            RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', t);
        END IF;
        PERFORM flakeid.partition_alone(t);
    END LOOP;
    -- for the locks that commands take by themselves
    PERFORM set_config('lock_timeout',
        greatest(1, least(nullif(own, 0), (extract(epoch FROM until - clock_timestamp()) * 1000)::int8))::text, true);
    RETURN clock_timestamp();
END
$$;
COMMENT ON FUNCTION flakeid.partition_lock(regclass[], text) IS 'internal: locks tables in their order, within a fifth of deadlock_timeout and within lock_timeout; returns when it had them';

-- An autovacuum ends itself for somebody who waits longer than deadlock_timeout. This waits so long, for one table after the other, under
-- a lock that disturbs nobody, and holds nothing meanwhile. What waits for less than that would never come past it.
CREATE FUNCTION flakeid.partition_knock(tables regclass[]) RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t regclass;
BEGIN
    FOREACH t IN ARRAY tables LOOP
        BEGIN
            PERFORM set_config('lock_timeout', (extract(epoch FROM current_setting('deadlock_timeout')::interval) * 1500)::int8::text, true);
            EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', t);
            RAISE EXCEPTION USING ERRCODE = 'FL000';
        EXCEPTION WHEN SQLSTATE 'FL000' OR lock_not_available OR deadlock_detected OR undefined_table THEN NULL;
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.partition_knock(regclass[]) IS 'internal: lets autovacuum leave tables, for a step that did not get its locks';

-- What CREATE TABLE ... LIKE leaves out: from the parent; and from the partition before, what a partitioned table cannot have: storage
-- parameters, and an index to CLUSTER on.
CREATE FUNCTION flakeid.partition_settings(partition regclass, parent regclass, sibling regclass) RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        WITH alike AS MATERIALIZED ( -- indexes, by what does not change from table to table: numbers of columns do
            SELECT i.indrelid AS rel, c.relname AS name, i.indisreplident AS identity, i.indisclustered AS clustered,
                concat_ws(' ', c.relam, i.indisunique, i.indimmediate, i.indnkeyatts, i.indoption, i.indclass, i.indcollation, pg_get_expr(i.indpred, i.indrelid),
                    ARRAY(SELECT pg_get_indexdef(i.indexrelid, k, false) FROM generate_series(1, i.indnatts) AS k)) AS shape
            FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE i.indrelid IN (partition, parent, sibling)
        )
        SELECT format('ALTER TABLE %s ALTER %I SET STATISTICS %s', partition, a.attname, a.attstattarget)
        FROM pg_attribute AS a WHERE a.attrelid = parent AND a.attnum > 0 AND NOT a.attisdropped AND a.attstattarget >= 0
        UNION ALL
        SELECT format('ALTER TABLE %s ALTER %I SET (%s)', partition, a.attname, o)
        FROM pg_attribute AS a, flakeid.option_list(a.attoptions, '') AS o WHERE a.attrelid = parent AND a.attnum > 0 AND NOT a.attisdropped AND o <> ''
        UNION ALL
        SELECT format('ALTER TABLE %s SET (%s)', partition, concat_ws(', ',
            flakeid.option_list(c.reloptions, ''), flakeid.option_list(t.reloptions, 'toast.')))
        FROM pg_class AS c LEFT JOIN pg_class AS t ON t.oid = c.reltoastrelid
        WHERE c.oid = sibling AND (c.reloptions IS NOT NULL OR t.reloptions IS NOT NULL)
        UNION ALL
        -- the parent's rights, and none that its owner gives by default on new tables
        SELECT DISTINCT format('REVOKE ALL ON %s FROM %s', partition, CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE e.grantee::regrole::text END)
        FROM pg_class AS c, aclexplode(c.relacl) AS e WHERE c.oid = partition AND e.grantee <> c.relowner
        UNION ALL
        SELECT s FROM pg_class AS c, flakeid.grant_statements(c.relacl, 'TABLE ' || partition, '') AS s WHERE c.oid = parent
        UNION ALL
        SELECT s FROM pg_attribute AS a, flakeid.grant_statements(a.attacl, 'TABLE ' || partition, format('(%I)', a.attname)) AS s
        WHERE a.attrelid = parent AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        -- Who has rights by default on new tables may not pass by the policies of the parent.
        SELECT format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', partition) FROM pg_class AS c WHERE c.oid = parent AND c.relrowsecurity
        UNION ALL
        SELECT format('ALTER TABLE %s REPLICA IDENTITY %s', partition, CASE c.relreplident WHEN 'f' THEN 'FULL' ELSE 'NOTHING' END)
        FROM pg_class AS c WHERE c.oid = parent AND c.relreplident IN ('f', 'n')
        UNION ALL
        SELECT format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', partition, min(j.name))
        FROM alike i JOIN alike j ON j.rel = partition AND j.shape = i.shape WHERE i.rel = parent AND i.identity GROUP BY i.shape
        UNION ALL
        SELECT format('ALTER TABLE %s CLUSTER ON %I', partition, min(j.name))
        FROM alike i JOIN alike j ON j.rel = partition AND j.shape = i.shape WHERE i.rel = sibling AND i.clustered GROUP BY i.shape
    LOOP
        EXECUTE statement;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.partition_settings(regclass, regclass, regclass) IS 'internal: gives a partition that is to be attached what its parent and its sibling have';

CREATE FUNCTION flakeid.partition_sibling(parent regclass) RETURNS regclass LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT r.partition FROM flakeid.partition_ranges(parent) AS r JOIN pg_class AS c ON c.oid = r.partition
        WHERE c.relkind = 'r' AND r.from_id IS NOT NULL ORDER BY r.from_id DESC LIMIT 1);
END
$$;
COMMENT ON FUNCTION flakeid.partition_sibling(regclass) IS 'internal: the last partition of a table, whose storage parameters new ones get';

CREATE FUNCTION flakeid.option_list(options text[], prefix text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
BEGIN
    RETURN (SELECT string_agg(format('%s%s=%L', prefix, split_part(o, '=', 1), substr(o, strpos(o, '=') + 1)), ', ') FROM unnest(options) AS o
        WHERE o NOT LIKE 'pg\_%'); -- those are the server's own
END
$$;
COMMENT ON FUNCTION flakeid.option_list(text[], text) IS 'internal: storage parameters in SQL';

-- A table of its own is made and attached, which disturbs nobody who uses the parent; CREATE TABLE ... PARTITION OF would lock it.
CREATE FUNCTION flakeid.partition_statements(parent regclass, name name, from_id int8, to_id int8, sibling regclass) RETURNS SETOF text
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    type text := (flakeid.partition_key(parent)).type;
    partition text;
    space text;
BEGIN
    SELECT format('%I.%I', n.nspname, name), concat(' USING ' || quote_ident(a.amname), ' TABLESPACE ' || quote_ident(t.spcname)) INTO partition, space
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace LEFT JOIN pg_am AS a ON a.oid = c.relam
        WHERE c.oid = parent;
    RETURN NEXT format('CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY)%s', partition, parent, space);
    RETURN NEXT format('SELECT flakeid.partition_settings(%L, %L, %L)', partition, parent, sibling);
    RETURN NEXT format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)', parent, partition,
        flakeid.bound_literal(from_id, type), flakeid.bound_literal(to_id, type));
END
$$;
COMMENT ON FUNCTION flakeid.partition_statements(regclass, name, int8, int8, regclass) IS 'internal: the statements that make a partition';

CREATE FUNCTION flakeid.partition_missing(parent regclass, OUT name text, OUT from_id int8, OUT to_id int8) RETURNS SETOF record
    LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p record;
    r record;
    base text := (SELECT c.relname FROM pg_class AS c WHERE c.oid = parent);
    schema oid := (SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = parent);
    starts timestamptz;
    ends timestamptz;
BEGIN
    p := flakeid.partition_declared(parent);
    starts := (flakeid.period_of(now(), p.every, p.time_zone)).starts;
    ends := starts;
    FOR i IN 0 .. p.ahead LOOP
        ends := (flakeid.period_of(ends, p.every, p.time_zone)).ends;
    END LOOP;
    -- One look at all bounds; only what is missing is divided by periods. A partition begins at the bound before it, even if the rules of the
    -- zone have changed since, and is of the period that most of its first day belongs to.
    FOR r IN SELECT * FROM flakeid.partition_gaps(parent, flakeid.lowest_id(starts, p.layout), flakeid.lowest_id(ends, p.layout)) LOOP
        from_id := r.from_id;
        WHILE from_id < r.to_id LOOP
            SELECT o.starts, o.ends INTO starts, ends FROM flakeid.period_of(
                flakeid.time_of(from_id, p.layout) + CASE p.time_zone WHEN 'UTC' THEN interval '0' ELSE interval '12 hours' END, p.every, p.time_zone) AS o;
            to_id := least(r.to_id, flakeid.lowest_id(ends, p.layout));
            name := flakeid.free_name(schema, base, flakeid.period_name(starts, p.every, p.time_zone));
            RETURN NEXT;
            from_id := to_id;
        END LOOP;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.partition_missing(regclass) IS 'internal: partitions that a table should have from now on, and has not';

CREATE FUNCTION flakeid.partition_old(parent regclass, OUT partition regclass, OUT detaching bool, OUT unread int8) RETURNS SETOF record
    LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p record;
    r record;
    floor int8 := (flakeid.partition_limits(parent)).floor;
BEGIN
    p := flakeid.partition_declared(parent);
    FOR r IN SELECT g.* FROM flakeid.partition_ranges(parent) AS g
        WHERE g.detaching OR g.to_id <= flakeid.lowest_id(flakeid.partition_horizon(p.keep, p.time_zone), p.layout) ORDER BY g.to_id
    LOOP
        partition := r.partition;
        detaching := r.detaching;
        unread := CASE WHEN r.from_id < floor AND NOT r.detaching THEN flakeid.partition_unread(parent, r.partition, floor) END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.partition_old(regclass) IS
    'internal: partitions that end before what is kept begins, with an id of each that carries no time; and those that a detachment left half detached';

CREATE FUNCTION flakeid.partition_unread(parent regclass, partition regclass, floor int8) RETURNS int8 LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    key name := (flakeid.partition_key(parent)).attname;
    id int8;
BEGIN
    EXECUTE format('SELECT %1$I::int8 FROM %2$s WHERE %3$s ORDER BY %1$I LIMIT 1', key, partition,
        flakeid.between_bounds(key, (flakeid.partition_key(parent)).type, -9223372036854775808, floor)) INTO id;
    RETURN id;
END
$$;
COMMENT ON FUNCTION flakeid.partition_unread(regclass, regclass, int8) IS 'internal: the lowest id of a partition, where that carries no time';

-- The parts of a result: what was done (NULL: there was nothing to do), to which object, with how many rows, when it had its locks.

CREATE FUNCTION flakeid.partition_add(parent regclass, wanted jsonb,
        OUT action text, OUT object text, OUT object_oid oid, OUT moved int8, OUT locked timestamptz, OUT detail text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    key name := (flakeid.partition_key(parent)).attname;
    type text := (flakeid.partition_key(parent)).type;
    schema oid := (SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = parent);
    stray regclass;
    sibling regclass;
    last int8;
    w record;
    statement text;
BEGIN
    locked := flakeid.partition_lock(ARRAY[parent], 'SHARE UPDATE EXCLUSIVE');
    stray := flakeid.partition_default(parent);
    sibling := flakeid.partition_sibling(parent);
    FOR w IN SELECT m.* FROM jsonb_to_recordset(wanted) AS m (name text, from_id int8, to_id int8)
        WHERE NOT EXISTS (SELECT FROM flakeid.partition_ranges(parent) AS r WHERE r.from_id < m.to_id AND r.to_id > m.from_id) ORDER BY m.from_id
    LOOP
        IF stray IS NOT NULL THEN
            -- The new partition begins after the last row that strayed, so that no more stray while those are moved. Whoever was sent to
            -- the default partition before would fail after it: so nobody may be on his way.
            locked := flakeid.partition_lock(ARRAY[parent, stray], 'ACCESS EXCLUSIVE');
            EXECUTE format('SELECT %1$I::int8 FROM %2$s WHERE %3$s ORDER BY %1$I DESC LIMIT 1',
                key, stray, flakeid.between_bounds(key, type, w.from_id, w.to_id)) INTO last;
            w.from_id := coalesce(last + 1, w.from_id);
            CONTINUE WHEN w.from_id >= w.to_id;
        END IF;
        w.name := flakeid.free_name(schema, w.name, '');
        FOR statement IN SELECT * FROM flakeid.partition_statements(parent, w.name::name, w.from_id, w.to_id, sibling) LOOP
            EXECUTE statement;
        END LOOP;
        SELECT 'created', concat_ws(', ', object, c.oid::regclass) INTO action, object FROM pg_class AS c WHERE c.relnamespace = schema AND c.relname = w.name;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.partition_add(regclass, jsonb) IS 'internal: a step: makes the partitions of gaps';

-- How many partitions one step makes. Where attaching locks other tables too, each has a transaction of its own.
CREATE FUNCTION flakeid.partition_batch(parent regclass) RETURNS int4 LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE WHEN flakeid.partition_default(parent) IS NULL AND NOT EXISTS (SELECT FROM pg_constraint AS k WHERE k.contype = 'f' AND parent IN (k.conrelid, k.confrelid))
        THEN 16 ELSE 1 END;
END
$$;
COMMENT ON FUNCTION flakeid.partition_batch(regclass) IS 'internal: how many partitions are made in a transaction';

CREATE FUNCTION flakeid.triggers_off(tab regclass) RETURNS text[] LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    t record;
    restore text[] := '{}';
BEGIN
    FOR t IN SELECT g.tgname, g.tgenabled FROM pg_trigger AS g WHERE g.tgrelid = tab AND NOT g.tgisinternal AND g.tgenabled <> 'D' LOOP
        EXECUTE format('ALTER TABLE %s DISABLE TRIGGER %I', tab, t.tgname);
        restore := restore || format('ALTER TABLE %s ENABLE %s TRIGGER %I', tab, CASE t.tgenabled WHEN 'A' THEN 'ALWAYS' WHEN 'R' THEN 'REPLICA' END, t.tgname);
    END LOOP;
    RETURN restore;
END
$$;
COMMENT ON FUNCTION flakeid.triggers_off(regclass) IS 'internal: disables triggers of the user; returns the statements that enable them again';

-- One batch of rows of one period leaves the default partition for one that is made for them, and is seen by everybody all the time.
-- The new partition is attached before the rows come: so subscribers get them. A longer period becomes several partitions.
CREATE FUNCTION flakeid.partition_move(parent regclass, batch int8,
        OUT action text, OUT object text, OUT object_oid oid, OUT moved int8, OUT locked timestamptz, OUT detail text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p record;
    key name := (flakeid.partition_key(parent)).attname;
    type text := (flakeid.partition_key(parent)).type;
    stray regclass;
    first int8;
    past int8;
    next_batch int8;
    name text;
    schema oid := (SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = parent);
    columns text;
    hold text;
    statement text;
    restore text[];
BEGIN
    p := flakeid.partition_declared(parent);
    stray := flakeid.partition_default(parent);
    IF stray IS NULL THEN
        RETURN;
    END IF;
    locked := flakeid.partition_lock(ARRAY[parent, stray], 'ACCESS EXCLUSIVE');
    first := flakeid.partition_stray(parent);
    IF first IS NULL THEN
        RETURN;
    END IF;
    SELECT greatest(g.from_id, (flakeid.partition_limits(parent)).young), g.to_id INTO first, past
        FROM flakeid.period_of(flakeid.time_of(first, p.layout), p.every, p.time_zone) AS o
             CROSS JOIN LATERAL flakeid.partition_gaps(parent, flakeid.lowest_id(o.starts, p.layout), flakeid.lowest_id(o.ends, p.layout)) AS g
        WHERE first >= g.from_id AND first < g.to_id;
    EXECUTE format('SELECT %1$I::int8 FROM ONLY %2$s WHERE %3$s ORDER BY %1$I OFFSET $1 LIMIT 1',
        key, stray, flakeid.between_bounds(key, type, first, past)) INTO next_batch USING batch;
    IF next_batch IS NOT NULL THEN
        past := greatest(next_batch, first + 1);
    END IF;

    SELECT string_agg(format('%I', a.attname), ', ' ORDER BY a.attnum) INTO columns
        FROM pg_attribute AS a WHERE a.attrelid = parent AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '';
    SELECT format('%I.%I', n.nspname, flakeid.free_name(schema, c.relname, '_moved')) INTO hold
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = schema WHERE c.oid = parent;
    EXECUTE format('CREATE UNLOGGED TABLE %s AS SELECT %s FROM ONLY %s WITH NO DATA', hold, columns, stray); -- LIKE would ask for what a generated column is not given
    restore := flakeid.triggers_off(stray);
    EXECUTE format('WITH gone AS (DELETE FROM ONLY %s WHERE %s RETURNING %s) INSERT INTO %s (%3$s) SELECT %3$s FROM gone',
        stray, flakeid.between_bounds(key, type, first, past), columns, hold);
    name := flakeid.free_name(schema, (SELECT c.relname FROM pg_class AS c WHERE c.oid = parent),
        flakeid.period_name(flakeid.time_of(first, p.layout), p.every, p.time_zone));
    FOR statement IN SELECT * FROM flakeid.partition_statements(parent, name::name, first, past, flakeid.partition_sibling(parent)) LOOP
        EXECUTE statement;
    END LOOP;
    SELECT 'moved', c.oid::regclass, c.oid INTO action, object, object_oid FROM pg_class AS c WHERE c.relnamespace = schema AND c.relname = name;
    restore := restore || flakeid.triggers_off(object_oid::regclass);
    EXECUTE format('INSERT INTO %s (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM %s', object, columns, hold); -- a partition has the identities of its parent from PostgreSQL 17 on
    GET DIAGNOSTICS moved = ROW_COUNT;
    ASSERT moved > 0;
    EXECUTE 'DROP TABLE ' || hold;
    SET CONSTRAINTS ALL IMMEDIATE;
    FOREACH statement IN ARRAY restore LOOP
        EXECUTE statement;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.partition_move(regclass, int8) IS 'internal: a step: moves rows that strayed into the default partition';

CREATE FUNCTION flakeid.partition_stray(parent regclass) RETURNS int8 LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p record;
    key name := (flakeid.partition_key(parent)).attname;
    type text := (flakeid.partition_key(parent)).type;
    stray regclass;
    id int8;
    l record;
BEGIN
    p := flakeid.partition_declared(parent);
    stray := flakeid.partition_default(parent);
    IF stray IS NOT NULL THEN
        SELECT * INTO l FROM flakeid.partition_limits(parent);
        EXECUTE format('SELECT %1$I::int8 FROM %2$s WHERE %3$s ORDER BY %1$I LIMIT 1', key, stray, flakeid.between_bounds(key, type, l.young, l.past)) INTO id;
    END IF;
    RETURN id;
END
$$;
COMMENT ON FUNCTION flakeid.partition_stray(regclass) IS 'internal: the lowest id in the default partition that can leave it';

-- What stays in the default partition, and why: text for people, and kept where everybody can read it. So it tells of sealed ids no more than
-- those see who may not unseal.
CREATE FUNCTION flakeid.partition_left(parent regclass) RETURNS text LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p record;
    l record;
    r record;
    key name := (flakeid.partition_key(parent)).attname;
    type text := (flakeid.partition_key(parent)).type;
    stray regclass := flakeid.partition_default(parent);
    low int8;
    high int8;
    told text;
BEGIN
    IF stray IS NULL THEN
        RETURN NULL;
    END IF;
    p := flakeid.partition_declared(parent);
    SELECT * INTO l FROM flakeid.partition_limits(parent);
    FOR r IN SELECT * FROM (VALUES
        (-9223372036854775808, l.floor, 'carry no time of layout "%3$s": serial numbers, ids that were kept, or another generator''s'),
        (l.floor, l.young, 'are read by layout "%3$s" as %4$s, which would be taken at once, as older than %5$s: imports of that time, or ids of another layout'),
        (l.past, 9223372036854775807, 'are read by layout "%3$s" as %4$s, where that ends')) AS v (from_id, to_id, words) WHERE from_id < to_id
    LOOP
        EXECUTE format('SELECT (SELECT %1$I::int8 FROM %2$s WHERE %3$s ORDER BY %1$I LIMIT 1), (SELECT %1$I::int8 FROM %2$s WHERE %3$s ORDER BY %1$I DESC LIMIT 1)',
            key, stray, flakeid.between_bounds(key, type, r.from_id, r.to_id)) INTO low, high;
        IF low IS NOT NULL THEN
            told := concat_ws(E'\n', told, format('Ids %1$s to %2$s ' || r.words || '.', flakeid.id_text(low, type), flakeid.id_text(high, type), p.layout,
                CASE WHEN (SELECT t.typname = 'flake_sealed' FROM pg_type AS t WHERE t.oid = type::regtype) THEN 'times of sealed ids' ELSE format('%s to %s', flakeid.bound_time(low, p.layout), flakeid.bound_time(high, p.layout)) END, p.keep));
        END IF;
    END LOOP;
    RETURN told;
END
$$;
COMMENT ON FUNCTION flakeid.partition_left(regclass) IS 'internal: which rows of the default partition stay there, and why';

-- Why rows stay in the default partition, if they must. DELETE would follow the foreign keys, and rules.
CREATE FUNCTION flakeid.partition_stuck(parent regclass) RETURNS text LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT 'it is partitioned itself' FROM pg_class AS c WHERE c.oid = flakeid.partition_default(parent) AND c.relkind = 'p'
        UNION ALL (SELECT format('foreign key %I of table %s refers to them', k.conname, k.conrelid::regclass)
        FROM pg_constraint AS k WHERE k.confrelid = parent AND k.contype = 'f' AND k.conparentid = 0 ORDER BY k.conname) LIMIT 1);
END
$$;
COMMENT ON FUNCTION flakeid.partition_stuck(regclass) IS 'internal: why rows cannot leave the default partition';

CREATE FUNCTION flakeid.partition_detach(parent regclass, old regclass,
        OUT action text, OUT object text, OUT object_oid oid, OUT moved int8, OUT locked timestamptz, OUT detail text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p record;
    r record;
    half bool;
BEGIN
    SELECT i.inhdetachpending INTO half FROM pg_inherits AS i WHERE i.inhrelid = old AND i.inhparent = parent;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF half THEN
        PERFORM flakeid.partition_lock(ARRAY[parent], 'SHARE UPDATE EXCLUSIVE');
    END IF;
    locked := flakeid.partition_lock(CASE WHEN half THEN ARRAY[old] ELSE ARRAY[parent, old] END, 'ACCESS EXCLUSIVE');
    p := flakeid.partition_declared(parent);
    SELECT c.relpartbound, i.inhdetachpending INTO r FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhrelid = old AND i.inhparent = parent AND i.inhdetachpending = half;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- the rule of partition_old(), of which something may have changed meanwhile
    IF NOT half AND ((SELECT g.to_id <= flakeid.lowest_id(flakeid.partition_horizon(p.keep, p.time_zone), p.layout) FROM flakeid.partition_ranges(parent) AS g WHERE g.partition = old) IS NOT TRUE
        OR flakeid.partition_unread(parent, old, (flakeid.partition_limits(parent)).floor) IS NOT NULL
        OR flakeid.partition_held(parent) IS NOT NULL)
    THEN
        RETURN;
    END IF;
    object := old::text;
    object_oid := old::oid;
    EXECUTE format('ALTER TABLE %s DETACH PARTITION %s%s', parent, old, CASE WHEN half THEN ' FINALIZE' END);
    PERFORM flakeid.partition_mark(parent, old);
    action := 'detached';
END
$$;
COMMENT ON FUNCTION flakeid.partition_detach(regclass, regclass) IS 'internal: a step: detaches an old partition';

-- Only the owner of the table can write it there.
CREATE FUNCTION flakeid.partition_mark(parent regclass, old regclass) RETURNS void LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $$
BEGIN
    EXECUTE format('COMMENT ON TABLE %s IS %L', old, flakeid.convert_comment(jsonb_strip_nulls(jsonb_build_object(
        'of', (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = parent),
        'since', (SELECT d.said -> 'since' FROM flakeid.partition_declarations(parent) AS d),
        'at', now(), 'comment', obj_description(old, 'pg_class')))));
END
$$;
COMMENT ON FUNCTION flakeid.partition_mark(regclass, regclass) IS 'internal: writes into the comment of a table what it was a partition of, and when';

-- Names are compared as texts, since not everybody who looks may look names up in the schema of the table.
CREATE FUNCTION flakeid.partition_detached(parent regclass, OUT old regclass, OUT at timestamptz) RETURNS SETOF record LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $$
BEGIN
    RETURN QUERY SELECT c.oid::regclass, (m.memory ->> 'at')::timestamptz
        FROM pg_class AS o JOIN pg_namespace AS n ON n.oid = o.relnamespace JOIN pg_class AS c ON c.relowner = o.relowner AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            JOIN pg_description AS d ON d.classoid = 'pg_class'::regclass AND d.objoid = c.oid AND d.objsubid = 0 AND starts_with(d.description, 'flakeid '),
            flakeid.convert_memory(d.description) AS m (memory)
        -- Another table may have had that name.
        WHERE o.oid = parent AND m.memory ->> 'of' = format('%I.%I', n.nspname, o.relname)
            AND coalesce(m.memory ->> 'since' = (SELECT s.said ->> 'since' FROM flakeid.partition_declarations(parent) AS s), true);
END
$$;
COMMENT ON FUNCTION flakeid.partition_detached(regclass) IS 'internal: what was detached from a table, and when';

-- Not at once, but as late as what is detached by mistake is seen: until then it can be attached again.
CREATE FUNCTION flakeid.partition_drop(parent regclass, gone regclass,
        OUT action text, OUT object text, OUT object_oid oid, OUT moved int8, OUT locked timestamptz, OUT detail text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    locked := flakeid.partition_lock(ARRAY[gone], 'ACCESS EXCLUSIVE');
    IF EXISTS (SELECT FROM flakeid.partition_due(parent) AS d WHERE d.old = gone) THEN
        object := gone::text;
        EXECUTE format('DROP TABLE %s', gone);
        action := 'dropped';
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.partition_drop(regclass, regclass) IS 'internal: a step: drops what was detached a period ago';

CREATE FUNCTION flakeid.partition_due(parent regclass, OUT old regclass) RETURNS SETOF regclass LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p record;
BEGIN
    p := flakeid.partition_declared(parent);
    RETURN QUERY SELECT d.old FROM flakeid.partition_detached(parent) AS d WHERE p.drop_old AND d.at < now() - greatest(p.every, interval '1 day') ORDER BY d.at, 1;
END
$$;
COMMENT ON FUNCTION flakeid.partition_due(regclass) IS 'internal: what was detached from a table so long ago that it is to be dropped';

-- Why nothing of a table is detached, whatever it holds.
CREATE FUNCTION flakeid.partition_held(parent regclass) RETURNS text LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    referrer text := (flakeid.partition_strangers(parent)).referrers;
BEGIN
    RETURN CASE WHEN flakeid.partition_is_counted(parent) THEN 'A sequence makes its ids, which carry no time.' ELSE referrer END;
END
$$;
COMMENT ON FUNCTION flakeid.partition_held(regclass) IS 'internal: why retention does not work for a table';

CREATE FUNCTION flakeid.partition_is_counted(tab regclass) RETURNS bool LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on SET quote_all_identifiers = off AS $$
BEGIN
    RETURN (SELECT a.attidentity <> '' OR coalesce(pg_get_expr(f.adbin, f.adrelid) ~ '\mnextval\(', false)
        FROM flakeid.partition_key(tab) AS k JOIN pg_attribute AS a ON a.attrelid = tab AND a.attnum = k.attnum
            LEFT JOIN pg_attrdef AS f ON f.adrelid = tab AND f.adnum = k.attnum);
END
$$;
COMMENT ON FUNCTION flakeid.partition_is_counted(regclass) IS 'internal: whether a sequence makes the ids of a table';

CREATE FUNCTION flakeid.partition_validate(parent regclass, tab regclass, constraint_name name,
        OUT action text, OUT object text, OUT object_oid oid, OUT moved int8, OUT locked timestamptz, OUT detail text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM flakeid.partition_lock(ARRAY[tab], 'SHARE UPDATE EXCLUSIVE');
    IF NOT EXISTS (SELECT FROM pg_constraint AS k WHERE k.conrelid = tab AND k.conname = constraint_name AND NOT k.convalidated) THEN
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', tab, constraint_name);
    action := 'validated';
    object := format('constraint %I of table %s', constraint_name, tab);
END
$$;
COMMENT ON FUNCTION flakeid.partition_validate(regclass, regclass, name) IS 'internal: a step: validates a constraint, under a lock that disturbs nobody';

-- An error of a step is told at the end; one of somebody else's function, such as that of an event trigger, together with where it arose.
CREATE FUNCTION flakeid.partition_try(tab regclass, statement text) RETURNS jsonb LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    message text;
    state text;
    advice text;
    more text;
    place text;
BEGIN
    RETURN flakeid.as_owner(tab, statement)::jsonb;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, state = RETURNED_SQLSTATE, advice = PG_EXCEPTION_HINT, more = PG_EXCEPTION_DETAIL, place = PG_EXCEPTION_CONTEXT;
    place := (regexp_match(place, '\m(?:function|trigger) (?!flakeid\.)[^\n]*'))[1];
    RETURN jsonb_build_object('failed', CASE WHEN state IN ('55P03', '40P01') THEN 'busy' ELSE 'error' END, 'message', message, 'sqlstate', state, 'hint', advice,
        'detail', concat_ws(E'\n', nullif(more, ''), 'It arose in ' || place || '.'));
END
$$;
COMMENT ON FUNCTION flakeid.partition_try(regclass, text) IS 'internal: what a statement returns with the rights of the owner of a table, or its error';

-- Tells, does and logs one step in one transaction, and tries again when it does not get its locks. The result has the parts of the
-- step's, and failed: NULL, busy or error, with message, sqlstate and hint.
CREATE PROCEDURE flakeid.partition_step(parent regclass, tell text, step text, INOUT result jsonb) LANGUAGE plpgsql AS $$
DECLARE
    attempts int := 30;
BEGIN
    IF tell IS NOT NULL THEN
        RAISE NOTICE '%', tell;
    END IF;
    FOR attempt IN 1 .. attempts LOOP
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED; -- or the step would not see what others committed while it waited for its locks
        PERFORM flakeid.partition_begin(), flakeid.partition_lock('{}', NULL); -- no lock is waited for longer
        IF attempt > 1 THEN
            PERFORM flakeid.partition_knock(ARRAY(SELECT parent UNION SELECT i.inhrelid::regclass FROM pg_inherits AS i WHERE i.inhparent = parent
                UNION SELECT k.conrelid::regclass FROM pg_constraint AS k WHERE k.confrelid = parent AND k.contype = 'f'));
        END IF;
        result := flakeid.partition_try(parent, 'SELECT to_jsonb(r) FROM ' || step || ' AS r');
        IF result ->> 'action' IS NOT NULL THEN
            RAISE LOG '% % of table %', result ->> 'action', concat_ws(', rows: ', result ->> 'object', result ->> 'moved'), parent;
        END IF;
        COMMIT;
        PERFORM flakeid.partition_begin();
        IF result ->> 'locked' IS NOT NULL THEN
            result := result || jsonb_build_object('locked_ms', round(extract(epoch FROM clock_timestamp() - (result ->> 'locked')::timestamptz) * 1000, 1));
        END IF;
        EXIT WHEN result ->> 'failed' IS DISTINCT FROM 'busy' OR attempt = attempts;
        COMMIT;
        PERFORM pg_catalog.pg_sleep(pg_catalog.random());
    END LOOP;
END
$$;
COMMENT ON PROCEDURE flakeid.partition_step(regclass, text, text, jsonb) IS 'internal: one transaction of flakeid.partition() or flakeid.maintain()';

-- A plain table becomes partitioned: it becomes the first partition of a new table of its name.

CREATE FUNCTION flakeid.partition_obstacles(tab regclass) RETURNS SETOF text LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
DECLARE
    key int2 := (flakeid.partition_key(tab)).attnum;
    c pg_class := (SELECT r FROM pg_class AS r WHERE r.oid = tab);
    my name := (SELECT r.rolname FROM pg_roles AS r WHERE r.oid = c.relowner);
    whole_rows oid[] := ARRAY(SELECT t.oid FROM pg_type AS t WHERE t.oid = c.reltype OR t.typelem = c.reltype);
BEGIN
    RETURN QUERY SELECT o FROM (VALUES
        (c.relpersistence = 'u', 'the table is unlogged'),
        (c.reloftype <> 0, 'the table is of type ' || c.reloftype::regtype),
        (c.relispartition, 'the table is itself a partition'),
        ((SELECT a.amname FROM pg_am AS a WHERE a.oid = c.relam) <> 'heap', 'the table has another access method than heap'),
        (NOT (SELECT a.attnotnull FROM pg_attribute AS a WHERE a.attrelid = tab AND a.attnum = key),
            format('column %I may be NULL: ALTER TABLE %s ALTER %1$I SET NOT NULL', (SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = tab AND a.attnum = key), tab)),
        (NOT has_schema_privilege(my, c.relnamespace, 'CREATE'),
            format('role %I may not make tables in schema %s: GRANT CREATE ON SCHEMA %2$s TO %1$I', my, c.relnamespace::regnamespace))) AS v (holds, o) WHERE v.holds
    UNION ALL SELECT DISTINCT format('role %s may not make tables or indexes in tablespace %I: GRANT CREATE ON TABLESPACE %2$I TO %1$I', my, s.spcname)
        FROM pg_class AS r JOIN pg_tablespace AS s ON s.oid = r.reltablespace
        WHERE (r.oid = tab OR r.oid IN (SELECT i.indexrelid FROM pg_index AS i WHERE i.indrelid = tab)) AND NOT has_tablespace_privilege(my, s.oid, 'CREATE')
    UNION ALL SELECT DISTINCT format('role %s may not make %s again in schema %s: GRANT CREATE ON SCHEMA %3$s TO %1$I', my, o.what, o.nsp)
        FROM (SELECT pg_describe_object('pg_statistic_ext'::regclass, s.oid, 0) AS what, s.stxnamespace::regnamespace AS nsp FROM pg_statistic_ext AS s WHERE s.stxrelid = tab
              UNION ALL SELECT pg_describe_object('pg_class'::regclass, v.oid, 0), v.relnamespace::regnamespace FROM pg_class AS v WHERE v.oid IN (SELECT * FROM flakeid.partition_views(tab))) AS o
        WHERE o.nsp <> c.relnamespace AND NOT has_schema_privilege(my, o.nsp, 'CREATE')
    UNION ALL SELECT format('it inherits with %s', CASE WHEN i.inhrelid = tab THEN i.inhparent ELSE i.inhrelid END::regclass)
        FROM pg_inherits AS i WHERE tab IN (i.inhrelid, i.inhparent) AND NOT c.relispartition
    UNION ALL SELECT format('rule %I', w.rulename) FROM pg_rewrite AS w WHERE w.ev_class = tab
    UNION ALL SELECT format('security label of %s', l.provider) FROM pg_seclabel AS l WHERE l.classoid = 'pg_class'::regclass AND l.objoid = tab
    -- constraints and indexes
    UNION ALL SELECT format('index %s does not contain column %I, so rows of several partitions could not be unique by it', i.indexrelid::regclass, a.attname)
        FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = tab AND a.attnum = key
        WHERE i.indrelid = tab AND i.indisunique AND NOT key = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
    UNION ALL SELECT format('index %s is invalid: DROP INDEX %1$s', i.indexrelid::regclass) FROM pg_index AS i WHERE i.indrelid = tab AND NOT i.indisvalid
    UNION ALL SELECT format('exclusion constraint %I', k.conname) FROM pg_constraint AS k WHERE k.conrelid = tab AND k.contype = 'x'
    UNION ALL SELECT format('constraint %I is NO INHERIT' || CASE k.contype WHEN 'n' THEN ': ALTER TABLE %s ALTER CONSTRAINT %1$I INHERIT' ELSE '' END, k.conname, tab)
        FROM pg_constraint AS k WHERE k.conrelid = tab AND k.contype IN ('c', 'n') AND k.connoinherit
    UNION ALL SELECT format(CASE WHEN coalesce((to_jsonb(k) ->> 'conenforced')::bool, true) THEN 'constraint %I is not valid: ALTER TABLE %s VALIDATE CONSTRAINT %1$I'
            ELSE 'constraint %I is not enforced: ALTER TABLE %s DROP CONSTRAINT %1$I' END, k.conname, k.conrelid::regclass)
        FROM pg_constraint AS k WHERE tab IN (k.conrelid, k.confrelid) AND NOT k.convalidated AND k.conname <> 'flakeid_partition'
    UNION ALL SELECT format('foreign key %I refers to the table itself', k.conname) FROM pg_constraint AS k
        WHERE k.conrelid = tab AND k.confrelid = tab
    UNION ALL SELECT format('foreign key %I refers to table %s, where role %I has no right REFERENCES', k.conname, k.confrelid::regclass, my)
        FROM pg_constraint AS k WHERE k.conrelid = tab AND k.contype = 'f' AND NOT has_any_column_privilege(my, k.confrelid, 'REFERENCES')
    UNION ALL SELECT format('foreign key %I of table %s: %s', k.conname, r.oid::regclass, CASE WHEN r.relkind = 'p' THEN 'that table is partitioned'
            ELSE format('role %I does not own that table', my) END)
        FROM pg_constraint AS k JOIN pg_class AS r ON r.oid = k.conrelid
        WHERE k.confrelid = tab AND k.contype = 'f' AND k.conparentid = 0 AND r.oid <> tab AND (r.relkind = 'p' OR r.relowner <> c.relowner)
    -- The parts of a foreign key that refers to a partitioned table get names in the order in which dumps make foreign keys again.
    UNION ALL SELECT DISTINCT format('foreign key %I of table %s has a name as the server gives it to parts of foreign key %I: ALTER TABLE %2$s RENAME CONSTRAINT %1$I TO another', o.conname, o.conrelid::regclass, k.conname)
        FROM pg_constraint AS k JOIN pg_class AS r ON r.oid = k.confrelid JOIN pg_constraint AS o ON o.conrelid = k.conrelid AND o.conkey = k.conkey AND o.contype = 'f' AND o.conparentid = 0 AND o.oid <> k.oid
        WHERE k.contype = 'f' AND k.conparentid = 0 AND (k.confrelid = tab OR k.conrelid = tab AND r.relkind = 'p') AND o.conname ~ '_fkey\d*$'
    -- what hangs on the table
    UNION ALL SELECT format('trigger %I has transition tables for each row', g.tgname) FROM pg_trigger AS g
        WHERE g.tgrelid = tab AND g.tgtype & 1 = 1 AND (g.tgoldtable IS NOT NULL OR g.tgnewtable IS NOT NULL)
    UNION ALL SELECT 'its key is being converted: CALL flakeid.convert(...) until it is done' FROM pg_trigger AS g
        WHERE g.tgrelid = tab AND starts_with(g.tgname, 'zzzz_flakeid_fill_')
    UNION ALL SELECT format('trigger %I calls function %s, which role %I may not execute', g.tgname, g.tgfoid::regprocedure, my) FROM pg_trigger AS g
        WHERE g.tgrelid = tab AND NOT g.tgisinternal AND NOT has_function_privilege(my, g.tgfoid, 'EXECUTE')
    UNION ALL SELECT format('publication %I would publish partitions by their own names: ALTER PUBLICATION %1$I SET (publish_via_partition_root = true)', p.pubname)
        FROM pg_publication AS p WHERE NOT p.pubviaroot AND (p.puballtables
            OR EXISTS (SELECT FROM pg_publication_rel AS r WHERE r.prpubid = p.oid AND r.prrelid = tab)
            OR EXISTS (SELECT FROM pg_publication_namespace AS n WHERE n.pnpubid = p.oid AND n.pnnspid = c.relnamespace))
    UNION ALL SELECT format('publication %I belongs to another role', p.pubname) FROM pg_publication AS p JOIN pg_publication_rel AS r ON r.prpubid = p.oid
        WHERE r.prrelid = tab AND NOT pg_has_role(my, p.pubowner, 'USAGE')
    UNION ALL SELECT format('statistics %s.%I belong to another role: ALTER STATISTICS %1$s.%2$I OWNER TO %3$I', s.stxnamespace::regnamespace, s.stxname, my)
        FROM pg_statistic_ext AS s WHERE s.stxrelid = tab AND s.stxowner <> c.relowner
    -- Rights are granted again by the owner.
    UNION ALL SELECT DISTINCT format('rights on %s were granted by role %s: revoke them, and let it grant them again afterwards', pg_describe_object('pg_class'::regclass, o.oid, o.att), g.grantor::regrole)
        FROM (SELECT r.oid, 0 AS att, r.relacl AS acl FROM pg_class AS r WHERE r.oid = tab OR r.oid IN (SELECT d.objid FROM pg_depend AS d
                    WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = tab AND d.deptype = 'i' AND r.relkind = 'S')
              UNION ALL SELECT a.attrelid, a.attnum, a.attacl FROM pg_attribute AS a WHERE a.attrelid = tab) AS o, aclexplode(o.acl) AS g
        WHERE g.grantor <> c.relowner
    UNION ALL SELECT format('subscription %I fills the table', s.subname) FROM pg_subscription_rel AS r JOIN pg_subscription AS s ON s.oid = r.srsubid WHERE r.srrelid = tab
    UNION ALL SELECT format('view %s is a temporary one', v.oid::regclass) FROM pg_class AS v WHERE v.oid IN (SELECT * FROM flakeid.partition_views(tab)) AND v.relpersistence = 't'
    UNION ALL SELECT format('view %s belongs to another role', v.oid::regclass) FROM pg_class AS v
        WHERE v.oid IN (SELECT * FROM flakeid.partition_views(tab)) AND NOT pg_has_role(my, v.relowner, 'USAGE')
    -- everything else that names it
    UNION ALL SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_depend AS d
        WHERE (d.refclassid = 'pg_class'::regclass AND d.refobjid = tab OR d.refclassid = 'pg_type'::regclass AND d.refobjid = ANY (whole_rows))
        AND CASE d.classid
            WHEN 'pg_attrdef'::regclass THEN d.objid NOT IN (SELECT f.oid FROM pg_attrdef AS f WHERE f.adrelid = tab)
            WHEN 'pg_constraint'::regclass THEN d.objid NOT IN (SELECT k.oid FROM pg_constraint AS k WHERE tab IN (k.conrelid, k.confrelid))
            WHEN 'pg_class'::regclass THEN d.objid <> tab AND d.objid NOT IN (SELECT i.indexrelid FROM pg_index AS i WHERE i.indrelid = tab)
                AND (SELECT r.relkind FROM pg_class AS r WHERE r.oid = d.objid) NOT IN ('t', 'S')
            WHEN 'pg_type'::regclass THEN d.objid <> ALL (whole_rows)
            WHEN 'pg_trigger'::regclass THEN d.objid NOT IN (SELECT g.oid FROM pg_trigger AS g WHERE g.tgrelid = tab OR g.tgisinternal)
            WHEN 'pg_policy'::regclass THEN d.objid NOT IN (SELECT p.oid FROM pg_policy AS p WHERE p.polrelid = tab)
            WHEN 'pg_statistic_ext'::regclass THEN d.objid NOT IN (SELECT s.oid FROM pg_statistic_ext AS s WHERE s.stxrelid = tab)
            WHEN 'pg_publication_rel'::regclass THEN false
            WHEN 'pg_rewrite'::regclass THEN (SELECT w.ev_class FROM pg_rewrite AS w WHERE w.oid = d.objid) NOT IN (SELECT * FROM flakeid.partition_views(tab))
            ELSE true END
    UNION ALL SELECT 'it belongs to ' || pg_describe_object(d.refclassid, d.refobjid, 0) FROM pg_depend AS d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = tab AND d.deptype IN ('e', 'x');
END
$$;
COMMENT ON FUNCTION flakeid.partition_obstacles(regclass) IS 'internal: why a table cannot become partitioned';

CREATE FUNCTION flakeid.partition_views(tab regclass) RETURNS SETOF oid LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT DISTINCT v.oid FROM pg_depend AS d JOIN pg_rewrite AS w ON w.oid = d.objid AND w.rulename = '_RETURN'
        JOIN pg_class AS v ON v.oid = w.ev_class AND v.relkind = 'v'
        WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = tab ORDER BY v.oid;
END
$$;
COMMENT ON FUNCTION flakeid.partition_views(regclass) IS 'internal: views that name a table';

CREATE FUNCTION flakeid.partition_require(tab regclass) RETURNS void LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    obstacles text := (SELECT string_agg(o, E'\n' ORDER BY o COLLATE "C") FROM (
        SELECT * FROM flakeid.partition_places(tab)
        UNION ALL SELECT * FROM flakeid.partition_obstacles((SELECT c.oid FROM pg_class AS c WHERE c.oid = tab AND c.relkind = 'r'))) AS s (o));
BEGIN
    IF obstacles IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('table %s cannot become partitioned', tab), DETAIL = obstacles;
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.partition_require(regclass) IS 'internal: an error that names what keeps a table from becoming partitioned';

-- The bound of the first partition, of the constraint that keeps later ids out of the table.
CREATE FUNCTION flakeid.partition_bound(tab regclass, OUT bound int8, OUT valid bool) LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT flakeid.bound_id((regexp_match(pg_get_constraintdef(k.oid), '''([^'']+)''::[^'']+$'))[1], (flakeid.partition_key(tab)).type), k.convalidated
        INTO bound, valid FROM pg_constraint AS k WHERE k.conrelid = tab AND k.conname = 'flakeid_partition';
END
$$;
COMMENT ON FUNCTION flakeid.partition_bound(regclass) IS 'internal: how far a partitioning that has begun has come';

CREATE FUNCTION flakeid.partition_fence(tab regclass, past int8,
        OUT action text, OUT object text, OUT object_oid oid, OUT moved int8, OUT locked timestamptz, OUT detail text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    key name := (flakeid.partition_key(tab)).attname;
    type text := (flakeid.partition_key(tab)).type;
BEGIN
    locked := flakeid.partition_lock(ARRAY[tab], 'ACCESS EXCLUSIVE');
    IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = tab AND c.relkind = 'r' AND NOT c.relispartition) THEN
        RETURN;
    END IF;
    IF (flakeid.partition_bound(tab)).bound IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT flakeid_partition', tab);
        action := 'removed constraint';
    END IF;
    IF past IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s ADD CONSTRAINT flakeid_partition CHECK (%s) NOT VALID', tab,
            flakeid.between_bounds(key, type, -9223372036854775808, past));
        action := 'added constraint';
    END IF;
    object := 'flakeid_partition';
END
$$;
COMMENT ON FUNCTION flakeid.partition_fence(regclass, int8) IS 'internal: a step: adds the constraint that holds what will be the first partition, or removes it';

-- Statements that make anew what stands round a table, in SQL. Those who convert a key write them too.

CREATE FUNCTION flakeid.grant_statements(acl aclitem[], sql text, columns text) RETURNS SETOF text LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT format('GRANT %s ON %s TO %s%s', concat_ws(' ', a.privilege_type, nullif(columns, '')), sql,
            CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' END)
        FROM (SELECT e.privilege_type, e.grantee, bool_or(e.is_grantable) AS is_grantable FROM aclexplode(acl) AS e GROUP BY 1, 2) AS a ORDER BY a.grantee, a.privilege_type;
END
$$;
COMMENT ON FUNCTION flakeid.grant_statements(aclitem[], text, text) IS 'internal: the rights of an access list, in SQL';

CREATE FUNCTION flakeid.comment_statements(comment text, sql text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN comment IS NULL THEN '{}' ELSE ARRAY[format('COMMENT ON %s IS %L', sql, comment)] END;
END;
COMMENT ON FUNCTION flakeid.comment_statements(text, text) IS 'internal: a comment, if there is one, in SQL';

CREATE FUNCTION flakeid.policy_statements(policy oid) RETURNS text[] LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT format('CREATE POLICY %I ON %s AS %s FOR %s TO %s%s%s', p.polname, p.polrelid::regclass,
            CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
            CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
            (SELECT string_agg(CASE r WHEN 0 THEN 'PUBLIC' ELSE r::regrole::text END, ', ') FROM unnest(p.polroles) AS r),
            ' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')', ' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')')
        || flakeid.comment_statements(obj_description(p.oid, 'pg_policy'), format('POLICY %I ON %s', p.polname, p.polrelid::regclass))
        FROM pg_policy AS p WHERE p.oid = policy);
END
$$;
COMMENT ON FUNCTION flakeid.policy_statements(oid) IS 'internal: a policy, in SQL';

CREATE FUNCTION flakeid.trigger_statements(trigger oid) RETURNS text[] LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT pg_get_triggerdef(g.oid)
        || CASE WHEN g.tgenabled = 'O' THEN '{}' ELSE ARRAY[format('ALTER TABLE %s %s TRIGGER %I', g.tgrelid::regclass,
            CASE g.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE REPLICA' END, g.tgname)] END
        || flakeid.comment_statements(obj_description(g.oid, 'pg_trigger'), format('TRIGGER %I ON %s', g.tgname, g.tgrelid::regclass))
        FROM pg_trigger AS g WHERE g.oid = trigger);
END
$$;
COMMENT ON FUNCTION flakeid.trigger_statements(oid) IS 'internal: a trigger, in SQL';

CREATE FUNCTION flakeid.statistics_statements(statistics oid) RETURNS text[] LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT pg_get_statisticsobjdef(s.oid)
        || CASE WHEN s.stxstattarget >= 0 THEN ARRAY[format('ALTER STATISTICS %s.%I SET STATISTICS %s', s.stxnamespace::regnamespace, s.stxname, s.stxstattarget)] ELSE '{}' END
        || flakeid.comment_statements(obj_description(s.oid, 'pg_statistic_ext'), format('STATISTICS %s.%I', s.stxnamespace::regnamespace, s.stxname))
        FROM pg_statistic_ext AS s WHERE s.oid = statistics);
END
$$;
COMMENT ON FUNCTION flakeid.statistics_statements(oid) IS 'internal: extended statistics, in SQL';

CREATE FUNCTION flakeid.partition_swap(tab regclass, said jsonb,
        OUT action text, OUT object text, OUT object_oid oid, OUT moved int8, OUT locked timestamptz, OUT detail text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp SET default_tablespace = '' AS $$
DECLARE
    c pg_class;
    key name := (flakeid.partition_key(tab)).attname;
    type text := (flakeid.partition_key(tab)).type;
    bound int8;
    valid bool;
    whole text;   -- the name of the table, before and after
    first name;   -- what it is called as the first partition
    first_table text;
    i record;
    statement text;
    before text[] := '{}';
    after text[] := '{}';
    space text;
    called bool;
BEGIN
    locked := flakeid.partition_lock(ARRAY(SELECT DISTINCT k.conrelid::regclass FROM pg_constraint AS k
        WHERE k.confrelid = tab AND k.contype = 'f' ORDER BY 1) || tab, 'ACCESS EXCLUSIVE');
    SELECT * INTO c FROM pg_class AS r WHERE r.oid = tab;
    IF c.relkind = 'p' THEN
        RETURN;
    END IF;
    PERFORM flakeid.partition_require(tab);
    SELECT b.bound, b.valid INTO bound, valid FROM flakeid.partition_bound(tab) AS b;
    IF valid IS NOT TRUE THEN
        RAISE object_in_use USING MESSAGE = 'constraint flakeid_partition is not valid any more', DETAIL = 'Another session has replaced it meanwhile.';
    END IF;
    whole := format('%s.%I', c.relnamespace::regnamespace, c.relname);
    first := flakeid.free_name(c.relnamespace, c.relname, '_before' || flakeid.period_name(flakeid.time_of(bound, said ->> 'layout'), (said ->> 'every')::interval, coalesce(said ->> 'time_zone', 'UTC')));
    first_table := format('%s.%I', c.relnamespace::regnamespace, first);
    space := (SELECT ' TABLESPACE ' || quote_ident(t.spcname) FROM pg_tablespace AS t WHERE t.oid = c.reltablespace);

    -- All that is to be said of the new table is written down while the names still are those of the old one.

    -- columns
    FOR i IN SELECT a.* FROM pg_attribute AS a WHERE a.attrelid = tab AND a.attnum > 0 AND NOT a.attisdropped LOOP
        IF i.attstattarget >= 0 THEN
            after := after || format('ALTER TABLE %s ALTER %I SET STATISTICS %s', whole, i.attname, i.attstattarget);
        END IF;
        IF flakeid.option_list(i.attoptions, '') <> '' THEN
            after := after || format('ALTER TABLE %s ALTER %I SET (%s)', whole, i.attname, flakeid.option_list(i.attoptions, ''));
        END IF;
        after := after || ARRAY(SELECT * FROM flakeid.grant_statements(i.attacl, 'TABLE ' || whole, format('(%I)', i.attname)));
    END LOOP;
    -- sequences: those of identity columns are made anew, those of serial columns change hands
    FOR i IN SELECT s.oid::regclass AS seq, s.relname, s.relacl, q.*, a.attname, a.attidentity
        FROM pg_depend AS d JOIN pg_class AS s ON s.oid = d.objid AND s.relkind = 'S' JOIN pg_sequence AS q ON q.seqrelid = s.oid
            JOIN pg_attribute AS a ON a.attrelid = tab AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = tab AND d.deptype IN ('a', 'i')
    LOOP
        IF i.attidentity = '' THEN
            after := after || format('ALTER SEQUENCE %s OWNED BY %s.%I', i.seq, whole, i.attname);
        ELSE
            EXECUTE format('SELECT last_value, is_called FROM %s', i.seq) INTO moved, called;
            before := before || format('ALTER TABLE %s ALTER %I DROP IDENTITY', tab, i.attname);
            after := after || format('ALTER TABLE %s ALTER %I ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s %s CYCLE)',
                    whole, i.attname, CASE i.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, i.seq,
                    i.seqincrement, i.seqmin, i.seqmax, i.seqstart, i.seqcache, CASE WHEN NOT i.seqcycle THEN 'NO' END)
                || format('SELECT pg_catalog.setval(%L, %s, %L)', i.seq, moved, called)
                || ARRAY(SELECT flakeid.convert_no_defaults(c.relowner, 'S', 'SEQUENCE ' || i.seq, i.relacl) UNION ALL SELECT flakeid.grant_statements(i.relacl, 'SEQUENCE ' || i.seq, ''))
                || flakeid.comment_statements(obj_description(i.seq, 'pg_class'), 'SEQUENCE ' || i.seq);
        END IF;
    END LOOP;
    moved := NULL;
    -- rights and row level security
    after := after || ARRAY(SELECT * FROM flakeid.grant_statements(coalesce(c.relacl, acldefault('r', c.relowner)), 'TABLE ' || whole, ''));
    IF c.relrowsecurity THEN
        after := after || format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', whole);
    END IF;
    IF c.relforcerowsecurity THEN
        after := after || format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', whole);
    END IF;
    FOR i IN SELECT p.oid FROM pg_policy AS p WHERE p.polrelid = tab LOOP
        after := after || flakeid.policy_statements(i.oid);
    END LOOP;
    -- indexes, whose names the new table's take, and constraints
    FOR i IN SELECT r.oid, r.relname, x.indisreplident, k.oid AS con, k.conname, flakeid.convert_index_text(r.oid) AS def, flakeid.convert_key_text(k.oid) AS condef
        FROM pg_index AS x JOIN pg_class AS r ON r.oid = x.indexrelid LEFT JOIN pg_constraint AS k ON k.conindid = r.oid AND k.conrelid = tab AND k.contype IN ('p', 'u')
        WHERE x.indrelid = tab ORDER BY r.oid
    LOOP
        IF i.con IS NULL THEN
            after := after || i.def
                || ARRAY(SELECT format('ALTER INDEX %s.%I ALTER %s SET STATISTICS %s', c.relnamespace::regnamespace, i.relname, a.attnum, a.attstattarget)
                         FROM pg_attribute AS a WHERE a.attrelid = i.oid AND a.attstattarget >= 0);
        ELSE
            after := after || format('ALTER TABLE %s ADD CONSTRAINT %I %s', whole, i.conname, i.condef)
                || flakeid.comment_statements(obj_description(i.con, 'pg_constraint'), format('CONSTRAINT %I ON %s', i.conname, whole));
        END IF;
        after := after || flakeid.comment_statements(obj_description(i.oid, 'pg_class'), format('INDEX %s.%I', c.relnamespace::regnamespace, i.relname));
        IF i.indisreplident THEN
            after := after || format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', whole, i.relname);
        END IF;
        EXECUTE format('ALTER INDEX %s RENAME TO %I', i.oid::regclass, CASE WHEN starts_with(i.relname, c.relname::text)
            THEN flakeid.free_name(c.relnamespace, first, substr(i.relname, length(c.relname) + 1)) ELSE flakeid.free_name(c.relnamespace, i.relname, '_before') END);
    END LOOP;
    IF c.relreplident IN ('f', 'n') THEN
        after := after || format('ALTER TABLE %s REPLICA IDENTITY %s', whole, CASE c.relreplident WHEN 'f' THEN 'FULL' ELSE 'NOTHING' END);
    END IF;
    FOR i IN SELECT k.oid, k.conname, pg_get_constraintdef(k.oid) AS def FROM pg_constraint AS k WHERE k.conrelid = tab AND k.contype = 'f' AND k.conparentid = 0 ORDER BY k.conname LOOP
        after := after || format('ALTER TABLE %s ADD CONSTRAINT %I %s', whole, i.conname, i.def)
            || flakeid.comment_statements(obj_description(i.oid, 'pg_constraint'), format('CONSTRAINT %I ON %s', i.conname, whole));
    END LOOP;
    -- extended statistics
    FOR i IN SELECT s.oid, s.stxname, s.stxnamespace FROM pg_statistic_ext AS s WHERE s.stxrelid = tab LOOP
        after := after || flakeid.statistics_statements(i.oid);
        EXECUTE format('ALTER STATISTICS %s.%I RENAME TO %I', i.stxnamespace::regnamespace, i.stxname, flakeid.free_name(i.stxnamespace, i.stxname, '_before'));
    END LOOP;
    -- triggers: attaching gives the partition those for each row anew
    FOR i IN SELECT g.oid, g.tgname FROM pg_trigger AS g WHERE g.tgrelid = tab AND NOT g.tgisinternal ORDER BY g.tgname LOOP
        before := before || format('DROP TRIGGER %I ON %s', i.tgname, tab);
        after := after || flakeid.trigger_statements(i.oid);
    END LOOP;
    after := after || flakeid.comment_statements(obj_description(tab, 'pg_class'), 'TABLE ' || whole);
    -- the table becomes the first partition
    after := after || format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (MINVALUE) TO (%s)', whole, first_table, flakeid.bound_literal(bound, type))
        || format('ALTER TABLE %s DROP CONSTRAINT flakeid_partition', first_table);
    -- tables that refer to it: each new row is checked from now on, those that are there when the constraint is validated
    FOR i IN SELECT k.oid, k.conname, k.conrelid::regclass AS referrer, pg_get_constraintdef(k.oid) AS def
        FROM pg_constraint AS k WHERE k.confrelid = tab AND k.contype = 'f' ORDER BY k.conrelid, k.conname
    LOOP
        before := before || format('ALTER TABLE %s DROP CONSTRAINT %I', i.referrer, i.conname);
        after := after || format('ALTER TABLE %s ADD CONSTRAINT %I %s NOT VALID', i.referrer, i.conname, i.def)
            || flakeid.comment_statements(obj_description(i.oid, 'pg_constraint'), format('CONSTRAINT %I ON %s', i.conname, i.referrer));
    END LOOP;
    -- publications
    FOR i IN SELECT p.pubname, pg_get_expr(r.prqual, tab) AS filter,
            (SELECT ' (' || string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) || ')' FROM pg_attribute AS a WHERE a.attrelid = tab AND a.attnum = ANY (r.prattrs)) AS columns
        FROM pg_publication_rel AS r JOIN pg_publication AS p ON p.oid = r.prpubid WHERE r.prrelid = tab ORDER BY p.pubname
    LOOP
        before := before || format('ALTER PUBLICATION %I DROP TABLE %s', i.pubname, tab);
        after := after || format('ALTER PUBLICATION %I ADD TABLE %s%s%s', i.pubname, whole, i.columns, ' WHERE (' || i.filter || ')');
    END LOOP;
    -- views
    FOR i IN SELECT v.oid::regclass AS view, v.reloptions, rtrim(pg_get_viewdef(v.oid), ';') AS def FROM pg_class AS v WHERE v.oid IN (SELECT * FROM flakeid.partition_views(tab)) ORDER BY v.oid LOOP
        after := after || format('CREATE OR REPLACE VIEW %s%s AS %s', i.view, ' WITH (' || flakeid.option_list(i.reloptions, '') || ')', i.def);
    END LOOP;

    FOREACH statement IN ARRAY before LOOP
        EXECUTE statement;
    END LOOP;
    EXECUTE format('ALTER TABLE %s RENAME TO %I', tab, first);
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY EXCLUDING STATISTICS) PARTITION BY RANGE (%I)%s', whole, first_table, key, space);
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT flakeid_partition', whole);
    FOR statement IN SELECT DISTINCT format('REVOKE ALL ON TABLE %s FROM %s', whole, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
        FROM pg_class AS r, aclexplode(coalesce(r.relacl, acldefault('r', r.relowner))) AS a WHERE r.oid = whole::regclass
    LOOP
        EXECUTE statement;
    END LOOP;
    FOREACH statement IN ARRAY after LOOP
        EXECUTE statement;
    END LOOP;
    PERFORM flakeid.partition_declare(whole::regclass, said);
    action := 'partitioned';
    object := first_table;
    object_oid := tab::oid;
END
$$;
COMMENT ON FUNCTION flakeid.partition_swap(regclass, jsonb) IS 'internal: a step: makes a plain table the first partition of a new one of its name';

-- What people call

CREATE FUNCTION flakeid.partition_layout(tab regclass, layout text) RETURNS text LANGUAGE plpgsql STABLE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on SET quote_all_identifiers = off AS $$
BEGIN
    IF layout IS NULL THEN
        layout := (SELECT d.said ->> 'layout' FROM flakeid.partition_declarations(tab) AS d);
    END IF;
    IF layout IS NULL THEN
        layout := (SELECT (regexp_match(pg_get_expr(f.adbin, f.adrelid), 'flake_next\(''([^'']+)''::text'))[1]
            FROM pg_attrdef AS f WHERE f.adrelid = tab AND f.adnum = (flakeid.partition_key(tab)).attnum);
    END IF;
    layout := coalesce(layout, nullif(current_setting('flakeid.layout', true), ''), 'snowflake');
    PERFORM flakeid.lowest_id(now(), layout);
    RETURN layout;
END
$$;
COMMENT ON FUNCTION flakeid.partition_layout(regclass, text) IS 'internal: the layout of the ids of a table: as given, declared, or named by the default of the column, or flakeid.layout';

CREATE FUNCTION flakeid.partition_check(every interval, ahead int4, keep interval, time_zone text) RETURNS void LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    months numeric := extract(year FROM every) * 12 + extract(month FROM every);
    seconds numeric := extract(day FROM every) * 86400 + extract(hour FROM every) * 3600 + extract(minute FROM every) * 60 + extract(second FROM every);
BEGIN
    IF every IS NULL OR (months > 0 AND seconds = 0 OR months = 0 AND seconds > 0 AND seconds % 3600 = 0) IS NOT TRUE THEN
        RAISE invalid_parameter_value USING MESSAGE = format('every is %s', coalesce(every::text, 'NULL')), DETAIL = 'It is a number of months, or of whole hours.';
    ELSIF seconds <> extract(day FROM every) * 86400 AND time_zone IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('every is %s', every), DETAIL = 'With time_zone it is a number of months or days, which begin at midnight there.';
    ELSIF ahead IS NULL OR ahead NOT BETWEEN 1 AND 1000 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('ahead is %s', coalesce(ahead::text, 'NULL')), DETAIL = 'It is from 1 to 1000.';
    ELSIF keep <= interval '0' THEN
        RAISE invalid_parameter_value USING MESSAGE = format('keep is %s', keep), DETAIL = 'It is longer than no time, or NULL to keep everything.';
    END IF;
    PERFORM now() AT TIME ZONE time_zone, now() - keep, now() + (ahead + 2) * every; -- moments that there are
END
$$;
COMMENT ON FUNCTION flakeid.partition_check(interval, int4, interval, text) IS 'internal: an error where arguments of flakeid.partition() make no sense';

CREATE FUNCTION flakeid.partition_fail(result jsonb, advice text) RETURNS void LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    hint text := coalesce(nullif(result ->> 'hint', ''), advice);
BEGIN
    IF result ->> 'detail' <> '' THEN
        RAISE EXCEPTION USING ERRCODE = result ->> 'sqlstate', MESSAGE = result ->> 'message', DETAIL = result ->> 'detail', HINT = hint;
    END IF;
    RAISE EXCEPTION USING ERRCODE = result ->> 'sqlstate', MESSAGE = result ->> 'message', HINT = hint;
END
$$;
COMMENT ON FUNCTION flakeid.partition_fail(jsonb, text) IS 'internal: raises the error of a step';

-- Somebody has to say by which layout ids carry a time: the default of the column, an earlier call, or this one.
CREATE FUNCTION flakeid.partition_source(tab regclass, layout text) RETURNS void LANGUAGE plpgsql STABLE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on SET quote_all_identifiers = off AS $$
DECLARE
    made text := (SELECT pg_get_expr(f.adbin, f.adrelid) FROM pg_attrdef AS f WHERE f.adrelid = tab AND f.adnum = (flakeid.partition_key(tab)).attnum);
BEGIN
    IF flakeid.partition_is_counted(tab) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('nothing says how old the rows of table %s are', tab),
            DETAIL = 'A sequence makes its ids, which carry no time.',
            HINT = format('CALL flakeid.convert(%L%s) first; or leave keep out.', tab, (SELECT ', type => ''bigint''' FROM pg_class AS c WHERE c.oid = tab AND c.relkind = 'p'));
    ELSIF layout IS NULL AND coalesce(made, '') !~ '\mflake_next\(' AND NOT EXISTS (SELECT FROM flakeid.partition_declarations(tab) AS d WHERE d.said ? 'layout') THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('nothing says how old the rows of table %s are', tab),
            DETAIL = 'The default of its ids is not flake_next(), and no layout is given.', HINT = 'Add layout => with that of the program that makes them.';
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.partition_source(regclass, text) IS 'internal: an error where retention could not know how old rows are';

CREATE FUNCTION flakeid.partition_places(tab regclass) RETURNS SETOF text LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    distributed bool := false;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition AS d WHERE d.logicalrelid = $1)' INTO distributed USING tab;
    END IF;
    RETURN QUERY SELECT o FROM (VALUES
        ((SELECT c.relpersistence FROM pg_class AS c WHERE c.oid = tab) = 't', 'the table is temporary'),
        (distributed, 'Citus distributes the table, and allows no trigger on it, where flakeid.partition() writes down what it is told'),
        (EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = tab AND g.tgname = 'flakeid_partitions' AND g.tgfoid <> 'flakeid.declared()'::regprocedure),
            format('trigger flakeid_partitions is of another function: DROP TRIGGER flakeid_partitions ON %s', tab))) AS v (holds, o) WHERE v.holds;
END
$$;
COMMENT ON FUNCTION flakeid.partition_places(regclass) IS 'internal: why a table cannot be declared';

CREATE PROCEDURE flakeid.partition(parent regclass, every interval, ahead int4 DEFAULT 3, keep interval DEFAULT NULL, layout text DEFAULT NULL,
        drop_old bool DEFAULT false, time_zone text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
    whole pg_catalog.text;
    said pg_catalog.jsonb;
    past pg_catalog.int8;
    have pg_catalog.record;
    highest pg_catalog.int8;
    result pg_catalog.jsonb;
    failure pg_catalog.jsonb;
    again pg_catalog.text;
    longest numeric := 0;
    zone pg_catalog.text;
    i pg_catalog.record;
BEGIN
    PERFORM flakeid.partition_begin();
    PERFORM flakeid.partition_ask(parent), flakeid.partition_check(every, ahead, keep, time_zone),
        flakeid.convert_kept(parent, (flakeid.partition_key(parent)).attnum);
    IF keep IS NOT NULL THEN
        PERFORM flakeid.partition_source(parent, layout);
    END IF;
    layout := flakeid.partition_layout(parent, layout);
    PERFORM flakeid.partition_require(parent);
    IF flakeid.partition_is_counted(parent) THEN
        RAISE WARNING 'all new rows of table % will lie in one partition', parent
            USING DETAIL = 'A sequence makes its ids, which carry no time.', HINT = format('CALL flakeid.convert(%L, type => ''bigint'');', parent);
    END IF;
    said := jsonb_build_object('every', every, 'ahead', ahead, 'keep', keep, 'layout', layout, 'drop_old', drop_old, 'time_zone', time_zone);
    zone := coalesce(time_zone, 'UTC');
    whole := parent::text;
    again := format('CALL flakeid.partition(%L, %L, %s, %L, %L, %L%s);', whole, every, ahead, keep, layout, drop_old, ', ' || quote_literal(time_zone));
    -- Each step finds the table by its name, which is that of the whole once another session has partitioned it meanwhile.
    IF (SELECT c.relkind FROM pg_class AS c WHERE c.oid = parent) = 'r' THEN
        SELECT * INTO have FROM flakeid.partition_bound(parent);
        -- Until the table is a partition, its constraint refuses ids past the bound. So that lies a period ahead, and a day at least.
        past := flakeid.lowest_id((flakeid.period_of(now() + greatest(every, interval '1 day'), every, zone)).ends, layout);
        IF have.bound IS NULL OR flakeid.time_of(have.bound, layout) < now() + interval '1 hour'
            OR flakeid.lowest_id((flakeid.period_of(flakeid.time_of(have.bound, layout), every, zone)).starts, layout) <> have.bound
        THEN
            highest := flakeid.as_owner(parent, format('SELECT %1$I::int8 FROM %2$s ORDER BY %1$I DESC LIMIT 1', (flakeid.partition_key(parent)).attname, parent));
            IF highest >= past THEN
                RAISE object_not_in_prerequisite_state USING MESSAGE = format('table %s cannot become partitioned', parent),
                    DETAIL = format('Its highest id is %s, which layout "%s" reads as %s.', highest, layout, flakeid.time_of(highest, layout));
            END IF;
            CALL flakeid.partition_step(parent, format('adding constraint flakeid_partition to table %s; until this ends, it refuses ids made from %s on',
                parent, flakeid.time_of(past, layout)), format('flakeid.partition_fence(%L, %s)', whole, past), result);
            IF result ->> 'failed' IS NOT NULL THEN
                PERFORM flakeid.partition_fail(result, again);
            END IF;
            longest := greatest(longest, (result ->> 'locked_ms')::numeric);
        END IF;
        IF (flakeid.partition_bound(parent)).valid IS NOT TRUE THEN
            CALL flakeid.partition_step(parent, format('validating constraint flakeid_partition of table %s, which reads the table and disturbs nobody', parent),
                format('flakeid.partition_validate(%L, %L, %L)', whole, whole, 'flakeid_partition'), result);
            IF result ->> 'failed' IS NOT NULL THEN
                PERFORM flakeid.partition_fail(result, again);
            END IF;
        END IF;
        CALL flakeid.partition_step(parent, format('making table %s the first partition of a new table of its name', parent),
            format('flakeid.partition_swap(%L, %L)', whole, said), result);
        IF result ->> 'failed' = 'busy' OR result ->> 'sqlstate' = '55006' THEN -- the constraint stays: it may be another session's
            PERFORM flakeid.partition_fail(result, again);
        ELSIF result ->> 'failed' IS NOT NULL THEN
            failure := result;
            CALL flakeid.partition_step(parent, 'removing constraint flakeid_partition again', format('flakeid.partition_fence(%L, NULL)', whole), result);
            PERFORM flakeid.partition_fail(failure, again);
        END IF;
        longest := greatest(longest, (result ->> 'locked_ms')::numeric);
        parent := whole::regclass;
        COMMIT;
        PERFORM flakeid.partition_begin();
    END IF;
    IF (SELECT d.said - 'since' FROM flakeid.partition_declarations(parent) AS d) IS DISTINCT FROM jsonb_strip_nulls(said) THEN
        CALL flakeid.partition_step(parent, format('declaring table %s', parent), format('flakeid.partition_declare(%L, %L)', parent, said), result);
        IF result ->> 'failed' IS NOT NULL THEN
            PERFORM flakeid.partition_fail(result, again);
        END IF;
    END IF;
    COMMIT;
    CALL flakeid.maintain(parent);
    PERFORM flakeid.partition_begin();
    FOR i IN SELECT k.conname, k.conrelid::regclass AS referrer FROM pg_constraint AS k
        WHERE k.confrelid = parent AND k.contype = 'f' AND k.conparentid = 0 AND NOT k.convalidated AND coalesce((to_jsonb(k) ->> 'conenforced')::bool, true) ORDER BY 2, 1
    LOOP
        CALL flakeid.partition_step(parent, format('validating constraint %I of table %s', i.conname, i.referrer),
            format('flakeid.partition_validate(%L, %L, %L)', parent, i.referrer, i.conname), result);
        IF result ->> 'failed' IS NOT NULL THEN
            PERFORM flakeid.partition_fail(result, again);
        END IF;
    END LOOP;
    IF (SELECT c.reltuples FROM pg_class AS c WHERE c.oid = parent) < 0 THEN
        RAISE NOTICE 'analyzing table %', parent;
        EXECUTE format('ANALYZE %s', parent);
    END IF;
    IF longest > 0 THEN
        RAISE NOTICE 'table % is partitioned; the longest lock was held for % ms', parent, longest;
    END IF;
END
$$;
COMMENT ON PROCEDURE flakeid.partition(regclass, interval, int4, interval, text, bool, text) IS
    'partitions a table by its ids, one for each period, and some ahead; what is older than keep is detached, and dropped a period later if so told; call it again to alter that, or to go on';

CREATE FUNCTION flakeid.partition_todo(parent regclass) RETURNS jsonb LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    p record;
    stray int8;
    stuck text;
    remains text;
    held text;
    old jsonb;
BEGIN
    PERFORM flakeid.partition_alone(parent);
    p := flakeid.partition_declared(parent);
    stray := flakeid.partition_stray(parent);
    stuck := CASE WHEN stray IS NOT NULL THEN flakeid.partition_stuck(parent) END;
    remains := concat_ws(E'\n', stuck, flakeid.partition_left(parent));
    held := CASE WHEN p.keep IS NOT NULL THEN flakeid.partition_held(parent) END;
    old := coalesce((SELECT jsonb_agg(o) FROM flakeid.partition_old(parent) AS o), '[]');
    RETURN jsonb_build_object(
        'missing', coalesce((SELECT jsonb_agg(m) FROM flakeid.partition_missing(parent) AS m), '[]'),
        'moves', stray IS NOT NULL AND stuck IS NULL,
        'old', (SELECT coalesce(jsonb_agg(o), '[]') FROM jsonb_array_elements(old) AS o WHERE (o ->> 'detaching')::bool OR held IS NULL AND o ->> 'unread' IS NULL),
        'due', coalesce((SELECT jsonb_agg(jsonb_build_object('old', d.old)) FROM flakeid.partition_due(parent) AS d), '[]'),
        'said', p.problem,
        'warnings', (SELECT coalesce(jsonb_agg(w), '[]') FROM (
            SELECT format('rows stay in the default partition of table %s', parent) AS message, remains AS detail WHERE remains <> ''
            UNION ALL SELECT format('no partition of table %s is detached', parent), held WHERE held IS NOT NULL
            UNION ALL SELECT format('partition %s of table %s stays', o ->> 'partition', parent),
                format('Its id %s carries no time of layout "%s", and only where each id does retention knows how old rows are.',
                    flakeid.id_text((o ->> 'unread')::int8, (flakeid.partition_key(parent)).type), p.layout)
            FROM jsonb_array_elements(old) AS o WHERE o ->> 'unread' IS NOT NULL) AS w));
END
$$;
COMMENT ON FUNCTION flakeid.partition_todo(regclass) IS 'internal: what flakeid.maintain() finds to do, and what it cannot do';

-- What the last run could not do is kept beside the declaration, where the view finds it.
CREATE FUNCTION flakeid.partition_note(parent regclass, told text) RETURNS jsonb LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT to_jsonb(flakeid.partition_declare(partition_note.parent, d.said || jsonb_build_object('problem', told))) FROM flakeid.partition_declarations(partition_note.parent) AS d WHERE d.said IS NOT NULL);
END
$$;
COMMENT ON FUNCTION flakeid.partition_note(regclass, text) IS 'internal: writes down what flakeid.maintain() could not do';

CREATE PROCEDURE flakeid.maintain(parent regclass DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
    parents pg_catalog.regclass[];
    p pg_catalog.regclass;
    i pg_catalog.record;
    todo pg_catalog.jsonb;
    told pg_catalog.text[];
    result pg_catalog.jsonb;
    failed pg_catalog.jsonb;
BEGIN
    PERFORM flakeid.partition_begin();
    IF parent IS NULL THEN
        parents := ARRAY(SELECT d.parent FROM flakeid.partition_declarations(NULL) AS d WHERE pg_has_role(current_user, d.owner, 'USAGE'));
    ELSE
        PERFORM flakeid.partition_ask(parent), flakeid.partition_declared(parent);
        parents := ARRAY[parent];
    END IF;
    COMMIT;
    FOREACH p IN ARRAY parents LOOP
        PERFORM flakeid.partition_begin();
        told := '{}';
        -- Somebody who keeps a table locked keeps nobody else's from being maintained.
        CALL flakeid.partition_step(p, NULL, format('flakeid.partition_todo(%L)', p), todo);
        IF todo ? 'failed' THEN
            failed := coalesce(failed, todo);
            IF parent IS NULL THEN
                RAISE WARNING 'table % is not maintained: %', p, todo ->> 'message';
            END IF;
            COMMIT;
            CONTINUE;
        END IF;
        FOR i IN SELECT jsonb_agg(m.v ORDER BY m.n) AS these, string_agg(quote_ident(m.v ->> 'name'), ', ' ORDER BY m.n) AS names
            FROM jsonb_array_elements(todo -> 'missing') WITH ORDINALITY AS m (v, n) GROUP BY (m.n - 1) / flakeid.partition_batch(p) ORDER BY min(m.n)
        LOOP
            CALL flakeid.partition_step(p, format('making %s %s of table %s', CASE WHEN jsonb_array_length(i.these) > 1 THEN 'partitions' ELSE 'partition' END, i.names, p),
                format('flakeid.partition_add(%L, %L)', p, i.these), result);
            told := told || (result ->> 'message');
            failed := coalesce(failed, CASE WHEN result ->> 'failed' IS NOT NULL THEN result END);
        END LOOP;
        FOR i IN SELECT * FROM jsonb_to_recordset(todo -> 'warnings') AS w (message text, detail text) LOOP
            RAISE WARNING '%', i.message USING DETAIL = i.detail;
            told := told || (i.message || ': ' || i.detail);
        END LOOP;
        WHILE (todo ->> 'moves')::bool LOOP
            CALL flakeid.partition_step(p, format('moving rows out of the default partition of table %s', p), format('flakeid.partition_move(%L, 10000)', p), result);
            told := told || (result ->> 'message');
            failed := coalesce(failed, CASE WHEN result ->> 'failed' IS NOT NULL THEN result END);
            EXIT WHEN result ->> 'action' IS NULL;
        END LOOP;
        FOR i IN SELECT * FROM jsonb_to_recordset(todo -> 'old') AS o (partition text) LOOP
            CALL flakeid.partition_step(p, format('detaching partition %s of table %s', i.partition, p), format('flakeid.partition_detach(%L, %L)', p, i.partition), result);
            told := told || (result ->> 'message');
            IF result ->> 'sqlstate' = '23503' THEN
                RAISE WARNING 'partition % of table % stays, because rows of it are referred to', i.partition, p USING DETAIL = result ->> 'detail';
            ELSE
                failed := coalesce(failed, CASE WHEN result ->> 'failed' IS NOT NULL THEN result END);
            END IF;
        END LOOP;
        FOR i IN SELECT * FROM jsonb_to_recordset(todo -> 'due') AS d (old text) LOOP
            CALL flakeid.partition_step(p, format('dropping table %s, which was detached from table %s', i.old, p), format('flakeid.partition_drop(%L, %L)', p, i.old), result);
            told := told || (result ->> 'message');
            failed := coalesce(failed, CASE WHEN result ->> 'failed' IS NOT NULL THEN result END);
        END LOOP;
        IF nullif(array_to_string(told, E'\n'), '') IS DISTINCT FROM todo ->> 'said' THEN
            result := flakeid.partition_try(p, format('SELECT flakeid.partition_note(%L, %L)', p, nullif(array_to_string(told, E'\n'), '')));
            failed := coalesce(failed, CASE WHEN result ->> 'failed' = 'error' THEN result END);
        END IF;
        COMMIT;
    END LOOP;
    PERFORM flakeid.partition_begin();
    IF failed IS NOT NULL THEN
        PERFORM flakeid.partition_fail(failed, 'CALL flakeid.maintain();');
    END IF;
END
$$;
COMMENT ON PROCEDURE flakeid.maintain(regclass) IS
    'makes the next partitions of a declared table, empties its default partition, detaches what is old; without a table, of all whose owner''s rights the caller has';

CREATE FUNCTION flakeid.maintain_plan(parent regclass) RETURNS SETOF text LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = parent);
BEGIN
    PERFORM flakeid.partition_ask(parent);
    IF owner <> session_user OR owner <> current_user THEN
        RAISE insufficient_privilege USING MESSAGE = format('the statements for table %s are for a session of role %s', parent, quote_ident(owner)),
            DETAIL = 'Code of the owner of the table runs in them, with all rights of the session.', HINT = format('CALL flakeid.maintain(%L);', parent);
    END IF;
    RETURN QUERY SELECT jsonb_array_elements_text(flakeid.as_owner(parent, format('SELECT flakeid.partition_plan(%L)', parent))::jsonb);
END
$$;
COMMENT ON FUNCTION flakeid.maintain_plan(regclass) IS
    'what flakeid.maintain() would do, as statements for \gexec of psql, which detach concurrently; for sessions of the owner';

CREATE FUNCTION flakeid.partition_plan(parent regclass) RETURNS jsonb LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    todo jsonb := flakeid.partition_todo(parent);
    way text := CASE WHEN flakeid.partition_default(parent) IS NULL THEN ' CONCURRENTLY' END;
BEGIN
    IF (todo ->> 'moves')::bool THEN
        RETURN jsonb_build_array(format('CALL flakeid.maintain(%L);', parent));
    END IF;
    RETURN (SELECT coalesce(jsonb_agg(s || ';'), '[]') FROM (
        SELECT a FROM jsonb_to_recordset(todo -> 'missing') AS m (name text, from_id int8, to_id int8), flakeid.partition_statements(parent, m.name::name, m.from_id, m.to_id, flakeid.partition_sibling(parent)) AS a
        UNION ALL SELECT unnest(ARRAY[format('ALTER TABLE %s DETACH PARTITION %s%s', parent, o.partition, CASE WHEN o.detaching THEN ' FINALIZE' ELSE way END),
            format('SELECT flakeid.partition_mark(%L, %L)', parent, o.partition)]) FROM jsonb_to_recordset(todo -> 'old') AS o (partition text, detaching bool)
        UNION ALL SELECT format('DROP TABLE %s', d.old) FROM jsonb_to_recordset(todo -> 'due') AS d (old text)) AS all_of_it (s));
END
$$;
COMMENT ON FUNCTION flakeid.partition_plan(regclass) IS 'internal: the statements of flakeid.maintain_plan()';

CREATE FUNCTION flakeid.bound_time(id int8, layout text) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE WHEN id < flakeid.lowest_id('-infinity', layout) THEN '-infinity' WHEN id > flakeid.highest_id('infinity', layout) THEN 'infinity'
        ELSE flakeid.time_of(id, layout) END;
END
$$;
COMMENT ON FUNCTION flakeid.bound_time(int8, text) IS 'internal: the bound of a partition as time';

CREATE FUNCTION flakeid.partition_list(OUT parent regclass, OUT partition regclass, OUT from_time timestamptz, OUT to_time timestamptz, OUT rows int8,
        OUT size int8, OUT attached bool, OUT days_ahead float8, OUT problem text) RETURNS SETOF record LANGUAGE plpgsql STABLE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    layout text;
    told text;
    readable regclass;
    lowest int8;
    highest int8;
BEGIN
    FOR parent IN SELECT d.parent FROM flakeid.partition_declarations(NULL) AS d LOOP
        layout := NULL;
        told := NULL;
        days_ahead := NULL;
        readable := NULL;
        -- The bounds of sealed ids are for those who may unseal; and what one owner declared wrongly is no error for all.
        BEGIN
            SELECT d.layout, d.problem INTO layout, told FROM flakeid.partition_declared(parent) AS d;
            days_ahead := (SELECT extract(epoch FROM flakeid.bound_time(min(g.from_id), layout) - now()) / 86400
                FROM flakeid.partition_gaps(parent, flakeid.lowest_id(now(), layout), 9223372036854775807) AS g);
            lowest := flakeid.lowest_id('-infinity', layout);
            highest := flakeid.highest_id('infinity', layout);
            readable := parent;
        EXCEPTION
            WHEN insufficient_privilege THEN NULL;
            WHEN OTHERS THEN told := SQLERRM;
        END;
        BEGIN
            FOR partition, attached, from_time, to_time, rows, size IN
                SELECT s.tab, i.inhdetachpending IS NOT DISTINCT FROM false,
                    CASE WHEN g.from_id < lowest THEN '-infinity' WHEN g.from_id > highest THEN 'infinity' ELSE flakeid.time_of(g.from_id, layout) END,
                    CASE WHEN g.to_id < lowest THEN '-infinity' WHEN g.to_id > highest THEN 'infinity' ELSE flakeid.time_of(g.to_id, layout) END, s.rows, s.size
                FROM flakeid.partition_sizes(ARRAY(SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = parent
                        UNION ALL SELECT d.old::oid FROM flakeid.partition_detached(readable) AS d)) AS s
                    LEFT JOIN pg_inherits AS i ON i.inhrelid = s.tab AND i.inhparent = parent LEFT JOIN flakeid.partition_ranges(readable) AS g ON g.partition = s.tab
            LOOP
                RETURN NEXT;
            END LOOP;
        EXCEPTION WHEN OTHERS THEN
            told := coalesce(told, SQLERRM);
        END;
        IF told IS NOT NULL THEN
            SELECT NULL, NULL, NULL, NULL, NULL, NULL, told INTO partition, attached, from_time, to_time, rows, size, problem;
            RETURN NEXT;
            problem := NULL;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.partition_list() IS 'internal: rows of flakeid.partitions';

CREATE FUNCTION flakeid.partition_sizes(tables oid[], OUT tab regclass, OUT rows int8, OUT size int8) RETURNS SETOF record LANGUAGE plpgsql STABLE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT m.oid::regclass, (sum(k.reltuples) FILTER (WHERE k.oid = c.oid AND k.reltuples >= 0))::int8,
            (coalesce(sum(k.relpages::int8 + coalesce(x.pages, 0)), 0) * current_setting('block_size')::int8)::int8
        FROM pg_class AS m LEFT JOIN LATERAL (SELECT t.relid FROM pg_partition_tree(m.oid) AS t WHERE t.isleaf) AS p ON m.relkind = 'p'
            LEFT JOIN pg_class AS c ON c.oid = CASE m.relkind WHEN 'p' THEN p.relid ELSE m.oid END LEFT JOIN pg_class AS k ON k.oid IN (c.oid, c.reltoastrelid)
            LEFT JOIN (SELECT i.indrelid, sum(r.relpages) AS pages FROM pg_index AS i JOIN pg_class AS r ON r.oid = i.indexrelid GROUP BY 1) AS x ON x.indrelid = k.oid
        WHERE m.oid = ANY (tables) GROUP BY m.oid;
END
$$;
COMMENT ON FUNCTION flakeid.partition_sizes(oid[]) IS 'internal: rows and bytes of tables by the catalogs, which waits for no lock';

CREATE VIEW flakeid.partitions AS SELECT * FROM flakeid.partition_list();
COMMENT ON VIEW flakeid.partitions IS 'the partitions of tables that flakeid.partition() was told of';
COMMENT ON COLUMN flakeid.partitions.parent IS 'the declared table';
COMMENT ON COLUMN flakeid.partitions.partition IS 'one of its partitions, or what was detached; NULL in the row of a problem';
COMMENT ON COLUMN flakeid.partitions.from_time IS 'moment of its first possible id; NULL for a default or detached partition, and sealed ids of others';
COMMENT ON COLUMN flakeid.partitions.to_time IS 'moment of the first id past it';
COMMENT ON COLUMN flakeid.partitions.rows IS 'an estimate, of the last VACUUM or ANALYZE; NULL before';
COMMENT ON COLUMN flakeid.partitions.size IS 'bytes, with indexes and TOAST, an estimate like rows';
COMMENT ON COLUMN flakeid.partitions.attached IS 'false for what is detached, or half detached';
COMMENT ON COLUMN flakeid.partitions.days_ahead IS 'for how many days from now ids have a partition';
COMMENT ON COLUMN flakeid.partitions.problem IS 'why the declaration cannot be read, or what the last flakeid.maintain() could not do; in a row of its own';
GRANT SELECT ON flakeid.partitions TO PUBLIC;

CREATE FUNCTION flakeid.rows_per_day(tab regclass, layout text DEFAULT NULL, OUT day date, OUT rows int8) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp SET TimeZone = 'UTC' AS $$
DECLARE
    key name := (flakeid.partition_key(tab)).attname;
    type text := (flakeid.partition_key(tab)).type;
    chosen text := flakeid.partition_layout(tab, layout);
BEGIN
    -- The bounds of a histogram have as many rows between each two. Within one such bucket rows are taken to be spread evenly.
    RETURN QUERY EXECUTE format('
    WITH leaf AS (
        SELECT t.relid FROM pg_partition_tree($1) AS t WHERE t.isleaf UNION SELECT $1),
    bound AS (
        SELECT c.oid, b.number, CASE WHEN b.id BETWEEN $2 AND $3 THEN flakeid.time_of(b.id, $4) END AS low, c.reltuples / (h.n - 1) AS n
        FROM leaf JOIN pg_class AS c ON c.oid = leaf.relid AND c.reltuples > 0 JOIN pg_namespace AS n ON n.oid = c.relnamespace
            JOIN pg_stats AS s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = $5 AND NOT s.inherited,
            LATERAL (SELECT array_length(s.histogram_bounds::text::text[], 1) AS n) AS h,
            LATERAL (SELECT u.b::%1$s::int8 AS id, u.number FROM unnest(s.histogram_bounds::text::text[]) WITH ORDINALITY AS u (b, number)) AS b
        WHERE h.n > 1),
    bucket AS (
        SELECT n, low, lead(low) OVER (PARTITION BY oid ORDER BY number) AS high FROM bound)
    SELECT d::date, round(sum(CASE WHEN high > low
            THEN n * extract(epoch FROM least(high, d + interval ''1 day'') - greatest(low, d)) / extract(epoch FROM high - low) ELSE n END))::int8
    FROM bucket, generate_series(date_trunc(''day'', low), date_trunc(''day'', high), interval ''1 day'') AS d
    GROUP BY d ORDER BY d', type)
    USING tab, flakeid.lowest_id('-infinity', chosen), flakeid.highest_id('infinity', chosen), chosen, key;
END
$$;
COMMENT ON FUNCTION flakeid.rows_per_day(regclass, text) IS 'rows of each day, estimated from what ANALYZE knows';
