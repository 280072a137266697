-- Who may do what: more than everybody may make and read ids, only those whom these lines name.

SELECT flakeid.set_rights('flakeid', ARRAY[
    'flake_encrypt(int8)', 'flake_decrypt(int8)', 'flake_seal(int8)', 'flake_unseal(flake_sealed)', 'flake_unseal(text, text)', 'flake_unseal_or_null(text, text)', 'flake_in_range(flake_sealed, tstzrange)',
    'flakeid.raise_horizon(timestamptz)', 'flakeid.repair_horizon(bool)', 'flakeid.accept_clock()', 'flakeid.accept_secret()', 'flakeid.sealed_key(int4, text)',
    'flakeid.stats_reset()', 'flakeid.nodes()',
    'flakeid.sealed_hash(flake_sealed)', 'flakeid.sealed_hash_extended(flake_sealed, int8)', -- of guesses, they would tell the right one
    'flakeid.state_now()', 'flakeid.restore(text, int8)', 'flakeid.restore_denied()', 'flakeid.set_rights(name, regprocedure[])', 'flakeid.require_version(text)']::pg_catalog.regprocedure[]);

GRANT USAGE ON SCHEMA flakeid TO PUBLIC;
GRANT SELECT ON flakeid.layouts, flakeid.status, flakeid.stats, flakeid.unsettled TO PUBLIC;
GRANT EXECUTE ON FUNCTION flakeid.nodes() TO pg_monitor;
-- pg_dump by an ordinary role reads it, and a restore by one may write no row, which COPY asks a right for (state.sql).
GRANT SELECT, INSERT ON flakeid.restored TO PUBLIC;
