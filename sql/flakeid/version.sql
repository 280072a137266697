-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION flakeid" to load this file. \quit

-- The schema of the extension
--
-- All but the types and what statements of applications use lives in a schema that belongs to the installer, so that the owner of
-- a database can neither rename nor shadow what the code of the extension names. Everybody may look
-- names up in it, because pg_dump by an ordinary role does.

CREATE SCHEMA flakeid;
COMMENT ON SCHEMA flakeid IS 'what extension flakeid keeps for itself';

CREATE FUNCTION flakeid.version() RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_version' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.version() IS 'version of the library';

-- The library that a server still runs may be an earlier one than that which was installed, and extensions are updated one by one. So each
-- script, one that updates too, begins with this. A later library, or later objects of flakeid, serve earlier objects.

CREATE FUNCTION flakeid.require_version(objects text) RETURNS void
    LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    beside text := (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'flakeid');
BEGIN
    IF string_to_array(flakeid.version(), '.')::int4[] < string_to_array(objects, '.')::int4[] THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the running server uses another version of the flakeid library',
            DETAIL = format('The SQL objects are of version %s, the library is of version %s.', objects, flakeid.version()),
            HINT = 'Restart the server.';
    ELSIF string_to_array(beside, '.')::int4[] < string_to_array(objects, '.')::int4[] THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('extension flakeid of this database is of version %s', beside),
            DETAIL = format('What is to be made needs version %s of it.', objects),
            HINT = 'Run: ALTER EXTENSION flakeid UPDATE';
    END IF;
END
$$;
COMMENT ON FUNCTION flakeid.require_version(text) IS 'internal: an error where the library, or extension flakeid, is of an earlier version than objects that are to be made';

SELECT flakeid.require_version('@VERSION@');

-- The installer's default privileges may have given rights on what the script made, or taken some from PUBLIC. So each script
-- ends with this, and then grants.

CREATE FUNCTION flakeid.set_rights(of_extension name, closed regprocedure[]) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        WITH member AS (
            SELECT m.classid, m.objid FROM pg_catalog.pg_depend AS m JOIN pg_catalog.pg_extension AS e ON m.refobjid = e.oid
            WHERE m.refclassid = 'pg_extension'::regclass AND m.deptype = 'e' AND e.extname = of_extension),
        object AS (
            SELECT 'ROUTINE ' || p.oid::regprocedure AS what, p.proowner AS owner, coalesce(p.proacl, acldefault('f', p.proowner)) AS acl,
                   CASE WHEN p.oid <> ALL (closed) THEN 'EXECUTE' END AS open
            FROM member JOIN pg_catalog.pg_proc AS p ON classid = 'pg_proc'::regclass AND objid = p.oid
            UNION ALL
            SELECT 'TABLE ' || c.oid::regclass, c.relowner, coalesce(c.relacl, acldefault('r', c.relowner)), NULL
            FROM member JOIN pg_catalog.pg_class AS c ON classid = 'pg_class'::regclass AND objid = c.oid WHERE c.relkind IN ('r', 'v', 'm')
            UNION ALL
            SELECT 'TYPE ' || t.oid::regtype, t.typowner, coalesce(t.typacl, acldefault('T', t.typowner)), 'USAGE'
            FROM member JOIN pg_catalog.pg_type AS t ON classid = 'pg_type'::regclass AND objid = t.oid WHERE t.typelem = 0 AND t.typrelid = 0
            UNION ALL
            SELECT 'SCHEMA ' || n.oid::regnamespace, n.nspowner, coalesce(n.nspacl, acldefault('n', n.nspowner)), NULL
            FROM member JOIN pg_catalog.pg_namespace AS n ON classid = 'pg_namespace'::regclass AND objid = n.oid)
        SELECT DISTINCT format('REVOKE ALL ON %s FROM %s', what, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
        FROM (TABLE object) AS o, aclexplode(acl) WHERE grantee <> owner AND (grantee <> 0 OR open IS NULL)
        UNION ALL
        SELECT format('GRANT %s ON %s TO PUBLIC', open, what)
        FROM (TABLE object) AS o WHERE open IS NOT NULL AND NOT EXISTS (SELECT FROM aclexplode(acl) WHERE grantee = 0)
    LOOP
        EXECUTE statement;
    END LOOP;
END
$$;
COMMENT ON FUNCTION flakeid.set_rights(name, regprocedure[]) IS
    'internal: leaves everybody but the owner EXECUTE on the functions of an extension that are not closed (NULL: all are), USAGE on types, and nothing else';
