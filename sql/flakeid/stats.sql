-- Counters of the whole server

CREATE FUNCTION flakeid.stats_now(OUT issued int8, OUT ahead_now interval, OUT ahead_max interval,
        OUT waits int8, OUT wait_time interval, OUT set_backs int8, OUT set_back_max interval,
        OUT extensions int8, OUT stats_reset timestamptz,
        OUT lease_grants int8, OUT lease_renewals int8, OUT lease_failures int8,
        OUT generators int8, OUT max_generators int8)
    AS 'MODULE_PATHNAME', 'flakeid_stats_now' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION flakeid.stats_now() IS 'internal: the row of view flakeid.stats';

CREATE VIEW flakeid.stats AS SELECT * FROM flakeid.stats_now();
COMMENT ON VIEW flakeid.stats IS 'one row: counters of the server since its start or flakeid.stats_reset()';
COMMENT ON COLUMN flakeid.stats.issued IS 'ids; added at the end of a transaction';
COMMENT ON COLUMN flakeid.stats.ahead_now IS 'how far the furthest generator lies ahead of the clock';
COMMENT ON COLUMN flakeid.stats.ahead_max IS 'the most that any id was stamped ahead of the clock';
COMMENT ON COLUMN flakeid.stats.waits IS 'draws that waited';
COMMENT ON COLUMN flakeid.stats.wait_time IS 'for how long, all of them together';
COMMENT ON COLUMN flakeid.stats.set_backs IS 'set-backs of the clock that were seen, from 0.5 ms';
COMMENT ON COLUMN flakeid.stats.set_back_max IS 'the largest of them';
COMMENT ON COLUMN flakeid.stats.extensions IS 'of horizons: WAL records written';
COMMENT ON COLUMN flakeid.stats.stats_reset IS 'since when the counters count';
COMMENT ON COLUMN flakeid.stats.lease_grants IS 'leases that the coordinator gave';
COMMENT ON COLUMN flakeid.stats.lease_renewals IS 'renewals of leases';
COMMENT ON COLUMN flakeid.stats.lease_failures IS 'attempts at either that failed';
COMMENT ON COLUMN flakeid.stats.generators IS 'of layouts and nodes, in use since the start';
COMMENT ON COLUMN flakeid.stats.max_generators IS 'how many a server has room for';

CREATE FUNCTION flakeid.stats_reset() RETURNS void
    AS 'MODULE_PATHNAME', 'flakeid_stats_reset' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION flakeid.stats_reset() IS 'sets the counters of flakeid.stats to zero';
