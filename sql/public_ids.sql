-- Public ids with a prefix, of plain columns.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/secret.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
CREATE EXTENSION flakeid;
\pset format unaligned
\pset tuples_only

SELECT statement, split_part(pg_temp.raised(statement), E'\n', 1) FROM unnest(ARRAY['SELECT flake_seal(5, ''ord'')', 'SELECT flake_unseal(''ord_4l30mu7pftqf2'', ''ord'')',
    'SELECT flake_unseal_or_null(''ord_4l30mu7pftqf2'', ''ord'')', 'SELECT flake_unseal_or_null(''favicon.ico'', ''ord'')']) AS statement;

-- Known answers under three secrets of four keys
CREATE TABLE known (secret_hex text, number int, prefix text, id bigint, public_id text);
\set file :abs_srcdir '/test/vectors/prefixed.csv'
COPY known FROM :'file' (FORMAT csv, HEADER);
CREATE TABLE wrong (LIKE known, says text);
DO $$
DECLARE
    s record;
BEGIN
    FOR s IN SELECT secret_hex, number, string_agg(DISTINCT other.n || ' ' || secret_hex, E'\n') AS others
             FROM known JOIN unnest(ARRAY[0, 1, 9, 15]) AS other (n) ON n <> number GROUP BY 1, 2 LOOP
        PERFORM set_config('flakeid.secret_file', pg_temp.secret_file(s.number || ' ' || s.secret_hex || E'\n' || s.others), false);
        PERFORM flakeid.accept_secret();
        INSERT INTO wrong SELECT k.*, flake_seal(id, prefix) FROM known k WHERE (k.secret_hex, k.number) = (s.secret_hex, s.number)
            AND (flake_seal(id, prefix) <> public_id OR flake_unseal(public_id, prefix) <> id OR flake_unseal_or_null(public_id, prefix) <> id);
        -- with the key that goes to programs
        INSERT INTO wrong SELECT k.* FROM known k WHERE (k.secret_hex, k.number) = (s.secret_hex, s.number)
            AND lpad(flake_to_text(flake_encrypt(id, flakeid.sealed_key(number, prefix)), 'base32hex'), 13, '0') <> right(public_id, 13);
    END LOOP;
END $$;
SELECT count(*), count(DISTINCT public_id) FROM known;
SELECT * FROM wrong;
DROP TABLE known, wrong;
SELECT pg_temp.remove_secret_files();

-- From here on one secret
SELECT pg_temp.secret_file('3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49') AS secret_file \gset
SET flakeid.secret_file = :'secret_file';
SELECT flakeid.accept_secret();
SELECT flake_seal(2124409268290453504, 'ord') AS public_id, flake_unseal(flake_seal(2124409268290453504, 'ord'), 'ord'),
       pg_typeof(flake_unseal(flake_seal(5, 'ord'), 'ord')), flake_seal(2124409268290453504, 'ord') = 'ord_' || flake_seal(2124409268290453504)::text AS same_key \gx
SELECT length(flakeid.sealed_key()), flakeid.sealed_key() = flakeid.sealed_key(0, NULL) AS same, count(DISTINCT flakeid.sealed_key(0, p)), flakeid.sealed_key(NULL)
FROM unnest(ARRAY[NULL, 'ord', 'cus', 'or']) AS p;
SELECT num_nulls(flake_seal(NULL, 'ord'), flake_seal(5, NULL), flake_unseal(NULL, 'ord'), flake_unseal('ord_4l30mu7pftqf2', NULL), flake_unseal_or_null(NULL, 'ord'));

-- In time order inside, so an order's public id finds its row by the primary key, as a literal and as a parameter.
CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), n int);
INSERT INTO orders (n) SELECT n FROM generate_series(1, 2000) AS n;
ANALYZE orders;
SELECT flake_seal(id, 'ord') AS one FROM orders WHERE n = 1000 \gset
SELECT n FROM orders WHERE id = flake_unseal(:'one', 'ord');
PREPARE found (text) AS SELECT n FROM orders WHERE id = flake_unseal_or_null($1, 'ord');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS off) EXECUTE found (:'one');
EXECUTE found (:'one');
EXECUTE found (upper(:'one'));
EXECUTE found ('ord_' || upper(right(:'one', 13) COLLATE "C"));
EXECUTE found ('favicon.ico');
-- under another name it is another order's, and finds nothing
SELECT count(*) FROM orders WHERE id = flake_unseal('cus' || substr(:'one', 4), 'cus');
EXECUTE found ('cus' || substr(:'one', 4));
DEALLOCATE found;
RESET plan_cache_mode;
SELECT count(DISTINCT flake_seal(id, 'ord')), count(DISTINCT flake_seal(id, 'cus')), bool_and(flake_unseal(flake_seal(id, 'ord'), 'ord') = id AND flake_unseal(flake_seal(id, 'cus'), 'cus') = id),
       count(*) FILTER (WHERE flake_unseal('cus' || substr(flake_seal(id, 'ord'), 4), 'cus') = id),
       count(*) FILTER (WHERE flake_unseal('cus' || substr(flake_seal(id, 'ord'), 4), 'cus') IN (SELECT id FROM orders)) FROM orders;

-- What is none
SELECT pg_temp.raised(format('SELECT flake_unseal(%L, ''ord'')', t)) FROM unnest(ARRAY['', 'ord', 'ord_', 'ORD_4l30mu7pftqf2', 'ord_4l30mu7pftqf', 'ord_zl30mu7pftqf2']) AS t;
SELECT left(t, 30), pg_temp.raised(format('SELECT flake_unseal(%L, ''ord'')', t)) ~ '^22P02', flake_unseal_or_null(t, 'ord') IS NULL
FROM unnest(ARRAY['ord-4l30mu7pftqf2', 'order_4l30mu7pftqf2', '4l30mu7pftqf2', 'ord_ord_4l30mu7pftqf2', ' ord_4l30mu7pftqf2', 'ord_4l30mu7pftqf2 ', 'ord_04l30mu7pftqf2',
    'ord_g000000000000', 'ord_éééééé', 'ord_14l30mu7pftqf2x', repeat('ord_', 1000)]) AS t;
SELECT split_part(pg_temp.raised('SELECT flake_unseal(''ord_74l30mu7pftqf2'', ''ord'')'), E'\n', 1), flake_unseal_or_null('ord_74l30mu7pftqf2', 'ord');
SELECT p, split_part(pg_temp.raised(format('SELECT flake_seal(5, %L)', p)), E'\n', 1) FROM unnest(ARRAY['', 'Ord', '1ord', '_ord', 'or-d', 'örd', repeat('a', 31), repeat('a', 32)]) AS p;
SELECT pg_temp.raised('SELECT flake_unseal_or_null(''ord_4l30mu7pftqf2'', ''Ord'')'), pg_temp.raised('SELECT flakeid.sealed_key(0, ''Ord'')');

-- More prefixes than keys are kept, in turn and again
SELECT count(*), bool_and(flake_unseal(flake_seal(i, p), p) = i) FROM generate_series(1, 3) AS i, (SELECT 'p' || n AS p FROM generate_series(1, 30) AS n) AS prefixes;
-- Another secret is another key at once.
SELECT flake_seal(5, 'ord') AS before \gset
SELECT pg_temp.secret_file('11112222333344445555666677778888') AS other_file \gset
SET flakeid.secret_file = :'other_file';
SELECT flakeid.accept_secret();
SELECT flake_seal(5, 'ord') = :'before' AS same, flake_unseal(:'before', 'ord') = 5 AS same_id;
SET flakeid.secret_file = :'secret_file';
SELECT flakeid.accept_secret();
SELECT flake_seal(5, 'ord') = :'before' AS same;

-- Everybody may make one; who may read one, must be told.
CREATE ROLE regress_flakeid_user;
SET ROLE regress_flakeid_user;
SELECT flake_seal(5, 'ord') = :'before' AS made;
SELECT split_part(pg_temp.raised(format(s, :'before')), E'\n', 1) FROM unnest(ARRAY['SELECT flake_unseal(%L, ''ord'')', 'SELECT flake_unseal_or_null(%L, ''ord'')', 'SELECT flakeid.sealed_key(0, ''ord'')']) AS s;
RESET ROLE;
GRANT EXECUTE ON FUNCTION flake_unseal(text, text) TO regress_flakeid_user;
SET ROLE regress_flakeid_user;
SELECT flake_unseal(:'before', 'ord');
RESET ROLE;
DROP OWNED BY regress_flakeid_user;
DROP ROLE regress_flakeid_user;
DROP TABLE orders;
RESET flakeid.secret_file;
SELECT pg_temp.remove_secret_files();
DROP EXTENSION flakeid;
