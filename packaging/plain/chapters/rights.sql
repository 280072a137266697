-- -------------------------------------------------------------------------------------------------
-- Who may do what
-- -------------------------------------------------------------------------------------------------
--
-- Everybody may read and make ids, whatever the owner's default privileges gave others or took from PUBLIC.

CREATE PROCEDURE flakeid_plain.set_rights(names name[], closed regprocedure[])
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    statement text;
BEGIN
    FOR statement IN
        WITH object AS (
            SELECT 'ROUTINE ' || oid::regprocedure AS what, proowner AS owner, coalesce(proacl, acldefault('f', proowner)) AS acl
            FROM pg_proc WHERE pronamespace = 'flakeid_plain'::regnamespace AND proname = ANY (names)
            UNION ALL
            SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || oid::regclass, relowner, relacl
            FROM pg_class WHERE relnamespace = 'flakeid_plain'::regnamespace AND relkind IN ('r', 'v', 'S') AND relname = ANY (names))
        SELECT DISTINCT format('REVOKE ALL ON %s FROM %s', what, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
        FROM object, aclexplode(acl) WHERE grantee <> owner
        UNION ALL
        SELECT format('GRANT EXECUTE ON ROUTINE %s TO PUBLIC', oid::regprocedure)
        FROM pg_proc WHERE pronamespace = 'flakeid_plain'::regnamespace AND proname = ANY (names) AND oid <> ALL (closed)
    LOOP
        EXECUTE statement;
    END LOOP;
END
$$;
COMMENT ON PROCEDURE flakeid_plain.set_rights(name[], regprocedure[]) IS 'lets everybody call the routines of these names but the closed ones, and nobody do anything else with what has these names';

CALL flakeid_plain.set_rights(array_append(@NAMES@, 'set_rights'), ARRAY[
    'flakeid_plain.flake_encrypt(bigint)', 'flakeid_plain.flake_decrypt(bigint)', 'flakeid_plain.secret_rounds()',
    'flakeid_plain.adopt(bigint)', 'flakeid_plain.begin_past(bigint)', 'flakeid_plain.close_tick()', 'flakeid_plain.configure()',
    'flakeid_plain.settings_changed()', 'flakeid_plain.extend(bigint, boolean, boolean)', 'flakeid_plain.floor_at_start(bigint)',
    'flakeid_plain.flush_wal()', 'flakeid_plain.throw_exhausted()', 'flakeid_plain.to_extension()', 'flakeid_plain.from_extension()',
    'flakeid_plain.set_rights(name[], regprocedure[])']::regprocedure[]);

DO $$
DECLARE
    statement text;
BEGIN
    FOR statement IN SELECT format('REVOKE ALL ON SCHEMA flakeid_plain FROM %s', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
        FROM pg_namespace, aclexplode(nspacl) WHERE oid = 'flakeid_plain'::regnamespace AND grantee <> nspowner LOOP
        EXECUTE statement;
    END LOOP;
END
$$;
GRANT USAGE ON SCHEMA flakeid_plain TO PUBLIC;
GRANT USAGE ON SEQUENCE flakeid_plain.word_a, flakeid_plain.word_b TO PUBLIC;
GRANT SELECT ON SEQUENCE flakeid_plain.tick TO PUBLIC;
GRANT SELECT ON flakeid_plain.layouts TO PUBLIC;
