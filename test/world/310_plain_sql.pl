# The readers of doc/plain_sql are made from today's layouts, and read every id as flakeid does.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $plain = source_dir() . '/doc/plain_sql';
my $vectors = source_dir() . '/test/vectors';
my $random = 100_000;

my $key = '3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49';
my $secret = write_file(PostgreSQL::Test::Utils::tempdir() . '/secret', "$key\n");
my $node = server('main', "flakeid.secret_file = '$secret'", "timezone = 'Australia/Lord_Howe'");
my $sql = sub { return $node->safe_psql('postgres', @_) };

my $layouts = $sql->('SELECT name, layout_text FROM flakeid.layouts');
my $made = PostgreSQL::Test::Utils::tempdir();
ok(IPC::Run::run([ "$plain/generate", $made ], '<', \"$layouts\n"), 'the readers are generated');
my @presets = map { { split_preset($_) } } split /\n/, $layouts;
is_deeply(
	[ map { s{.*/}{}r } sort glob "$plain/*.sql" ],
	[ sort map { "$_->{name}.sql" } @presets ],
	'doc/plain_sql has a file for each preset');
is(slurp_file("$plain/$_->{name}.sql"), slurp_file("$made/$_->{name}.sql"), "$_->{name}.sql is what generate writes")
  for @presets;

$sql->(slurp_file("$plain/$_->{name}.sql")) for @presets;

# Every id of the vectors, whatever it was made for, and random ones.
$sql->(
	qq{
	CREATE TABLE text_form (id bigint, base2 text, base16 text, base32 text, base32crockford text, base32hex text,
		base36 text, base58 text, base62 text, base64url text, base64 text);
	CREATE TABLE bwmarrin (id bigint, unix_ms bigint, node int, step int, base2 text, base32 text, base36 text,
		base58 text, base64 text);
	CREATE TABLE sonyflake_v1 (id bigint, ticks bigint, sequence int, machine int);
	CREATE TABLE sonyflake_v2 (id bigint, unix_ms bigint, sequence int, machine int, bits_sequence int,
		bits_machine int, time_unit_ms int, start_unix_ms bigint);
	CREATE TABLE uidgenerator (id bigint, unix_seconds bigint, worker int, sequence int, time_bits int,
		worker_bits int, seq_bits int);
	CREATE TABLE randflake (secret_hex text, unix_seconds bigint, node int, sequence int, raw_id bigint,
		id bigint, base32hex text);
	COPY text_form FROM '$vectors/text.csv' (FORMAT csv, HEADER);
	COPY bwmarrin FROM '$vectors/bwmarrin.csv' (FORMAT csv, HEADER);
	COPY sonyflake_v1 FROM '$vectors/sonyflake_v1.csv' (FORMAT csv, HEADER);
	COPY sonyflake_v2 FROM '$vectors/sonyflake_v2.csv' (FORMAT csv, HEADER);
	COPY uidgenerator FROM '$vectors/uidgenerator.csv' (FORMAT csv, HEADER);
	COPY randflake FROM '$vectors/randflake.csv' (FORMAT csv, HEADER);
	CREATE TABLE known AS
		SELECT id FROM text_form UNION ALL SELECT id FROM bwmarrin UNION ALL SELECT id FROM sonyflake_v1
		UNION ALL SELECT id FROM sonyflake_v2 UNION ALL SELECT id FROM uidgenerator
		UNION ALL SELECT id FROM randflake UNION ALL SELECT raw_id FROM randflake});
my @rows = map { my @lines = split /\n/, slurp_file($_); @lines - 1 } glob "$vectors/*.csv";
my $rows = 0;
$rows += $_ for @rows;
is($sql->('SELECT count(*) - (SELECT count(*) FROM randflake) FROM known'), $rows, "all $rows rows of test/vectors are here");

my $seed = int rand(1 << 31);
note "seed of the random ids: $seed";
for my $preset (@presets)
{
	my ($name, $bits) = @$preset{qw(name bits)};
	my $argument = $preset->{cipher} ? "id, '\\x$key'" : 'id';
	my @pairs = map { [ "flake_$_(id, '$name')", "${name}_$_($argument)" ] } qw(timestamp node sequence);
	push @pairs, map { [ "flake_field(id, '$_', '$name')", "${name}_$_($argument)" ] } @{ $preset->{parts} };
	my $mask = $bits == 64 ? -1 : (1 << $bits) - 1;
	my $inside = $bits == 64 ? 'true' : "id BETWEEN 0 AND $mask";
	my $ids = "(SELECT id FROM known UNION ALL
		SELECT hashint8extended(n, $seed) & $mask FROM generate_series(1, $random) AS n) AS ids";

	my $theirs = join ', ', map { $_->[0] } @pairs;
	my $ours = join ', ', map { $_->[1] } @pairs;
	is( $sql->("SELECT id, ROW($theirs), ROW($ours) FROM $ids
			WHERE $inside AND ROW($theirs) IS DISTINCT FROM ROW($ours) LIMIT 5"),
		'', "$name: plain SQL reads known and random ids as flakeid does");
	cmp_ok($sql->("SELECT count(*) FROM $ids WHERE $inside"), '>=', $random, "$name: of which there are enough");
	is( $sql->("SELECT id FROM $ids WHERE NOT $inside AND num_nulls($ours) < @{[ scalar @pairs ]} LIMIT 5"),
		'', "$name: other numbers give null");
}

is( $sql->(
		q{SELECT * FROM randflake AS r, LATERAL (SELECT decode(secret_hex, 'hex') AS key) AS k
		WHERE (raw_id, to_timestamp(unix_seconds), node, sequence) IS DISTINCT FROM
			(randflake_raw(id, randflake_round_keys(key)), randflake_timestamp(id, key),
			 randflake_node(id, key), randflake_sequence(id, key))}),
	'', "Randflake's own ids, each under its secret");
is( $sql->(
		q{SELECT * FROM bwmarrin WHERE (to_timestamp(unix_ms / 1000.0), node, step) IS DISTINCT FROM
			(snowflake_timestamp(id), snowflake_node(id), snowflake_sequence(id))}),
	'', "bwmarrin's own ids");

# What IMMUTABLE and a body of one expression are for.
$sql->('CREATE INDEX moment ON bwmarrin (snowflake_timestamp(id))');
like(
	$sql->(
		q{SET enable_seqscan = off; EXPLAIN SELECT FROM bwmarrin WHERE snowflake_timestamp(id) > now()}),
	qr/Index Cond: \(CASE WHEN /, 'readers serve in an index, and cost no call');

$node->stop;
done_testing();

sub split_preset
{
	my ($name, $layout) = split /\|/, $_[0];
	my $bits = 0;
	$bits += $_ for $layout =~ /(?<= |^)\w+:(\d+)/g;
	my @parts = grep { !/^(time|node|sequence)$/ } $layout =~ /(?: |^)(\w+):\d+/g;
	return (name => $name, bits => $bits, parts => \@parts, cipher => $layout =~ /cipher=/);
}
