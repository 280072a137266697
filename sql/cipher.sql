-- Enciphered ids, and who may look into them.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
\i :file
\set file :abs_srcdir '/test/sql/secret.sql'
\i :file
\set ECHO all
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE EXTENSION flakeid;

\pset format unaligned
\pset tuples_only
CREATE TABLE opaque (id flake PRIMARY KEY DEFAULT flake_next('randflake'), n int);
SELECT pg_temp.secret_file('6e4e2ba5d9d4d5bb5b5c5d5e5f606162') AS secret_file \gset
SET flakeid.secret_file = :'secret_file';
SELECT flake_make('2026-11-20 12:00:00.9Z', 131071, 7, 'randflake') AS opaque \gset
SELECT :opaque, flake_decrypt(:opaque), flake_encrypt(flake_decrypt(:opaque)), flake_decrypt(:opaque, '\x6e4e2ba5d9d4d5bb5b5c5d5e5f606162');
SELECT * FROM flake_inspect(:opaque, 'randflake');
SELECT l, t, n, s FROM (SELECT l, flake_make(t, n, s, l) AS id, t, n, s FROM
    unnest(ARRAY['randflake', 'time:41:1ms node:10 sequence:12 cipher=sparx64', 'sequence:7 time:40:10ms node:6 epoch=2020-01-01 cipher=sparx64']) AS l,
    generate_series('2024-11-20 12:00Z'::timestamptz, '2038-11-20 12:00Z', '1 year') AS t, unnest(ARRAY[0, 63]) AS n, unnest(ARRAY[0, 127]) AS s) AS made
WHERE (t, n, s) IS DISTINCT FROM (flake_timestamp(id, l), flake_node(id, l), flake_sequence(id, l));
-- an id of another secret or of a narrower layout is noise, and told apart where bits are left over
SELECT pg_temp.raised($$SELECT flake_node(5, 'time:31:1s node:5 sequence:4 cipher=sparx64')$$);

CREATE ROLE regress_flakeid_user;
CREATE ROLE regress_flakeid_reader;
CREATE ROLE regress_flakeid_member IN ROLE regress_flakeid_reader;
GRANT EXECUTE ON FUNCTION flake_decrypt(bigint) TO regress_flakeid_reader;
GRANT ALL ON opaque TO PUBLIC;
CREATE TABLE attempt (number int GENERATED ALWAYS AS IDENTITY, statement text);
INSERT INTO attempt (statement) VALUES ('SELECT flake_timestamp(5, %L)'), ('SELECT flake_node(5, %L)'), ('SELECT flake_sequence(5, %L)'),
    ('SELECT flake_field(5, ''node'', %L)'), ('SELECT * FROM flake_inspect(5, %L)'), ('SELECT flake_explain(5, %L)'), ('SELECT flake_valid(5, %L)'),
    ('SELECT flake_make(now(), 0, 0, %L)');
GRANT SELECT ON attempt TO PUBLIC;
-- PUBLIC can make them and store them, and nothing else.
SET ROLE regress_flakeid_user;
INSERT INTO opaque (n) VALUES (1);
SELECT flake_next('randflake') <> flake_next('randflake') AS two, count(*) FROM flake_next_many(3, 'randflake');
SELECT pg_temp.raised('SELECT flake_decrypt(5)');
SELECT pg_temp.raised('SELECT flake_encrypt(5)');
SELECT DISTINCT pg_temp.raised(format(statement, 'randflake')) FROM attempt;
SELECT DISTINCT pg_temp.raised(format(statement, 'time:30:1s node:17 sequence:17 cipher=sparx64')) FROM attempt;
SET flakeid.layout = 'randflake';
RESET ROLE;
SET flakeid.layout = 'randflake';
SET ROLE regress_flakeid_user;
SELECT DISTINCT pg_temp.raised(replace(format(statement, ''), ', ''''', '')) FROM attempt;
SELECT DISTINCT pg_temp.raised(format(statement, 'discord')) FROM attempt WHERE statement NOT LIKE '%field%';
SELECT pg_temp.raised($$SELECT count(*) FROM opaque WHERE id <@ tstzrange(now(), NULL)$$);
RESET flakeid.layout;
-- the key of one's own
SELECT flake_decrypt(flake_encrypt(5, '\x00112233445566778899aabbccddeeff'), '\x00112233445566778899aabbccddeeff');
-- Who holds EXECUTE on flake_decrypt looks into them, also through a role.
SET ROLE regress_flakeid_reader;
SELECT flake_decrypt(:opaque);
SELECT count(*) FROM attempt WHERE pg_temp.raised(format(statement, 'randflake')) <> 'nothing';
SELECT pg_temp.raised('SELECT flake_encrypt(5)');
SET ROLE regress_flakeid_member;
SELECT flake_node(:opaque, 'randflake'), flake_node(id, 'randflake') FROM opaque;
RESET ROLE;
RESET flakeid.layout;
-- The right is looked up for whoever runs the function, at the time of the call.
CREATE FUNCTION node_of(id bigint) RETURNS int LANGUAGE sql SECURITY DEFINER AS $$ SELECT flake_node(id, 'randflake') $$;
CREATE FUNCTION own_node_of(id bigint) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN flake_node(id, 'randflake'); END $$;
PREPARE node AS SELECT own_node_of(:opaque);
EXECUTE node;
SET ROLE regress_flakeid_user;
SELECT node_of(:opaque);
EXECUTE node;
RESET ROLE;
GRANT EXECUTE ON FUNCTION flake_decrypt(bigint) TO regress_flakeid_user;
SET ROLE regress_flakeid_user;
EXECUTE node;
RESET ROLE;
REVOKE EXECUTE ON FUNCTION flake_decrypt(bigint) FROM regress_flakeid_user;
SET ROLE regress_flakeid_user;
EXECUTE node;
RESET ROLE;
BEGIN; -- in one transaction PL/pgSQL keeps what it knows of the call
SELECT own_node_of(:opaque);
SET LOCAL ROLE regress_flakeid_user;
SELECT own_node_of(:opaque);
ROLLBACK;
-- An index on such a reader: for every inserting role, and the hint says so.
CREATE INDEX opaque_made ON opaque (flake_timestamp(id, 'randflake'));
SET ROLE regress_flakeid_user;
SELECT pg_temp.raised('INSERT INTO opaque (n) VALUES (2)');
SET ROLE regress_flakeid_reader;
INSERT INTO opaque (n) VALUES (2);
SELECT count(*) FROM opaque WHERE flake_timestamp(id, 'randflake') > '2026-01-01';
RESET ROLE;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT n FROM opaque WHERE flake_timestamp(id, 'randflake') = '2026-11-20 12:00Z';
RESET enable_seqscan;
ANALYZE opaque;
REINDEX TABLE opaque;

RESET flakeid.secret_file;
SELECT pg_temp.raised(format('SELECT flake_node(%s, ''randflake'')', :opaque));
SELECT pg_temp.remove_secret_files();
DROP FUNCTION node_of, own_node_of;
DROP TABLE opaque, attempt;
DROP EXTENSION flakeid;
DROP ROLE regress_flakeid_member, regress_flakeid_reader, regress_flakeid_user;
