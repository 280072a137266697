CREATE EXTENSION flakeid;
CREATE TABLE customer (id flake PRIMARY KEY DEFAULT flake_next(), name text);
CREATE TABLE purchase (id flake PRIMARY KEY DEFAULT flake_next(), customer_id flake REFERENCES customer, near flake[]);
CREATE TABLE event (id flake DEFAULT flake_next(), what text) PARTITION BY RANGE (id);
CREATE TABLE event_before PARTITION OF event
    FOR VALUES FROM (MINVALUE) TO (flake_floor('2026-01-01 00:00Z'::timestamptz, 'snowflake'));
CREATE TABLE event_after PARTITION OF event
    FOR VALUES FROM (flake_floor('2026-01-01 00:00Z'::timestamptz, 'snowflake')) TO (MAXVALUE);
CREATE INDEX ON purchase (flake_timestamp(id, 'snowflake'));
INSERT INTO customer (name) SELECT 'c' || n FROM generate_series(1, 100) AS n;
INSERT INTO purchase (customer_id) SELECT c.id FROM customer AS c, generate_series(1, 200);
INSERT INTO event (what) SELECT 'e' || n FROM generate_series(1, 1000) AS n;
