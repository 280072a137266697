CREATE EXTENSION IF NOT EXISTS flakeid;
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
CREATE TABLE shop.ticket (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text NOT NULL);
CREATE TABLE shop.reply (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed NOT NULL REFERENCES shop.ticket);
CREATE INDEX ON shop.reply (ticket_id);
-- A text from outside that is no sealed id finds no row.
CREATE FUNCTION shop.find_ticket(id text) RETURNS shop.ticket LANGUAGE sql STABLE AS
    'SELECT t.* FROM shop.ticket AS t WHERE t.id = flake_sealed_or_null(find_ticket.id)';
CREATE TABLE shop.invoice (id bigint PRIMARY KEY DEFAULT flake_next(), item text NOT NULL);
CREATE TABLE shop.payment (id bigint PRIMARY KEY DEFAULT flake_next(), invoice_id bigint NOT NULL REFERENCES shop.invoice);
CREATE INDEX ON shop.payment (invoice_id);
