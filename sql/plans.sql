-- A flake column is found, joined and sorted by its index, as a bigint column is.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
CREATE EXTENSION flakeid;
CREATE TABLE with_flake (id flake PRIMARY KEY, n int);
CREATE TABLE with_bigint (id bigint PRIMARY KEY, n int);
INSERT INTO with_flake SELECT g, g % 1000 FROM generate_series(1, 10000) g;
INSERT INTO with_bigint SELECT g, g % 1000 FROM generate_series(1, 10000) g;
VACUUM ANALYZE with_flake, with_bigint;
SET max_parallel_workers_per_gather = 0;

\set file :abs_srcdir '/test/sql/plans.sql'
\i :file

-- The scans under a UNION with bigint. (Into a UNION of two types PostgreSQL pushes no condition
-- from outside, as with text and varchar: cast in the first branch.)
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;
CREATE FUNCTION scans_of(query text) RETURNS SETOF text LANGUAGE sql AS
    $$ SELECT regexp_replace(line, '^[ >-]*', '') FROM plan_of(query) AS line WHERE line ~ 'Scan.* on with_|Index Cond' $$;
SELECT scans_of('SELECT id FROM with_flake WHERE id = 5 UNION SELECT id FROM with_bigint WHERE id = 5');
SELECT scans_of('SELECT id FROM with_flake WHERE id = 5 UNION ALL SELECT id FROM with_bigint WHERE id = 5');
SELECT line FROM scans_of('SELECT min(id), max(id)::flake FROM with_flake') AS line WHERE line ~ 'Scan';
SELECT scans_of('SELECT id FROM with_flake WHERE id < 9 INTERSECT SELECT id FROM with_bigint WHERE id < 9');
SELECT scans_of('SELECT * FROM (SELECT id::bigint FROM with_flake UNION ALL SELECT id FROM with_bigint) AS u WHERE id = 5');
SELECT scans_of('SELECT * FROM (SELECT id::bigint FROM with_flake UNION ALL SELECT id FROM with_bigint) AS u ORDER BY id LIMIT 5');

-- Where the flake column is a bigint instead, the same queries have the same plans.
CREATE TABLE as_bigint (id bigint PRIMARY KEY, n int);
INSERT INTO as_bigint SELECT * FROM with_flake;
VACUUM ANALYZE as_bigint;
CREATE TABLE query (number int GENERATED ALWAYS AS IDENTITY, query text);
INSERT INTO query (query) VALUES
    ('SELECT n FROM with_flake WHERE id = 5'),
    ('SELECT n FROM with_flake WHERE id IN (1795530182954000001, 1795530182954000002, 5)'),
    ('SELECT n FROM with_flake WHERE id BETWEEN 5 AND 9'),
    ('SELECT n FROM with_flake WHERE id > 9000 ORDER BY n LIMIT 3'),
    ('SELECT n FROM with_flake ORDER BY id DESC LIMIT 5'),
    ('SELECT n, coalesce(id, 0), greatest(id, 0::smallint) FROM with_flake WHERE id = 5::smallint OR id = 6'),
    ('SELECT DISTINCT id FROM with_flake ORDER BY id LIMIT 5'),
    ('SELECT id FROM with_flake GROUP BY id HAVING id < 9'),
    ('SELECT f.n FROM with_flake f JOIN with_bigint b ON f.id = b.id WHERE b.n = 3'),
    ('SELECT f.n FROM with_flake f JOIN with_bigint b USING (id) WHERE f.n <> b.n'),
    ('SELECT f.n FROM with_flake f LEFT JOIN with_bigint b USING (id) WHERE f.id < 9'),
    ('SELECT n FROM with_flake f WHERE EXISTS (SELECT FROM with_bigint b WHERE b.id = f.id AND b.n = 3)'),
    ('SELECT n FROM with_flake f WHERE id NOT IN (SELECT id FROM with_bigint)');
SELECT query, a.plan, b.plan FROM query, LATERAL (SELECT
        string_agg(replace(regexp_replace(line, '\((\w+\.)?id\)::bigint', '\1id', 'g'), 'with_flake', 'as_bigint'), E'\n') AS plan
        FROM plan_of(query) AS line) AS a,
    LATERAL (SELECT string_agg(line, E'\n') AS plan FROM plan_of(replace(query, 'with_flake', 'as_bigint')) AS line) AS b
WHERE a.plan IS DISTINCT FROM b.plan ORDER BY number;

DROP FUNCTION scans_of, plan_of;
DROP TABLE with_flake, with_bigint, as_bigint, query;
DROP EXTENSION flakeid;
