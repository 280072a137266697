-- Where a column of type flake is not like one of type bigint: hundreds of statements run against both. Each that differs
-- is of one of a few kinds, and doc/reference/types.md has a line for each kind.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
CREATE EXTENSION flakeid;
CREATE TABLE of_flake (id flake PRIMARY KEY, n int NOT NULL, ids flake[]);
CREATE TABLE of_bigint (id bigint PRIMARY KEY, n int NOT NULL, ids bigint[]);
INSERT INTO of_bigint VALUES (5, 1, '{5,6}'), (6, 2, '{}'), (9007199254740993, 3, NULL);
INSERT INTO of_flake TABLE of_bigint;
CREATE TABLE statement (number serial, text text UNIQUE, is_expression bool);

-- Expressions over the columns of a row: an id beside other types, on either side
DO $$
DECLARE
    t record;
BEGIN
    FOR t IN SELECT form, other FROM unnest(ARRAY['5::smallint', '5', '5::bigint', '5.0', '5::float8', '''5''', 'id']) AS other,
            unnest(ARRAY['%1$s = %2$s', '%1$s <> %2$s', '%1$s < %2$s', '%1$s <= %2$s', '%1$s > %2$s', '%1$s >= %2$s', '%1$s + %2$s', '%1$s - %2$s',
                '%1$s * %2$s', '%1$s / %2$s', '%1$s %% %2$s', '%1$s & %2$s', '%1$s | %2$s', '%1$s # %2$s', '%1$s << %2$s', '%1$s >> %2$s',
                'coalesce(%1$s, %2$s)', 'greatest(%1$s, %2$s)', 'least(%1$s, %2$s)', 'nullif(%1$s, %2$s)', 'mod(%1$s, %2$s)',
                'CASE WHEN n = 1 THEN %1$s ELSE %2$s END', 'ARRAY[%1$s, %2$s]', 'lag(%1$s, 1, %2$s) OVER (ORDER BY n)',
                '%1$s IN (%2$s, 7)', '%1$s = ANY (ARRAY[%2$s])', '%1$s BETWEEN %2$s AND 7', '%1$s IS DISTINCT FROM %2$s', '(%1$s, n) = (%2$s, 1)',
                '(SELECT x FROM (SELECT %1$s UNION SELECT %2$s) AS u (x) ORDER BY x LIMIT 1)',
                '(SELECT x FROM (VALUES (%1$s), (%2$s)) AS u (x) ORDER BY x LIMIT 1)']) AS form LOOP
        INSERT INTO statement (text) VALUES (format(t.form, 'id', t.other)), (format(t.form, t.other, 'id')) ON CONFLICT DO NOTHING;
    END LOOP;
END $$;
\copy statement (text) from stdin
+id
-id
@ id
~id
abs(id)
sign(id)
ceil(id)
floor(id)
round(id)
trunc(id)
sqrt(id)
cbrt(id)
ln(id)
exp(id::int4 % 3)
power(id, 2)
id ^ 2
div(id, 2)
gcd(id, 10)
lcm(id, 2)
degrees(id)
width_bucket(id, 0, 9, 3)
to_hex(id)
to_char(id, '999')
format('%s', id)
concat(id, n)
id || 'x'
'x' || id
quote_literal(id)
quote_nullable(id)
length(id::text)
lpad(id::text, 20, '0')
md5(id::text)
chr(65 + (id % 10)::int)
repeat('x', (id % 7)::int)
left('abcdefg', (id % 7)::int)
hashint8(id)
int8send(id)
to_timestamp(id)
make_interval(secs => id % 60)
id % 60 * interval '1 s'
now() + id * interval '0 s' = now()
pg_size_pretty(id)
pg_column_size(id)
num_nonnulls(id, n)
numeric_inc(id)
generate_series(id, id + 1)
int8range(id, id + 1)
int8range(1, 9) @> id
id <@ int8range(1, 9)
int8multirange(int8range(1, 9)) @> id
numrange(1, 9) @> id
int4range(1, 9) @> id::int4
id::smallint
id::int
id::bigint
id::numeric
id::numeric(20, 2)
id::float8
id::real
id::text
id::varchar(20)
id::char(20)
id::name
id::bool
id::oid
id::regclass
id::money
id::bit(64)
id::json
id::jsonb
id::int::bool
CAST(id AS bigint)
id::text::bigint
to_json(id)
to_jsonb(id)
json_build_object('id', id)
json_build_array(id)
json_build_object(id, 1)
jsonb_set('{}', '{id}', to_jsonb(id))
array_to_json(ARRAY[id])
row_to_json(ROW(id))
'{"5": 1}'::jsonb -> (id)::text
'[1,2]'::jsonb -> (id % 2)::int
xmlelement(name id, id)::text
ARRAY[id]
ARRAY[id, n]
ARRAY[id] || ARRAY[7]
ARRAY[id] || 7
7 || ARRAY[id]
ARRAY[id] || id
ARRAY[id] @> ARRAY[5]
ARRAY[id] && ARRAY[5::bigint]
ARRAY[id] = ARRAY[5]
ARRAY[id] = ARRAY[5::bigint]
ARRAY[5::bigint, 6] @> ARRAY[id]
ARRAY[id]::bigint[] = ARRAY[5::bigint]
ARRAY[id] = '{5}'
array_position(ARRAY[id], 5)
array_position(ARRAY[5::bigint], id)
array_remove(ARRAY[id, 7], 7)
array_replace(ARRAY[id], 5, 6)
array_fill(id, ARRAY[2])
array_cat(ARRAY[id], ARRAY[5::bigint])
array_length(ARRAY[id], 1)
unnest(ARRAY[id, 7])
array_to_string(ARRAY[id], ',')
(ARRAY['a', 'b'])[(id % 2 + 1)::int]
(ARRAY['a', 'b'])[id % 2 + 1]
id = ANY (ids)
ids = ARRAY[id]
ids || id
id = ALL ('{5,6}')
id = ANY (ARRAY[5, 6.0])
id IN (SELECT 5)
id IN (SELECT 5::bigint)
id IN (SELECT 5.0)
id NOT IN (1, 2)
id IS NULL
id BETWEEN SYMMETRIC 9 AND 1
id = (SELECT max(id) FROM of_bigint)
(id, n) < (7, 1)
(id, n) IN ((5, 1))
id::text LIKE '5%'
id LIKE '5%'
row_number() OVER (ORDER BY id)
rank() OVER (ORDER BY id)
ntile(2) OVER (ORDER BY id)
first_value(id) OVER (ORDER BY n)
nth_value(id, 2) OVER (ORDER BY n)
lead(id) OVER (ORDER BY n)
lead(id, 1, NULL) OVER (ORDER BY n)
max(id) OVER (ORDER BY n)
sum(id) OVER (ORDER BY n)
count(*) OVER (ORDER BY id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)
flake_node(id, 'snowflake')
flake_to_text(id, 'base58')
txid_visible_in_snapshot(id % 2 + 3, '10:20:')
pg_advisory_xact_lock(id)
pg_try_advisory_xact_lock(id)
pg_typeof(id + 1)
pg_typeof(id * 1.0)
encode(int8send(id), 'hex')
int8out(id)
bit_count(id::bit(64))
random() < id
setseed(id % 2)
date '2000-01-01' + (id % 7)::int
date '2000-01-01' + id % 7
int4(id)
float8(id)
(SELECT min(id) FROM {table} AS t)
(SELECT max(id) FROM {table} AS t)
(SELECT sum(id) FROM {table} AS t)
(SELECT avg(id) FROM {table} AS t)
(SELECT count(id) FROM {table} AS t)
(SELECT count(DISTINCT id) FROM {table} AS t)
(SELECT stddev(id) FROM {table} AS t)
(SELECT variance(id) FROM {table} AS t)
(SELECT bit_and(id) FROM {table} AS t)
(SELECT bit_or(id) FROM {table} AS t)
(SELECT bit_xor(id) FROM {table} AS t)
(SELECT array_agg(id ORDER BY id) FROM {table} AS t)
(SELECT string_agg(id::text, ',' ORDER BY id) FROM {table} AS t)
(SELECT string_agg(id, ',') FROM {table} AS t)
(SELECT json_agg(id ORDER BY id) FROM {table} AS t)
(SELECT jsonb_agg(id ORDER BY id) FROM {table} AS t)
(SELECT json_object_agg(n, id ORDER BY n) FROM {table} AS t)
(SELECT jsonb_object_agg(id, n) FROM {table} AS t)
(SELECT to_json(max(id)) FROM {table} AS t)
(SELECT to_json(min(id)) FROM {table} AS t)
(SELECT json_agg(t ORDER BY n) FROM {table} AS t)
(SELECT mode() WITHIN GROUP (ORDER BY id) FROM {table} AS t)
(SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY id) FROM {table} AS t)
(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) FROM {table} AS t)
(SELECT rank(5) WITHIN GROUP (ORDER BY id) FROM {table} AS t)
(SELECT rank(5.0) WITHIN GROUP (ORDER BY id) FROM {table} AS t)
(SELECT corr(id, n) FROM {table} AS t)
(SELECT regr_slope(id, n) FROM {table} AS t)
(SELECT bool_or(id > 5) FROM {table} AS t)
(SELECT max(id) FILTER (WHERE id < 100) FROM {table} AS t)
(SELECT range_agg(int8range(id, id, '[]')) FROM {table} AS t)
(SELECT any_value(id) FROM {table} AS t)
(SELECT max(ids) FROM {table} AS t)
(SELECT pg_typeof(max(id)) FROM {table} AS t)
\.
UPDATE statement SET is_expression = true;

-- Whole statements
\copy statement (text) from stdin
SELECT id FROM {table} ORDER BY id LIMIT 1
SELECT id FROM {table} ORDER BY id OFFSET (SELECT id FROM {table} WHERE n = 1)
SELECT n FROM {table} LIMIT (SELECT min(id) FROM {table})
SELECT DISTINCT ON (id) id FROM {table}
SELECT id, count(*) FROM {table} GROUP BY ROLLUP (id)
SELECT count(*) FROM {table} JOIN of_bigint AS b USING (id)
SELECT count(*) FROM {table} NATURAL JOIN of_bigint AS b
SELECT count(*) FROM {table} JOIN of_flake AS f USING (id)
SELECT id FROM {table} UNION SELECT n FROM {table}
SELECT n FROM {table} UNION SELECT id FROM {table}
SELECT id FROM {table} EXCEPT SELECT id FROM of_bigint
SELECT id FROM {table} INTERSECT SELECT 5.0
SELECT 5.0 UNION SELECT id FROM {table}
SELECT id FROM {table} UNION ALL SELECT NULL
WITH RECURSIVE r AS (SELECT min(id) AS id FROM {table} UNION ALL SELECT t.id FROM r, {table} AS t WHERE t.id > r.id) SELECT count(*) FROM r
WITH RECURSIVE r AS (SELECT id FROM {table} WHERE n = 1 UNION ALL SELECT id + 1 FROM r WHERE id < 9) SELECT count(*) FROM r
INSERT INTO {table} VALUES (1, 1)
INSERT INTO {table} VALUES (1.0, 1)
INSERT INTO {table} VALUES ('1', 1)
INSERT INTO {table} VALUES (1::smallint, 1)
INSERT INTO {table} VALUES (1::float8, 1)
INSERT INTO {table} VALUES (1::real, 1)
INSERT INTO {table} VALUES ('1'::text, 1)
INSERT INTO {table} VALUES ('x', 1)
INSERT INTO {table} VALUES ('9223372036854775808', 1)
INSERT INTO {table} VALUES (9223372036854775808, 1)
INSERT INTO {table} VALUES (NULL, 1)
INSERT INTO {table} VALUES (5, 1)
INSERT INTO {table} VALUES (1::oid, 1)
INSERT INTO {table} VALUES (true, 1)
INSERT INTO {table} SELECT id + 100, n FROM {table}
INSERT INTO {table} SELECT id * 1.5, n FROM {table} WHERE n = 1
INSERT INTO {table} VALUES (5, 1) ON CONFLICT (id) DO UPDATE SET n = excluded.n
UPDATE {table} SET id = id + 1
UPDATE {table} SET id = 7.4 WHERE n = 1
UPDATE {table} SET n = id WHERE n = 1
UPDATE {table} SET n = id::int WHERE n = 1
DELETE FROM {table} WHERE id = 5.0
DELETE FROM {table} WHERE id IN (5, 6) RETURNING id
MERGE INTO {table} AS t USING (VALUES (5)) AS s (id) ON t.id = s.id WHEN MATCHED THEN DELETE
CREATE TABLE x (id {type} DEFAULT 0)
CREATE TABLE x (id {type} DEFAULT 0.5)
CREATE TABLE x (id {type} GENERATED ALWAYS AS IDENTITY)
CREATE SEQUENCE x AS {type}
CREATE TABLE x (id {type} DEFAULT nextval('statement_number_seq'))
CREATE TABLE x (id {type}, b bigint GENERATED ALWAYS AS (id + 1) STORED)
CREATE TABLE x (b bigint, id {type} GENERATED ALWAYS AS (b * 2) STORED)
CREATE TABLE x (id {type} CHECK (id > 0 AND id < 1e18))
CREATE TABLE x (id {type} CHECK (id > 0))
CREATE TABLE x (id {type} REFERENCES of_bigint)
CREATE TABLE x (id {type} REFERENCES of_flake)
CREATE TABLE x (id int REFERENCES {table})
CREATE TABLE x (id numeric REFERENCES {table})
CREATE TABLE y (i int PRIMARY KEY); CREATE TABLE x (id {type} REFERENCES y)
CREATE TABLE y (i numeric PRIMARY KEY); CREATE TABLE x (id {type} REFERENCES y)
CREATE TABLE x (id {type}) PARTITION BY RANGE (id); CREATE TABLE y PARTITION OF x FOR VALUES FROM (1) TO (10.0)
CREATE TABLE x (id {type}) PARTITION BY HASH (id); CREATE TABLE y PARTITION OF x FOR VALUES WITH (MODULUS 2, REMAINDER 0)
CREATE TABLE x (id {type}) PARTITION BY LIST (id); CREATE TABLE y PARTITION OF x FOR VALUES IN (1, '2')
CREATE INDEX ON {table} USING btree (id)
CREATE INDEX ON {table} USING hash (id)
CREATE INDEX ON {table} USING brin (id)
CREATE INDEX ON {table} USING gin (ids)
CREATE INDEX ON {table} USING gist (id)
CREATE INDEX ON {table} (id int8_ops)
CREATE INDEX ON {table} ((id / 10))
CREATE INDEX ON {table} (mod(id, 10))
CREATE UNIQUE INDEX ON {table} (id) WHERE id > 0
ALTER TABLE {table} ADD EXCLUDE USING btree (id WITH =)
ALTER TABLE {table} ADD EXCLUDE USING gist (int8range(id, id, '[]') WITH &&)
CREATE STATISTICS x ON id, n FROM {table}
ALTER TABLE {table} ALTER id TYPE numeric
ALTER TABLE {table} ALTER id TYPE text
ALTER TABLE {table} ALTER id TYPE bigint
ALTER TABLE {table} ALTER id TYPE flake
ALTER TABLE {table} ALTER n TYPE {type}
ALTER TABLE {table} ALTER id TYPE float8
ALTER TABLE {table} ALTER id TYPE float8 USING id::float8
CREATE DOMAIN x AS {type} CHECK (VALUE > 0)
CREATE TYPE x AS RANGE (subtype = {type})
CREATE TYPE x AS (id {type})
CREATE VIEW x AS SELECT coalesce(id, 0) AS id FROM {table}
CREATE MATERIALIZED VIEW x AS SELECT id FROM {table}
CREATE FUNCTION x(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT $1'; SELECT x(id) FROM {table}
CREATE FUNCTION x(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT $1'; SELECT x(id) FROM {table}
CREATE FUNCTION x(float8) RETURNS float8 LANGUAGE sql AS 'SELECT $1'; SELECT x(id) FROM {table}
CREATE FUNCTION x(text) RETURNS text LANGUAGE sql AS 'SELECT $1'; SELECT x(id) FROM {table}
CREATE FUNCTION x({type}) RETURNS {type} LANGUAGE sql AS 'SELECT $1'; SELECT x(5)
CREATE FUNCTION x({type}) RETURNS {type} LANGUAGE sql AS 'SELECT $1'; SELECT x(5.0)
CREATE FUNCTION x({type}) RETURNS {type} LANGUAGE sql AS 'SELECT $1'; SELECT x(5::bigint)
CREATE FUNCTION x({type}) RETURNS {type} LANGUAGE sql AS 'SELECT $1 + 1'; SELECT x('5')
CREATE FUNCTION x({type}[]) RETURNS int LANGUAGE sql AS 'SELECT 1'; SELECT x(ARRAY[5, 6])
CREATE FUNCTION x({type}[]) RETURNS int LANGUAGE sql AS 'SELECT 1'; SELECT x(ARRAY[5::bigint])
CREATE FUNCTION x(bigint[]) RETURNS int LANGUAGE sql AS 'SELECT 1'; SELECT x(array_agg(id)) FROM {table}
CREATE FUNCTION x(VARIADIC {type}[]) RETURNS int LANGUAGE sql AS 'SELECT 1'; SELECT x(5, 6)
CREATE FUNCTION x() RETURNS {type} LANGUAGE sql AS 'SELECT 5'; SELECT x()
CREATE FUNCTION x() RETURNS {type} LANGUAGE sql AS 'SELECT 5::bigint'; SELECT x()
CREATE FUNCTION x() RETURNS SETOF bigint LANGUAGE sql AS 'SELECT id FROM {table}'; SELECT x()
CREATE FUNCTION x() RETURNS TABLE (id bigint) LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT t.id FROM {table} AS t; END'; SELECT x()
CREATE FUNCTION x(anyelement, anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT $1'; SELECT x(id, 5) FROM {table}
CREATE FUNCTION x(anyelement, anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT $1'; SELECT x(id, 5::bigint) FROM {table}
CREATE FUNCTION x(anycompatible, anycompatible) RETURNS anycompatible LANGUAGE sql AS 'SELECT $1'; SELECT x(id, 5) FROM {table}
CREATE FUNCTION x(anycompatible, anycompatible) RETURNS anycompatible LANGUAGE sql AS 'SELECT $1'; SELECT x(id, 5.0) FROM {table}
CREATE FUNCTION x(anynonarray) RETURNS text LANGUAGE sql AS 'SELECT $1::text'; SELECT x(id) FROM {table}
PREPARE p ({type}) AS SELECT n FROM {table} WHERE id = $1; EXECUTE p (5)
PREPARE p (int) AS SELECT n FROM {table} WHERE id = $1; EXECUTE p (5)
PREPARE p (bigint) AS SELECT n FROM {table} WHERE id = $1; EXECUTE p (5)
PREPARE p (text) AS SELECT n FROM {table} WHERE id = $1; EXECUTE p ('5')
PREPARE p (numeric) AS SELECT n FROM {table} WHERE id = $1; EXECUTE p (5)
PREPARE p AS SELECT n FROM {table} WHERE id = $1; EXECUTE p (5)
PREPARE p AS SELECT n FROM {table} WHERE id = ANY ($1); EXECUTE p ('{5}')
PREPARE p (bigint[]) AS SELECT n FROM {table} WHERE id = ANY ($1); EXECUTE p ('{5}')
PREPARE p (int[]) AS SELECT n FROM {table} WHERE id = ANY ($1); EXECUTE p ('{5}')
PREPARE p (text[]) AS SELECT n FROM {table} WHERE id = ANY ($1); EXECUTE p ('{5}')
PREPARE p AS INSERT INTO {table} VALUES ($1, $2); EXECUTE p (77, 1)
PREPARE p (bigint) AS INSERT INTO {table} VALUES ($1, 1); EXECUTE p (77)
PREPARE p (text) AS INSERT INTO {table} VALUES ($1, 1); EXECUTE p ('77')
PREPARE p (bigint[]) AS INSERT INTO {table} SELECT unnest($1), 1; EXECUTE p ('{77}')
PREPARE p AS SELECT n FROM {table} WHERE id > $1 ORDER BY id LIMIT $2; EXECUTE p ('5', '1')
PREPARE p AS SELECT n FROM {table} WHERE (id, n) > ($1, $2); EXECUTE p (5, 1)
PREPARE p AS SELECT coalesce(id, $1) FROM {table}; EXECUTE p (5)
DO 'DECLARE v {type} := 5; BEGIN v := v + 1; v := 5.0; v := ''7''; END'
DO 'DECLARE v bigint; BEGIN SELECT id INTO v FROM {table} WHERE n = 1; END'
DO 'DECLARE v int; BEGIN SELECT id INTO v FROM {table} WHERE n = 1; END'
DO 'DECLARE v text; BEGIN SELECT id INTO v FROM {table} WHERE n = 1; END'
DO 'DECLARE v {type}; BEGIN FOR v IN 1 .. 3 LOOP NULL; END LOOP; END'
DO 'DECLARE v {type}[]; BEGIN v[1] := 5; v := v || 6; END'
DO 'DECLARE v {type}; BEGIN v := 5; FOR i IN v .. 6 LOOP NULL; END LOOP; END'
SELECT * FROM json_populate_record(NULL::{table}, '{"id": 5, "n": 1}')
SELECT * FROM json_to_recordset('[{"id": 5}]') AS r (id {type})
SELECT json_agg(t) FROM {table} AS t
SELECT row_to_json(t) FROM {table} AS t
SELECT to_jsonb(t) - 'n' FROM {table} AS t
SELECT jsonb_path_query(to_jsonb(t), '$.id ? (@ > 5)') FROM {table} AS t
SELECT (to_jsonb(t) ->> 'id')::bigint FROM {table} AS t
SELECT to_jsonb(t) @> '{"id": 5}' FROM {table} AS t
SELECT setval('statement_number_seq', id) FROM {table} WHERE n = 3
SELECT * FROM {table} WHERE id = 5 FOR UPDATE
SELECT id AS "id_{type}" FROM {table}
GRANT SELECT (id) ON {table} TO PUBLIC
COPY {table} TO STDOUT
CREATE TABLE x PARTITION OF {table} DEFAULT
SELECT t.* FROM {table} AS t TABLESAMPLE bernoulli (100)
CREATE PUBLICATION x FOR TABLE {table} WHERE (id > 5)
CREATE TABLE x AS SELECT id FROM {table}
CREATE TABLE x (LIKE {table} INCLUDING ALL)
CREATE TABLE x () INHERITS ({table})
CREATE POLICY x ON {table} USING (id = current_setting('flakeid.max_leap')::bigint)
CREATE RULE x AS ON DELETE TO {table} WHERE OLD.id = 5 DO INSTEAD NOTHING
CREATE TRIGGER x BEFORE UPDATE ON {table} FOR EACH ROW WHEN (OLD.id > 5) EXECUTE FUNCTION suppress_redundant_updates_trigger()
\.

-- What a statement gives on one of the tables: types and values, or the error. That it says flake or bigint is no
-- difference.
CREATE FUNCTION outcome(statement statement, type text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    said text = replace(replace(statement.text, '{type}', type), '{table}', 'of_' || type);
    result text = 'done';
BEGIN
    DEALLOCATE ALL;
    BEGIN
        IF statement.is_expression THEN
            EXECUTE format('SELECT string_agg(concat_ws('' '', pg_typeof(v), v), '', '' ORDER BY n) FROM (SELECT %s AS v, n FROM of_%s ORDER BY n) AS t', said, type) INTO result;
        ELSIF said ~ '^SELECT|^WITH' THEN
            EXECUTE format('SELECT string_agg(r::text, '', '' ORDER BY r::text COLLATE "C") FROM (%s) AS r', said) INTO result;
        ELSE
            EXECUTE said;
        END IF;
        -- as if it had never been
        RAISE SQLSTATE 'FINE0';
    EXCEPTION
        WHEN SQLSTATE 'FINE0' THEN NULL;
        WHEN OTHERS THEN result := 'error ' || SQLSTATE;
    END;
    RETURN coalesce(replace(result, 'flake', 'bigint'), '');
END $$;
SET client_min_messages = error;
CREATE TABLE differs AS SELECT number, text, outcome(s, 'bigint') AS of_bigint, outcome(s, 'flake') AS of_flake FROM statement AS s;
DELETE FROM differs WHERE of_bigint = of_flake;
RESET client_min_messages;
ALTER TABLE differs ADD kind text;
UPDATE differs SET kind = CASE
    WHEN text ~ 'json' THEN 'JSON'
    WHEN text ~ 'IDENTITY|SEQUENCE|PUBLICATION|::(oid|regclass|money|bit)|\(1::oid' THEN 'what only built-in types have'
    WHEN text ~ 'ARRAY\[5::bigint[],]|anyelement|NATURAL|int8(multi)?range' THEN 'polymorphic'
    WHEN text ~ 'RECURSIVE|RETURN QUERY|x\(5::bigint\)|REFERENCES y' THEN 'the same type or none'
    WHEN text ~ '\d\.\d|\d::float8|1e18|numeric|float8|real|interval|timestamp|random|^(sign|ceil|floor|round|trunc|sqrt|cbrt|ln|power|div|degrees|width_bucket)\(|\^|percentile_cont|corr|regr'
        THEN 'numeric and floating point' END;
SELECT text, of_bigint, of_flake FROM differs WHERE kind IS NULL ORDER BY number;
SELECT kind, count(*), (SELECT count(*) FROM statement) AS of_statements FROM differs GROUP BY kind ORDER BY kind COLLATE "C";
-- Which, and whether a flake refuses or gives something else
SELECT kind, CASE WHEN of_bigint ~ '^error' THEN 'error too' WHEN of_flake ~ '^error' THEN of_flake ELSE 'differs' END AS outcome, text
FROM differs ORDER BY kind COLLATE "C", number;

-- Minimum and maximum are bigint's.
SELECT to_json(max(id)), to_json(max(id)::flake) FROM of_flake;

DROP TABLE of_flake, of_bigint, differs;
DROP FUNCTION outcome;
DROP TABLE statement;
DROP EXTENSION flakeid;
