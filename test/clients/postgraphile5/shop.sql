CREATE EXTENSION flakeid;
CREATE SCHEMA shop;
CREATE TABLE shop.customer (id flake PRIMARY KEY DEFAULT flake_next(), name text NOT NULL);
CREATE TABLE shop.purchase (
    id flake PRIMARY KEY DEFAULT flake_next(),
    customer_id flake NOT NULL REFERENCES shop.customer,
    item text NOT NULL
);
CREATE INDEX ON shop.purchase (customer_id);
CREATE FUNCTION shop.last_purchase() RETURNS flake LANGUAGE sql STABLE AS 'SELECT max(id)::flake FROM shop.purchase';
-- What "after this id" means, for lists that go on from the last id seen. Parameters are bigint's.
CREATE FUNCTION shop.purchases_after(id bigint, count int) RETURNS SETOF shop.purchase LANGUAGE sql STABLE AS
    'SELECT p.* FROM shop.purchase AS p WHERE p.id > purchases_after.id ORDER BY p.id LIMIT count';
