CREATE EXTENSION flakeid;
CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), as_bigint bigint);
SELECT pg_create_logical_replication_slot('shop', 'wal2json');
INSERT INTO orders DEFAULT VALUES;
UPDATE orders SET as_bigint = id;
SELECT count(*) FROM flake_next_many(100000);
SELECT data FROM pg_logical_slot_get_changes('shop', NULL, NULL, 'format-version', '2');
