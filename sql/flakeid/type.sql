-- Type flake
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
CREATE FUNCTION flake(int4) RETURNS flake
    AS 'int48' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake(numeric) RETURNS flake
    AS 'numeric_int8' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
-- They take a flake: pg_upgrade makes casts in the order of their names, and one by a function of bigint needs another cast first.
CREATE FUNCTION flakeid.to_float8(flake) RETURNS float8
    AS 'i8tod' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flakeid.to_numeric(flake) RETURNS numeric
    AS 'int8_numeric' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake(int2) IS 'convert int2 to flake';
COMMENT ON FUNCTION flake(int4) IS 'convert int4 to flake';
COMMENT ON FUNCTION flake(numeric) IS 'convert numeric to flake';
COMMENT ON FUNCTION flakeid.to_float8(flake) IS 'implementation of the cast to float8';
COMMENT ON FUNCTION flakeid.to_numeric(flake) IS 'implementation of the cast to numeric';

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
CREATE CAST (flake AS numeric) WITH FUNCTION flakeid.to_numeric(flake) AS ASSIGNMENT;
CREATE CAST (flake AS float8) WITH FUNCTION flakeid.to_float8(flake);
