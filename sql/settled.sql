-- The settled mark, as far as one session sees it; test/t/022_settled.pl has several.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
CREATE EXTENSION flakeid;
-- node 0 alone, and so many ids a tick that none runs ahead of the clock
SET flakeid.layout = 'time:31:1s node:5 sequence:27 epoch=2023-06-01';
CREATE TABLE settled (id flake PRIMARY KEY DEFAULT flake_next(), what text);
INSERT INTO settled SELECT FROM generate_series(1, 100);

-- All that ended lies below it, and what is drawn later does not
SELECT count(*) FILTER (WHERE id < flake_settled()) AS below, count(*) AS rows FROM settled;
SELECT flake_settled() AS mark \gset
SELECT :'mark' <= flake_next() AS not_below;

-- What this transaction drew is not settled, whatever became of it within
BEGIN;
INSERT INTO settled VALUES (DEFAULT, 'first') RETURNING id AS first \gset
INSERT INTO settled VALUES (DEFAULT, 'second');
SELECT flake_settled() = :'first' AS held;
ROLLBACK;
SELECT flake_settled() > :'first' AS released;
BEGIN;
SAVEPOINT inside;
SELECT flake_next() AS first \gset
ROLLBACK TO SAVEPOINT inside;
SELECT flake_settled() = :'first' AS held;
COMMIT;
SELECT flake_settled() > :'first' AS released;
BEGIN;
SELECT min(id) AS first FROM flake_next_many(5000) AS id \gset
SELECT flake_settled() = :'first' AS held;
COMMIT;
BEGIN;
SELECT flake_block(10) AS first \gset
SELECT flake_settled() = :'first' AS held;
COMMIT;
SELECT flake_settled() > :'first'::bigint + 9 AS released;
BEGIN;
COPY settled (what) FROM STDIN;
a
b
\.
SELECT flake_settled() = min(id) AS held FROM settled WHERE what IN ('a', 'b');
COMMIT;

-- It is an index condition, and one for the whole statement
CREATE TABLE settled_parts (id flake DEFAULT flake_next()) PARTITION BY HASH (id);
CREATE TABLE settled_part0 PARTITION OF settled_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE settled_part1 PARTITION OF settled_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM settled WHERE id > '5' AND id < flake_settled() ORDER BY id LIMIT 10;
RESET enable_seqscan;
RESET enable_bitmapscan;
INSERT INTO settled_parts SELECT FROM generate_series(1, 100);
SELECT count(*) FROM settled_parts WHERE id < flake_settled();
SELECT count(DISTINCT flake_settled()) FROM settled_parts;

-- Words that flakeid.cache has reserved serve until somebody asks, and within a transaction
SET flakeid.cache = 10;
SET flakeid.max_ahead = '1h';
SELECT flake_next() AS one \gset
SELECT flake_next() = :'one'::bigint + 1 AS reserved;
SELECT flake_settled() AS mark \gset
SELECT flake_next() >= :'mark' AS drawn_anew;
BEGIN;
SELECT flake_next() AS one \gset
SELECT flake_settled() <= :'one' AS held;
SELECT flake_next() = :'one'::bigint + 1 AS reserved;
COMMIT;
SELECT flake_settled() > :'one'::bigint + 1 AS released;
RESET flakeid.max_ahead;
RESET flakeid.cache;

-- Other layouts have a mark of their own, and not all have one
BEGIN;
SELECT flake_next('sonyflake') AS one \gset
SELECT flake_settled('sonyflake') = :'one' AS held, flake_settled() > (SELECT max(id) FROM settled) AS alone;
SELECT usename = current_user AS me, pid = pg_backend_pid() AS this, since = now() AS now, layout, lowest_id = :'one' AS one, gid
    FROM flakeid.unsettled;
COMMIT;
SELECT count(*) FROM flakeid.unsettled;
SELECT flake_settled('rollback3') <= flake_next('rollback3');
SELECT flake_settled('rollback2');
SELECT flake_settled('randflake');
SELECT flake_settled('node:10 time:41:1ms sequence:12');
SELECT flake_settled('uidgenerator');
SELECT flake_settled('nonsense');
SELECT flake_settled(NULL) IS NULL AS nothing;

-- A span of nodes: the idle ones are skipped
SET flakeid.layout = 'time:41:1ms node:10 sequence:1';
SET flakeid.node = '8-11';
BEGIN;
SELECT min(id) AS first FROM (SELECT flake_next() AS id FROM generate_series(1, 1000) OFFSET 0) AS drawn \gset
SELECT flake_settled() <= :'first' AS held;
SELECT min(lowest_id) = :'first' AS lowest FROM flakeid.unsettled;
COMMIT;
-- More nodes than a transaction has marks for
SET flakeid.node = '16-63';
BEGIN;
SELECT min(id) AS first, max(id) AS last FROM (SELECT flake_next() AS id FROM generate_series(1, 2000) OFFSET 0) AS drawn \gset
SELECT flake_settled() <= :'first' AS held;
COMMIT;
-- The nodes that drew less are skipped as soon as the clock has left the tick of the last id.
CREATE TEMPORARY TABLE drawn AS SELECT :'last'::bigint AS last;
DO $$
BEGIN
    WHILE flake_settled() <= (SELECT last FROM drawn) LOOP
        PERFORM pg_sleep(0.001);
    END LOOP;
END $$;
SELECT flake_settled() > :'last' AS released;
RESET flakeid.node;
RESET flakeid.layout;

-- flakeid.status shows it
SELECT value ~ '^\d+$' AS mark FROM flakeid.status WHERE name = 'settled mark';
SELECT value FROM flakeid.status WHERE name = 'settled mark held back';
BEGIN;
SELECT FROM flake_next();
SELECT value ~ ' by process \d+$' AS value FROM flakeid.status WHERE name = 'settled mark held back';
COMMIT;
SET flakeid.layout = 'randflake';
SELECT value FROM flakeid.status WHERE name = 'settled mark';
RESET flakeid.layout;

DROP TABLE settled, settled_parts, drawn;
DROP EXTENSION flakeid;
