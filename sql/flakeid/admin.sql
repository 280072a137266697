-- For administrators: clocks and horizons that went wrong

CREATE FUNCTION flakeid.raise_horizon(after timestamptz) RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_raise_horizon' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.raise_horizon(timestamptz) IS
    'makes later ids of this database begin after that moment, also if the transaction is rolled back; lowers nothing';

CREATE FUNCTION flakeid.repair_horizon(none_kept bool DEFAULT false) RETURNS bool
    AS 'MODULE_PATHNAME', 'flakeid_repair_horizon' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.repair_horizon(bool) IS
    'lowers a horizon that lies in the future to 1 s from now, or to where ids of a right clock may lie, which a notice tells; false: there was nothing to lower. It refuses a node that may have made ids meanwhile, unless none was kept';

CREATE FUNCTION flakeid.accept_clock() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_accept_clock' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.accept_clock() IS
    'declares the wall clock right after a leap that flakeid.max_leap refuses';
