-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION flakeid_tables" to load this file. \quit

SELECT flakeid.require_version('@VERSION@');

-- The schema that CREATE EXTENSION names, and those before it, may hold functions of anybody under the names that are bound here.
SELECT pg_catalog.set_config('search_path', pg_catalog.format('pg_catalog, %I, pg_temp', n.nspname), true)
FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
WHERE e.extname OPERATOR(pg_catalog.=) 'flakeid';

-- The rights of a table's owner
--
-- What changes tables runs code of their owners: checks, defaults, triggers, expressions of indexes. So a statement on a table runs through
-- this, or runs nothing of the owner's. SET ROLE would be no sandbox: code could take back the role of the session.

CREATE FUNCTION flakeid.as_owner(tab regclass, statement text) RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_as_owner' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.as_owner(regclass, text) IS
    'internal: runs a statement with the rights of a table''s owner and no others, for who has them; returns the first column of its first row';

-- Ids of old rows

CREATE FUNCTION flakeid.old_row_node(tab regclass, wanted int4, besides int4[], take bool) RETURNS int4
    AS 'MODULE_PATHNAME', 'flakeid_old_row_node' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.old_row_node(regclass, int4, int4[], bool) IS
    'internal: a node for ids of old rows that no other table of the server has; null: none is left';

CREATE FUNCTION flakeid.release_old_row_node(tab regclass, node int4) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_release_old_row_node' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.release_old_row_node(regclass, int4) IS 'internal: gives back a node that a table took';
