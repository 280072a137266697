-- Reading ids: every part of every layout, composing them again, and who may look into enciphered ones.
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

-- A tweet and a Discord message, as their makers explain them
SELECT flake_timestamp(1541815603606036480, 'twitter'), flake_node(1541815603606036480, 'twitter'), flake_sequence(1541815603606036480, 'twitter'),
       flake_field(1541815603606036480, 'datacenter', 'twitter') AS datacenter, flake_field(1541815603606036480, 'worker', 'twitter') AS worker;
SELECT flake_timestamp(175928847299117063, 'discord'), flake_node(175928847299117063, 'discord'), flake_sequence(175928847299117063, 'discord');
SELECT * FROM flake_inspect(1541815603606036480, 'twitter');

-- Without a layout, flakeid.layout is read.
SELECT flake_timestamp(175928847299117063), flake_node(175928847299117063), flake_sequence(175928847299117063);
SET flakeid.layout = 'discord';
SELECT flake_timestamp(175928847299117063), flake_node(175928847299117063), flake_sequence(175928847299117063),
       flake_field(175928847299117063, 'process') AS process;
SELECT * FROM flake_inspect(175928847299117063);
SELECT flake_explain(175928847299117063) = flake_explain(175928847299117063, 'discord') AS same_drawing,
       flake_make('2016-04-30 11:18:25.796Z', 32, 7);
RESET flakeid.layout;
-- a statement that was prepared before follows
PREPARE parts AS SELECT flake_node(175928847299117063), flake_timestamp(id) FROM (VALUES (175928847299117063)) AS v (id);
EXECUTE parts;
SET flakeid.layout = 'sonyflake';
EXECUTE parts;
SELECT flake_field(175928847299117063, 'machine') = flake_node(175928847299117063) AS machine_is_node;
RESET flakeid.layout;
EXECUTE parts;
DEALLOCATE parts;
-- and so does a call that is reached again
CREATE FUNCTION nodes_of(id bigint, layouts text[]) RETURNS int[] LANGUAGE plpgsql SET flakeid.layout = 'snowflake' AS $$
DECLARE
    layout text;
    nodes int[];
BEGIN
    FOREACH layout IN ARRAY layouts LOOP
        PERFORM set_config('flakeid.layout', layout, true);
        nodes = nodes || flake_node(id);
    END LOOP;
    RETURN nodes;
END $$;
SELECT nodes_of(175928847299117063, ARRAY['snowflake', 'sonyflake', 'instagram', 'mastodon']),
       ARRAY(SELECT flake_node(175928847299117063, l) FROM unnest(ARRAY['snowflake', 'sonyflake', 'instagram', 'mastodon']) AS l);
DROP FUNCTION nodes_of;

-- flake and bigint columns, and one layout per row
CREATE TABLE id_of (layout text, f flake, b bigint);
INSERT INTO id_of SELECT name, id, id FROM flake_layouts, LATERAL
    (SELECT flake_make(first_date + (end_date - first_date) / 3, (nodes / 2)::int, 1, name) AS id) AS made WHERE NOT enciphered;
SELECT layout, f, flake_timestamp(f, layout), flake_timestamp(b, layout) = flake_timestamp(f, layout) AS same, flake_node(f, layout),
       flake_sequence(f, layout) FROM id_of ORDER BY layout COLLATE "C";
SELECT layout, flake_field(f, 'node', layout) FROM id_of WHERE layout IN ('snowflake', 'tsid', 'js53') ORDER BY layout COLLATE "C";

-- What is composed is read back, over the whole life of every layout.
CREATE FUNCTION reads_back(layout text, ts timestamptz, node int, sequence int) RETURNS boolean LANGUAGE sql AS $$
    SELECT (i.node, i.sequence) = ($3, $4) AND flake_make(i.timestamp, i.node, i.sequence, $1) = id
        AND (i.timestamp, i.node, i.sequence) = (flake_timestamp(id, $1), flake_node(id, $1), flake_sequence(id, $1))
        AND i.timestamp <= $2 AND $2 < i.timestamp + interval '1 s' AND i.raw_id = id
    FROM flake_make($2, $3, $4, $1) AS id, flake_inspect(id, $1) AS i
$$;
SELECT l.name, ts, node, sequence FROM flake_layouts l,
    unnest(ARRAY[first_date, first_date + interval '1.000001 s', first_date + (end_date - first_date) / 2, '2026-11-20 12:34:56.789123Z',
                 CASE WHEN isfinite(end_date) THEN end_date - interval '0.000001 s' ELSE '9999-12-31Z' END]) AS ts,
    unnest(ARRAY[0, 1, nodes / 2, nodes - 1]::int[]) AS node, unnest(ARRAY[0, 1, 63]) AS sequence
WHERE NOT enciphered AND node < nodes AND NOT CASE WHEN first_date <= ts AND ts < end_date THEN reads_back(l.name, ts, node, sequence) ELSE true END;

-- NULL in, NULL out
SELECT num_nulls(flake_timestamp(NULL), flake_timestamp(NULL, 'twitter'), flake_timestamp(5, NULL), flake_node(NULL), flake_node(NULL, 'twitter'),
    flake_node(5, NULL), flake_sequence(NULL), flake_sequence(NULL, 'twitter'), flake_sequence(5, NULL), flake_field(NULL, 'node'),
    flake_field(5, NULL), flake_field(5, NULL, 'twitter'), flake_field(5, 'worker', NULL), flake_explain(NULL), flake_explain(5, NULL),
    flake_make(NULL, 0, 0), flake_make(now(), NULL, 0), flake_make(now(), 0, NULL), flake_make(now(), 0, 0, NULL), flake_encrypt(NULL),
    flake_decrypt(NULL), flake_encrypt(NULL, '\x'), flake_decrypt(5, NULL), flake_floor(NULL), flake_ceil(NULL, 'twitter')) AS nulls;
SELECT * FROM flake_inspect(NULL);
SELECT * FROM flake_inspect(5, NULL);

-- With a layout readers are immutable, and serve in indexes and generated columns; without they do not.
CREATE TABLE stamped (id bigint, made timestamptz GENERATED ALWAYS AS (flake_timestamp(id, 'discord')) STORED);
CREATE INDEX ON stamped (flake_node(id, 'discord'));
INSERT INTO stamped VALUES (175928847299117063);
SELECT * FROM stamped;
SELECT pg_temp.raised('CREATE INDEX ON stamped (flake_node(id))');
SELECT p.oid::regprocedure, provolatile FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
    AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid') AND deptype = 'e'
WHERE proname ~ '^flake_(timestamp|node|sequence|field|inspect|explain|make|floor|ceil|encrypt|decrypt|to_text|from_text)$' ORDER BY 1;

-- Enciphered ids: read with the secret, by those who may
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
    ('SELECT flake_field(5, ''node'', %L)'), ('SELECT * FROM flake_inspect(5, %L)'), ('SELECT flake_explain(5, %L)'),
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
DROP FUNCTION node_of, own_node_of, reads_back;
DROP TABLE id_of, stamped, opaque, attempt;
DROP EXTENSION flakeid;
DROP ROLE regress_flakeid_member, regress_flakeid_reader, regress_flakeid_user;
