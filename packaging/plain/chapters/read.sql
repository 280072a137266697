-- -------------------------------------------------------------------------------------------------
-- Reading ids
-- -------------------------------------------------------------------------------------------------
--
-- What takes a layout as an argument is immutable, so that it serves in indexes; for an enciphered layout the secret counts
-- as a part of it. The planner puts the parsed layout in the place of a constant.

CREATE FUNCTION flakeid_plain.require_decrypt_right() RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT has_function_privilege('flakeid_plain.flake_decrypt(bigint)', 'EXECUTE') THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'permission denied to look into enciphered ids',
            DETAIL = 'Readers and flake_make on an enciphered layout need EXECUTE on flake_decrypt(bigint); an index on such a '
                'reader needs it for every role that inserts and for the table''s owner.',
            HINT = format('As the owner: GRANT EXECUTE ON FUNCTION flakeid_plain.flake_decrypt(bigint) TO %I;', current_user);
    END IF;
END
$$;

-- Raw id of an id, deciphered where the layout wants that.
CREATE FUNCTION flakeid_plain.raw_id(l flakeid_plain.layout, id bigint) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    raw bigint := id;
BEGIN
    IF l.enciphered THEN
        PERFORM flakeid_plain.require_decrypt_right();
        raw := flakeid_plain.flake_decrypt(id);
    END IF;
    IF (l.bits < 64 AND raw >> l.bits <> 0) OR (raw < 0 AND NOT l.enciphered) THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = format('%s is not an id of layout "%s"', id, l.name),
            DETAIL = CASE WHEN l.bits < 64 THEN 'It has bits above the layout''s highest field.'
                ELSE 'Ids of a plain layout are not negative.' END,
            HINT = format('Name the layout that the id was made with, as in flake_inspect(id, ''%s'').',
                CASE WHEN id < 0 THEN 'randflake' ELSE 'twitter' END);
    END IF;
    RETURN raw;
END
$$;

CREATE FUNCTION flakeid_plain.timestamp_in(l flakeid_plain.layout, raw bigint) RETURNS timestamptz
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tick bigint := raw >> l.time_shift & ~((-1)::bigint << (l.time_bits - 1) << 1);
    us bigint := flakeid_plain.tick_start(l, tick);
BEGIN
    IF us IS NULL THEN
        RAISE datetime_field_overflow USING
            MESSAGE = 'timestamp out of range',
            DETAIL = format('The time field of this id of layout "%s" is %s.', l.name, tick);
    END IF;
    RETURN flakeid_plain.moment(us);
END
$$;

CREATE FUNCTION flakeid_plain.sequence_in(l flakeid_plain.layout, raw bigint) RETURNS int
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT (raw >> l.sequence_shift & ~((-1)::bigint << l.sequence_bits))::int
$$;

CREATE FUNCTION flakeid_plain.field_in(l flakeid_plain.layout, raw bigint, name text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    field int := array_position(l.names, name);
BEGIN
    IF field IS NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('layout "%s" has no field "%s"', l.name, name),
            HINT = format('Its normal text is "%s".', l.normal_text);
    END IF;
    RETURN flakeid_plain.field_value(l, raw, field);
END
$$;

CREATE FUNCTION flakeid_plain.flake_timestamp(id bigint) RETURNS timestamptz LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.timestamp_in(flakeid_plain.configured(), flakeid_plain.raw_id(flakeid_plain.configured(), id))
$$;
CREATE FUNCTION flakeid_plain.flake_timestamp(id bigint, layout text) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.timestamp_in(flakeid_plain.layout_of(layout), flakeid_plain.raw_id(flakeid_plain.layout_of(layout), id))
$$;
CREATE FUNCTION flakeid_plain.flake_node(id bigint) RETURNS int LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.node_in(flakeid_plain.configured(), flakeid_plain.raw_id(flakeid_plain.configured(), id))
$$;
CREATE FUNCTION flakeid_plain.flake_node(id bigint, layout text) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.node_in(flakeid_plain.layout_of(layout), flakeid_plain.raw_id(flakeid_plain.layout_of(layout), id))
$$;
CREATE FUNCTION flakeid_plain.flake_sequence(id bigint) RETURNS int LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.sequence_in(flakeid_plain.configured(), flakeid_plain.raw_id(flakeid_plain.configured(), id))
$$;
CREATE FUNCTION flakeid_plain.flake_sequence(id bigint, layout text) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.sequence_in(flakeid_plain.layout_of(layout), flakeid_plain.raw_id(flakeid_plain.layout_of(layout), id))
$$;
CREATE FUNCTION flakeid_plain.flake_field(id bigint, name text) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.field_in(flakeid_plain.configured(), flakeid_plain.raw_id(flakeid_plain.configured(), id), name)
$$;
CREATE FUNCTION flakeid_plain.flake_field(id bigint, name text, layout text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.field_in(flakeid_plain.layout_of(layout), flakeid_plain.raw_id(flakeid_plain.layout_of(layout), id), name)
$$;

CREATE FUNCTION flakeid_plain.inspect_in(l flakeid_plain.layout, raw bigint,
        OUT "timestamp" timestamptz, OUT node int, OUT sequence int, OUT raw_id bigint, OUT layout_text text, OUT fields jsonb)
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    "timestamp" := flakeid_plain.timestamp_in(l, raw);
    node := flakeid_plain.node_in(l, raw);
    sequence := flakeid_plain.sequence_in(l, raw);
    raw_id := raw;
    layout_text := l.normal_text;
    SELECT jsonb_object_agg(l.names[i], flakeid_plain.field_value(l, raw, i)) INTO fields
        FROM generate_series(1, cardinality(l.names)) AS i;
END
$$;
CREATE FUNCTION flakeid_plain.flake_inspect(id bigint,
        OUT "timestamp" timestamptz, OUT node int, OUT sequence int, OUT raw_id bigint, OUT layout_text text, OUT fields jsonb)
    LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT * FROM flakeid_plain.inspect_in(flakeid_plain.configured(), flakeid_plain.raw_id(flakeid_plain.configured(), id))
$$;
CREATE FUNCTION flakeid_plain.flake_inspect(id bigint, layout text,
        OUT "timestamp" timestamptz, OUT node int, OUT sequence int, OUT raw_id bigint, OUT layout_text text, OUT fields jsonb)
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT * FROM flakeid_plain.inspect_in(flakeid_plain.layout_of(layout), flakeid_plain.raw_id(flakeid_plain.layout_of(layout), id))
$$;

CREATE FUNCTION flakeid_plain.explain_in(l flakeid_plain.layout, id bigint) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    raw bigint := flakeid_plain.raw_id(l, id);
    bits text := raw::bit(64);
    widest int;
    line text;
    lines text[];
    digits text := '';
    letters text := '';
    us bigint;
    value bigint;
    unused int := 64 - l.bits;
    node_fields int := 0;
    gap text;
BEGIN
    lines := ARRAY['id      ' || id];
    IF l.enciphered THEN
        lines := lines || ('raw id  ' || raw);
    END IF;
    lines := lines || ('layout  ' || l.normal_text) || ''::text;
    digits := left(bits, unused);
    letters := repeat(' ', unused);
    FOR i IN 1 .. cardinality(l.names) LOOP
        gap := CASE WHEN i > 1 OR unused > 0 THEN ' ' ELSE '' END;
        digits := digits || gap || substr(bits, 65 - l.shifts[i] - l.widths[i], l.widths[i]);
        letters := letters || gap || repeat(chr(96 + i), l.widths[i]);
        node_fields := node_fields + (l.names[i] NOT IN ('time', 'sequence', 'back'))::int;
    END LOOP;
    lines := lines || ('bits    ' || digits) || ('        ' || letters) || ''::text;
    SELECT max(length(name)) INTO widest FROM unnest(l.names) AS name;
    FOR i IN 1 .. cardinality(l.names) LOOP
        value := flakeid_plain.field_value(l, raw, i);
        line := rpad('      ' || chr(96 + i), 8) || rpad(l.names[i], widest + 2)
            || rpad(l.widths[i] || CASE l.widths[i] WHEN 1 THEN ' bit' ELSE ' bits' END, 10)
            || rpad((l.shifts[i] + l.widths[i] - 1) || '..' || l.shifts[i], 8) || value;
        IF l.names[i] = 'time' THEN
            us := flakeid_plain.tick_start(l, value);
            IF us < 253402300800000000 THEN
                line := line || '  ' || flakeid_plain.write_moment(us);
            END IF;
        END IF;
        lines := lines || line;
    END LOOP;
    IF node_fields > 1 THEN
        lines := lines || (rpad('        node', 28 + widest) || flakeid_plain.node_in(l, raw));
    END IF;
    RETURN (SELECT string_agg(rtrim(each.line), E'\n' ORDER BY number) FROM unnest(lines) WITH ORDINALITY AS each (line, number));
END
$$;
CREATE FUNCTION flakeid_plain.flake_explain(id bigint) RETURNS text LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.explain_in(flakeid_plain.configured(), id)
$$;
CREATE FUNCTION flakeid_plain.flake_explain(id bigint, layout text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.explain_in(flakeid_plain.layout_of(layout), id)
$$;

CREATE FUNCTION flakeid_plain.require_part(l flakeid_plain.layout, part text, value int, largest bigint) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    message text := format('%s %s is out of range for layout "%s"', part, value, l.name);
    detail text := CASE largest WHEN 0 THEN format('The layout has no %s field, so its only %s is 0.', part, part)
        ELSE format('It must be from 0 to %s.', largest) END;
BEGIN
    IF value < 0 THEN
        RAISE numeric_value_out_of_range USING MESSAGE = message, DETAIL = detail;
    ELSIF value > largest THEN
        RAISE numeric_value_out_of_range USING MESSAGE = message, DETAIL = detail, HINT = 'Name a layout with a wider field.';
    END IF;
END
$$;

CREATE FUNCTION flakeid_plain.make_in(l flakeid_plain.layout, ts timestamptz, node int, sequence int) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tick bigint := CASE WHEN isfinite(ts) THEN flakeid_plain.tick_of(l, flakeid_plain.us(ts)) ELSE -1 END;
    raw bigint;
BEGIN
    IF l.enciphered THEN
        PERFORM flakeid_plain.require_decrypt_right();
    END IF;
    IF tick < 0 OR tick > l.max_tick THEN
        RAISE datetime_field_overflow USING
            MESSAGE = format('timestamp %s is out of range for layout "%s"', ts, l.name),
            DETAIL = format('Its ids are stamped from %s up to, but not including, %s.',
                flakeid_plain.moment(l.epoch_us), flakeid_plain.moment(flakeid_plain.end_us(l))),
            HINT = 'Name a layout with another epoch or a wider time; see view flakeid_plain.layouts.';
    END IF;
    PERFORM flakeid_plain.require_part(l, 'node', node, l.max_node);
    PERFORM flakeid_plain.require_part(l, 'sequence', sequence, l.max_sequence);
    raw := (tick << l.time_shift) | (sequence::bigint << l.sequence_shift) | flakeid_plain.place_node(l, node);
    -- Not as CASE: an expression asks for the right to call whatever it names.
    IF l.enciphered THEN
        RETURN flakeid_plain.flake_encrypt(raw);
    END IF;
    RETURN raw;
END
$$;
CREATE FUNCTION flakeid_plain.flake_make(ts timestamptz, node int, sequence int) RETURNS bigint
    LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.make_in(flakeid_plain.configured(), ts, node, sequence)
$$;
CREATE FUNCTION flakeid_plain.flake_make(ts timestamptz, node int, sequence int, layout text) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.make_in(flakeid_plain.layout_of(layout), ts, node, sequence)
$$;

-- -------------------------------------------------------------------------------------------------
-- Finding ids by time
-- -------------------------------------------------------------------------------------------------

CREATE FUNCTION flakeid_plain.require_time_order(l flakeid_plain.layout) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF l.enciphered OR l.names[1] <> 'time' THEN
        RAISE feature_not_supported USING
            MESSAGE = format('ids of layout "%s" have no time order', l.name),
            DETAIL = CASE WHEN l.enciphered THEN 'Enciphered ids are spread evenly over all numbers.'
                ELSE 'Their highest field is not the time.' END,
            HINT = format(CASE WHEN l.enciphered
                THEN 'Compare flake_timestamp(id, %L) instead, which needs EXECUTE on flake_decrypt(bigint).'
                ELSE 'Compare flake_timestamp(id, %L) instead.' END, l.name);
    END IF;
END
$$;

-- Lowest or, with `last`, highest id of the tick of a moment, clamped to the life of the layout.
CREATE FUNCTION flakeid_plain.bound_in(l flakeid_plain.layout, ts timestamptz, last boolean) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tick bigint := CASE ts WHEN '-infinity' THEN 0 WHEN 'infinity' THEN l.max_tick
        ELSE greatest(0, least(flakeid_plain.tick_of(l, flakeid_plain.us(ts)), l.max_tick)) END;
BEGIN
    PERFORM flakeid_plain.require_time_order(l);
    RETURN tick << l.time_shift | CASE WHEN last THEN ~((-1)::bigint << l.time_shift) ELSE 0 END;
END
$$;
CREATE FUNCTION flakeid_plain.flake_floor(ts timestamptz) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.bound_in(flakeid_plain.configured(), ts, false)
$$;
CREATE FUNCTION flakeid_plain.flake_floor(ts timestamptz, layout text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.bound_in(flakeid_plain.layout_of(layout), ts, false)
$$;
CREATE FUNCTION flakeid_plain.flake_ceil(ts timestamptz) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.bound_in(flakeid_plain.configured(), ts, true)
$$;
CREATE FUNCTION flakeid_plain.flake_ceil(ts timestamptz, layout text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT flakeid_plain.bound_in(flakeid_plain.layout_of(layout), ts, true)
$$;

-- Lowest and highest id whose tick begins in the range; the lowest is above the highest where there is none. A range that begins with all
-- that is old leaves out the first day of the layout, where serial numbers and the like lie, as the extension does.
CREATE FUNCTION flakeid_plain.range_in(l flakeid_plain.layout, during tstzrange, OUT lowest bigint, OUT highest bigint)
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    from_ts timestamptz := coalesce(lower(during), '-infinity');
    to_ts timestamptz := coalesce(upper(during), 'infinity');
    us bigint;
    tick bigint;
    first bigint := ceil(86400e6 / l.tick_us);
    last bigint := l.max_tick;
BEGIN
    PERFORM flakeid_plain.require_time_order(l);
    IF NOT isempty(during) AND from_ts <> 'infinity' AND to_ts <> '-infinity' THEN
        IF first > l.max_tick / 2 THEN
            first := 0;
        END IF;
        us := CASE WHEN from_ts <> '-infinity' THEN flakeid_plain.us(from_ts) END;
        IF us > l.epoch_us THEN
            tick := greatest(-1, least(flakeid_plain.tick_of(l, us), l.max_tick));
            first := tick + CASE WHEN lower_inc(during) AND flakeid_plain.tick_start(l, tick) >= us THEN 0 ELSE 1 END;
        END IF;
        IF to_ts <> 'infinity' THEN
            us := flakeid_plain.us(to_ts);
            tick := greatest(-1, least(flakeid_plain.tick_of(l, us), l.max_tick));
            last := tick - CASE WHEN upper_inc(during) OR tick >= 0 AND flakeid_plain.tick_start(l, tick) < us THEN 0 ELSE 1 END;
        END IF;
        IF first <= last THEN
            lowest := first << l.time_shift;
            highest := last << l.time_shift | ~((-1)::bigint << l.time_shift);
            RETURN;
        END IF;
    END IF;
    lowest := 9223372036854775807;
    highest := -9223372036854775808;
END
$$;
CREATE FUNCTION flakeid_plain.flake_range_floor(during tstzrange) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT (flakeid_plain.range_in(flakeid_plain.configured(), during)).lowest
$$;
CREATE FUNCTION flakeid_plain.flake_range_floor(during tstzrange, layout text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT (flakeid_plain.range_in(flakeid_plain.layout_of(layout), during)).lowest
$$;
CREATE FUNCTION flakeid_plain.flake_range_ceil(during tstzrange) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT (flakeid_plain.range_in(flakeid_plain.configured(), during)).highest
$$;
CREATE FUNCTION flakeid_plain.flake_range_ceil(during tstzrange, layout text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT (flakeid_plain.range_in(flakeid_plain.layout_of(layout), during)).highest
$$;

-- The planner puts the two comparisons in the place of the call, so that an index serves; no operator of its own does that.
CREATE FUNCTION flakeid_plain.flake_in_range(id bigint, during tstzrange) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT id OPERATOR(pg_catalog.>=) flakeid_plain.flake_range_floor(during)
       AND id OPERATOR(pg_catalog.<=) flakeid_plain.flake_range_ceil(during)
$$;
