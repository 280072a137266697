-- Ids made by every way a row can come into a table, in flake and in bigint columns.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
CREATE EXTENSION flakeid;

-- What is true of the ids of one session: rising, of node 0, stamped since this began and no further ahead than max_ahead.
CREATE TABLE began AS SELECT date_trunc('milliseconds', clock_timestamp()) AS at;
CREATE FUNCTION all_good(ids bigint[]) RETURNS boolean LANGUAGE sql AS $$
    SELECT bool_and(id > coalesce(before, 0) AND flake_node(id) = 0
                    AND flake_timestamp(id) BETWEEN (SELECT at FROM began) AND clock_timestamp() + interval '5 s')
    FROM (SELECT id, lag(id) OVER (ORDER BY number) AS before FROM unnest(ids) WITH ORDINALITY AS u (id, number)) AS s
$$;

SELECT pg_typeof(flake_next()), pg_typeof(flake_next('twitter'));
SELECT all_good(ARRAY[flake_next(), flake_next(), flake_next('snowflake'), flake_next('twitter'), flake_next()]);
SELECT all_good(array_agg(flake_next())) FROM generate_series(1, 10000);
SELECT provolatile, proparallel FROM pg_proc WHERE proname = 'flake_next';
SELECT flake_next(NULL) IS NULL AS none_of_a_null_layout;
BEGIN READ ONLY;
SELECT flake_next() > 0 AS in_read_only_transaction;
COMMIT;

-- Every row has an id of its own, whatever the statement.
CREATE TABLE f (id flake PRIMARY KEY DEFAULT flake_next(), n int UNIQUE, kind text);
CREATE TABLE b (id bigint PRIMARY KEY DEFAULT flake_next(), n int UNIQUE, kind text);
INSERT INTO f (n, kind) VALUES (1, 'single');
INSERT INTO b (n, kind) VALUES (1, 'single');
INSERT INTO f (n, kind) VALUES (2, 'multi'), (3, 'multi'), (4, 'multi');
INSERT INTO b (n, kind) VALUES (2, 'multi'), (3, 'multi'), (4, 'multi');
INSERT INTO f (n, kind) SELECT g, 'select' FROM generate_series(5, 1004) g;
INSERT INTO b (n, kind) SELECT g, 'select' FROM generate_series(5, 1004) g;
COPY f (n, kind) FROM stdin;
1005	copy
1006	copy
1007	copy
\.
COPY b (n, kind) FROM stdin;
1005	copy
1006	copy
1007	copy
\.
INSERT INTO f (id, n, kind) VALUES (DEFAULT, 1008, 'default'), (DEFAULT, 1009, 'default');
INSERT INTO b (id, n, kind) VALUES (DEFAULT, 1008, 'default'), (DEFAULT, 1009, 'default');
WITH made AS (INSERT INTO f (n, kind) VALUES (1010, 'returning'), (1011, 'returning') RETURNING id)
SELECT all_good(array_agg(id)), count(*) FROM made;
INSERT INTO b (n, kind) VALUES (1010, 'returning'), (1011, 'returning') RETURNING all_good(ARRAY[id]);
SELECT kind, count(*), count(DISTINCT id) FROM f GROUP BY kind ORDER BY kind COLLATE "C";
SELECT all_good(array_agg(id ORDER BY n)) FROM f;
SELECT all_good(array_agg(id ORDER BY n)) FROM b;
SELECT count(*) AS in_both FROM f JOIN b USING (id);

-- ON CONFLICT keeps the id of the row that was there.
INSERT INTO f (n, kind) VALUES (1, 'again'), (2000, 'new') ON CONFLICT (n) DO UPDATE SET kind = excluded.kind
    RETURNING n, kind, xmax = 0 AS inserted, id = (SELECT min(id) FROM f) AS old_id;
INSERT INTO b (n, kind) VALUES (1, 'again'), (2000, 'new') ON CONFLICT (n) DO UPDATE SET kind = excluded.kind
    RETURNING n, kind, xmax = 0 AS inserted, id = (SELECT min(id) FROM b) AS old_id;
INSERT INTO f (n, kind) VALUES (1, 'ignored'), (2001, 'new') ON CONFLICT DO NOTHING RETURNING n;
INSERT INTO f (id, n) SELECT id, -1 FROM f WHERE n = 1 ON CONFLICT (id) DO UPDATE SET n = f.n RETURNING n;
MERGE INTO f USING (VALUES (2001), (2002)) AS v (n) ON f.n = v.n
    WHEN MATCHED THEN UPDATE SET kind = 'merged' WHEN NOT MATCHED THEN INSERT (n, kind) VALUES (v.n, 'merged');
SELECT count(*), count(DISTINCT id) FROM f WHERE kind = 'merged';
-- a rolled back id does not come again
BEGIN;
INSERT INTO f (n) VALUES (3000) RETURNING id AS lost \gset
ROLLBACK;
INSERT INTO f (n) VALUES (3000) RETURNING id > :lost AS later;

-- Triggers
CREATE TABLE by_trigger (id flake PRIMARY KEY, b bigint UNIQUE, n int);
CREATE TABLE log_of_trigger (id flake DEFAULT flake_next(), of_id bigint REFERENCES by_trigger);
CREATE FUNCTION give_ids() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id = flake_next();
    NEW.b = flake_next();
    RETURN NEW;
END $$;
CREATE FUNCTION log_ids() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log_of_trigger (of_id) VALUES (NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER give BEFORE INSERT ON by_trigger FOR EACH ROW EXECUTE FUNCTION give_ids();
CREATE TRIGGER log AFTER INSERT ON by_trigger FOR EACH ROW EXECUTE FUNCTION log_ids();
INSERT INTO by_trigger (n) SELECT generate_series(1, 100);
SELECT all_good(array_agg(v ORDER BY t.n, v)) FROM by_trigger t, unnest(ARRAY[t.id, t.b]::bigint[]) AS v;
SELECT count(*), count(DISTINCT l.id) FROM log_of_trigger l JOIN by_trigger t ON l.of_id = t.id WHERE l.id > t.b;

-- The default of a partitioned table, found by range and by hash
CREATE TABLE ranged (id flake PRIMARY KEY DEFAULT flake_next(), n int) PARTITION BY RANGE (id);
DO $$
DECLARE
    today flake = flake_make(now() - interval '1 hour', 0, 0);
BEGIN
    EXECUTE format('CREATE TABLE ranged_old PARTITION OF ranged FOR VALUES FROM (MINVALUE) TO (%s)', today);
    EXECUTE format('CREATE TABLE ranged_new PARTITION OF ranged FOR VALUES FROM (%s) TO (MAXVALUE)', today);
END $$;
CREATE TABLE hashed (id bigint PRIMARY KEY DEFAULT flake_next(), n int) PARTITION BY HASH (id);
SELECT format('CREATE TABLE hashed_%s PARTITION OF hashed FOR VALUES WITH (MODULUS 4, REMAINDER %s)', r, r) FROM generate_series(0, 3) r \gexec
INSERT INTO ranged (n) VALUES (1);
INSERT INTO ranged (n) SELECT g FROM generate_series(2, 2000) g;
INSERT INTO hashed (n) VALUES (1);
INSERT INTO hashed (n) SELECT g FROM generate_series(2, 2000) g;
COPY hashed (n) FROM stdin;
2001
2002
\.
SELECT tableoid::regclass, count(*), count(DISTINCT id) FROM ranged GROUP BY 1 ORDER BY 1;
SELECT count(*), count(DISTINCT id), count(DISTINCT tableoid) FROM hashed;
SELECT all_good(array_agg(id ORDER BY n)) FROM hashed;

-- Other places for a default
CREATE TABLE holder (n int);
INSERT INTO holder SELECT generate_series(1, 100);
ALTER TABLE holder ADD id flake UNIQUE DEFAULT flake_next(); -- rows that are there get one each
SELECT count(DISTINCT id) FROM holder;
CREATE DOMAIN order_id AS flake DEFAULT flake_next();
CREATE TABLE with_domain (id order_id PRIMARY KEY, n int);
INSERT INTO with_domain (n) SELECT generate_series(1, 10);
SELECT count(DISTINCT id) FROM with_domain;
CREATE VIEW over_f AS SELECT id, n FROM f;
INSERT INTO over_f (n) VALUES (4000) RETURNING id > 0 AS through_view;
CREATE TABLE of_twitter (id bigint PRIMARY KEY DEFAULT flake_next('twitter'), tag text DEFAULT 'order-' || flake_next());
INSERT INTO of_twitter DEFAULT VALUES RETURNING flake_node(id, 'twitter'), tag ~ '^order-\d+$' AS tagged;

-- Many at once, and blocks
SELECT pg_typeof(id), count(*) FROM flake_next_many(3) AS id GROUP BY 1;
SELECT all_good(array_agg(id)), count(DISTINCT id) FROM flake_next_many(5000) AS id;
SELECT all_good(array_agg(id)), count(DISTINCT id) FROM flake_next_many(5000, 'twitter') AS id;
SELECT all_good(array_agg(id)) FROM (SELECT flake_next_many(2) AS id UNION ALL SELECT flake_next() UNION ALL SELECT flake_next_many(2)) AS s;
SELECT count(*) FROM flake_next_many(0);
SELECT count(*) FROM (SELECT flake_next_many(100) LIMIT 3) AS s;
SELECT all_good(array_agg(flake_next_many)) FROM (SELECT flake_next_many(g) FROM generate_series(1, 50) g) AS s;
SELECT all_good(ARRAY[first, first + 99, flake_next()]), flake_timestamp(first) = flake_timestamp(first + 99) AS one_tick,
       flake_sequence(first + 99) - flake_sequence(first) AS span, pg_typeof(first) FROM flake_block(100) AS first;
SELECT count(DISTINCT id) FROM (
    SELECT first + g AS id FROM (SELECT flake_block(1000) AS first FROM generate_series(1, 20)) AS s, generate_series(0, 999) g
    UNION ALL SELECT flake_next() FROM generate_series(1, 1000)) AS s;

SELECT count(DISTINCT id), count(*) FROM flake_next_many(10000) AS id;
SELECT count(DISTINCT id), count(*) FROM flake_next_many(10000, 'sonyflake2') AS id;
SELECT count(*) FROM flake_next_many(0);
SELECT flake_next_many(-1);
SELECT flake_next_many(NULL);
SELECT count(DISTINCT flake_sequence(id + g)) AS sequences, count(DISTINCT flake_timestamp(id + g)) AS ticks,
       max(flake_sequence(id + g)) - min(flake_sequence(id + g)) AS span
    FROM flake_block(4096) AS id, generate_series(0, 4095) g;
SELECT count(DISTINCT flake_sequence(id + (g << 16), 'sonyflake')) AS sequences
    FROM flake_block(256, 'sonyflake') AS id, generate_series(0, 255) g;
SELECT flake_block(257, 'sonyflake');
SELECT flake_block(0);

-- flakeid.cache: still distinct and rising within a session
SET flakeid.cache = 100;
SELECT all_good(array_agg(flake_next())) FROM generate_series(1, 1000);
SELECT all_good(ARRAY[flake_next(), (SELECT min(id) FROM flake_next_many(10) AS id)]);
SELECT clock_timestamp() + '100 ms' AS horizon \gset
SELECT flakeid.raise_horizon(:'horizon');
SELECT flake_timestamp(flake_next()) > :'horizon' AS none_from_before_the_horizon;
-- What is reserved is dropped with the setting: what was drawn one by one meanwhile is above it.
SET flakeid.cache = 50;
SELECT flake_next() AS first \gset
SET flakeid.cache = 1;
SELECT flake_next() AS second \gset
SET flakeid.cache = 50;
SELECT :first < :second AND :second < flake_next() AS rising;
RESET flakeid.cache;

-- A session that may run less far ahead than another does not take its ids for a clock set back.
SET flakeid.layout = 'time:41:1ms node:8 back:2 sequence:2 epoch=2021-06-01';
SELECT flake_field(flake_next(), 'back') AS back \gset
SET flakeid.when_ahead = 'error';
DO $$
BEGIN
    FOR i IN 1 .. 3 LOOP
        SET flakeid.max_ahead = '10s';
        PERFORM flake_next() FROM generate_series(1, 10000);
        SET flakeid.max_ahead = '1s';
        BEGIN
            PERFORM flake_next();
        EXCEPTION WHEN object_not_in_prerequisite_state THEN
        END;
    END LOOP;
END $$;
SET flakeid.max_ahead = '10s';
SELECT flake_field(flake_next(), 'back') - :back AS counted;
RESET ALL;

-- A function that sets flakeid.max_ahead runs as far ahead as it says, and whoever calls it no further than before.
CREATE FUNCTION far_ahead() RETURNS flake LANGUAGE sql SET flakeid.max_ahead = '10s' AS 'SELECT flake_next()';
SET flakeid.layout = 'time:41:1ms node:8 sequence:1 epoch=2021-06-02';
SET flakeid.max_ahead = '1s';
SET flakeid.when_ahead = 'error';
DO $$
DECLARE
    far flake;
    id flake;
BEGIN
    FOR i IN 1 .. 2 LOOP
        SELECT max(far_ahead()) INTO far FROM generate_series(1, 5000);
        BEGIN
            id := flake_next();
            IF id <= far OR flake_timestamp(id) > clock_timestamp() + '1 s' THEN
                RAISE 'an id % ahead, after one %', flake_timestamp(id) - clock_timestamp(), flake_timestamp(far) - clock_timestamp();
            END IF;
        EXCEPTION WHEN object_not_in_prerequisite_state THEN
        END;
    END LOOP;
END $$;
RESET ALL;

-- A node of the span that a superuser granted, named in the call: one for each schema, for example
SET flakeid.layout = 'instagram';
SET flakeid.node = '100-4095';
CREATE ROLE regress_flakeid_shard;
SET ROLE regress_flakeid_shard;
SELECT flake_node(flake_next('instagram', 107)), flake_node(flake_next('instagram', 100)), flake_node(flake_next('instagram', 4095));
-- The normal text of flakeid.layout is the same layout.
SELECT flake_node(flake_next((flakeid.describe('instagram')).layout_text, 108));
-- It stays with its node, however fast it draws, and shares that node's generator with everyone else.
SELECT count(*), count(DISTINCT id), min(flake_node(id)), max(flake_node(id))
FROM (SELECT flake_next('instagram', 109) AS id FROM generate_series(1, 5000) OFFSET 0) AS s;
SELECT flake_next('instagram', 110) AS first \gset
SELECT :first < flake_next('instagram', 110) AS rising;
-- Row by row
SELECT count(*), count(DISTINCT id), bool_and(flake_node(id) = n) AS of_its_node
FROM (SELECT n, flake_next('instagram', n) AS id FROM generate_series(100, 400) AS n, generate_series(1, 3) OFFSET 0) AS s;
SELECT flake_next(NULL, 100) IS NULL AND flake_next('instagram', NULL::int) IS NULL AS strict;
SELECT flake_next('instagram', 99);
SELECT flake_next('instagram', 4096);
SELECT flake_next('instagram', -1);
SELECT flake_next('snowflake', 100);
SELECT flake_next('nonsense', 100);
-- The function reads the setting of the session that calls it, also when that has changed.
PREPARE of_107 AS SELECT flake_node(flake_next('instagram', 107));
EXECUTE of_107;
RESET ROLE;
SET flakeid.node = '200-300';
EXECUTE of_107;
SET flakeid.node = 107;
EXECUTE of_107;
SET flakeid.node = 'auto';
EXECUTE of_107;
DEALLOCATE of_107;
DROP ROLE regress_flakeid_shard;
RESET flakeid.layout;
RESET flakeid.node;

DROP TABLE began, f, b, by_trigger, log_of_trigger, ranged, hashed, holder, with_domain, of_twitter CASCADE;
DROP DOMAIN order_id;
DROP FUNCTION all_good, give_ids, log_ids, far_ahead;
DROP EXTENSION flakeid;
