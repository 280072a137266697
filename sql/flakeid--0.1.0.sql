-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION flakeid" to load this file. \quit

-- Type flake: a bigint with a name of its own, so that JSON prints it as a string. It has no
-- operators: it uses those of bigint.

CREATE TYPE flake;

CREATE FUNCTION flake_in(cstring) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_out(flake) RETURNS cstring
    AS 'MODULE_PATHNAME', 'flakeid_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_recv(internal) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_send(flake) RETURNS bytea
    AS 'MODULE_PATHNAME', 'flakeid_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE flake (
    INPUT = flake_in,
    OUTPUT = flake_out,
    RECEIVE = flake_recv,
    SEND = flake_send,
    LIKE = pg_catalog.int8,
    CATEGORY = 'N'
);

COMMENT ON TYPE flake IS 'unique 64-bit id; a bigint that JSON prints as a string';
COMMENT ON FUNCTION flake_in(cstring) IS 'I/O';
COMMENT ON FUNCTION flake_out(flake) IS 'I/O';
COMMENT ON FUNCTION flake_recv(internal) IS 'I/O';
COMMENT ON FUNCTION flake_send(flake) IS 'I/O';

CREATE FUNCTION flake(pg_catalog.int4) RETURNS flake
    AS 'int48' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake(pg_catalog.int4) IS 'convert int4 to flake';

CREATE FUNCTION flake(pg_catalog.numeric) RETURNS flake
    AS 'numeric_int8' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake(pg_catalog.numeric) IS 'convert numeric to flake';

-- An assignment takes no part in choosing operators: only bigint stands behind those.
CREATE CAST (flake AS pg_catalog.int8) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (pg_catalog.int8 AS flake) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (pg_catalog.int4 AS flake) WITH FUNCTION flake(pg_catalog.int4) AS ASSIGNMENT;
CREATE CAST (pg_catalog.int2 AS flake) WITH INOUT AS ASSIGNMENT;
CREATE CAST (pg_catalog.numeric AS flake) WITH FUNCTION flake(pg_catalog.numeric) AS ASSIGNMENT;
CREATE CAST (flake AS pg_catalog.int4) WITH INOUT AS ASSIGNMENT;
CREATE CAST (flake AS pg_catalog.numeric) WITH INOUT AS ASSIGNMENT;

-- The durable horizon (src/durable/horizon.hpp). pg_dump carries the copy alone, so that a restore can
-- raise the horizon but never lower it.

CREATE SEQUENCE flake_horizon MINVALUE 0 START 0;
CREATE SEQUENCE flake_horizon_copy MINVALUE 0 START 0;
COMMENT ON SEQUENCE flake_horizon IS 'no id of this database was ever stamped after it; not to be changed by hand';
COMMENT ON SEQUENCE flake_horizon_copy IS 'what pg_dump carries of flake_horizon';
GRANT SELECT ON SEQUENCE flake_horizon_copy TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('flake_horizon_copy', '');

CREATE FUNCTION flake_raise_horizon(after pg_catalog.timestamptz) RETURNS pg_catalog.void
    AS 'MODULE_PATHNAME', 'flakeid_raise_horizon' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_raise_horizon(pg_catalog.timestamptz) IS
    'makes all later ids of this database begin after that moment, whether the transaction commits or not';
REVOKE ALL ON FUNCTION flake_raise_horizon(pg_catalog.timestamptz) FROM PUBLIC;

CREATE FUNCTION flake_repair_horizon() RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'flakeid_repair_horizon' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_repair_horizon() IS
    'lowers a horizon that lies in the future to flakeid.max_ahead from now; false when it does not';
REVOKE ALL ON FUNCTION flake_repair_horizon() FROM PUBLIC;

CREATE FUNCTION flake_accept_clock() RETURNS pg_catalog.void
    AS 'MODULE_PATHNAME', 'flakeid_accept_clock' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_accept_clock() IS
    'declares the wall clock right after a leap that flakeid.max_leap refuses';
REVOKE ALL ON FUNCTION flake_accept_clock() FROM PUBLIC;

-- What ids this server issued before an earlier DROP EXTENSION stays behind the horizon.
SELECT flake_raise_horizon('epoch'::pg_catalog.timestamptz);

-- Making ids

CREATE FUNCTION flake_next() RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_next' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next() IS 'one new id of flakeid.layout';

CREATE FUNCTION flake_next(layout pg_catalog.text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_next' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next(pg_catalog.text) IS 'one new id of that layout';

CREATE FUNCTION flake_next_many(n pg_catalog.int4, layout pg_catalog.text DEFAULT NULL)
    RETURNS SETOF flake
    AS 'MODULE_PATHNAME', 'flakeid_next_many' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION flake_next_many(pg_catalog.int4, pg_catalog.text) IS 'n new ids';

CREATE FUNCTION flake_block(n pg_catalog.int4, layout pg_catalog.text DEFAULT NULL) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_block' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION flake_block(pg_catalog.int4, pg_catalog.text) IS
    'first of n new ids whose sequence numbers follow each other in one tick';

CREATE FUNCTION flake_make(ts pg_catalog.timestamptz, node pg_catalog.int4,
                           sequence pg_catalog.int4) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_make' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_make(pg_catalog.timestamptz, pg_catalog.int4, pg_catalog.int4) IS
    'composes an id of flakeid.layout from its parts';

CREATE FUNCTION flake_make(ts pg_catalog.timestamptz, node pg_catalog.int4,
                           sequence pg_catalog.int4, layout pg_catalog.text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_make' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_make(pg_catalog.timestamptz, pg_catalog.int4, pg_catalog.int4,
                               pg_catalog.text) IS
    'composes an id of that layout from its parts';

-- Reading ids. With a layout they are immutable, so that they serve in indexes; for an enciphered
-- layout the secret counts as a part of it.

CREATE FUNCTION flake_timestamp(id pg_catalog.int8) RETURNS pg_catalog.timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_timestamp' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_timestamp(id pg_catalog.int8, layout pg_catalog.text) RETURNS pg_catalog.timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_timestamp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_timestamp(pg_catalog.int8) IS 'when an id of flakeid.layout was made';
COMMENT ON FUNCTION flake_timestamp(pg_catalog.int8, pg_catalog.text) IS 'when an id of that layout was made';

CREATE FUNCTION flake_node(id pg_catalog.int8) RETURNS pg_catalog.int4
    AS 'MODULE_PATHNAME', 'flakeid_node' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_node(id pg_catalog.int8, layout pg_catalog.text) RETURNS pg_catalog.int4
    AS 'MODULE_PATHNAME', 'flakeid_node' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_node(pg_catalog.int8) IS 'node that made an id of flakeid.layout';
COMMENT ON FUNCTION flake_node(pg_catalog.int8, pg_catalog.text) IS 'node that made an id of that layout';

CREATE FUNCTION flake_sequence(id pg_catalog.int8) RETURNS pg_catalog.int4
    AS 'MODULE_PATHNAME', 'flakeid_sequence' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_sequence(id pg_catalog.int8, layout pg_catalog.text) RETURNS pg_catalog.int4
    AS 'MODULE_PATHNAME', 'flakeid_sequence' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sequence(pg_catalog.int8) IS 'counter of an id of flakeid.layout within its tick';
COMMENT ON FUNCTION flake_sequence(pg_catalog.int8, pg_catalog.text) IS 'counter of an id of that layout within its tick';

CREATE FUNCTION flake_field(id pg_catalog.int8, name pg_catalog.text) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_field' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_field(id pg_catalog.int8, name pg_catalog.text, layout pg_catalog.text) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_field' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_field(pg_catalog.int8, pg_catalog.text) IS 'a named field of an id of flakeid.layout';
COMMENT ON FUNCTION flake_field(pg_catalog.int8, pg_catalog.text, pg_catalog.text) IS 'a named field of an id of that layout';

CREATE FUNCTION flake_inspect(id pg_catalog.int8,
        OUT "timestamp" pg_catalog.timestamptz, OUT node pg_catalog.int4, OUT sequence pg_catalog.int4,
        OUT raw_id pg_catalog.int8, OUT layout_text pg_catalog.text, OUT fields pg_catalog.jsonb)
    AS 'MODULE_PATHNAME', 'flakeid_inspect' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_inspect(id pg_catalog.int8, layout pg_catalog.text,
        OUT "timestamp" pg_catalog.timestamptz, OUT node pg_catalog.int4, OUT sequence pg_catalog.int4,
        OUT raw_id pg_catalog.int8, OUT layout_text pg_catalog.text, OUT fields pg_catalog.jsonb)
    AS 'MODULE_PATHNAME', 'flakeid_inspect' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_inspect(pg_catalog.int8) IS 'all parts of an id of flakeid.layout';
COMMENT ON FUNCTION flake_inspect(pg_catalog.int8, pg_catalog.text) IS 'all parts of an id of that layout';

CREATE FUNCTION flake_explain(id pg_catalog.int8) RETURNS pg_catalog.text
    AS 'MODULE_PATHNAME', 'flakeid_explain' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_explain(id pg_catalog.int8, layout pg_catalog.text) RETURNS pg_catalog.text
    AS 'MODULE_PATHNAME', 'flakeid_explain' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_explain(pg_catalog.int8) IS 'a drawing of an id of flakeid.layout';
COMMENT ON FUNCTION flake_explain(pg_catalog.int8, pg_catalog.text) IS 'a drawing of an id of that layout';

CREATE FUNCTION flake_to_text(id pg_catalog.int8, format pg_catalog.text) RETURNS pg_catalog.text
    AS 'MODULE_PATHNAME', 'flakeid_to_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_from_text(text pg_catalog.text, format pg_catalog.text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_from_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_to_text(pg_catalog.int8, pg_catalog.text) IS 'an id in a text form such as base58';
COMMENT ON FUNCTION flake_from_text(pg_catalog.text, pg_catalog.text) IS 'reads what flake_to_text writes';

-- Finding ids by time

CREATE FUNCTION flake_floor(ts pg_catalog.timestamptz) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_floor' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_floor(ts pg_catalog.timestamptz, layout pg_catalog.text) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_floor' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_ceil(ts pg_catalog.timestamptz) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_ceil' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_ceil(ts pg_catalog.timestamptz, layout pg_catalog.text) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_ceil' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_floor(pg_catalog.timestamptz) IS 'lowest id of flakeid.layout in the tick of that moment';
COMMENT ON FUNCTION flake_floor(pg_catalog.timestamptz, pg_catalog.text) IS 'lowest id of that layout in the tick of that moment';
COMMENT ON FUNCTION flake_ceil(pg_catalog.timestamptz) IS 'highest id of flakeid.layout in the tick of that moment';
COMMENT ON FUNCTION flake_ceil(pg_catalog.timestamptz, pg_catalog.text) IS 'highest id of that layout in the tick of that moment';

CREATE FUNCTION flake_range_floor(during pg_catalog.tstzrange) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_range_floor' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_range_floor(during pg_catalog.tstzrange, layout pg_catalog.text) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_range_floor' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_range_ceil(during pg_catalog.tstzrange) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_range_ceil' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_range_ceil(during pg_catalog.tstzrange, layout pg_catalog.text) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_range_ceil' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_floor(pg_catalog.tstzrange) IS 'lowest id of flakeid.layout stamped in the range';
COMMENT ON FUNCTION flake_range_floor(pg_catalog.tstzrange, pg_catalog.text) IS 'lowest id of that layout stamped in the range';
COMMENT ON FUNCTION flake_range_ceil(pg_catalog.tstzrange) IS 'highest id of flakeid.layout stamped in the range; below flake_range_floor where there is none';
COMMENT ON FUNCTION flake_range_ceil(pg_catalog.tstzrange, pg_catalog.text) IS 'highest id of that layout stamped in the range; below flake_range_floor where there is none';

CREATE FUNCTION flake_in_range_support(pg_catalog.internal) RETURNS pg_catalog.internal
    AS 'MODULE_PATHNAME', 'flakeid_in_range_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION flake_in_range_support(pg_catalog.internal) IS 'planner support for flake_in_range';

CREATE FUNCTION flake_in_range(id pg_catalog.int8, during pg_catalog.tstzrange) RETURNS pg_catalog.bool
    AS 'MODULE_PATHNAME', 'flakeid_in_range' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flake_in_range_support;
COMMENT ON FUNCTION flake_in_range(pg_catalog.int8, pg_catalog.tstzrange) IS 'implementation of <@ operator';

CREATE OPERATOR <@ (
    LEFTARG = pg_catalog.int8,
    RIGHTARG = pg_catalog.tstzrange,
    FUNCTION = flake_in_range,
    RESTRICT = pg_catalog.contsel,
    JOIN = pg_catalog.contjoinsel
);
COMMENT ON OPERATOR <@ (pg_catalog.int8, pg_catalog.tstzrange) IS 'an id of flakeid.layout was stamped in the range';

-- Layouts, settings and counters

CREATE FUNCTION flake_layout(layout pg_catalog.text,
        OUT layout_text pg_catalog.text, OUT ids_per_second pg_catalog.int8, OUT nodes pg_catalog.int8,
        OUT first_date pg_catalog.timestamptz, OUT end_date pg_catalog.timestamptz,
        OUT enciphered pg_catalog.bool, OUT alive pg_catalog.bool)
    AS 'MODULE_PATHNAME', 'flakeid_layout' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_layout(pg_catalog.text) IS 'what a layout allows: ids a second of one node, number of nodes, life';

CREATE FUNCTION flake_preset_names() RETURNS pg_catalog.text[]
    AS 'MODULE_PATHNAME', 'flakeid_preset_names' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_preset_names() IS 'names of the layouts that flakeid knows';

CREATE VIEW flake_layouts AS
    SELECT preset.name, layout.layout_text, layout.ids_per_second, layout.nodes,
           layout.first_date, layout.end_date, layout.enciphered, layout.alive
    FROM pg_catalog.unnest(flake_preset_names()) AS preset (name),
         LATERAL flake_layout(preset.name) AS layout;
COMMENT ON VIEW flake_layouts IS 'layouts that flakeid knows by name';
GRANT SELECT ON flake_layouts TO PUBLIC;

CREATE FUNCTION flake_in_effect(OUT name pg_catalog.text, OUT value pg_catalog.text)
    RETURNS SETOF pg_catalog.record
    AS 'MODULE_PATHNAME', 'flakeid_in_effect' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_in_effect() IS 'what follows from the settings';

CREATE FUNCTION flake_prepare() RETURNS pg_catalog.void
    AS 'MODULE_PATHNAME', 'flakeid_prepare' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_prepare() IS 'does what flake_next() does, but for making an id';

CREATE FUNCTION flake_can_generate() RETURNS pg_catalog.text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM @extschema@.flake_prepare();
    RETURN 'yes';
EXCEPTION WHEN OTHERS THEN
    RETURN 'no: ' || SQLERRM;
END
$$;
COMMENT ON FUNCTION flake_can_generate() IS 'yes, or the error of flake_next()';

CREATE VIEW flake_status AS
    SELECT 'can generate' AS name, flake_can_generate() AS value, 'follows from the settings' AS source
    UNION ALL
    SELECT name, value, 'follows from the settings'
    FROM flake_in_effect()
    UNION ALL
    SELECT name, pg_catalog.current_setting(name),
           pg_catalog.concat_ws(' ', source, sourcefile OPERATOR(pg_catalog.||) ':' OPERATOR(pg_catalog.||) sourceline)
    FROM pg_catalog.pg_settings
    WHERE pg_catalog.starts_with(name, 'flakeid.');
COMMENT ON VIEW flake_status IS 'settings in effect in this session, where each came from, and what follows from them';
GRANT SELECT ON flake_status TO PUBLIC;

CREATE FUNCTION flake_stats_now(OUT issued pg_catalog.int8,
        OUT ahead_now pg_catalog.interval, OUT ahead_max pg_catalog.interval,
        OUT waits pg_catalog.int8, OUT wait_time pg_catalog.interval,
        OUT set_backs pg_catalog.int8, OUT set_back_max pg_catalog.interval,
        OUT extensions pg_catalog.int8, OUT stats_reset pg_catalog.timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_stats' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flake_stats_now() IS 'implementation of view flake_stats';

CREATE VIEW flake_stats AS SELECT * FROM flake_stats_now();
COMMENT ON VIEW flake_stats IS 'counters of the whole server since its start or flake_stats_reset()';
GRANT SELECT ON flake_stats TO PUBLIC;

CREATE FUNCTION flake_stats_reset() RETURNS pg_catalog.void
    AS 'MODULE_PATHNAME', 'flakeid_stats_reset' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_stats_reset() IS 'sets the counters of flake_stats to zero';
REVOKE ALL ON FUNCTION flake_stats_reset() FROM PUBLIC;

-- The block cipher alone. Whoever may call flake_decrypt(bigint) may look into enciphered ids.

CREATE FUNCTION flake_encrypt(word pg_catalog.int8) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_encrypt' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_encrypt(pg_catalog.int8) IS 'enciphers 64 bits with the configured secret';
REVOKE ALL ON FUNCTION flake_encrypt(pg_catalog.int8) FROM PUBLIC;

CREATE FUNCTION flake_decrypt(word pg_catalog.int8) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_decrypt' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_decrypt(pg_catalog.int8) IS 'deciphers 64 bits with the configured secret';
REVOKE ALL ON FUNCTION flake_decrypt(pg_catalog.int8) FROM PUBLIC;

CREATE FUNCTION flake_encrypt(word pg_catalog.int8, key pg_catalog.bytea) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_encrypt_with_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_encrypt(pg_catalog.int8, pg_catalog.bytea) IS 'enciphers 64 bits with a key of 16 bytes';

CREATE FUNCTION flake_decrypt(word pg_catalog.int8, key pg_catalog.bytea) RETURNS pg_catalog.int8
    AS 'MODULE_PATHNAME', 'flakeid_decrypt_with_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_decrypt(pg_catalog.int8, pg_catalog.bytea) IS 'deciphers 64 bits with a key of 16 bytes';

-- Leases, the coordinator's side: who may stamp ids of a node, from when until when. The end of a
-- node's last lease stands in flake_lease_node and never goes back while ids may have been stamped
-- before it; a row of it is locked for whatever happens to its node. (doc/leases.md)

CREATE TABLE flake_lease_realm (
    realm pg_catalog.text PRIMARY KEY,
    nodes pg_catalog.int4 NOT NULL,
    max_ttl pg_catalog.interval NOT NULL,
    max_skew pg_catalog.interval NOT NULL
);
COMMENT ON TABLE flake_lease_realm IS 'settings of realms, see flake_lease_realm_set()';

CREATE TABLE flake_lease_node (
    realm pg_catalog.text,
    node pg_catalog.int4,
    free_from pg_catalog.timestamptz NOT NULL DEFAULT '-infinity',
    token pg_catalog.uuid,
    PRIMARY KEY (realm, node)
);
CREATE INDEX flake_lease_node_free ON flake_lease_node (realm, free_from, node);
COMMENT ON TABLE flake_lease_node IS 'when each node that was ever leased is free, and the token of its last lease';

CREATE TABLE flake_lease_history (
    token pg_catalog.uuid PRIMARY KEY,
    realm pg_catalog.text NOT NULL,
    node pg_catalog.int4 NOT NULL,
    holder pg_catalog.text NOT NULL,
    role pg_catalog.text NOT NULL,
    lease_start pg_catalog.timestamptz NOT NULL,
    lease_end pg_catalog.timestamptz NOT NULL,
    acquired_at pg_catalog.timestamptz NOT NULL,
    renewed_at pg_catalog.timestamptz,
    renewals pg_catalog.int8 NOT NULL DEFAULT 0,
    released_at pg_catalog.timestamptz,
    last_stamp pg_catalog.timestamptz
);
CREATE INDEX flake_lease_history_node ON flake_lease_history (realm, node, lease_start);
COMMENT ON TABLE flake_lease_history IS 'every lease, see view flake_leases';

-- What the coordinator remembers even when the transaction that learnt it fails, hence sequences:
-- where it runs (a hash), how far its clock was, and since when it rests (microseconds since 1970,
-- 0: it does not). A dump carries the settings of realms and that leases were handed out, not who has
-- them: everyone may read what it carries, or an ordinary role could not dump its database; and the
-- rest of a restored coordinator, which knows by this that it is one, outlasts them all.
CREATE SEQUENCE flake_lease_place MINVALUE 0 START 0;
CREATE SEQUENCE flake_lease_place_copy MINVALUE 0 START 0;
CREATE SEQUENCE flake_lease_latest MINVALUE 0 START 0;
CREATE SEQUENCE flake_lease_rest MINVALUE 0 START 0;
COMMENT ON SEQUENCE flake_lease_place IS 'system, timeline, database and table that the leases are kept in';
COMMENT ON SEQUENCE flake_lease_place_copy IS 'what pg_dump carries of flake_lease_place';
GRANT SELECT ON flake_lease_realm, flake_lease_place_copy TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('flake_lease_realm', '');
SELECT pg_catalog.pg_extension_config_dump('flake_lease_place_copy', '');
COMMENT ON SEQUENCE flake_lease_latest IS 'how far the clock of leases was';
COMMENT ON SEQUENCE flake_lease_rest IS 'since when nothing is handed out, because leases or renewals may be missing';

CREATE VIEW flake_leases AS
    SELECT realm, node, holder, role, lease_start, lease_end,
           CASE WHEN released_at IS NOT NULL THEN 'released'
                WHEN lease_end OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN 'held'
                ELSE 'expired' END AS state,
           acquired_at, renewed_at, renewals, released_at, last_stamp
    FROM flake_lease_history;
COMMENT ON VIEW flake_leases IS 'who holds and held which node from when until when';
GRANT SELECT ON flake_leases TO pg_monitor;

CREATE FUNCTION flake_lease_clock(OUT now pg_catalog.timestamptz, OUT place pg_catalog.text)
    AS 'MODULE_PATHNAME', 'flakeid_lease_clock' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_lease_clock() IS 'clock held to flakeid.max_leap, system identifier and timeline';

CREATE FUNCTION flake_lease_begin(of_realm pg_catalog.text, OUT now pg_catalog.timestamptz,
        OUT nodes pg_catalog.int4, OUT max_ttl pg_catalog.interval, OUT max_skew pg_catalog.interval,
        OUT rest_until pg_catalog.timestamptz)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place_text text;
    place int8;
    known_place int8;
    latest int8;
    rest int8;
BEGIN
    -- A lease that a crash or a failover could take back is none.
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    SELECT r.nodes, r.max_ttl, r.max_skew INTO nodes, max_ttl, max_skew
    FROM @extschema@.flake_lease_realm AS r WHERE r.realm = of_realm;
    IF NOT FOUND THEN
        IF of_realm IS DISTINCT FROM 'default' THEN
            RAISE invalid_parameter_value USING
                MESSAGE = format('there is no realm "%s"', of_realm),
                HINT = 'Make it with flake_lease_realm_set(), or use the realm "default".';
        END IF;
        nodes := 1024;
        max_ttl := '2 min';
        max_skew := '10 s';
    END IF;

    SELECT c.now, c.place INTO now, place_text FROM @extschema@.flake_lease_clock() AS c;
    SELECT last_value INTO latest FROM @extschema@.flake_lease_latest;
    IF to_timestamp(latest / 1e6) > now THEN
        now := to_timestamp(latest / 1e6);
    ELSIF to_timestamp(latest / 1e6) < now - interval '1 s' THEN
        PERFORM setval('@extschema@.flake_lease_latest', (extract(epoch FROM now) * 1e6)::int8);
    END IF;

    place := hashtextextended(concat_ws('/', place_text,
        '@extschema@.flake_lease_history'::regclass::oid), 0) & 9223372036854775807;
    SELECT last_value INTO known_place FROM @extschema@.flake_lease_place;
    IF place <> known_place THEN
        IF known_place <> 0 OR EXISTS (SELECT FROM @extschema@.flake_lease_place_copy WHERE last_value <> 0) THEN
            PERFORM setval('@extschema@.flake_lease_rest', (extract(epoch FROM now) * 1e6)::int8);
            RAISE LOG USING
                MESSAGE = 'the coordinator of leases was promoted, restored or upgraded',
                DETAIL = 'Leases and renewals may be missing, so it hands out nothing for the max_ttl + max_skew of each realm.';
        END IF;
        PERFORM setval('@extschema@.flake_lease_place_copy', place);
        PERFORM setval('@extschema@.flake_lease_place', place);
    END IF;
    SELECT last_value INTO rest FROM @extschema@.flake_lease_rest;
    rest_until := CASE WHEN rest > 0
        THEN date_trunc('second', to_timestamp(rest / 1e6) + max_ttl + max_skew) + interval '1 s' END;
    IF rest_until <= now THEN
        rest_until := NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION flake_lease_begin(pg_catalog.text) IS 'what every function of leases begins with';

CREATE FUNCTION flake_lease_seconds(ttl pg_catalog.interval, max_ttl pg_catalog.interval)
    RETURNS pg_catalog.interval
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF ttl IS NULL OR ttl < interval '1 s' OR ttl > max_ttl THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('a lease cannot last %s', coalesce(ttl::text, 'for ever')),
            DETAIL = format('It lasts from 1 s to the max_ttl of its realm, %s.', max_ttl),
            HINT = 'Ask for less (flakeid.lease_ttl), or raise max_ttl with flake_lease_realm_set().';
    END IF;
    RETURN make_interval(secs => ceil(extract(epoch FROM ttl))::float8);
END
$$;
COMMENT ON FUNCTION flake_lease_seconds(pg_catalog.interval, pg_catalog.interval) IS 'length of a lease in whole seconds';

CREATE FUNCTION flake_lease_acquire(realm pg_catalog.text, holder pg_catalog.text, ttl pg_catalog.interval,
        INOUT node pg_catalog.int4 DEFAULT NULL, max_node pg_catalog.int4 DEFAULT NULL,
        OUT token pg_catalog.uuid, OUT lease_start pg_catalog.timestamptz,
        OUT lease_end pg_catalog.timestamptz)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    wanted CONSTANT int4 := flake_lease_acquire.node;
    of_realm CONSTANT text := flake_lease_acquire.realm;
    b record;
    length interval;
    top int4;
    found_node int4;
    free timestamptz;
    last record;
BEGIN
    IF flake_lease_acquire.holder IS NULL OR flake_lease_acquire.holder = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'a lease needs the name of its holder';
    END IF;
    IF flake_lease_acquire.max_node < 0 THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = format('max_node %s is out of range', flake_lease_acquire.max_node),
            DETAIL = 'The lowest node is 0.';
    END IF;
    SELECT * INTO b FROM @extschema@.flake_lease_begin(of_realm);
    length := @extschema@.flake_lease_seconds(flake_lease_acquire.ttl, b.max_ttl);
    IF b.rest_until IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the coordinator hands out no leases before %s', b.rest_until),
            DETAIL = 'It was promoted, restored or upgraded, or a superuser began a rest: leases or renewals may be missing.',
            HINT = 'Wait. If nothing is missing, a superuser may run SELECT flake_lease_end_rest() there.';
    END IF;
    top := least(b.nodes - 1, coalesce(flake_lease_acquire.max_node, b.nodes - 1));

    IF wanted IS NOT NULL THEN
        IF wanted < 0 OR wanted > top THEN
            RAISE numeric_value_out_of_range USING
                MESSAGE = format('node %s is out of range for realm "%s"', wanted, of_realm),
                DETAIL = format('Its nodes are 0 to %s.', top),
                HINT = 'Change the number of nodes with flake_lease_realm_set().';
        END IF;
        INSERT INTO @extschema@.flake_lease_node (realm, node) VALUES (of_realm, wanted)
        ON CONFLICT (realm, node) DO NOTHING;
        SELECT n.node, n.free_from INTO found_node, free FROM @extschema@.flake_lease_node AS n
        WHERE n.realm = of_realm AND n.node = wanted FOR UPDATE;
        IF free > b.now THEN
            SELECT h.holder, h.released_at INTO last
            FROM @extschema@.flake_lease_node AS n JOIN @extschema@.flake_lease_history AS h USING (token)
            WHERE n.realm = of_realm AND n.node = wanted;
            RAISE object_in_use USING
                MESSAGE = format('node %s of realm "%s" is not free before %s', wanted, of_realm, free),
                DETAIL = CASE WHEN last.released_at IS NULL
                    THEN format('It is held by "%s".', last.holder)
                    ELSE format('"%s" released it.', last.holder) END,
                HINT = CASE WHEN last.released_at IS NULL
                    THEN 'Two servers want the same node, or the last holder was killed and its lease goes on until its end.'
                    ELSE 'Ask again then.' END;
        END IF;
    ELSE
        <<search>>
        FOR attempt IN 1 .. 4 LOOP
            -- Nobody waits for others that take nodes at the same time.
            SELECT n.node INTO found_node FROM @extschema@.flake_lease_node AS n
            WHERE n.realm = of_realm AND n.free_from <= b.now AND n.node <= top
            ORDER BY n.free_from, n.node LIMIT 1 FOR UPDATE SKIP LOCKED;
            EXIT search WHEN FOUND;
            IF attempt = 1 THEN
                PERFORM pg_advisory_xact_lock(hashtextextended('flakeid realm ' || of_realm, 0));
            ELSIF attempt = 2 THEN
                INSERT INTO @extschema@.flake_lease_node (realm, node)
                SELECT of_realm, fresh.number
                FROM (SELECT generate_series(0, top) AS number) AS fresh
                WHERE NOT EXISTS (SELECT FROM @extschema@.flake_lease_node AS n
                                  WHERE n.realm = of_realm AND n.node = fresh.number)
                LIMIT 1024
                ON CONFLICT (realm, node) DO NOTHING;
            ELSIF attempt = 3 THEN
                -- All that is left is being taken; some of it may be given back.
                SELECT n.node INTO found_node FROM @extschema@.flake_lease_node AS n
                WHERE n.realm = of_realm AND n.free_from <= b.now AND n.node <= top
                ORDER BY n.free_from, n.node LIMIT 1 FOR UPDATE;
                EXIT search WHEN FOUND;
            ELSE
                SELECT min(n.free_from) INTO free FROM @extschema@.flake_lease_node AS n
                WHERE n.realm = of_realm AND n.node <= top;
                RAISE configuration_limit_exceeded USING
                    MESSAGE = format('all %s nodes of realm "%s" are leased', top + 1, of_realm),
                    DETAIL = format('The earliest comes free at %s, unless its lease is renewed.', free),
                    HINT = 'View flake_leases on the coordinator shows who holds them; flake_lease_realm_set() adds nodes.';
            END IF;
        END LOOP;
    END IF;

    node := found_node;
    token := gen_random_uuid();
    lease_start := date_trunc('second', b.now);
    lease_end := lease_start + length;
    UPDATE @extschema@.flake_lease_node AS n
    SET free_from = flake_lease_acquire.lease_end, token = flake_lease_acquire.token
    WHERE n.realm = of_realm AND n.node = found_node;
    INSERT INTO @extschema@.flake_lease_history
        (token, realm, node, holder, role, lease_start, lease_end, acquired_at)
    VALUES (flake_lease_acquire.token, of_realm, found_node, flake_lease_acquire.holder, session_user,
            flake_lease_acquire.lease_start, flake_lease_acquire.lease_end, b.now);
END
$$;
COMMENT ON FUNCTION flake_lease_acquire(pg_catalog.text, pg_catalog.text, pg_catalog.interval, pg_catalog.int4, pg_catalog.int4) IS
    'takes a node, or any free one up to max_node; it counts after COMMIT';

CREATE FUNCTION flake_lease_renew(token pg_catalog.uuid, ttl pg_catalog.interval,
        known_end pg_catalog.timestamptz DEFAULT NULL) RETURNS pg_catalog.timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    h record;
    b record;
    length interval;
    old_end timestamptz;
    resting bool;
    new_end timestamptz;
BEGIN
    SELECT i.realm, i.node INTO h FROM @extschema@.flake_lease_history AS i
    WHERE i.token = flake_lease_renew.token;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the coordinator does not know this lease',
            HINT = 'Make no ids after its end, and take a new one.';
    END IF;
    SELECT * INTO b FROM @extschema@.flake_lease_begin(h.realm);
    length := @extschema@.flake_lease_seconds(flake_lease_renew.ttl, b.max_ttl);
    resting := b.rest_until IS NOT NULL;
    SELECT n.free_from INTO old_end FROM @extschema@.flake_lease_node AS n
    WHERE n.realm = h.realm AND n.node = h.node AND n.token = flake_lease_renew.token FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM @extschema@.flake_lease_history AS i
                            WHERE i.token = flake_lease_renew.token AND i.released_at IS NOT NULL) THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the lease of node %s has ended', h.node),
            HINT = 'Take a new one.';
    END IF;
    -- A holder that knows more than the coordinator tells it that renewals are missing, as after the
    -- restore of a copy that nothing else shows. While the coordinator rests it hands out nothing, so
    -- that such a holder still has its node for itself.
    IF flake_lease_renew.known_end > old_end
       AND flake_lease_renew.known_end <= b.now + b.max_ttl + b.max_skew THEN
        IF NOT resting THEN
            PERFORM @extschema@.flake_lease_begin_rest();
            resting := true;
        END IF;
        old_end := date_trunc('second', flake_lease_renew.known_end);
    END IF;
    -- The old coordinator's clock may have been max_skew further, and the node given away.
    IF resting AND old_end <= b.now + b.max_skew AND old_end > b.now THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the coordinator rests, and the lease of node %s ends too soon to be renewed', h.node),
            HINT = 'Make no ids after its end, and take a new one.';
    END IF;
    IF old_end <= b.now THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the lease of node %s ended at %s', h.node, old_end),
            HINT = 'Renew leases before their end, at a third of their length, or take a new one.';
    END IF;
    new_end := greatest(old_end, date_trunc('second', b.now) + length);
    UPDATE @extschema@.flake_lease_node AS n SET free_from = new_end
    WHERE n.realm = h.realm AND n.node = h.node;
    UPDATE @extschema@.flake_lease_history AS i
    SET lease_end = new_end, renewed_at = b.now, renewals = i.renewals + 1
    WHERE i.token = flake_lease_renew.token;
    RETURN new_end;
END
$$;
COMMENT ON FUNCTION flake_lease_renew(pg_catalog.uuid, pg_catalog.interval, pg_catalog.timestamptz) IS
    'moves the end of a lease that has not ended and returns it; known_end is the end that the holder knows';

CREATE FUNCTION flake_lease_release(token pg_catalog.uuid, last_stamp pg_catalog.timestamptz)
    RETURNS pg_catalog.timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    h record;
    b record;
    free timestamptz;
BEGIN
    SELECT i.realm, i.node INTO h FROM @extschema@.flake_lease_history AS i
    WHERE i.token = flake_lease_release.token;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'the coordinator does not know this lease';
    END IF;
    SELECT * INTO b FROM @extschema@.flake_lease_begin(h.realm);
    PERFORM FROM @extschema@.flake_lease_node AS n
    WHERE n.realm = h.realm AND n.node = h.node FOR UPDATE;
    SELECT i.realm, i.node, i.lease_start, i.lease_end, i.released_at INTO h
    FROM @extschema@.flake_lease_history AS i WHERE i.token = flake_lease_release.token;
    IF h.released_at IS NOT NULL THEN
        RETURN h.lease_end;
    END IF;
    IF flake_lease_release.last_stamp >= h.lease_end
       AND (b.rest_until IS NULL OR flake_lease_release.last_stamp > b.now + b.max_ttl + b.max_skew) THEN
        RAISE datetime_field_overflow USING
            MESSAGE = format('the last stamp %s lies outside the lease', flake_lease_release.last_stamp),
            DETAIL = format('The lease of node %s is from %s to %s.', h.node, h.lease_start, h.lease_end);
    END IF;
    -- Whoever does not know his last stamp keeps the node until the end.
    free := greatest(h.lease_start,
        coalesce(date_trunc('second', flake_lease_release.last_stamp) + interval '1 s', h.lease_end));
    UPDATE @extschema@.flake_lease_node AS n SET free_from = free
    WHERE n.realm = h.realm AND n.node = h.node AND n.token = flake_lease_release.token;
    UPDATE @extschema@.flake_lease_history AS i
    SET lease_end = free, released_at = b.now, last_stamp = flake_lease_release.last_stamp
    WHERE i.token = flake_lease_release.token;
    RETURN free;
END
$$;
COMMENT ON FUNCTION flake_lease_release(pg_catalog.uuid, pg_catalog.timestamptz) IS
    'gives a node back before the end and returns from when it is free; no id may be stamped after last_stamp';

-- For superusers

CREATE FUNCTION flake_lease_realm_set(realm pg_catalog.text, nodes pg_catalog.int4 DEFAULT NULL,
        max_ttl pg_catalog.interval DEFAULT NULL, max_skew pg_catalog.interval DEFAULT NULL)
    RETURNS pg_catalog.void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF realm IS NULL OR realm = '' OR nodes < 1 OR max_ttl < interval '3 s'
       OR max_ttl > interval '1 day' OR max_skew < interval '0 s' OR max_skew > interval '1 day' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'settings of a realm out of range',
            DETAIL = 'A realm has a name, at least one node, max_ttl from 3 s to 1 day and max_skew from 0 to 1 day.';
    END IF;
    INSERT INTO @extschema@.flake_lease_realm AS r (realm, nodes, max_ttl, max_skew)
    VALUES (flake_lease_realm_set.realm, coalesce(flake_lease_realm_set.nodes, 1024),
            coalesce(flake_lease_realm_set.max_ttl, '2 min'), coalesce(flake_lease_realm_set.max_skew, '10 s'))
    ON CONFLICT ON CONSTRAINT flake_lease_realm_pkey DO UPDATE
    SET nodes = coalesce(flake_lease_realm_set.nodes, r.nodes),
        max_ttl = coalesce(flake_lease_realm_set.max_ttl, r.max_ttl),
        max_skew = coalesce(flake_lease_realm_set.max_skew, r.max_skew);
END
$$;
COMMENT ON FUNCTION flake_lease_realm_set(pg_catalog.text, pg_catalog.int4, pg_catalog.interval, pg_catalog.interval) IS
    'makes a realm, or changes those of its settings that are named';

CREATE FUNCTION flake_lease_begin_rest() RETURNS pg_catalog.void
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT setval('@extschema@.flake_lease_rest', (extract(epoch FROM b.now) * 1e6)::int8)
    FROM @extschema@.flake_lease_begin('default') AS b
$$;
COMMENT ON FUNCTION flake_lease_begin_rest() IS
    'hands out no leases for max_ttl + max_skew from now: after a restore that the coordinator cannot notice';

CREATE FUNCTION flake_lease_end_rest() RETURNS pg_catalog.void
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT @extschema@.flake_lease_begin('default');
    SELECT setval('@extschema@.flake_lease_rest', 0)
$$;
COMMENT ON FUNCTION flake_lease_end_rest() IS
    'hands out leases at once after a promotion or restore: only where no lease or renewal is missing';

CREATE FUNCTION flake_lease_repair_clock() RETURNS pg_catalog.interval
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    latest timestamptz;
BEGIN
    SELECT to_timestamp(last_value / 1e6) INTO latest FROM @extschema@.flake_lease_latest;
    PERFORM setval('@extschema@.flake_lease_latest', (extract(epoch FROM clock_timestamp()) * 1e6)::int8);
    RETURN greatest(latest - clock_timestamp(), interval '0');
END
$$;
COMMENT ON FUNCTION flake_lease_repair_clock() IS
    'lets the clock of leases go back to the wall clock, after that was wrong; returns by how much';

CREATE FUNCTION flake_lease_revoke(realm pg_catalog.text, node pg_catalog.int4) RETURNS pg_catalog.bool
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    b record;
    old_token uuid;
BEGIN
    SELECT * INTO b FROM @extschema@.flake_lease_begin(flake_lease_revoke.realm);
    SELECT n.token INTO old_token FROM @extschema@.flake_lease_node AS n
    WHERE n.realm = flake_lease_revoke.realm AND n.node = flake_lease_revoke.node
      AND n.free_from > b.now FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE @extschema@.flake_lease_node AS n SET free_from = date_trunc('second', b.now) + interval '1 s'
    WHERE n.realm = flake_lease_revoke.realm AND n.node = flake_lease_revoke.node;
    UPDATE @extschema@.flake_lease_history AS h
    SET released_at = b.now,
        lease_end = greatest(h.lease_start, date_trunc('second', b.now) + interval '1 s')
    WHERE h.token = old_token AND h.lease_end > b.now;
    RETURN true;
END
$$;
COMMENT ON FUNCTION flake_lease_revoke(pg_catalog.text, pg_catalog.int4) IS
    'declares a node free whose holder is gone for certain; a holder that is not may make duplicates until its end';

CREATE FUNCTION flake_lease_forget(before pg_catalog.timestamptz) RETURNS pg_catalog.int8
    LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH gone AS (
        DELETE FROM @extschema@.flake_lease_history AS h
        WHERE h.lease_end < least(before, clock_timestamp())
          AND NOT EXISTS (SELECT FROM @extschema@.flake_lease_node AS n WHERE n.token = h.token)
        RETURNING 1)
    SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION flake_lease_forget(pg_catalog.timestamptz) IS
    'deletes leases that ended before that moment, but for the last one of each node';

REVOKE ALL ON FUNCTION flake_lease_clock() FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_begin(pg_catalog.text) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_seconds(pg_catalog.interval, pg_catalog.interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_acquire(pg_catalog.text, pg_catalog.text, pg_catalog.interval, pg_catalog.int4, pg_catalog.int4) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_renew(pg_catalog.uuid, pg_catalog.interval, pg_catalog.timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_release(pg_catalog.uuid, pg_catalog.timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_realm_set(pg_catalog.text, pg_catalog.int4, pg_catalog.interval, pg_catalog.interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_begin_rest() FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_end_rest() FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_repair_clock() FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_revoke(pg_catalog.text, pg_catalog.int4) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_forget(pg_catalog.timestamptz) FROM PUBLIC;

-- A role to grant to generators. It belongs to the whole cluster and outlives the extension.
DO $$
BEGIN
    CREATE ROLE flakeid_generator NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END
$$;
GRANT EXECUTE ON FUNCTION flake_lease_acquire(pg_catalog.text, pg_catalog.text, pg_catalog.interval, pg_catalog.int4, pg_catalog.int4) TO flakeid_generator;
GRANT EXECUTE ON FUNCTION flake_lease_renew(pg_catalog.uuid, pg_catalog.interval, pg_catalog.timestamptz) TO flakeid_generator;
GRANT EXECUTE ON FUNCTION flake_lease_release(pg_catalog.uuid, pg_catalog.timestamptz) TO flakeid_generator;
