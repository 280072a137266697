-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION flakeid" to load this file. \quit

-- The schema of the extension
--
-- All but the types and what statements of applications use lives in a schema that belongs to the installer, so that the owner of
-- a database can neither rename nor shadow what the code of the extension names. Everybody may look
-- names up in it, because pg_dump by an ordinary role does.

CREATE SCHEMA flakeid;
GRANT USAGE ON SCHEMA flakeid TO PUBLIC;
COMMENT ON SCHEMA flakeid IS 'what extension flakeid keeps for itself';

-- A library that a server still runs may be another than the one that was installed.

CREATE FUNCTION flakeid.version() RETURNS text
    AS 'MODULE_PATHNAME', 'flakeid_version' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.version() IS 'version of the library';

DO $$
BEGIN
    IF flakeid.version() OPERATOR(pg_catalog.<>) '@VERSION@' THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the running server uses another version of the flakeid library',
            DETAIL = pg_catalog.format('The SQL objects are of version @VERSION@, the library is of version %s.', flakeid.version()),
            HINT = 'Restart the server.';
    END IF;
END
$$;
