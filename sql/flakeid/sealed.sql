-- Type flake_sealed
--
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

CREATE FUNCTION flake_sealed_or_null(id text) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_or_null' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sealed_or_null(text) IS
    'the sealed id of a text, as the cast reads it; NULL, and no error, where the text is no sealed id or names a key that the secret does not have';

CREATE FUNCTION flakeid.seal_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'flakeid_seal_support' LANGUAGE C STRICT;
COMMENT ON FUNCTION flakeid.seal_support(internal) IS 'planner support for casts of flake_sealed';

CREATE FUNCTION flake_seal(id int8) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_relabel' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.seal_support;
COMMENT ON FUNCTION flake_seal(int8) IS 'the sealed id of a plain one';

CREATE FUNCTION flake_unseal(id flake_sealed) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_relabel' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.seal_support;
COMMENT ON FUNCTION flake_unseal(flake_sealed) IS 'the plain id of a sealed one';

CREATE FUNCTION flake_sealed(flake) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_seal_flake' LANGUAGE C STABLE STRICT PARALLEL SAFE
    SUPPORT flakeid.seal_support;
COMMENT ON FUNCTION flake_sealed(flake) IS 'convert flake to flake_sealed; by everyone for flake_next() itself';

CREATE FUNCTION flakeid.accept_secret() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_accept_secret' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.accept_secret() IS
    'declares the secret right for the sealed ids of this database: the marks of its keys are taken anew at the next use';

CREATE FUNCTION flakeid.sealed_key(n int4 DEFAULT 0, prefix text DEFAULT NULL) RETURNS bytea
    AS 'MODULE_PATHNAME', 'flakeid_sealed_key' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.sealed_key(int4, text) IS
    'the 16 bytes with which public Randflake libraries read sealed ids of that key, or its ids with that prefix, and seal; they do not tell the secret';

-- Public ids with a prefix, of plain columns

CREATE FUNCTION flake_seal(id int8, prefix text) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_seal_with_prefix' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_seal(int8, text) IS 'the public id of a plain one, such as ord_cn6aqdp67ctk1; a prefix is [a-z][a-z0-9_]{0,30}';
CREATE FUNCTION flake_unseal(public_id text, prefix text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_unseal_with_prefix' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_unseal(text, text) IS 'the plain id of a public one with that prefix';
CREATE FUNCTION flake_unseal_or_null(public_id text, prefix text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_unseal_or_null' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_unseal_or_null(text, text) IS
    'the same; NULL, and no error, where the text has another prefix, is no public id or names a key that the secret does not have';

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
COMMENT ON FUNCTION flakeid.sealed_cmp(flake_sealed, flake_sealed) IS 'implementation of btree indexes';
COMMENT ON FUNCTION flakeid.sealed_hash(flake_sealed) IS 'implementation of hash indexes';
COMMENT ON FUNCTION flakeid.sealed_hash_extended(flake_sealed, int8) IS 'implementation of hash indexes';
COMMENT ON FUNCTION flakeid.sealed_larger(flake_sealed, flake_sealed) IS 'implementation of max';
COMMENT ON FUNCTION flakeid.sealed_smaller(flake_sealed, flake_sealed) IS 'implementation of min';

CREATE OPERATOR < (LEFTARG = flake_sealed, RIGHTARG = flake_sealed, FUNCTION = flakeid.sealed_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = pg_catalog.scalarltsel, JOIN = pg_catalog.scalarltjoinsel);
CREATE OPERATOR <= (LEFTARG = flake_sealed, RIGHTARG = flake_sealed, FUNCTION = flakeid.sealed_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = pg_catalog.scalarlesel, JOIN = pg_catalog.scalarlejoinsel);
CREATE OPERATOR = (LEFTARG = flake_sealed, RIGHTARG = flake_sealed, FUNCTION = flakeid.sealed_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = pg_catalog.eqsel, JOIN = pg_catalog.eqjoinsel, HASHES, MERGES);
CREATE OPERATOR <> (LEFTARG = flake_sealed, RIGHTARG = flake_sealed, FUNCTION = flakeid.sealed_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = pg_catalog.neqsel, JOIN = pg_catalog.neqjoinsel);
CREATE OPERATOR >= (LEFTARG = flake_sealed, RIGHTARG = flake_sealed, FUNCTION = flakeid.sealed_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = pg_catalog.scalargesel, JOIN = pg_catalog.scalargejoinsel);
CREATE OPERATOR > (LEFTARG = flake_sealed, RIGHTARG = flake_sealed, FUNCTION = flakeid.sealed_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = pg_catalog.scalargtsel, JOIN = pg_catalog.scalargtjoinsel);
COMMENT ON OPERATOR < (flake_sealed, flake_sealed) IS 'less than';
COMMENT ON OPERATOR <= (flake_sealed, flake_sealed) IS 'less than or equal';
COMMENT ON OPERATOR = (flake_sealed, flake_sealed) IS 'equal';
COMMENT ON OPERATOR <> (flake_sealed, flake_sealed) IS 'not equal';
COMMENT ON OPERATOR >= (flake_sealed, flake_sealed) IS 'greater than or equal';
COMMENT ON OPERATOR > (flake_sealed, flake_sealed) IS 'greater than';

CREATE OPERATOR CLASS sealed_ops DEFAULT FOR TYPE flake_sealed USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 flakeid.sealed_cmp(flake_sealed, flake_sealed),
    FUNCTION 2 pg_catalog.btint8sortsupport(internal),
    FUNCTION 4 pg_catalog.btequalimage(oid);
CREATE OPERATOR CLASS sealed_ops DEFAULT FOR TYPE flake_sealed USING hash AS
    OPERATOR 1 =,
    FUNCTION 1 flakeid.sealed_hash(flake_sealed),
    FUNCTION 2 flakeid.sealed_hash_extended(flake_sealed, int8);
CREATE OPERATOR CLASS sealed_ops DEFAULT FOR TYPE flake_sealed USING brin AS
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

-- Finding sealed ids by time: each of these asks for EXECUTE on flake_in_range(flake_sealed, tstzrange).

CREATE FUNCTION flake_sealed_range_floor(during tstzrange) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_range_floor' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sealed_range_floor(tstzrange) IS
    'as flake_range_floor, of sealed ids; for who may find those by time';
CREATE FUNCTION flake_sealed_range_ceil(during tstzrange) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_range_ceil' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sealed_range_ceil(tstzrange) IS
    'as flake_range_ceil, of sealed ids; for who may find those by time';
CREATE FUNCTION flake_sealed_range_floor(during tstzrange, layout text) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_range_floor' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sealed_range_floor(tstzrange, text) IS
    'as flake_range_floor, of sealed ids of that layout; for who may find those by time';
CREATE FUNCTION flake_sealed_range_ceil(during tstzrange, layout text) RETURNS flake_sealed
    AS 'MODULE_PATHNAME', 'flakeid_sealed_range_ceil' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sealed_range_ceil(tstzrange, text) IS
    'as flake_range_ceil, of sealed ids of that layout; for who may find those by time';
CREATE FUNCTION flake_in_range(id flake_sealed, during tstzrange) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_in_range' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_in_range(flake_sealed, tstzrange) IS 'internal: whoever may call it may find sealed ids by time';
CREATE FUNCTION flake_in_range(id flake_sealed, during tstzrange, layout text) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_in_range' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_in_range(flake_sealed, tstzrange, text) IS
    'the same of sealed ids, for who may call flake_in_range(flake_sealed, tstzrange)';
CREATE FUNCTION flake_within(id flake_sealed, during flakeid.moments) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_in_range' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_within(flake_sealed, flakeid.moments) IS 'implementation of <@ operator';
CREATE FUNCTION flake_range_contains(during flakeid.moments, id flake_sealed) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_sealed_range_contains' LANGUAGE C STABLE STRICT PARALLEL SAFE SUPPORT flakeid.in_range_support;
COMMENT ON FUNCTION flake_range_contains(flakeid.moments, flake_sealed) IS 'implementation of @> operator';

CREATE OPERATOR <@ (LEFTARG = flake_sealed, RIGHTARG = flakeid.moments, FUNCTION = flake_within, COMMUTATOR = @>,
    RESTRICT = pg_catalog.contsel, JOIN = pg_catalog.contjoinsel);
COMMENT ON OPERATOR <@ (flake_sealed, flakeid.moments) IS
    'the sealed id was stamped in the range; for who may find those by time';

CREATE OPERATOR @> (LEFTARG = flakeid.moments, RIGHTARG = flake_sealed, FUNCTION = flake_range_contains, COMMUTATOR = <@,
    RESTRICT = pg_catalog.contsel, JOIN = pg_catalog.contjoinsel);
COMMENT ON OPERATOR @> (flakeid.moments, flake_sealed) IS 'the sealed id was stamped in the range; for who may find those by time';
