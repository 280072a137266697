-- -------------------------------------------------------------------------------------------------
-- Layouts: how 64 bits are cut into fields
-- -------------------------------------------------------------------------------------------------

-- A layout that was parsed. Arrays have one element a field, from the highest bits to the lowest.
CREATE TYPE flakeid_plain.layout AS (
    name text,              -- as the user named it
    normal_text text,
    bits int,               -- of all fields
    enciphered boolean,
    tick_us bigint,
    epoch_us bigint,        -- since 1970
    names text[], widths int[], shifts int[],
    time_bits int, time_shift int,
    sequence_bits int, sequence_shift int,
    back_bits int,
    node_bits int,          -- of all parts together
    max_tick bigint, max_sequence bigint, max_node bigint
);

-- The lowest bits set.
CREATE FUNCTION flakeid_plain.low_mask(bits int) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
    AS $$ SELECT ~((-1)::bigint << bits) $$;

-- A moment since 1970 as a timestamp. Hours are few enough for the double precision of interval * number.
CREATE FUNCTION flakeid_plain.moment(us bigint) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT timestamptz '1970-01-01 00:00:00+00' + us / 3600000000 * interval '1 hour' + us % 3600000000 * interval '1 microsecond'
$$;

CREATE FUNCTION flakeid_plain.us(moment timestamptz) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT least(extract(epoch FROM moment) * 1000000, 9223372036854775807)::bigint
$$;

-- Start of a tick in microseconds since 1970; null when 64 bits cannot hold it.
CREATE FUNCTION flakeid_plain.tick_start(l flakeid_plain.layout, tick bigint) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    start numeric := tick::numeric * l.tick_us + l.epoch_us;
BEGIN
    RETURN CASE WHEN start <= 9223372036854775807 THEN start END;
END
$$;

-- The tick that holds a moment: negative before the epoch.
CREATE FUNCTION flakeid_plain.tick_of(l flakeid_plain.layout, us bigint) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    since numeric := us::numeric - l.epoch_us;
    tick numeric := div(since, l.tick_us);
BEGIN
    IF mod(since, l.tick_us) < 0 THEN
        tick := tick - 1;
    END IF;
    RETURN least(greatest(tick, -9223372036854775808), 9223372036854775807);
END
$$;

-- The first moment for which no id can be made any more.
CREATE FUNCTION flakeid_plain.end_us(l flakeid_plain.layout) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT least((l.max_tick::numeric + 1) * l.tick_us + l.epoch_us, 9223372036854775807)::bigint
$$;

-- An ISO 8601 moment in UTC as microseconds since 1970; null when it is none.
CREATE FUNCTION flakeid_plain.read_moment(value text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    part text[] := regexp_match(value,
        '^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?Z)?$');
    year int := part[1];
    month int := part[2];
    day int := part[3];
    hour int := coalesce(part[4], '0');
    minute int := coalesce(part[5], '0');
    second int := coalesce(part[6], '0');
BEGIN
    IF part IS NULL OR year < 1 OR month NOT BETWEEN 1 AND 12 OR hour > 23 OR minute > 59 OR second > 59 THEN
        RETURN NULL;
    END IF;
    IF day NOT BETWEEN 1 AND extract(day FROM make_date(year, month, 1) + interval '1 month' - interval '1 day') THEN
        RETURN NULL;
    END IF;
    RETURN ((make_date(year, month, day) - date '1970-01-01') * 86400::bigint + hour * 3600 + minute * 60 + second) * 1000000
        + rpad(coalesce(part[7], '0'), 6, '0')::int;
END
$$;

-- The shortest form that read_moment() reads back.
CREATE FUNCTION flakeid_plain.write_moment(us bigint) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT rtrim(rtrim(to_char(flakeid_plain.moment(us) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z'
$$;

CREATE FUNCTION flakeid_plain.throw_bad_layout(layout text, detail text, hint text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE invalid_parameter_value USING
        MESSAGE = format('invalid layout "%s"', layout),
        DETAIL = detail,
        HINT = coalesce(hint, 'Write a preset such as snowflake, or fields from the highest bit to the lowest and then options, '
            'such as "time:41:1ms node:10 sequence:12 epoch=2024-01-01T00:00:00Z".');
END
$$;

-- A layout text or the name of a preset, parsed.
CREATE FUNCTION flakeid_plain.layout_of(layout text) RETURNS flakeid_plain.layout
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    source text := coalesce(flakeid_plain.preset(layout), layout);
    place int := 1;         -- of the word, in characters
    word text;
    name text;
    rest text;
    digits text;
    unit text;
    width int;
    total int := 0;
    epoch numeric;
    number text;
    unit_us bigint;
    wide int;
    signed_top text;
    l flakeid_plain.layout;
    problem text;
    hint text;
    shown text;
BEGIN
    l.name := layout;
    l.enciphered := false;
    l.names := '{}';
    l.widths := '{}';
    l.time_bits := 0;
    l.sequence_bits := 0;
    l.sequence_shift := 0;
    l.back_bits := 0;
    l.node_bits := 0;
    IF octet_length(source) >= 1024 THEN
        PERFORM flakeid_plain.throw_bad_layout(layout, 'The layout is longer than 1023 bytes.', NULL);
    END IF;
    LOOP
        place := place + length(substring(substr(source, place) FROM '^[ \t\n\r]*'));
        EXIT WHEN place > length(source);
        word := substring(substr(source, place) FROM '^[^ \t\n\r]+');
        problem := NULL;
        hint := NULL;
        shown := word;
        <<check_word>>
        BEGIN
            IF strpos(word, '=') > 0 THEN
                name := split_part(word, '=', 1);
                rest := substr(word, length(name) + 2);
                IF name = 'epoch' THEN
                    IF epoch IS NOT NULL THEN
                        problem := 'This name stands twice';
                        shown := name;
                        hint := 'Every field and option may stand once.';
                        EXIT check_word;
                    END IF;
                    epoch := flakeid_plain.read_moment(rest);
                    IF epoch IS NULL THEN
                        number := substring(rest FROM '^-?(?:0|[1-9][0-9]{0,17})(?![0-9])');
                        unit := substr(rest, length(number) + 1);
                        unit_us := CASE unit WHEN '' THEN 1000 WHEN 's' THEN 1000000 WHEN 'ms' THEN 1000 WHEN 'us' THEN 1 END;
                        epoch := number::numeric * unit_us;
                        IF unit = '' AND number::numeric <> 0 AND abs(number::numeric) < 100000000000 THEN
                            problem := 'A number without a unit counts milliseconds, and this one lies before 1973-03-03';
                            hint := format('For seconds write %ss, for milliseconds %sms.', word, word);
                        ELSIF epoch IS NULL OR epoch NOT BETWEEN -62135596800000000 AND 253402300799999999 THEN
                            problem := 'This is no epoch';
                            hint := 'Write a date in UTC such as epoch=2024-01-01 or epoch=2024-01-01T00:00:00.000Z, or '
                                'a number since 1970 with its unit such as epoch=1704067200s or epoch=1704067200000ms.';
                        END IF;
                    END IF;
                ELSIF name = 'cipher' THEN
                    IF l.enciphered THEN
                        problem := 'This name stands twice';
                        shown := name;
                        hint := 'Every field and option may stand once.';
                    ELSIF rest <> 'sparx64' THEN
                        problem := 'There is no such cipher';
                        hint := 'The only cipher is cipher=sparx64.';
                    END IF;
                    l.enciphered := true;
                ELSE
                    problem := 'There is no such option';
                    hint := 'The options are epoch=... and cipher=sparx64.';
                END IF;
                EXIT check_word;
            END IF;
            IF strpos(word, ':') = 0 THEN
                problem := 'This is neither a preset, nor name:bits, nor an option';
                EXIT check_word;
            END IF;
            IF epoch IS NOT NULL OR l.enciphered THEN
                problem := 'This field stands after an option';
                hint := 'Write the fields first, then the options.';
                EXIT check_word;
            END IF;
            name := split_part(word, ':', 1);
            rest := substr(word, length(name) + 2);
            IF name !~ '^[a-z_][a-z0-9_]{0,30}$' OR octet_length(name) <> length(name) THEN
                problem := 'This is no name for a field';
                shown := coalesce(nullif(name, ''), word);
                hint := 'A name is at most 31 lower-case letters, digits and underscores, and does not begin with a digit.';
                EXIT check_word;
            END IF;
            IF name = ANY (l.names) THEN
                problem := 'This name stands twice';
                shown := name;
                hint := 'Every field and option may stand once.';
                EXIT check_word;
            END IF;
            IF cardinality(l.names) = 16 THEN
                problem := 'This field is one too many';
                hint := 'A layout has at most 16 fields.';
                EXIT check_word;
            END IF;
            digits := substring(rest FROM '^(?:0|[1-9][0-9]{0,17})(?![0-9])');
            unit := substr(rest, length(digits) + 1);
            IF digits IS NULL OR digits::bigint NOT BETWEEN 1 AND 64 OR unit <> '' AND left(unit, 1) <> ':' THEN
                problem := 'This field has no number of bits from 1 to 64';
                EXIT check_word;
            END IF;
            width := digits;
            IF name = 'time' THEN
                IF unit = '' THEN
                    problem := 'This field has no unit';
                    hint := 'Write the length of a tick, as in time:41:1ms.';
                    EXIT check_word;
                END IF;
                number := substring(unit FROM '^:((?:0|[1-9][0-9]{0,17})(?![0-9]))');
                unit_us := CASE substr(unit, length(number) + 2) WHEN 'd' THEN 86400000000 WHEN 'h' THEN 3600000000
                    WHEN 'min' THEN 60000000 WHEN 's' THEN 1000000 WHEN 'ms' THEN 1000 WHEN 'us' THEN 1 END;
                IF number IS NULL OR unit_us IS NULL OR number::bigint NOT BETWEEN 1 AND 86400000000 / unit_us THEN
                    problem := 'This is no length of a tick';
                    hint := 'Write a number and one of us, ms, s, min, h, d; from 1us to 1d. A space ends each field.';
                    EXIT check_word;
                END IF;
                l.tick_us := number::bigint * unit_us;
            ELSIF unit <> '' THEN
                problem := 'Only the field time has a unit';
                hint := 'Write name:bits, as in node:10, or time:bits:tick for the time.';
                EXIT check_word;
            END IF;
            l.names := l.names || name;
            l.widths := l.widths || width;
            total := total + width;
            IF total > 64 THEN
                problem := 'From this field on there are more than 64 bits';
                hint := 'Fields add up to at most 63 bits, or to exactly 64.';
                EXIT check_word;
            END IF;
            CASE name
                WHEN 'time' THEN l.time_bits := width;
                WHEN 'sequence' THEN l.sequence_bits := width;
                WHEN 'back' THEN l.back_bits := width;
                ELSE l.node_bits := l.node_bits + width;
            END CASE;
            IF l.sequence_bits > 31 OR l.node_bits > 31 OR l.back_bits > 7 THEN
                problem := 'This field makes its kind too wide';
                hint := 'All parts of the node have at most 31 bits together, sequence 31, back 7.';
            END IF;
        END;
        IF problem IS NOT NULL THEN
            PERFORM flakeid_plain.throw_bad_layout(layout, format('%s: "%s" at character %s.', problem, shown, place), hint);
        END IF;
        place := place + length(word);
    END LOOP;
    IF l.names = '{}' AND epoch IS NULL AND NOT l.enciphered THEN
        PERFORM flakeid_plain.throw_bad_layout(layout, 'The layout is empty.', NULL);
    ELSIF l.time_bits = 0 THEN
        PERFORM flakeid_plain.throw_bad_layout(layout, 'The field time is missing.', 'Add a field such as time:41:1ms.');
    END IF;
    l.epoch_us := coalesce(epoch, 0);
    l.bits := total;
    -- The sign bit of a plain 64-bit layout belongs to its highest field and stays zero.
    signed_top := CASE WHEN total = 64 AND NOT l.enciphered THEN l.names[1] ELSE '' END;
    l.max_tick := flakeid_plain.low_mask(l.time_bits - (signed_top = 'time')::int);
    l.max_sequence := flakeid_plain.low_mask(l.sequence_bits - (signed_top = 'sequence')::int);
    l.max_node := flakeid_plain.low_mask(l.node_bits - (signed_top NOT IN ('', 'time', 'sequence', 'back'))::int);
    l.shifts := '{}';
    l.normal_text := '';
    FOR i IN 1 .. cardinality(l.names) LOOP
        total := total - l.widths[i];
        l.shifts := l.shifts || total;
        l.normal_text := l.normal_text || l.names[i] || ':' || l.widths[i];
        IF l.names[i] = 'time' THEN
            l.time_shift := total;
            SELECT l.normal_text || ':' || l.tick_us / us || unit_name INTO l.normal_text
                FROM (VALUES ('d', 86400000000), ('h', 3600000000), ('min', 60000000), ('s', 1000000), ('ms', 1000), ('us', 1))
                    AS units (unit_name, us)
                WHERE l.tick_us % us = 0 ORDER BY us DESC LIMIT 1;
        ELSIF l.names[i] = 'sequence' THEN
            l.sequence_shift := total;
        END IF;
        l.normal_text := l.normal_text || ' ';
    END LOOP;
    l.normal_text := l.normal_text || 'epoch=' || flakeid_plain.write_moment(l.epoch_us)
        || CASE WHEN l.enciphered THEN ' cipher=sparx64' ELSE '' END;
    RETURN l;
END
$$;
COMMENT ON FUNCTION flakeid_plain.layout_of(text) IS 'a layout text or the name of a preset, parsed';

-- The value of a field of a raw id.
CREATE FUNCTION flakeid_plain.field_value(l flakeid_plain.layout, raw bigint, field int) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT raw >> l.shifts[field] & ~((-1)::bigint << (l.widths[field] - 1) << 1)     -- << 64 shifts nothing
$$;

-- All parts of the node as one number, the part further left high.
CREATE FUNCTION flakeid_plain.node_in(l flakeid_plain.layout, raw bigint) RETURNS int
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    node bigint := 0;
BEGIN
    FOR i IN 1 .. cardinality(l.names) LOOP
        IF l.names[i] NOT IN ('time', 'sequence', 'back') THEN
            node := (node << l.widths[i]) | (raw >> l.shifts[i] & ~((-1)::bigint << l.widths[i]));
        END IF;
    END LOOP;
    RETURN node;
END
$$;

-- The node number scattered to its parts' places.
CREATE FUNCTION flakeid_plain.place_node(l flakeid_plain.layout, node bigint) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    raw bigint := 0;
BEGIN
    FOR i IN REVERSE cardinality(l.names) .. 1 LOOP
        IF l.names[i] NOT IN ('time', 'sequence', 'back') THEN
            raw := raw | ((node & ~((-1)::bigint << l.widths[i])) << l.shifts[i]);
            node := node >> l.widths[i];
        END IF;
    END LOOP;
    RETURN raw;
END
$$;

-- configure() writes this function anew.
CREATE FUNCTION flakeid_plain.configured() RETURNS flakeid_plain.layout
    LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT NULL::flakeid_plain.layout $$;
COMMENT ON FUNCTION flakeid_plain.configured() IS 'the layout of the settings';

CREATE VIEW flakeid_plain.layouts AS
    SELECT p.name, (flakeid_plain.layout_of(p.name)).normal_text AS layout_text,
           flakeid_plain.moment(flakeid_plain.end_us(flakeid_plain.layout_of(p.name))) AS ends
    FROM flakeid_plain.presets() AS p;
COMMENT ON VIEW flakeid_plain.layouts IS 'the presets';
