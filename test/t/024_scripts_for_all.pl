# What scripts do to all objects of a database alike, flakeid.state among them: REFRESH of every materialized view, VACUUM FULL and
# CLUSTER while a slot waits to be decoded. Nobody waits for them, and no slot is stuck.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = server('all', 'wal_level = logical', 'autovacuum = off');
my $secret = write_file(PostgreSQL::Test::Utils::tempdir() . '/secret', '00112233445566778899aabbccddeeff');

#
# REFRESH of all in one transaction, as nightly scripts do
#
$node->safe_psql('postgres', q{
	CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next());
	CREATE MATERIALIZED VIEW report AS SELECT count(*) FROM orders WITH NO DATA;
	CREATE ROLE watcher LOGIN IN ROLE pg_monitor});
my $all = q{SELECT format('REFRESH MATERIALIZED VIEW %I.%I;', schemaname, matviewname) FROM pg_matviews};
for my $order ('first', 'last')
{
	my $script = $node->background_psql('postgres', on_error_stop => 0);
	$script->query('BEGIN');
	my $answer;
	for my $statement (split /\n/, $node->safe_psql('postgres', "$all ORDER BY (schemaname = 'flakeid') = ('$order' = 'last')"))
	{
		$script->{stderr} = '';
		$script->query($statement);
		$answer = $script->{stderr} if $statement =~ /flakeid\.state/;
	}
	like($answer, qr/ERROR:  flakeid\.state needs no REFRESH\n/, "with flakeid.state $order, the script fails");
	# It is still open, as where a slow view follows.
	is(refusal($node, "SET lock_timeout = '1min'; INSERT INTO orders DEFAULT VALUES"), '', 'and nobody waits for it');
	is($node->safe_psql('postgres', q{SET lock_timeout = '1min'; SELECT value FROM flakeid.status WHERE name = 'can generate'}, extra_params => [ '-U', 'watcher' ]), 'yes', 'nor does an exporter');
	$script->quit;
}
my ($hint) = refusal($node, 'REFRESH MATERIALIZED VIEW flakeid.state') =~ /^hint: Leave schema flakeid out: (SELECT .*)$/m;
is($node->safe_psql('postgres', $hint), 'REFRESH MATERIALIZED VIEW public.report;', 'the hint lists the others');
is(refusal($node, $node->safe_psql('postgres', $hint)), '', 'which are refreshed');
$node->command_ok([ 'vacuumdb', '--full', '--all', '-p', $node->port, '-h', $node->host ], 'vacuumdb --full');

#
# Logical decoding of a sealed column, while the file that held the state when the rows came is gone
#
my $database = 'sealed';
$node->safe_psql('postgres', "CREATE DATABASE $database");
$node->safe_psql($database, "ALTER DATABASE $database SET flakeid.secret_file = \$q\$$secret\$q\$");
$node->safe_psql($database, q{CREATE EXTENSION flakeid; CREATE TABLE t (id flake_sealed PRIMARY KEY DEFAULT flake_next(), v int); CREATE PUBLICATION p FOR TABLE t});
my %read = (
	test_decoding => q{SELECT string_agg((regexp_match(data, 'id\[flake_sealed\]:''?(\w+)'))[1], ' ') FROM pg_logical_slot_%s_changes('d', NULL, NULL)},
	pgoutput => q{SELECT string_agg(id, ' ') FROM (SELECT (regexp_match(encode(data, 'escape'), '[0-9a-v]{13}'))[1] AS id FROM pg_logical_slot_%s_binary_changes('d', NULL, NULL, 'proto_version', '1', 'publication_names', 'p')) AS s});
for my $plugin (sort keys %read)
{
	for my $rewrite ('VACUUM FULL flakeid.state', 'VACUUM FULL', 'CREATE INDEX i ON flakeid.state (incarnation); CLUSTER flakeid.state USING i; DROP INDEX flakeid.i')
	{
		$node->safe_psql($database, "TRUNCATE t; SELECT pg_create_logical_replication_slot('d', '$plugin')");
		$node->safe_psql($database, $_) for 'INSERT INTO t SELECT flake_next(), 1 FROM generate_series(1, 3)', $rewrite, 'INSERT INTO t SELECT flake_next(), 2', 'CHECKPOINT';
		my $ids = $node->safe_psql($database, q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM t});
		my $decode = sprintf $read{$plugin}, 'get';
		is($node->safe_psql($database, $decode), $ids, "$plugin: decoded after $rewrite");
		# The same session then compares its secret as every other does.
		my $peek = sprintf $read{$plugin}, 'peek';
		is($node->safe_psql($database, "INSERT INTO t SELECT flake_next(), 3; SELECT ($peek) = max(id)::text FROM t"), 't', 'in a session that makes and shows ids of its own');
		$node->safe_psql($database, q{SELECT pg_drop_replication_slot('d')});
	}
}
# In a session whose secret was read by decoding alone, another secret is still found out by its first sealed id.
my $other = write_file(PostgreSQL::Test::Utils::tempdir() . '/other', 'ffeeddccbbaa99887766554433221100');
$node->safe_psql($database, q{SELECT pg_create_logical_replication_slot('d', 'test_decoding'); INSERT INTO t SELECT flake_next(), 4});
like(refusal($node, "SET flakeid.secret_file = \$q\$$other\$q\$; SELECT count(data) FROM pg_logical_slot_peek_changes('d', NULL, NULL); SELECT max(id) FROM t", database => $database),
	qr/^55000: key 0 is not the one that sealed ids of this database were made with/, 'another secret, after decoding');
like(refusal($node, "RESET flakeid.secret_file; SET flakeid.secret_file = ''; SELECT count(data) FROM pg_logical_slot_peek_changes('d', NULL, NULL)", database => $database),
	qr/^55000: no secret is configured\n.*\nhint: Set flakeid\.secret_file to the file of the secret that ids were made with here/s, 'and where there is none, nobody is told to make one');
$node->safe_psql($database, q{SELECT pg_drop_replication_slot('d')});
$node->stop;
done_testing();
