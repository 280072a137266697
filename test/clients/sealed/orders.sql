CREATE TABLE orders (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text);
CREATE TABLE line (order_id flake_sealed REFERENCES orders, n int);
