CREATE EXTENSION flakeid;
CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[]);
CREATE TABLE events (id flake PRIMARY KEY DEFAULT flake_next());
INSERT INTO orders (item) SELECT 'old ' || n FROM generate_series(1, 3) AS n;
INSERT INTO events SELECT FROM generate_series(1, 3);

-- A row filter wants a built-in type: this column is a bigint, with the same default.
CREATE TABLE filtered (id bigint PRIMARY KEY DEFAULT flake_next(), item text);
CREATE PUBLICATION shop FOR TABLE orders, events, filtered WHERE (id > 9007199254740993);

CREATE TABLE back (id flake PRIMARY KEY);
