-- -------------------------------------------------------------------------------------------------
-- Making ids
-- -------------------------------------------------------------------------------------------------
--
-- A word is a tick, in its low bits, and above them a sequence number. The next word is nextval(): no lock, no WAL, no
-- transaction id. The increment of the sequence adds one to the sequence number, and after the last number the
-- sequence begins again at a tick that is never opened (CYCLE): so no number of draws leads from one tick into another.
-- A draw keeps a word whose tick is that of the clock. One session at a time opens a tick: it notes the tick in the sequence
-- `tick`, and then calls setval() with the tick's first word. Ticks only rise, so each word comes once.
--
-- 1. A crash, a promotion and a base backup reset unlogged sequences: then no tick is open, and ids begin anew past
--    bound, a logged sequence. No tick is opened whose moment is not below a bound that was flushed to disk. `sure`
--    is the bound that is known to be.
-- 2. A dump that is put back calls setval() on all sequences. What was called with nextval() since has log_cnt above 0,
--    and setval() makes it 0: so the opener ends with nextval(tick), and a tick with log_cnt 0 is not its own. Then ids
--    begin anew past bound, too. The owner has no UPDATE on bound, so that his dump cannot lower it; the
--    opener grants it to itself in a subtransaction that is rolled back. setval() is not. The common case, one id of the
--    clock's tick, does not look at tick, which would cost more than all the rest; it is there for ticks of at most a millisecond
--    alone, within which nobody reads a dump and puts it back.
-- 3. Whoever begins elsewhere, after a promotion, in a copy, after pg_upgrade, may have missed an extension of bound.
--    `home` says where bound was written, from the installation on; somewhere else ids begin further on.
-- 4. A statement that was planned with other settings goes on with them. So there are two sequences of words: new settings go over
--    to the other one, and the word of the old one lies in a tick that is never opened.
-- 5. Locks are taken in subtransactions that are always rolled back: so they go however the call ends (done, error, cancel,
--    termination), while what sequences say stays. Nobody but the owner has a right on what is locked.
--
-- All moments are microseconds since 1970.

-- configure() gives them increment and limits.
CREATE UNLOGGED SEQUENCE flakeid_plain.word_a;
CREATE UNLOGGED SEQUENCE flakeid_plain.word_b;
CREATE UNLOGGED SEQUENCE flakeid_plain.tick MINVALUE 0;
CREATE UNLOGGED SEQUENCE flakeid_plain.sure;
CREATE SEQUENCE flakeid_plain.bound;
CREATE SEQUENCE flakeid_plain.home MINVALUE -9223372036854775808;
CREATE UNLOGGED SEQUENCE flakeid_plain.extended;
COMMENT ON SEQUENCE flakeid_plain.word_a IS 'the last word that was drawn: a tick in the low bits, and a sequence number';
COMMENT ON SEQUENCE flakeid_plain.word_b IS 'the same; new settings go over from the one to the other';
COMMENT ON SEQUENCE flakeid_plain.tick IS 'the tick that was opened last';
COMMENT ON SEQUENCE flakeid_plain.sure IS 'the bound that is known to be on disk';
COMMENT ON SEQUENCE flakeid_plain.bound IS 'no id was stamped at or past this moment, in microseconds since 1970';
COMMENT ON SEQUENCE flakeid_plain.home IS 'where bound was written: a hash';
COMMENT ON SEQUENCE flakeid_plain.extended IS 'when bound was extended, in microseconds since 1970';
DO $$
BEGIN
    EXECUTE format('REVOKE UPDATE ON SEQUENCE flakeid_plain.bound FROM %I', current_user);
END
$$;

CREATE TABLE flakeid_plain.configuring ();
CREATE TABLE flakeid_plain.opening ();
CREATE TABLE flakeid_plain.extending ();
CREATE TABLE flakeid_plain.flushing ();
COMMENT ON TABLE flakeid_plain.configuring IS 'locked by who changes settings';
COMMENT ON TABLE flakeid_plain.opening IS 'locked by who opens a tick';
COMMENT ON TABLE flakeid_plain.extending IS 'locked by who extends the bound';
COMMENT ON TABLE flakeid_plain.flushing IS 'truncated, and that rolled back, to flush WAL';

-- What is known of the configured generator; configure() writes the function that returns it.
CREATE TYPE flakeid_plain.generator AS (
    layout text,
    node bigint,
    tick_us bigint, epoch_us bigint,
    word regclass,          -- the sequence that draws take words from
    tick_bits int,          -- of a word, below its sequence number
    tick_mask bigint,       -- the same as a mask
    max_sequence bigint,
    max_tick bigint,
    max_ahead_us bigint,
    waits boolean
);

-- configure() writes these two functions anew.
CREATE FUNCTION flakeid_plain.generator() RETURNS flakeid_plain.generator
    LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT NULL::flakeid_plain.generator $$;
COMMENT ON FUNCTION flakeid_plain.generator() IS 'the generator of the settings';
CREATE FUNCTION flakeid_plain.id_of(word bigint) RETURNS bigint
    LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$ SELECT word $$;
COMMENT ON FUNCTION flakeid_plain.id_of(bigint) IS 'the id of a word';

-- Without SET, so that the planner puts it in its place.
CREATE FUNCTION flakeid_plain.clock_us() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000::pg_catalog.float8)::pg_catalog.int8
$$;

-- Closes the open tick: ids begin anew past bound.
CREATE FUNCTION flakeid_plain.close_tick() RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM setval('flakeid_plain.tick', 0, false), setval((flakeid_plain.generator()).word, -1, false);
END
$$;

CREATE FUNCTION flakeid_plain.duration_text(us bigint) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN us < 1000 THEN us || ' us'
        WHEN us < 1000000 THEN round(us / 1000.0, 3) || ' ms' ELSE round(us / 1000000.0, 3) || ' s' END
$$;

-- Where this is: a restored, copied, promoted or upgraded generator is somewhere else.
CREATE FUNCTION flakeid_plain.here() RETURNS bigint
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT hashtextextended(format('%s %s %s %s',
        (SELECT system_identifier FROM pg_control_system()),
        left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),      -- the timeline
        (SELECT oid FROM pg_database WHERE datname = current_database()),
        pg_relation_filenode('flakeid_plain.bound')), 0)
$$;

-- Has all WAL on disk that was written before the call. The caller rolls back.
CREATE FUNCTION flakeid_plain.flush_wal() RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    upto pg_lsn := pg_current_wal_insert_lsn();
BEGIN
    IF current_setting('server_version_num')::int >= 170000 THEN
        EXECUTE 'SELECT pg_logical_emit_message(false, ''flakeid'', '''', true)';
    ELSE
        -- A table whose file is of this subtransaction is truncated where it is, and before that WAL is flushed. Not so an
        -- unlogged one: rolled back before a crash, its file may keep the server from starting.
        BEGIN
            LOCK TABLE flakeid_plain.flushing IN ACCESS EXCLUSIVE MODE NOWAIT;
            TRUNCATE flakeid_plain.flushing;
            TRUNCATE flakeid_plain.flushing;
        EXCEPTION WHEN lock_not_available THEN      -- pg_dump reads it
            CREATE TABLE flakeid_plain.flushing_beside ();
            TRUNCATE flakeid_plain.flushing_beside;
        END;
    END IF;
    -- Releases before 15.11 and 16.7, and wal_level = minimal, leave it to the WAL writer, which writes whole pages.
    FOR i IN 1 .. 1000 LOOP
        IF pg_current_wal_flush_lsn() >= upto THEN
            RETURN;
        END IF;
        PERFORM pg_logical_emit_message(false, 'flakeid', repeat('x', 16384));
        PERFORM pg_sleep(0.01);
    END LOOP;
    RAISE object_not_in_prerequisite_state USING
        MESSAGE = 'the bound of the ids is not on disk',
        DETAIL = format('WAL is flushed up to %s, and must be up to %s.', pg_current_wal_flush_lsn(), upto);
END
$$;

-- Extends bound past `needed_us`, and returns 0 when as much is on disk. At most one extension falls into a second, so that a
-- standby whose replay lags by less misses at most one: then it returns how long until the next. Unless it must, it leaves all
-- that to another session that is about to. `anew`: nothing is known of what is on disk, and the bound is from here from now on.
CREATE FUNCTION flakeid_plain.extend(needed_us bigint, must boolean, anew boolean) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g flakeid_plain.generator := flakeid_plain.generator();
    extension_us CONSTANT bigint := 2000000 /* extension_us */;
    early_us CONSTANT bigint := 1000000 /* early_extension_us */;
    kept bigint;        -- the bound
    on_disk bigint;     -- as much of it as is known to be on disk
    since_us bigint;    -- the last extension
    now_us bigint;
    wanted bigint;
    too_early_us bigint := 0;
BEGIN
    BEGIN
        IF must THEN
            LOCK TABLE flakeid_plain.extending IN EXCLUSIVE MODE;
        ELSE
            LOCK TABLE flakeid_plain.extending IN EXCLUSIVE MODE NOWAIT;
        END IF;
        now_us := flakeid_plain.clock_us();
        SELECT b.last_value, least(b.last_value, s.last_value), now_us - e.last_value INTO kept, on_disk, since_us
            FROM flakeid_plain.bound AS b, flakeid_plain.sure AS s, flakeid_plain.extended AS e;
        IF NOT anew AND since_us BETWEEN 0 AND 1000000 /* extension_interval_us */ - 1 THEN
            too_early_us := CASE WHEN on_disk > needed_us THEN 0 ELSE 1000000 /* extension_interval_us */ - since_us END;
        ELSIF anew OR on_disk < needed_us + early_us THEN
            wanted := greatest(needed_us + 1, least(needed_us + extension_us, now_us + g.max_ahead_us));
            IF anew OR kept < wanted THEN
                kept := greatest(kept + 1, wanted);
                GRANT UPDATE ON SEQUENCE flakeid_plain.bound TO CURRENT_USER;
                PERFORM setval('flakeid_plain.bound', kept - 1), nextval('flakeid_plain.bound');
                IF anew THEN
                    PERFORM setval('flakeid_plain.home', flakeid_plain.here());
                END IF;
            END IF;
            PERFORM flakeid_plain.flush_wal();
            PERFORM setval('flakeid_plain.extended', flakeid_plain.clock_us()), setval('flakeid_plain.sure', kept);
        END IF;
        RAISE SQLSTATE 'FLAKE';
    EXCEPTION
        WHEN SQLSTATE 'FLAKE' THEN
            NULL;
        WHEN lock_not_available THEN
            IF must THEN
                RAISE;
            END IF;
    END;
    RETURN too_early_us;
END
$$;

-- Where ids begin when the open tick is not known: past this moment.
CREATE FUNCTION flakeid_plain.floor_at_start(now_us bigint) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g flakeid_plain.generator := flakeid_plain.generator();
    kept bigint;
    lowered boolean;
    same boolean;
BEGIN
    SELECT b.last_value, b.log_cnt = 0 AND t.is_called, h.last_value = flakeid_plain.here() INTO kept, lowered, same
        FROM flakeid_plain.bound AS b, flakeid_plain.tick AS t, flakeid_plain.home AS h;
    IF NOT same THEN
        -- What was missed: one extension and a tick, or, when the last one was long ago, what was in reach of the clock.
        RETURN greatest(kept + 2000000 /* extension_us */ + g.tick_us, now_us + g.max_ahead_us - g.tick_us);
    ELSIF lowered THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the bound of the ids was overwritten',
            DETAIL = 'A superuser put a dump back over this database, or called setval() on flakeid_plain.bound.',
            HINT = 'As the owner, with the highest id of all tables: SELECT flakeid_plain.adopt(highest_id);';
    END IF;
    RETURN kept;
END
$$;

CREATE FUNCTION flakeid_plain.throw_exhausted() RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l flakeid_plain.layout := flakeid_plain.configured();
    end_us bigint := flakeid_plain.end_us(l);
    successor text;
    next flakeid_plain.layout;
    repeats boolean;
BEGIN
    IF flakeid_plain.clock_us() < end_us THEN
        RAISE sequence_generator_limit_exceeded USING
            MESSAGE = format('layout "%s" has no ids left after the horizon of database "%s"', l.name, current_database()),
            DETAIL = format('The layout ends at %s.', flakeid_plain.moment(end_us)),
            HINT = 'If the horizon is wrong, see flakeid_plain.adopt(); otherwise use a layout with a later end.';
    END IF;
    SELECT p.successor INTO successor FROM flakeid_plain.presets() AS p WHERE p.name = l.name;
    next := flakeid_plain.layout_of(successor);
    repeats := coalesce(next.epoch_us = l.epoch_us AND next.time_shift < l.time_shift, false);   -- what was made when less time had passed
    RAISE sequence_generator_limit_exceeded USING
        MESSAGE = format('layout "%s" has been full since %s', l.name, flakeid_plain.moment(end_us)),
        DETAIL = 'Its ids can still be read.'
            || CASE WHEN repeats THEN format(' The preset %s makes ids again that this layout made.', successor) ELSE '' END,
        HINT = CASE WHEN successor IS NULL THEN 'Use a layout with a later epoch or a wider time; see view flakeid_plain.layouts.'
            ELSE format('Use another layout%s, such as the preset %s.', CASE WHEN repeats THEN ' for new tables' ELSE '' END, successor) END;
END
$$;

-- Opens the next tick if it is time, or has been opened by another session meanwhile. With `block` it always opens one, whose
-- first words are the caller's. Unless `patient`, it is left to another session that is about to.
-- too_far_us: how long until the next word may be drawn, 0 when it may; below 0 how long until the bound can be extended; null
-- when another session opens the tick.
-- at_start: that word is the first past the bound. first_word: of the block.
CREATE FUNCTION flakeid_plain.open(patient boolean, block int, OUT too_far_us bigint, OUT at_start boolean, OUT first_word bigint)
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g flakeid_plain.generator;
    now_us bigint;
    now bigint;         -- the tick of the clock
    next bigint;        -- the tick to be opened
    next_us bigint;     -- when it begins
    on_disk bigint;
    last_word bigint;
BEGIN
    BEGIN
        IF patient THEN
            LOCK TABLE flakeid_plain.opening IN EXCLUSIVE MODE;
        ELSE
            LOCK TABLE flakeid_plain.opening IN EXCLUSIVE MODE NOWAIT;
        END IF;
        g := flakeid_plain.generator();     -- under the lock, which configure() holds until its end
        IF block IS NULL OR block < 0 OR block - 1 > g.max_sequence THEN
            RAISE invalid_parameter_value USING MESSAGE = 'a block has no such length';
        END IF;
        now_us := flakeid_plain.clock_us();
        now := (now_us - g.epoch_us) / g.tick_us;
        IF now_us < g.epoch_us THEN
            RAISE object_not_in_prerequisite_state USING
                MESSAGE = format('the clock lies before the epoch of layout "%s"', g.layout),
                DETAIL = format('The clock says %s, the epoch is %s.', flakeid_plain.moment(now_us), flakeid_plain.moment(g.epoch_us)),
                HINT = 'Correct the clock, or configure a layout with an earlier epoch.';
        END IF;
        SELECT t.last_value, NOT (t.is_called AND t.log_cnt > 0), least(b.last_value, s.last_value), pg_sequence_last_value(g.word)
            INTO next, at_start, on_disk, last_word     -- null: no word was drawn since setval()
            FROM flakeid_plain.tick AS t, flakeid_plain.bound AS b, flakeid_plain.sure AS s;
        IF at_start THEN
            next_us := flakeid_plain.floor_at_start(now_us);
            next := greatest(now, (next_us - g.epoch_us + g.tick_us - 1) / g.tick_us);
        ELSIF block > 0 OR next < now OR last_word & g.tick_mask <> next OR last_word >> g.tick_bits >= g.max_sequence THEN
            next := greatest(now, next + 1);
        ELSE
            too_far_us := greatest(0, (next - now - g.max_ahead_us / g.tick_us) * g.tick_us);
            RAISE SQLSTATE 'FLAKE';
        END IF;
        IF next > g.max_tick THEN
            PERFORM flakeid_plain.throw_exhausted();
        END IF;
        next_us := next * g.tick_us + g.epoch_us;
        too_far_us := greatest(0, (next - now - g.max_ahead_us / g.tick_us) * g.tick_us);
        IF too_far_us > 0 THEN
            RAISE SQLSTATE 'FLAKE';
        END IF;
        IF at_start OR next_us >= on_disk THEN
            too_far_us := -flakeid_plain.extend(next_us, true, at_start);
            IF too_far_us < 0 THEN
                RAISE SQLSTATE 'FLAKE';
            END IF;
            on_disk := NULL;
        END IF;
        PERFORM setval('flakeid_plain.tick', next - 1), nextval('flakeid_plain.tick');
        first_word := next;
        IF block > 0 THEN
            PERFORM setval(g.word, (block - 1)::bigint << g.tick_bits | next);
        ELSE
            PERFORM setval(g.word, next, false);
        END IF;
        RAISE SQLSTATE 'FLAKE';
    EXCEPTION
        WHEN SQLSTATE 'FLAKE' THEN
            NULL;
        WHEN lock_not_available THEN
            IF patient THEN
                RAISE;
            END IF;
            RETURN;
    END;
    IF first_word IS NOT NULL AND on_disk < next_us + 1000000 /* early_extension_us */ THEN
        PERFORM flakeid_plain.extend(next_us, false, false);
    END IF;
END
$$;

-- Waits until a word that lies too far ahead of the clock may be drawn, or raises an error.
CREATE FUNCTION flakeid_plain.wait(too_far_us bigint, at_start boolean) RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g flakeid_plain.generator := flakeid_plain.generator();
    now_us bigint := flakeid_plain.clock_us();
    ahead_us bigint := too_far_us + g.max_ahead_us;
    hint text;
BEGIN
    IF too_far_us < 0 OR g.waits AND too_far_us <= g.max_ahead_us + 2000000 /* extension_us */ THEN
        PERFORM pg_sleep(least(abs(too_far_us) / 1000000.0, 0.1));
        RETURN;
    END IF;
    hint := 'Correct the clock if it was set back, or wait until it has caught up. If it was wrong before and is right now, '
        'and no id from the future was stored, as the owner, with the highest id of all tables: SELECT flakeid_plain.adopt(highest_id);';
    IF at_start THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the horizon of database "%s" lies %s ahead of the clock', current_database(), flakeid_plain.duration_text(ahead_us)),
            DETAIL = format('Ids up to %s may have been issued, and the clock says %s; max_ahead is %s.',
                flakeid_plain.moment(now_us + ahead_us), flakeid_plain.moment(now_us), flakeid_plain.duration_text(g.max_ahead_us)),
            HINT = hint;
    END IF;
    RAISE object_not_in_prerequisite_state USING
        MESSAGE = format('the next id of node %s lies %s ahead of the clock', g.node, flakeid_plain.duration_text(ahead_us)),
        DETAIL = format('Ids were drawn faster than layout "%s" allows, or the clock was set back; the clock says %s; max_ahead is %s.',
            g.layout, flakeid_plain.moment(now_us), flakeid_plain.duration_text(g.max_ahead_us)),
        HINT = CASE WHEN ahead_us > 2 * g.max_ahead_us + 2000000 /* extension_us */ THEN hint
            ELSE 'Wait, correct the clock, or use a layout with a wider sequence.' END;
END
$$;

-- One id, in all cases but the common one.
CREATE FUNCTION flakeid_plain.next_id() RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g flakeid_plain.generator;
    word bigint;
    late bigint;        -- ticks that the clock is past that of the word
    too_far_us bigint;
    at_start boolean;
BEGIN
    LOOP
        g := flakeid_plain.generator();
        word := nextval(g.word);
        -- The tick is looked at after the word was drawn: if still nobody but the opener has touched it, no dump that was put back
        -- has lowered the word.
        IF (SELECT last_value = word & g.tick_mask AND is_called AND log_cnt > 0 FROM flakeid_plain.tick) AND g = flakeid_plain.generator() THEN
            late := (flakeid_plain.clock_us() - g.epoch_us) / g.tick_us - (word & g.tick_mask);
            IF late BETWEEN -(g.max_ahead_us / g.tick_us) AND 0 THEN
                RETURN flakeid_plain.id_of(word);
            ELSIF late > 0 AND late * g.tick_us <= 10000 + g.tick_us THEN
                -- Where another session is about to open the next tick, this one will do.
                IF (SELECT o.too_far_us IS NULL FROM flakeid_plain.open(false, 0) AS o) THEN
                    RETURN flakeid_plain.id_of(word);
                END IF;
                CONTINUE;
            END IF;
        END IF;
        SELECT o.too_far_us, o.at_start INTO too_far_us, at_start FROM flakeid_plain.open(true, 0) AS o;
        IF too_far_us <> 0 THEN
            PERFORM flakeid_plain.wait(too_far_us, at_start);
        END IF;
    END LOOP;
END
$$;

-- The first of `n` ids that follow each other in one tick.
CREATE FUNCTION flakeid_plain.next_block(n int) RETURNS bigint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g flakeid_plain.generator;
    opened record;
    id bigint;
BEGIN
    LOOP
        g := flakeid_plain.generator();
        IF n IS NULL THEN
            RAISE null_value_not_allowed USING MESSAGE = 'number of ids must not be null';
        ELSIF n < 1 THEN
            RAISE invalid_parameter_value USING MESSAGE = format('number of ids must be at least 1, not %s', n);
        ELSIF n > g.max_sequence + 1 THEN
            RAISE numeric_value_out_of_range USING
                MESSAGE = format('a block of %s ids does not fit into one tick', n),
                DETAIL = format('A tick of layout "%s" holds %s ids.', g.layout, g.max_sequence + 1),
                HINT = 'Ask for fewer ids, or use flake_next_many().';
        END IF;
        PERFORM nextval(g.word);        -- refuses who may not draw, and READ ONLY
        opened := flakeid_plain.open(true, n);
        IF opened.too_far_us <> 0 THEN
            PERFORM flakeid_plain.wait(opened.too_far_us, opened.at_start);
            CONTINUE;
        END IF;
        id := flakeid_plain.id_of(opened.first_word);
        IF g = flakeid_plain.generator() THEN
            RETURN id;
        END IF;
    END LOOP;
END
$$;

-- `n` ids in rising order. One statement draws many while the tick is that of the clock.
CREATE FUNCTION flakeid_plain.next_ids(n int) RETURNS SETOF bigint
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    g flakeid_plain.generator;
    opened bigint;
    missing bigint := n;
    drawn bigint[];
BEGIN
    IF n IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'number of ids must not be null';
    ELSIF n < 0 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('number of ids must be at least 0, not %s', n);
    END IF;
    WHILE missing > 0 LOOP
        g := flakeid_plain.generator();
        opened := pg_sequence_last_value('flakeid_plain.tick');
        IF missing > 1 AND opened = (flakeid_plain.clock_us() - g.epoch_us) / g.tick_us THEN
            drawn := ARRAY(SELECT flakeid_plain.id_of(word) FROM (SELECT nextval(g.word) AS word
                FROM generate_series(1, least(missing, 256, g.max_sequence + 1)) OFFSET 0) AS words
                WHERE word & g.tick_mask = opened);
            IF drawn <> '{}' AND (SELECT last_value = opened AND is_called AND log_cnt > 0 FROM flakeid_plain.tick)
                AND g = flakeid_plain.generator() THEN
                RETURN QUERY SELECT unnest(drawn);
                missing := missing - cardinality(drawn);
                CONTINUE;
            END IF;
        END IF;
        RETURN NEXT flakeid_plain.next_id();
        missing := missing - 1;
    END LOOP;
END
$$;
