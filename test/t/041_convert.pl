# flakeid.convert(), and flakeid.partition(), beside others who change what they are about to write while they wait for their locks:
# then they look again. SQL test convert says what it does; test/world/036_convert.pl kills it at random moments.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use IPC::Run qw(pump);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A step waits for its locks for a fifth of deadlock_timeout: long enough to be seen.
my $node = server('moving', 'flakeid.node = 1', 'max_connections = 30', 'autovacuum = off', 'autovacuum_naptime = 1s');
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid_tables; CREATE ROLE keeper LOGIN; CREATE ROLE reader; CREATE SCHEMA shop AUTHORIZATION keeper; ALTER ROLE keeper SET search_path = shop, public');
my $patient = '-c deadlock_timeout=100s';

sub sql { my ($sql) = @_; return scalar $node->safe_psql('postgres', $sql, extra_params => [ '-U', 'keeper' ]) }

# A session of the owner that does what it is told and stays; another one that runs a call to its end.
sub session
{
	my ($name) = @_;
	local %ENV = $node->_get_env(PGAPPNAME => $name);
	my ($in, $out, $err) = ('', '', '');
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-U', 'keeper', '-d', 'postgres' ], '<', \$in, '>', \$out, '2>', \$err);
	return sub {
		my ($sql) = @_;
		if (!defined $sql) { $run->finish; return $err }
		$out = '';
		$in .= "$sql;\n\\echo said\n";
		pump $run until $out =~ /said/;
		return $err;
	};
}

sub beside
{
	my ($name, $sql, $options) = @_;
	local %ENV = $node->_get_env(PGAPPNAME => $name, PGOPTIONS => "-c client_min_messages=warning $options");
	my $err = '';
	# the timeout of locks is the server's, which a superuser sets
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-d', 'postgres', '-c', 'SET ROLE keeper', '-c', $sql ], '<', \undef, '>', \my $out, '2>', \$err);
	return sub { $run->finish; return $err };
}

sub waits
{
	my ($name) = @_;
	return $node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE application_name = '$name' AND NOT granted)");
}

# A view that is made anew, and whose rights are taken away, by somebody whom the swap waits for
sql(q{CREATE TABLE orders (id bigserial PRIMARY KEY, item text); INSERT INTO orders (item) SELECT n FROM generate_series(1, 10) n;
	CREATE VIEW items AS SELECT id, item FROM orders; GRANT SELECT ON items TO reader});
my $other = session('other');
$other->('BEGIN; SELECT FROM orders');
my $call = beside('call', "CALL flakeid.convert('shop.orders')", $patient);
waits('call');
$other->('CREATE OR REPLACE VIEW items AS SELECT id, item, true AS new FROM orders; REVOKE SELECT ON items FROM reader; COMMIT');
is($call->(), '', 'a view is replaced while the swap waits');
is(sql('SELECT count(new) FROM items'), 10, 'it is the new one afterwards');
is(sql("SELECT has_table_privilege('reader', 'items', 'SELECT')"), 'f', 'with the rights that it has now');
like(sql("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'orders'::regclass"), qr/flake_next/, 'and the column is converted');

# A row that comes while the undo waits, whatever level of isolation is the default
$other->(q{BEGIN; INSERT INTO orders (item) VALUES ('late')});
$call = beside('call', "CALL flakeid.convert_undo('shop.orders')", "$patient -c default_transaction_isolation=serializable");
waits('call');
$other->('COMMIT');
is($call->(), '', 'a row comes while the undo waits');
is(sql(q{INSERT INTO orders (item) VALUES ('next') RETURNING id = (SELECT max(id) + 1 FROM orders)}), 't', 'the sequence goes on above it');

# Two keys that a table refers to: the one that comes second waits for the first to end
sql(q{CREATE TABLE a (id serial PRIMARY KEY); CREATE TABLE b (id serial PRIMARY KEY); CREATE TABLE pairs (a_id int REFERENCES a, b_id int REFERENCES b);
	INSERT INTO a DEFAULT VALUES; INSERT INTO b DEFAULT VALUES; INSERT INTO pairs VALUES (1, 1)});
$other->('BEGIN; SELECT FROM pairs');
my @calls = map { beside("call $_", "CALL flakeid.convert('shop.$_')", $patient) } 'a', 'b';
waits("call $_") for 'a', 'b';
$other->('COMMIT');
my @errors = map { $_->() } @calls;
unlike(join('', @errors), qr/(?:ERROR(?!:  cannot convert table)|FATAL)/, 'two conversions of what one table refers to: none fails in another way than by refusing');
sql("CALL flakeid.convert('shop.$_')") for 'a', 'b';
is(sql('SELECT count(*) FROM pairs JOIN a ON a.id = a_id JOIN b ON b.id = b_id'), 1, 'and both are done');
is(sql(q{SELECT string_agg(format_type(atttypid, NULL), ' ' ORDER BY attname) FROM pg_attribute WHERE attrelid = 'pairs'::regclass AND attname IN ('a_id', 'b_id')}), 'flake flake', 'with their references');

# Two calls for one table, both of which are about to begin: one begins, and both go on with it
sql('CREATE TABLE same (id serial PRIMARY KEY, what text); INSERT INTO same (what) SELECT n FROM generate_series(1, 100) n');
$other->('BEGIN; SELECT FROM same');
@calls = map { beside("call $_", q{CALL flakeid.convert('shop.same')}, $patient) } 1, 2;
waits("call $_") for 1, 2;
$other->('COMMIT');
is(join('', map { $_->() } @calls), '', 'two calls for one table meet no error');
is(sql('SELECT pg_typeof(id), count(DISTINCT what) FROM same GROUP BY 1'), 'flake|100', 'and it is converted');

# Several tables by one call, which ends where one has begun, or is done: the next call goes on, and an undo takes all back
sql(q{CREATE TABLE x (id serial PRIMARY KEY); CREATE TABLE y (id serial PRIMARY KEY, x_id int NOT NULL REFERENCES x); CREATE TABLE z (id serial PRIMARY KEY, y_id int REFERENCES y);
	INSERT INTO x SELECT FROM generate_series(1, 1000); INSERT INTO y (x_id) SELECT id FROM x; INSERT INTO z (y_id) SELECT id FROM y});
my $joined = q{SELECT count(*) FROM x JOIN y ON x_id = x.id JOIN z ON y_id = y.id};
my $types = q{SELECT string_agg(attname || ' ' || format_type(atttypid, NULL), ', ' ORDER BY attrelid, attname) FROM pg_attribute
	WHERE attrelid IN ('x'::regclass, 'y'::regclass, 'z'::regclass) AND attnum > 0 AND NOT attisdropped AND attname !~ '^flakeid_old_'};
my $before = sql($types);
for my $when ('before the second table has begun', 'when the first table is done')
{
	if ($when =~ /done/)
	{
		my $list = sql(q{SELECT jsonb_build_object('list', ARRAY['x'::regclass::oid, 'y'::regclass::oid, 'z'::regclass::oid], 'until', 'armed')});
		for my $table ('x', 'y', 'z')
		{
			my $state = $list;
			$state = sql("SELECT flakeid.convert_step('shop.$table', NULL, NULL, NULL, NULL, NULL, false, '$state')") while $state =~ /until/;
		}
	}
	$other->('BEGIN; SELECT FROM z LIMIT 1');
	$call = beside('call', q{CALL flakeid.convert_all('{shop.x,shop.y,shop.z}')}, $patient);
	waits('call');
	$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'call'});
	like($call->(), qr/terminating connection/, "a call for several tables is killed $when");
	is(sql(q{SELECT count(DISTINCT atttypid) FROM pg_attribute WHERE attrelid IN ('x'::regclass, 'y'::regclass) AND attname = 'id'}), $when =~ /done/ ? 2 : 1, 'just then');
	sql('INSERT INTO z (y_id) SELECT max(id) FROM y');
	$other->('COMMIT');
	sql(q{CALL flakeid.convert_all('{shop.x,shop.y,shop.z}')});
	is(sql($types), $before =~ s/integer/flake/gr, 'the next one ends it');
	is(sql($joined), sql('SELECT count(*) FROM z'), 'all rows are there');
	sql(q{CALL flakeid.convert_undo_all('{shop.x,shop.y,shop.z}')});
	is(sql($types), $before, 'and an undo takes it back');
	is(sql(q{SELECT count(*) FROM pg_class WHERE relname ~ 'flakeid_'}) . sql($joined), '0' . sql('SELECT count(*) FROM z'), 'with all rows');
}

# The same table twice, and one that refers to it, at once: whoever comes later writes nothing that he knew before, and an undo takes all back.
sql(q{CREATE TABLE keys (id serial PRIMARY KEY, at date DEFAULT '2025-03-03', word text); CREATE TABLE leaves (id serial PRIMARY KEY, key_id int REFERENCES keys);
	INSERT INTO keys (word) SELECT repeat(n::text, 200) FROM generate_series(1, 5000) n; INSERT INTO leaves (key_id) SELECT id FROM keys; CREATE INDEX falling ON keys (id DESC)});
$other->('BEGIN; SELECT FROM keys LIMIT 1; SELECT FROM leaves LIMIT 1');
@calls = map { beside("call $_", $_ < 3 ? q{CALL flakeid.convert('shop.keys', created_at => 'at')} : q{CALL flakeid.convert('shop.leaves')}, $patient) } 1 .. 3;
waits("call $_") for 1 .. 3;
$other->('COMMIT');
@errors = map { $_->() } @calls;
unlike(join('', @errors), qr/(?:ERROR(?!:  cannot convert table)|FATAL)/, 'conversions of one table and of one that refers to it, at once: none fails in another way than by refusing');
sql("CALL flakeid.convert_undo('shop.$_')") for 'keys', 'leaves';
is(sql(q{SELECT count(*) FROM pg_attribute WHERE attrelid IN ('keys'::regclass, 'leaves'::regclass) AND attname ~ '^flakeid'}), 0, 'an undo takes all back');
unlike($node->safe_psql('postgres', q{SELECT setconfig FROM pg_db_role_setting WHERE setconfig::text ~ 'old_row_nodes'}), qr/:@{[ sql(q{SELECT 'keys'::regclass::oid}) ]}\b/, 'and gives back the nodes of all');

# Rows that get to other blocks between two steps of the filling
my $state = '{}';
$state = sql("SELECT flakeid.convert_step('shop.keys', NULL, NULL, NULL, NULL, NULL, false, '$state')")
	until sql(q{SELECT count(*) FROM pg_description WHERE classoid = 'pg_proc'::regclass AND description ~ '"block": [1-9]'});
sql('CLUSTER keys USING falling');
is(beside('call', q{CALL flakeid.convert('shop.keys')}, '')->(), '', 'a table is clustered while it is filled');
is(sql('SELECT count(*) FROM leaves JOIN keys ON keys.id = key_id'), 5000, 'and all rows are filled');

# Beside partitioning
sql(q{CREATE TABLE events (id bigserial PRIMARY KEY, what text); INSERT INTO events (what) SELECT n FROM generate_series(1, 100) n});
$other->('BEGIN; SELECT FROM events');
@calls = (beside('call c', "CALL flakeid.convert('shop.events')", $patient), beside('call p', "CALL flakeid.partition('shop.events', '1 month')", $patient));
waits($_) for 'call c', 'call p';
$other->('COMMIT');
$_->() for @calls;
$node->psql('postgres', "SET ROLE keeper; CALL flakeid.convert('shop.events')");
sql("CALL flakeid.partition('shop.events', '1 month')");
is(sql('SELECT count(*), count(DISTINCT what) FROM events'), '100|100', 'a table is converted and partitioned at once: its rows are there');
is(sql("SELECT relkind FROM pg_class WHERE oid = 'events'::regclass"), 'p', 'it is partitioned');
is(sql("SELECT count(*) FROM pg_constraint WHERE conname = 'flakeid_partition'"), 0, 'and nothing is left');

# Two steps of partitionings that wait for the same lock, in transactions that would see nothing of each other
sql(q{CREATE TABLE twice (id flake PRIMARY KEY DEFAULT flake_next(), what text); INSERT INTO twice (what) SELECT n FROM generate_series(1, 100) n});
$other->('BEGIN; SELECT FROM twice');
@calls = map { beside("call $_", q{CALL flakeid.partition_step('shop.twice', 'adding the constraint', 'flakeid.partition_fence(''shop.twice'', 9000000000000000000)', NULL)},
	"$patient -c default_transaction_isolation=serializable") } 1, 2;
waits("call $_") for 1, 2;
$other->('COMMIT');
$_->() for @calls;
is(scalar(() = slurp_file($node->logfile) =~ /LOG: +added constraint flakeid_partition of table shop\.twice/g), 2, 'the second one sees what the first one has done');
sql("CALL flakeid.partition('shop.twice', '1 month')");
is(sql('SELECT count(*), count(DISTINCT what) FROM twice'), '100|100', 'and the table is partitioned with all its rows');

# A lock that is never had
$other->('BEGIN; SELECT FROM a');
my (undef, undef, $err) = $node->psql('postgres', q{SET ROLE keeper; SELECT flakeid.convert_step('shop.a', NULL, NULL, NULL, NULL, NULL, true, '{"tries": 120}')});
like($err, qr/ERROR:  could not lock table shop.a and what refers to it\nDETAIL:  .*\nHINT:  Call flakeid.convert_undo again: it goes on where it was/, 'after 120 attempts a call ends, and says how to go on');
$other->('COMMIT');

# Who stopped after the swap left a foreign key that is not validated. Every call begins with that, its own or the other one.
sub swapped
{
	my ($undo) = @_;
	my $state = '{}';
	$state = sql("SELECT flakeid.convert_step('shop.goods', NULL, NULL, NULL, NULL, NULL, '$undo', '$state')") until $state =~ /swapped/;
	return;
}
my $keys = q{SELECT a.atttypid::regtype, k.convalidated FROM pg_attribute a, pg_constraint k
	WHERE a.attrelid = 'goods'::regclass AND a.attname = 'id' AND k.conrelid = 'parts'::regclass AND k.contype = 'f'};
for my $first (0, 1)
{
	for my $then (0, 1)
	{
		sql(q{CREATE TABLE goods (id serial PRIMARY KEY); CREATE TABLE parts (good int REFERENCES goods); CREATE INDEX ON parts (good);
			INSERT INTO goods SELECT generate_series(1, 5); INSERT INTO parts SELECT id FROM goods});
		sql("CALL flakeid.convert('shop.goods')") if $first;
		swapped($first);
		like(sql($keys), qr/\|f$/, 'a foreign key is not valid yet');
		sql(sprintf "CALL flakeid.convert%s('shop.goods')", $then ? '_undo' : '');
		is(sql($keys), ($then ? 'integer' : 'flake') . '|t', 'and is after the next call');
		sql('DROP TABLE parts, goods');
	}
}

# An autovacuum that would take hours gives way.
$node->safe_psql('postgres', 'ALTER SYSTEM SET deadlock_timeout = 100; ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf()');
sql(q{CREATE TABLE big (id serial PRIMARY KEY, word text); CREATE TABLE large (id flake PRIMARY KEY DEFAULT flake_next(), word text)});
for my $table ('big', 'large')
{
	sql(qq{ALTER TABLE $table SET (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1, autovacuum_vacuum_threshold = 10, autovacuum_vacuum_scale_factor = 0);
		INSERT INTO $table (word) SELECT repeat('x', 500) FROM generate_series(1, 15000); DELETE FROM $table WHERE id < (SELECT max(id) FROM $table); INSERT INTO $table (word) VALUES ('y')});
	$node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_stat_progress_vacuum WHERE relid = 'shop.$table'::regclass)") or die 'no autovacuum';
}
is(beside('call', "CALL flakeid.convert('shop.big')", '')->(), '', 'autovacuum gives way to a conversion');
is(beside('call', "CALL flakeid.partition('shop.large', '1 month')", '')->(), '', 'and to a partitioning');

if ($node->pg_version >= 17)
{
	$node->safe_psql('postgres', 'CREATE ACCESS METHOD shelf TYPE TABLE HANDLER heap_tableam_handler');
	sql('CREATE TABLE visits (id flake PRIMARY KEY) PARTITION BY RANGE (id) USING shelf');
	beside('call', "CALL flakeid.partition('shop.visits', '1 month')", '')->();
	is(sql(q{SELECT DISTINCT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid IN (SELECT relid FROM pg_partition_tree('visits'))}), 'shelf', 'partitions have the access method of their table');
}

# What only PostgreSQL 18 and later have: the plan refuses it before anything changes, or it comes back.
if ($node->pg_version >= 18)
{
	$node->safe_psql('postgres', 'CREATE EXTENSION btree_gist');
	for (
		[ 'CREATE TABLE rooms (id serial PRIMARY KEY); CREATE TABLE guests (room int REFERENCES rooms); ALTER TABLE guests ADD CONSTRAINT given NOT NULL room NOT VALID', qr/Constraint given of table shop\.guests is not valid/ ],
		[ 'CREATE TABLE rooms (id serial PRIMARY KEY, CONSTRAINT low CHECK (id < 9) NOT ENFORCED)', qr/Constraint low of table shop\.rooms is not enforced/ ],
		[ 'CREATE TABLE rooms (id serial, during daterange, CONSTRAINT once PRIMARY KEY (id, during WITHOUT OVERLAPS)); CREATE TABLE guests (room int, during daterange, FOREIGN KEY (room, PERIOD during) REFERENCES rooms)',
			qr/The column is in shop\.once, which is WITHOUT OVERLAPS/ ],
		[ 'CREATE TABLE rooms (id serial PRIMARY KEY, next int GENERATED ALWAYS AS (id + 1) VIRTUAL)', qr/Column next of table shop\.rooms is generated\.\s+HINT:  Drop it before/ ],
		[ 'CREATE TABLE rooms (id bigserial PRIMARY KEY); CREATE TABLE guests (room bigint NOT NULL REFERENCES rooms, kind int) PARTITION BY LIST (kind); CREATE TABLE guests_1 PARTITION OF guests (CONSTRAINT own NOT NULL room) FOR VALUES IN (1)',
			qr/Constraint own of partition shop\.guests_1 would stand beside/ ],
	  )
	{
		my ($made, $told) = @$_;
		sql($made);
		my $columns = q{SELECT c.oid, a.attname, a.atttypid FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid WHERE relnamespace = 'shop'::regnamespace ORDER BY c.oid, a.attnum};
		my $was = sql($columns);
		like(beside('call', "CALL flakeid.convert('shop.rooms', 'id')", '')->(), $told, "refused: $told");
		is(sql($columns), $was, 'and nothing has changed');
		sql('DROP TABLE IF EXISTS guests; DROP TABLE rooms');
	}
	for my $column ('n int CONSTRAINT given NOT NULL NO INHERIT', 'n int CONSTRAINT given CHECK (n > 1) NOT ENFORCED', 'n int CONSTRAINT given REFERENCES rooms NOT ENFORCED')
	{
		sql("CREATE TABLE rooms (id int PRIMARY KEY); CREATE TABLE stays (id flake PRIMARY KEY DEFAULT flake_next(), $column); INSERT INTO stays (n) VALUES (1)");
		my ($help) = beside('call', "CALL flakeid.partition('shop.stays', '1 month')", '')->() =~ /constraint given is .*: (ALTER TABLE .*)/;
		ok($help, "refused: $column");
		sql($help // '');
		is(beside('call', "CALL flakeid.partition('shop.stays', '1 month')", '')->(), '', 'and no more after what was told');
		sql('DROP TABLE stays, rooms');
	}
	sql('CREATE TABLE stays (id flake PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE guests (stay flake REFERENCES stays NOT ENFORCED)');
	is(beside('call', "CALL flakeid.partition('shop.stays', '1 month')", '')->(), '', 'a foreign key that is not enforced stays as it is');
	sql('DROP TABLE guests, stays');
	for my $kind ('serial', 'bigserial')
	{
		my $type = $kind eq 'serial' ? 'int' : 'bigint';
		sql(qq{CREATE TABLE rooms (id $kind PRIMARY KEY); CREATE TABLE guests (room $type NOT NULL REFERENCES rooms, kind int) PARTITION BY LIST (kind);
			CREATE TABLE guests_1 PARTITION OF guests FOR VALUES IN (1); COMMENT ON CONSTRAINT guests_room_not_null ON guests_1 IS 'of guests_1'});
		beside('call', "CALL flakeid.$_('shop.rooms')", '')->() for 'convert', 'convert_undo';
		is(sql(q{SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = 'guests_1'::regclass AND contype = 'n'}), 'of guests_1', "$kind: NOT NULL of a partition keeps its comment");
		is(sql(q{ALTER TABLE guests ALTER room DROP NOT NULL; INSERT INTO guests VALUES (NULL, 1) RETURNING kind}), 1, 'and ends with that of the parent');
		sql('DROP TABLE guests, rooms');
	}
	sql(q{CREATE TABLE rooms (id serial CONSTRAINT given NOT NULL PRIMARY KEY); COMMENT ON CONSTRAINT given ON rooms IS 'of rooms'});
	for my $call ('convert', 'convert_undo')
	{
		is(beside('call', "CALL flakeid.$call('shop.rooms')", '')->(), '', $call);
		is(sql(q{SELECT conname, obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = 'rooms'::regclass AND contype = 'n'}), 'given|of rooms', 'NOT NULL keeps its name and comment');
	}
}

$other->();
$node->stop('fast');
done_testing();
