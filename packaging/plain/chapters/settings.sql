-- -------------------------------------------------------------------------------------------------
-- Settings
-- -------------------------------------------------------------------------------------------------

-- Only what was set stands here. The secret is for the owner, and so is the table.
CREATE TABLE flakeid_plain.settings (
    name text PRIMARY KEY CHECK (name IN ('layout', 'node', 'max_ahead', 'when_ahead', 'secret')),
    value text NOT NULL
);
COMMENT ON TABLE flakeid_plain.settings IS
    'layout (snowflake), node (0), max_ahead (5s), when_ahead (wait, or error), secret (32 hexadecimal digits); what is not here has its default';

-- Writes the functions that depend on the settings, for as long as these stay. Ids go on past the bound when this is committed.
CREATE FUNCTION flakeid_plain.configure() RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $configure$
DECLARE
    setting jsonb := (SELECT jsonb_object_agg(name, value) FROM flakeid_plain.settings);
    layout text := coalesce(setting ->> 'layout', 'snowflake');
    node_text text := coalesce(setting ->> 'node', '0');
    ahead text := coalesce(setting ->> 'max_ahead', '5s' /* assumed_ahead_us */);
    ahead_ms numeric;
    waits text := coalesce(setting ->> 'when_ahead', 'wait');
    secret text := setting ->> 'secret';
    l flakeid_plain.layout := flakeid_plain.layout_of(layout);
    g flakeid_plain.generator;
    makes_ids text;         -- with the place of a word, twice
    rights text := '';
BEGIN
    IF l.tick_us > 1000000 THEN
        RAISE feature_not_supported USING
            MESSAGE = format('cannot generate ids with layout "%s"', layout),
            DETAIL = 'Its ticks are longer than one second; such ids can only be read.',
            HINT = 'Use ticks of at most 1s.';
    ELSIF l.sequence_bits = 0 THEN
        RAISE feature_not_supported USING
            MESSAGE = format('cannot generate ids with layout "%s"', layout),
            DETAIL = 'It has no sequence field; such ids can only be read.',
            HINT = 'Use a layout with a field such as sequence:12.';
    ELSIF node_text !~ '^[0-9]{1,10}$' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid value for parameter "flakeid.node": "%s"', node_text),
            HINT = 'In plain SQL a node is a number.';
    ELSIF node_text::bigint > l.max_node THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = format('node %s is out of range for layout "%s"', node_text, layout),
            DETAIL = CASE l.node_bits WHEN 0 THEN 'The layout has no node field, so its only node is 0.'
                ELSE format('Its nodes are 0 to %s.', l.max_node) END,
            HINT = 'Set node to a node of the layout, or use a layout with a wider node field.';
    ELSIF waits NOT IN ('wait', 'error') THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid value for parameter "flakeid.when_ahead": "%s"', waits),
            HINT = 'Available values: wait, error.';
    ELSIF secret !~ '^[0-9a-fA-F]{32}$' AND octet_length(secret) <> 16 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'invalid value for parameter "flakeid.secret"',
            HINT = 'A secret is 32 hexadecimal digits, or exactly 16 characters.';
    END IF;
    BEGIN
        ahead_ms := extract(epoch FROM (CASE WHEN ahead ~ '^[0-9]+$' THEN ahead || ' ms' ELSE ahead END)::interval) * 1000;
    EXCEPTION WHEN data_exception THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid value for parameter "flakeid.max_ahead": "%s"', ahead),
            HINT = 'Write a length of time such as 5s.';
    END;
    IF ahead_ms NOT BETWEEN 1000 AND 86400000 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('%s ms is outside the valid range for parameter "flakeid.max_ahead" (1000 ms .. 86400000 ms)', trim_scale(ahead_ms));
    END IF;
    LOCK TABLE flakeid_plain.configuring IN EXCLUSIVE MODE;
    g := flakeid_plain.generator();
    g.layout := layout;
    g.node := node_text;
    g.tick_us := l.tick_us;
    g.epoch_us := l.epoch_us;
    g.word := CASE g.word WHEN 'flakeid_plain.word_a'::regclass THEN 'flakeid_plain.word_b' ELSE 'flakeid_plain.word_a' END;
    -- A plain 64-bit layout leaves the sign bit of its highest field zero, and so does a word.
    g.max_sequence := l.max_sequence;
    g.tick_bits := least(62, 63 - length(ltrim(l.max_sequence::bit(64)::text, '0')));
    g.tick_mask := flakeid_plain.low_mask(g.tick_bits);
    g.max_tick := least(l.max_tick, g.tick_mask - 1);       -- never opened: the mask itself, as in -1
    g.max_ahead_us := ahead_ms * 1000;
    g.waits := waits = 'wait';
    IF (SELECT seqincrement <> g.tick_mask + 1 OR seqmax <> (g.max_sequence << g.tick_bits | g.tick_mask) FROM pg_sequence WHERE seqrelid = g.word) THEN
        -- Waits for transactions that drew before the last change, but keeps nobody waiting.
        EXECUTE format('ALTER SEQUENCE %s INCREMENT %s MINVALUE -1 MAXVALUE %s START -1 RESTART CYCLE',
            g.word, g.tick_mask + 1, g.max_sequence << g.tick_bits | g.tick_mask);
    END IF;
    -- Whoever opens a tick waits until this is committed or rolled back, and then begins past the bound.
    LOCK TABLE flakeid_plain.opening IN EXCLUSIVE MODE;
    PERFORM flakeid_plain.close_tick();
    EXECUTE format('CREATE OR REPLACE FUNCTION flakeid_plain.configured() RETURNS flakeid_plain.layout '
        'LANGUAGE sql IMMUTABLE PARALLEL SAFE AS %L', format('SELECT %L::flakeid_plain.layout', l));
    EXECUTE format('CREATE OR REPLACE FUNCTION flakeid_plain.generator() RETURNS flakeid_plain.generator '
        'LANGUAGE sql IMMUTABLE PARALLEL SAFE AS %L', format('SELECT %L::flakeid_plain.generator', g));
    makes_ids := format('(%%1$s & %s) << %s | (%%1$s >> %s', g.tick_mask, l.time_shift, g.tick_bits)
        || CASE WHEN l.sequence_shift > 0 THEN format(' << %s)', l.sequence_shift) ELSE ')' END
        || CASE WHEN g.node > 0 THEN format(' | %L::bigint', flakeid_plain.place_node(l, g.node)) ELSE '' END;
    EXECUTE format('CREATE OR REPLACE FUNCTION flakeid_plain.id_of(word bigint) RETURNS bigint LANGUAGE sql STABLE STRICT PARALLEL SAFE RETURN %s',
        format(CASE WHEN l.enciphered THEN 'flakeid_plain.flake_encrypt(%s)' ELSE '%s' END, format(makes_ids, 'word')));
    IF l.enciphered THEN
        -- Nobody may have a word of his choice enciphered: what makes ids runs with the owner's rights, and id_of() is his alone.
        REVOKE ALL ON FUNCTION flakeid_plain.id_of(bigint) FROM PUBLIC;
        rights := ' SECURITY DEFINER SET search_path = pg_catalog, pg_temp';
    ELSE
        GRANT EXECUTE ON FUNCTION flakeid_plain.id_of(bigint) TO PUBLIC;
    END IF;
    -- The common case is one expression, which the planner puts in the place of the call: PL/pgSQL alone would cost twice as much.
    -- The server evaluates CASE from left to right, so currval() is the word that was compared.
    EXECUTE 'CREATE OR REPLACE FUNCTION flakeid_plain.flake_next() RETURNS bigint LANGUAGE sql VOLATILE' || rights || ' RETURN '
        || CASE WHEN l.enciphered OR l.tick_us > 1000 THEN 'flakeid_plain.next_id()'
            ELSE format('CASE WHEN nextval(%1$L::regclass) & %2$s = (date_part(''epoch'', clock_timestamp()) * %3$L::float8 - %4$L::float8)::bigint '
                'THEN %5$s ELSE flakeid_plain.next_id() END',
                g.word, g.tick_mask, 1000000::float8 / l.tick_us, trim_scale(l.epoch_us::numeric / l.tick_us + 0.5),
                format(makes_ids, format('currval(%L::regclass)', g.word)))
            END;
    EXECUTE 'CREATE OR REPLACE FUNCTION flakeid_plain.flake_next_many(n int, layout text DEFAULT NULL) RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE'
        || rights || $$ AS 'BEGIN
    PERFORM flakeid_plain.require_configured(layout);
    RETURN QUERY SELECT flakeid_plain.next_ids(n);
END'$$;
    EXECUTE 'CREATE OR REPLACE FUNCTION flakeid_plain.flake_block(n int, layout text DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql VOLATILE'
        || rights || $$ AS 'BEGIN
    PERFORM flakeid_plain.require_configured(layout);
    RETURN flakeid_plain.next_block(n);
END'$$;
END
$configure$;

CREATE FUNCTION flakeid_plain.settings_changed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM flakeid_plain.configure();
    RETURN NULL;
END
$$;
CREATE TRIGGER configure AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON flakeid_plain.settings
    FOR EACH STATEMENT EXECUTE FUNCTION flakeid_plain.settings_changed();

-- Ids are made with the configured layout alone.
CREATE FUNCTION flakeid_plain.require_configured(layout text) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l flakeid_plain.layout := flakeid_plain.configured();
BEGIN
    IF layout <> l.name AND (flakeid_plain.layout_of(layout)).normal_text <> l.normal_text THEN
        RAISE feature_not_supported USING
            MESSAGE = format('cannot generate ids with layout "%s"', layout),
            DETAIL = format('In plain SQL ids are made with the configured layout alone, which is "%s".', l.name),
            HINT = 'Use flake_next() without a layout.';
    END IF;
END
$$;


CREATE FUNCTION flakeid_plain.flake_next(layout text) RETURNS bigint LANGUAGE plpgsql VOLATILE STRICT AS $$
BEGIN
    PERFORM flakeid_plain.require_configured(layout);
    RETURN flakeid_plain.flake_next();
END
$$;

-- Ids begin at this moment, or at the clock, whatever is known of others.
CREATE FUNCTION flakeid_plain.begin_past(us bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    LOCK TABLE flakeid_plain.opening, flakeid_plain.extending IN EXCLUSIVE MODE;
    GRANT UPDATE ON SEQUENCE flakeid_plain.bound TO CURRENT_USER;
    PERFORM flakeid_plain.close_tick(), setval('flakeid_plain.sure', 1);
    PERFORM setval('flakeid_plain.bound', us - 1), nextval('flakeid_plain.bound');
    PERFORM setval('flakeid_plain.home', flakeid_plain.here());
    RAISE SQLSTATE 'FLAKE';
EXCEPTION WHEN SQLSTATE 'FLAKE' THEN
    NULL;
END
$$;

-- Declares that no id above this one is in use, as after a dump was put back, or when the clock had been wrong: ids begin past
-- it, or at the clock. Without an id, at the clock.
CREATE FUNCTION flakeid_plain.adopt(highest_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l flakeid_plain.layout := flakeid_plain.configured();
BEGIN
    PERFORM flakeid_plain.begin_past(coalesce(greatest(2, flakeid_plain.tick_start(l,
        (flakeid_plain.raw_id(l, highest_id) >> l.time_shift & ~((-1)::bigint << l.time_bits)) + 1)), 2));
END
$$;
COMMENT ON FUNCTION flakeid_plain.adopt(bigint) IS 'for the owner: declares that no id above this one is in use, and none is asked for again';

DO $$ BEGIN PERFORM flakeid_plain.configure(), flakeid_plain.begin_past(2); END $$;
