BEGIN;
SELECT plan(34);

-- Your tables, and nothing of the extension beside them
SELECT tables_are('public', ARRAY['invoices', 'lines', 'orders', 'payments', 'replies', 'tickets']);
SELECT views_are('public', '{}'::name[]);
SELECT sequences_are('public', '{}'::name[]);
-- Its own schema is listed.
SELECT schemas_are(ARRAY['public', 'flakeid'] || string_to_array(:'more_schemas', ' ')::name[]);
SELECT has_extension('flakeid');

-- Keys, and what points at them
SELECT col_is_pk('orders', 'id'), col_type_is('orders', 'id', 'flake'), col_default_is('orders', 'id', 'flake_next()');
SELECT col_is_pk('tickets', 'id'), col_type_is('tickets', 'id', 'flake_sealed'), col_default_is('tickets', 'id', 'flake_next()');
SELECT col_is_pk('invoices', 'id'), col_type_is('invoices', 'id', 'bigint'), col_default_is('invoices', 'id', 'flake_next()');
SELECT fk_ok('lines', 'order_id', 'orders', 'id'), col_type_is('lines', 'order_id', 'flake');
SELECT fk_ok('replies', 'ticket_id', 'tickets', 'id'), col_type_is('replies', 'ticket_id', 'flake_sealed');
SELECT fk_ok('payments', 'invoice_id', 'invoices', 'id'), col_type_is('payments', 'invoice_id', 'bigint');

-- Rows
SELECT lives_ok($$INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 5) AS n$$);
SELECT lives_ok($$INSERT INTO lines (order_id) SELECT id FROM orders ORDER BY id$$);
SELECT lives_ok($$INSERT INTO tickets (item) VALUES ('tea'), ('pen')$$);
SELECT lives_ok($$INSERT INTO replies (ticket_id) SELECT id FROM tickets ORDER BY id$$);
SELECT lives_ok($$INSERT INTO invoices (item) VALUES ('tea'); INSERT INTO payments (invoice_id) SELECT id FROM invoices$$);
SELECT results_eq('SELECT order_id FROM lines ORDER BY id', 'SELECT id FROM orders ORDER BY id');
SELECT results_eq('SELECT ticket_id FROM replies ORDER BY id', 'SELECT id FROM tickets ORDER BY id');
SELECT set_eq('SELECT invoice_id FROM payments', 'SELECT id FROM invoices');
SELECT bag_eq('SELECT id::text FROM orders', 'SELECT order_id::text FROM lines');
SELECT results_eq('SELECT id FROM orders ORDER BY id', 'SELECT id FROM orders ORDER BY item', 'ids rise');
SELECT is(orders.id, order_id, 'is() takes ids') FROM orders JOIN lines ON order_id = orders.id LIMIT 1;
SELECT matches(id::text, '^[0-9a-v]{13}$', 'sealed') FROM tickets LIMIT 1;
SELECT throws_ok($$SELECT FROM tickets WHERE id = 'favicon.ico'$$, '22P02');
SELECT is_empty($$SELECT FROM tickets WHERE id = flake_sealed_or_null('favicon.ico')$$);

SELECT * FROM finish(true);
ROLLBACK;
