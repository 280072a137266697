-- The durable state
--
-- It outlives everything (src/durable/durable.hpp): one row, which the library alone changes.

CREATE FUNCTION flakeid.state_now(OUT format int8,
        OUT plain_horizon int8, OUT back_horizon int8, OUT latest int8, OUT not_before int8, OUT most_ahead int8, OUT nodes int8,
        OUT timeline int8, OUT incarnation int8, OUT assigned int8,
        OUT lease_clock int8, OUT lease_rest int8, OUT lease_origin int8, OUT lease_hold int8, OUT lease_term int8, OUT lost int8,
        OUT keys_0 int8, OUT keys_1 int8, OUT keys_2 int8, OUT keys_3 int8,
        OUT keys_4 int8, OUT keys_5 int8, OUT keys_6 int8, OUT keys_7 int8,
        OUT check_value int8)
    AS 'MODULE_PATHNAME', 'flakeid_state_now' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.state_now() IS 'internal: what flakeid.state holds after REFRESH MATERIALIZED VIEW';

CREATE MATERIALIZED VIEW flakeid.state USING heap AS SELECT * FROM flakeid.state_now();
COMMENT ON MATERIALIZED VIEW flakeid.state IS 'no id of this database was ever stamped after its horizons; what leases rest on';

-- pg_dump carries what flakeid.dumped() says in the place of the rows of flakeid.restored. A restore
-- inserts them there, and the constraint hands them to the library; a trigger could be disabled.
CREATE FUNCTION flakeid.dumped(OUT name text, OUT value int8) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'flakeid_dumped' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.dumped() IS 'internal: what pg_dump carries of flakeid.state';

CREATE FUNCTION flakeid.restore(name text, value int8) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_restore' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.restore(text, int8) IS 'internal: raises flakeid.state to what a dump carries';

CREATE TABLE flakeid.restored (
    name text NOT NULL,
    value int8 NOT NULL,
    CONSTRAINT restore CHECK (flakeid.restore(name, value))
) USING heap;
COMMENT ON TABLE flakeid.restored IS 'what restored dumps brought';

-- The dump of a database's owner restores in his role, too: rows of somebody who may not also UPDATE are left out with a warning.
CREATE FUNCTION flakeid.restore_denied() RETURNS trigger
    AS 'MODULE_PATHNAME', 'flakeid_restore_denied' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.restore_denied() IS 'internal: leaves out what a role may not restore';
CREATE TRIGGER restore_denied BEFORE INSERT ON flakeid.restored FOR EACH ROW EXECUTE FUNCTION flakeid.restore_denied();
SELECT pg_catalog.pg_extension_config_dump('flakeid.restored',
    'WHERE false UNION ALL SELECT d.name, d.value FROM flakeid.dumped() AS d');
