INSERT INTO directus_collections (collection) VALUES ('invoices'), ('payments');
INSERT INTO directus_fields (collection, field) VALUES ('invoices', 'id'), ('invoices', 'item'), ('payments', 'id'), ('payments', 'invoice_id');
INSERT INTO directus_relations (many_collection, many_field, one_collection) VALUES ('payments', 'invoice_id', 'invoices');
