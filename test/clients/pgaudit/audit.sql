CREATE EXTENSION pgaudit;
CREATE EXTENSION flakeid;
CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text);
SET pgaudit.log = 'read, write, function';
INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 1000) AS n;
SELECT flake_decrypt(4711, '\x000102030405060708090a0b0c0d0e0f'::bytea);
