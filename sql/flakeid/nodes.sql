-- This server as one of several that make ids for the same tables

CREATE FUNCTION flakeid.nodes(OUT server text, OUT first_node int4, OUT last_node int4,
        OUT setting text, OUT source text, OUT layout text, OUT standby bool,
        OUT others text, OUT problem text)
    AS 'MODULE_PATHNAME', 'flakeid_nodes' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.nodes() IS
    'the nodes of this server, where they came from, and what else can make ids for the same tables; problem is NULL where nothing is wrong';
