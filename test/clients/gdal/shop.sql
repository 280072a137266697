CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, note text);
INSERT INTO orders SELECT 9007199254740993 + n, 'item', '' FROM generate_series(0, 50) AS n;
CREATE TABLE ticket (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text);
CREATE TABLE reply (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES ticket);
INSERT INTO ticket (item) VALUES ('tea');
CREATE TABLE places (id bigint PRIMARY KEY DEFAULT flake_next(), item text);
INSERT INTO places (item) VALUES ('here');
