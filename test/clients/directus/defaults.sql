ALTER TABLE invoices ALTER id SET DEFAULT flake_next();
ALTER TABLE payments ALTER id SET DEFAULT flake_next();
