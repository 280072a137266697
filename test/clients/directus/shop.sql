CREATE TABLE invoices (id bigint PRIMARY KEY DEFAULT flake_next(), item text);
CREATE TABLE payments (id bigint PRIMARY KEY DEFAULT flake_next(), invoice_id bigint NOT NULL CONSTRAINT payments_invoice_id_foreign REFERENCES invoices);
