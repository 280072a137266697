# Every door that a role without rights has to sealed ids: the plain ids never show. More rows:
#
#     SEALED_ROWS=1000000 STEPS=tap PROVE_TESTS=test/t/030_sealed_doors.pl make check
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = $ENV{SEALED_ROWS} // 4_000;

my $node = PostgreSQL::Test::Cluster->new('doors');
$node->init(allows_streaming => 'logical');
my $dir = $node->basedir;
my $secret = write_file("$dir/secret", '3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49');
$node->append_conf('postgresql.conf', "$_\n")
  for "flakeid.secret_file = '$secret'", "session_preload_libraries = 'auto_explain'", 'auto_explain.log_min_duration = 0', 'auto_explain.log_verbose = on',
  'auto_explain.log_analyze = on', 'log_statement = all', 'log_duration = on', 'log_parameter_max_length = -1', 'log_parameter_max_length_on_error = -1', 'log_error_verbosity = verbose';
$node->start;
$node->safe_psql('postgres', q{CREATE EXTENSION flakeid; CREATE ROLE app LOGIN; GRANT CREATE ON DATABASE postgres TO app; GRANT CREATE ON SCHEMA public TO app});
local %ENV = $node->_get_env();

# What a role is given for statements, as bytes: rows, notices and errors.
my $outputs = 0;

sub given
{
	my ($role, @sql) = @_;
	my $file = "$dir/output." . $outputs++;
	system('sh', '-c', 'file=$1; shift; exec "$@" >"$file" 2>&1', 'sh', $file, 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-U', $role, '-d', 'postgres', map { ('-c', $_) } @sql);
	my $bytes = slurp_file($file);
	unlink $file;
	return $bytes;
}

my $own = $node->safe_psql('postgres', 'SELECT current_user');
sub run_app { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', 'app' ]) }

# The tables are the role's own.
run_app(q{
	CREATE TABLE orders (id flake_sealed PRIMARY KEY DEFAULT flake_next(), n int NOT NULL CHECK (n > 0), parent flake_sealed REFERENCES orders) WITH (autovacuum_enabled = off);
	CREATE INDEX ON orders (parent);
	CREATE TABLE audit (event jsonb, old_row text, id_text text) WITH (autovacuum_enabled = off);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO audit VALUES (to_jsonb(NEW), NEW::text, format('%s %s', NEW.id, ARRAY[NEW.id]));
		IF NEW.n <= 10 THEN
			RAISE NOTICE 'new %, %', NEW.id, NEW;
			PERFORM pg_notify('orders', NEW.id::text);
		END IF;
		RETURN NEW; END $$;
	CREATE TRIGGER note AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION note();
	CREATE TABLE parted (LIKE orders) PARTITION BY RANGE (id)});
# A publication of the whole, and both plugins that the server brings
$node->safe_psql('postgres', q{CREATE PUBLICATION everything FOR TABLE orders; SELECT pg_create_logical_replication_slot('words', 'test_decoding'), pg_create_logical_replication_slot('bytes', 'pgoutput')});
my %shown = (trigger => given('app', "LISTEN orders; INSERT INTO orders (n) SELECT generate_series(1, $rows)", 'SELECT 1'));

my %plain = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT id::bigint FROM orders');
is(scalar keys %plain, $rows, 'rows');

# How many plain ids stand in bytes: as decimal numbers, as hexadecimal ones, and as eight bytes in either order.
my ($first, $last) = (sort keys %plain)[ 0, -1 ];
my $common = sub { my ($of) = @_; my ($l, $h) = map { $of->($_) } $first, $last; ($l ^ $h) =~ /^(\0*)/; return substr($l, 0, length $1) };
my $hex = $common->(sub { sprintf '%016x', $_[0] });
my $high_first = $common->(sub { pack 'Q>', $_[0] });
my $low_first = reverse $high_first;
my ($hex_rest, $rest) = (16 - length $hex, 8 - length $high_first);

sub found
{
	my ($bytes) = @_;
	my $found = 0;
	while ($bytes =~ /(\d{15,20})/g) { $found++ if $plain{$1} }
	while ($bytes =~ /(?=($hex[0-9a-f]{$hex_rest}))/gi) { $found++ if $plain{ hex $1 } }
	while ($bytes =~ /(?=(\Q$high_first\E.{$rest}))/gs) { $found++ if $plain{ unpack 'Q>', $1 } }
	while ($bytes =~ /(?=(.{$rest}\Q$low_first\E))/gs) { $found++ if $plain{ unpack 'Q<', $1 } }
	return $found;
}

# It sees plain ids in whatever form there is.
for my $form ('SELECT id::bigint FROM orders', 'SELECT to_hex(id::bigint) FROM orders', 'SELECT int8send(id::bigint) FROM orders', 'COPY (SELECT id::bigint FROM orders) TO STDOUT (FORMAT binary)',
	'SELECT json_agg(id::flake) FROM orders')
{
	cmp_ok(found(given($own, $form)), '>=', $rows, "plain ids are found: $form");
}

# What shows all rows
my %door = (
	text => 'SELECT id FROM orders',
	'text by cast' => 'SELECT id::text, id::varchar(20), cast(id AS char(14)) FROM orders',
	'binary' => 'COPY orders (id) TO STDOUT (FORMAT binary)',
	send => 'SELECT flake_sealed_send(id) FROM orders',
	copy => 'COPY orders TO STDOUT',
	csv => 'COPY orders TO STDOUT (FORMAT csv, FORCE_QUOTE *)',
	json => 'SELECT row_to_json(o), to_json(id), json_build_object(\'id\', id), json_build_array(id) FROM orders o',
	'json aggregates' => 'SELECT json_agg(o), json_object_agg(n, id), json_object_agg(id, n), array_to_json(array_agg(id)) FROM orders o',
	jsonb => 'SELECT to_jsonb(o), jsonb_build_object(\'id\', id), jsonb_build_object(id, n), to_jsonb(ARRAY[id]) FROM orders o',
	xml => q{SELECT table_to_xml('orders', true, false, '')},
	'xml elements' => 'SELECT xmlelement(name o, xmlattributes(id AS id), id), xmlforest(id) FROM orders',
	format => q{SELECT format('%s %L %I', id, id, id), concat(id, '-', id), quote_literal(id), quote_nullable(id) FROM orders},
	arrays => q{SELECT array_to_string(array_agg(id), ','), array_agg(id)::text, string_agg(id::text, ',') FROM orders},
	rows => 'SELECT o::text, ROW(id, n)::text, o FROM orders o',
	ordered => 'SELECT id, lag(id) OVER w, first_value(id) OVER w FROM orders WINDOW w AS (ORDER BY id)',
	'min and max' => 'SELECT min(id), max(id), mode() WITHIN GROUP (ORDER BY id), percentile_disc(0.5) WITHIN GROUP (ORDER BY id), count(DISTINCT id) FROM orders',
	ranges => q{CREATE TYPE sealed_range AS RANGE (subtype = flake_sealed); SELECT sealed_range(id, NULL) FROM orders; DROP TYPE sealed_range},
	domains => q{CREATE DOMAIN order_id AS flake_sealed; SELECT id::order_id, id::order_id::text FROM orders; DROP DOMAIN order_id},
	cursor => 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM orders; FETCH ALL FROM c; COMMIT',
	'table made of it' => 'CREATE TEMP TABLE made AS SELECT id, ARRAY[id] AS ids FROM orders; SELECT * FROM made; SELECT made::text FROM made',
	audit => 'SELECT * FROM audit',
	returning => 'BEGIN; DELETE FROM audit; DELETE FROM orders RETURNING id, orders; ROLLBACK');
for my $door (sort keys %door)
{
	my $bytes = given('app', $door{$door});
	cmp_ok(length $bytes, '>', 8 * $rows, "$door: something of each row") if $door ne 'min and max';
	is(found($bytes), 0, "$door: no plain id");
}

# Changes as others see them
my %changes = (test_decoding => q{SELECT data FROM pg_logical_slot_peek_changes('words', NULL, NULL)});
$changes{"pgoutput, binary $_"} = q{COPY (SELECT data FROM pg_logical_slot_peek_binary_changes('bytes', NULL, NULL, 'proto_version', '2', 'publication_names', 'everything', 'binary', '}
	  . $_ . q{')) TO STDOUT (FORMAT binary)} for 'false', 'true';
for my $plugin (sort keys %changes)
{
	my $bytes = given($own, $changes{$plugin});
	cmp_ok(length $bytes, '>', 8 * $rows, "$plugin: something of each row");
	is(found($bytes), 0, "$plugin: no plain id");
}
system('pg_dump', '-U', 'app', '-d', 'postgres', '-f', "$dir/dump") == 0 or die 'pg_dump failed';
my $dump = slurp_file("$dir/dump");
cmp_ok(length $dump, '>', 3 * 14 * $rows, 'pg_dump by the role: something of each row');
is(found($dump), 0, 'pg_dump: no plain id');

# What shows some
my ($id, $other) = split /\n/, run_app('SELECT id FROM orders ORDER BY n LIMIT 2');
$node->safe_psql('postgres', q{CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (} . "'$id'" . q{);
	ALTER TABLE parted_1 OWNER TO app});
run_app(q{CREATE TABLE few AS SELECT id, n % 3 AS k FROM orders, generate_series(1, 3) WHERE n <= 10; CREATE STATISTICS few_mcv (mcv) ON id, k FROM few; ANALYZE orders; ANALYZE few});
my @some = (
	"EXPLAIN VERBOSE SELECT * FROM orders WHERE id = '$id'", "EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM orders WHERE id IN ('$id', '$other') OR id BETWEEN '$id' AND '$other'",
	"PREPARE p (flake_sealed) AS SELECT * FROM orders WHERE id = \$1; EXPLAIN EXECUTE p ('$id'); SELECT * FROM pg_prepared_statements",
	"SET plan_cache_mode = force_generic_plan; PREPARE g AS SELECT n FROM orders WHERE id > \$1 LIMIT 1; EXPLAIN (ANALYZE, VERBOSE) EXECUTE g ('$id')",
	"SELECT most_common_vals, histogram_bounds FROM pg_stats WHERE tablename IN ('orders', 'few')", 'SELECT most_common_vals FROM pg_stats_ext',
	"SELECT pg_get_expr(relpartbound, oid), pg_get_partition_constraintdef(oid) FROM pg_class WHERE relname = 'parted_1'",
	"CREATE VIEW one AS SELECT n FROM orders WHERE id = '$id'; SELECT pg_get_viewdef('one')", "CREATE TEMP TABLE d (id flake_sealed DEFAULT '$id' CHECK (id <> '$other')); SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef; SELECT pg_get_constraintdef(oid) FROM pg_constraint",
	"INSERT INTO orders VALUES ('$id', 1)", "INSERT INTO orders (id, n, parent) VALUES (DEFAULT, 1, '0000000000000')", "INSERT INTO orders VALUES ('0000000000000', -1)", "INSERT INTO orders VALUES ('$id')",
	"INSERT INTO parted VALUES (flake_next(), 1)", "UPDATE orders SET n = -n WHERE id = '$id'", "UPDATE orders SET id = '$other' WHERE id = '$id'",
	"CREATE UNIQUE INDEX ON audit ((event->>'n'), (event->>'parent')) WHERE false; ALTER TABLE orders ADD EXCLUDE USING btree (id WITH =); INSERT INTO orders SELECT id, 1 FROM orders LIMIT 1",
	"SELECT '$id'::flake_sealed::int", "SELECT '${id}x'::flake_sealed", "DO \$\$ DECLARE o orders; BEGIN SELECT * INTO o FROM orders LIMIT 1; RAISE EXCEPTION '% %', o, o.id USING DETAIL = o.id; END \$\$",
	"COPY orders FROM STDIN\n$id\t1\t\\N\n\\.\n", "SELECT id / 0 FROM orders", "SELECT flake_unseal(id) FROM orders", "SELECT id::bigint FROM orders", "SELECT id <@ tstzrange('2020-01-01', NULL) FROM orders",
	"SELECT * FROM pg_stat_activity", "SELECT n FROM orders WHERE id = '$id' FOR UPDATE; SELECT * FROM pg_locks", "EXPLAIN (FORMAT json) SELECT * FROM parted WHERE id < '$other'",
	"EXPLAIN (ANALYZE, COSTS off) SELECT * FROM orders a JOIN orders b USING (id) WHERE a.id = '$id'", "SELECT max(id) AS id FROM orders \\gset\n\\echo :id", '\\d+ orders', '\\d+ parted');
for my $sql (@some)
{
	# COPY with its rows wants a script.
	my ($result, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-U', 'app' ], on_error_stop => 0);
	$shown{$sql} = ($out // '') . ($err // '');
	isnt($shown{$sql}, '', "shown: " . substr($sql, 0, 60));
}
like($shown{"INSERT INTO orders VALUES ('$id', 1)"}, qr/Key \(id\)=\($id\) already exists/, 'an error names the sealed id');
like($shown{"INSERT INTO parted VALUES (flake_next(), 1)"}, qr/Partition key of the failing row contains \(id\) = \([0-9a-v]{13}\)/, 'and so does that of partitions');

is(found($shown{$_}), 0, 'no plain id: ' . substr($_, 0, 80)) for sort keys %shown;
# The log of all of it; the superuser was given plain ids, but wrote none into statements.
is(found(slurp_file($node->logfile)), 0, 'no plain id: the log, with plans and errors');

$node->stop;
done_testing();
