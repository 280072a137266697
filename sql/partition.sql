-- Partitions and retention by id: flakeid.partition(), flakeid.maintain() and what they tell.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
-- All of this happens on one day: on the next one, where this one ends soon.
SELECT pg_sleep_until(date_trunc('day', now() + interval '3 min'));
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION flakeid_tables CASCADE;
CREATE ROLE regress_flakeid_owner;
CREATE ROLE regress_flakeid_reader;
CREATE SCHEMA regress_flakeid_shop AUTHORIZATION regress_flakeid_owner;
SET search_path = regress_flakeid_shop, public;
SET ROLE regress_flakeid_owner;

-- A type that only has the name of ours could bring casts of its own, which run as whoever calls.
CREATE DOMAIN flake_sealed AS bigint;
CREATE TABLE forged (id regress_flakeid_shop.flake_sealed PRIMARY KEY);
CALL flakeid.partition('forged', '1 month');
DROP TABLE forged;
DROP DOMAIN flake_sealed;

-- Periods, names, and calls that make no sense
SELECT every, (flakeid.period_of('2026-11-25 14:25Z', every::interval, 'UTC')).starts AS starts, (flakeid.period_of('2026-11-25 14:25Z', every::interval, 'UTC')).ends AS ends,
       flakeid.period_name((flakeid.period_of('2026-11-25 14:25Z', every::interval, 'UTC')).starts, every::interval, 'UTC') AS name
FROM unnest(ARRAY['1 hour', '6 hours', '1 day', '7 days', '1 month', '3 months', '1 year']) AS every;
CREATE TABLE plain (id flake PRIMARY KEY);
CALL flakeid.partition('pg_class', '1 month');
CALL flakeid.partition('plain', '1 month 1 day');
CALL flakeid.partition('plain', '90 minutes');
CALL flakeid.partition('plain', '1 month', 0);
CALL flakeid.partition('plain', '1 month', keep => '-1 day');
CALL flakeid.partition('plain', '1 month', keep => '10000 years');
CALL flakeid.partition('plain', '500 years', ahead => 1000);
CALL flakeid.partition('plain', '1 month', layout => 'randflake');
CALL flakeid.partition(NULL, '1 month');
CALL flakeid.maintain('plain');
CREATE TABLE by_name (id flake, name text) PARTITION BY RANGE (name);
CALL flakeid.partition('by_name', '1 month');
CREATE TABLE several (id bigint, other bigint, PRIMARY KEY (id, other));
CALL flakeid.partition('several', '1 month');
DROP TABLE by_name, several;

-- A table that is partitioned already is only declared. What it needs is made from the period of now on, around what is there.
CREATE TABLE event (id flake PRIMARY KEY DEFAULT flake_next(), what text) PARTITION BY RANGE (id);
CREATE FUNCTION today(days int) RETURNS timestamptz LANGUAGE sql AS $$ SELECT date_trunc('day', now(), 'UTC') + days * interval '1 day' $$;
CREATE FUNCTION day_id(days float) RETURNS flake LANGUAGE sql AS $$ SELECT flake_floor(regress_flakeid_shop.today(0) + days * interval '1 day', 'snowflake') $$;
CREATE VIEW parts AS SELECT parent, CASE WHEN isfinite(from_time) THEN from_time - today(0) END AS begins, to_time - today(0) AS ends, attached, partition
    FROM flakeid.partitions;
SELECT flake_floor(today(1) + interval '12 hours', 'snowflake') AS noon, flake_floor(today(2), 'snowflake') AS night \gset
CREATE TABLE half PARTITION OF event FOR VALUES FROM (:noon) TO (:night);
CALL flakeid.partition('event', '1 day', ahead => 2);
SELECT begins, ends, attached, partition = format('event_%s', to_char(today(0) + begins, 'YYYY_MM_DD'))::regclass AS named
    FROM parts WHERE parent = 'event'::regclass AND partition <> 'half'::regclass ORDER BY 1;
SELECT DISTINCT parent, days_ahead BETWEEN 1.99 AND 3 AS ahead FROM flakeid.partitions;
CALL flakeid.maintain();
CALL flakeid.maintain('event');
SELECT count(*) FROM parts;
SELECT regexp_replace(obj_description(oid, 'pg_trigger'), '"since": "[^"]*"', '"since": ...') AS said FROM pg_trigger WHERE tgname = 'flakeid_partitions';
CALL flakeid.partition('event', '1 day', ahead => 3);
SELECT count(*) FROM parts;
-- the same by statements for psql
CALL flakeid.partition('event', '1 day', ahead => 3, keep => '2 days', drop_old => true);
CREATE TABLE old_1 PARTITION OF event FOR VALUES FROM (MINVALUE) TO (5);
CREATE TABLE old_2 PARTITION OF event FOR VALUES FROM (5) TO (6);
DROP TABLE half;
SELECT flakeid.maintain_plan('event');
RESET ROLE;
SET SESSION AUTHORIZATION regress_flakeid_owner;
SELECT regexp_replace(statement, '(_?\d{4}_\d\d_\d\d|''\d+'')', '?', 'g') FROM flakeid.maintain_plan('event') AS statement;
\set ECHO none
SELECT flakeid.maintain_plan('event') \gexec
\set ECHO all
SELECT flakeid.maintain_plan('event');
RESET SESSION AUTHORIZATION;
SET ROLE regress_flakeid_owner;
SELECT begins, ends FROM parts ORDER BY 1;

-- Old partitions are detached, or dropped too, and only these.
CREATE PROCEDURE old_days(days int) LANGUAGE plpgsql AS $$
BEGIN
    FOR d IN 1 .. days LOOP
        EXECUTE format('CREATE TABLE event_old_%s PARTITION OF event FOR VALUES FROM (%s) TO (%s)', d, regress_flakeid_shop.day_id(-d), regress_flakeid_shop.day_id(1 - d));
        EXECUTE format('INSERT INTO event_old_%s SELECT id + g, ''old'' FROM regress_flakeid_shop.day_id(-%1$s) AS id, generate_series(1, 10) AS g', d);
    END LOOP;
END
$$;
CALL old_days(5);
CALL flakeid.partition('event', '1 day', ahead => 2, keep => '3 days');
SELECT partition, begins, ends, attached FROM parts WHERE partition::text LIKE 'event_old%' ORDER BY partition::text;
SELECT count(*) FROM event_old_4;
CALL flakeid.partition('event', '1 day', ahead => 2, keep => '1 day', drop_old => true);
SELECT partition, begins, ends, attached FROM parts WHERE partition::text LIKE 'event_old%' ORDER BY partition::text;
SELECT regexp_replace(obj_description('event_old_5'::regclass), '"(at|since)": "[^"]*"', '"\1": ...', 'g') AS mark;
DROP TABLE event_old_4, event_old_5;

-- Rows that strayed into a default partition: they move, no trigger fires, those to come do not stray, and none is lost.
CREATE TABLE fired (what text);
GRANT INSERT ON fired TO regress_flakeid_reader;
CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO regress_flakeid_shop.fired VALUES (TG_OP); RETURN coalesce(NEW, OLD); END $$;
CREATE TABLE event_default PARTITION OF event DEFAULT;
CREATE TABLE what (name text PRIMARY KEY);
INSERT INTO what VALUES ('stray'), ('old');
ALTER TABLE event ADD n int GENERATED ALWAYS AS (length(what)) STORED, ADD FOREIGN KEY (what) REFERENCES what DEFERRABLE INITIALLY DEFERRED;
INSERT INTO event SELECT day_id(40 + g / 10.0) + 7, 'stray' FROM generate_series(1, 25) AS g;
INSERT INTO event VALUES (day_id(3.5), 'stray'), (5, 'stray');
CREATE TRIGGER fire BEFORE INSERT OR DELETE ON event FOR EACH ROW EXECUTE FUNCTION fire();
CREATE TRIGGER off AFTER INSERT OR DELETE ON event FOR EACH ROW EXECUTE FUNCTION fire();
ALTER TABLE event DISABLE TRIGGER off;
ALTER TABLE event ALTER what SET STATISTICS 7;
ALTER TABLE event ENABLE ROW LEVEL SECURITY;
CALL flakeid.partition('event', '1 day', ahead => 4);
SELECT count(*) FROM event_default;
SELECT begins, ends, (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM ' || partition, true, true, '')))[1] AS rows FROM parts WHERE begins >= '3 days' ORDER BY 1;
SELECT count(*), count(n) FROM event;
SELECT * FROM fired;
SELECT DISTINCT tgname, tgenabled FROM pg_trigger WHERE tgrelid IN (SELECT partition FROM parts WHERE begins >= '3 days' UNION SELECT 'event_default'::regclass) AND NOT tgisinternal ORDER BY 1;
SELECT DISTINCT attstattarget, relrowsecurity FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE attname = 'what' AND attrelid IN (SELECT partition FROM parts WHERE begins >= '40 days');
CALL flakeid.maintain('event');

-- Rows that a foreign key refers to stay; the job goes on, and the next ids have a partition.
DROP TRIGGER fire ON event;
CREATE TABLE line (event flake REFERENCES event ON DELETE CASCADE);
INSERT INTO event VALUES (day_id(5.25), 'stray'), (day_id(5.5), 'stray');
INSERT INTO line VALUES (day_id(5.25));
CALL flakeid.partition('event', '1 day', ahead => 5);
SELECT count(*) FROM event_default;
SELECT begins = '5 days 12:00:00' AS after_the_last, ends FROM parts WHERE ends = '6 days';
SELECT count(*) FROM line;
-- and so does a partition that is too old
SELECT format('CREATE TABLE event_old_9 PARTITION OF event FOR VALUES FROM (%s) TO (%s)', day_id(-401), day_id(-400)) AS statement \gset
:statement;
INSERT INTO event VALUES (day_id(-400.5), 'old');
INSERT INTO line VALUES (day_id(-400.5));
\set VERBOSITY terse
CALL flakeid.partition('event', '1 day', ahead => 5, keep => '1 year', drop_old => true);
\set VERBOSITY default
SELECT count(*) AS attached FROM parts WHERE partition = 'event_old_9'::regclass AND attached;
SELECT count(*) AS lines FROM line;
DROP TABLE line;
DROP TABLE event;
SELECT count(*) FROM flakeid.partitions;

-- A plain table with all that may hang on one becomes partitioned, and is as it was.
CREATE TABLE customer (id bigint PRIMARY KEY, name text);
INSERT INTO customer SELECT g, 'c' || g FROM generate_series(1, 10) AS g;
CREATE TABLE "Order" (
    id flake PRIMARY KEY DEFAULT flake_next(),
    number int GENERATED ALWAYS AS IDENTITY (START 100 INCREMENT 10),
    slip serial,
    customer bigint NOT NULL CONSTRAINT "of whom" REFERENCES customer DEFERRABLE,
    "full" text DEFAULT 'x',
    half text GENERATED ALWAYS AS (left("full", 3)) STORED,
    price numeric CHECK (price > 0),
    UNIQUE (id, number) DEFERRABLE
) WITH (fillfactor = 70, autovacuum_enabled = false);
CREATE INDEX by_customer ON "Order" (customer) INCLUDE (price) WITH (fillfactor = 80) WHERE price > 1;
CREATE UNIQUE INDEX "by it" ON "Order" (lower("full"), id DESC);
ALTER INDEX "by it" ALTER 1 SET STATISTICS 70;
CREATE INDEX brin ON "Order" USING brin (id);
CREATE STATISTICS together ON customer, price FROM "Order";
CREATE INDEX an_index_whose_name_is_as_long_as_the_server_lets_any_name_be_1 ON "Order" (price);
CREATE INDEX an_index_whose_name_is_as_long_as_the_server_lets_any_name_be_2 ON "Order" (price);
CREATE STATISTICS statistics_whose_name_is_as_long_as_the_server_lets_any_be_one ON id, price FROM "Order";
CREATE STATISTICS statistics_whose_name_is_as_long_as_the_server_lets_any_be_two ON id, customer FROM "Order";
CREATE TABLE "order line" ("order" flake NOT NULL REFERENCES "Order" ON DELETE CASCADE, n int);
CREATE TABLE note (about bigint CONSTRAINT "about it" REFERENCES "Order" ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED, what text);
CREATE VIEW cheap WITH (security_barrier) AS SELECT id, price FROM "Order" WHERE price < 10 WITH LOCAL CHECK OPTION;
CREATE VIEW cheaper AS SELECT * FROM cheap WHERE price < 5;
CREATE TRIGGER each BEFORE UPDATE OF price ON "Order" FOR EACH ROW WHEN (NEW.price > 100) EXECUTE FUNCTION fire();
CREATE TRIGGER every AFTER INSERT ON "Order" REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION fire();
CREATE CONSTRAINT TRIGGER later AFTER DELETE ON "Order" DEFERRABLE FOR EACH ROW EXECUTE FUNCTION fire();
ALTER TABLE "Order" DISABLE TRIGGER each, ENABLE ALWAYS TRIGGER later;
ALTER TABLE "Order" ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON "Order" TO regress_flakeid_reader USING (customer > 0 AND EXISTS (SELECT FROM customer AS c WHERE c.id = "Order".customer)) WITH CHECK (price > 1);
CREATE POLICY most ON "Order" AS RESTRICTIVE FOR SELECT USING (customer < 10);
GRANT SELECT, INSERT ON "Order" TO regress_flakeid_reader WITH GRANT OPTION;
GRANT UPDATE (price, "full") ON "Order" TO regress_flakeid_reader;
GRANT SELECT ON customer, cheap TO regress_flakeid_reader;
GRANT USAGE ON SCHEMA regress_flakeid_shop TO regress_flakeid_reader;
GRANT USAGE ON SEQUENCE "Order_slip_seq" TO regress_flakeid_reader;
REVOKE TRUNCATE ON "Order" FROM regress_flakeid_owner;
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_flakeid_shop GRANT DELETE ON TABLES TO PUBLIC;
ALTER TABLE "Order" ALTER price SET STATISTICS 200, ALTER customer SET (n_distinct = 10), ALTER "full" SET STORAGE EXTERNAL;
ALTER TABLE "Order" REPLICA IDENTITY USING INDEX "Order_pkey";
COMMENT ON TABLE "Order" IS 'what''s ordered';
COMMENT ON COLUMN "Order".price IS 'a price';
COMMENT ON CONSTRAINT "of whom" ON "Order" IS 'a customer';
COMMENT ON CONSTRAINT "about it" ON note IS 'an order';
COMMENT ON TRIGGER later ON "Order" IS 'a trigger';
COMMENT ON POLICY own ON "Order" IS 'a policy';
COMMENT ON INDEX by_customer IS 'an index';
COMMENT ON INDEX "Order_pkey" IS 'an index of a key';
COMMENT ON SEQUENCE "Order_number_seq" IS 'numbers';
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_flakeid_shop GRANT USAGE ON SEQUENCES TO regress_flakeid_reader;
COMMENT ON STATISTICS together IS 'statistics';
RESET ROLE;
SET client_min_messages = error;
CREATE PUBLICATION regress_flakeid_orders FOR TABLE "Order" (id, price) WHERE (customer > 5) WITH (publish = 'insert', publish_via_partition_root);
ALTER PUBLICATION regress_flakeid_orders OWNER TO regress_flakeid_owner;
SET ROLE regress_flakeid_owner;
INSERT INTO "Order" (customer, price) SELECT g % 10 + 1, g FROM generate_series(1, 1000) AS g;
SET client_min_messages = warning;
INSERT INTO "order line" SELECT id, 1 FROM "Order" WHERE price <= 500;
INSERT INTO note SELECT id, 'n' FROM "Order" WHERE price > 900;

-- What the catalogs say of the table and of what names it.
CREATE FUNCTION portrait() RETURNS SETOF text LANGUAGE sql SET search_path = regress_flakeid_shop, public AS $$
    SELECT format('column %s %s not null %s default %s identity %s storage %s statistics %s options %s rights %s comment %s', attname, atttypid::regtype, attnotnull,
            pg_get_expr(adbin, adrelid), attidentity, attstorage, attstattarget, (SELECT array_agg(o) FROM unnest(attoptions) AS o WHERE o NOT LIKE 'pg%'), (SELECT array_agg(a::text ORDER BY a::text) FROM unnest(attacl) AS a), col_description(attrelid, attnum))
        FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = '"Order"'::regclass AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT format('constraint %s %s valid %s of %s comment %s', conname, pg_get_constraintdef(oid), convalidated, conrelid::regclass, obj_description(oid, 'pg_constraint'))
        FROM pg_constraint WHERE '"Order"'::regclass IN (conrelid, confrelid) AND contype IN ('p', 'u', 'c', 'f') AND conparentid = 0
    UNION ALL SELECT format('index %s options %s valid %s identity %s comment %s statistics %s', replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON '), reloptions, indisvalid, indisreplident, obj_description(indexrelid, 'pg_class'), (SELECT string_agg(attstattarget::text, ' ') FROM pg_attribute WHERE attrelid = indexrelid AND attstattarget >= 0))
        FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid = '"Order"'::regclass
    UNION ALL SELECT format('trigger %s enabled %s comment %s', pg_get_triggerdef(oid), tgenabled, regexp_replace(obj_description(oid, 'pg_trigger'), '"since": "[^"]*"', '"since": ...')) FROM pg_trigger WHERE tgrelid = '"Order"'::regclass AND NOT tgisinternal
    UNION ALL SELECT format('policy %s %s %s to %s using %s check %s comment %s', polname, polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid), obj_description(oid, 'pg_policy'))
        FROM pg_policy WHERE polrelid = '"Order"'::regclass
    UNION ALL SELECT format('rights %s security %s %s owner %s identity %s comment %s', (SELECT array_agg(a::text ORDER BY a::text) FROM unnest(relacl) AS a),
            relrowsecurity, relforcerowsecurity, relowner::regrole, relreplident, obj_description(oid, 'pg_class')) FROM pg_class WHERE oid = '"Order"'::regclass
    UNION ALL SELECT format('statistics %s comment %s', pg_get_statisticsobjdef(oid), obj_description(oid, 'pg_statistic_ext')) FROM pg_statistic_ext WHERE stxrelid = '"Order"'::regclass
    UNION ALL SELECT format('publication %s %s %s %s', pubname, tablename, attnames, rowfilter) FROM pg_publication_tables WHERE tablename IN ('Order') OR pubname = 'regress_flakeid_orders'
    UNION ALL SELECT format('view %s %s %s %s', oid::regclass, reloptions, relacl, pg_get_viewdef(oid)) FROM pg_class WHERE relname IN ('cheap', 'cheaper')
    UNION ALL SELECT format('sequence %s of %s %s rights %s comment %s', objid::regclass, refobjid::regclass, seqstart, coalesce(relacl, acldefault('s', relowner)), obj_description(objid, 'pg_class')) FROM pg_depend JOIN pg_sequence ON seqrelid = objid JOIN pg_class ON pg_class.oid = objid WHERE refobjid = '"Order"'::regclass AND deptype IN ('a', 'i')
$$;
CREATE TABLE before AS SELECT p AS line FROM portrait() AS p;
CREATE TABLE rows_before AS SELECT * FROM "Order";
SELECT count(*) > 20 AS lines FROM before;
\set VERBOSITY terse
CALL flakeid.partition('"Order"', '1 month', ahead => 2);
\set VERBOSITY default
SELECT relkind FROM pg_class WHERE oid = '"Order"'::regclass;
(TABLE before EXCEPT SELECT portrait()) UNION ALL SELECT '-- new' UNION ALL (SELECT portrait() EXCEPT TABLE before);
(TABLE rows_before EXCEPT TABLE "Order") UNION ALL (TABLE "Order" EXCEPT TABLE rows_before);
SELECT count(*) FROM "Order";
SELECT count(*) FROM cheaper;
INSERT INTO "Order" (customer, price) VALUES (1, 3) RETURNING number, slip, half;
SELECT count(*) FROM cheaper;
SELECT what, count(*) FROM fired GROUP BY 1;
INSERT INTO "order line" VALUES (77, 1);
DELETE FROM "Order" WHERE price = 1;
SELECT count(*) FROM "order line";
-- the next partitions have what the first has
SELECT count(*), count(DISTINCT (reloptions, relrowsecurity, relreplident)) AS kinds FROM pg_class WHERE oid IN (SELECT partition FROM flakeid.partitions);
SELECT count(*) AS partitions, count(DISTINCT indexes) AS kinds FROM (SELECT indrelid, count(*) AS indexes FROM pg_index WHERE indrelid IN (SELECT partition FROM flakeid.partitions) GROUP BY 1) i;
SELECT conname FROM pg_constraint WHERE conname LIKE 'flakeid%';
SET ROLE regress_flakeid_reader;
SELECT count(*) FROM "Order";
INSERT INTO "Order" (customer, price) VALUES (1, 1);
INSERT INTO "Order" (customer, price) VALUES (1, 2);
RESET ROLE;
SET ROLE regress_flakeid_owner;
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_flakeid_shop REVOKE DELETE ON TABLES FROM PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_flakeid_shop REVOKE USAGE ON SEQUENCES FROM regress_flakeid_reader;
DROP TABLE "Order", "order line", note, before, rows_before CASCADE;

-- So do their indexes, also where columns of the parent have other numbers
CREATE TABLE marked (gone int, id flake PRIMARY KEY DEFAULT flake_next(), n int NOT NULL);
ALTER TABLE marked ADD CONSTRAINT deferred UNIQUE (n, id) DEFERRABLE;
CREATE UNIQUE INDEX told ON marked (n, id);
CREATE INDEX sorted ON marked ((n % 10), id DESC);
ALTER TABLE marked REPLICA IDENTITY USING INDEX told;
ALTER TABLE marked CLUSTER ON sorted;
CALL flakeid.partition('marked', '1 month', ahead => 1);
ALTER TABLE marked DROP COLUMN gone;
CALL flakeid.partition('marked', '1 month', ahead => 4);
SELECT h.inhparent::regclass AS index, count(*) FILTER (WHERE i.indisreplident) AS identity, count(*) FILTER (WHERE i.indisclustered) AS clustered
    FROM pg_partition_tree('marked') AS t JOIN pg_index AS i ON i.indrelid = t.relid JOIN pg_inherits AS h ON h.inhrelid = i.indexrelid
    WHERE t.isleaf GROUP BY 1 ORDER BY h.inhparent::regclass::text COLLATE "C";
DROP TABLE marked;

-- A table that refers to a partitioned one; names that the server gives to parts of foreign keys
CREATE TABLE shop (id int PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE shop_1 PARTITION OF shop FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TABLE sale (id flake PRIMARY KEY DEFAULT flake_next(), shop int REFERENCES shop ON DELETE CASCADE);
INSERT INTO shop VALUES (1);
INSERT INTO sale (shop) VALUES (1);
CREATE TABLE part (sale flake REFERENCES sale, FOREIGN KEY (sale) REFERENCES sale ON DELETE CASCADE);
CALL flakeid.partition('sale', '1 month');
ALTER TABLE part RENAME CONSTRAINT part_sale_fkey TO refers;
ALTER TABLE part RENAME CONSTRAINT part_sale_fkey1 TO cascades;
CALL flakeid.partition('sale', '1 month');
DELETE FROM shop;
SELECT count(*) FROM sale;
DROP TABLE shop, sale, part;

-- What cannot be kept is named before anything is done.
CREATE TABLE parent (a int);
CREATE TABLE bad (id flake PRIMARY KEY DEFAULT flake_next(), code text UNIQUE, during tstzrange, up flake REFERENCES bad, other bigint,
    EXCLUDE USING gist (during WITH &&), CHECK (code <> '') NO INHERIT) INHERITS (parent);
ALTER TABLE bad ADD CHECK (code > 'a') NOT VALID;
CREATE MATERIALIZED VIEW of_it AS SELECT id FROM bad;
CREATE TABLE whole (b bad);
CREATE FUNCTION uses() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM regress_flakeid_shop.bad; END;
CREATE RULE quiet AS ON DELETE TO bad DO ALSO NOTIFY gone;
CREATE VIEW seen AS SELECT b FROM bad AS b;
GRANT SELECT ON bad TO regress_flakeid_reader WITH GRANT OPTION;
GRANT UPDATE (other) ON bad TO regress_flakeid_reader WITH GRANT OPTION;
RESET ROLE;
SET ROLE regress_flakeid_reader;
GRANT SELECT ON bad TO PUBLIC;
GRANT UPDATE (other) ON bad TO PUBLIC;
RESET ROLE;
CREATE STATISTICS theirs_too ON id, other FROM bad;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_flakeid_space LOCATION '';
CREATE INDEX far ON bad (other) TABLESPACE regress_flakeid_space;
CREATE SCHEMA regress_flakeid_away;
CREATE STATISTICS regress_flakeid_away.far ON id, other FROM bad;
CREATE TABLE foreigner (bad flake REFERENCES bad);
CREATE VIEW theirs AS SELECT id FROM bad;
SET client_min_messages = error;
CREATE PUBLICATION regress_flakeid_leaves FOR TABLE bad;
SET client_min_messages = warning;
ALTER SCHEMA regress_flakeid_shop OWNER TO CURRENT_USER;
GRANT USAGE ON SCHEMA regress_flakeid_shop TO regress_flakeid_owner;
SET ROLE regress_flakeid_owner;
CALL flakeid.partition('bad', '1 month');
SELECT count(*) FROM pg_constraint WHERE conname = 'flakeid_partition';
RESET ROLE;
ALTER SCHEMA regress_flakeid_shop OWNER TO regress_flakeid_owner;
DROP PUBLICATION regress_flakeid_leaves, regress_flakeid_orders;
DROP TABLE parent, whole CASCADE;
DROP TABLE foreigner;
DROP SCHEMA regress_flakeid_away;
DROP TABLESPACE regress_flakeid_space;
SET ROLE regress_flakeid_owner;
CREATE UNLOGGED TABLE fast (id flake PRIMARY KEY);
CALL flakeid.partition('fast', '1 month');
CREATE TABLE nulls (id flake);
CALL flakeid.partition('nulls', '1 month');
INSERT INTO plain VALUES (flake_floor('2069-01-01Z'::timestamptz, 'snowflake'));
CALL flakeid.partition('plain', '1 month');
DROP TABLE fast, nulls, plain;
BEGIN;
CREATE TABLE inside (id flake PRIMARY KEY);
CALL flakeid.partition('inside', '1 month');
ROLLBACK;

-- Bigint keys too, and no primary key; the layout that the default names
CREATE TABLE big (id bigint NOT NULL DEFAULT flake_next('tsid'), n int, PRIMARY KEY (id, n));
SET quote_all_identifiers = on;
CALL flakeid.partition('big', '1 day', ahead => 2);
RESET quote_all_identifiers;
-- Steps of a call that waited for its locks while another one partitioned the table: they find nothing to do
SELECT count(action) FROM pg_partition_tree('big') AS t, flakeid.partition_fence(t.relid, 1);
SELECT count(action) FROM flakeid.partition_validate('big', 'big', 'flakeid_partition');
SELECT count(*) FROM pg_constraint WHERE conname = 'flakeid_partition';
SELECT layout FROM flakeid.partition_declared('big');
SELECT begins, ends FROM parts ORDER BY 2;
DROP TABLE big;
-- Ids that another program makes, of a layout that is only read
CREATE TABLE rowids (id bigint PRIMARY KEY, at timestamptz DEFAULT now());
INSERT INTO rowids VALUES (flake_make(now(), 1, 0, 'cockroachdb'));
CALL flakeid.partition('rowids', '1 day', ahead => 4, keep => '1 month', layout => 'cockroachdb');
INSERT INTO rowids VALUES (flake_make(now() + interval '3 days', 3, 0, 'cockroachdb'), now() + interval '3 days');
SELECT count(*), count(DISTINCT p.partition) AS partitions, bool_and(at >= from_time AND at < to_time) AS in_its_period
    FROM rowids AS r JOIN flakeid.partitions AS p ON p.partition = r.tableoid;
ALTER TABLE rowids ALTER id SET DEFAULT flake_next('cockroachdb');
INSERT INTO rowids DEFAULT VALUES;
DROP TABLE rowids;
CREATE TABLE heap (id flake NOT NULL DEFAULT flake_next(), n bigint NOT NULL);
CALL flakeid.partition('heap', '1 day', ahead => 2);
SELECT count(*) FROM parts;

-- Only its owner does anything to a table, and a superuser with the owner's rights.
CREATE TABLE heap_default PARTITION OF heap DEFAULT;
INSERT INTO heap VALUES (day_id(30), 1);
SET ROLE regress_flakeid_reader;
CALL flakeid.partition('regress_flakeid_shop.heap', '1 day');
CALL flakeid.maintain('regress_flakeid_shop.heap');
CALL flakeid.maintain();
SELECT flakeid.partition_declare('regress_flakeid_shop.heap', '{"every": "1 hour", "ahead": 1, "keep": "1 hour", "layout": "snowflake"}');
COMMENT ON TRIGGER flakeid_partitions ON regress_flakeid_shop.heap IS 'flakeid 1 {"every": "1 hour", "ahead": 1, "keep": "1 hour", "layout": "snowflake"}';
RESET ROLE;
CALL flakeid.partition('heap', '1 day', ahead => 6);
SELECT DISTINCT relowner::regrole FROM pg_class WHERE oid IN (SELECT partition FROM flakeid.partitions);
SELECT count(*) FROM heap_default;
SET ROLE regress_flakeid_owner;
CALL flakeid.maintain();
SELECT count(*) FROM heap_default;
DROP TABLE heap;

-- A schema in the path where somebody waits with what the code might call
CREATE TABLE target (id flake PRIMARY KEY DEFAULT flake_next());
RESET ROLE;
CREATE SCHEMA regress_flakeid_trap;
CREATE FUNCTION regress_flakeid_trap.trapped() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE FUNCTION regress_flakeid_trap.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT regress_flakeid_trap.trapped()::timestamptz $$;
CREATE FUNCTION regress_flakeid_trap.format(text, text) RETURNS text LANGUAGE sql AS $$ SELECT regress_flakeid_trap.trapped() $$;
CREATE FUNCTION regress_flakeid_trap.set_config(text, text, bool) RETURNS text LANGUAGE sql AS $$ SELECT regress_flakeid_trap.trapped() $$;
CREATE FUNCTION regress_flakeid_trap.arrow(jsonb, text) RETURNS text LANGUAGE sql AS $$ SELECT regress_flakeid_trap.trapped() $$;
CREATE OPERATOR regress_flakeid_trap.->> (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = regress_flakeid_trap.arrow);
CREATE FUNCTION regress_flakeid_trap.same(name, name) RETURNS bool LANGUAGE sql AS $$ SELECT regress_flakeid_trap.trapped() IS NULL $$;
CREATE OPERATOR regress_flakeid_trap.<> (LEFTARG = name, RIGHTARG = name, FUNCTION = regress_flakeid_trap.same);
CREATE DOMAIN regress_flakeid_trap.text AS pg_catalog.int4;
CREATE DOMAIN regress_flakeid_trap.jsonb AS pg_catalog.int4;
SET search_path = regress_flakeid_trap, regress_flakeid_shop, public, pg_catalog;
CALL flakeid.partition('target', '1 day');
CALL flakeid.maintain();
CALL flakeid.maintain('target');
RESET ROLE;
SET SESSION AUTHORIZATION regress_flakeid_owner;
SELECT pg_catalog.count(*) FROM flakeid.maintain_plan('target');
RESET SESSION AUTHORIZATION;
SELECT pg_catalog.count(*) FROM flakeid.partitions;
SET search_path = regress_flakeid_shop, public;
SET client_min_messages = error;
DROP SCHEMA regress_flakeid_trap CASCADE;
SET client_min_messages = warning;
DROP TABLE target;

-- Time search for every layout: the same plans, and the same estimates, as those of the same comparison.
CREATE TABLE reading (id flake PRIMARY KEY, n int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE reading_%s PARTITION OF reading FOR VALUES FROM (%s) TO (%s)', m,
              flake_floor('2026-01-01Z'::timestamptz + (m - 1) * interval '1 month', 'tsid'),
              flake_floor('2026-01-01Z'::timestamptz + m * interval '1 month', 'tsid'))
    FROM generate_series(1, 12) AS m
\set ECHO none
\gexec
\set ECHO all
INSERT INTO reading SELECT flake_make('2026-01-01Z'::timestamptz + g * interval '1 hour', 0, 0, 'tsid'), g FROM generate_series(0, 8759) AS g;
ANALYZE reading;
EXPLAIN (COSTS OFF) SELECT * FROM reading WHERE flake_in_range(id, '[2026-05-03Z,2026-05-04Z)', 'tsid');
SELECT count(*) FROM reading WHERE flake_in_range(id, '[2026-05-03Z,2026-05-04Z)', 'tsid');
PREPARE a_day(tstzrange) AS SELECT count(*) FROM reading WHERE flake_in_range(id, $1, 'tsid');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE a_day('[2026-05-03Z,2026-05-04Z)');
EXECUTE a_day('[2026-05-03Z,2026-05-04Z)');
RESET plan_cache_mode;
CREATE TABLE moment (during tstzrange, layout text);
INSERT INTO moment VALUES ('[2026-05-03Z,2026-05-04Z)', 'tsid'), ('[2026-06-03Z,2026-06-03Z]', 'tsid'), ('[2026-06-03Z,2026-06-04Z)', 'snowflake'), (NULL, 'tsid');
CREATE FUNCTION scans(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line LIKE '%never executed%' THEN
            RETURN NEXT 'never executed';
        ELSIF line LIKE '% on reading%' THEN
            RETURN NEXT substring(line FROM ' on (reading_\d+)');
        END IF;
    END LOOP;
END
$$;
SELECT scan, count(*) FROM scans('SELECT count(*) FROM (SELECT * FROM moment LIMIT 1) AS m JOIN reading ON flake_in_range(id, during, layout)') AS scan GROUP BY 1;
SELECT during, layout, count(n) FROM moment LEFT JOIN reading ON flake_in_range(id, during, layout) GROUP BY 1, 2 ORDER BY 1, 2;
CREATE FUNCTION estimate(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT * FROM regress_flakeid_shop.' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END
$$;
CREATE TABLE same AS SELECT * FROM reading;
ANALYZE same;
SET flakeid.layout = 'tsid';
SELECT during, estimate(format('reading WHERE flake_in_range(id, %L, ''tsid'')', during)) AS function,
       estimate(format('reading WHERE id >= %s AND id <= %s', flake_range_floor(during), flake_range_ceil(during))) AS comparison,
       estimate(format('same WHERE id <@ %L::tstzrange', during)) AS operator, estimate(format('same WHERE flake_in_range(id, %L, ''tsid'')', during)) AS function,
       estimate(format('same WHERE id >= %s AND id <= %s', flake_range_floor(during), flake_range_ceil(during))) AS comparison
FROM unnest(ARRAY['[2026-05-03Z,2026-05-04Z)', '[2026-05-03Z,2026-08-04Z)', '[2026-02-01Z,)', '(,2026-03-01Z)', 'empty']::tstzrange[]) AS during;
RESET flakeid.layout;

-- Rows a day without a scan
SELECT count(*), sum(rows), min(rows) BETWEEN 20 AND 28 AS least, max(rows) BETWEEN 20 AND 28 AS most, min(day), max(day) FROM flakeid.rows_per_day('reading', 'tsid');
CREATE TABLE unknown (id flake);
SELECT count(*) FROM flakeid.rows_per_day('unknown');

-- Sealed keys: for who may seal and unseal
-- Names with a quote
CREATE TABLE "day's" ("id's" flake PRIMARY KEY DEFAULT flake_next(), n int);
INSERT INTO "day's" SELECT FROM generate_series(1, 10);
CALL flakeid.partition('"day''s"', '1 month');
SELECT count(*), count("id's") FROM "day's";
DROP TABLE "day's";
RESET ROLE;
\set ECHO none
\set file :abs_srcdir '/test/sql/secret.sql'
\i :file
SELECT pg_temp.secret_file('00112233445566778899aabbccddeeff') AS secret_file \gset
\set ECHO all
SET flakeid.secret_file = :'secret_file';
SET ROLE regress_flakeid_owner;
CREATE TABLE hidden (id flake_sealed PRIMARY KEY DEFAULT flake_next(), n int);
INSERT INTO hidden SELECT FROM generate_series(1, 100);
CALL flakeid.partition('hidden', '1 day', ahead => 2);
RESET ROLE;
GRANT EXECUTE ON FUNCTION flake_seal(bigint), flake_unseal(flake_sealed), flake_in_range(flake_sealed, tstzrange) TO regress_flakeid_owner;
SET ROLE regress_flakeid_owner;
CALL flakeid.partition('hidden', '1 day', ahead => 3);
CREATE TABLE hidden_default PARTITION OF hidden DEFAULT;
INSERT INTO hidden SELECT flake_seal(day_id(g / 10.0)), g FROM generate_series(41, 65) AS g;
CALL flakeid.maintain();
SELECT begins, ends FROM parts WHERE parent = 'hidden'::regclass ORDER BY 2;
SELECT count(*), count(n) FROM hidden;
SELECT count(*) FROM hidden_default;
-- what everybody can read of rows that stay there
CREATE TABLE hush (id flake_sealed PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id);
CREATE TABLE hush_default PARTITION OF hush DEFAULT;
INSERT INTO hush VALUES (flake_seal(7)), (flake_seal(day_id(-400)));
SET client_min_messages = error;
CALL flakeid.partition('hush', '1 day', ahead => 3, keep => '2 days');
SET client_min_messages = warning;
SELECT replace(replace(problem, min(id)::text, '<7>'), max(id)::text, '<old>') AS problem FROM flakeid.partitions, hush WHERE problem IS NOT NULL GROUP BY problem;
DROP TABLE hush;
ANALYZE hidden;
SELECT sum(rows) FROM flakeid.rows_per_day('hidden', 'snowflake');
SELECT count(*) FROM hidden WHERE flake_in_range(id, tstzrange(today(4), today(5)), 'snowflake');
SELECT count(*) FROM hidden WHERE id <@ tstzrange(today(4), today(5));
SET ROLE regress_flakeid_reader;
SELECT count(*), count(from_time) FROM flakeid.partitions;
-- What an owner has taken from himself
SET ROLE regress_flakeid_owner;
ALTER DEFAULT PRIVILEGES IN SCHEMA regress_flakeid_shop REVOKE DELETE ON TABLES FROM PUBLIC;
CREATE TABLE held (id flake PRIMARY KEY DEFAULT flake_next());
REVOKE DELETE ON held FROM regress_flakeid_owner;
CALL flakeid.partition('held', '1 day');
SELECT has_table_privilege('held', 'DELETE'), has_table_privilege('held', 'INSERT');
RESET ROLE;
SELECT pg_temp.remove_secret_files();
SET client_min_messages = error;
DROP SCHEMA regress_flakeid_shop CASCADE;
DROP EXTENSION flakeid, flakeid_tables;
DROP OWNED BY regress_flakeid_owner;
DROP ROLE regress_flakeid_owner, regress_flakeid_reader;
