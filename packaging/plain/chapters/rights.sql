-- -------------------------------------------------------------------------------------------------
-- Who may do what
-- -------------------------------------------------------------------------------------------------
--
-- Everybody may read and make ids, whatever the owner's default privileges gave others or took from PUBLIC.

DO $rights$
DECLARE
    closed CONSTANT regprocedure[] := ARRAY[
        'flakeid_plain.flake_encrypt(bigint)', 'flakeid_plain.flake_decrypt(bigint)', 'flakeid_plain.secret_rounds()',
        'flakeid_plain.adopt(bigint)', 'flakeid_plain.begin_past(bigint)', 'flakeid_plain.close_tick()', 'flakeid_plain.configure()',
        'flakeid_plain.settings_changed()', 'flakeid_plain.extend(bigint, boolean, boolean)', 'flakeid_plain.floor_at_start(bigint)',
        'flakeid_plain.flush_wal()', 'flakeid_plain.throw_exhausted()', 'flakeid_plain.to_extension()', 'flakeid_plain.from_extension()',
        'flakeid_plain.partition_forget()'];
    statement text;
BEGIN
    FOR statement IN
        WITH object AS (
            SELECT 'ROUTINE ' || oid::regprocedure AS what, proowner AS owner, coalesce(proacl, acldefault('f', proowner)) AS acl
            FROM pg_proc WHERE pronamespace = 'flakeid_plain'::regnamespace
            UNION ALL
            SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || oid::regclass, relowner, relacl
            FROM pg_class WHERE relnamespace = 'flakeid_plain'::regnamespace AND relkind IN ('r', 'v', 'S')
            UNION ALL
            SELECT 'SCHEMA ' || oid::regnamespace, nspowner, nspacl
            FROM pg_namespace WHERE oid = 'flakeid_plain'::regnamespace)
        SELECT DISTINCT format('REVOKE ALL ON %s FROM %s', what, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
        FROM object, aclexplode(acl) WHERE grantee <> owner
    LOOP
        EXECUTE statement;
    END LOOP;
    FOR statement IN
        SELECT format('GRANT EXECUTE ON ROUTINE %s TO PUBLIC', oid::regprocedure)
        FROM pg_proc WHERE pronamespace = 'flakeid_plain'::regnamespace AND oid <> ALL (closed)
    LOOP
        EXECUTE statement;
    END LOOP;
END
$rights$;

GRANT USAGE ON SCHEMA flakeid_plain TO PUBLIC;
GRANT USAGE ON SEQUENCE flakeid_plain.word_a, flakeid_plain.word_b TO PUBLIC;
GRANT SELECT ON SEQUENCE flakeid_plain.tick TO PUBLIC;
GRANT SELECT ON flakeid_plain.layouts, flakeid_plain.partitions, flakeid_plain.conversions TO PUBLIC;
-- Owners of tables declare and log them there; triggers ask whether they are.
GRANT SELECT, INSERT ON flakeid_plain.partitioned, flakeid_plain.partition_log TO PUBLIC;
