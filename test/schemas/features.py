"""What random schemas are made of: features, keys and shapes, each with its weight."""

# -- Features --------------------------------------------------------------------------------------
# (weight, name, SQL, probes). <t> table, <k> its key, <x> a name of its own, <s> schema, <c> a child table, <r> its reference,
# <ty> the type of the key, <seq> its sequence. A probe is SQL whose answer must not change; 'plan: ' asks for the index <x>;
# 'app: ' is what a client might ask. Answers hold no ids.
F = []
def f(weight, name, *sql, probes=()):
    F.append((weight, name, sql, tuple(probes)))

V = 'SELECT nat FROM <s>.<x> ORDER BY 1'
f(4, 'view', 'CREATE VIEW <s>.<x> AS SELECT <k>, nat, qty FROM <t>', 'GRANT SELECT ON <s>.<x> TO sx_app', probes=[V])
f(2, 'view_star', 'CREATE VIEW <s>.<x> AS SELECT * FROM <t>', probes=[V])
f(2, 'view_alias', 'CREATE VIEW <s>.<x> (a, nat) AS SELECT q.<k>, q.nat FROM <t> q', probes=[V])
f(3, 'view_arith', 'CREATE VIEW <s>.<x> AS SELECT <k> + 1 AS n, nat FROM <t> WHERE <k> % 2 = 1', probes=[V])
f(3, 'view_coalesce', 'CREATE VIEW <s>.<x> AS SELECT COALESCE(<k>, 0) AS c, nat FROM <t>', probes=[V])
f(2, 'view_case', 'CREATE VIEW <s>.<x> AS SELECT CASE WHEN <k> > 2 THEN <k> ELSE 0 END AS c, nat FROM <t>', probes=[V])
f(3, 'view_cast', "CREATE VIEW <s>.<x> AS SELECT <k>::text AS kt, 'x-' || <k> AS ref, nat FROM <t>", probes=[V])
f(2, 'view_int_cast', 'CREATE VIEW <s>.<x> AS SELECT <k>::bigint AS kb, nat FROM <t>', probes=[V])
f(2, 'view_in', 'CREATE VIEW <s>.<x> AS SELECT nat FROM <t> WHERE <k> IN (1, 2, 3)', probes=[V])
f(2, 'view_union', 'CREATE VIEW <s>.<x> AS SELECT <k>, nat FROM <t> UNION ALL SELECT 0, NULL', probes=[V])
f(2, 'view_group', 'CREATE VIEW <s>.<x> AS SELECT <k>, nat, count(*) FROM <t> GROUP BY <k>', probes=[V])
f(2, 'view_agg', 'CREATE VIEW <s>.<x> AS SELECT max(<k>) AS m, array_agg(<k>) AS a, max(nat) AS nat FROM <t> GROUP BY qty', probes=[V])
f(2, 'view_series', 'CREATE VIEW <s>.<x> AS SELECT nat, (SELECT count(*) FROM generate_series(1, least(<k>, 5))) AS n FROM <t>', probes=[V])
f(2, 'view_function', 'CREATE FUNCTION <s>.<x>_f(integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT \'n\' || $1 $$', 'CREATE VIEW <s>.<x> AS SELECT <s>.<x>_f(<k>) AS l, nat FROM <t>', probes=[V])
f(2, 'view_to_char', "CREATE VIEW <s>.<x> AS SELECT to_char(<k>, '99') AS l, nat FROM <t>", probes=[V])
f(2, 'view_row', 'CREATE VIEW <s>.<x> AS SELECT q AS whole, q.nat FROM <t> q', probes=[V])
f(2, 'view_join', 'CREATE VIEW <s>.<x> AS SELECT p.nat || c.nat AS nat FROM <t> p JOIN <c> c ON c.<r> = p.<k>', probes=[V])
f(1, 'view_using', 'CREATE VIEW <s>.<x> AS SELECT a.nat, <k> FROM <t> a JOIN <t> b USING (<k>)', probes=[V])
f(2, 'view_nested', 'CREATE VIEW <s>.<x>_a AS SELECT <k> AS i, nat FROM <t>', 'CREATE VIEW <s>.<x> AS SELECT i + 0 AS i, nat FROM <s>.<x>_a', "COMMENT ON VIEW <s>.<x> IS 'nested'", 'GRANT SELECT (nat) ON <s>.<x> TO sx_app', probes=[V])
f(1, 'view_recursive', 'CREATE RECURSIVE VIEW <s>.<x> (i, nat) AS SELECT <k>, nat FROM <t> UNION SELECT v.i, v.nat FROM <x> v WHERE v.i < 0', probes=[V])
f(2, 'view_check', 'CREATE VIEW <s>.<x> WITH (security_barrier) AS SELECT <k>, nat, qty FROM <t> WHERE qty < 100 WITH CASCADED CHECK OPTION', "ALTER VIEW <s>.<x> ALTER qty SET DEFAULT 4", "COMMENT ON COLUMN <s>.<x>.qty IS 'q'", probes=[V])
f(1, 'view_invoker', 'CREATE VIEW <s>.<x> WITH (security_invoker = true) AS SELECT <k>, nat FROM <t>', probes=[V])
f(2, 'view_instead', 'CREATE VIEW <s>.<x> AS SELECT <k>, nat FROM <t>', 'CREATE FUNCTION <s>.<x>_f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$', 'CREATE TRIGGER <x>_i INSTEAD OF INSERT ON <s>.<x> FOR EACH ROW EXECUTE FUNCTION <s>.<x>_f()', "COMMENT ON TRIGGER <x>_i ON <s>.<x> IS 'instead'", probes=[V])
f(1, 'view_rule', 'CREATE VIEW <s>.<x> AS SELECT <k>, nat FROM <t>', 'CREATE RULE <x>_r AS ON DELETE TO <s>.<x> DO INSTEAD DELETE FROM <t> WHERE <k> = OLD.<k>', probes=[V])
f(1, 'view_other_owner', 'CREATE VIEW <s>.<x> AS SELECT <k>, nat FROM <t>', 'GRANT SELECT ON <t> TO sx_other', 'SU ALTER VIEW <s>.<x> OWNER TO sx_other', probes=[V])
f(1, 'matview', 'CREATE MATERIALIZED VIEW <s>.<x> AS SELECT <k>, nat FROM <t>', 'CREATE UNIQUE INDEX <x>_u ON <s>.<x> (<k>)', probes=[V])
f(1, 'rule', 'CREATE TABLE <s>.<x>_l (n text)', 'CREATE RULE <x> AS ON INSERT TO <t> DO ALSO INSERT INTO <s>.<x>_l VALUES (NEW.nat)')
f(1, 'rule_elsewhere', 'CREATE TABLE <s>.<x> (nat text)', 'CREATE RULE <x>_r AS ON INSERT TO <s>.<x> WHERE EXISTS (SELECT FROM <t> WHERE <k> = 1) DO INSTEAD NOTHING', probes=[V])
TF = "CREATE FUNCTION <s>.<x>_f() RETURNS trigger LANGUAGE plpgsql AS $$ %s $$"
f(2, 'trigger_touch', TF % 'BEGIN NEW.note := NEW.nat; RETURN NEW; END', 'CREATE TRIGGER <x> BEFORE INSERT OR UPDATE ON <t> FOR EACH ROW EXECUTE FUNCTION <s>.<x>_f()')
f(2, 'trigger_when', TF % 'BEGIN RETURN NEW; END', 'CREATE TRIGGER <x> BEFORE UPDATE ON <t> FOR EACH ROW WHEN (NEW.<k> % 7 = 3) EXECUTE FUNCTION <s>.<x>_f()')
f(2, 'trigger_of', TF % 'BEGIN RETURN NULL; END', 'CREATE TRIGGER <x> AFTER UPDATE OF <k>, qty ON <t> FOR EACH ROW EXECUTE FUNCTION <s>.<x>_f()', "COMMENT ON TRIGGER <x> ON <t> IS 'of'", 'ALTER TABLE <t> DISABLE TRIGGER <x>')
f(2, 'trigger_audit_int', 'CREATE TABLE <s>.<x>_a (row_id <ty>, nat text)', TF % 'BEGIN INSERT INTO <s>.<x>_a VALUES (NEW.<k>, NEW.nat); RETURN NULL; END', 'CREATE TRIGGER <x> AFTER INSERT ON <t> FOR EACH ROW EXECUTE FUNCTION <s>.<x>_f()')
f(2, 'trigger_int_variable', TF % 'DECLARE n <ty>; BEGIN n := NEW.<k>; RETURN NULL; END', 'CREATE TRIGGER <x> AFTER INSERT ON <t> FOR EACH ROW EXECUTE FUNCTION <s>.<x>_f()')
f(1, 'trigger_statement', TF % 'BEGIN PERFORM count(<k>), max(<k>) FROM fresh; RETURN NULL; END', 'CREATE TRIGGER <x> AFTER INSERT ON <t> REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION <s>.<x>_f()')
f(1, 'trigger_constraint', TF % 'BEGIN RETURN NULL; END', 'CREATE CONSTRAINT TRIGGER <x> AFTER INSERT ON <t> DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.<k> > 0) EXECUTE FUNCTION <s>.<x>_f()')
f(1, 'trigger_always', TF % 'BEGIN RETURN NEW; END', 'CREATE TRIGGER <x> BEFORE UPDATE ON <t> FOR EACH ROW EXECUTE FUNCTION <s>.<x>_f()', 'ALTER TABLE <t> ENABLE ALWAYS TRIGGER <x>')
f(1, 'trigger_notify', TF % "BEGIN PERFORM pg_notify('x', row_to_json(NEW)::text); RETURN NEW; END", 'CREATE TRIGGER <x> AFTER INSERT OR UPDATE OR DELETE ON <t> FOR EACH ROW EXECUTE FUNCTION <s>.<x>_f()')
CALL = "app: SELECT <s>.<x>((SELECT <k> FROM <t> WHERE nat = 'n1'))"
f(2, 'function_sql', 'CREATE FUNCTION <s>.<x>(i <ty>) RETURNS text LANGUAGE sql STABLE AS $$ SELECT nat FROM <t> WHERE <k> = i $$', 'REVOKE ALL ON FUNCTION <s>.<x>(<ty>) FROM PUBLIC', probes=[CALL])
f(1, 'function_atomic', 'CREATE FUNCTION <s>.<x>(i <ty>) RETURNS text LANGUAGE sql STABLE BEGIN ATOMIC SELECT nat FROM <t> WHERE <k> = i; END', probes=[CALL])
f(2, 'function_table', 'CREATE FUNCTION <s>.<x>() RETURNS TABLE (i <ty>, n text) LANGUAGE sql AS $$ SELECT <k>, nat FROM <t> $$', probes=['SELECT n FROM <s>.<x>() ORDER BY 1'])
f(2, 'function_query', 'CREATE FUNCTION <s>.<x>() RETURNS TABLE (i <ty>, n text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT <k>, nat FROM <t>; END $$', probes=['SELECT n FROM <s>.<x>() ORDER BY 1'])
f(1, 'function_setof', 'CREATE FUNCTION <s>.<x>() RETURNS SETOF <t> LANGUAGE sql AS $$ SELECT * FROM <t> $$', probes=['SELECT nat FROM <s>.<x>() ORDER BY 1'])
f(1, 'function_setof_plpgsql', 'CREATE FUNCTION <s>.<x>() RETURNS SETOF <t> LANGUAGE plpgsql AS $$ DECLARE r <t>; BEGIN FOR r IN SELECT * FROM <t> LOOP RETURN NEXT r; END LOOP; END $$', probes=['SELECT nat FROM <s>.<x>() ORDER BY 1'])
f(1, 'function_row', 'CREATE FUNCTION <s>.<x>(r <t>) RETURNS text LANGUAGE sql STABLE AS $$ SELECT r.nat $$', probes=['SELECT <s>.<x>(q) FROM <t> q ORDER BY 1'])
f(1, 'function_type_of', 'CREATE FUNCTION <s>.<x>(i <ty>) RETURNS text LANGUAGE plpgsql AS $$ DECLARE v <t>.<k>%TYPE; BEGIN SELECT <k> INTO v FROM <t> WHERE <k> = i; RETURN (SELECT nat FROM <t> WHERE <k> = v); END $$', probes=[CALL])
f(1, 'function_returning', "CREATE FUNCTION <s>.<x>() RETURNS void LANGUAGE plpgsql AS $$ DECLARE n <ty>; BEGIN INSERT INTO <t> (nat) VALUES ('fr') RETURNING <k> INTO n; DELETE FROM <t> WHERE nat = 'fr'; END $$", probes=['app: SELECT <s>.<x>()::text'])
f(1, 'generated', 'ALTER TABLE <t> ADD COLUMN gen_<i> numeric GENERATED ALWAYS AS (<k> * 2) STORED')
f(2, 'check', 'ALTER TABLE <t> ADD CONSTRAINT <x> CHECK (<k> IS NULL OR <k> <> 77)', "COMMENT ON CONSTRAINT <x> ON <t> IS 'seventy'")
f(2, 'check_arith', 'ALTER TABLE <t> ADD CONSTRAINT <x> CHECK (<k> % 1000 <> 777 AND qty >= 0)')
f(1, 'check_not_valid', 'ALTER TABLE <t> ADD CONSTRAINT <x> CHECK (<k> <> 78) NOT VALID')
f(1, 'check_no_inherit', 'ALTER TABLE <t> ADD CONSTRAINT <x> CHECK (<k> <> 79) NO INHERIT')
f(1, 'check_function', 'CREATE FUNCTION <s>.<x>_f(integer) RETURNS bool LANGUAGE sql IMMUTABLE AS $$ SELECT $1 <> 80 $$', 'ALTER TABLE <t> ADD CONSTRAINT <x> CHECK (<s>.<x>_f(<k>))')
f(3, 'index_mod', 'CREATE INDEX <x> ON <t> ((<k> % 1000))', 'ALTER INDEX <s>.<x> ALTER 1 SET STATISTICS 50', probes=['plan: SELECT nat FROM <t> WHERE <k> % 1000 = 5'])
f(1, 'index_text', 'CREATE INDEX <x> ON <t> ((<k>::text) text_pattern_ops)', probes=["plan: SELECT nat FROM <t> WHERE <k>::text LIKE '5%'"])
f(1, 'index_function', 'CREATE FUNCTION <s>.<x>_f(integer) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT $1 / 10 $$', 'CREATE INDEX <x> ON <t> (<s>.<x>_f(<k>))')
f(2, 'index_partial', 'CREATE INDEX <x> ON <t> (qty) WHERE <k> > 5', probes=['plan: SELECT nat FROM <t> WHERE qty = 3 AND <k> > 5'])
f(2, 'index_include', 'CREATE INDEX <x> ON <t> (qty DESC NULLS LAST) INCLUDE (<k>) WITH (fillfactor = 70)', "COMMENT ON INDEX <s>.<x> IS 'incl'")
f(2, 'index_unique', 'CREATE UNIQUE INDEX <x> ON <t> (tenant, region, <k>) NULLS NOT DISTINCT', probes=['plan: SELECT nat FROM <t> WHERE tenant = 1 AND region = \'a\' AND <k> = 3'])
f(1, 'index_brin', 'CREATE INDEX <x> ON <t> USING brin (<k>) WITH (pages_per_range = 4)')
f(1, 'index_brin_multi', 'CREATE INDEX <x> ON <t> USING brin (<k> int4_minmax_multi_ops)')
f(1, 'index_hash', 'CREATE INDEX <x> ON <t> USING hash (<k>)')
f(1, 'index_gin', 'CREATE INDEX <x> ON <t> USING gin ((ARRAY[<k>]))')
f(1, 'index_opclass', 'CREATE INDEX <x> ON <t> (<k> int4_ops, qty)')
f(1, 'index_cluster', 'CREATE INDEX <x> ON <t> (<k> DESC, qty)', 'ALTER TABLE <t> CLUSTER ON <x>')
f(1, 'index_of_part', 'CREATE INDEX <x> ON <t> (qty, <k>)', "COMMENT ON INDEX <s>.<x> IS 'whole'", """DO $d$ DECLARE r record; BEGIN FOR r IN SELECT x.indexrelid::regclass AS i, row_number() OVER (ORDER BY x.indexrelid) AS n FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE c.relispartition AND pg_partition_root(x.indexrelid) = '<s>.<x>'::regclass LOOP EXECUTE format('COMMENT ON INDEX %s IS %L', r.i, 'part'); EXECUTE format('ALTER INDEX %s RENAME TO %I', r.i, 'own_<i>_' || r.n); END LOOP; END $d$""")
f(1, 'unique_constraint', 'ALTER TABLE <t> ADD CONSTRAINT <x> UNIQUE (<k>, nat) DEFERRABLE INITIALLY DEFERRED')
f(1, 'exclusion', 'ALTER TABLE <t> ADD CONSTRAINT <x> EXCLUDE USING btree (<k> WITH =, nat WITH =)')
f(1, 'exclusion_expression', 'ALTER TABLE <t> ADD CONSTRAINT <x> EXCLUDE USING btree ((<k> + 0) WITH =, nat WITH =)')
f(2, 'statistics', 'CREATE STATISTICS <s>.<x> (ndistinct, mcv) ON <k>, qty FROM <t>', "COMMENT ON STATISTICS <s>.<x> IS 'st'")
f(1, 'statistics_expression', 'CREATE STATISTICS <s>.<x> ON (<k> % 10), qty FROM <t>')
f(1, 'statistics_target', 'ALTER TABLE <t> ALTER <k> SET STATISTICS 77', 'ALTER TABLE <t> ALTER <k> SET (n_distinct = -0.5, n_distinct_inherited = -0.4)')
f(1, 'default_elsewhere', "CREATE TABLE <s>.<x> (nat text, n bigint DEFAULT nextval('<seq>'))", "INSERT INTO <s>.<x> VALUES ('q')", probes=["INSERT INTO <s>.<x> (nat) VALUES ('q') RETURNING nat, n < 1000000000"])
f(1, 'default_elsewhere_int', "CREATE TABLE <s>.<x> (nat text, n integer DEFAULT nextval('<seq>'))", probes=["INSERT INTO <s>.<x> (nat) VALUES ('q') RETURNING nat"])
f(1, 'sequence_view', 'CREATE VIEW <s>.<x> AS SELECT last_value IS NOT NULL AS nat FROM <seq>', probes=[V])
f(1, 'sequence_grants', 'GRANT USAGE, SELECT ON SEQUENCE <seq> TO sx_app', "COMMENT ON SEQUENCE <seq> IS 'mine'")
f(2, 'policy', 'ALTER TABLE <t> ENABLE ROW LEVEL SECURITY', 'CREATE POLICY <x> ON <t> AS RESTRICTIVE FOR SELECT TO sx_app USING (<k> % 2 = 1)', "COMMENT ON POLICY <x> ON <t> IS 'pol'")
f(1, 'policy_elsewhere', 'CREATE TABLE <s>.<x> (nat text)', 'CREATE POLICY <x>_p ON <s>.<x> TO sx_app USING (EXISTS (SELECT FROM <t> q WHERE q.<k> = 3 AND q.nat = "x".nat))'.replace('"x"', '<x>'))
f(2, 'grants', 'GRANT SELECT, INSERT ON <t> TO sx_app WITH GRANT OPTION', 'GRANT UPDATE (<k>, qty), REFERENCES (<k>) ON <t> TO sx_other')
f(1, 'revoked', 'REVOKE ALL ON <t> FROM PUBLIC', 'REVOKE DELETE, TRUNCATE ON <t> FROM sx_owner', 'GRANT SELECT ON <t> TO PUBLIC')
f(1, 'default_privileges', 'ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO sx_other', 'ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO sx_other')
f(2, 'comments', "COMMENT ON TABLE <t> IS 'the table'", "COMMENT ON COLUMN <t>.<k> IS 'the ''key'''")
f(1, 'comment_json', "COMMENT ON COLUMN <t>.<k> IS 'flakeid 1 {\"way\": 1}'")
f(1, 'publication', 'CREATE PUBLICATION <x> FOR TABLE <t>')
f(1, 'publication_columns', 'CREATE PUBLICATION <x> FOR TABLE <t> (<k>, nat)')
f(1, 'publication_filter', 'CREATE PUBLICATION <x> FOR TABLE <t> WHERE (<k> > 3)')
f(1, 'publication_schema', 'SU CREATE PUBLICATION <x> FOR TABLES IN SCHEMA <s>')
f(1, 'publication_all', 'SU CREATE PUBLICATION <x> FOR ALL TABLES')
f(1, 'replica_identity', 'ALTER TABLE <t> REPLICA IDENTITY FULL')
f(1, 'replica_identity_index', 'ALTER TABLE <t> ALTER nat SET NOT NULL', 'CREATE UNIQUE INDEX <x> ON <t> (nat, <k>)', 'ALTER TABLE <t> ALTER <k> SET NOT NULL', 'ALTER TABLE <t> REPLICA IDENTITY USING INDEX <x>')
f(1, 'storage', 'ALTER TABLE <t> ALTER note SET STORAGE EXTERNAL, ALTER note SET COMPRESSION pglz', 'ALTER TABLE <t> SET (fillfactor = 60, autovacuum_enabled = off)')
f(1, 'row_type_column', 'CREATE TABLE <s>.<x> (nat text, whole <t>)', "INSERT INTO <s>.<x> SELECT q.nat, q FROM <t> q", probes=['SELECT (whole).nat FROM <s>.<x> ORDER BY 1'])
f(1, 'row_type_array', 'CREATE TABLE <s>.<x> (nat text, whole <t>[])', probes=[V])
f(1, 'row_type_composite', 'CREATE TYPE <s>.<x>_y AS (a int, b <t>)', 'CREATE TABLE <s>.<x> (nat text, y <s>.<x>_y)', probes=[V])
f(1, 'row_type_domain', 'CREATE DOMAIN <s>.<x> AS <t> CHECK (VALUE IS NOT NULL)')
f(1, 'like_table', 'CREATE TABLE <s>.<x> (LIKE <t> INCLUDING ALL)', probes=[V])
f(1, 'inherited_child', 'CREATE TABLE <s>.<x> (extra int) INHERITS (<t>)', probes=[V])
f(1, 'foreign_table', 'CREATE FOREIGN TABLE <s>.<x> (id <ty>) SERVER sx_server')
f(1, 'soft_column', 'CREATE TABLE <s>.<x> (nat text, ref_id <ty>)', 'INSERT INTO <s>.<x> SELECT nat, <k> FROM <t>', probes=['app: SELECT x.nat, q.nat FROM <s>.<x> x LEFT JOIN <t> q ON q.<k>::text = x.ref_id::text ORDER BY 1'])
f(1, 'soft_polymorphic', 'CREATE TABLE <s>.<x> (nat text, what text, what_id bigint)', "INSERT INTO <s>.<x> SELECT nat, 't', <k> FROM <t>", probes=["app: SELECT x.nat, q.nat FROM <s>.<x> x LEFT JOIN <t> q ON x.what = 't' AND q.<k>::text = x.what_id::text ORDER BY 1"])
f(1, 'soft_array', 'CREATE TABLE <s>.<x> (nat text, ids <ty>[])', 'INSERT INTO <s>.<x> SELECT min(nat), array_agg(<k>) FROM <t> GROUP BY qty', probes=['app: SELECT x.nat, q.nat FROM <s>.<x> x JOIN <t> q ON q.<k>::text = ANY (x.ids::text[]) ORDER BY 1, 2'])
f(1, 'soft_jsonb', 'CREATE TABLE <s>.<x> (nat text, j jsonb)', "INSERT INTO <s>.<x> SELECT nat, jsonb_build_object('t', <k>) FROM <t>", probes=["app: SELECT x.nat, q.nat FROM <s>.<x> x LEFT JOIN <t> q ON x.j ->> 't' = q.<k>::text ORDER BY 1"])
for q in ("<k> = 1", "<k> = ANY ('{1,2}'::int[])", "<k> IN (SELECT 1)", "<k> BETWEEN 1 AND 3", "<k> + 1 = 2", "abs(<k>) = 1", "<k>::int4 = 1", "<k>::numeric = 1", "'a' || <k> = 'a1'",
          "<k> = 1::smallint", "<k> = 1.0", "<k>::text = '1'", "COALESCE(<k>, 0) = 1", "to_char(<k>, 'FM99') = '1'", "<k> = '1'", "sign(<k>) = 1", "mod(<k>, 2) = 1", "(row_to_json(<t>) ->> 'nat') = 'n1'", "width_bucket(<k>, 0, 10, 5) = 1", "<k> & 1 = 1", "NOT <k> = -1", "greatest(<k>, 0) = 1", "<k> IS DISTINCT FROM 1"):
    f(0.15, 'query', probes=["app: SELECT nat FROM <t> WHERE %s AND abs(<k>) < 100 ORDER BY 1" % q])
f(0.3, 'query_returning', probes=["app: UPDATE <t> SET qty = qty WHERE nat = 'n1' RETURNING nat"])
f(0.3, 'query_lastval', probes=["app: INSERT INTO <t> (nat) VALUES ('lv') RETURNING nat; SELECT lastval() IS NOT NULL; DELETE FROM <t> WHERE nat = 'lv' RETURNING nat"])

# What only PostgreSQL 18 has
F18 = []
def f18(weight, name, *sql, probes=()):
    F18.append((weight, name, sql, tuple(probes)))

f18(3, 'not_null_name', "DO $d$ BEGIN EXECUTE (SELECT format('ALTER TABLE %s RENAME CONSTRAINT %I', conrelid::regclass, conname) || $n$ TO <x>$n$ FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1] WHERE conrelid = $n$<t>$n$::regclass AND contype = 'n' AND quote_ident(attname) = $n$<k>$n$); END $d$", "COMMENT ON CONSTRAINT <x> ON <t> IS 'never null'")
f18(2, 'not_null_column', 'ALTER TABLE <t> ADD CONSTRAINT <x> NOT NULL nat', "COMMENT ON CONSTRAINT <x> ON <t> IS 'a name'")
f18(1, 'not_null_no_inherit', 'ALTER TABLE <t> ADD CONSTRAINT <x> NOT NULL qty NO INHERIT')
f18(2, 'not_null_not_valid_column', 'ALTER TABLE <t> ADD CONSTRAINT <x> NOT NULL nat NOT VALID', "COMMENT ON CONSTRAINT <x> ON <t> IS 'not yet'")
f18(1, 'not_null_not_valid', 'ALTER TABLE <t> ADD CONSTRAINT <x> NOT NULL <k> NOT VALID')
f18(1, 'check_not_enforced', 'ALTER TABLE <t> ADD CONSTRAINT <x> CHECK (<k> > 1000) NOT ENFORCED', "COMMENT ON CONSTRAINT <x> ON <t> IS 'a wish'")
f18(2, 'check_not_enforced_column', 'ALTER TABLE <t> ADD CONSTRAINT <x> CHECK (length(nat) > 1000) NOT ENFORCED', "COMMENT ON CONSTRAINT <x> ON <t> IS 'a wish'")
f18(2, 'reference_not_enforced', 'CREATE TABLE <s>.<x> (nat text, ref_id <ty> CONSTRAINT <x> REFERENCES <t> (<k>) NOT ENFORCED)', "COMMENT ON CONSTRAINT <x> ON <s>.<x> IS 'a hope'", 'INSERT INTO <s>.<x> SELECT nat, <k> FROM <t>', probes=['app: SELECT x.nat, q.nat FROM <s>.<x> x LEFT JOIN <t> q ON q.<k>::text = x.ref_id::text ORDER BY 1'])
GIST, SPAN = 'SU CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA public', "ALTER TABLE <t> ADD COLUMN span_<i> tstzrange DEFAULT '[2026-01-01,)'"
f18(1, 'overlaps', GIST, SPAN, 'ALTER TABLE <t> ADD CONSTRAINT <x> UNIQUE (<k>, span_<i> WITHOUT OVERLAPS)')
f18(2, 'overlaps_column', GIST, SPAN, 'ALTER TABLE <t> ADD CONSTRAINT <x> UNIQUE (nat, span_<i> WITHOUT OVERLAPS)', "COMMENT ON CONSTRAINT <x> ON <t> IS 'one at a time'")
f18(1, 'period', GIST, SPAN, 'ALTER TABLE <t> ADD CONSTRAINT <x>_u UNIQUE (<k>, span_<i> WITHOUT OVERLAPS)', 'CREATE TABLE <s>.<x> (nat text, ref_id <ty>, span tstzrange, FOREIGN KEY (ref_id, PERIOD span) REFERENCES <t> (<k>, PERIOD span_<i>))')
f18(2, 'period_column', GIST, SPAN, 'ALTER TABLE <t> ADD CONSTRAINT <x>_u UNIQUE (nat, span_<i> WITHOUT OVERLAPS)', 'CREATE TABLE <s>.<x> (nat text, span tstzrange, FOREIGN KEY (nat, PERIOD span) REFERENCES <t> (nat, PERIOD span_<i>))', "INSERT INTO <s>.<x> SELECT nat, '[2026-02-01,2026-03-01)' FROM <t> WHERE nat = 'n1'", probes=[V])
f18(1, 'virtual', 'ALTER TABLE <t> ADD COLUMN gen_<i> numeric GENERATED ALWAYS AS (<k> * 2) VIRTUAL', 'CREATE VIEW <s>.<x> AS SELECT gen_<i> / 2 > 0 AS g, nat FROM <t>', probes=[V])
f18(3, 'virtual_column', 'ALTER TABLE <t> ADD COLUMN virtual_<i> text GENERATED ALWAYS AS (lower(nat)) VIRTUAL', "COMMENT ON COLUMN <t>.virtual_<i> IS 'v'", 'CREATE VIEW <s>.<x> AS SELECT virtual_<i>, nat FROM <t>', probes=['SELECT virtual_<i> FROM <s>.<x> ORDER BY 1'])

KEYS = [  # weight, name, type, how the column is made, whether an INSERT must name it
    (2, 'smallserial', 'smallint', 'smallserial', 0), (8, 'serial', 'integer', 'serial', 0), (8, 'bigserial', 'bigint', 'bigserial', 0), (3, 'identity', 'integer', 'integer GENERATED ALWAYS AS IDENTITY', 0), (3, 'identity_big', 'bigint', 'bigint GENERATED BY DEFAULT AS IDENTITY', 0),
    (2, 'identity_odd', 'integer', 'integer GENERATED BY DEFAULT AS IDENTITY (START 100 MINVALUE -5 MAXVALUE 100000 INCREMENT 3 CACHE 7 CYCLE)', 0),
    (1, 'identity_down', 'bigint', 'bigint GENERATED ALWAYS AS IDENTITY (START -100 INCREMENT -1)', 0), (1, 'identity_zero', 'integer', 'integer GENERATED ALWAYS AS IDENTITY (MINVALUE 0 START 0)', 0),
    (3, 'own_sequence', 'integer', "integer DEFAULT nextval('<s>.free_seq')", 0), (3, 'own_sequence_big', 'bigint', "bigint DEFAULT nextval('<s>.free_seq')", 0),
    (2, 'no_default', 'integer', 'integer', 1), (2, 'no_default_big', 'bigint', 'bigint', 1), (2, 'expression', 'bigint', "bigint DEFAULT (nextval('<s>.free_seq') * 10 + 3)", 0),
    (4, 'uuid', 'uuid', 'uuid DEFAULT gen_random_uuid()', 0), (1, 'uuid_plain', 'uuid', 'uuid', 1), (1, 'uuid_function', 'uuid', 'uuid DEFAULT <s>.my_uuid()', 0),
    (1, 'domain', '<s>.key_int', '<s>.key_int DEFAULT nextval(\'<s>.free_seq\')', 0), (2, 'text', 'text', 'text', 1), (1, 'varchar', 'varchar(20)', 'varchar(20)', 1), (2, 'numeric', 'numeric(20)', "numeric(20) DEFAULT nextval('<s>.free_seq')", 0), (1, 'oid', 'oid', 'oid', 1)]
CONSTANTS = [(1, 'constant', 'integer', 'integer DEFAULT 7', 1), (1, 'constant_big', 'bigint', 'bigint DEFAULT 0', 1), (1, 'constant_uuid', 'uuid', "uuid DEFAULT '00000000-0000-0000-0000-000000000000'", 1)]  # on 18 too, so that seeds stay what they are before
# What is refused, or should be: only every fourth schema has any of it, so that it hides little of the rest.
REFUSED = set('''domain oid inherits inherited typed other_owner not_valid heir matview generated rule rule_elsewhere function_atomic check_not_valid
    view_other_owner trigger_always publication publication_columns publication_filter publication_schema publication_all inherited_child
    not_null_not_valid check_not_enforced reference_not_enforced overlaps period virtual'''.split())
SHAPES = [(20, 'plain'), (4, 'composite'), (2, 'unique_only'), (2, 'list'), (2, 'hash'), (2, 'range'), (2, 'range_created'), (1, 'inherits'), (1, 'inherited'), (1, 'typed'), (1, 'unlogged'), (1, 'temp_index_names')]
EDGES = {'smallint': ('-32768', '0', '-1', '32767'), 'integer': ('-2147483648', '0', '-7', '2147483647'), 'bigint': ('-9223372036854775808', '0', '-7', '1099511627776')}
