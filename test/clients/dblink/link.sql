CREATE EXTENSION flakeid;
CREATE EXTENSION dblink;
SELECT dblink_connect('there', :'there') AS connected \gset
-- A row there, with an id of that server
SELECT id AS new FROM dblink('there', $$INSERT INTO orders (item) VALUES ('tea') RETURNING id$$) AS t (id flake) \gset
SELECT item, flake_node(id) FROM dblink('there', format('SELECT id, item FROM orders WHERE id = %s', :new)) AS t (id flake, item text);
-- A block of its ids
SELECT count(DISTINCT id), max(flake_node(id)) FROM dblink('there', 'SELECT flake_next_many(50)') AS t (id flake);
-- A row there, with an id of ours
SELECT dblink_exec('there', format('INSERT INTO orders VALUES (%s, %L)', flake_next(), 'mine')) AS done \gset
SELECT item, flake_node(id) FROM dblink('there', $$SELECT id, item FROM orders WHERE item = 'mine'$$) AS t (id flake, item text);
