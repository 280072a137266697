-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION flakeid" to load this file. \quit

-- A server that still runs an older library does not know this function.

DO $$
BEGIN
    CREATE FUNCTION flakeid_version() RETURNS text
        AS 'MODULE_PATHNAME', 'flakeid_version' LANGUAGE C STABLE STRICT PARALLEL SAFE;
EXCEPTION WHEN undefined_function THEN
    RAISE object_not_in_prerequisite_state USING
        MESSAGE = 'the running server uses another version of the flakeid library',
        DETAIL = SQLERRM,
        HINT = 'Restart the server.';
END
$$;
COMMENT ON FUNCTION flakeid_version() IS 'version of the library';

-- -------------------------------------------------------------------------------------------------
-- The schema of the extension
-- -------------------------------------------------------------------------------------------------
--
-- What is not meant for people lives in a schema that belongs to the installer, so that the owner of
-- a database can neither rename nor shadow what the code of the extension names. Everybody may look
-- names up in it, because pg_dump by an ordinary role does.

CREATE SCHEMA flakeid;
GRANT USAGE ON SCHEMA flakeid TO PUBLIC;
COMMENT ON SCHEMA flakeid IS 'what extension flakeid keeps for itself';

-- -------------------------------------------------------------------------------------------------
-- Type flake
-- -------------------------------------------------------------------------------------------------
--
-- A bigint with a name of its own, so that JSON prints it as a string. It has no operators: it uses those of bigint.

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
    LIKE = int8,
    CATEGORY = 'N'
);

COMMENT ON TYPE flake IS 'unique 64-bit id; a bigint that JSON prints as a string';
COMMENT ON FUNCTION flake_in(cstring) IS 'I/O';
COMMENT ON FUNCTION flake_out(flake) IS 'I/O';
COMMENT ON FUNCTION flake_recv(internal) IS 'I/O';
COMMENT ON FUNCTION flake_send(flake) IS 'I/O';

CREATE FUNCTION flake(int2) RETURNS flake
    AS 'int28' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake(int2) IS 'convert int2 to flake';

CREATE FUNCTION flake(int4) RETURNS flake
    AS 'int48' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake(int4) IS 'convert int4 to flake';

CREATE FUNCTION flake(numeric) RETURNS flake
    AS 'numeric_int8' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake(numeric) IS 'convert numeric to flake';

-- A flake becomes a bigint implicitly, and nothing else: so it has the operators and functions of bigint, and no others
-- compete. Small integers become a flake implicitly, for coalesce(id, 0), UNION and the like; that chooses no operator, since
-- flake has none. A bigint does not: with casts both ways, the order of its parts would decide the type of a UNION.
CREATE CAST (flake AS int8) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (int8 AS flake) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (int4 AS flake) WITH FUNCTION flake(int4) AS IMPLICIT;
CREATE CAST (int2 AS flake) WITH FUNCTION flake(int2) AS IMPLICIT;
CREATE CAST (numeric AS flake) WITH FUNCTION flake(numeric) AS ASSIGNMENT;
CREATE CAST (flake AS int4) WITH INOUT AS ASSIGNMENT;
CREATE CAST (flake AS int2) WITH INOUT AS ASSIGNMENT;
CREATE CAST (flake AS numeric) WITH INOUT AS ASSIGNMENT;
CREATE CAST (flake AS float8) WITH INOUT;

-- -------------------------------------------------------------------------------------------------
-- Making ids
-- -------------------------------------------------------------------------------------------------

CREATE FUNCTION flake_next() RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_next' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next() IS 'one new id of flakeid.layout and flakeid.node';

CREATE FUNCTION flake_next(layout text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_next' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next(text) IS
    'one new id of that layout and flakeid.node; a layout that is neither a preset nor flakeid.layout is for superusers';

CREATE FUNCTION flake_next(layout text, node int4) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_next_of_node' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next(text, int4) IS 'one new id of flakeid.layout and a node of the span that flakeid.node grants';

CREATE FUNCTION flake_next_many(n int4, layout text DEFAULT NULL)
    RETURNS SETOF flake
    AS 'MODULE_PATHNAME', 'flakeid_next_many' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION flake_next_many(int4, text) IS 'n new ids, n from 0; a NULL layout is flakeid.layout';

CREATE FUNCTION flake_block(n int4, layout text DEFAULT NULL) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_block' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION flake_block(int4, text) IS
    'first of n new ids whose sequence numbers follow each other in one tick; n from 1 to what a tick holds; a NULL layout is flakeid.layout';

-- -------------------------------------------------------------------------------------------------
-- Reading ids
-- -------------------------------------------------------------------------------------------------
--
-- With a layout the functions are immutable, so that they serve in indexes; for an enciphered
-- layout the secret counts as a part of it.

CREATE FUNCTION flake_timestamp(id int8) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_timestamp' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_timestamp(id int8, layout text) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_timestamp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_timestamp(int8) IS 'when an id of flakeid.layout was made: the start of its tick';
COMMENT ON FUNCTION flake_timestamp(int8, text) IS 'when an id of that layout was made: the start of its tick';

CREATE FUNCTION flake_node(id int8) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_node' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_node(id int8, layout text) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_node' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_node(int8) IS
    'node that made an id of flakeid.layout: all parts of the node, the one further left high';
COMMENT ON FUNCTION flake_node(int8, text) IS 'node that made an id of that layout';

CREATE FUNCTION flake_sequence(id int8) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_sequence' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_sequence(id int8, layout text) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_sequence' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sequence(int8) IS 'counter of an id of flakeid.layout within its tick';
COMMENT ON FUNCTION flake_sequence(int8, text) IS 'counter of an id of that layout within its tick';

CREATE FUNCTION flake_field(id int8, name text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_field' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_field(id int8, name text, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_field' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_field(int8, text) IS
    'a field of an id of flakeid.layout by its name, such as datacenter; time is in ticks';
COMMENT ON FUNCTION flake_field(int8, text, text) IS 'a field of an id of that layout by its name';

CREATE FUNCTION flake_inspect(id int8,
        OUT "timestamp" timestamptz, OUT node int4, OUT sequence int4,
        OUT raw_id int8, OUT layout_text text, OUT fields jsonb)
    AS 'MODULE_PATHNAME', 'flakeid_inspect' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_inspect(id int8, layout text,
        OUT "timestamp" timestamptz, OUT node int4, OUT sequence int4,
        OUT raw_id int8, OUT layout_text text, OUT fields jsonb)
    AS 'MODULE_PATHNAME', 'flakeid_inspect' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_inspect(int8) IS
    'all parts of an id of flakeid.layout; raw_id is deciphered, layout_text is the normal text of the layout';
COMMENT ON FUNCTION flake_inspect(int8, text) IS 'all parts of an id of that layout';

CREATE FUNCTION flake_explain(id int8) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_explain' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_explain(id int8, layout text) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_explain' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_explain(int8) IS 'a drawing of the bits of an id of flakeid.layout, for people';
COMMENT ON FUNCTION flake_explain(int8, text) IS 'a drawing of the bits of an id of that layout, for people';

CREATE FUNCTION flake_make(ts timestamptz, node int4,
                           sequence int4) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_make' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_make(timestamptz, int4, int4) IS
    'composes an id of flakeid.layout from its parts; nothing keeps it apart from others, and its back field is 0';

CREATE FUNCTION flake_make(ts timestamptz, node int4,
                           sequence int4, layout text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_make' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_make(timestamptz, int4, int4,
                               text) IS
    'composes an id of that layout from its parts';

-- -------------------------------------------------------------------------------------------------
-- Finding ids by time
-- -------------------------------------------------------------------------------------------------

CREATE FUNCTION flake_floor(ts timestamptz) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_floor' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_floor(ts timestamptz, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_floor' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_ceil(ts timestamptz) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_ceil' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_ceil(ts timestamptz, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_ceil' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_floor(timestamptz) IS 'lowest id of flakeid.layout in the tick of that moment';
COMMENT ON FUNCTION flake_floor(timestamptz, text) IS 'lowest id of that layout in the tick of that moment';
COMMENT ON FUNCTION flake_ceil(timestamptz) IS 'highest id of flakeid.layout in the tick of that moment';
COMMENT ON FUNCTION flake_ceil(timestamptz, text) IS 'highest id of that layout in the tick of that moment';

CREATE FUNCTION flake_range_floor(during tstzrange) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_range_floor' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_range_floor(during tstzrange, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_range_floor' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_range_ceil(during tstzrange) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_range_ceil' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_range_ceil(during tstzrange, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_range_ceil' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_range_floor(tstzrange) IS 'lowest id of flakeid.layout whose tick begins in the range';
COMMENT ON FUNCTION flake_range_floor(tstzrange, text) IS 'lowest id of that layout whose tick begins in the range';
COMMENT ON FUNCTION flake_range_ceil(tstzrange) IS
    'highest id of flakeid.layout whose tick begins in the range; below flake_range_floor where there is none';
COMMENT ON FUNCTION flake_range_ceil(tstzrange, text) IS
    'highest id of that layout whose tick begins in the range; below flake_range_floor where there is none';

CREATE FUNCTION flakeid.in_range_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_in_range_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION flakeid.in_range_support(internal) IS 'planner support for flake_in_range';

CREATE FUNCTION flake_in_range(id int8, during tstzrange) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_in_range' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_in_range(int8, tstzrange) IS 'implementation of <@ operator';

CREATE FUNCTION flake_range_contains(during tstzrange, id int8) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_range_contains' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_range_contains(tstzrange, int8) IS 'implementation of @> operator';

CREATE OPERATOR <@ (
    LEFTARG = int8,
    RIGHTARG = tstzrange,
    FUNCTION = flake_in_range,
    COMMUTATOR = @>,
    RESTRICT = pg_catalog.contsel,
    JOIN = pg_catalog.contjoinsel
);
COMMENT ON OPERATOR <@ (int8, tstzrange) IS 'the id of flakeid.layout was stamped in the range';

CREATE OPERATOR @> (
    LEFTARG = tstzrange,
    RIGHTARG = int8,
    FUNCTION = flake_range_contains,
    COMMUTATOR = <@,
    RESTRICT = pg_catalog.contsel,
    JOIN = pg_catalog.contjoinsel
);
COMMENT ON OPERATOR @> (tstzrange, int8) IS 'the id of flakeid.layout was stamped in the range';

-- -------------------------------------------------------------------------------------------------
-- Text forms of ids
-- -------------------------------------------------------------------------------------------------

CREATE FUNCTION flake_to_text(id int8, format text) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_to_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_from_text(text text, format text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_from_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_to_text(int8, text) IS 'the id in a text form such as base58';
COMMENT ON FUNCTION flake_from_text(text, text) IS 'reads what flake_to_text() writes, and no other spelling';

-- -------------------------------------------------------------------------------------------------
-- The cipher
-- -------------------------------------------------------------------------------------------------
--
-- Whoever may call flake_decrypt(bigint) may look into enciphered ids.

CREATE FUNCTION flake_encrypt(word int8) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_encrypt' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_encrypt(int8) IS 'enciphers 64 bits under the configured secret';
REVOKE ALL ON FUNCTION flake_encrypt(int8) FROM PUBLIC;

CREATE FUNCTION flake_decrypt(word int8) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_decrypt' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_decrypt(int8) IS
    'deciphers 64 bits under the configured secret; who may call it may look into enciphered ids';
REVOKE ALL ON FUNCTION flake_decrypt(int8) FROM PUBLIC;

CREATE FUNCTION flake_encrypt(word int8, key bytea) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_encrypt_with_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_encrypt(int8, bytea) IS 'enciphers 64 bits under a key of 16 bytes';

CREATE FUNCTION flake_decrypt(word int8, key bytea) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_decrypt_with_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_decrypt(int8, bytea) IS 'deciphers 64 bits under a key of 16 bytes';

-- -------------------------------------------------------------------------------------------------
-- Type flake_sealed
-- -------------------------------------------------------------------------------------------------

-- Stored and compared as the plain id, enciphered text at every door (doc/sealed.md). In and out are
-- STABLE: what they say depends on the secret.

CREATE TYPE flake_sealed;

CREATE FUNCTION flake_sealed_in(cstring) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_in' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_sealed_out(flake_sealed) RETURNS cstring
    AS 'MODULE_PATHNAME', 'flakeid_sealed_out' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_sealed_recv(internal) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_recv' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_sealed_send(flake_sealed) RETURNS bytea
    AS 'MODULE_PATHNAME', 'flakeid_sealed_send' LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE TYPE flake_sealed (
    INPUT = flake_sealed_in,
    OUTPUT = flake_sealed_out,
    RECEIVE = flake_sealed_recv,
    SEND = flake_sealed_send,
    LIKE = int8
);
COMMENT ON TYPE flake_sealed IS 'unique 64-bit id, in time order inside, enciphered text outside';
COMMENT ON FUNCTION flake_sealed_in(cstring) IS 'I/O';
COMMENT ON FUNCTION flake_sealed_out(flake_sealed) IS 'I/O';
COMMENT ON FUNCTION flake_sealed_recv(internal) IS 'I/O';
COMMENT ON FUNCTION flake_sealed_send(flake_sealed) IS 'I/O';

CREATE FUNCTION flakeid.seal_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_seal_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION flakeid.seal_support(internal) IS 'planner support for casts of flake_sealed';

CREATE FUNCTION flake_seal(id int8) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_relabel' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.seal_support;
COMMENT ON FUNCTION flake_seal(int8) IS 'the sealed id of a plain one';
REVOKE ALL ON FUNCTION flake_seal(int8) FROM PUBLIC;

CREATE FUNCTION flake_unseal(id flake_sealed) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_relabel' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.seal_support;
COMMENT ON FUNCTION flake_unseal(flake_sealed) IS 'the plain id of a sealed one';
REVOKE ALL ON FUNCTION flake_unseal(flake_sealed) FROM PUBLIC;

CREATE FUNCTION flake_sealed(flake) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_seal_flake' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.seal_support;
COMMENT ON FUNCTION flake_sealed(flake) IS 'convert flake to flake_sealed; by everyone for flake_next() itself';

CREATE FUNCTION flake_accept_secret() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_accept_secret' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_accept_secret() IS
    'declares the configured secret right for the sealed ids of this database: the marks of its keys are forgotten, and taken from the secret that is used next';
REVOKE ALL ON FUNCTION flake_accept_secret() FROM PUBLIC;

-- The casts from and to other types are for those who may seal and unseal. A text is read as it is
-- everywhere, so that a driver may send one as text.
CREATE CAST (flake AS flake_sealed) WITH FUNCTION flake_sealed(flake) AS ASSIGNMENT;
CREATE CAST (int8 AS flake_sealed) WITH FUNCTION flake_seal(int8) AS ASSIGNMENT;
CREATE CAST (flake_sealed AS flake) WITH FUNCTION flake_unseal(flake_sealed);
CREATE CAST (flake_sealed AS int8) WITH FUNCTION flake_unseal(flake_sealed);
CREATE CAST (text AS flake_sealed) WITH INOUT AS IMPLICIT;
CREATE CAST (varchar AS flake_sealed) WITH INOUT AS IMPLICIT;

-- Order and equality: those of bigint

CREATE FUNCTION flakeid.sealed_lt(flake_sealed, flake_sealed) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_lt' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_le(flake_sealed, flake_sealed) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_le' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_eq(flake_sealed, flake_sealed) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_eq' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_ne(flake_sealed, flake_sealed) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_ne' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_ge(flake_sealed, flake_sealed) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_ge' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_gt(flake_sealed, flake_sealed) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_gt' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_cmp(flake_sealed, flake_sealed) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_sealed_cmp' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_hash(flake_sealed) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_sealed_hash' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_hash_extended(flake_sealed, int8) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_sealed_hash_extended' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_larger(flake_sealed, flake_sealed) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_larger' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flakeid.sealed_smaller(flake_sealed, flake_sealed) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_smaller' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.sealed_lt(flake_sealed, flake_sealed) IS 'implementation of < operator';
COMMENT ON FUNCTION flakeid.sealed_le(flake_sealed, flake_sealed) IS 'implementation of <= operator';
COMMENT ON FUNCTION flakeid.sealed_eq(flake_sealed, flake_sealed) IS 'implementation of = operator';
COMMENT ON FUNCTION flakeid.sealed_ne(flake_sealed, flake_sealed) IS 'implementation of <> operator';
COMMENT ON FUNCTION flakeid.sealed_ge(flake_sealed, flake_sealed) IS 'implementation of >= operator';
COMMENT ON FUNCTION flakeid.sealed_gt(flake_sealed, flake_sealed) IS 'implementation of > operator';
COMMENT ON FUNCTION flakeid.sealed_cmp(flake_sealed, flake_sealed) IS 'less-equal-greater';
COMMENT ON FUNCTION flakeid.sealed_hash(flake_sealed) IS 'hash';
COMMENT ON FUNCTION flakeid.sealed_hash_extended(flake_sealed, int8) IS 'hash';
COMMENT ON FUNCTION flakeid.sealed_larger(flake_sealed, flake_sealed) IS 'larger of two';
COMMENT ON FUNCTION flakeid.sealed_smaller(flake_sealed, flake_sealed) IS 'smaller of two';

CREATE OPERATOR < (
    LEFTARG = flake_sealed,
    RIGHTARG = flake_sealed,
    FUNCTION = flakeid.sealed_lt,
    COMMUTATOR = >,
    NEGATOR = >=,
    RESTRICT = pg_catalog.scalarltsel,
    JOIN = pg_catalog.scalarltjoinsel
);
CREATE OPERATOR <= (
    LEFTARG = flake_sealed,
    RIGHTARG = flake_sealed,
    FUNCTION = flakeid.sealed_le,
    COMMUTATOR = >=,
    NEGATOR = >,
    RESTRICT = pg_catalog.scalarlesel,
    JOIN = pg_catalog.scalarlejoinsel
);
CREATE OPERATOR = (
    LEFTARG = flake_sealed,
    RIGHTARG = flake_sealed,
    FUNCTION = flakeid.sealed_eq,
    COMMUTATOR = =,
    NEGATOR = <>,
    RESTRICT = pg_catalog.eqsel,
    JOIN = pg_catalog.eqjoinsel,
    HASHES, MERGES
);
CREATE OPERATOR <> (
    LEFTARG = flake_sealed,
    RIGHTARG = flake_sealed,
    FUNCTION = flakeid.sealed_ne,
    COMMUTATOR = <>,
    NEGATOR = =,
    RESTRICT = pg_catalog.neqsel,
    JOIN = pg_catalog.neqjoinsel
);
CREATE OPERATOR >= (
    LEFTARG = flake_sealed,
    RIGHTARG = flake_sealed,
    FUNCTION = flakeid.sealed_ge,
    COMMUTATOR = <=,
    NEGATOR = <,
    RESTRICT = pg_catalog.scalargesel,
    JOIN = pg_catalog.scalargejoinsel
);
CREATE OPERATOR > (
    LEFTARG = flake_sealed,
    RIGHTARG = flake_sealed,
    FUNCTION = flakeid.sealed_gt,
    COMMUTATOR = <,
    NEGATOR = <=,
    RESTRICT = pg_catalog.scalargtsel,
    JOIN = pg_catalog.scalargtjoinsel
);
COMMENT ON OPERATOR < (flake_sealed, flake_sealed) IS 'less than';
COMMENT ON OPERATOR <= (flake_sealed, flake_sealed) IS 'less than or equal';
COMMENT ON OPERATOR = (flake_sealed, flake_sealed) IS 'equal';
COMMENT ON OPERATOR <> (flake_sealed, flake_sealed) IS 'not equal';
COMMENT ON OPERATOR >= (flake_sealed, flake_sealed) IS 'greater than or equal';
COMMENT ON OPERATOR > (flake_sealed, flake_sealed) IS 'greater than';

CREATE OPERATOR FAMILY sealed_ops USING btree;
CREATE OPERATOR FAMILY sealed_ops USING hash;
CREATE OPERATOR FAMILY sealed_ops USING brin;
CREATE OPERATOR CLASS sealed_ops DEFAULT FOR TYPE flake_sealed USING btree FAMILY sealed_ops AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 flakeid.sealed_cmp(flake_sealed, flake_sealed),
    FUNCTION 2 pg_catalog.btint8sortsupport(internal),
    FUNCTION 4 pg_catalog.btequalimage(oid);
CREATE OPERATOR CLASS sealed_ops DEFAULT FOR TYPE flake_sealed USING hash FAMILY sealed_ops AS
    OPERATOR 1 =,
    FUNCTION 1 flakeid.sealed_hash(flake_sealed),
    FUNCTION 2 flakeid.sealed_hash_extended(flake_sealed, int8);
CREATE OPERATOR CLASS sealed_ops DEFAULT FOR TYPE flake_sealed USING brin FAMILY sealed_ops AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 pg_catalog.brin_minmax_opcinfo(internal),
    FUNCTION 2 pg_catalog.brin_minmax_add_value(internal, internal, internal, internal),
    FUNCTION 3 pg_catalog.brin_minmax_consistent(internal, internal, internal),
    FUNCTION 4 pg_catalog.brin_minmax_union(internal, internal, internal);
COMMENT ON OPERATOR FAMILY sealed_ops USING btree IS 'of type flake_sealed';
COMMENT ON OPERATOR CLASS sealed_ops USING btree IS 'of type flake_sealed';
COMMENT ON OPERATOR FAMILY sealed_ops USING hash IS 'of type flake_sealed';
COMMENT ON OPERATOR CLASS sealed_ops USING hash IS 'of type flake_sealed';
COMMENT ON OPERATOR FAMILY sealed_ops USING brin IS 'of type flake_sealed';
COMMENT ON OPERATOR CLASS sealed_ops USING brin IS 'of type flake_sealed';

CREATE AGGREGATE min(flake_sealed) (
    SFUNC = flakeid.sealed_smaller, STYPE = flake_sealed, COMBINEFUNC = flakeid.sealed_smaller, SORTOP = <, PARALLEL = SAFE
);
CREATE AGGREGATE max(flake_sealed) (
    SFUNC = flakeid.sealed_larger, STYPE = flake_sealed, COMBINEFUNC = flakeid.sealed_larger, SORTOP = >, PARALLEL = SAFE
);
COMMENT ON AGGREGATE min(flake_sealed) IS 'the earliest of all sealed ids';
COMMENT ON AGGREGATE max(flake_sealed) IS 'the latest of all sealed ids';

-- Finding sealed ids by time: each of these asks for the right to look into ids.

CREATE FUNCTION flake_sealed_range_floor(during tstzrange) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_range_floor' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sealed_range_floor(tstzrange) IS
    'lowest sealed id of flakeid.layout whose tick begins in the range; for who may call flake_decrypt(bigint)';
CREATE FUNCTION flake_sealed_range_ceil(during tstzrange) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_range_ceil' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sealed_range_ceil(tstzrange) IS
    'highest sealed id of flakeid.layout whose tick begins in the range, below flake_sealed_range_floor where there is none; for who may call flake_decrypt(bigint)';
CREATE FUNCTION flake_in_range(id flake_sealed, during tstzrange) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_in_range' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_in_range(flake_sealed, tstzrange) IS 'implementation of <@ operator';
CREATE FUNCTION flake_range_contains(during tstzrange, id flake_sealed) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_range_contains' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_range_contains(tstzrange, flake_sealed) IS 'implementation of @> operator';

CREATE OPERATOR <@ (
    LEFTARG = flake_sealed,
    RIGHTARG = tstzrange,
    FUNCTION = flake_in_range,
    COMMUTATOR = @>,
    RESTRICT = pg_catalog.contsel,
    JOIN = pg_catalog.contjoinsel
);
COMMENT ON OPERATOR <@ (flake_sealed, tstzrange) IS
    'the sealed id of flakeid.layout was stamped in the range; for who may call flake_decrypt(bigint)';

CREATE OPERATOR @> (
    LEFTARG = tstzrange,
    RIGHTARG = flake_sealed,
    FUNCTION = flake_range_contains,
    COMMUTATOR = <@,
    RESTRICT = pg_catalog.contsel,
    JOIN = pg_catalog.contjoinsel
);
COMMENT ON OPERATOR @> (tstzrange, flake_sealed) IS 'the sealed id of flakeid.layout was stamped in the range; for who may call flake_decrypt(bigint)';

-- -------------------------------------------------------------------------------------------------
-- Status: layouts, settings and counters
-- -------------------------------------------------------------------------------------------------

CREATE FUNCTION flake_layout(layout text,
        OUT layout_text text, OUT ids_per_second int8, OUT nodes int8,
        OUT first_date timestamptz, OUT end_date timestamptz,
        OUT enciphered bool, OUT alive bool)
    AS 'MODULE_PATHNAME', 'flakeid_layout' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_layout(text) IS
    'what a layout allows: its normal text, ids a second of one node in the long run, number of nodes, first moment, first moment without ids; whether it is enciphered, and whether it makes ids now';

CREATE FUNCTION flake_repeats(layout text) RETURNS text[]
    AS 'MODULE_PATHNAME', 'flakeid_repeats' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_repeats(text) IS 'the presets that may have made an id which the layout makes from now on';

CREATE FUNCTION flakeid.preset_names() RETURNS text[]
    AS 'MODULE_PATHNAME', 'flakeid_preset_names' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.preset_names() IS 'names of the layouts that flakeid knows';

CREATE FUNCTION flakeid.nodes_for(ids_per_second int8, of_node int8,
                                  nodes int8) RETURNS int8
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN (ids_per_second + of_node - 1) / of_node <= nodes
                THEN (ids_per_second + of_node - 1) / of_node END
$$;
COMMENT ON FUNCTION flakeid.nodes_for(int8, int8, int8) IS
    'how many nodes make so many ids a second; null when a layout has not got them';

CREATE VIEW flake_layouts AS
    SELECT preset.name, layout.layout_text, layout.ids_per_second, layout.nodes,
           layout.first_date, layout.end_date, layout.enciphered, layout.alive,
           flake_repeats(preset.name) AS repeats,
           flakeid.nodes_for(1000000, layout.ids_per_second, layout.nodes) AS nodes_for_1m,
           flakeid.nodes_for(10000000, layout.ids_per_second, layout.nodes) AS nodes_for_10m,
           flakeid.nodes_for(100000000, layout.ids_per_second, layout.nodes) AS nodes_for_100m
    FROM pg_catalog.unnest(flakeid.preset_names()) AS preset (name),
         LATERAL flake_layout(preset.name) AS layout;
COMMENT ON VIEW flake_layouts IS 'one row for each preset, with what it allows';
COMMENT ON COLUMN flake_layouts.name IS 'of the preset';
COMMENT ON COLUMN flake_layouts.layout_text IS 'its normal text';
COMMENT ON COLUMN flake_layouts.ids_per_second IS 'of one node, in the long run';
COMMENT ON COLUMN flake_layouts.nodes IS 'how many there are';
COMMENT ON COLUMN flake_layouts.first_date IS 'the epoch, of which the first ids are';
COMMENT ON COLUMN flake_layouts.end_date IS 'the first moment without ids';
COMMENT ON COLUMN flake_layouts.enciphered IS 'whether the secret is a part of its ids';
COMMENT ON COLUMN flake_layouts.alive IS 'whether it makes ids now';
COMMENT ON COLUMN flake_layouts.repeats IS 'what flake_repeats() says';
COMMENT ON COLUMN flake_layouts.nodes_for_1m IS
    'nodes that make 1 million ids a second together; NULL where there are not so many';
COMMENT ON COLUMN flake_layouts.nodes_for_10m IS 'the same for 10 million';
COMMENT ON COLUMN flake_layouts.nodes_for_100m IS 'the same for 100 million';
GRANT SELECT ON flake_layouts TO PUBLIC;

CREATE FUNCTION flakeid.in_effect(OUT name text, OUT value text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_in_effect' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.in_effect() IS 'what follows from the settings';

CREATE FUNCTION flakeid.prepare() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_prepare' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.prepare() IS 'does what flake_next() does, except that it issues no id';

CREATE FUNCTION flakeid.can_generate() RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM flakeid.prepare();
    RETURN 'yes';
EXCEPTION WHEN OTHERS THEN
    RETURN 'no: ' || SQLERRM;
END
$$;
COMMENT ON FUNCTION flakeid.can_generate() IS 'yes, or the error of flake_next()';

-- Below the settled mark nothing can still appear.

CREATE FUNCTION flake_settled() RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_settled' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
CREATE FUNCTION flake_settled(layout pg_catalog.text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_settled' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flake_settled() IS
    'every id of flakeid.layout below it that this database drew belongs to a transaction that has ended; the snapshot of the calling statement sees those that committed';
COMMENT ON FUNCTION flake_settled(pg_catalog.text) IS 'the same for the ids of that layout';

CREATE FUNCTION flakeid.unsettled(OUT pid pg_catalog.int4, OUT xid pg_catalog.xid, OUT role pg_catalog.oid,
        OUT since pg_catalog.timestamptz, OUT layout pg_catalog.text, OUT node pg_catalog.int4, OUT lowest_id flake)
    RETURNS SETOF pg_catalog.record
    AS 'MODULE_PATHNAME', 'flakeid_unsettled' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.unsettled() IS 'implementation of view flake_unsettled';

CREATE VIEW flake_unsettled AS
    SELECT u.pid, pg_catalog.current_database() AS database,
           coalesce(r.rolname, p.owner) AS usename, coalesce(u.since, p.prepared) AS since,
           u.layout, u.node, u.lowest_id, p.gid
    FROM flakeid.unsettled() AS u
         LEFT JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) u.role
         LEFT JOIN pg_catalog.pg_prepared_xacts AS p ON p.transaction OPERATOR(pg_catalog.=) u.xid;
COMMENT ON VIEW flake_unsettled IS
    'a row for each transaction of this database, layout and node that holds flake_settled() back';
COMMENT ON COLUMN flake_unsettled.pid IS 'of the session; NULL for a prepared transaction';
COMMENT ON COLUMN flake_unsettled.database IS 'the current one';
COMMENT ON COLUMN flake_unsettled.usename IS 'whose transaction it is';
COMMENT ON COLUMN flake_unsettled.since IS 'begin of the transaction; when it was prepared, after a restart';
COMMENT ON COLUMN flake_unsettled.layout IS
    'what it drew from; NULL where it drew from more than eight nodes, for all further ones';
COMMENT ON COLUMN flake_unsettled.node IS 'of that layout; NULL where the layout is';
COMMENT ON COLUMN flake_unsettled.lowest_id IS
    'no id of that layout and node that it drew lies below; NULL for further nodes, and after a restart';
COMMENT ON COLUMN flake_unsettled.gid IS 'of a prepared transaction';
GRANT SELECT ON flake_unsettled TO PUBLIC;

CREATE FUNCTION flakeid.settled() RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_settled' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.settled() IS 'what flake_settled() returns';

CREATE FUNCTION flakeid.settled_or_error() RETURNS pg_catalog.text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN flakeid.settled();
EXCEPTION WHEN OTHERS THEN
    RETURN 'none: ' || SQLERRM;
END
$$;
COMMENT ON FUNCTION flakeid.settled_or_error() IS 'the settled mark, or the error of flake_settled()';

CREATE FUNCTION flakeid.held_back() RETURNS pg_catalog.text
    LANGUAGE sql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE count(*)
           WHEN 0 THEN 'no'
           ELSE format('%s by %s', clock_timestamp() - min(u.since), string_agg(DISTINCT coalesce('process ' || u.pid, 'prepared transaction ' || u.xid), ', ')) END
    FROM flakeid.unsettled() AS u
$$;
COMMENT ON FUNCTION flakeid.held_back() IS 'for how long the settled mark has been held back, and by whom';

CREATE VIEW flake_status AS
    SELECT 'can generate' AS name, flakeid.can_generate() AS value, 'follows from the settings' AS source
    UNION ALL
    SELECT name, value, 'follows from the settings'
    FROM flakeid.in_effect()
    UNION ALL
    SELECT 'settled mark', flakeid.settled_or_error(), 'follows from the transactions'
    UNION ALL
    SELECT 'settled mark held back', flakeid.held_back(), 'follows from the transactions'
    UNION ALL
    SELECT name, pg_catalog.current_setting(name),
           pg_catalog.concat_ws(' ', source, sourcefile OPERATOR(pg_catalog.||) ':' OPERATOR(pg_catalog.||) sourceline)
    FROM pg_catalog.pg_settings
    WHERE pg_catalog.starts_with(name, 'flakeid.');
COMMENT ON VIEW flake_status IS 'settings in effect in this session, where each came from, and what follows from them';
COMMENT ON COLUMN flake_status.name IS 'of a setting, or of what follows from all of them';
COMMENT ON COLUMN flake_status.value IS 'what is in effect in this session';
COMMENT ON COLUMN flake_status.source IS 'where a setting came from: as in pg_settings, with file and line';
GRANT SELECT ON flake_status TO PUBLIC;

CREATE FUNCTION flakeid.stats_now(OUT issued int8,
        OUT ahead_now interval, OUT ahead_max interval,
        OUT waits int8, OUT wait_time interval,
        OUT set_backs int8, OUT set_back_max interval,
        OUT extensions int8, OUT stats_reset timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_stats' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.stats_now() IS 'implementation of view flake_stats';

CREATE FUNCTION flakeid.stats_of_leases(OUT lease_grants int8,
        OUT lease_renewals int8, OUT lease_failures int8)
    AS 'MODULE_PATHNAME', 'flakeid_lease_stats' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.stats_of_leases() IS 'implementation of view flake_stats';

CREATE VIEW flake_stats AS SELECT s.*, l.* FROM flakeid.stats_now() AS s, flakeid.stats_of_leases() AS l;
COMMENT ON VIEW flake_stats IS 'one row: counters of the whole server since its start or flake_stats_reset()';
COMMENT ON COLUMN flake_stats.issued IS 'ids; a session adds its own at the end of each transaction';
COMMENT ON COLUMN flake_stats.ahead_now IS 'how far the furthest generator lies ahead of the clock';
COMMENT ON COLUMN flake_stats.ahead_max IS 'the most that any id was stamped ahead of the clock';
COMMENT ON COLUMN flake_stats.waits IS 'draws that waited';
COMMENT ON COLUMN flake_stats.wait_time IS 'for how long, all of them together';
COMMENT ON COLUMN flake_stats.set_backs IS 'set-backs of the clock that were seen, from 0.5 ms';
COMMENT ON COLUMN flake_stats.set_back_max IS 'the largest of them';
COMMENT ON COLUMN flake_stats.extensions IS 'of horizons: WAL records written';
COMMENT ON COLUMN flake_stats.stats_reset IS 'since when the counters count';
COMMENT ON COLUMN flake_stats.lease_grants IS 'leases that the coordinator gave';
COMMENT ON COLUMN flake_stats.lease_renewals IS 'renewals of leases';
COMMENT ON COLUMN flake_stats.lease_failures IS 'attempts at either that failed';
GRANT SELECT ON flake_stats TO PUBLIC;

CREATE FUNCTION flake_stats_reset() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_stats_reset' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_stats_reset() IS 'sets the counters of flake_stats to zero';
REVOKE ALL ON FUNCTION flake_stats_reset() FROM PUBLIC;

-- -------------------------------------------------------------------------------------------------
-- Several servers
-- -------------------------------------------------------------------------------------------------

-- Which server has which node. Each tells its own; flake_nodes() asks them.

-- The question of another server looks at the owner of this function first: a superuser who asks runs nothing that somebody
-- else put in its place. The argument says nothing; it keeps a planner from computing the answer before that look.
CREATE FUNCTION flakeid.node_report(asked oid) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_node_report' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.node_report(oid) IS 'what this server tells others of its node, as JSON';

CREATE FUNCTION flakeid.ask_node(conninfo text) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_ask_node' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.ask_node(text) IS 'the report of another server, or why there is none';

CREATE FUNCTION flakeid.nodes(conninfos text[],
        OUT server text, OUT nodes text, OUT setting text, OUT layout text, OUT standby bool, OUT problem text)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    reports jsonb[] := ARRAY[flakeid.node_report(0)::jsonb];
    answers jsonb := '[]';
    asked record;
    report jsonb;
BEGIN
    IF to_regproc('pg_catalog.run_command_on_all_nodes') IS NOT NULL THEN
        EXECUTE 'SELECT coalesce(jsonb_agg(jsonb_build_object(
                ''name'', concat(n.nodename, '':'', n.nodeport),
                ''answer'', CASE WHEN r.success THEN r.result ELSE jsonb_build_object(''problem'', r.result)::text END)
                ORDER BY n.nodeid), ''[]'')
            FROM run_command_on_all_nodes(''SELECT flakeid.node_report(p.oid) FROM pg_catalog.pg_proc AS p
                JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) p.proowner
                WHERE p.oid OPERATOR(pg_catalog.=) ''''flakeid.node_report(oid)''''::pg_catalog.regprocedure AND r.rolsuper'') AS r
            JOIN pg_dist_node AS n ON n.nodeid = r.nodeid'
        INTO answers;
    END IF;
    FOR asked IN
        -- Where others than superusers say where to connect to, they need a password of their own there.
        SELECT 'subscription ' || s.subname AS name, s.subconninfo AS conninfo
        FROM pg_catalog.pg_subscription AS s
        WHERE s.subdbid = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
          AND EXISTS (SELECT FROM pg_catalog.pg_roles AS o WHERE o.oid = s.subowner AND o.rolsuper)
        UNION ALL
        SELECT 'connection ' || u.n, u.conninfo
        FROM unnest(nodes.conninfos) WITH ORDINALITY AS u (conninfo, n)
    LOOP
        answers := answers || jsonb_build_object('name', asked.name, 'answer', flakeid.ask_node(asked.conninfo));
    END LOOP;
    FOR asked IN
        SELECT a.v ->> 'name' AS name, a.v ->> 'answer' AS answer FROM jsonb_array_elements(answers) AS a (v)
    LOOP
        -- What others say is looked at before it is believed.
        BEGIN
            IF jsonb_typeof(asked.answer::jsonb) <> 'object' THEN
                RAISE invalid_parameter_value;
            END IF;
            report := jsonb_build_object('server', asked.name) || asked.answer::jsonb;
            PERFORM int8range(split_part(report ->> 'nodes', '-', 1)::int8,
                              regexp_replace(report ->> 'nodes', '^.*-', '')::int8, '[]');
        EXCEPTION WHEN data_exception THEN
            report := jsonb_build_object('server', asked.name, 'problem', 'it gave an answer that is none');
        END;
        reports := reports || report;
    END LOOP;
    RETURN QUERY
    WITH told AS (
        SELECT r.n, r.v ->> 'server' AS server, r.v ->> 'instance' AS instance, r.v ->> 'nodes' AS nodes,
               r.v ->> 'setting' AS setting, r.v ->> 'layout' AS layout, r.v ->> 'problem' AS problem,
               r.v ->> 'standby' IS NOT NULL AS standby, r.v ->> 'unset' IS NOT NULL AS unset,
               CASE WHEN r.v ->> 'nodes' IS NOT NULL
                    THEN int8range(split_part(r.v ->> 'nodes', '-', 1)::int8,
                                   regexp_replace(r.v ->> 'nodes', '^.*-', '')::int8, '[]') END AS range
        FROM unnest(reports) WITH ORDINALITY AS r (v, n)),
    -- One server may be known in several ways.
    found AS (
        SELECT DISTINCT ON (coalesce(t.instance, t.n::text)) t.* FROM (TABLE told) AS t
        ORDER BY coalesce(t.instance, t.n::text), t.n)
    SELECT f.server, f.nodes, f.setting, f.layout, f.standby,
           nullif(concat_ws('; ', f.problem,
               CASE WHEN f.unset AND NOT f.standby
                         AND (SELECT count(*) FROM (TABLE found) AS o WHERE NOT o.standby) > 1
                    THEN 'flakeid.node was never set' END,
               (SELECT 'the same node as ' || string_agg(o.server, ', ' ORDER BY o.n)
                FROM (TABLE found) AS o
                WHERE o.n <> f.n AND o.range && f.range AND NOT o.standby AND NOT f.standby),
               (SELECT 'another flakeid.layout than ' || o.server
                FROM (TABLE found) AS o
                WHERE o.n = 1 AND o.layout <> f.layout)), '')
    FROM (TABLE found) AS f
    ORDER BY f.n;
END
$$;
COMMENT ON FUNCTION flakeid.nodes(text[]) IS 'implementation of flake_nodes()';

CREATE FUNCTION flake_nodes(
        OUT server text, OUT nodes text, OUT setting text, OUT layout text, OUT standby bool, OUT problem text)
    RETURNS SETOF record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT * FROM flakeid.nodes('{}')
$$;
COMMENT ON FUNCTION flake_nodes() IS
    'one row for this server and for each that Citus or a subscription of this database knows; problem is NULL where nothing is wrong';

CREATE FUNCTION flake_nodes(conninfos text[],
        OUT server text, OUT nodes text, OUT setting text, OUT layout text, OUT standby bool, OUT problem text)
    RETURNS SETOF record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT * FROM flakeid.nodes(conninfos)
$$;
COMMENT ON FUNCTION flake_nodes(text[]) IS 'the same, and a row for each server that the connection strings name';

REVOKE ALL ON FUNCTION flakeid.ask_node(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.nodes(text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_nodes() FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_nodes(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION flake_nodes() TO pg_monitor;

-- -------------------------------------------------------------------------------------------------
-- The durable state
-- -------------------------------------------------------------------------------------------------
--
-- It outlives everything (src/durable/durable.hpp): one row, which the library alone changes.

CREATE FUNCTION flakeid.state_now(
        OUT plain_horizon int8, OUT back_horizon int8,
        OUT timeline int8, OUT place int8,
        OUT lease_clock int8, OUT lease_rest int8,
        OUT lease_origin int8, OUT lease_hold int8,
        OUT lost int8,
        OUT keys_0 int8, OUT keys_1 int8, OUT keys_2 int8, OUT keys_3 int8,
        OUT keys_4 int8, OUT keys_5 int8, OUT keys_6 int8, OUT keys_7 int8,
        OUT check_value int8)
    AS 'MODULE_PATHNAME', 'flakeid_state_now' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.state_now() IS 'what flakeid.state holds after REFRESH MATERIALIZED VIEW';
REVOKE ALL ON FUNCTION flakeid.state_now() FROM PUBLIC;

CREATE MATERIALIZED VIEW flakeid.state AS SELECT * FROM flakeid.state_now();
COMMENT ON MATERIALIZED VIEW flakeid.state IS 'no id of this database was ever stamped after its horizons; what leases rest on';

-- pg_dump carries what flakeid.dumped() says in the place of the rows of flakeid.restored. A restore
-- inserts them there, and the constraint hands them to the library; a trigger could be disabled.
CREATE FUNCTION flakeid.dumped(OUT name text, OUT value int8)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_dumped' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.dumped() IS 'what pg_dump carries of flakeid.state';

CREATE FUNCTION flakeid.restore(name text, value int8) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_restore' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.restore(text, int8) IS 'raises flakeid.state to what a dump carries';
REVOKE ALL ON FUNCTION flakeid.restore(text, int8) FROM PUBLIC;

CREATE TABLE flakeid.restored (
    name text NOT NULL,
    value int8 NOT NULL,
    CONSTRAINT restore CHECK (flakeid.restore(name, value))
);
COMMENT ON TABLE flakeid.restored IS 'what restored dumps brought';
GRANT SELECT ON flakeid.restored TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('flakeid.restored',
    'WHERE false UNION ALL SELECT d.name, d.value FROM flakeid.dumped() AS d');

-- -------------------------------------------------------------------------------------------------
-- For administrators: clocks and horizons that went wrong
-- -------------------------------------------------------------------------------------------------

CREATE FUNCTION flake_raise_horizon(after timestamptz) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_raise_horizon' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_raise_horizon(timestamptz) IS
    'makes all later ids of this database begin after that moment, whether the transaction commits or not; lowers nothing';
REVOKE ALL ON FUNCTION flake_raise_horizon(timestamptz) FROM PUBLIC;

CREATE FUNCTION flake_repair_horizon() RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_repair_horizon' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_repair_horizon() IS
    'lowers a horizon that lies in the future to flakeid.max_ahead from now; false where none does';
REVOKE ALL ON FUNCTION flake_repair_horizon() FROM PUBLIC;

CREATE FUNCTION flake_accept_clock() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_accept_clock' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_accept_clock() IS
    'declares the wall clock right after a leap that flakeid.max_leap refuses';
REVOKE ALL ON FUNCTION flake_accept_clock() FROM PUBLIC;

-- -------------------------------------------------------------------------------------------------
-- Leases, the coordinator's side
-- -------------------------------------------------------------------------------------------------
--
-- Who may stamp ids of a node, from when until when. The end of a node's last lease stands in
-- flakeid.lease_node and never goes back while ids may have been stamped before it. Whatever happens
-- to a node locks its row. (doc/leases.md)

-- Durations are whole seconds: an interval with months or days is as long as its calendar and the
-- reader's time zone say.
CREATE TABLE flakeid.lease_realm (
    realm text PRIMARY KEY,
    nodes int4 NOT NULL,
    max_ttl_s int4 NOT NULL,
    max_skew_s int4 NOT NULL
);
COMMENT ON TABLE flakeid.lease_realm IS 'settings of realms, see flake_lease_realm_set()';

CREATE TABLE flakeid.lease_node (
    realm text,
    node int4,
    free_from timestamptz NOT NULL DEFAULT '-infinity',
    token uuid,
    PRIMARY KEY (realm, node)
);
CREATE INDEX lease_node_free ON flakeid.lease_node (realm, free_from, node);
COMMENT ON TABLE flakeid.lease_node IS 'when each node that was ever leased is free, and the token of its last lease';

CREATE TABLE flakeid.lease_history (
    token uuid PRIMARY KEY,
    realm text NOT NULL,
    node int4 NOT NULL,
    holder text NOT NULL,
    role text NOT NULL,
    lease_start timestamptz NOT NULL,
    lease_end timestamptz NOT NULL,
    acquired_at timestamptz NOT NULL,
    renewed_at timestamptz,
    renewals int8 NOT NULL DEFAULT 0,
    released_at timestamptz,
    last_stamp timestamptz
);
CREATE INDEX lease_history_node ON flakeid.lease_history (realm, node, lease_start);
COMMENT ON TABLE flakeid.lease_history IS 'every lease, see view flake_leases';

-- Leases are the coordinator's own: what replication brings from elsewhere is left out, since the
-- tables are in every publication of all tables. A TRUNCATE cannot be left out: nothing is handed out
-- then until whatever was leased has ended.

CREATE FUNCTION flakeid.lease_ignore_replicated() RETURNS trigger
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Some restore a dump in the role of a replica; it holds the settings of realms alone.
    IF current_setting('session_replication_role') = 'replica'
       AND NOT (TG_TABLE_NAME = 'lease_realm'
                AND EXISTS (SELECT FROM pg_stat_get_activity(pg_backend_pid()) AS a
                            WHERE a.backend_type = 'client backend')) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION flakeid.lease_ignore_replicated() IS 'leaves out what replication would change of leases';

CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON flakeid.lease_realm
    FOR EACH ROW EXECUTE FUNCTION flakeid.lease_ignore_replicated();
CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON flakeid.lease_node
    FOR EACH ROW EXECUTE FUNCTION flakeid.lease_ignore_replicated();
CREATE TRIGGER ignore_replicated BEFORE INSERT OR UPDATE OR DELETE ON flakeid.lease_history
    FOR EACH ROW EXECUTE FUNCTION flakeid.lease_ignore_replicated();
ALTER TABLE flakeid.lease_realm ENABLE REPLICA TRIGGER ignore_replicated;
ALTER TABLE flakeid.lease_node ENABLE REPLICA TRIGGER ignore_replicated;
ALTER TABLE flakeid.lease_history ENABLE REPLICA TRIGGER ignore_replicated;

CREATE FUNCTION flakeid.lease_rest_after_truncate() RETURNS trigger
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM flakeid.lease_rest(true);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION flakeid.lease_rest_after_truncate() IS 'begins a rest when leases were emptied';

CREATE TRIGGER rest_after_truncate AFTER TRUNCATE ON flakeid.lease_realm
    FOR EACH STATEMENT EXECUTE FUNCTION flakeid.lease_rest_after_truncate();
CREATE TRIGGER rest_after_truncate AFTER TRUNCATE ON flakeid.lease_node
    FOR EACH STATEMENT EXECUTE FUNCTION flakeid.lease_rest_after_truncate();
CREATE TRIGGER rest_after_truncate AFTER TRUNCATE ON flakeid.lease_history
    FOR EACH STATEMENT EXECUTE FUNCTION flakeid.lease_rest_after_truncate();
ALTER TABLE flakeid.lease_realm ENABLE ALWAYS TRIGGER rest_after_truncate;
ALTER TABLE flakeid.lease_node ENABLE ALWAYS TRIGGER rest_after_truncate;
ALTER TABLE flakeid.lease_history ENABLE ALWAYS TRIGGER rest_after_truncate;

-- Everyone may read the settings of realms, because pg_dump by an ordinary role does.
GRANT SELECT ON flakeid.lease_realm TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('flakeid.lease_realm', '');

CREATE VIEW flake_leases AS
    SELECT realm, node, holder, role, lease_start, lease_end,
           CASE WHEN released_at IS NOT NULL THEN 'released'
                WHEN lease_end OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN 'held'
                ELSE 'expired' END AS state,
           acquired_at, renewed_at, renewals, released_at, last_stamp
    FROM flakeid.lease_history;
COMMENT ON VIEW flake_leases IS 'the last 32 leases of each node: who holds and held it from when until when';
COMMENT ON COLUMN flake_leases.realm IS 'of the node';
COMMENT ON COLUMN flake_leases.node IS 'that is leased';
COMMENT ON COLUMN flake_leases.holder IS 'the name that the holder gave itself';
COMMENT ON COLUMN flake_leases.role IS 'that took it';
COMMENT ON COLUMN flake_leases.lease_start IS 'first moment that ids may be stamped with';
COMMENT ON COLUMN flake_leases.lease_end IS 'first moment that they may not';
COMMENT ON COLUMN flake_leases.state IS 'held, expired or released';
COMMENT ON COLUMN flake_leases.acquired_at IS 'when it was taken';
COMMENT ON COLUMN flake_leases.renewed_at IS 'when it was renewed last';
COMMENT ON COLUMN flake_leases.renewals IS 'how many';
COMMENT ON COLUMN flake_leases.released_at IS 'when it was given back; NULL where it was not';
COMMENT ON COLUMN flake_leases.last_stamp IS 'moment of the last id, as the holder said when it released';
GRANT SELECT ON flake_leases TO pg_monitor;

CREATE FUNCTION flakeid.lease_clock(hold int8, OUT now timestamptz, OUT rest_until timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_lease_now' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.lease_clock(int8) IS
    'clock of leases that count for at most so many seconds; it never goes back and is held to flakeid.max_leap; until when nothing is handed out';

CREATE FUNCTION flakeid.lease_rest(begins bool) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_lease_rest' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.lease_rest(bool) IS 'begins or ends a rest';

CREATE FUNCTION flakeid.lease_repair_clock() RETURNS interval
    AS 'MODULE_PATHNAME', 'flakeid_lease_repair_clock' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.lease_repair_clock() IS 'lets the clock of leases go back to the wall clock; by how much';

CREATE FUNCTION flakeid.lease_begin(of_realm text, OUT now timestamptz,
        OUT nodes int4, OUT max_ttl_s int4, OUT max_skew_s int4,
        OUT rest_until timestamptz)
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

    SELECT r.nodes, r.max_ttl_s, r.max_skew_s INTO nodes, max_ttl_s, max_skew_s
    FROM flakeid.lease_realm AS r WHERE r.realm = of_realm;
    IF NOT FOUND THEN
        IF of_realm IS DISTINCT FROM 'default' THEN
            RAISE invalid_parameter_value USING
                MESSAGE = format('there is no realm "%s"', of_realm),
                HINT = 'Make it with flake_lease_realm_set(), or use the realm "default".';
        END IF;
        nodes := 1024;
        max_ttl_s := 120;
        max_skew_s := 10;
    END IF;

    SELECT c.now, c.rest_until INTO now, rest_until
    FROM flakeid.lease_clock(max_ttl_s::int8 + max_skew_s) AS c;
END
$$;
COMMENT ON FUNCTION flakeid.lease_begin(text) IS 'what every function of leases begins with';

CREATE FUNCTION flakeid.lease_length(ttl interval, max_ttl_s int4)
    RETURNS interval
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seconds CONSTANT numeric := extract(epoch FROM ttl);
BEGIN
    IF seconds IS NULL OR seconds < 1 OR seconds > max_ttl_s THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('a lease cannot last %s', coalesce(trim_scale(seconds) || ' s', 'for ever')),
            DETAIL = format('It lasts from 1 s to the max_ttl of its realm, %s s.', max_ttl_s),
            HINT = 'Ask for less (flakeid.lease_ttl), or raise max_ttl with flake_lease_realm_set().';
    END IF;
    RETURN make_interval(secs => ceil(seconds)::float8);
END
$$;
COMMENT ON FUNCTION flakeid.lease_length(interval, int4) IS
    'length of a lease in whole seconds, which no calendar or time zone changes';

-- Generators call these: nobody else may rename their schema. Functions for people stand beside them,
-- with the same rights.

CREATE FUNCTION flakeid.lease_acquire(realm text, holder text, ttl interval,
        INOUT node int4, max_node int4,
        OUT token uuid, OUT lease_start timestamptz,
        OUT lease_end timestamptz)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'postgres' AS $$
#variable_conflict use_column
DECLARE
    wanted CONSTANT int4 := lease_acquire.node;
    of_realm CONSTANT text := lease_acquire.realm;
    b record;
    length interval;
    top int4;
    low int4;
    found_node int4;
    free timestamptz;
    last record;
BEGIN
    IF lease_acquire.holder IS NULL OR lease_acquire.holder = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'a lease needs the name of its holder';
    END IF;
    IF lease_acquire.max_node < 0 THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = format('max_node %s is out of range', lease_acquire.max_node),
            DETAIL = 'The lowest node is 0.';
    END IF;
    SELECT * INTO b FROM flakeid.lease_begin(of_realm);
    length := flakeid.lease_length(lease_acquire.ttl, b.max_ttl_s);
    IF b.rest_until IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the coordinator hands out no leases before %s', b.rest_until),
            DETAIL = 'It was promoted, restored or upgraded, or a superuser began a rest: leases or renewals may be missing.',
            HINT = 'Wait. If nothing is missing, a superuser may run SELECT flake_lease_end_rest() there.';
    END IF;
    top := least(b.nodes - 1, coalesce(lease_acquire.max_node, b.nodes - 1));
    -- Node 0 is that of servers which were never given one: who asks for any gets it only where there is no other.
    low := least(top, 1);

    IF wanted IS NOT NULL THEN
        IF wanted < 0 OR wanted > top THEN
            RAISE numeric_value_out_of_range USING
                MESSAGE = format('node %s is out of range for realm "%s"', wanted, of_realm),
                DETAIL = format('Its nodes are 0 to %s.', top),
                HINT = 'Change the number of nodes with flake_lease_realm_set().';
        END IF;
        INSERT INTO flakeid.lease_node (realm, node) VALUES (of_realm, wanted)
        ON CONFLICT (realm, node) DO NOTHING;
        SELECT n.node, n.free_from INTO found_node, free FROM flakeid.lease_node AS n
        WHERE n.realm = of_realm AND n.node = wanted FOR UPDATE;
        IF free > b.now THEN
            SELECT h.holder, h.released_at INTO last
            FROM flakeid.lease_node AS n JOIN flakeid.lease_history AS h USING (token)
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
            SELECT n.node INTO found_node FROM flakeid.lease_node AS n
            WHERE n.realm = of_realm AND n.free_from <= b.now AND n.node BETWEEN low AND top
            ORDER BY n.free_from, n.node LIMIT 1 FOR UPDATE SKIP LOCKED;
            EXIT search WHEN FOUND;
            IF attempt = 1 THEN
                -- One at a time adds nodes, under a lock that nobody else has a right to.
                INSERT INTO flakeid.lease_realm (realm, nodes, max_ttl_s, max_skew_s)
                VALUES (of_realm, b.nodes, b.max_ttl_s, b.max_skew_s) ON CONFLICT (realm) DO NOTHING;
                PERFORM FROM flakeid.lease_realm AS r WHERE r.realm = of_realm FOR NO KEY UPDATE;
            ELSIF attempt = 2 THEN
                INSERT INTO flakeid.lease_node (realm, node)
                SELECT of_realm, fresh.number
                FROM (SELECT generate_series(0, top) AS number) AS fresh
                WHERE NOT EXISTS (SELECT FROM flakeid.lease_node AS n
                                  WHERE n.realm = of_realm AND n.node = fresh.number)
                LIMIT 1024
                ON CONFLICT (realm, node) DO NOTHING;
            ELSIF attempt = 3 THEN
                -- All that is left is being taken; some of it may be given back.
                SELECT n.node INTO found_node FROM flakeid.lease_node AS n
                WHERE n.realm = of_realm AND n.free_from <= b.now AND n.node BETWEEN low AND top
                ORDER BY n.free_from, n.node LIMIT 1 FOR UPDATE;
                EXIT search WHEN FOUND;
            ELSE
                SELECT min(n.free_from) INTO free FROM flakeid.lease_node AS n
                WHERE n.realm = of_realm AND n.node BETWEEN low AND top;
                RAISE configuration_limit_exceeded USING
                    MESSAGE = format('all nodes of realm "%s" from %s to %s are leased', of_realm, low, top),
                    DETAIL = format('The earliest comes free at %s, unless its lease is renewed.', free),
                    HINT = 'View flake_leases on the coordinator shows who holds them; flake_lease_realm_set() adds nodes.';
            END IF;
        END LOOP;
    END IF;

    node := found_node;
    token := gen_random_uuid();
    lease_start := date_trunc('second', b.now);
    lease_end := lease_start + length;
    UPDATE flakeid.lease_node AS n
    SET free_from = lease_acquire.lease_end, token = lease_acquire.token
    WHERE n.realm = of_realm AND n.node = found_node;
    INSERT INTO flakeid.lease_history
        (token, realm, node, holder, role, lease_start, lease_end, acquired_at)
    VALUES (lease_acquire.token, of_realm, found_node, lease_acquire.holder, session_user,
            lease_acquire.lease_start, lease_acquire.lease_end, b.now);
    -- The history of a node is no longer than this.
    DELETE FROM flakeid.lease_history AS h WHERE h.token IN (
        SELECT i.token FROM flakeid.lease_history AS i
        WHERE i.realm = of_realm AND i.node = found_node
        ORDER BY i.lease_start DESC, i.acquired_at DESC OFFSET 32);
END
$$;
COMMENT ON FUNCTION flakeid.lease_acquire(text, text, interval, int4, int4) IS 'implementation of flake_lease_acquire()';

CREATE FUNCTION flakeid.lease_renew(token uuid, ttl interval,
        known_end timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'postgres' AS $$
#variable_conflict use_column
DECLARE
    h record;
    b record;
    length interval;
    resting bool;
    known timestamptz;
    claimed bool;
    old_end timestamptz;
    new_end timestamptz;
BEGIN
    SELECT i.realm, i.node INTO h FROM flakeid.lease_history AS i
    WHERE i.token = lease_renew.token;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the coordinator does not know this lease',
            HINT = 'Make no ids after its end, and take a new one.';
    END IF;
    SELECT * INTO b FROM flakeid.lease_begin(h.realm);
    length := flakeid.lease_length(lease_renew.ttl, b.max_ttl_s);
    resting := b.rest_until IS NOT NULL;
    SELECT n.free_from INTO old_end FROM flakeid.lease_node AS n
    WHERE n.realm = h.realm AND n.node = h.node AND n.token = lease_renew.token FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT FROM flakeid.lease_history AS i
                            WHERE i.token = lease_renew.token AND i.released_at IS NOT NULL) THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the lease of node %s has ended', h.node),
            HINT = 'Take a new one.';
    END IF;
    -- A holder that knows a later end shows that renewals are missing. It is believed for its own node
    -- only, and for no longer than a lease that it may ask for. Where the coordinator does not rest, it was
    -- restored in a way that nothing else shows: a superuser must say so.
    IF lease_renew.known_end IS NOT NULL THEN
        known := least(date_trunc('second', lease_renew.known_end), date_trunc('second', b.now)
            + make_interval(secs => b.max_ttl_s + CASE WHEN resting THEN b.max_skew_s ELSE 0 END));
    END IF;
    claimed := coalesce(known > old_end, false);
    IF claimed AND NOT resting THEN
        RAISE LOG USING
            MESSAGE = format('the holder of node %s of realm "%s" knows a lease until %s, the coordinator one until %s', h.node, h.realm, lease_renew.known_end, old_end),
            DETAIL = 'Nobody else gets the node before that.',
            HINT = 'If this coordinator was restored from a copy of its files, run SELECT flake_lease_begin_rest() there: other leases may be missing.';
    END IF;
    old_end := greatest(old_end, known);
    IF old_end <= b.now THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('the lease of node %s ended at %s', h.node, old_end),
            HINT = 'Renew leases before their end, at a third of their length, or take a new one.';
    END IF;
    new_end := greatest(old_end, date_trunc('second', b.now) + length);
    -- The old coordinator's clock may have been max_skew further, and the node given away.
    IF old_end <= b.now + make_interval(secs => b.max_skew_s) THEN
        IF resting THEN
            RAISE object_not_in_prerequisite_state USING
                MESSAGE = format('the coordinator rests, and the lease of node %s ends too soon to be renewed', h.node),
                HINT = 'Make no ids after its end, and take a new one.';
        ELSIF claimed THEN
            new_end := old_end;
        END IF;
    END IF;
    UPDATE flakeid.lease_node AS n SET free_from = new_end
    WHERE n.realm = h.realm AND n.node = h.node;
    UPDATE flakeid.lease_history AS i
    SET lease_end = new_end, renewed_at = b.now, renewals = i.renewals + 1
    WHERE i.token = lease_renew.token;
    RETURN new_end;
END
$$;
COMMENT ON FUNCTION flakeid.lease_renew(uuid, interval, timestamptz) IS 'implementation of flake_lease_renew()';

CREATE FUNCTION flakeid.lease_release(token uuid, last_stamp timestamptz)
    RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'postgres' AS $$
#variable_conflict use_column
DECLARE
    h record;
    b record;
    free timestamptz;
BEGIN
    SELECT i.realm, i.node INTO h FROM flakeid.lease_history AS i
    WHERE i.token = lease_release.token;
    IF NOT FOUND THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'the coordinator does not know this lease';
    END IF;
    SELECT * INTO b FROM flakeid.lease_begin(h.realm);
    PERFORM FROM flakeid.lease_node AS n
    WHERE n.realm = h.realm AND n.node = h.node FOR UPDATE;
    SELECT i.realm, i.node, i.lease_start, i.lease_end, i.released_at INTO h
    FROM flakeid.lease_history AS i WHERE i.token = lease_release.token;
    IF h.released_at IS NOT NULL THEN
        RETURN h.lease_end;
    END IF;
    IF lease_release.last_stamp >= h.lease_end
       AND (b.rest_until IS NULL OR lease_release.last_stamp > b.now + make_interval(secs => b.max_ttl_s + b.max_skew_s)) THEN
        RAISE datetime_field_overflow USING
            MESSAGE = format('the last stamp %s lies outside the lease', lease_release.last_stamp),
            DETAIL = format('The lease of node %s is from %s to %s.', h.node, h.lease_start, h.lease_end);
    END IF;
    -- Whoever does not know his last stamp keeps the node until the end.
    free := greatest(h.lease_start,
        coalesce(date_trunc('second', lease_release.last_stamp) + interval '1 s', h.lease_end));
    UPDATE flakeid.lease_node AS n SET free_from = free
    WHERE n.realm = h.realm AND n.node = h.node AND n.token = lease_release.token;
    UPDATE flakeid.lease_history AS i
    SET lease_end = free, released_at = b.now, last_stamp = lease_release.last_stamp
    WHERE i.token = lease_release.token;
    RETURN free;
END
$$;
COMMENT ON FUNCTION flakeid.lease_release(uuid, timestamptz) IS 'implementation of flake_lease_release()';

CREATE FUNCTION flake_lease_acquire(realm text, holder text, ttl interval,
        INOUT node int4 DEFAULT NULL, max_node int4 DEFAULT NULL,
        OUT token uuid, OUT lease_start timestamptz,
        OUT lease_end timestamptz)
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT * FROM flakeid.lease_acquire(realm, holder, ttl, node, max_node)
$$;
COMMENT ON FUNCTION flake_lease_acquire(text, text, interval, int4, int4) IS
    'takes a node, or any free one up to max_node; the lease counts after COMMIT';

CREATE FUNCTION flake_lease_renew(token uuid, ttl interval,
        known_end timestamptz DEFAULT NULL) RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT flakeid.lease_renew(token, ttl, known_end)
$$;
COMMENT ON FUNCTION flake_lease_renew(uuid, interval, timestamptz) IS
    'moves the end of a lease that has not ended, and returns it; known_end, the end that the holder knows, helps after a failover';

CREATE FUNCTION flake_lease_release(token uuid, last_stamp timestamptz)
    RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT flakeid.lease_release(token, last_stamp)
$$;
COMMENT ON FUNCTION flake_lease_release(uuid, timestamptz) IS
    'gives a node back before the end, and returns from when it is free: after last_stamp, the moment of the last id; NULL: at the end';

-- For superusers

CREATE FUNCTION flake_lease_realm_set(realm text, nodes int4 DEFAULT NULL,
        max_ttl interval DEFAULT NULL, max_skew interval DEFAULT NULL)
    RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ttl_s CONSTANT numeric := ceil(extract(epoch FROM flake_lease_realm_set.max_ttl));
    skew_s CONSTANT numeric := ceil(extract(epoch FROM flake_lease_realm_set.max_skew));
BEGIN
    IF realm IS NULL OR realm = '' OR nodes < 1 OR ttl_s NOT BETWEEN 3 AND 86400
       OR skew_s NOT BETWEEN 0 AND 86400 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'settings of a realm out of range',
            DETAIL = 'A realm has a name, at least one node, max_ttl from 3 s to 1 day and max_skew from 0 to 1 day.';
    END IF;
    INSERT INTO flakeid.lease_realm AS r (realm, nodes, max_ttl_s, max_skew_s)
    VALUES (flake_lease_realm_set.realm, coalesce(flake_lease_realm_set.nodes, 1024),
            coalesce(ttl_s, 120), coalesce(skew_s, 10))
    ON CONFLICT ON CONSTRAINT lease_realm_pkey DO UPDATE
    SET nodes = coalesce(flake_lease_realm_set.nodes, r.nodes),
        max_ttl_s = coalesce(ttl_s, r.max_ttl_s),
        max_skew_s = coalesce(skew_s, r.max_skew_s);
END
$$;
COMMENT ON FUNCTION flake_lease_realm_set(text, int4, interval, interval) IS
    'makes a realm, or changes those of its settings that are named: nodes from 1, max_ttl from 3 s to 1 day, max_skew from 0 to 1 day; the default is 1024, 2 min, 10 s';

CREATE FUNCTION flake_lease_begin_rest() RETURNS void
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT flakeid.lease_begin('default');
    SELECT flakeid.lease_begin(r.realm) FROM flakeid.lease_realm AS r;
    SELECT flakeid.lease_rest(true)
$$;
COMMENT ON FUNCTION flake_lease_begin_rest() IS
    'hands out no leases for max_ttl + max_skew from now: after a restore that the coordinator cannot notice';

CREATE FUNCTION flake_lease_end_rest() RETURNS void
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT flakeid.lease_clock(0);
    SELECT flakeid.lease_rest(false)
$$;
COMMENT ON FUNCTION flake_lease_end_rest() IS
    'hands out leases at once after a promotion or restore: only where no lease or renewal is missing';

CREATE FUNCTION flake_lease_repair_clock() RETURNS interval
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT flakeid.lease_repair_clock()
$$;
COMMENT ON FUNCTION flake_lease_repair_clock() IS
    'lets the clock of leases go back to the wall clock, after that was wrong; returns by how much. Nodes leased in the future stay taken until then';

CREATE FUNCTION flake_lease_revoke(realm text, node int4) RETURNS bool
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    b record;
    old_token uuid;
BEGIN
    SELECT * INTO b FROM flakeid.lease_begin(flake_lease_revoke.realm);
    SELECT n.token INTO old_token FROM flakeid.lease_node AS n
    WHERE n.realm = flake_lease_revoke.realm AND n.node = flake_lease_revoke.node
      AND n.free_from > b.now FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE flakeid.lease_node AS n SET free_from = date_trunc('second', b.now) + interval '1 s'
    WHERE n.realm = flake_lease_revoke.realm AND n.node = flake_lease_revoke.node;
    UPDATE flakeid.lease_history AS h
    SET released_at = b.now,
        lease_end = greatest(h.lease_start, date_trunc('second', b.now) + interval '1 s')
    WHERE h.token = old_token AND h.lease_end > b.now;
    RETURN true;
END
$$;
COMMENT ON FUNCTION flake_lease_revoke(text, int4) IS
    'declares a node free whose holder is gone for certain; a holder that is not may make duplicates until its end';

CREATE FUNCTION flake_lease_forget(before timestamptz) RETURNS int8
    LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH gone AS (
        DELETE FROM flakeid.lease_history AS h
        WHERE h.lease_end < least(before, clock_timestamp())
          AND NOT EXISTS (SELECT FROM flakeid.lease_node AS n WHERE n.token = h.token)
        RETURNING 1)
    SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION flake_lease_forget(timestamptz) IS
    'deletes leases that ended before that moment, except the last one of each node';

REVOKE ALL ON FUNCTION flakeid.lease_clock(int8) FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.lease_rest(bool) FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.lease_repair_clock() FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.lease_ignore_replicated() FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.lease_rest_after_truncate() FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.lease_begin(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.lease_length(interval, int4) FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.lease_acquire(text, text, interval, int4, int4) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_acquire(text, text, interval, int4, int4) FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.lease_renew(uuid, interval, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_renew(uuid, interval, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION flakeid.lease_release(uuid, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_release(uuid, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_realm_set(text, int4, interval, interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_begin_rest() FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_end_rest() FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_repair_clock() FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_revoke(text, int4) FROM PUBLIC;
REVOKE ALL ON FUNCTION flake_lease_forget(timestamptz) FROM PUBLIC;

-- Generators are members of flakeid_generator where the cluster has such a role. Who sets up a coordinator makes it; the script
-- makes none, because a role belongs to no database.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname OPERATOR(pg_catalog.=) 'flakeid_generator') THEN
        GRANT EXECUTE ON FUNCTION
            flakeid.lease_acquire(text, text, interval, int4, int4),
            flake_lease_acquire(text, text, interval, int4, int4),
            flakeid.lease_renew(uuid, interval, timestamptz),
            flake_lease_renew(uuid, interval, timestamptz),
            flakeid.lease_release(uuid, timestamptz),
            flake_lease_release(uuid, timestamptz)
            TO flakeid_generator;
    END IF;
END
$$;
