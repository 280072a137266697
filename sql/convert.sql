-- Moving tables in: flakeid.convert(), convert_plan(), convert_undo(), layout_above(), first_real_id(), view flakeid.conversions
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
CREATE EXTENSION flakeid_tables CASCADE;
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE ROLE regress_keeper;
CREATE ROLE regress_reader;
CREATE SCHEMA "Regress Shop" AUTHORIZATION regress_keeper;
GRANT TEMPORARY ON DATABASE :"DBNAME" TO regress_keeper;
SET ROLE regress_keeper;
SET search_path = "Regress Shop", public;

-- What there is in the schema, in words that say nothing of the order of columns, nor of numbers
CREATE FUNCTION pg_temp.looks() RETURNS SETOF text LANGUAGE sql SET search_path = pg_catalog AS $$
    SELECT concat_ws(' ', 'column', c.relname, a.attname, a.atttypid::regtype, CASE WHEN a.attnotnull THEN 'not null' END, a.attidentity,
                     pg_get_expr(d.adbin, d.adrelid), a.attstattarget, a.attacl, col_description(c.oid, a.attnum))
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = '"Regress Shop"'::regnamespace AND c.relkind IN ('r', 'p', 'v')
    UNION ALL
    SELECT concat_ws(' ', 'relation', c.relname, c.relkind, c.relacl, c.reloptions, c.relreplident, c.relrowsecurity, obj_description(c.oid, 'pg_class'), (SELECT s.spcname FROM pg_tablespace s WHERE s.oid = c.reltablespace),
                     CASE WHEN c.relkind = 'v' THEN pg_get_viewdef(c.oid) END,
                     (SELECT concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisclustered, i.indisreplident) FROM pg_index i WHERE i.indexrelid = c.oid))
    FROM pg_class c WHERE c.relnamespace = '"Regress Shop"'::regnamespace AND c.relkind <> 'c'
    UNION ALL
    SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint'))
    FROM pg_constraint WHERE connamespace = '"Regress Shop"'::regnamespace
    UNION ALL
    SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(oid), tgenabled, obj_description(oid, 'pg_trigger')) FROM pg_trigger
    WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = '"Regress Shop"'::regnamespace)
    UNION ALL
    SELECT concat_ws(' ', 'policy', polname, polrelid::regclass, polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
    FROM pg_policy
    UNION ALL
    SELECT concat_ws(' ', 'statistics', pg_get_statisticsobjdef(oid)) FROM pg_statistic_ext WHERE stxnamespace = '"Regress Shop"'::regnamespace
    UNION ALL
    SELECT concat_ws(' ', 'sequence', s.relname, d.refobjid::regclass, a.attname, q.seqincrement, q.seqstart, q.seqcache, q.seqcycle)
    FROM pg_class s JOIN pg_sequence q ON q.seqrelid = s.oid LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.oid AND d.deptype IN ('a', 'i')
         LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE s.relnamespace = '"Regress Shop"'::regnamespace
    UNION ALL
    SELECT concat_ws(' ', 'function', proname) FROM pg_proc WHERE pronamespace = '"Regress Shop"'::regnamespace
$$;
CREATE TEMP TABLE before (line text);
CREATE VIEW pg_temp.changed AS
    SELECT '-' AS sign, line FROM (SELECT line FROM before EXCEPT ALL SELECT l.line FROM pg_temp.looks() AS l (line)) gone
    UNION ALL SELECT '+', line FROM (SELECT l.line FROM pg_temp.looks() AS l (line) EXCEPT ALL SELECT line FROM before) come;
-- The same in few words: kind, name and one word more, for what a server of another version prints in other words
CREATE VIEW pg_temp.changes AS SELECT DISTINCT sign || (regexp_match(line, '^\S+ \S+ \S+'))[1] COLLATE "C" AS change FROM changed ORDER BY 1;

-- bigserial, with what may stand round it: the column stays in its place
CREATE TABLE "Orders" ("Id" bigserial PRIMARY KEY, item text, created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE lines (order_id bigint NOT NULL REFERENCES "Orders" ON DELETE CASCADE DEFERRABLE, n int, PRIMARY KEY (order_id, n));
CREATE TABLE parts (order_id bigint, n int, FOREIGN KEY (order_id, n) REFERENCES lines);
CREATE INDEX ON parts (order_id);
CREATE VIEW "Items" ("Nr", item) WITH (security_barrier) AS SELECT "Id", item FROM "Orders";
CREATE VIEW sums AS SELECT "Nr", count(*) AS n FROM "Items" JOIN lines ON order_id = "Nr" GROUP BY "Nr";
GRANT SELECT ON "Items" TO regress_reader WITH GRANT OPTION;
GRANT SELECT ("Nr") ON sums TO PUBLIC;
COMMENT ON VIEW sums IS 'lines of an order';
COMMENT ON COLUMN sums.n IS 'how many';
ALTER VIEW "Items" ALTER COLUMN item SET DEFAULT 'pen';
CREATE FUNCTION moved() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER moved BEFORE UPDATE OF "Id" ON "Orders" FOR EACH ROW WHEN (OLD."Id" < NEW."Id") EXECUTE FUNCTION moved();
ALTER TABLE "Orders" DISABLE TRIGGER moved;
CREATE TRIGGER instead INSTEAD OF DELETE ON "Items" FOR EACH ROW EXECUTE FUNCTION moved();
ALTER TABLE "Orders" ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON "Orders" AS RESTRICTIVE FOR SELECT TO regress_reader, regress_keeper USING ("Id" < 10);
INSERT INTO "Orders" (item) SELECT 'pen' FROM generate_series(1, 5);
INSERT INTO lines SELECT "Id", n FROM "Orders", generate_series(1, 2) n;
INSERT INTO parts SELECT order_id, n FROM lines;
INSERT INTO before SELECT * FROM pg_temp.looks();
SELECT step, substr(statement, 1, 40) AS statement, lock, lasts FROM flakeid.convert_plan('"Orders"') WHERE statement NOT SIMILAR TO '(-- Other sessions|GRANT MAINTAIN )%'; -- which 17 has
CALL flakeid.convert('"Orders"');
SELECT * FROM changes;
INSERT INTO "Orders" (item) VALUES ('ink') RETURNING "Id" > 5 AND "Id" <@ tstzrange(now() - interval '1 hour', NULL) AS carries_its_time;
SELECT flakeid.first_real_id('"Orders"') = max("Id") AS first_is_the_new_one, count(*) FILTER (WHERE "Id" <= 5) AS kept FROM "Orders";
-- again: nothing is left to do
CALL flakeid.convert('"Orders"');
CALL flakeid.convert_undo('"Orders"');
SELECT * FROM changed;
INSERT INTO "Orders" (item) VALUES ('new') RETURNING "Id" = (SELECT max("Id") + 1 FROM "Orders") AS one_more;
DROP TABLE "Orders", lines, parts CASCADE;

-- Identity, of both kinds
CREATE TABLE always (id bigint GENERATED ALWAYS AS IDENTITY (START 5 INCREMENT 5 CACHE 2) PRIMARY KEY, note text);
CREATE TABLE by_default (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, note text);
INSERT INTO always (note) VALUES ('a'), ('b');
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('always');
CALL flakeid.convert('by_default', type => 'bigint');
SELECT * FROM changes;
INSERT INTO always (note) VALUES ('c');
CALL flakeid.convert_undo('always');
CALL flakeid.convert_undo('by_default');
SELECT * FROM changed;
INSERT INTO by_default (note) VALUES ('first') RETURNING id;
DROP TABLE always, by_default;

-- Ids that are written as text or numeric: the values stay
CREATE TABLE guilds (id varchar(20) PRIMARY KEY, name text);
CREATE TABLE members (guild_id text NOT NULL REFERENCES guilds ON DELETE CASCADE, n int, PRIMARY KEY (guild_id, n));
CREATE INDEX ON guilds (name, id);
CREATE VIEW names AS SELECT id, name FROM guilds;
INSERT INTO guilds SELECT 175928847299117063 + n, 'g' || n FROM generate_series(1, 5) n;
INSERT INTO members SELECT id, 1 FROM guilds;
CREATE TABLE threads (id numeric(20) PRIMARY KEY, up numeric(20) REFERENCES threads);
INSERT INTO threads VALUES (5, NULL), (18, 5);
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('guilds');
CALL flakeid.convert('threads', type => 'bigint');
SELECT * FROM changes;
INSERT INTO guilds (name) VALUES ('new');
INSERT INTO members (guild_id, n) SELECT id, 2 FROM guilds;
INSERT INTO threads (up) VALUES (18);
SELECT count(*), count(DISTINCT id) FROM members JOIN guilds ON id = guild_id;
SELECT id, name FROM guilds WHERE id = 175928847299117064;
CALL flakeid.convert_undo('guilds');
CALL flakeid.convert_undo('threads');
SELECT * FROM changed;
SELECT count(*), count(DISTINCT id) FROM members JOIN guilds ON id = guild_id;
SELECT id, up FROM threads WHERE id <= 18 ORDER BY id;
-- What does not fit is named
INSERT INTO guilds VALUES ('007'), ('abc'), ('1.5'), (' 5'), ('9999999999999999999');
INSERT INTO threads VALUES (18446744073709551615);
CALL flakeid.convert('guilds');
CALL flakeid.convert('threads');
CREATE TABLE short (id varchar(10) PRIMARY KEY);
CREATE TABLE spelled (id text COLLATE "C" PRIMARY KEY, up text DEFAULT '1' REFERENCES spelled);
CREATE TABLE patterns (id text PRIMARY KEY);
CREATE INDEX ON patterns (id text_pattern_ops);
CREATE INDEX ON patterns (length(id));
CREATE TABLE tallies (id numeric(20) PRIMARY KEY, code varchar(20) UNIQUE, n int);
CREATE INDEX last_digit ON tallies ((id % 10));
CREATE INDEX late ON tallies (n) WHERE id > '5';
CREATE INDEX written ON tallies ((id % 10::numeric)) WHERE id > 5.5;
CREATE INDEX coded ON tallies (lower(code));
CALL flakeid.convert('short');
CALL flakeid.convert('spelled');
CALL flakeid.convert('patterns');
CALL flakeid.convert('tallies');
CALL flakeid.convert('tallies', 'code');
SELECT * FROM changed WHERE line ~ 'guilds|members|threads';
DROP TABLE guilds, members, threads, short, spelled, patterns, tallies CASCADE;
-- Functions that may read the key are named, whatever the table is called
CREATE TABLE "$tab" (id uuid PRIMARY KEY);
CREATE FUNCTION quoted() RETURNS TABLE (i uuid) LANGUAGE sql AS 'SELECT id FROM "$tab"';
CREATE FUNCTION bare() RETURNS TABLE (i uuid) LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT id FROM tab; END';
SELECT statement FROM flakeid.convert_plan('"$tab"', also => '{}') WHERE statement LIKE '-- Functions%';
DROP FUNCTION quoted(), bare();
DROP TABLE "$tab";
-- What an undo could not give back as it was
CREATE TABLE ruled (id serial PRIMARY KEY);
CREATE VIEW through AS SELECT id FROM ruled;
CREATE RULE away AS ON DELETE TO through DO INSTEAD DELETE FROM ruled WHERE id = OLD.id;
CALL flakeid.convert('ruled');
DROP TABLE ruled CASCADE;
-- Indexes of partitions have names, comments and roles of their own
CREATE TABLE visits (id bigserial, at int, n int, CONSTRAINT visit PRIMARY KEY (id, at)) PARTITION BY LIST (at);
CREATE TABLE numbers (id serial, at int, n int, CONSTRAINT number PRIMARY KEY (id, at)) PARTITION BY LIST (at);
CREATE TABLE visits_1 PARTITION OF visits FOR VALUES IN (1, 2) PARTITION BY LIST (at);
CREATE TABLE visits_11 PARTITION OF visits_1 FOR VALUES IN (1);
CREATE TABLE visits_2 PARTITION OF visits DEFAULT;
CREATE TABLE numbers_1 PARTITION OF numbers FOR VALUES IN (1, 2) PARTITION BY LIST (at);
CREATE TABLE numbers_11 PARTITION OF numbers_1 FOR VALUES IN (1);
CREATE INDEX by_n ON visits (n) INCLUDE (id);
CREATE INDEX again ON visits (n) INCLUDE (id);
CREATE INDEX by_id ON numbers (id);
CREATE INDEX also_by_id ON numbers (id);
COMMENT ON INDEX by_n IS 'of all';
COMMENT ON INDEX by_id IS 'of all';
COMMENT ON CONSTRAINT visit ON visits IS 'of all';
ALTER INDEX visits_2_n_id_idx RENAME TO other;
ALTER INDEX visits_2_n_id_idx1 RENAME TO visits_2_n_id_idx; -- the name that the other one had
ALTER INDEX visits_1_pkey RENAME TO "Some";
ALTER INDEX numbers_1_id_idx RENAME TO "Middle";
ALTER INDEX numbers_1_pkey RENAME TO some_numbers;
COMMENT ON INDEX other IS 'of the others';
COMMENT ON INDEX "Middle" IS 'of some';
COMMENT ON CONSTRAINT visits_2_pkey ON visits_2 IS 'key of the others';
ALTER TABLE visits_2 CLUSTER ON other;
ALTER TABLE visits_11 REPLICA IDENTITY USING INDEX visits_11_pkey;
INSERT INTO visits (at, n) SELECT n, n FROM generate_series(1, 9) n WHERE n <> 2;
INSERT INTO numbers (at, n) VALUES (1, 1);
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('visits', 'id');
CALL flakeid.convert('numbers', 'id');
SELECT * FROM changed WHERE line ~ '^(relation|constraint) ' AND line !~ ' flakeid_';
CALL flakeid.convert_undo('visits', 'id');
CALL flakeid.convert_undo('numbers', 'id');
SELECT * FROM changed;
DROP TABLE visits, numbers;
-- Keys of partitioned tables have parameters and a place, and columns of partitions rights, comments and targets of their own.
RESET ROLE;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_flakeid_space LOCATION '';
GRANT CREATE ON TABLESPACE regress_flakeid_space TO regress_keeper;
SET ROLE regress_keeper;
CREATE TABLE spread (id serial, at int, n int, CONSTRAINT spread_key PRIMARY KEY (id, at) WITH (fillfactor = 44) USING INDEX TABLESPACE regress_flakeid_space) PARTITION BY LIST (at);
ALTER TABLE spread ADD CONSTRAINT spread_once UNIQUE (at, id) WITH (fillfactor = 45) DEFERRABLE;
CREATE TABLE spread_1 PARTITION OF spread FOR VALUES IN (1);
CREATE TABLE spread_2 PARTITION OF spread DEFAULT;
CREATE INDEX far ON spread (id) WITH (fillfactor = 50) TABLESPACE regress_flakeid_space;
CREATE TABLE aside (spread_id int, at int, FOREIGN KEY (spread_id, at) REFERENCES spread);
CREATE INDEX aside_far ON aside ((spread_id + 1)) TABLESPACE regress_flakeid_space WHERE spread_id > 0;
GRANT SELECT (id) ON spread_1 TO regress_reader;
COMMENT ON COLUMN spread_1.id IS 'of one';
ALTER TABLE spread ALTER id SET STATISTICS 20;
ALTER TABLE spread_1 ALTER id SET STATISTICS 44;
ALTER TABLE spread_2 ALTER id SET STATISTICS -1, ALTER id SET (n_distinct = 5);
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
SET default_tablespace = regress_flakeid_space;
CALL flakeid.convert('spread', 'id');
SELECT * FROM changed WHERE line ~ '^relation ' AND line !~ ' flakeid_' ORDER BY line COLLATE "C";
SELECT attrelid::regclass, attacl, nullif(attstattarget, -1) AS target, (SELECT o FROM unnest(attoptions) AS o WHERE o LIKE 'n%') AS option, col_description(attrelid, attnum) AS comment
FROM pg_attribute WHERE attname = 'id' AND attrelid IN (SELECT relid FROM pg_partition_tree('spread')) ORDER BY attrelid;
CALL flakeid.convert_undo('spread', 'id');
RESET default_tablespace;
SELECT * FROM changed WHERE line !~ '^constraint .*aside';
DROP TABLE spread, aside;
RESET ROLE;
DROP TABLESPACE regress_flakeid_space;
SET ROLE regress_keeper;

-- Expressions in indexes of partitioned tables; references that lead nowhere, which an undo leaves
CREATE TABLE halls (id bigserial, at int, n int, CONSTRAINT hall PRIMARY KEY (id, at)) PARTITION BY LIST (at);
CREATE TABLE halls_1 PARTITION OF halls FOR VALUES IN (1, 2) PARTITION BY LIST (at);
CREATE TABLE halls_11 PARTITION OF halls_1 FOR VALUES IN (1);
CREATE TABLE halls_2 PARTITION OF halls DEFAULT;
CREATE INDEX halls_mod ON halls ((id % 1000), n);
CREATE INDEX halls_few ON halls (n) WHERE id > 5;
CREATE TABLE seats (id serial, at int, n int, CONSTRAINT seat PRIMARY KEY (id, at)) PARTITION BY LIST (at);
CREATE TABLE seats_1 PARTITION OF seats FOR VALUES IN (1, 2) PARTITION BY LIST (at);
CREATE TABLE seats_11 PARTITION OF seats_1 FOR VALUES IN (1);
CREATE TABLE seats_2 PARTITION OF seats DEFAULT;
CREATE INDEX seats_mod ON seats ((id % 1000), n);
CREATE INDEX seats_few ON seats (n) WHERE id > 5;
CREATE TABLE tickets (seat_id int, at int, n int);
INSERT INTO tickets VALUES (1, 1, 1), (99, 1, 2);
ALTER TABLE tickets ADD CONSTRAINT later FOREIGN KEY (seat_id, at) REFERENCES seats NOT VALID;
COMMENT ON INDEX seats_mod IS 'rest';
ALTER INDEX seats_mod ALTER 1 SET STATISTICS 50;
ALTER INDEX seats_11_expr_n_idx ALTER 1 SET STATISTICS 60;
ALTER INDEX halls_2_expr_n_idx RENAME TO rest_of_others;
ALTER INDEX halls_mod ALTER 1 SET STATISTICS 50;
ALTER TABLE halls_2 CLUSTER ON rest_of_others;
INSERT INTO halls (at, n) SELECT n, n FROM generate_series(1, 9) n WHERE n <> 2;
INSERT INTO seats (at, n) SELECT n, n FROM generate_series(1, 9) n WHERE n <> 2;
INSERT INTO tickets VALUES (2, 3, 1), (77, NULL, 3);
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('halls', 'id');
CALL flakeid.convert('seats', 'id');
SELECT count(*) FROM halls WHERE id % 1000 = 5;
CALL flakeid.convert_undo('halls', 'id');
CALL flakeid.convert_undo('seats', 'id');
SELECT * FROM changed;
SELECT * FROM tickets ORDER BY n, seat_id;
DROP TABLE halls, seats, tickets;
-- What excludes rows goes, and comes again; names that begin as those of a conversion are in nobody's way
CREATE TABLE rooms (id bigserial PRIMARY KEY, n int, CONSTRAINT apart EXCLUDE (id WITH =, n WITH =) INITIALLY DEFERRED);
CREATE TABLE beds (id serial PRIMARY KEY, n int, CONSTRAINT single EXCLUDE ((id % 2) WITH =, n WITH =) WITH (fillfactor = 80) WHERE (n > 0));
CREATE INDEX flakeid_new_x ON beds (id);
CREATE INDEX flakeid_new_n ON beds (n);
COMMENT ON CONSTRAINT single ON beds IS 'one to a bed';
COMMENT ON INDEX single IS 'of beds';
ALTER TABLE rooms CLUSTER ON apart;
INSERT INTO rooms (n) VALUES (1), (1), (2);
INSERT INTO beds (n) VALUES (1), (1), (2);
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('rooms');
CALL flakeid.convert('beds');
SELECT * FROM changes WHERE change ~ 'apart|single|flakeid_new';
\set VERBOSITY sqlstate
INSERT INTO beds (n) VALUES (1);
\set VERBOSITY default
CALL flakeid.convert_undo('rooms');
CALL flakeid.convert_undo('beds');
SELECT * FROM changed;
-- but those that it needs
CREATE INDEX x ON beds (n, id);
CALL flakeid.convert('beds');
DROP TABLE rooms, beds;
-- Defaults and, from PostgreSQL 18 on, the names of NOT NULL are each partition's own.
CREATE TABLE doors (id serial CONSTRAINT "Has id" NOT NULL, at int, PRIMARY KEY (id, at)) PARTITION BY LIST (at);
CREATE TABLE doors_1 (at int NOT NULL, id int CONSTRAINT own NOT NULL);
ALTER TABLE doors ATTACH PARTITION doors_1 FOR VALUES IN (1);
CREATE TABLE doors_2 PARTITION OF doors DEFAULT PARTITION BY LIST (at);
CREATE TABLE doors_22 PARTITION OF doors_2 DEFAULT;
CREATE TABLE gates (id serial CONSTRAINT "Has id" NOT NULL PRIMARY KEY);
CREATE TABLE keys (gate_id int CONSTRAINT "Has gate" NOT NULL DEFAULT 1 REFERENCES gates, at int) PARTITION BY LIST (at);
CREATE TABLE keys_1 PARTITION OF keys DEFAULT;
ALTER TABLE keys_1 ALTER COLUMN gate_id SET DEFAULT 2;
ALTER TABLE doors_22 ALTER COLUMN id SET DEFAULT 7;
INSERT INTO gates SELECT FROM generate_series(1, 2);
INSERT INTO keys VALUES (1, 1);
INSERT INTO doors (at) VALUES (1), (2);
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('doors', 'id');
CALL flakeid.convert('gates');
CALL flakeid.convert_undo('doors', 'id');
CALL flakeid.convert_undo('gates');
CALL flakeid.convert('doors', 'id');
INSERT INTO doors (at) VALUES (1), (2);
INSERT INTO doors_22 (at) VALUES (2);
CALL flakeid.convert_undo('doors', 'id');
SELECT * FROM changed;
DROP TABLE doors, keys, gates;
-- serial, a new column beside it; each kind of thing that the old one was in
CREATE TABLE products (id serial PRIMARY KEY, parent_id int REFERENCES products, sku text, CONSTRAINT positive CHECK (id > 0), CONSTRAINT "By sku" UNIQUE (sku, id));
CREATE INDEX heads ON products (parent_id DESC) INCLUDE (id) WHERE parent_id IS NOT NULL;
CREATE STATISTICS together ON id, sku FROM products;
ALTER TABLE products REPLICA IDENTITY USING INDEX products_pkey;
ALTER TABLE products CLUSTER ON "By sku";
ALTER TABLE products ALTER id SET STATISTICS 500;
COMMENT ON COLUMN products.id IS 'number of a product';
COMMENT ON CONSTRAINT products_pkey ON products IS 'one of a kind';
COMMENT ON INDEX heads IS 'of families';
GRANT SELECT (id, sku) ON products TO regress_reader;
CREATE TABLE prices (product_id int NOT NULL REFERENCES products ON UPDATE CASCADE, region int, price numeric, PRIMARY KEY (product_id, region));
CREATE TABLE stock (product_id bigint DEFAULT 1 REFERENCES products ON DELETE SET NULL, pieces int);
CREATE TABLE sales (product_id int, region int, FOREIGN KEY (product_id, region) REFERENCES prices DEFERRABLE INITIALLY DEFERRED);
CREATE VIEW families AS SELECT c.sku, p.id AS head FROM products c JOIN products p ON p.id = c.parent_id;
INSERT INTO products (parent_id, sku) SELECT nullif(n / 2, 0), 'p' || n FROM generate_series(1, 2000) n;
INSERT INTO prices SELECT id, 1, id FROM products;
INSERT INTO stock SELECT id, 7 FROM products;
INSERT INTO sales SELECT product_id, region FROM prices;
CREATE TEMP VIEW all_rows AS SELECT p.id, p.parent_id, p.sku, q.price, s.pieces, t.region
    FROM products p JOIN prices q ON q.product_id = p.id JOIN stock s ON s.product_id = p.id JOIN sales t ON (t.product_id, t.region) = (q.product_id, q.region);
CREATE TEMP TABLE rows_before AS SELECT * FROM all_rows;
DROP VIEW all_rows;
CREATE FUNCTION pg_temp.lost() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM (SELECT * FROM rows_before EXCEPT SELECT p.id, p.parent_id, p.sku, q.price, s.pieces, t.region
    FROM products p JOIN prices q ON q.product_id = p.id JOIN stock s ON s.product_id = p.id JOIN sales t ON (t.product_id, t.region) = (q.product_id, q.region)) x
$$;
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
SELECT step, regexp_replace(regexp_replace(statement, '_\d+_\d+\(\)', '_OID()', 'g'), 'ADD CONSTRAINT \S+ NOT NULL (\S+)', 'ALTER COLUMN \1 SET NOT NULL') AS statement, lock, lasts FROM flakeid.convert_plan('products') WHERE statement NOT SIMILAR TO '(COMMENT ON FUNCTION|-- Every row|-- Other sessions|CREATE VIEW)%';
CALL flakeid.convert('products');
SELECT * FROM changes;
SELECT pg_temp.lost(), (SELECT count(*) FROM rows_before) AS rows;
SELECT table_name, column_name, step FROM flakeid.conversions;
INSERT INTO products (sku, parent_id) VALUES ('new', 7);
INSERT INTO prices (product_id, region) SELECT max(id), 1 FROM products;
INSERT INTO sales (product_id, region) SELECT max(id), 1 FROM products;
CALL flakeid.convert_undo('products');
SELECT * FROM changed;
SELECT pg_temp.lost(), (SELECT id FROM products WHERE sku = 'new');
SELECT count(*) FROM sales JOIN prices USING (product_id, region) JOIN products p ON p.id = product_id WHERE sku = 'new';
DROP TABLE products, prices, stock, sales CASCADE;

-- uuid, with ids of the time of each row, more in a tick than the sequence has
CREATE TABLE customers (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text, since timestamptz NOT NULL);
CREATE TABLE visits (id bigserial PRIMARY KEY, customer_id uuid NOT NULL REFERENCES customers DEFERRABLE INITIALLY DEFERRED, name text);
CREATE INDEX ON visits (customer_id);
INSERT INTO customers (name, since) SELECT n, '2025-03-03 12:00Z'::timestamptz + n / 4500 * interval '1 ms' FROM generate_series(0, 8999) n;
INSERT INTO visits (customer_id, name) SELECT id, name FROM customers;
CREATE TEMP TABLE customers_before AS SELECT * FROM customers;
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('customers', created_at => 'since', node => 1000);
SELECT * FROM changes;
SELECT count(*), count(DISTINCT c.id), min(flake_timestamp(c.id)) = '2025-03-03 12:00Z' AS first, max(flake_timestamp(c.id)) < '2025-03-03 12:00:01Z' AS last,
       min(flake_node(c.id)), max(flake_node(c.id)) FROM customers c JOIN visits v ON v.customer_id = c.id AND v.name = c.name;
SELECT count(*) AS out_of_order FROM (SELECT since < lag(since) OVER (ORDER BY id) AS wrong FROM customers) s WHERE wrong;
SELECT count(*) FROM customers c JOIN customers_id_map m ON m.new_id = c.id JOIN customers_before b ON b.id = m.old_id AND b.name = c.name;
INSERT INTO customers (name, since) VALUES ('new', now());
INSERT INTO visits (customer_id, name) SELECT id, name FROM customers WHERE name = 'new';
CALL flakeid.convert_undo('customers');
SELECT * FROM changed;
SELECT count(*) FROM customers_before JOIN customers c USING (id, name, since) JOIN visits v ON v.customer_id = c.id AND v.name = c.name;
SELECT count(*) FROM customers c JOIN visits v ON v.customer_id = c.id AND v.name = 'new';
DROP TABLE customers, visits;

-- bigserial, old rows get ids of their time
CREATE TABLE posts (id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), answer_to bigint REFERENCES posts DEFERRABLE);
CREATE INDEX ON posts (answer_to);
INSERT INTO posts (at, answer_to) SELECT '2025-03-03 12:00Z', nullif(n - 1, 0) FROM generate_series(1, 5000) n;
CREATE TEMP TABLE posts_before AS SELECT * FROM posts;
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('posts', created_at => 'at');
SELECT * FROM changes;
SELECT count(*) FROM posts WHERE id <@ tstzrange('2025-03-03 12:00Z', '2025-03-03 12:01Z');
SELECT count(*) FROM posts p JOIN posts_id_map m ON m.new_id = p.id LEFT JOIN posts_id_map a ON a.new_id = p.answer_to
    JOIN posts_before b ON b.id = m.old_id AND b.at = p.at AND b.answer_to IS NOT DISTINCT FROM a.old_id;
SELECT flakeid.first_real_id('posts') = min(id) FROM posts;
INSERT INTO posts (at) VALUES (now());
CALL flakeid.convert_undo('posts');
SELECT * FROM changed;
SELECT count(*) FROM posts JOIN posts_before USING (id, at) WHERE posts.answer_to IS NOT DISTINCT FROM posts_before.answer_to;
SELECT max(id) FROM posts;
DROP TABLE posts;

-- What is replaced comes back as it was, what was changed meanwhile as it is
CREATE TABLE casts (id serial PRIMARY KEY, n int, CONSTRAINT odd CHECK (id % 10 <> 7));
CREATE INDEX shard ON casts ((id % 1000));
CREATE INDEX few ON casts (n) WHERE id > 5;
CREATE STATISTICS st ON (id % 10), n FROM casts;
CREATE VIEW firsts AS SELECT CASE WHEN id > 2 THEN id ELSE 0 END AS c, coalesce(id, 0) AS d FROM casts;
CREATE VIEW seconds AS SELECT greatest(c, 3) AS g FROM firsts;
CREATE POLICY p ON casts USING (id % 2 = 1);
INSERT INTO casts (n) SELECT n FROM generate_series(1, 6) n;
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('casts');
SELECT pg_get_indexdef('shard'::regclass);
CALL flakeid.convert_undo('casts');
SELECT * FROM changed;
CALL flakeid.convert('casts', type => 'bigint');
CREATE OR REPLACE VIEW seconds AS SELECT greatest(c, 4) AS g FROM firsts;
GRANT SELECT ON firsts TO regress_reader;
CALL flakeid.convert_undo('casts');
SELECT * FROM changes;
DROP TABLE casts CASCADE;

-- What reads the key as a number that is too small for new ids, and what else the sequence of its identity serves
CREATE TABLE small (id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int);
CREATE VIEW odd AS SELECT id % 2 AS odd, id::bigint AS id FROM small;
CREATE VIEW wide AS SELECT id::bigint AS id FROM small;
CREATE POLICY odd ON small USING (id % 2 = 1);
CREATE TABLE borrowed (n int DEFAULT nextval('small_id_seq'));
CREATE POLICY far ON borrowed USING (EXISTS (SELECT FROM small AS s WHERE s.id % 2 = borrowed.n));
CALL flakeid.convert('small');
DROP VIEW odd;
DROP POLICY odd ON small;
DROP TABLE borrowed;
CALL flakeid.convert('small');
CALL flakeid.convert_undo('small');
DROP TABLE small CASCADE;

-- A column that refers may have more bytes than the key
CREATE TABLE few (id smallserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z');
CREATE TABLE many (few_id int REFERENCES few);
INSERT INTO few DEFAULT VALUES;
INSERT INTO many SELECT id FROM few;
CALL flakeid.convert('few', created_at => 'at');
SELECT count(*) FROM many JOIN few ON id = few_id WHERE id > 1000;
CALL flakeid.convert_undo('few');
SELECT * FROM many JOIN few ON id = few_id;
DROP TABLE few, many;
-- or fewer
CREATE TABLE many (id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z');
CREATE TABLE few (many_id int REFERENCES many);
INSERT INTO many DEFAULT VALUES;
INSERT INTO few SELECT id FROM many;
CALL flakeid.convert('many', created_at => 'at');
SELECT count(*) FROM few JOIN many ON id = many_id WHERE id > 1000;
CALL flakeid.convert_undo('many');
SELECT * FROM few JOIN many ON id = many_id;
DROP TABLE many, few;

-- Defaults that make no keys, or name what they need without its schema
CREATE TABLE zeros (n text, id int DEFAULT 0, PRIMARY KEY (n, id));
CREATE FUNCTION number() RETURNS int LANGUAGE sql VOLATILE AS $$ SELECT count(*)::int FROM zeros $$;
CREATE TABLE named (id int PRIMARY KEY DEFAULT "Regress Shop".number());
CALL flakeid.convert('zeros', 'id');
CALL flakeid.convert('named');
DROP TABLE zeros, named;
DROP FUNCTION number;
CREATE SEQUENCE old_style CYCLE MAXVALUE 4;
CREATE TABLE named (id int PRIMARY KEY DEFAULT nextval('old_style'::text::regclass), n int);
CREATE TABLE wide (id bigint PRIMARY KEY DEFAULT nextval('"Regress Shop".old_style'::text::regclass));
INSERT INTO named (n) VALUES (1), (2);
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('named');
CALL flakeid.convert('wide');
INSERT INTO named (n) VALUES (3), (4), (5);
CALL flakeid.convert_undo('wide');
CALL flakeid.convert_undo('named');
DELETE FROM named WHERE n = 5;
CALL flakeid.convert_undo('named');
SELECT * FROM changed;
SELECT * FROM named;
ALTER SEQUENCE old_style MAXVALUE 2000000000;
INSERT INTO named (n) VALUES (6) RETURNING id;
DROP TABLE named, wide;
DROP SEQUENCE old_style;

-- Columns that refer without a constraint, under whatever plural, in a conversion that keeps ids
CREATE TABLE statuses (id serial PRIMARY KEY, n int);
CREATE TABLE shop_categories (id bigserial PRIMARY KEY);
CREATE TABLE notes (status_id int, category_id int, old_statuses int, shop_category_id int, author_id int, noteworthy_id int, noteworthy_type text);
INSERT INTO statuses (n) VALUES (1), (2);
INSERT INTO notes (status_id) SELECT id FROM statuses;
SELECT statement FROM flakeid.convert_plan('statuses') WHERE statement LIKE '-- May%';
SELECT statement FROM flakeid.convert_plan('shop_categories') WHERE statement LIKE '-- May%';
CALL flakeid.convert('statuses', also => '{"notes.status_id": null}');
INSERT INTO statuses (n) VALUES (3);
INSERT INTO notes (status_id) SELECT id FROM statuses WHERE n = 3;
CALL flakeid.convert_undo('statuses');
SELECT id, n, status_id FROM statuses LEFT JOIN notes ON status_id = id;
DROP TABLE statuses, shop_categories, notes;

-- Columns that follow without a constraint, one of them under a condition
CREATE TABLE issues (id serial PRIMARY KEY, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z');
CREATE TABLE journals (issue_id int, n int);
CREATE TABLE notes (noteable_id int, noteable_type text, is_issue bool GENERATED ALWAYS AS (noteable_type = 'Issue') STORED);
INSERT INTO issues SELECT n FROM generate_series(1, 100) n;
INSERT INTO journals SELECT id, id FROM issues;
INSERT INTO notes SELECT id, kind FROM issues, unnest(ARRAY['Issue', 'Other']) kind;
CALL flakeid.convert('issues', created_at => 'at');
CALL flakeid.convert('issues', created_at => 'at', also => '{"journal.issue_id": null}');
CALL flakeid.convert('issues', created_at => 'at', also => '{"journals.issue_id": null, "notes.noteable_id": "is_issue"}');
CALL flakeid.convert('issues', created_at => 'at', also => '{"journals.issue_id": null, "notes.noteable_id": "notes.noteable_type = ''Issue''"}');
SELECT count(*) FROM issues JOIN journals j ON issue_id = id JOIN issues_id_map m ON m.new_id = id AND m.old_id = n;
SELECT noteable_type, count(*), count(i.id) FROM notes LEFT JOIN issues i ON i.id = noteable_id GROUP BY 1 ORDER BY 1;
CALL flakeid.convert_undo('issues');
SELECT count(*) FROM issues JOIN journals ON issue_id = id AND id = n;
SELECT noteable_type, count(*), min(noteable_id), max(noteable_id) FROM notes GROUP BY 1 ORDER BY 1;
DROP TABLE issues, journals, notes;

-- Several tables by one call: each row is written once, and what is refused is said before anything changes
CREATE TABLE a (id serial PRIMARY KEY, up int REFERENCES a, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z');
CREATE TABLE b (id serial PRIMARY KEY, a_id int NOT NULL REFERENCES a, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z', UNIQUE (a_id, id));
CREATE TABLE c (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, a_id int NOT NULL, b_id int REFERENCES b, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z',
    FOREIGN KEY (a_id, b_id) REFERENCES b (a_id, id));
CREATE TABLE d (id bigserial PRIMARY KEY, a_id bigint REFERENCES a, c_id int REFERENCES c);
CREATE INDEX pairs ON c (a_id, b_id) WHERE b_id > 5;
CREATE INDEX shards ON c ((a_id % 10), (b_id % 10));
CREATE VIEW names AS SELECT coalesce(a_id, 0) AS a, CASE WHEN b_id > 2 THEN b_id ELSE 0 END AS b, c.id FROM c;
INSERT INTO a (up) SELECT nullif(n / 2, 0) FROM generate_series(1, 1000) n;
INSERT INTO b (a_id) SELECT id FROM a;
INSERT INTO c (a_id, b_id) SELECT a_id, id FROM b;
INSERT INTO d (a_id, c_id) SELECT a_id, id FROM c;
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CREATE FUNCTION pg_temp.joined() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM a JOIN b ON b.a_id = a.id JOIN c ON (c.a_id, c.b_id) = (b.a_id, b.id) JOIN d ON d.c_id = c.id AND d.a_id = a.id JOIN a AS u ON u.id = a.up
$$;
CREATE FUNCTION pg_temp.written() RETURNS TABLE (tab regclass, rows bigint) LANGUAGE sql AS $$
    SELECT t, pg_stat_get_tuples_updated(t) FROM unnest('{a,b,c,d}'::regclass[]) AS t
$$;
SELECT FROM pg_stat_force_next_flush();
SELECT * FROM pg_temp.written();
CREATE MATERIALIZED VIEW stands AS SELECT id FROM d;
SELECT tab, statement FROM flakeid.convert_plan_all('{a,b,c,d}') WHERE statement ~ '^-- refused|^UPDATE|lastval';
CALL flakeid.convert_all('{a,b,c,d}');
SELECT * FROM changed WHERE line !~ 'stands';
DROP MATERIALIZED VIEW stands;
-- what works with either key as it will be, and not with both
CREATE INDEX stands ON c ((a_id + b_id));
SELECT tab, statement FROM flakeid.convert_plan_all('{a,b}') WHERE statement ~ '^-- refused';
SELECT statement FROM flakeid.convert_plan('a') WHERE statement ~ '^-- refused';
DROP INDEX stands;
CALL flakeid.convert_all('{a,b,c,d}');
SELECT * FROM changes;
SELECT pg_temp.joined();
SELECT FROM pg_stat_force_next_flush();
SELECT * FROM pg_temp.written();
INSERT INTO d (a_id, c_id) SELECT a_id, id FROM c LIMIT 1 RETURNING id > 1000 AS made;
CALL flakeid.convert_all('{d,c,b,a}');
CALL flakeid.convert_undo_all('{a,b,c,d}');
SELECT * FROM changed;
SELECT pg_temp.joined();
-- with ids of their own time
CALL flakeid.convert_all('{a,b,c}', created_at => 'at', type => 'bigint');
SELECT pg_temp.joined(), (SELECT count(*) FROM c WHERE id <@ tstzrange('2025-03-03 12:00Z', '2025-03-03 12:01Z')) AS of_their_time;
SELECT count(*) FROM c JOIN c_id_map m ON m.new_id = c.id JOIN b_id_map n ON n.new_id = c.b_id AND n.old_id = m.old_id;
CALL flakeid.convert_undo_all('{a,b,c}');
SELECT * FROM changed;
SELECT pg_temp.joined();
-- stopped, where columns of all are there: only the first of them goes on, or all; each can be taken back
CREATE FUNCTION pg_temp.begin_all(tables regclass[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tab regclass;
    state jsonb;
BEGIN
    FOREACH tab IN ARRAY tables LOOP
        state := jsonb_build_object('list', tables::oid[], 'until', 'armed');
        WHILE state ? 'until' LOOP
            state := flakeid.convert_step(tab, NULL, NULL, NULL, NULL, NULL, false, state);
        END LOOP;
    END LOOP;
END
$$;
SELECT pg_temp.begin_all('{a,b,c}');
SELECT table_name, step FROM flakeid.conversions;
SELECT count(*) FROM pg_attribute WHERE attrelid = 'c'::regclass AND attname ~ 'flakeid_new' AND NOT attisdropped;
CALL flakeid.convert('c');
CALL flakeid.convert_all('{b,c,d}');
CALL flakeid.convert_undo('b');
SELECT attrelid::regclass, attname FROM pg_attribute WHERE attname ~ '^flakeid_new' AND NOT attisdropped AND attrelid IN ('a'::regclass, 'b'::regclass, 'c'::regclass) ORDER BY 1, 2;
CALL flakeid.convert('a');
CALL flakeid.convert_all('{a,b,c}');
SELECT pg_temp.joined();
CALL flakeid.convert_undo_all('{a,b,c}');
SELECT * FROM changed;
-- an index that was made before another conversion took its place is made anew
SELECT pg_temp.begin_all('{a,b,c}');
CREATE INDEX flakeid_new_pairs ON c (flakeid_new_a_id, id) WHERE id > 5;
CALL flakeid.convert_all('{a,b,c}');
SELECT pg_get_indexdef('pairs'::regclass);
CALL flakeid.convert_undo_all('{a,b,c}');
SELECT * FROM changed;
-- what one call cannot do
CREATE TABLE e (id serial PRIMARY KEY, a_or_c int REFERENCES a, FOREIGN KEY (a_or_c) REFERENCES c (id));
CALL flakeid.convert_all('{a,c,e}');
CREATE TABLE f (a_id int REFERENCES a);
CALL flakeid.convert_all('{a,f}');
CALL flakeid.convert_all('{a,NULL}');
SELECT * FROM changed WHERE line !~ ' [ef]';
DROP TABLE a, b, c, d, e, f CASCADE;

-- Partitions
CREATE TABLE events (id serial, at date NOT NULL, what text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2025-01-01') TO ('2025-02-01');
CREATE TABLE events_2 (what text, other int, at date NOT NULL, id int NOT NULL);
ALTER TABLE events_2 DROP other;
ALTER TABLE events ATTACH PARTITION events_2 FOR VALUES FROM ('2025-02-01') TO ('2026-01-01');
CREATE INDEX ON events (what, id);
CREATE INDEX only_here ON events_1 (id);
CREATE TABLE causes (event_id int, at date, FOREIGN KEY (event_id, at) REFERENCES events);
INSERT INTO events (at, what) SELECT '2025-01-01'::date + n / 10, n FROM generate_series(1, 1000) n;
INSERT INTO causes SELECT id, at FROM events;
CREATE TEMP TABLE events_before AS SELECT id, at, what FROM events;
TRUNCATE before;
INSERT INTO before SELECT * FROM pg_temp.looks();
CALL flakeid.convert('events', 'id');
SELECT * FROM changes WHERE change NOT LIKE '%constraint %causes'; -- since 18 VALIDATE reaches the parts of a foreign key
SELECT count(*) FROM events_before JOIN events USING (id, at, what) JOIN causes ON (event_id, causes.at) = (id, events.at);
INSERT INTO events (at, what) VALUES ('2025-02-02', 'new');
CALL flakeid.convert_undo('events', 'id');
-- (VALIDATE leaves the parts of a foreign key as they are)
SELECT * FROM changes WHERE change NOT LIKE '%constraint %causes';
SELECT count(*) FROM events_before JOIN events USING (id, at, what) JOIN causes ON (event_id, causes.at) = (id, events.at);
DROP TABLE causes;

-- What is refused, and by which name
RESET ROLE;
CREATE TABLE foreigner (event_id int, at date, FOREIGN KEY (event_id, at) REFERENCES events);
ALTER TABLE foreigner OWNER TO regress_reader;
SET ROLE regress_keeper;
SELECT statement FROM flakeid.convert_plan('events', 'id') WHERE statement LIKE '-- refused%';
RESET ROLE;
DROP TABLE foreigner;
SELECT statement FROM flakeid.convert_plan('events', 'id') WHERE statement LIKE '-- refused%';
SET ROLE regress_keeper;
DROP TABLE events;
CREATE TABLE blocked (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, doubled int GENERATED ALWAYS AS (id * 2) STORED, at timestamptz,
    during int4range, EXCLUDE USING btree (id WITH =));
CREATE TABLE child (blocked_id int REFERENCES blocked);
ALTER TABLE child ADD CONSTRAINT late CHECK (blocked_id > 0) NOT VALID;
CREATE MATERIALIZED VIEW stored AS SELECT id FROM blocked;
CREATE VIEW read AS SELECT id FROM blocked;
CREATE FUNCTION reads(read) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION ids() RETURNS SETOF int LANGUAGE sql BEGIN ATOMIC SELECT id FROM blocked; END;
CREATE TRIGGER any_change BEFORE UPDATE ON blocked FOR EACH ROW EXECUTE FUNCTION moved();
INSERT INTO blocked (at) VALUES (now() + interval '1 year'), (NULL), ('1999-01-01');
CREATE TABLE reader (r read, all_of_it read[], said text DEFAULT (ROW(1)::read)::text);
CREATE VIEW as_read AS SELECT ROW(1)::read AS r;
GRANT USAGE ON SCHEMA "Regress Shop" TO regress_reader;
GRANT SELECT ON read TO regress_reader WITH GRANT OPTION;
GRANT SELECT (id) ON blocked TO regress_reader WITH GRANT OPTION;
GRANT USAGE ON SEQUENCE blocked_id_seq TO regress_reader WITH GRANT OPTION;
RESET ROLE;
CREATE STATISTICS theirs ON id, at FROM blocked;
ALTER STATISTICS theirs OWNER TO regress_reader;
CREATE TABLESPACE regress_flakeid_space LOCATION '';
CREATE INDEX far ON blocked (at, id) TABLESPACE regress_flakeid_space;
CREATE SCHEMA regress_away;
CREATE VIEW regress_away.far AS SELECT id FROM blocked;
ALTER VIEW regress_away.far OWNER TO regress_keeper;
SET ROLE regress_reader;
GRANT SELECT ON read TO PUBLIC;
GRANT SELECT (id) ON blocked TO PUBLIC;
GRANT USAGE ON SEQUENCE blocked_id_seq TO PUBLIC;
SET ROLE regress_keeper;
SELECT statement FROM flakeid.convert_plan('blocked', created_at => 'at') WHERE statement LIKE '-- refused%' ;
CALL flakeid.convert('blocked');
CALL flakeid.convert('blocked', created_at => 'at', node => 5000, also => '{}');
SELECT statement FROM flakeid.convert_plan('child', 'blocked_id') WHERE statement LIKE '-- refused%';
DROP TABLE blocked, child, reader CASCADE;
RESET ROLE;
DROP SCHEMA regress_away;
DROP TABLESPACE regress_flakeid_space;
SET ROLE regress_keeper;
DO $$ BEGIN EXECUTE format('CREATE TABLE full_up (id serial PRIMARY KEY, %s)', (SELECT string_agg(format('c%s int', g), ', ') FROM generate_series(1, 1599) AS g)); END $$;
DO $$ BEGIN EXECUTE 'ALTER TABLE full_up ' || (SELECT string_agg(format('DROP c%s', g), ', ') FROM generate_series(1, 1598) AS g); END $$;
SELECT statement FROM flakeid.convert_plan('full_up') WHERE statement LIKE '-- refused%';
DROP TABLE full_up;
CREATE TABLE taken (id serial PRIMARY KEY, up int REFERENCES taken);
REVOKE ALL ON taken FROM regress_keeper;
CALL flakeid.convert('taken');
DROP TABLE taken;
-- and where a key has another name than an undo knows
CREATE TABLE renamed (id serial PRIMARY KEY, n int);
CALL flakeid.convert('renamed');
ALTER TABLE renamed RENAME id TO key;
CALL flakeid.convert_undo('renamed');
ALTER TABLE renamed RENAME COLUMN key TO id;
CALL flakeid.convert_undo('renamed');
DROP TABLE renamed;
CREATE TABLE above (id bigint PRIMARY KEY);
INSERT INTO above VALUES (9000000000000000000);
CALL flakeid.convert('above');
UPDATE above SET id = 4000000000000000000;
SELECT regexp_replace(regexp_replace(statement, 'DATABASE \S+', 'DATABASE d'), 'epoch=\d+', 'epoch=YEAR') FROM flakeid.convert_plan('above') WHERE statement LIKE '-- refused%';
BEGIN;
CALL flakeid.convert('above');
ROLLBACK;
CREATE TABLE two (a bigint DEFAULT 1, b bigint, PRIMARY KEY (a, b));
CALL flakeid.convert('two');
CALL flakeid.convert('two', 'c');
DROP TABLE above, two;

-- Nobody else writes what an undo reads, and nothing that is shadowed is used
CREATE TABLE mine (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
RESET ROLE;
CREATE SCHEMA shadow AUTHORIZATION regress_keeper;
GRANT USAGE ON SCHEMA "Regress Shop" TO regress_reader;
SET ROLE regress_keeper;
CREATE FUNCTION shadow.format(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''shadowed''; END';
CREATE FUNCTION shadow.never(text, text) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RAISE ''shadowed''; END';
CREATE OPERATOR shadow.= (LEFTARG = text, RIGHTARG = text, FUNCTION = shadow.never);
CREATE FUNCTION shadow.pg_sleep(float8) RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE ''shadowed''; END';
CREATE TABLE shadow.pg_class ();
SET search_path = shadow, pg_catalog, "Regress Shop", public;
CALL flakeid.convert('"Regress Shop".mine');
CALL flakeid.convert_undo('"Regress Shop".mine');
SET search_path = "Regress Shop", public;
SELECT pg_typeof(id) FROM (SELECT max(id) AS id FROM mine) m;
RESET ROLE;
SET ROLE regress_reader;
CALL flakeid.convert('"Regress Shop".mine');
RESET ROLE;
DROP SCHEMA "Regress Shop", shadow CASCADE;

-- Others
CREATE ROLE regress_thief;
CREATE SCHEMA regress_shop;
GRANT ALL ON SCHEMA regress_shop TO regress_keeper, regress_thief;
CREATE FUNCTION regress_shop.steal() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'code of the thief runs as %', current_user; RETURN NEW; END $$;
-- what somebody wrote about a table that is not his counts for nothing
SET ROLE regress_keeper;
CREATE TABLE regress_shop.safe (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n int);
INSERT INTO regress_shop.safe (n) VALUES (1);
SET ROLE regress_thief;
CREATE TABLE regress_shop.bait (id serial PRIMARY KEY);
CREATE FUNCTION regress_shop.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER zzzz_flakeid_fill_id BEFORE INSERT ON regress_shop.bait FOR EACH ROW EXECUTE FUNCTION regress_shop.nothing();
COMMENT ON FUNCTION regress_shop.nothing() IS
    'flakeid 1 {"way": "made", "type": "bigint", "from": "uuid", "table": "regress_shop.safe", "column": "id", "map": "regress_shop.safe; DROP TABLE regress_shop.safe", "block": 1e131071, "until": 1}';
RESET ROLE;
SELECT column_name, percent_of_it FROM flakeid.conversions WHERE table_name = 'regress_shop.safe';
SET ROLE regress_keeper;
CALL flakeid.convert_undo('regress_shop.safe');
-- nor is a table used that is there already under the name of a map
SET ROLE regress_thief;
CREATE TABLE regress_shop.safe_id_map (old_id uuid PRIMARY KEY, new_id bigint);
CREATE TRIGGER steal BEFORE INSERT ON regress_shop.safe_id_map FOR EACH ROW EXECUTE FUNCTION regress_shop.steal();
GRANT ALL ON regress_shop.safe_id_map TO PUBLIC;
SET ROLE regress_keeper;
CALL flakeid.convert('regress_shop.safe', also => '{}');
SELECT count(*) FROM regress_shop.safe JOIN regress_shop.safe_id_map_1 ON new_id = id;
CALL flakeid.convert_undo('regress_shop.safe');
SELECT to_regclass('regress_shop.safe_id_map'), to_regclass('regress_shop.safe_id_map_1');
-- nor has anybody rights by default on what a conversion makes for itself
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_shop GRANT ALL ON TABLES TO regress_thief;
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_shop GRANT ALL ON FUNCTIONS TO regress_thief;
SELECT regexp_replace(statement, '\d{4,}', 'N', 'g') AS statement FROM flakeid.convert_plan('regress_shop.safe', also => '{}') WHERE statement LIKE 'REVOKE%';
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_shop REVOKE ALL ON TABLES FROM regress_thief;
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_shop REVOKE ALL ON FUNCTIONS FROM regress_thief;
-- a superuser does nothing to a table that is not his, at no step
SET ROLE regress_thief;
DROP TRIGGER zzzz_flakeid_fill_id ON regress_shop.bait;
INSERT INTO regress_shop.bait VALUES (1);
SELECT flakeid.convert_step('regress_shop.bait', NULL, NULL, NULL, NULL, NULL, false, '{}') ? 'begun' AS begun;
CREATE TRIGGER steal BEFORE UPDATE ON regress_shop.bait FOR EACH ROW EXECUTE FUNCTION regress_shop.steal();
ALTER TABLE regress_shop.bait ENABLE ALWAYS TRIGGER steal;
RESET ROLE;
CALL flakeid.convert('regress_shop.bait');
CALL flakeid.convert_undo('regress_shop.bait');
CREATE VIEW regress_shop.lure AS SELECT 1 / 0 AS id;
ALTER VIEW regress_shop.lure OWNER TO regress_thief;
SELECT statement FROM flakeid.convert_plan('regress_shop.lure', 'id') WHERE statement LIKE '-- refused%';
-- and nothing of others is run to see whether it could read the column
SET ROLE regress_keeper;
CREATE TABLE regress_shop.read (id bigserial PRIMARY KEY);
SET ROLE regress_thief;
CREATE FUNCTION regress_shop.runs() RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'code of the thief runs as %', current_user; RETURN true; END $$;
CREATE VIEW regress_shop.peep AS SELECT id FROM regress_shop.read WHERE regress_shop.runs();
CREATE TABLE regress_shop.reader (n int);
ALTER TABLE regress_shop.reader ENABLE ROW LEVEL SECURITY;
CREATE POLICY peep ON regress_shop.reader USING (regress_shop.runs() AND EXISTS (SELECT FROM regress_shop.read AS r WHERE r.id = reader.n));
SET ROLE regress_keeper;
SELECT statement FROM flakeid.convert_plan('regress_shop.read') WHERE statement LIKE '-- refused%';
RESET ROLE;
DROP TABLE regress_shop.safe_id_map, regress_shop.bait, regress_shop.safe, regress_shop.read, regress_shop.reader CASCADE;
DROP FUNCTION regress_shop.runs();

-- What others do between the steps
SET ROLE regress_keeper;
SET search_path = regress_shop, public;
CREATE FUNCTION pg_temp.steps(tab regclass, n int) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    state jsonb;
BEGIN
    FOR i IN 1 .. n LOOP
        state := flakeid.convert_step(tab, NULL, NULL, NULL, NULL, NULL, false, state);
    END LOOP;
    RETURN state;
END
$$;
CREATE TABLE goods (id serial PRIMARY KEY, sku text);
CREATE TABLE wares (goods_id int REFERENCES goods, n int);
INSERT INTO goods (sku) SELECT n FROM generate_series(1, 100) n;
INSERT INTO wares SELECT id, id FROM goods;
SELECT pg_temp.steps('goods', 2) AS state \gset
-- an undo: the conversion does not begin again
CALL flakeid.convert_undo('goods');
SELECT flakeid.convert_step('goods', NULL, NULL, NULL, NULL, NULL, false, :'state');
-- another name
SELECT pg_temp.steps('goods', 2) ? 'begun' AS begun;
ALTER TABLE goods RENAME TO sold;
CALL flakeid.convert('sold');
CALL flakeid.convert_undo('sold');
SELECT count(*) FROM sold JOIN wares ON goods_id = sold.id;
ALTER TABLE sold RENAME TO goods;
-- another column of the same table
ALTER TABLE goods ADD other serial UNIQUE;
SELECT pg_temp.steps('goods', 2) ? 'begun' AS begun;
CALL flakeid.convert('goods', 'other');
-- a foreign key that is gone, a trigger that is off
ALTER TABLE wares DROP CONSTRAINT wares_goods_id_fkey;
CALL flakeid.convert('goods');
CALL flakeid.convert_undo('goods');
ALTER TABLE wares ADD FOREIGN KEY (goods_id) REFERENCES goods;
SELECT pg_temp.steps('goods', 2) ? 'begun' AS begun;
ALTER TABLE goods DISABLE TRIGGER zzzz_flakeid_fill_id;
CALL flakeid.convert('goods');
CALL flakeid.convert_undo('goods');
SELECT attrelid::regclass, attname FROM pg_attribute WHERE attname LIKE 'flakeid%' AND NOT attisdropped AND attrelid::regclass IN ('goods', 'wares');
-- what cannot follow
SELECT pg_temp.steps('goods', 2) ? 'begun' AS begun;
CREATE FUNCTION ids() RETURNS SETOF int LANGUAGE sql BEGIN ATOMIC SELECT id FROM goods; END;
CALL flakeid.convert('goods');
DROP FUNCTION ids;
CALL flakeid.convert('goods');
SELECT count(*) FROM goods JOIN wares ON goods_id = goods.id;
-- a function of its own that is gone: its error is told at once, and the conversion goes on once it is there again
CREATE FUNCTION named(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1; END $$;
CREATE TABLE kinds (id serial PRIMARY KEY, name text CHECK (named(name) <> ''));
INSERT INTO kinds (name) VALUES ('one');
SELECT pg_temp.steps('kinds', 1) ? 'begun' AS begun;
CREATE OR REPLACE FUNCTION named(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN regress_shop.other($1); END $$;
\set VERBOSITY sqlstate
CALL flakeid.convert('kinds');
\set VERBOSITY default
CREATE FUNCTION other(text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CALL flakeid.convert('kinds');
SELECT id, name FROM kinds;
DROP TABLE kinds;
DROP FUNCTION named, other;
-- no table any more
CALL flakeid.convert_undo('goods');
SELECT pg_temp.steps('goods', 2) AS state, 'goods'::regclass::oid AS gone \gset
DROP TABLE goods, wares;
\set VERBOSITY sqlstate
SELECT flakeid.convert_step(:gone, NULL, NULL, NULL, NULL, NULL, false, :'state');
\set VERBOSITY default
CALL flakeid.convert(NULL);
-- a partition that would bring rows after all rows were looked at
CREATE TABLE days (id serial, at int, PRIMARY KEY (id, at)) PARTITION BY LIST (at);
CREATE TABLE causes (day_id int, at int, FOREIGN KEY (day_id, at) REFERENCES days) PARTITION BY LIST (at);
CREATE TABLE days_1 PARTITION OF days FOR VALUES IN (1);
CREATE TABLE causes_1 PARTITION OF causes FOR VALUES IN (1);
INSERT INTO days VALUES (1, 1);
INSERT INTO causes VALUES (1, 1);
DO $$
BEGIN
    FOR i IN 1 .. 20 LOOP
        PERFORM flakeid.convert_step('days', 'id', NULL, NULL, NULL, NULL, false, '{"advised": true}');
        EXIT WHEN (SELECT memory ? 'analyzed' FROM flakeid.convert_fills('days'::regclass, 1::int2) LIMIT 1);
    END LOOP;
END
$$;
SELECT memory ? 'analyzed' AS analyzed FROM flakeid.convert_fills('days'::regclass, 1::int2) LIMIT 1;
CREATE TABLE causes_2 (LIKE causes);
INSERT INTO causes_2 VALUES (1, 2);
CREATE TABLE days_2 PARTITION OF days FOR VALUES IN (2);
INSERT INTO days VALUES (1, 2);
ALTER TABLE causes ATTACH PARTITION causes_2 FOR VALUES IN (2);
CALL flakeid.convert('days', 'id');
SELECT day_id, at FROM causes ORDER BY at;
DROP TABLE causes, causes_2, days;

-- Names that are alike until they are cut off; whatever says how statements are written, and what transactions see
CREATE TABLE n (id serial PRIMARY KEY, recipient_type text, recipient_id int, read_at int);
INSERT INTO n (read_at) VALUES (1), (2), (3);
CREATE INDEX index_notifications_on_recipient_type_and_recipient_id ON n (recipient_type, id);
CREATE INDEX index_notifications_on_recipient_type_and_recipient_id_read_at ON n (recipient_type, id, read_at);
SET quote_all_identifiers = on;
SET default_transaction_isolation = serializable;
CALL flakeid.convert('n');
CALL flakeid.convert('n');
RESET default_transaction_isolation;
RESET quote_all_identifiers;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'n'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT flakeid.first_real_id('n');
DROP TABLE n;
CREATE TABLE a_table_whose_name_is_as_long_as_the_server_lets_any_name_be_x1 (id serial PRIMARY KEY, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z');
INSERT INTO a_table_whose_name_is_as_long_as_the_server_lets_any_name_be_x1 VALUES (1);
CALL flakeid.convert('a_table_whose_name_is_as_long_as_the_server_lets_any_name_be_x1');
CALL flakeid.convert_undo('a_table_whose_name_is_as_long_as_the_server_lets_any_name_be_x1');
CALL flakeid.convert('a_table_whose_name_is_as_long_as_the_server_lets_any_name_be_x1', created_at => 'at', also => '{}');
SELECT count(*) FROM a_table_whose_name_is_as_long_as_the_server_lets_any_name_be_x1 JOIN a_table_whose_name_is_as_long_as_the_server_lets_any_name_b_map ON new_id = id;
DROP TABLE a_table_whose_name_is_as_long_as_the_server_lets_any_name_be_x1;
-- What reads under its lock is told
CREATE TABLE behind (tenant int, id serial, note text, PRIMARY KEY (tenant, id));
INSERT INTO behind SELECT 1, n, repeat('x', 1000) FROM generate_series(1, 21000) n;
SELECT substr(statement, 1, 100) AS statement, lasts FROM flakeid.convert_plan('behind', 'id') WHERE statement LIKE '-- No index%' OR statement LIKE 'SELECT %';
DROP TABLE behind;
-- A constraint of the user's stays as he left it where the column stays in its place
CREATE TABLE m (id bigserial PRIMARY KEY);
CREATE TABLE c (m_id bigint, k_id bigint);
INSERT INTO c VALUES (5);
ALTER TABLE c ADD CONSTRAINT old_rows FOREIGN KEY (m_id) REFERENCES m NOT VALID;
CALL flakeid.convert('m');
SELECT convalidated FROM pg_constraint WHERE conname = 'old_rows';
DROP TABLE c, m;
-- A column that refers to two tables
CREATE TABLE one (id uuid PRIMARY KEY);
CREATE TABLE other (id uuid PRIMARY KEY);
CREATE TABLE both_of_them (id uuid REFERENCES one REFERENCES other);
CALL flakeid.convert('one');
CREATE TABLE hidden (id bigserial PRIMARY KEY);
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CALL flakeid.convert('hidden');
-- Old rows that kept their ids do not get others later; nor does a column whose default somebody set anew
CREATE TABLE first (id serial PRIMARY KEY, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z');
INSERT INTO first DEFAULT VALUES;
CALL flakeid.convert('first');
CALL flakeid.convert('first', created_at => 'at', also => '{}');
ALTER TABLE first ALTER id SET DEFAULT nextval('first_id_seq');
SELECT step FROM flakeid.conversions WHERE table_name LIKE '%first';
CALL flakeid.convert('first');
INSERT INTO first DEFAULT VALUES RETURNING id > 1000;
CALL flakeid.convert_undo('first');
SELECT * FROM first ORDER BY id;
-- A column that followed goes back, also where its foreign key has gone since.
CREATE TABLE shelves (id serial PRIMARY KEY, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z');
CREATE TABLE lots (id bigserial PRIMARY KEY);
CREATE TABLE loads (shelf_id int REFERENCES shelves, lot_id bigint REFERENCES lots, other_id int, other text);
INSERT INTO shelves DEFAULT VALUES;
INSERT INTO lots DEFAULT VALUES;
INSERT INTO loads VALUES (1, 1, 1, 'shelf');
CALL flakeid.convert('shelves', created_at => 'at', also => '{"loads.other_id": "shelf_id = 1 AND other_id < 5"}');
CALL flakeid.convert('shelves', created_at => 'at', also => '{"loads.other_id": "other = ''shelf''"}');
CALL flakeid.convert('lots');
ALTER TABLE loads DROP CONSTRAINT loads_shelf_id_fkey, DROP CONSTRAINT loads_lot_id_fkey;
CALL flakeid.convert_undo('shelves');
CALL flakeid.convert_undo('lots');
SELECT pg_typeof(shelf_id), pg_typeof(lot_id), * FROM loads JOIN shelves ON shelves.id = shelf_id JOIN lots ON lots.id = lot_id;
DROP TABLE shelves, lots, loads;
-- A row without a key stays without one
CREATE TABLE partly (id uuid UNIQUE, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z');
INSERT INTO partly VALUES (gen_random_uuid()), (NULL);
CALL flakeid.convert('partly', 'id', also => '{}');
CALL flakeid.convert_undo('partly', 'id');
CALL flakeid.convert('partly', 'id', created_at => 'at', also => '{}');
SELECT count(*), count(id) AS with_id, count(*) FILTER (WHERE id <@ tstzrange('2025-03-03 12:00Z', '2025-03-03 12:01Z')) AS of_its_time FROM partly;
DROP TABLE partly;
-- Partitioning waits for a conversion, old rows do not get a node that is in use
CREATE TABLE posts (id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
INSERT INTO posts DEFAULT VALUES;
CALL flakeid.convert('posts', created_at => 'at', also => '{}', node => flake_node(flake_next()));
SELECT flakeid.convert_step('posts', NULL, 'at', NULL, NULL, '{}', false, '{}') ? 'begun' AS begun;
CALL flakeid.partition('posts', '1 month');
RESET ROLE;
DROP SCHEMA regress_shop CASCADE;
DROP ROLE regress_thief;

-- A table of the same name elsewhere stays as it is, with what refers to it
CREATE SCHEMA regress_shop;
CREATE SCHEMA regress_twin;
CREATE TABLE regress_shop.orders (id serial PRIMARY KEY);
CREATE TABLE regress_twin.orders (id serial PRIMARY KEY);
CREATE TABLE regress_twin.lines (order_id int REFERENCES regress_twin.orders);
CALL flakeid.convert('regress_shop.orders');
SELECT attrelid::regclass, atttypid::regtype FROM pg_attribute WHERE attrelid IN ('regress_shop.orders'::regclass, 'regress_twin.orders'::regclass, 'regress_twin.lines'::regclass) AND attname IN ('id', 'order_id') ORDER BY 1;
DROP SCHEMA regress_shop, regress_twin CASCADE;

-- What running programs notice, item by item of the list in the manual
CREATE SCHEMA regress_noticed;
SET search_path = regress_noticed, public;
CREATE TABLE small (id serial PRIMARY KEY, item text);
CREATE TABLE large (id bigserial PRIMARY KEY, item text);
CREATE TABLE plain (id bigserial PRIMARY KEY, item text);
INSERT INTO small (item) VALUES ('pen');
INSERT INTO large (item) VALUES ('pen');
INSERT INTO plain (item) VALUES ('pen');
CREATE FUNCTION reads() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN n := NEW.id; RETURN NEW; END $$;
CREATE TRIGGER reads BEFORE INSERT ON large FOR EACH ROW EXECUTE FUNCTION reads();
CREATE FUNCTION larges() RETURNS TABLE (n bigint) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT id FROM large; END $$;
CREATE FUNCTION plains() RETURNS TABLE (n bigint) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT id FROM plain; END $$;
INSERT INTO large (item) VALUES ('ink');
PREPARE pen AS SELECT * FROM small WHERE id = 1;
EXECUTE pen;
CALL flakeid.convert('small');
CALL flakeid.convert('plain', type => 'bigint');
CALL flakeid.convert('large');
\set VERBOSITY sqlstate
INSERT INTO small VALUES (3, 'cap');
SELECT count(*) FROM small WHERE id = 3;
SELECT * FROM small WHERE id = 1;
EXECUTE pen;
DEALLOCATE pen;
PREPARE pen AS SELECT * FROM small WHERE id = 1;
EXECUTE pen;
INSERT INTO large (item) VALUES ('cap');
\c -
SET client_min_messages = warning;
SET search_path = regress_noticed, public;
INSERT INTO large (item) VALUES ('cap');
SELECT lastval();
CREATE FUNCTION takes() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n int := NEW.id; BEGIN RETURN NEW; END $$;
CREATE TRIGGER takes BEFORE INSERT ON small FOR EACH ROW EXECUTE FUNCTION takes();
INSERT INTO small (item) VALUES ('cap');
SELECT larges();
SELECT id FROM large WHERE id = 1.0;
SELECT to_json(large) FROM large WHERE id = 1;
SELECT plains();
SELECT id FROM plain WHERE id = 1.0;
SELECT to_json(plain) FROM plain;
ALTER TABLE plain ALTER id SET DEFAULT nextval('plain_id_seq');
SELECT step FROM flakeid.conversions WHERE table_name = 'regress_noticed.plain';
CALL flakeid.convert('plain', type => 'bigint');
SELECT step FROM flakeid.conversions WHERE table_name = 'regress_noticed.plain';
\set VERBOSITY default
DROP SCHEMA regress_noticed CASCADE;

-- What was renamed, moved or dropped since, or has another owner, as a conversion left it
CREATE SCHEMA regress_moved AUTHORIZATION regress_keeper;
CREATE SCHEMA regress_moved_there AUTHORIZATION regress_keeper;
SET search_path = regress_moved, public;
SET ROLE regress_keeper;
CREATE TABLE keys (id serial PRIMARY KEY, at date DEFAULT '2025-03-03');
CREATE TABLE wide (id bigint REFERENCES keys, n int);
CREATE TABLE narrow (id smallint REFERENCES keys);
CREATE TABLE gone (key_id bigint);
CREATE TABLE loose (key_id bigint, kind text);
CREATE TABLE numbers (id numeric(20, 0) PRIMARY KEY);
CREATE TABLE lost (id int REFERENCES keys);
INSERT INTO keys SELECT FROM generate_series(1, 3);
INSERT INTO wide (id) VALUES (1);
INSERT INTO narrow VALUES (2);
INSERT INTO lost VALUES (2);
INSERT INTO loose VALUES (3, 'key'), (3, 'other');
CALL flakeid.convert('keys', created_at => 'at', also => '{"gone.key_id": null, "loose.key_id": "kind = ''key''"}');
CALL flakeid.convert('numbers');
ALTER TABLE wide RENAME TO wider;
ALTER TABLE wider RENAME id TO key_id;
ALTER TABLE narrow SET SCHEMA regress_moved_there;
ALTER TABLE loose RENAME TO looser;
ALTER TABLE numbers RENAME TO counts;
DROP TABLE gone;
ALTER TABLE lost DROP CONSTRAINT lost_id_fkey, DROP COLUMN flakeid_old_id;
ALTER TABLE keys SET SCHEMA regress_moved_there;
ALTER SEQUENCE regress_moved_there.keys_id_seq RENAME TO numbers_of_keys;
RESET ROLE;
ALTER TABLE keys_id_map OWNER TO regress_reader;
CALL flakeid.convert_undo('regress_moved_there.keys');
ALTER TABLE keys_id_map OWNER TO regress_keeper;
ALTER TABLE looser RENAME kind TO sort;
CALL flakeid.convert_undo('regress_moved_there.keys');
ALTER TABLE looser RENAME sort TO kind;
CALL flakeid.convert_undo('regress_moved_there.keys');
CALL flakeid.convert_undo('counts');
SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid IN ('wider'::regclass, 'regress_moved_there.narrow'::regclass, 'looser'::regclass, 'counts'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2;
SELECT * FROM wider;
SELECT * FROM lost;
INSERT INTO regress_moved_there.keys DEFAULT VALUES RETURNING id;
SELECT * FROM looser ORDER BY kind;
DROP SCHEMA regress_moved_there CASCADE;

-- Rights on what is asked for each row, or is made again; a view that only its session sees; another type
CREATE FUNCTION positive(bigint) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 0';
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
REVOKE EXECUTE ON FUNCTION positive, nothing FROM PUBLIC;
CREATE SCHEMA regress_hidden;
CREATE TYPE regress_hidden.color AS ENUM ('red');
CREATE SEQUENCE regress_hidden.numbers;
CREATE TABLE checked (id serial PRIMARY KEY, n int CHECK (positive(n)), color regress_hidden.color);
CREATE INDEX checked_positive ON checked (positive(n + 1));
CREATE TRIGGER nothing BEFORE UPDATE OF id ON checked FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE VIEW red AS SELECT id FROM checked WHERE color = 'red';
CREATE TABLE drawn (id int PRIMARY KEY DEFAULT nextval('regress_hidden.numbers'));
CREATE TABLE seen (id bigserial PRIMARY KEY);
ALTER TABLE checked OWNER TO regress_keeper;
ALTER VIEW red OWNER TO regress_keeper;
ALTER TABLE drawn OWNER TO regress_keeper;
ALTER TABLE seen OWNER TO regress_keeper;
INSERT INTO checked (n) VALUES (1);
CALL flakeid.convert('checked');
CALL flakeid.convert('drawn');
CALL flakeid.convert('seen', type => 'flake_sealed');
SET ROLE regress_keeper;
CREATE TEMPORARY VIEW mine AS SELECT id FROM seen;
CALL flakeid.convert('seen');
DROP VIEW mine;
RESET ROLE;
GRANT USAGE ON SCHEMA regress_hidden TO regress_keeper;
GRANT EXECUTE ON FUNCTION positive, nothing TO regress_keeper;
CALL flakeid.convert('checked');
CALL flakeid.convert_undo('checked');
SELECT id FROM checked;
DROP SCHEMA regress_moved, regress_hidden CASCADE;

-- Which epoch puts new ids above a number
SELECT flakeid.layout_above(1) = flakeid.layout_above(NULL) AS its_own, flakeid.layout_above(9000000000000000000);
SELECT flake_floor(now(), flakeid.layout_above(4000000000000000000)) > 4000000000000000000 AS above;
SET flakeid.layout = 'js53';
SELECT flake_floor(now(), flakeid.layout_above(2000000000000000000)) > 2000000000000000000 AS above,
       flakeid.layout_above(1) LIKE 'time:%' AS its_own;
-- A layout that can only be read makes no ids for a table, and none of its kind is offered.
SET flakeid.layout = 'cockroachdb';
SELECT flakeid.layout_above(1) LIKE '%sequence:%' AS makes_ids;
CREATE TABLE rows (id text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
INSERT INTO rows VALUES ('1134663890672549889');
CALL flakeid.convert('rows');
RESET flakeid.layout;
CALL flakeid.convert('rows');
SELECT id, id > 1134663890672549889 AS made FROM rows UNION ALL SELECT NULL, flake_next() > max(id) FROM rows;
DROP TABLE rows;

-- Backslashes are nothing else in a session that reads strings as of old, whose functions are read for the first time.
\c -
SET client_min_messages = warning;
DO $$ BEGIN SET standard_conforming_strings = off; SET escape_string_warning = off; EXCEPTION WHEN OTHERS THEN NULL; END $$; -- 19 has no other strings
CREATE SCHEMA regress_slashed AUTHORIZATION regress_keeper;
SET search_path = regress_slashed, public;
SET ROLE regress_keeper;
CREATE TABLE slashed (id serial PRIMARY KEY, at timestamptz NOT NULL DEFAULT '2025-03-03 12:00Z', n int);
CREATE INDEX slashed_n ON slashed (n) WHERE n <> 5;
INSERT INTO slashed (n) VALUES (1), (2);
CALL flakeid.convert('slashed', created_at => 'at', also => '{}');
CALL flakeid.convert_undo('slashed');
SELECT id, n FROM slashed;

RESET ROLE;
DROP OWNED BY regress_keeper;
DROP ROLE regress_keeper, regress_reader;
RESET ALL;
DROP EXTENSION flakeid, flakeid_tables;
