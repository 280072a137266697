-- Counters of the whole server

CREATE FUNCTION flakeid.stats_now(OUT issued int8,
        OUT ahead_now interval, OUT ahead_max interval,
        OUT waits int8, OUT wait_time interval,
        OUT set_backs int8, OUT set_back_max interval,
        OUT extensions int8, OUT stats_reset timestamptz)
    AS 'MODULE_PATHNAME', 'flakeid_stats' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.stats_now() IS 'implementation of view flake_stats';

CREATE FUNCTION flakeid.stats_of_leases(OUT lease_grants int8,
        OUT lease_renewals int8, OUT lease_failures int8)
    AS 'MODULE_PATHNAME', 'flakeid_lease_stats' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.stats_of_leases() IS 'implementation of view flake_stats';

CREATE VIEW flake_stats AS SELECT s.*, l.* FROM flakeid.stats_now() AS s, flakeid.stats_of_leases() AS l;
COMMENT ON VIEW flake_stats IS 'one row: counters of the whole server since its start or flake_stats_reset()';
COMMENT ON COLUMN flake_stats.issued IS 'ids; a session adds its own at the end of each transaction';
COMMENT ON COLUMN flake_stats.ahead_now IS 'how far the furthest generator lies ahead of the clock';
COMMENT ON COLUMN flake_stats.ahead_max IS 'the most that any id was stamped ahead of the clock';
COMMENT ON COLUMN flake_stats.waits IS 'draws that waited';
COMMENT ON COLUMN flake_stats.wait_time IS 'for how long, all of them together';
COMMENT ON COLUMN flake_stats.set_backs IS 'set-backs of the clock that were seen, from 0.5 ms';
COMMENT ON COLUMN flake_stats.set_back_max IS 'the largest of them';
COMMENT ON COLUMN flake_stats.extensions IS 'of horizons: WAL records written';
COMMENT ON COLUMN flake_stats.stats_reset IS 'since when the counters count';
COMMENT ON COLUMN flake_stats.lease_grants IS 'leases that the coordinator gave';
COMMENT ON COLUMN flake_stats.lease_renewals IS 'renewals of leases';
COMMENT ON COLUMN flake_stats.lease_failures IS 'attempts at either that failed';
GRANT SELECT ON flake_stats TO PUBLIC;

CREATE FUNCTION flake_stats_reset() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_stats_reset' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flake_stats_reset() IS 'sets the counters of flake_stats to zero';
REVOKE ALL ON FUNCTION flake_stats_reset() FROM PUBLIC;
