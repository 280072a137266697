-- Making ids

CREATE FUNCTION flake_next() RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_next' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next() IS 'one new id of flakeid.layout and flakeid.node';

CREATE FUNCTION flake_next(layout text) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_next' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next(text) IS
    'the same of that layout; one that is neither a preset nor flakeid.layout is for superusers';

CREATE FUNCTION flake_next(layout text, node int4) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_next_of_node' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flake_next(text, int4) IS 'the same of flakeid.layout and a node of the span that flakeid.node grants';

CREATE FUNCTION flake_next_many(n int4, layout text DEFAULT NULL)
    RETURNS SETOF flake
    AS 'MODULE_PATHNAME', 'flakeid_next_many' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION flake_next_many(int4, text) IS 'n new ids, n from 0';

CREATE FUNCTION flake_block(n int4, layout text DEFAULT NULL) RETURNS flake
    AS 'MODULE_PATHNAME', 'flakeid_block' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION flake_block(int4, text) IS
    'first of n new ids whose sequence numbers follow each other in one tick; n from 1 to what a tick holds';
