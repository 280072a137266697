-- Type flake: text, binary and JSON forms, casts, and that bigint's operators, indexes, keys and
-- partitions serve it.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
CREATE EXTENSION flakeid;

-- Text form: a decimal number as bigint reads it
SELECT t AS text, t::flake AS flake, t::flake::bigint = t::bigint AS as_bigint
FROM unnest(ARRAY['0', '-0', '+1', '  17  ', E'\t-5\n', '9223372036854775807', '-9223372036854775808',
                  '000000000000000000000000000000000007', '+000000000000000000009223372036854775807']) AS t;
SELECT ''::flake;
SELECT ' '::flake;
SELECT '-'::flake;
SELECT '+-1'::flake;
SELECT '1 2'::flake;
SELECT '1.0'::flake;
SELECT '1e3'::flake;
SELECT 'b4pls5dvrjjd'::flake;
SELECT '9223372036854775808'::flake;
SELECT '-9223372036854775809'::flake;
SELECT '99999999999999999999999999999999999999x'::flake;
-- Soft errors came with PostgreSQL 16.
DO $$
DECLARE
    bad record;
BEGIN
    IF current_setting('server_version_num')::int >= 160000 THEN
        EXECUTE $q$SELECT * FROM (VALUES
            ('-9223372036854775808', true, NULL), ('9223372036854775807', true, NULL), (' 5 ', true, NULL),
            ('5x', false, '22P02'), ('', false, '22P02'), ('9223372036854775808', false, '22003')) AS v (text, good, code)
            WHERE (pg_input_is_valid(text, 'flake'), (pg_input_error_info(text, 'flake')).sql_error_code)
                IS DISTINCT FROM (good, code)$q$ INTO bad;
        ASSERT bad IS NULL, bad::text;
    END IF;
END $$;

-- Casts
SELECT castsource::regtype, casttarget::regtype, castcontext, castmethod FROM pg_cast
WHERE 'flake'::regtype IN (castsource, casttarget) ORDER BY 1, 2;
SELECT pg_typeof(5::flake), 5::flake, (-5)::bigint::flake, '5'::flake::bigint, '5'::flake::text, '5'::text::flake;
SELECT pg_typeof('5'::flake + 1), '5'::flake + 1 AS sum, '5'::flake % 2 AS mod;
SELECT 5::smallint::flake, 6.5::flake, '7'::flake::int, '9223372036854775807'::flake::numeric;
SELECT coalesce(NULL::flake, 0), pg_typeof(coalesce(0, 1::flake)), pg_typeof(greatest(1::smallint, 2::flake)), 5::flake::smallint, 9007199254740993::flake::float8;
SELECT '2147483648'::flake::int;
SELECT 9223372036854775808::flake;
CREATE TABLE assigned (id flake, i int, n numeric);
INSERT INTO assigned VALUES (7.0, 8::flake, 9::flake);
INSERT INTO assigned (id) VALUES (1::smallint);
INSERT INTO assigned (n) SELECT sum(id) FROM assigned;
SELECT * FROM assigned;
ALTER TABLE assigned ALTER n TYPE flake;
DROP TABLE assigned;
SELECT typlen, typbyval, typalign, typcategory, typispreferred, typsend = 0 AS no_send FROM pg_type WHERE typname = 'flake';
SELECT count(*) AS operators FROM pg_operator WHERE 'flake'::regtype IN (oprleft, oprright, oprresult);
SELECT count(*) AS operator_classes FROM pg_opclass WHERE opcintype = 'flake'::regtype;

-- Binary form: eight bytes, as bigint's
SELECT flake_send('1234567890123456789') = int8send(1234567890123456789) AS same, flake_send('-2');
CREATE TABLE edge (id flake, b bigint);
INSERT INTO edge SELECT v, v FROM unnest(ARRAY[-9223372036854775808, -1, 0, 1, 9223372036854775807, NULL]) AS v;
\copy edge to 'results/type.binary' with (format binary)
SELECT bool_and((id::numeric, id::float8) = (b::numeric, b::float8)) AS same, bool_and((flakeid.to_numeric(id), flakeid.to_float8(id)) = (b::numeric, b::float8)) AS by_name FROM edge;
CREATE TABLE edge_back (LIKE edge);
CREATE TABLE edge_swapped (b bigint, id flake);
\copy edge_back from 'results/type.binary' with (format binary)
\copy edge_swapped from 'results/type.binary' with (format binary)
SELECT * FROM edge_back;
SELECT * FROM edge_swapped EXCEPT SELECT * FROM edge;
\copy edge to 'results/type.text'
\copy edge_back from 'results/type.text'
SELECT id, b, count(*) FROM edge_back GROUP BY id, b HAVING count(*) <> 2;

-- JSON: a string, so that JavaScript cannot round it; and back
CREATE TABLE item (id flake, name text);
INSERT INTO item VALUES (1795530182954000001, 'a'), (-9223372036854775808, 'b'), (NULL, 'c');
SELECT row_to_json(item) FROM item;
SELECT to_json(id), to_jsonb(id), json_build_object('id', id), jsonb_build_array(id) FROM item;
SELECT json_agg(id), array_to_json(array_agg(id)), jsonb_object_agg(name, id) FROM item;
SELECT (json_populate_record(NULL::item, row_to_json(item))).* FROM item;
SELECT (jsonb_populate_record(NULL::item, to_jsonb(item))).* FROM item;
SELECT * FROM jsonb_to_recordset('[{"id": "9007199254740993"}, {"id": 9007199254740993}, {"id": null}]') AS r (id flake);
SELECT json_populate_record(NULL::item, '{"id": "x"}');
SELECT json_populate_record(NULL::item, '{"id": 1.5}');
-- every row there and back, through both kinds of JSON
SELECT * FROM item EXCEPT ALL SELECT r.* FROM item, json_populate_record(NULL::item, row_to_json(item)) AS r;
SELECT * FROM item EXCEPT ALL SELECT r.* FROM item, jsonb_populate_record(NULL::item, to_jsonb(item)) AS r;

-- Operators of bigint
SELECT min(id), max(id), pg_typeof(min(id)), pg_typeof(max(id)), sum(id), count(DISTINCT id) FROM edge;
SELECT id FROM edge ORDER BY id DESC NULLS LAST;
SELECT id FROM edge WHERE id < 0 OR id = 1 OR id >= '9223372036854775807'::flake ORDER BY id;
SELECT id FROM edge WHERE id IN (0, 1) AND id = ANY ('{1,2}'::flake[]) AND id BETWEEN 1 AND 9223372036854775807 AND id <> 2::bigint;
SELECT pg_typeof(id), id FROM (SELECT id FROM edge UNION SELECT b FROM edge UNION SELECT 1::bigint) AS u ORDER BY id;
SELECT pg_typeof(coalesce(id, 7::bigint)), coalesce(id, 7::bigint), greatest(id, 0::bigint) FROM edge ORDER BY id;
SELECT id, rank() OVER (ORDER BY id), lag(id) OVER (ORDER BY id) FROM edge ORDER BY id;
SELECT count(*) FROM edge e1 JOIN edge e2 USING (id) JOIN edge e3 ON e3.b = e1.id;
SELECT ARRAY[1, 2]::flake[] || 3::flake AS appended, '{1,2}'::flake[] = ARRAY[1::flake, 2::flake] AS equal,
       '{1,2,3}'::flake[] @> '{3,1}'::flake[] AS contains, array_position('{5,6}'::flake[], 6::flake),
       (SELECT array_agg(x ORDER BY x DESC) FROM unnest('{1,9223372036854775807,-3}'::flake[]) AS x);
SELECT ROW(1::flake, 'a'::text) = ROW(1::flake, 'a'::text) AS rows_equal, ROW(1::flake) < ROW(2::flake) AS rows_less;
CREATE DOMAIN order_id AS flake CHECK (VALUE > 0);
SELECT 5::order_id, '6'::order_id + 1 AS sum, flake_node('8192'::order_id, 'snowflake');
SELECT 0::order_id;
DROP DOMAIN order_id;

-- Every kind of index, by its default class, alone on the table
CREATE TABLE indexed (id flake, tag int);
INSERT INTO indexed SELECT g::bigint * 1000000007, g FROM generate_series(1, 2000) g;
VACUUM ANALYZE indexed;
CREATE FUNCTION index_finds(method text) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    line text;
    plan text = '';
    found int;
BEGIN
    EXECUTE 'CREATE INDEX alone ON indexed USING ' || method;
    FOR line IN EXPLAIN SELECT tag FROM indexed WHERE id = 700000004900 LOOP
        plan = plan || line;
    END LOOP;
    SELECT tag INTO found FROM indexed WHERE id = 700000004900;
    DROP INDEX alone;
    RETURN CASE WHEN plan LIKE '% alone %' THEN 'finds ' ELSE 'does not serve ' END || found;
END $$;
SELECT method, index_finds(method) FROM unnest(ARRAY['btree (id)', 'hash (id)', 'brin (id)',
    'brin (id int8_minmax_multi_ops)', 'brin (id int8_bloom_ops)', 'btree (id DESC) INCLUDE (tag)']) AS method;
DROP FUNCTION index_finds;
ALTER TABLE indexed ADD EXCLUDE USING btree (id WITH =), ADD EXCLUDE USING hash (id WITH =);
INSERT INTO indexed VALUES (1000000007);

-- Foreign keys both ways, and to itself
CREATE TABLE owner_flake (id flake PRIMARY KEY, parent flake REFERENCES owner_flake);
CREATE TABLE owner_bigint (id bigint PRIMARY KEY);
CREATE TABLE owned (f_b flake REFERENCES owner_bigint ON UPDATE CASCADE, b_f bigint REFERENCES owner_flake ON DELETE CASCADE,
                    f_f flake REFERENCES owner_flake);
INSERT INTO owner_flake VALUES (1, NULL), (2, 1);
INSERT INTO owner_bigint VALUES (1), (2);
INSERT INTO owned VALUES (1, 2, 1);
INSERT INTO owned VALUES (3, NULL, NULL);
INSERT INTO owned VALUES (NULL, 3, NULL);
INSERT INTO owned VALUES (NULL, NULL, 3);
INSERT INTO owner_flake VALUES (5, 4);
UPDATE owner_bigint SET id = 10 WHERE id = 1;
TABLE owned;
DELETE FROM owner_bigint WHERE id = 10;
DELETE FROM owner_flake WHERE id = 2;
TABLE owned;

-- Partitions
CREATE TABLE by_range (id flake PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE by_range_1 PARTITION OF by_range FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE by_range_2 PARTITION OF by_range FOR VALUES FROM (1000) TO ('2000');
CREATE TABLE by_range_3 PARTITION OF by_range FOR VALUES FROM (2000) TO (9223372036854775807);
INSERT INTO by_range SELECT generate_series(-2000, 4000, 100);
INSERT INTO by_range VALUES (9223372036854775807);
SELECT tableoid::regclass, count(*), min(id), max(id) FROM by_range GROUP BY 1 ORDER BY 1;
CREATE TABLE by_hash (id flake PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE by_hash_bigint (id bigint) PARTITION BY HASH (id);
CREATE TABLE by_hash_bigint_0 PARTITION OF by_hash_bigint FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_hash_bigint_1 PARTITION OF by_hash_bigint FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO by_hash SELECT g FROM generate_series(1::bigint, 1000) g;
INSERT INTO by_hash_bigint SELECT id FROM by_hash;
SELECT count(*) > 400 AS spread FROM by_hash_0 UNION ALL SELECT count(*) > 400 FROM by_hash_1;
TABLE by_hash_0 EXCEPT TABLE by_hash_bigint_0;
CREATE TABLE by_list (id flake) PARTITION BY LIST (id);
CREATE TABLE by_list_1 PARTITION OF by_list FOR VALUES IN (1, '2', 3::bigint);
INSERT INTO by_list VALUES (1), (2), (3);
INSERT INTO by_list VALUES (4);
CREATE TABLE refers_to_parts (id bigint REFERENCES by_range);
INSERT INTO refers_to_parts VALUES (1500);
INSERT INTO refers_to_parts VALUES (1501);

-- A bigint column becomes flake and back without writing its table or index anew.
CREATE TABLE grown (id bigserial PRIMARY KEY, n int);
INSERT INTO grown (n) VALUES (1), (2);
SELECT pg_relation_filenode('grown') AS old_table, pg_relation_filenode('grown_pkey') AS old_index \gset
ALTER TABLE grown ALTER id DROP DEFAULT, ALTER id TYPE flake, ALTER id SET DEFAULT flake_next();
SELECT pg_relation_filenode('grown') = :old_table AS same_table, pg_relation_filenode('grown_pkey') = :old_index AS same_index;
INSERT INTO grown (n) VALUES (3);
SELECT n, pg_typeof(id) FROM grown ORDER BY id;
ALTER TABLE grown ALTER id DROP DEFAULT, ALTER id TYPE bigint;
SELECT pg_relation_filenode('grown') = :old_table AS same_table, pg_relation_filenode('grown_pkey') = :old_index AS same_index;

DROP TABLE edge, edge_back, edge_swapped, item, indexed, owner_flake, owner_bigint, owned, by_range, by_hash, by_hash_bigint,
    by_list, refers_to_parts, grown;
DROP EXTENSION flakeid;
