-- What flakeid is compared with, as a user would write it. `floor` is the library of floor.c.

CREATE EXTENSION flakeid;

CREATE FUNCTION bench_floor() RETURNS bigint
    AS :'floor', 'bench_floor' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
CREATE FUNCTION bench_floor(bigint) RETURNS bigint
    AS :'floor', 'bench_floor' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

CREATE FUNCTION bench_count() RETURNS bigint
    AS :'floor', 'bench_count' LANGUAGE C VOLATILE STRICT;
CREATE FUNCTION bench_rising() RETURNS bigint
    AS :'floor', 'bench_rising' LANGUAGE C VOLATILE STRICT;
CREATE FUNCTION bench_random() RETURNS bigint
    AS :'floor', 'bench_random' LANGUAGE C VOLATILE STRICT;
CREATE FUNCTION bench_mark() RETURNS void
    AS :'floor', 'bench_mark' LANGUAGE C VOLATILE STRICT;

CREATE SEQUENCE cache1;
CREATE SEQUENCE cache64 CACHE 64;

CREATE SEQUENCE shard_sequence;
CREATE FUNCTION instagram_id(OUT id bigint) LANGUAGE plpgsql AS $$
DECLARE
    epoch_ms CONSTANT bigint := 1314220021721;
    shard CONSTANT int := 5;
    now_ms bigint;
    number bigint;
BEGIN
    SELECT nextval('shard_sequence') % 1024 INTO number;
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_ms;
    id := (now_ms - epoch_ms) << 23 | shard << 10 | number;
END $$;
