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

-- The schema of the extension
--
-- What is not meant for people lives in a schema that belongs to the installer, so that the owner of
-- a database can neither rename nor shadow what the code of the extension names. Everybody may look
-- names up in it, because pg_dump by an ordinary role does.

CREATE SCHEMA flakeid;
GRANT USAGE ON SCHEMA flakeid TO PUBLIC;
COMMENT ON SCHEMA flakeid IS 'what extension flakeid keeps for itself';
