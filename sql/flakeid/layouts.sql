-- Layouts: what each allows

CREATE FUNCTION flakeid.describe(layout text,
        OUT layout_text text, OUT ids_per_second int8, OUT nodes int8, OUT first_date timestamptz, OUT end_date timestamptz,
        OUT enciphered bool, OUT alive bool, OUT repeats text[])
    AS 'MODULE_PATHNAME', 'flakeid_describe' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.describe(text) IS
    'what a layout allows, in the columns of view flakeid.layouts';

CREATE FUNCTION flakeid.preset_names() RETURNS text[]
    AS 'MODULE_PATHNAME', 'flakeid_preset_names' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION flakeid.preset_names() IS 'internal: names of the presets';

CREATE FUNCTION flakeid.nodes_for(ids_per_second int8, of_node int8, nodes int8) RETURNS int8
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN n <= nodes THEN n END FROM (SELECT (ids_per_second + of_node - 1) / nullif(of_node, 0) AS n) AS needed
$$;
COMMENT ON FUNCTION flakeid.nodes_for(int8, int8, int8) IS
    'internal: how many nodes make so many ids a second; null when a layout has not got them';

CREATE VIEW flakeid.layouts AS
    SELECT preset.name, preset.name OPERATOR(pg_catalog.=) ANY ('{snowflake,js53}') AS recommended,
           layout.layout_text, layout.ids_per_second, layout.nodes,
           layout.first_date, layout.end_date, layout.enciphered, layout.alive, layout.repeats,
           flakeid.nodes_for(1000000, layout.ids_per_second, layout.nodes) AS nodes_for_1m,
           flakeid.nodes_for(10000000, layout.ids_per_second, layout.nodes) AS nodes_for_10m,
           flakeid.nodes_for(100000000, layout.ids_per_second, layout.nodes) AS nodes_for_100m
    FROM pg_catalog.unnest(flakeid.preset_names()) AS preset (name),
         LATERAL flakeid.describe(preset.name) AS layout;
COMMENT ON VIEW flakeid.layouts IS 'one row for each preset, with what it allows';
COMMENT ON COLUMN flakeid.layouts.name IS 'of the preset';
COMMENT ON COLUMN flakeid.layouts.recommended IS 'for new tables';
COMMENT ON COLUMN flakeid.layouts.layout_text IS 'its normal text';
COMMENT ON COLUMN flakeid.layouts.ids_per_second IS 'of one node, in the long run; 0: it only reads';
COMMENT ON COLUMN flakeid.layouts.nodes IS 'how many there are';
COMMENT ON COLUMN flakeid.layouts.first_date IS 'the epoch';
COMMENT ON COLUMN flakeid.layouts.end_date IS 'the first moment without ids';
COMMENT ON COLUMN flakeid.layouts.enciphered IS 'whether the secret is a part of its ids';
COMMENT ON COLUMN flakeid.layouts.alive IS 'whether it makes ids now';
COMMENT ON COLUMN flakeid.layouts.repeats IS 'presets that may have made an id which it makes from now on';
COMMENT ON COLUMN flakeid.layouts.nodes_for_1m IS
    'nodes that make 1 million ids a second together; NULL: more than there are';
COMMENT ON COLUMN flakeid.layouts.nodes_for_10m IS 'the same for 10 million';
COMMENT ON COLUMN flakeid.layouts.nodes_for_100m IS 'the same for 100 million';
