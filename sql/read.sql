-- Reading ids: every part of every layout, and composing them again.
\getenv abs_srcdir PG_ABS_SRCDIR
\set ECHO none
\set file :abs_srcdir '/test/sql/defaults.sql'
\i :file
\set file :abs_srcdir '/test/sql/raised.sql'
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
INSERT INTO id_of SELECT name, id, id FROM flakeid.layouts, LATERAL
    (SELECT flake_make(first_date + (end_date - first_date) / 3, (nodes / 2)::int, (layout_text ~ 'sequence:')::int, name) AS id) AS made WHERE NOT enciphered;
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
SELECT l.name, ts, node, sequence FROM flakeid.layouts l,
    unnest(ARRAY[first_date, first_date + interval '1.000001 s', first_date + (end_date - first_date) / 2, '2026-11-20 12:34:56.789123Z',
                 CASE WHEN isfinite(end_date) THEN end_date - interval '0.000001 s' ELSE '9999-12-31Z' END]) AS ts,
    unnest(ARRAY[0, 1, nodes / 2, nodes - 1]::int[]) AS node, unnest(ARRAY[0, 1, 63]) AS sequence
WHERE NOT enciphered AND node < nodes AND NOT CASE WHEN first_date <= ts AND ts < end_date AND (sequence = 0 OR layout_text ~ 'sequence:') THEN reads_back(l.name, ts, node, sequence) ELSE true END;

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

DROP FUNCTION reads_back;
DROP TABLE id_of, stamped;
DROP EXTENSION flakeid;
