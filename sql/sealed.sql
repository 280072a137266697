-- Type flake_sealed: its text and binary forms, who may get at the plain id, and that it serves in
-- indexes, keys, joins and partitions. test/t/030_sealed_doors.pl walks the doors of a server.
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

-- Without a secret nothing goes in or out.
SELECT pg_temp.raised($$SELECT '0000000000000'::flake_sealed$$);
SELECT pg_temp.raised($$SELECT flake_seal(5)::text$$);
SELECT flake_unseal(flake_seal(5)), flake_seal(5) = flake_seal(6) AS equal, pg_column_size(flake_seal(5));

-- What the public Randflake libraries print under the key for programs, padded, and back; each row has a secret of its own.
CREATE TABLE known (secret_hex text, unix_seconds bigint, node int, sequence int, raw_id bigint, encrypted_id bigint, base32hex text);
\set file :abs_srcdir '/test/vectors/randflake.csv'
COPY known FROM :'file' (FORMAT csv, HEADER);
CREATE TABLE wrong (LIKE known, sealed text);
DO $$
DECLARE
    k known;
    key bytea;
    right_id bigint;
    right_text text;
BEGIN
    FOR k IN TABLE known LOOP
        PERFORM set_config('flakeid.secret_file', pg_temp.secret_file(k.secret_hex), false);
        PERFORM flakeid.accept_secret();
        key := flakeid.sealed_key();
        right_id := flake_encrypt(k.raw_id, key);
        right_text := lpad(flake_to_text(right_id, 'base32hex'), 13, '0');
        IF (flake_seal(k.raw_id)::text, flake_unseal(right_text)::bigint, flake_unseal(upper(right_text COLLATE "C"))::bigint, flake_sealed_send(flake_seal(k.raw_id)))
                IS DISTINCT FROM (right_text, k.raw_id, k.raw_id, int8send(right_id))
                OR (key = decode(k.secret_hex, 'hex')) OR right_id = k.encrypted_id THEN
            INSERT INTO wrong SELECT k.*, flake_seal(k.raw_id);
        END IF;
    END LOOP;
END $$;
SELECT count(*) >= 200 AS many FROM known;
SELECT * FROM wrong;
DROP TABLE known, wrong;

-- The key for programs is what HMAC-SHA-256 makes of the secret and of the number.
CREATE TABLE known (secret_hex text, number int, key_hex text);
\set file :abs_srcdir '/test/vectors/sealed_key.csv'
COPY known FROM :'file' (FORMAT csv, HEADER);
CREATE TABLE wrong (LIKE known, key bytea);
DO $$
DECLARE
    k record;
BEGIN
    FOR k IN SELECT secret_hex, string_agg(number || ' ' || secret_hex, E'\n') AS file, array_agg(key_hex ORDER BY number) AS keys FROM known GROUP BY 1 LOOP
        PERFORM set_config('flakeid.secret_file', pg_temp.secret_file(k.file), false);
        PERFORM flakeid.accept_secret();
        INSERT INTO wrong SELECT k.secret_hex, n, k.keys[n + 1], flakeid.sealed_key(n) FROM generate_series(0, 15) AS n
            WHERE flakeid.sealed_key(n) IS DISTINCT FROM decode(k.keys[n + 1], 'hex');
    END LOOP;
END $$;
SELECT count(*), count(DISTINCT key_hex) FROM known;
SELECT * FROM wrong;
DROP TABLE known, wrong;
SELECT pg_temp.raised(statement) FROM unnest(ARRAY['SELECT flakeid.sealed_key(16)', 'SELECT flakeid.sealed_key(-1)']) AS statement;
SELECT pg_temp.remove_secret_files();

-- From here on one secret
SELECT pg_temp.secret_file('3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49') AS secret_file \gset
SET flakeid.secret_file = :'secret_file';
SELECT pg_temp.raised($$SELECT flake_seal(5)::text$$);
SELECT flakeid.accept_secret();
SELECT plain, flake_seal(plain), flake_unseal(flake_seal(plain)::text) = plain AS back
FROM unnest(ARRAY[0, 1, -1, 9223372036854775807, -9223372036854775808]) AS plain;

-- What is no sealed id
SELECT pg_temp.raised(format('SELECT %L::flake_sealed', text)) FROM unnest(ARRAY['', '0', '000000000000', ' 0000000000000', '00000000000000',
    '000000000000000', '000000w000000', '0000é0000000x', 'g000000000000', '1000000000000', '10000000000000', 'f0000000000000', 'g0000000000000', '1795530182954000001']) AS text;
DO $$
DECLARE
    bad record;
BEGIN
    IF current_setting('server_version_num')::int >= 160000 THEN
        EXECUTE $q$SELECT * FROM (VALUES ('0000000000000', true, NULL), ('FVVVVVVVVVVVV', true, NULL), ('000000000000', false, '22P02'), ('000000w000000', false, '22P02'),
            ('g000000000000', false, '22P02'), ('00000000000000', false, '22P02'), ('10000000000000', false, '55000')) AS v (text, good, code)
            WHERE (pg_input_is_valid(text, 'flake_sealed'), (pg_input_error_info(text, 'flake_sealed')).sql_error_code) IS DISTINCT FROM (good, code)$q$ INTO bad;
        ASSERT bad IS NULL, bad::text;
        SET flakeid.secret_file = '';
        EXECUTE $q$SELECT pg_input_error_info('0000000000000', 'flake_sealed') AS info WHERE NOT pg_input_is_valid('0000000000000', 'flake_sealed')
            AND (pg_input_error_info('0000000000000', 'flake_sealed')).sql_error_code = '55000'$q$ INTO STRICT bad;
        RESET flakeid.secret_file;
    END IF;
END $$;
SET flakeid.secret_file = :'secret_file';
-- It is NULL for who asks so: there is no row to find.
SELECT text, flake_sealed_or_null(text) FROM unnest(ARRAY['', '0', '0000é0000000x', 'g000000000000', '10000000000000', 'g0000000000000', '1795530182954000001', NULL]) AS text;
SELECT count(*) AS as_the_cast FROM generate_series(-500, 500) AS n WHERE flake_sealed_or_null(flake_seal(n)::text) = flake_seal(n) AND flake_sealed_or_null(upper(flake_seal(n)::text COLLATE "C")) = flake_seal(n);
SET flakeid.secret_file = '';
SELECT pg_temp.raised($$SELECT flake_sealed_or_null('0000000000000')$$);
SET flakeid.secret_file = :'secret_file';

-- The catalogs
SELECT typlen, typbyval, typalign, typcategory, typispreferred FROM pg_type WHERE typname = 'flake_sealed';
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod, castfunc::regprocedure FROM pg_cast
WHERE 'flake_sealed'::regtype IN (castsource, casttarget) ORDER BY castsource::regtype::text COLLATE "C", casttarget::regtype::text COLLATE "C";
SELECT proname, provolatile FROM pg_proc WHERE proname ~ '^flake_(sealed_(in|out|recv|send|or_null)|seal|unseal)$' ORDER BY proname COLLATE "C";
SELECT amname, opcname, opcdefault, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE opcintype = 'flake_sealed'::regtype ORDER BY amname COLLATE "C";

-- Default, COPY, JSON, arrays, rows
CREATE TABLE orders (id flake_sealed PRIMARY KEY DEFAULT flake_next(), n int UNIQUE);
INSERT INTO orders (n) SELECT generate_series(1, 1000);
INSERT INTO orders (n) VALUES (1001), (1002);
SELECT count(*), count(*) FILTER (WHERE id > previous) AS rising, bool_and(id::text ~ '^[0-9a-f][0-9a-v]{12}$') AS sealed
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS previous FROM orders) AS s;
SELECT count(*) FROM orders WHERE id = (to_jsonb(orders)->>'id')::flake_sealed AND (json_populate_record(NULL::orders, row_to_json(orders))).id = id
    AND (format('{%s}', id)::flake_sealed[])[1] = id AND (orders::text::orders).id = id;
\copy orders to 'results/sealed.text'
\copy orders to 'results/sealed.binary' with (format binary)
CREATE TABLE copied (LIKE orders);
\copy copied from 'results/sealed.text'
\copy copied from 'results/sealed.binary' with (format binary)
SELECT count(*), count(DISTINCT id) FROM copied JOIN orders USING (id, n);
SELECT pg_typeof(min(id)), pg_typeof(max(id)), min(id) = (SELECT id FROM orders WHERE n = 1) AS first, max(id) = (SELECT id FROM orders WHERE n = 1002) AS last FROM orders;
SELECT pg_typeof(max('a'::varchar)), 'a'::varchar = 'a'::varchar AS texts_are_texts;

-- Plans
VACUUM ANALYZE orders;
SELECT id AS some_id FROM orders WHERE n = 500 \gset
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        RETURN NEXT regexp_replace(line, '\m[0-9a-v]{13}\M', '...', 'g');
    END LOOP;
END $$;
SELECT plan(format('SELECT n FROM orders WHERE id = %L', :'some_id'));
SELECT plan(format('SELECT n FROM orders WHERE id = %L::text', :'some_id'));
SELECT plan(format('SELECT n FROM orders WHERE id = %L::varchar', :'some_id'));
SELECT plan(format('SELECT n FROM orders WHERE id = flake_sealed_or_null(%L)', :'some_id'));
SELECT n FROM orders WHERE id = flake_sealed_or_null(:'some_id');
SELECT n FROM orders WHERE id = flake_sealed_or_null('favicon.ico');
SELECT plan(format('SELECT n FROM orders WHERE id IN (%1$L, %1$L)', :'some_id'));
SELECT plan(format('SELECT id FROM orders WHERE id > %L', :'some_id') || ' ORDER BY id LIMIT 5');
SELECT count(*) AS from_the_index FROM plan('SELECT max(id) FROM orders') AS line WHERE line LIKE '%Index Only Scan Backward using orders_pkey%';
SELECT plan('SELECT n FROM orders WHERE id <@ tstzrange(''2040-01-01Z'', NULL)');
SELECT count(*) FROM orders WHERE id <@ tstzrange(now() - interval '1 hour', NULL);
SELECT count(*) FROM orders WHERE tstzrange(NULL, now() - interval '1 hour') @> id;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) AS merged FROM plan('SELECT count(*) FROM orders a JOIN copied b USING (id)') AS line WHERE line LIKE '%Merge Join%';
SELECT count(*) FROM orders a JOIN copied b USING (id);
RESET enable_hashjoin;
SET enable_mergejoin = off;
SELECT plan('SELECT count(*) FROM orders a JOIN copied b ON a.id = b.id');
SELECT count(*) FROM orders a JOIN copied b USING (id);
RESET enable_mergejoin;
RESET enable_nestloop;
SELECT count(*) FROM (SELECT id FROM orders UNION SELECT id FROM copied) AS u;
CREATE INDEX copied_hash ON copied USING hash (id);
CREATE INDEX copied_brin ON copied USING brin (id);
CLUSTER orders USING orders_pkey;
SET enable_seqscan = off;
SELECT plan(format('SELECT n FROM copied WHERE id = %L', :'some_id'));
SELECT count(*) FROM copied WHERE id = :'some_id';
DROP INDEX copied_hash;
SELECT plan(format('SELECT n FROM copied WHERE id >= %L', :'some_id'));
SELECT count(*) FROM copied WHERE id >= :'some_id';
RESET enable_seqscan;

-- Keys
INSERT INTO orders VALUES (:'some_id', 500) ON CONFLICT (id) DO UPDATE SET n = -orders.n RETURNING id = :'some_id' AS same, n;
MERGE INTO orders USING (SELECT :'some_id'::flake_sealed AS id) AS s ON s.id = orders.id WHEN MATCHED THEN UPDATE SET n = 500;
CREATE TABLE lines (order_id flake_sealed REFERENCES orders ON DELETE CASCADE, text text);
INSERT INTO lines SELECT id, 'x' FROM orders WHERE n <= 10;
SELECT regexp_replace(pg_temp.raised(format('INSERT INTO lines VALUES (%L)', flake_seal(5))), '[0-9a-v]{13}', '...');
DELETE FROM orders WHERE n <= 4;
SELECT count(*) FROM lines;
SELECT regexp_replace(pg_temp.raised('INSERT INTO orders SELECT id FROM orders WHERE n = 7'), '[0-9a-v]{13}', '...');

-- Partitions
CREATE TABLE by_hash (id flake_sealed PRIMARY KEY DEFAULT flake_next()) PARTITION BY HASH (id);
CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO by_hash SELECT id FROM orders;
SELECT count(*) > 400 AS spread FROM by_hash_0 UNION ALL SELECT count(*) > 400 FROM by_hash_1;
CREATE TABLE by_range (id flake_sealed PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
CREATE TABLE by_range_old PARTITION OF by_range FOR VALUES FROM (MINVALUE) TO (flake_seal(flake_floor('2020-01-01Z', 'snowflake')));
CREATE TABLE by_range_new PARTITION OF by_range FOR VALUES FROM (flake_seal(flake_floor('2020-01-01Z', 'snowflake'))) TO (MAXVALUE);
SELECT pg_get_expr(relpartbound, oid) ~ '^FOR VALUES FROM \(MINVALUE\) TO \(''[0-9a-v]{13}''\)$' AS sealed FROM pg_class WHERE relname = 'by_range_old';
INSERT INTO by_range SELECT id FROM orders;
SELECT tableoid::regclass, count(*) > 900 AS all FROM by_range GROUP BY 1;
SELECT plan('SELECT count(*) FROM by_range WHERE id <@ tstzrange(''2025-01-01Z'', NULL)');
SELECT plan('SELECT count(*) FROM by_range WHERE id = flake_seal(5)');

-- A column changes its type where it stands.
CREATE TABLE grown (id bigserial PRIMARY KEY, n int);
INSERT INTO grown (n) VALUES (1), (2);
SELECT pg_relation_filenode('grown') AS file \gset
ALTER TABLE grown ALTER id DROP DEFAULT, ALTER id TYPE flake_sealed, ALTER id SET DEFAULT flake_next();
INSERT INTO grown (n) VALUES (3);
SELECT n, pg_typeof(id), id = flake_seal(n) AS as_it_was FROM grown ORDER BY id;
ALTER TABLE grown ALTER id DROP DEFAULT, ALTER id TYPE flake USING id::flake;
ALTER TABLE grown ALTER id TYPE flake_sealed;
ALTER TABLE grown ALTER id TYPE bigint USING id::bigint;
SELECT pg_relation_filenode('grown') = :file AS same_file, (SELECT string_agg(id::text, ' ' ORDER BY id) FROM grown WHERE n < 3) AS ids;
SELECT pg_temp.raised('ALTER TABLE orders ALTER id TYPE bigint');

-- A role without a right
CREATE ROLE regress_flakeid_user;
GRANT ALL ON orders, lines TO regress_flakeid_user;
GRANT CREATE ON SCHEMA public TO regress_flakeid_user;
SET ROLE regress_flakeid_user;
INSERT INTO orders (n) VALUES (2001), (2002);
INSERT INTO orders VALUES (DEFAULT, 2003), (flake_next(), 2004);
COPY orders (n) FROM stdin;
2005
\.
SELECT count(*) FROM orders WHERE n > 2000 AND id > :'some_id';
SELECT flake_next()::flake_sealed > max(id) AS newer FROM orders;
-- reads the texts that it has, as the cast does, and gets no plain id for one
SELECT n, flake_sealed_or_null(id::text) = id AS same FROM orders WHERE n = 500;
SELECT pg_temp.raised('SELECT flake_unseal(flake_sealed_or_null(id::text)) FROM orders');
-- of what does not exist the first line, since what follows is the server's
SELECT regexp_replace(pg_temp.raised(statement), '^(42883: [^\n]*).*', '\1') AS raised FROM unnest(ARRAY[
    'SELECT 5::bigint::flake_sealed', 'SELECT 5::bigint::flake::flake_sealed', 'INSERT INTO orders VALUES (5::bigint::flake)', 'INSERT INTO orders SELECT flake_next()',
    'INSERT INTO orders VALUES (flake_next(''discord''))', 'INSERT INTO orders VALUES (coalesce(flake_next(), flake_next()))',
    'DO $do$ DECLARE s flake_sealed; b bigint := 5; BEGIN s := b; END $do$', 'DO $do$ DECLARE s flake_sealed; f flake := 5; BEGIN s := f; END $do$',
    'SELECT flake_seal(5)', 'SELECT flake_unseal(id) FROM orders', 'SELECT id::flake FROM orders', 'SELECT id::bigint FROM orders',
    'SELECT id + 1 FROM orders', 'SELECT flake_timestamp(id) FROM orders', 'SELECT flake_encrypt(id) FROM orders', 'SELECT flake_to_text(id, ''base16'') FROM orders',
    'SELECT count(*) FROM orders WHERE id <@ tstzrange(''2025-01-01Z'', NULL)', 'SELECT id <@ tstzrange(''2025-01-01Z'', NULL) FROM orders', 'SELECT tstzrange(''2025-01-01Z'', NULL) @> id FROM orders',
    'SELECT flake_sealed_range_floor(tstzrange(''2025-01-01Z'', NULL))', 'SELECT flake_sealed_range_ceil(tstzrange(''2025-01-01Z'', NULL))',
    'SELECT sum(id) FROM orders', 'SELECT avg(id) FROM orders', 'SELECT count(*) OVER (ORDER BY id RANGE 5 PRECEDING) FROM orders', 'SELECT flakeid.accept_secret()']) AS statement;
CREATE TABLE own (id flake_sealed PRIMARY KEY, f flake, b bigint);
INSERT INTO own SELECT id FROM orders LIMIT 5;
SELECT pg_temp.raised(statement) FROM unnest(ARRAY['ALTER TABLE own ALTER id TYPE bigint USING id::bigint', 'ALTER TABLE own ALTER id TYPE flake USING flake_unseal(id)',
    'ALTER TABLE own ALTER b TYPE flake_sealed', 'ALTER TABLE own ADD c flake GENERATED ALWAYS AS (id::flake) STORED', 'CREATE INDEX ON own (flake_unseal(id))']) AS statement;
INSERT INTO own (id, f) SELECT id, 5 FROM orders WHERE n > 2000;
SELECT pg_temp.raised('ALTER TABLE own ALTER f TYPE flake_sealed');
-- The hash of an id is that of its guess: the server uses it for everyone, and says it to nobody.
SELECT pg_temp.raised(statement) FROM unnest(ARRAY['SELECT flakeid.sealed_hash(id) FROM orders', 'SELECT flakeid.sealed_hash_extended(id, 0) FROM orders']) AS statement;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT count(*) AS hashed FROM plan('SELECT count(*) FROM own JOIN orders USING (id)') AS line WHERE line LIKE '%Hash Join%';
SELECT count(*) FROM own JOIN orders USING (id) WHERE n > 2000;
RESET enable_mergejoin;
RESET enable_nestloop;
SELECT count(DISTINCT id) = count(*) AS distinct FROM orders;
CREATE INDEX own_hash ON own USING hash (id);
CREATE TABLE own_parts (id flake_sealed DEFAULT flake_next()) PARTITION BY HASH (id);
CREATE TABLE own_part PARTITION OF own_parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO own_parts SELECT id FROM own;
DROP TABLE own_parts;
RESET ROLE;
-- Who may use the cipher unseals nothing, finds nothing by time, and makes no sealed text: its key is another one.
GRANT EXECUTE ON FUNCTION flake_decrypt(bigint), flake_encrypt(bigint), flakeid.sealed_key(int, text), flakeid.accept_secret(), flakeid.raise_horizon(timestamptz),
    flakeid.repair_horizon(bool), flakeid.accept_clock() TO regress_flakeid_user;
SELECT array_agg(flake_unseal(id)::bigint) AS plain FROM orders WHERE n BETWEEN 500 AND 520 \gset
CREATE FUNCTION pg_temp.read(text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN flake_from_text($1, 'base32hex');
EXCEPTION WHEN invalid_text_representation THEN
    RETURN NULL; -- some sealed texts are no such text
END $$;
SET ROLE regress_flakeid_user;
SELECT bool_or(flake_decrypt(read) = ANY (:'plain')) AS unsealed, count(read) > 0 AS some_read
    FROM (SELECT pg_temp.read(right(id::text, 13)) AS read FROM orders WHERE n BETWEEN 500 AND 520) AS texts;
SELECT pg_temp.raised(statement) FROM unnest(ARRAY['SELECT count(*) FROM orders WHERE id <@ tstzrange(''2025-01-01Z'', NULL)',
    'SELECT flake_unseal(id) FROM orders', 'SELECT flakeid.sealed_key()', 'SELECT flakeid.accept_secret()',
    'SELECT flakeid.raise_horizon(now())', 'SELECT flakeid.repair_horizon()', 'SELECT flakeid.accept_clock()']) AS statement;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION flake_decrypt(bigint), flake_encrypt(bigint), flakeid.sealed_key(int, text), flakeid.accept_secret(), flakeid.raise_horizon(timestamptz),
    flakeid.repair_horizon(bool), flakeid.accept_clock() FROM regress_flakeid_user;
-- Who may find them by time does not unseal either.
GRANT EXECUTE ON FUNCTION flake_in_range(flake_sealed, tstzrange) TO regress_flakeid_user;
SET ROLE regress_flakeid_user;
SELECT count(*) FROM orders WHERE id <@ tstzrange('2025-01-01Z', NULL) AND n > 2000;
SELECT pg_temp.raised(statement) FROM unnest(ARRAY['SELECT flake_unseal(id) FROM orders', 'SELECT flake_decrypt(5)', 'SELECT flakeid.sealed_key()']) AS statement;
RESET ROLE;
GRANT EXECUTE ON FUNCTION flake_seal(bigint), flake_unseal(flake_sealed) TO regress_flakeid_user;
SET ROLE regress_flakeid_user;
SELECT flake_node(id::flake), flake_timestamp(flake_unseal(id)) > '2026-01-01Z' AS now FROM orders WHERE n = 500;
SELECT count(*) FROM orders WHERE id <@ tstzrange('2025-01-01Z', NULL) AND n > 2000;
SELECT id = flake_seal(flake_unseal(id)) AS same, id = 5::bigint::flake::flake_sealed AS other FROM orders WHERE n = 500;
RESET ROLE;

-- Numbered keys: the first one is for new texts, each is read.
SELECT pg_temp.secret_file(E'1 9f86d081884c7d659a2feaa0c55ad015\n0 3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49') AS two_keys \gset
SELECT pg_temp.secret_file('1 9f86d081884c7d659a2feaa0c55ad015') AS one_key \gset
SELECT pg_temp.secret_file(E'0 3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49\n1 00000000000000000000000000000000') AS other_key \gset
PREPARE by_text AS SELECT n FROM orders WHERE id = $1;
PREPARE by_constant AS SELECT n FROM orders WHERE id = '0000000000000'::text;
EXECUTE by_text (:'some_id');
SET flakeid.secret_file = :'two_keys';
SELECT id AS new_id, id::text ~ '^1[0-9a-f][0-9a-v]{12}$' AS numbered, :'some_id'::flake_sealed = id AS same, length(flake_sealed_send(id)) FROM orders WHERE n = 500 \gset new_
SELECT :'new_numbered' AS numbered, :'new_same' AS same, :'new_length' AS length;
EXECUTE by_text (:'some_id');
EXECUTE by_text (:'new_new_id');
EXPLAIN (COSTS OFF) EXECUTE by_constant;
SELECT flake_encrypt(5) = flake_encrypt(5, '\x3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49') AS key_0_enciphers;
\copy copied to 'results/sealed.binary' with (format binary)
TRUNCATE copied;
\copy copied from 'results/sealed.binary' with (format binary)
SELECT count(*) FROM copied JOIN orders USING (id);
SET flakeid.secret_file = :'one_key';
EXECUTE by_text (:'new_new_id');
SELECT pg_temp.raised(format('EXECUTE by_text (%L)', :'some_id'));
SELECT flake_sealed_or_null(:'some_id') IS NULL AS no_key;
SELECT pg_temp.raised('EXECUTE by_constant');
SELECT split_part(pg_temp.raised('SELECT flake_encrypt(5)'), E'\n', 1);
SET flakeid.secret_file = :'other_key';
SELECT pg_temp.raised('SELECT min(id)::text FROM orders');
SELECT split_part(pg_temp.raised(format('SELECT flake_sealed_or_null(%L)', :'some_id')), E'\n', 1);
DEALLOCATE ALL;
-- No new secret is offered where one was used.
SET flakeid.secret_file = '/regress_flakeid/secret';
SELECT pg_temp.raised(statement) FROM unnest(ARRAY['SELECT min(id)::text FROM orders', 'SELECT flake_encrypt(5)']) AS statement;
RESET flakeid.secret_file;
SELECT pg_temp.raised('SELECT min(id)::text FROM orders');
SET flakeid.secret_file = :'two_keys';

-- The right to seal is asked at each call: a cast that a function of somebody with the right has made is in the cache of casts.
CREATE FUNCTION sealed_for_all(n bigint) RETURNS flake_sealed LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN n; END $$;
CREATE FUNCTION sealed_by_me(n bigint) RETURNS flake_sealed LANGUAGE plpgsql AS $$ BEGIN RETURN n; END $$;
GRANT EXECUTE ON FUNCTION sealed_for_all, sealed_by_me TO regress_flakeid_user;
REVOKE EXECUTE ON FUNCTION flake_seal(bigint) FROM regress_flakeid_user;
BEGIN;
SET LOCAL ROLE regress_flakeid_user;
SELECT sealed_for_all(5) IS NOT NULL AS by_definer;
SELECT sealed_by_me(6) IS NOT NULL AS by_the_role;
ROLLBACK;
DROP FUNCTION sealed_for_all, sealed_by_me;

-- No index and no generated column holds plain ids of sealed ones, whoever makes it.
\set VERBOSITY sqlstate
CREATE INDEX ON orders ((id::flake));
CREATE INDEX ON orders ((flake_unseal(id)));
CREATE INDEX ON orders ((flake_sealed_or_null('0000000000000')));
\set VERBOSITY default
ALTER TABLE orders ADD plain flake GENERATED ALWAYS AS (id::flake) STORED;
CREATE TABLE generated (id flake_sealed, plain bigint GENERATED ALWAYS AS (id::bigint) STORED);
CREATE TABLE generated (id flake PRIMARY KEY);
SELECT pg_relation_filenode('generated') AS file \gset
ALTER TABLE generated ALTER id TYPE flake_sealed;
ALTER TABLE generated ALTER id TYPE flake USING id::flake;
SELECT pg_relation_filenode('generated') = :file AS not_rewritten;
CREATE INDEX ON generated ((id::bigint));
ALTER TABLE generated ALTER id TYPE flake_sealed;
DROP TABLE generated;

-- The bounds of a range are those of plain ids, also of a layout that is named.
SELECT flake_sealed_range_floor(r)::bigint = flake_range_floor(r) AND flake_sealed_range_ceil(r)::bigint = flake_range_ceil(r) AS bounds,
    flake_sealed_range_floor(r, 'tsid')::bigint = flake_range_floor(r, 'tsid') AND flake_sealed_range_ceil(r, 'tsid')::bigint = flake_range_ceil(r, 'tsid') AS of_layout
FROM (SELECT tstzrange('2025-01-01Z', '2025-02-01Z') AS r) AS range;
-- So are those of a query, which the planner writes down: the first and the last id, and the one beside each. And of the call itself.
CREATE TEMP TABLE edges AS
SELECT name, flake_seal(id) AS id, layout FROM (VALUES ('tsid'), ('snowflake')) AS l (layout),
    LATERAL (VALUES ('before', flake_range_floor(tstzrange('2025-01-01Z', '2025-02-01Z'), layout) - 1), ('first', flake_range_floor(tstzrange('2025-01-01Z', '2025-02-01Z'), layout)),
                    ('last', flake_range_ceil(tstzrange('2025-01-01Z', '2025-02-01Z'), layout)), ('after', flake_range_ceil(tstzrange('2025-01-01Z', '2025-02-01Z'), layout) + 1)) AS e (name, id);
SELECT string_agg(name, ' ' ORDER BY id) AS found FROM edges WHERE layout = 'tsid' AND flake_in_range(id, tstzrange('2025-01-01Z', '2025-02-01Z'), 'tsid');
SELECT string_agg(name, ' ' ORDER BY id) AS found FROM edges WHERE layout = 'snowflake' AND id <@ tstzrange('2025-01-01Z', '2025-02-01Z');
SELECT string_agg(name, ' ' ORDER BY id) AS found FROM edges WHERE layout = 'snowflake' AND tstzrange('2025-01-01Z', '2025-02-01Z') @> id;
SELECT layout, string_agg(name, ' ' ORDER BY id) AS found FROM edges
WHERE flake_in_range(id, (SELECT tstzrange('2025-01-01Z', '2025-02-01Z') WHERE random() >= 0), layout) GROUP BY layout ORDER BY layout;
DROP TABLE edges;

-- What a dump carries of keys is for those who may dump all.
SELECT count(*) > 0 AS told FROM flakeid.dumped() WHERE name ~ 'fingerprint';
SET ROLE regress_flakeid_user;
SELECT count(*) > 0 AS told FROM flakeid.dumped() WHERE name ~ 'fingerprint';
RESET ROLE;

DROP OWNED BY regress_flakeid_user;
DROP ROLE regress_flakeid_user;
DROP TABLE lines, orders, copied, by_hash, by_range, grown;
DROP FUNCTION plan;
DROP EXTENSION flakeid;
SELECT pg_temp.remove_secret_files();
