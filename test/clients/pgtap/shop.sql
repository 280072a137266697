CREATE EXTENSION IF NOT EXISTS flakeid;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text);
CREATE TABLE lines (id flake PRIMARY KEY DEFAULT flake_next(), order_id flake NOT NULL REFERENCES orders);
CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text);
CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed NOT NULL REFERENCES tickets);
CREATE TABLE invoices (id bigint PRIMARY KEY DEFAULT flake_next(), item text);
CREATE TABLE payments (id bigint PRIMARY KEY DEFAULT flake_next(), invoice_id bigint NOT NULL REFERENCES invoices);
