-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION flakeid_coordinator" to load this file. \quit

SELECT flakeid.require_version('@VERSION@');

-- The schema that CREATE EXTENSION names, and those before it, may hold objects of anybody.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Leases, the coordinator's side
--
-- Who may stamp ids of a range of nodes, from when until when. A range is a row of flakeid.lease_node, by
-- its first node, and one lease. The end of its last lease stands there, and never goes back while ids may
-- have been stamped before it. Whatever happens to a range locks its row. (doc/leases.md)
--
-- A client may leave its transaction open, so nobody waits for a row that a client can lock: who cannot
-- lock a range at once is told so. For the same reason the rows of ranges are made by superusers, with
-- their realm: an INSERT would wait for everybody who is making the same row. A client waits for one
-- thing alone, for a question that was asked with its own token.

-- Durations are whole seconds: an interval with months or days is as long as its calendar and the
-- reader's time zone say. The id is what servers know a realm by, on whatever coordinator.
CREATE TABLE flakeid.lease_realm (
    realm text PRIMARY KEY,
    first_node int4 NOT NULL DEFAULT 0,
    nodes int4 NOT NULL DEFAULT 1024,
    lease_nodes int4 NOT NULL DEFAULT 1,
    max_ttl_s int4 NOT NULL DEFAULT 120,
    max_skew_s int4 NOT NULL DEFAULT 10,
    id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    further_names text[] NOT NULL DEFAULT '{}',
    role_leases int4 NOT NULL DEFAULT 0 -- that a role may hold at once; 0: any number
) USING heap;
COMMENT ON TABLE flakeid.lease_realm IS 'settings of realms, see flakeid.lease_realm_set()';

CREATE TABLE flakeid.lease_node (
    realm text,
    node int4,
    nodes int4 NOT NULL,
    free_from timestamptz NOT NULL DEFAULT '-infinity',
    token uuid,
    PRIMARY KEY (realm, node)
) USING heap;
CREATE INDEX lease_node_free ON flakeid.lease_node (realm, free_from, node);
COMMENT ON TABLE flakeid.lease_node IS 'from when each range of nodes is free, and the token of its last lease';

CREATE TABLE flakeid.lease_history (
    token uuid PRIMARY KEY,
    realm text NOT NULL,
    node int4 NOT NULL,
    nodes int4 NOT NULL,
    holder text NOT NULL,
    role text NOT NULL,
    lease_start timestamptz NOT NULL,
    lease_end timestamptz NOT NULL,
    acquired_at timestamptz NOT NULL,
    renewed_at timestamptz,
    renewals int8 NOT NULL DEFAULT 0,
    released_at timestamptz,
    last_stamp timestamptz,
    earlier_end timestamptz NOT NULL
) USING heap;
CREATE INDEX lease_history_node ON flakeid.lease_history (realm, node, lease_start);
COMMENT ON TABLE flakeid.lease_history IS 'every lease, see view flakeid.leases';

-- Where the ranges of a realm have changed, a lease of one that is no more is not renewed: its row is
-- gone. A range that is new is free when all leases have ended that have a node in common with it.
CREATE FUNCTION flakeid.lease_divide(of_realm text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET client_min_messages = error AS $$
DECLARE
    r record;
BEGIN
    SELECT i.first_node, i.nodes, i.lease_nodes, i.first_node::int8 + i.nodes AS over INTO r
    FROM flakeid.lease_realm AS i WHERE i.realm = of_realm;
    IF r.over > 2147483648 OR r.nodes % r.lease_nodes <> 0 OR r.nodes / r.lease_nodes > 4194304 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('realm "%s" cannot be divided into leases', of_realm),
            DETAIL = format('It has %s nodes from node %s on, and a lease has %s. No node lies above 2147483647, leases are of one size, and there are at most 4194304.',
                            r.nodes, r.first_node, r.lease_nodes),
            HINT = 'Set nodes to a multiple of lease_nodes, or lease_nodes to a larger number.';
    END IF;
    BEGIN
        WITH gone AS (
            SELECT n.node FROM flakeid.lease_node AS n
            WHERE n.realm = of_realm
              AND (n.node < r.first_node OR n.node >= r.over OR n.nodes <> r.lease_nodes OR (n.node - r.first_node) % r.lease_nodes <> 0)
            FOR UPDATE NOWAIT)
        DELETE FROM flakeid.lease_node AS n USING gone WHERE n.realm = of_realm AND n.node = gone.node;
    EXCEPTION WHEN lock_not_available THEN
        RAISE lock_not_available USING
            MESSAGE = format('another transaction is changing nodes that realm "%s" is to lose', of_realm),
            HINT = 'Ask again when it has ended.';
    END;
    INSERT INTO flakeid.lease_node (realm, node, nodes, free_from)
    SELECT of_realm, fresh.node, r.lease_nodes, coalesce(leased.until, '-infinity')
    FROM (SELECT r.first_node + i * r.lease_nodes AS node FROM generate_series(0, r.nodes / r.lease_nodes - 1) AS i) AS fresh
    LEFT JOIN (
        SELECT r.first_node + i * r.lease_nodes AS node, max(h.lease_end) AS until
        FROM flakeid.lease_history AS h,
             generate_series((greatest(h.node, r.first_node) - r.first_node) / r.lease_nodes,
                             ((least(h.node::int8 + h.nodes, r.over) - 1 - r.first_node) / r.lease_nodes)::int4) AS i
        WHERE h.realm = of_realm AND h.node < r.over AND h.node::int8 + h.nodes > r.first_node
        GROUP BY i) AS leased USING (node)
    WHERE NOT EXISTS (SELECT FROM flakeid.lease_node AS n WHERE n.realm = of_realm AND n.node = fresh.node)
    ON CONFLICT (realm, node) DO NOTHING;
    -- Without the number of rows, the first questions of a large realm would be planned as of a small one. Nobody waits for
    -- another transaction that counts them.
    IF FOUND THEN
        ANALYZE (SKIP_LOCKED) flakeid.lease_node;
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.lease_divide(text) IS 'internal: makes the rows of the ranges of a realm, and no others';

-- Leases are the coordinator's own: what replication brings from elsewhere is left out, since the
-- tables are in every publication of all tables. A TRUNCATE cannot be left out: nothing is handed out
-- then until whatever was leased has ended.

CREATE FUNCTION flakeid.lease_ignore_replicated() RETURNS trigger
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' AND NOT has_table_privilege(TG_RELID, 'UPDATE') THEN
        RAISE WARNING USING
            MESSAGE = format('realm "%s" of the dump is left out', NEW.realm),
            HINT = format('SELECT flakeid.lease_realm_set(%L, %s, ''%s s'', ''%s s'', %L, %s, %s, %s);',
                          NEW.realm, NEW.nodes, NEW.max_ttl_s, NEW.max_skew_s, NEW.id, NEW.first_node, NEW.lease_nodes, NEW.role_leases);
        RETURN NULL;
    END IF;
    -- Some restore a dump in the role of a replica; it holds the settings of realms alone. What a trigger
    -- makes, nodes of a realm, is this server's own.
    IF current_setting('session_replication_role') = 'replica' AND pg_trigger_depth() = 1
       AND NOT (TG_TABLE_NAME = 'lease_realm'
                AND EXISTS (SELECT FROM pg_stat_get_activity(pg_backend_pid()) AS a WHERE a.backend_type = 'client backend')) THEN
        RETURN NULL;
    END IF;
    -- The leases stand under the name.
    IF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'lease_realm' THEN
        IF NEW.realm <> OLD.realm THEN
            RAISE object_not_in_prerequisite_state USING
                MESSAGE = format('realm "%s" keeps its name', OLD.realm),
                DETAIL = 'Under another one its leases would be forgotten, and its nodes handed out a second time.',
                HINT = format('Give it a further one: SELECT flakeid.lease_realm_add_name(%L, %L);', OLD.realm, NEW.realm);
        END IF;
    END IF;
    -- A dump brings the realm that each coordinator has from the start.
    IF TG_OP = 'INSERT' AND TG_TABLE_NAME = 'lease_realm' THEN
        UPDATE flakeid.lease_realm AS r
        SET first_node = NEW.first_node, nodes = NEW.nodes, lease_nodes = NEW.lease_nodes, max_ttl_s = NEW.max_ttl_s,
            max_skew_s = NEW.max_skew_s, id = NEW.id, further_names = NEW.further_names, role_leases = NEW.role_leases
        WHERE r.realm = NEW.realm;
        IF FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    RETURN coalesce(NEW, OLD);
END
$$;
COMMENT ON FUNCTION flakeid.lease_ignore_replicated() IS 'internal: leaves out what replication would change of leases, and what a role may not restore';

CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON flakeid.lease_realm FOR EACH ROW EXECUTE FUNCTION flakeid.lease_ignore_replicated();
CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON flakeid.lease_node FOR EACH ROW EXECUTE FUNCTION flakeid.lease_ignore_replicated();
CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON flakeid.lease_history FOR EACH ROW EXECUTE FUNCTION flakeid.lease_ignore_replicated();

CREATE FUNCTION flakeid.lease_rest_after_truncate() RETURNS trigger
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM flakeid.lease_rest(true);
    IF NOT EXISTS (SELECT FROM flakeid.lease_realm) THEN
        INSERT INTO flakeid.lease_realm (realm) VALUES ('default');
    END IF;
    PERFORM flakeid.lease_divide(r.realm) FROM flakeid.lease_realm AS r;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION flakeid.lease_rest_after_truncate() IS 'internal: begins a rest when leases were emptied';

CREATE FUNCTION flakeid.lease_realm_changed() RETURNS trigger
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM flakeid.lease_divide(NEW.realm);
    -- Whoever knows the realm by this id may hold leases of another coordinator.
    IF TG_OP = 'UPDATE' AND NEW.id IS DISTINCT FROM OLD.id THEN
        PERFORM flakeid.lease_clock(NEW.max_ttl_s::int8 + NEW.max_skew_s);
        PERFORM flakeid.lease_rest(true);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION flakeid.lease_realm_changed() IS 'internal: divides the nodes of a realm anew, and begins a rest where it takes over the id of another one';

CREATE TRIGGER divide AFTER INSERT OR UPDATE ON flakeid.lease_realm FOR EACH ROW EXECUTE FUNCTION flakeid.lease_realm_changed();

CREATE TRIGGER rest_after_truncate AFTER TRUNCATE ON flakeid.lease_realm FOR EACH STATEMENT EXECUTE FUNCTION flakeid.lease_rest_after_truncate();
CREATE TRIGGER rest_after_truncate AFTER TRUNCATE ON flakeid.lease_node FOR EACH STATEMENT EXECUTE FUNCTION flakeid.lease_rest_after_truncate();
CREATE TRIGGER rest_after_truncate AFTER TRUNCATE ON flakeid.lease_history FOR EACH STATEMENT EXECUTE FUNCTION flakeid.lease_rest_after_truncate();

ALTER TABLE flakeid.lease_realm ENABLE ALWAYS TRIGGER rest_after_truncate, ENABLE ALWAYS TRIGGER ignore_replicated, ENABLE ALWAYS TRIGGER divide;
ALTER TABLE flakeid.lease_node ENABLE ALWAYS TRIGGER rest_after_truncate, ENABLE REPLICA TRIGGER ignore_replicated;
ALTER TABLE flakeid.lease_history ENABLE ALWAYS TRIGGER rest_after_truncate, ENABLE REPLICA TRIGGER ignore_replicated;

SELECT pg_catalog.pg_extension_config_dump('flakeid.lease_realm', '');

INSERT INTO flakeid.lease_realm (realm) VALUES ('default');

CREATE VIEW flakeid.leases AS
    SELECT realm, node, nodes, holder, role, lease_start, lease_end,
           CASE WHEN released_at IS NOT NULL THEN 'released'
                WHEN lease_end OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN 'held'
                ELSE 'expired' END AS state,
           acquired_at, renewed_at, renewals, released_at, last_stamp
    FROM flakeid.lease_history;
COMMENT ON VIEW flakeid.leases IS 'the last 32 leases of each range of nodes: who holds and held it from when until when';
COMMENT ON COLUMN flakeid.leases.realm IS 'of the node';
COMMENT ON COLUMN flakeid.leases.node IS 'that is leased, the first one';
COMMENT ON COLUMN flakeid.leases.nodes IS 'how many, from that one on';
COMMENT ON COLUMN flakeid.leases.holder IS 'the name that the holder gave itself';
COMMENT ON COLUMN flakeid.leases.role IS 'that took it';
COMMENT ON COLUMN flakeid.leases.lease_start IS 'first moment that ids may be stamped with';
COMMENT ON COLUMN flakeid.leases.lease_end IS 'first moment that they may not';
COMMENT ON COLUMN flakeid.leases.state IS 'held, expired or released';
COMMENT ON COLUMN flakeid.leases.acquired_at IS 'when it was taken';
COMMENT ON COLUMN flakeid.leases.renewed_at IS 'when it was renewed last';
COMMENT ON COLUMN flakeid.leases.renewals IS 'how many';
COMMENT ON COLUMN flakeid.leases.released_at IS 'when it was given back; NULL where it was not';
COMMENT ON COLUMN flakeid.leases.last_stamp IS 'moment of the last id, as the holder said when it released';

CREATE FUNCTION flakeid.lease_clock(hold int8, OUT now timestamptz, OUT rest_until timestamptz, OUT term int8, OUT place int8)
    AS 'MODULE_PATHNAME', 'flakeid_lease_now' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.lease_clock(int8) IS
    'internal: clock of leases that count for at most so many seconds; it never goes back and is held to flakeid.max_leap; until when nothing is handed out; since when this coordinator hands out leases, and where';

CREATE FUNCTION flakeid.lease_check_term(version int4, known_realm uuid, known_term int8, known_place int8,
        realm_id uuid, term int8, place int8, realm text) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_lease_check_term' LANGUAGE C STABLE PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.lease_check_term(int4, uuid, int8, int8, uuid, int8, int8, text) IS
    'internal: an error where a server knows another realm or a later coordinator, or asks in a version that is not known';

CREATE FUNCTION flakeid.lease_rest(begins bool) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_lease_rest' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.lease_rest(bool) IS 'internal: begins or ends a rest';

CREATE FUNCTION flakeid.lease_repair_clock() RETURNS interval
    AS 'MODULE_PATHNAME', 'flakeid_lease_repair_clock' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.lease_repair_clock() IS
    'lets the clock of leases go back to the wall clock, after that was wrong; returns by how much. Nodes leased in the future stay taken until then';

CREATE FUNCTION flakeid.lease_begin(of_realm text, OUT realm text, OUT now timestamptz,
        OUT first_node int4, OUT nodes int4, OUT lease_nodes int4, OUT max_ttl_s int4, OUT max_skew_s int4,
        OUT role_leases int4, OUT rest_until timestamptz, OUT id uuid, OUT term int8, OUT place int8)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('session_replication_role') = 'replica' THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'leases are not changed in the role of a replica',
            HINT = 'RESET session_replication_role;';
    END IF;
    -- A lease that a crash or a failover could take back is none.
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    SELECT r.realm, r.first_node, r.nodes, r.lease_nodes, r.max_ttl_s, r.max_skew_s, r.role_leases, r.id
    INTO realm, first_node, nodes, lease_nodes, max_ttl_s, max_skew_s, role_leases, id
    FROM flakeid.lease_realm AS r WHERE r.realm = of_realm OR of_realm = ANY (r.further_names);
    IF NOT FOUND THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('there is no realm "%s"', of_realm),
            HINT = 'Make it with flakeid.lease_realm_set(), or use the realm "default".';
    END IF;

    SELECT c.now, c.rest_until, c.term, c.place INTO now, rest_until, term, place
    FROM flakeid.lease_clock(max_ttl_s::int8 + max_skew_s) AS c;
END
$$;
COMMENT ON FUNCTION flakeid.lease_begin(text) IS 'internal: what every function of leases begins with';

-- What is decided about locked rows, by pure functions of the library (src/leases/rules/lease_rules.hpp); a
-- refusal is an error. Who calls them writes what they return.

CREATE FUNCTION flakeid.lease_length_s(ttl_us int8, max_ttl_s int4) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_lease_length_s' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.lease_length_s(int8, int4) IS 'internal: length of a lease in whole seconds; 0: it is refused';

CREATE FUNCTION flakeid.lease_decide_range(rest_until timestamptz, first_node int4, nodes int4, lease_nodes int4,
        node int4, max_node int4, chance float8, realm text, OUT low int4, OUT top int4, OUT first int4)
    AS 'MODULE_PATHNAME', 'flakeid_lease_decide_range' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.lease_decide_range(timestamptz, int4, int4, int4, int4, int4, float8, text) IS
    'internal: which ranges may be given for any, and from which one on a free one is searched';

CREATE FUNCTION flakeid.lease_decide_grant(now timestamptz, node int4, free_from timestamptz, length_s int4, realm text, low int4, top int4,
        holder text, released bool, OUT lease_start timestamptz, OUT lease_end timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_lease_decide_grant' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.lease_decide_grant(timestamptz, int4, timestamptz, int4, text, int4, int4, text, bool) IS
    'internal: from when until when a node is leased that is free from then on; node NULL: any, and that is the earliest';

CREATE FUNCTION flakeid.lease_decide_again(now timestamptz, rest_until timestamptz, max_ttl_s int4, max_skew_s int4, node int4,
        length_s int4, same bool, free_from timestamptz, realm text) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_lease_decide_again' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.lease_decide_again(timestamptz, timestamptz, int4, int4, int4, int4, bool, timestamptz, text) IS
    'internal: until when a lease is that was asked for again; free_from NULL: the node has another one, or it was given back';

CREATE FUNCTION flakeid.lease_decide_renew(now timestamptz, rest_until timestamptz, max_ttl_s int4, max_skew_s int4, node int4,
        length_s int4, known_end timestamptz, free_from timestamptz, realm text) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_lease_decide_renew' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.lease_decide_renew(timestamptz, timestamptz, int4, int4, int4, int4, timestamptz, timestamptz, text) IS
    'internal: until when a lease is that is renewed; free_from as for lease_decide_again()';

CREATE FUNCTION flakeid.lease_decide_release(now timestamptz, rest_until timestamptz, max_ttl_s int4, max_skew_s int4, node int4,
        lease_start timestamptz, INOUT lease_end timestamptz, earlier_end timestamptz, over bool, last_stamp timestamptz,
        OUT free_from timestamptz, OUT changes bool)
    AS 'MODULE_PATHNAME', 'flakeid_lease_decide_release' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.lease_decide_release(timestamptz, timestamptz, int4, int4, int4, timestamptz, timestamptz, timestamptz, bool, timestamptz) IS
    'internal: from when a node is free that is given back, and when its lease ended';

CREATE FUNCTION flakeid.lease_decide_revoke(now timestamptz, free_from timestamptz) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_lease_decide_revoke' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.lease_decide_revoke(timestamptz, timestamptz) IS 'internal: from when a node is free whose holder is gone; NULL: it is free';

CREATE FUNCTION flakeid.lease_length(ttl interval, max_ttl_s int4) RETURNS int4
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seconds CONSTANT numeric := extract(epoch FROM ttl);
    length_s CONSTANT int4 := flakeid.lease_length_s((least(greatest(seconds, 0), 1000000) * 1000000)::int8, max_ttl_s);
BEGIN
    IF seconds IS NULL OR length_s = 0 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('a lease cannot last %s', coalesce(trim_scale(seconds) || ' s', 'for ever')),
            DETAIL = format('It lasts from 1 s to the max_ttl of its realm, %s s.', max_ttl_s),
            HINT = 'Ask for less (flakeid.lease_ttl), or raise max_ttl with flakeid.lease_realm_set().';
    END IF;
    RETURN length_s;
END
$$;
COMMENT ON FUNCTION flakeid.lease_length(interval, int4) IS
    'internal: length of a lease in whole seconds, which no calendar or time zone changes';

CREATE FUNCTION flakeid.lease_lock(of_realm text, of_node int4, of_token uuid) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    free timestamptz;
BEGIN
    SELECT n.free_from INTO free FROM flakeid.lease_node AS n
    WHERE n.realm = of_realm AND n.node = of_node AND (of_token IS NULL OR n.token = of_token) FOR UPDATE SKIP LOCKED;
    IF NOT FOUND AND EXISTS (SELECT FROM flakeid.lease_node AS n
                             WHERE n.realm = of_realm AND n.node = of_node AND (of_token IS NULL OR n.token = of_token)) THEN
        RAISE lock_not_available USING
            MESSAGE = format('another transaction is changing node %s of realm "%s"', of_node, of_realm),
            HINT = 'Ask again when it has ended.';
    END IF;
    RETURN free;
END
$$;
COMMENT ON FUNCTION flakeid.lease_lock(text, int4, uuid) IS
    'internal: locks a node, and returns from when it is free; NULL: there is no such node, or its last lease has another token. It never waits';

CREATE FUNCTION flakeid.lease_lock_role() RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_lease_lock_role' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.lease_lock_role() IS
    'internal: true: until its end, no other transaction of this database has the lock of the session''s role. It never waits';

CREATE FUNCTION flakeid.lease_check_quota(of_realm text, now timestamptz, role_leases int4) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held int8;
BEGIN
    -- What others of the role took is counted when they have ended, and they have.
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('a quota of leases is not kept at isolation level %s', upper(current_setting('transaction_isolation'))),
            HINT = 'BEGIN ISOLATION LEVEL READ COMMITTED;';
    END IF;
    IF NOT flakeid.lease_lock_role() THEN
        RAISE lock_not_available USING
            MESSAGE = format('another transaction of role "%s" is taking a lease', session_user),
            HINT = 'Ask again when it has ended.';
    END IF;
    SELECT count(*) INTO held FROM flakeid.lease_node AS n JOIN flakeid.lease_history AS h USING (token)
    WHERE n.realm = of_realm AND n.free_from > lease_check_quota.now AND h.role = session_user AND h.released_at IS NULL;
    IF held >= role_leases THEN
        RAISE configuration_limit_exceeded USING
            MESSAGE = format('role "%s" holds %s leases of realm "%s"', session_user, held, of_realm),
            DETAIL = format('A role may hold %s of them at once.', role_leases),
            HINT = 'Give some back, or let a superuser raise role_leases with flakeid.lease_realm_set().';
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.lease_check_quota(text, timestamptz, int4) IS 'internal: refuses a role that holds as many leases as it may';

CREATE FUNCTION flakeid.lease_tell_room(of_realm text, now timestamptz, leases int4) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenth CONSTANT int4 := leases / 10;
    room int4;
BEGIN
    -- In a large realm one of many looks, so that looking costs each of them as little as in a small one.
    IF random() * leases >= 1024 THEN
        RETURN;
    END IF;
    SELECT count(*) INTO room
    FROM (SELECT FROM flakeid.lease_node AS n WHERE n.realm = of_realm AND n.free_from <= lease_tell_room.now LIMIT tenth + 1) AS free;
    IF room <= tenth THEN
        RAISE LOG USING
            MESSAGE = format('nine tenths of the leases of realm "%s" are taken', of_realm),
            DETAIL = format('Of %s, %s are free.', leases, room),
            HINT = 'View flakeid.leases shows who holds them; flakeid.lease_realm_set() adds nodes, or sets how many leases a role may hold (role_leases).';
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.lease_tell_room(text, timestamptz, int4) IS 'internal: tells the log that a realm is nearly full';

-- What servers and programs call

CREATE FUNCTION flakeid.lease_coordinator(version int4, INOUT realm text,
        known_realm uuid DEFAULT NULL, known_term int8 DEFAULT NULL, known_place int8 DEFAULT NULL,
        OUT realm_id uuid, OUT term int8, OUT place int8)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO' AS $$
DECLARE
    b record;
BEGIN
    SELECT * INTO b FROM flakeid.lease_begin(lease_coordinator.realm);
    PERFORM flakeid.lease_check_term(version, known_realm, known_term, known_place, b.id, b.term, b.place, b.realm);
    realm := b.realm;
    realm_id := b.id;
    term := b.term;
    place := b.place;
END
$$;
COMMENT ON FUNCTION flakeid.lease_coordinator(int4, text, uuid, int8, int8) IS
    'internal: what each question of a server begins with: which coordinator of which realm answers; an error where the server knows a later one or another realm, or asks in a version that is not known';

CREATE FUNCTION flakeid.lease_acquire(realm text, holder text, ttl interval,
        INOUT node int4 DEFAULT NULL, max_node int4 DEFAULT NULL, INOUT token uuid DEFAULT NULL,
        OUT lease_start timestamptz, OUT lease_end timestamptz, OUT nodes int4)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'postgres' AS $$
#variable_conflict use_column
DECLARE
    wanted CONSTANT int4 := lease_acquire.node;
    b record;
    length_s int4;
    r record;
    found_node int4 := wanted;
    free timestamptz;
    last record;
BEGIN
    IF lease_acquire.holder IS NULL OR lease_acquire.holder = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'a lease needs the name of its holder';
    END IF;
    -- Others read it in their errors.
    IF char_length(lease_acquire.holder) > 255 OR lease_acquire.holder ~ '[[:cntrl:]]' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'the name of the holder is too long or not printable',
            DETAIL = format('It has %s characters. A name has at most 255 characters, and no control characters.', char_length(lease_acquire.holder)),
            HINT = 'Give the host and the program as the name of the holder.';
    END IF;
    IF lease_acquire.max_node < 0 THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = format('max_node %s is out of range', lease_acquire.max_node),
            DETAIL = 'The lowest node is 0.';
    END IF;
    SELECT * INTO b FROM flakeid.lease_begin(lease_acquire.realm);
    length_s := flakeid.lease_length(lease_acquire.ttl, b.max_ttl_s);
    -- Asking again is the same question: the lease is renewed, and answered as it was.
    SELECT h.realm, h.node, h.nodes, h.lease_start,
           h.realm = b.realm AND h.holder = lease_acquire.holder AND (wanted IS NULL OR wanted = h.node)
           AND (lease_acquire.max_node IS NULL OR lease_acquire.max_node >= h.node + (h.nodes - 1)) AS same INTO last
    FROM flakeid.lease_history AS h WHERE h.token = lease_acquire.token;
    IF FOUND THEN
        IF last.same THEN
            free := flakeid.lease_lock(b.realm, last.node, lease_acquire.token);
        END IF;
        IF EXISTS (SELECT FROM flakeid.lease_history AS h WHERE h.token = lease_acquire.token AND h.released_at IS NOT NULL) THEN
            free := NULL;
        END IF;
        lease_end := flakeid.lease_decide_again(b.now, b.rest_until, b.max_ttl_s, b.max_skew_s, last.node, length_s, last.same, free, last.realm);
        lease_start := last.lease_start;
        node := last.node;
        nodes := last.nodes;
        UPDATE flakeid.lease_node AS n SET free_from = lease_acquire.lease_end
        WHERE n.realm = b.realm AND n.node = last.node;
        UPDATE flakeid.lease_history AS h
        SET lease_end = lease_acquire.lease_end, renewed_at = b.now, renewals = h.renewals + 1
        WHERE h.token = lease_acquire.token;
        RETURN;
    END IF;
    SELECT * INTO r FROM flakeid.lease_decide_range(
        b.rest_until, b.first_node, b.nodes, b.lease_nodes, wanted, lease_acquire.max_node, random(), b.realm);
    IF b.role_leases > 0 THEN
        PERFORM flakeid.lease_check_quota(b.realm, b.now, b.role_leases);
    END IF;
    IF wanted IS NOT NULL THEN
        SELECT n.free_from INTO free FROM flakeid.lease_node AS n WHERE n.realm = b.realm AND n.node = wanted;
        IF free <= b.now THEN
            free := flakeid.lease_lock(b.realm, wanted, NULL);
        END IF;
    ELSE
        -- Nobody waits for others that take nodes at the same time.
        SELECT n.node, n.free_from INTO found_node, free FROM flakeid.lease_node AS n
        WHERE n.realm = b.realm AND n.free_from <= b.now AND n.node BETWEEN r.first AND r.top
        ORDER BY n.node LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            SELECT n.node, n.free_from INTO found_node, free FROM flakeid.lease_node AS n
            WHERE n.realm = b.realm AND n.free_from <= b.now AND n.node BETWEEN r.low AND r.first - 1
            ORDER BY n.node LIMIT 1 FOR UPDATE SKIP LOCKED;
        END IF;
        IF NOT FOUND THEN
            SELECT min(n.free_from) INTO free FROM flakeid.lease_node AS n
            WHERE n.realm = b.realm AND n.node BETWEEN r.low AND r.top;
            IF free <= b.now THEN
                RAISE lock_not_available USING
                    MESSAGE = format('other transactions are changing the last free nodes of realm "%s"', b.realm),
                    HINT = 'Ask again when they have ended.';
            END IF;
        END IF;
    END IF;
    IF free IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('nodes of realm "%s" are missing', b.realm),
            DETAIL = 'They were deleted, or the realm was restored without its triggers.',
            HINT = format('A superuser makes them on the coordinator: SELECT flakeid.lease_realm_set(%L);', b.realm);
    END IF;
    SELECT h.holder, h.released_at IS NOT NULL AS released INTO last
    FROM flakeid.lease_node AS n JOIN flakeid.lease_history AS h USING (token)
    WHERE n.realm = b.realm AND n.node = found_node AND free > b.now;
    SELECT g.lease_start, g.lease_end INTO lease_start, lease_end
    FROM flakeid.lease_decide_grant(b.now, found_node, free, length_s, b.realm, r.low, r.top + (b.lease_nodes - 1),
        last.holder, last.released) AS g;

    node := found_node;
    token := coalesce(lease_acquire.token, gen_random_uuid());
    UPDATE flakeid.lease_node AS n
    SET free_from = lease_acquire.lease_end, token = lease_acquire.token
    WHERE n.realm = b.realm AND n.node = found_node
    RETURNING n.nodes INTO nodes;
    INSERT INTO flakeid.lease_history
        (token, realm, node, nodes, holder, role, lease_start, lease_end, acquired_at, earlier_end)
    VALUES (lease_acquire.token, b.realm, found_node, lease_acquire.nodes, lease_acquire.holder, session_user,
            lease_acquire.lease_start, lease_acquire.lease_end, b.now, free)
    ON CONFLICT ON CONSTRAINT lease_history_pkey DO NOTHING;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the token was used by a question that was asked at the same time',
            HINT = 'Ask again with it.';
    END IF;
    -- The history of a range is no longer than 32.
    DELETE FROM flakeid.lease_history AS h WHERE h.token IN (
        SELECT i.token FROM flakeid.lease_history AS i
        WHERE i.realm = b.realm AND i.node = found_node AND i.token <> lease_acquire.token
        ORDER BY i.lease_start DESC, i.acquired_at DESC OFFSET 31);
    PERFORM flakeid.lease_tell_room(b.realm, b.now, b.nodes / b.lease_nodes);
END
$$;
COMMENT ON FUNCTION flakeid.lease_acquire(text, text, interval, int4, int4, uuid) IS
    'takes a node, or any free one up to max_node, and those after it where leases of the realm have several: nodes says how many; the lease counts after COMMIT. token: a random one that the caller chose, with which asking again gives the same lease';

CREATE FUNCTION flakeid.lease_renew(token uuid, ttl interval, known_end timestamptz DEFAULT NULL) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'postgres' AS $$
#variable_conflict use_column
DECLARE
    h record;
    b record;
    length_s int4;
    free timestamptz;
    new_end timestamptz;
BEGIN
    SELECT i.realm, i.node INTO h FROM flakeid.lease_history AS i WHERE i.token = lease_renew.token;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the coordinator does not know this lease',
            HINT = 'Make no ids after its end, and take a new one.';
    END IF;
    SELECT * INTO b FROM flakeid.lease_begin(h.realm);
    length_s := flakeid.lease_length(lease_renew.ttl, b.max_ttl_s);
    free := flakeid.lease_lock(h.realm, h.node, lease_renew.token);
    IF EXISTS (SELECT FROM flakeid.lease_history AS i WHERE i.token = lease_renew.token AND i.released_at IS NOT NULL) THEN
        free := NULL;
    END IF;
    new_end := flakeid.lease_decide_renew(b.now, b.rest_until, b.max_ttl_s, b.max_skew_s, h.node, length_s, lease_renew.known_end, free, h.realm);
    UPDATE flakeid.lease_node AS n SET free_from = new_end
    WHERE n.realm = h.realm AND n.node = h.node;
    UPDATE flakeid.lease_history AS i
    SET lease_end = new_end, renewed_at = b.now, renewals = i.renewals + 1
    WHERE i.token = lease_renew.token;
    RETURN new_end;
END
$$;
COMMENT ON FUNCTION flakeid.lease_renew(uuid, interval, timestamptz) IS
    'moves the end of a lease that has not ended, and returns it; known_end, the end that the holder knows, helps after a failover';

CREATE FUNCTION flakeid.lease_release(token uuid, last_stamp timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'postgres' AS $$
#variable_conflict use_column
DECLARE
    h record;
    b record;
    free timestamptz;
    d record;
BEGIN
    SELECT i.realm, i.node INTO h FROM flakeid.lease_history AS i WHERE i.token = lease_release.token;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'the coordinator does not know this lease';
    END IF;
    SELECT * INTO b FROM flakeid.lease_begin(h.realm);
    free := flakeid.lease_lock(h.realm, h.node, lease_release.token);
    SELECT i.realm, i.node, i.lease_start, i.lease_end, i.released_at, i.earlier_end INTO h
    FROM flakeid.lease_history AS i WHERE i.token = lease_release.token;
    SELECT * INTO d FROM flakeid.lease_decide_release(b.now, b.rest_until, b.max_ttl_s, b.max_skew_s, h.node,
        h.lease_start, h.lease_end, h.earlier_end, free IS NULL OR h.released_at IS NOT NULL, lease_release.last_stamp);
    IF d.changes THEN
        UPDATE flakeid.lease_node AS n SET free_from = d.free_from
        WHERE n.realm = h.realm AND n.node = h.node;
        UPDATE flakeid.lease_history AS i
        SET lease_end = d.lease_end, released_at = b.now, last_stamp = lease_release.last_stamp
        WHERE i.token = lease_release.token;
    END IF;
    RETURN d.lease_end;
END
$$;
COMMENT ON FUNCTION flakeid.lease_release(uuid, timestamptz) IS
    'gives a node back before the end, and returns from when it is free: after last_stamp, the moment of the last id; NULL: at the end; a moment before the start: no id was made, and the node is as free as before the lease';

-- For superusers

CREATE FUNCTION flakeid.lease_realm_set(realm text, nodes int4 DEFAULT NULL,
        max_ttl interval DEFAULT NULL, max_skew interval DEFAULT NULL, id uuid DEFAULT NULL,
        first_node int4 DEFAULT NULL, lease_nodes int4 DEFAULT NULL, role_leases int4 DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ttl_s CONSTANT numeric := ceil(extract(epoch FROM lease_realm_set.max_ttl));
    skew_s CONSTANT numeric := ceil(extract(epoch FROM lease_realm_set.max_skew));
BEGIN
    IF realm IS NULL OR realm = '' OR first_node < 0 OR nodes < 1 OR lease_nodes < 1 OR role_leases < 0
       OR ttl_s NOT BETWEEN 3 /* min_lease_ttl_s */ AND 86400 /* max_lease_ttl_s */ OR skew_s NOT BETWEEN 0 AND 86400 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'settings of a realm out of range',
            DETAIL = 'A realm has a name, 1 node or more from node 0 or a later one on, 1 node or more in a lease, 0 leases of a role or more, max_ttl from 3 s to 1 day and max_skew from 0 to 1 day.';
    END IF;
    UPDATE flakeid.lease_realm AS r
    SET first_node = coalesce(lease_realm_set.first_node, r.first_node),
        nodes = coalesce(lease_realm_set.nodes, r.nodes),
        lease_nodes = coalesce(lease_realm_set.lease_nodes, r.lease_nodes),
        max_ttl_s = coalesce(ttl_s, r.max_ttl_s),
        max_skew_s = coalesce(skew_s, r.max_skew_s),
        id = coalesce(lease_realm_set.id, r.id),
        role_leases = coalesce(lease_realm_set.role_leases, r.role_leases)
    WHERE r.realm = lease_realm_set.realm OR lease_realm_set.realm = ANY (r.further_names);
    IF NOT FOUND THEN
        INSERT INTO flakeid.lease_realm (realm, first_node, nodes, lease_nodes, max_ttl_s, max_skew_s, id, role_leases)
        VALUES (lease_realm_set.realm, coalesce(lease_realm_set.first_node, 0), coalesce(lease_realm_set.nodes, 1024),
                coalesce(lease_realm_set.lease_nodes, 1), coalesce(ttl_s, 120), coalesce(skew_s, 10), coalesce(lease_realm_set.id, gen_random_uuid()),
                coalesce(lease_realm_set.role_leases, 0));
        IF lease_realm_set.id IS NOT NULL THEN
            PERFORM flakeid.lease_begin_rest();
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.lease_realm_set(text, int4, interval, interval, uuid, int4, int4, int4) IS
    'makes a realm, or changes those of its settings that are named: how many nodes, from first_node on, lease_nodes of them in each lease, and at most 4194304 leases; max_ttl from 3 s to 1 day, max_skew from 0 to 1 day; the default is 1024, 0, 1, 2 min, 10 s; id, by which servers know it, where a coordinator is made anew, which then rests; role_leases, how many a role may hold at once, 0 for any number';

CREATE FUNCTION flakeid.lease_realm_add_name(realm text, name text) RETURNS void
    LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    other text;
BEGIN
    IF lease_realm_add_name.name = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'a realm needs a name';
    END IF;
    -- Two realms never come to the same name.
    LOCK TABLE flakeid.lease_realm IN SHARE ROW EXCLUSIVE MODE;
    SELECT r.realm INTO other FROM flakeid.lease_realm AS r
    WHERE r.realm = lease_realm_add_name.name OR lease_realm_add_name.name = ANY (r.further_names);
    IF FOUND THEN
        RAISE duplicate_object USING
            MESSAGE = format('there is a realm "%s"', lease_realm_add_name.name),
            HINT = format('If no server has ever used it: DELETE FROM flakeid.lease_realm WHERE realm = %L;', other);
    END IF;
    UPDATE flakeid.lease_realm AS r SET further_names = r.further_names || lease_realm_add_name.name
    WHERE r.realm = lease_realm_add_name.realm OR lease_realm_add_name.realm = ANY (r.further_names);
    IF NOT FOUND THEN
        RAISE invalid_parameter_value USING MESSAGE = format('there is no realm "%s"', lease_realm_add_name.realm);
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.lease_realm_add_name(text, text) IS
    'gives a realm a further name, so that flakeid.realm of its servers can be changed one after the other; the old name stays';

CREATE FUNCTION flakeid.lease_begin_rest() RETURNS void
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT flakeid.lease_begin(r.realm) FROM flakeid.lease_realm AS r;
    SELECT flakeid.lease_rest(true)
$$;
COMMENT ON FUNCTION flakeid.lease_begin_rest() IS
    'hands out no leases for max_ttl + max_skew from now: after a restore that the coordinator cannot notice';

CREATE FUNCTION flakeid.lease_end_rest() RETURNS void
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT flakeid.lease_clock(0);
    SELECT flakeid.lease_rest(false)
$$;
COMMENT ON FUNCTION flakeid.lease_end_rest() IS
    'hands out leases at once after a promotion or restore: only where no lease or renewal is missing';

CREATE FUNCTION flakeid.lease_revoke(realm text, node int4) RETURNS bool
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    b record;
    first int4;
    old_token uuid;
    free timestamptz;
BEGIN
    SELECT * INTO b FROM flakeid.lease_begin(lease_revoke.realm);
    SELECT n.node, n.token INTO first, old_token
    FROM (SELECT * FROM flakeid.lease_node AS i
          WHERE i.realm = b.realm AND i.node <= lease_revoke.node ORDER BY i.node DESC LIMIT 1) AS n
    WHERE lease_revoke.node - n.node < n.nodes AND n.free_from > b.now;
    IF FOUND THEN
        free := flakeid.lease_decide_revoke(b.now, flakeid.lease_lock(b.realm, first, old_token));
    END IF;
    IF free IS NULL THEN
        RETURN false;
    END IF;
    UPDATE flakeid.lease_node AS n SET free_from = free
    WHERE n.realm = b.realm AND n.node = first;
    UPDATE flakeid.lease_history AS h
    SET released_at = b.now, lease_end = greatest(h.lease_start, free)
    WHERE h.token = old_token AND h.lease_end > b.now;
    RETURN true;
END
$$;
COMMENT ON FUNCTION flakeid.lease_revoke(text, int4) IS
    'declares a node free, and all that are leased with it, whose holder is gone for certain; a holder that is not may make duplicates until its end';

CREATE FUNCTION flakeid.lease_forget(before timestamptz) RETURNS int8
    LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH gone AS (
        DELETE FROM flakeid.lease_history AS h
        WHERE h.lease_end < least(before, clock_timestamp())
          AND NOT EXISTS (SELECT FROM flakeid.lease_node AS n WHERE n.token = h.token)
        RETURNING 1)
    SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION flakeid.lease_forget(timestamptz) IS
    'deletes leases that ended before that moment, except the last one of each node';

SELECT flakeid.set_rights('flakeid_coordinator', NULL);
GRANT SELECT ON flakeid.leases TO pg_monitor;
-- pg_dump by an ordinary role reads the settings of realms, and a restore by one may write no row, which COPY asks a right for.
GRANT SELECT, INSERT ON flakeid.lease_realm TO PUBLIC;

-- Generators are members of flakeid_generator where the cluster has such a role. Who sets up a coordinator makes it; the script
-- makes none, because a role belongs to no database.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname OPERATOR(pg_catalog.=) 'flakeid_generator') THEN
        GRANT EXECUTE ON FUNCTION
            flakeid.lease_coordinator(int4, text, uuid, int8, int8), flakeid.lease_acquire(text, text, interval, int4, int4, uuid), flakeid.lease_renew(uuid, interval, timestamptz),
            flakeid.lease_release(uuid, timestamptz)
            TO flakeid_generator;
    END IF;
END
$$;

-- A standby or a copy that was made before the first lease is that of a coordinator too, and rests.
SELECT flakeid.lease_clock(0);
