-- Text forms of ids

CREATE FUNCTION flake_to_text(id int8, format text) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_to_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION flake_from_text(text text, format text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_from_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_to_text(int8, text) IS 'the id in a text form such as base58';
COMMENT ON FUNCTION flake_from_text(text, text) IS 'reads what flake_to_text() writes, and no other spelling';
