# Ids of old rows: tables that are converted at the same moment, in one database or several, get none in common, whatever moment the server
# is killed at; an undo gives their node back. FLAKEID_ROUNDS is how often tables are converted at once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use IPC::Run qw(finish start);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = server('main', 'flakeid.node = 7', 'max_connections = 30');
my @databases = ('postgres', 'other');
$node->safe_psql('postgres', 'CREATE ROLE keeper LOGIN; CREATE ROLE stranger LOGIN; CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION flakeid');
$node->safe_psql($_, 'CREATE EXTENSION flakeid_tables; GRANT CREATE ON SCHEMA public TO keeper') for @databases;

sub sql { my ($database, $sql) = @_; return scalar $node->safe_psql($database, "SET client_min_messages = warning; $sql", extra_params => [ '-U', 'keeper' ]) }
my $taken = q{SELECT count(*) FROM pg_db_role_setting, unnest(setconfig) AS s (s), regexp_split_to_table(split_part(s, '=', 2), ' ') WHERE s LIKE 'flakeid.old_row_nodes=%'};
my $rows = q{INSERT INTO %1$s (at) SELECT timestamptz '2026-01-01' + n / 10 * interval '1 s' FROM generate_series(1, 300) AS n};
my $by_time = q{created_at => 'at', also => '{}'};
for my $database (@databases)
{
	sql($database, "CREATE TABLE $_ (id bigserial PRIMARY KEY, at timestamptz); " . sprintf($rows, $_)) for 'a', 'b';
}

# Such a node is taken from the highest one down: this server had that one once.
$node->safe_psql('other', 'SET flakeid.node = 1023; SELECT flake_next()');

sub ids { my ($database, $table) = @_; return split /\n/, sql($database, "SELECT id FROM $table") }

for my $round (1 .. $ENV{FLAKEID_ROUNDS} // 2)
{
	my @sessions;
	for my $database (@databases)
	{
		local %ENV = $node->_get_env(PGOPTIONS => '-c client_min_messages=warning');
		push @sessions, map { start [ 'psql', '-XAtq', '-U', 'keeper', '-d', $database, '-c', "CALL flakeid.convert('$_', $by_time)" ], '<', \undef, '2>', \my $err } 'a', 'b';
	}
	is(scalar(grep { finish $_ } @sessions), 4, "round $round: two tables each of two databases are converted at once");
	my %has;
	$has{$_}++ for map { my $database = $_; map { ids($database, $_) } 'a', 'b' } @databases;
	is(scalar(keys %has), 1200, 'and no id is in two of them');
	is(sql('postgres', $taken), 4, 'four nodes are taken');
	is(join(' ', map { sql($_, 'SELECT count(*) FROM (TABLE a UNION ALL TABLE b) AS t WHERE flake_node(t.id) IN (7, 1023)') } @databases), '0 0', 'none that the server has or had');
	sql($_, "CALL flakeid.convert_undo('a'); CALL flakeid.convert_undo('b')") for @databases;
	is(sql('postgres', $taken), 0, 'and an undo gives them back');
}

# Killed before the transaction that takes a node has ended, and after it
sub step { my ($state) = @_; return qq{SELECT flakeid.convert_step('a', NULL, 'at', NULL, NULL, '{}', false, '$state')} }
my $open = $node->background_psql('postgres', extra_params => [ '-U', 'keeper' ]);
$open->query_safe('SET client_min_messages = warning');
$open->query_safe('BEGIN');
$open->query_safe(step('{}'));
is($open->query_safe(q{SELECT count(*) FROM pg_db_role_setting, unnest(setconfig) AS s WHERE s LIKE 'flakeid.old_row_nodes=%'}), 1, 'a step takes a node');
$node->stop('immediate');
$node->start;
eval { $open->quit };
is(sql('postgres', $taken), 0, 'nobody has it when the server is killed before that is committed');
sql('postgres', step('{}'));
is(sql('postgres', q{SELECT step FROM flakeid.conversions WHERE table_name = 'public.a'}), 'new ids are made', 'a node is taken, and no row is filled');
$node->stop('immediate');
$node->start;
is(sql('postgres', $taken), 1, 'it stays taken when the server is killed then');
sql('other', "CALL flakeid.convert('a', $by_time)");
sql('postgres', "CALL flakeid.convert('a', $by_time)");
my %seen = map { $_ => 1 } ids('other', 'a'), ids('postgres', 'a');
is(scalar(keys %seen), 600, 'another table had another one meanwhile');

# Who is no owner gives nothing back, and nobody takes what is taken.
my $first = sql('postgres', 'SELECT flake_node(min(id)) FROM a');
like(refusal($node, "SELECT flakeid.release_old_row_node('a', $first)", user => 'stranger'), qr/^42501: must be owner of table a/, 'a node is its owner\'s');
like(refusal($node, "SELECT flakeid.old_row_node('a', NULL, NULL, true)", user => 'stranger'), qr/^42501: must be owner of table a/, 'and a table takes none for strangers');
like(refusal($node, "CALL flakeid.convert('b', $by_time, node => $first)", database => 'other', user => 'keeper'),
	qr/^55000: cannot convert table public\.b\ndetail: Node $first is no node of the layout, or old rows of another table have it/, 'a node that another database has is refused');
is(sql('other', q{SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'b'::regclass AND attname = 'id'}), 'bigint', 'and nothing has changed');
like(refusal($node, "CALL flakeid.convert('b', $by_time, node => 7)", user => 'keeper'), qr/detail: This server makes ids with node 7/, 'and so is this server\'s');

# A layout of four nodes, of which the server has one
$node->safe_psql('other', q{ALTER DATABASE other SET flakeid.layout = 'time:41:1ms node:2 sequence:12 epoch=2020-01-01T00:00:00Z'; ALTER DATABASE other SET flakeid.node = 0});
sql('other', "CREATE TABLE t$_ (id bigserial PRIMARY KEY, at timestamptz); " . sprintf($rows, "t$_")) for 1 .. 4;
sql('other', "CALL flakeid.convert('t$_', $by_time)") for 1 .. 3;
like(sql('other', qq{SELECT statement FROM flakeid.convert_plan('t4', $by_time) WHERE statement LIKE '-- refused%'}), qr/^-- refused: No node is left for ids of old rows\./, 'the plan tells that none is left');
like(refusal($node, "CALL flakeid.convert('t4', $by_time)", database => 'other', user => 'keeper'), qr/detail: No node is left for ids of old rows/, 'and the call, before anything has changed');
is(sql('other', q{SELECT count(*) FROM pg_trigger WHERE tgrelid = 't4'::regclass}), 0, 'which leaves nothing');

# What a dropped database has taken is free.
$node->safe_psql('postgres', 'DROP DATABASE other');
is(sql('postgres', $taken), 1, 'a database that is dropped has taken nothing');
like(sql('postgres', 'SHOW flakeid.old_row_nodes'), qr/^1;$first:\d+$/, 'the setting of the database says what it has');

# A dump leaves out the settings of the database; its tables still tell.
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET flakeid.old_row_nodes');
sql('postgres', "CALL flakeid.convert('b', $by_time)");
isnt(sql('postgres', 'SELECT flake_node(min(id)) FROM b'), $first, 'a node that a table of a dump has is not taken again');
done_testing();
