CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text);
CREATE TABLE ticket (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text);
CREATE TABLE reply (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES ticket);
CREATE TABLE invoice (id bigint PRIMARY KEY DEFAULT flake_next(), item text);
CREATE TABLE payment (id bigint PRIMARY KEY DEFAULT flake_next(), invoice_id bigint REFERENCES invoice);
