-- Reading ids
--
-- With a layout the functions are immutable, so that they serve in indexes; for an enciphered
-- layout the secret counts as a part of it.

CREATE FUNCTION flake_timestamp(id int8) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_timestamp' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_timestamp(id int8, layout text) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'flakeid_timestamp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_timestamp(int8) IS 'when an id was made: the start of its tick';
COMMENT ON FUNCTION flake_timestamp(int8, text) IS 'when an id of that layout was made: the start of its tick';

CREATE FUNCTION flake_node(id int8) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_node' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_node(id int8, layout text) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_node' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_node(int8) IS
    'node that made an id: all parts of the node, the one further left high';
COMMENT ON FUNCTION flake_node(int8, text) IS 'node that made an id of that layout';

CREATE FUNCTION flake_sequence(id int8) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_sequence' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_sequence(id int8, layout text) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_sequence' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_sequence(int8) IS 'counter of an id within its tick; 0 where the layout has none';
COMMENT ON FUNCTION flake_sequence(int8, text) IS 'counter of an id of that layout within its tick; 0 where it has none';

CREATE FUNCTION flake_field(id int8, name text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_field' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_field(id int8, name text, layout text) RETURNS int8
    AS 'MODULE_PATHNAME', 'flakeid_field' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_field(int8, text) IS
    'a field of an id by its name, such as datacenter; time is in ticks';
COMMENT ON FUNCTION flake_field(int8, text, text) IS 'a field of an id of that layout by its name';

CREATE FUNCTION flake_inspect(id int8,
        OUT "timestamp" timestamptz, OUT node int4, OUT sequence int4, OUT raw_id int8, OUT layout_text text, OUT fields jsonb)
    AS 'MODULE_PATHNAME', 'flakeid_inspect' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_inspect(id int8, layout text,
        OUT "timestamp" timestamptz, OUT node int4, OUT sequence int4, OUT raw_id int8, OUT layout_text text, OUT fields jsonb)
    AS 'MODULE_PATHNAME', 'flakeid_inspect' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_inspect(int8) IS
    'all parts of an id; raw_id is deciphered';
COMMENT ON FUNCTION flake_inspect(int8, text) IS 'all parts of an id of that layout';

CREATE FUNCTION flake_valid(id int8) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_valid' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_valid(id int8, layout text) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_valid' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_valid(int8) IS
    'whether a number can be an id: its fields and sign fit, and its time lies between the epoch and now, plus flakeid.max_ahead';
COMMENT ON FUNCTION flake_valid(int8, text) IS 'whether a number can be an id of that layout';

CREATE FUNCTION flake_guess(id int8, OUT layout text, OUT "timestamp" timestamptz, OUT node int4, OUT sequence int4) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_guess' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION flake_guess(int8) IS 'the presets under which a number can be an id, the most plausible first';

CREATE FUNCTION flake_explain(id int8) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_explain' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_explain(id int8, layout text) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_explain' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_explain(int8) IS 'a drawing of the bits of an id';
COMMENT ON FUNCTION flake_explain(int8, text) IS 'a drawing of the bits of an id of that layout';

CREATE FUNCTION flake_make(ts timestamptz, node int4, sequence int4) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_make' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_make(ts timestamptz, node int4, sequence int4, layout text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_make' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_make(timestamptz, int4, int4) IS
    'composes an id from its parts; nothing keeps it apart from others, and its back field is 0';
COMMENT ON FUNCTION flake_make(timestamptz, int4, int4, text) IS 'composes an id of that layout from its parts';
