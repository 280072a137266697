# The edition in plain SQL reads, composes and spells every id as the extension does, and refuses what it refuses with the same
# SQLSTATE, message and detail. Both are asked the same in one database.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use Plain;
use PostgreSQL::Test::Utils;
use Test::More;

my $vectors = source_dir() . '/test/vectors';
my $random = $ENV{RANDOM_IDS} // 1_000;    # a preset; 100,000 take five minutes
my $key = '3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49';
my $secret = write_file(PostgreSQL::Test::Utils::tempdir() . '/secret', "$key\n");
my $node = server('main', "flakeid.secret_file = '$secret'", "timezone = 'Australia/Lord_Howe'");
install_plain($node, 'shop');
my $sql = sub { return $node->safe_psql('shop', @_) };
$sql->('CREATE EXTENSION flakeid');
$sql->("INSERT INTO flakeid_plain.settings VALUES ('secret', '$key')");

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
	CREATE TABLE cockroachdb (id bigint, unix_us bigint, node int);
	COPY text_form FROM '$vectors/text.csv' (FORMAT csv, HEADER);
	COPY bwmarrin FROM '$vectors/bwmarrin.csv' (FORMAT csv, HEADER);
	COPY sonyflake_v1 FROM '$vectors/sonyflake_v1.csv' (FORMAT csv, HEADER);
	COPY sonyflake_v2 FROM '$vectors/sonyflake_v2.csv' (FORMAT csv, HEADER);
	COPY uidgenerator FROM '$vectors/uidgenerator.csv' (FORMAT csv, HEADER);
	COPY randflake FROM '$vectors/randflake.csv' (FORMAT csv, HEADER);
	COPY cockroachdb FROM '$vectors/cockroachdb.csv' (FORMAT csv, HEADER);
	CREATE TABLE known AS
		SELECT id FROM text_form UNION ALL SELECT id FROM bwmarrin UNION ALL SELECT id FROM sonyflake_v1
		UNION ALL SELECT id FROM sonyflake_v2 UNION ALL SELECT id FROM uidgenerator UNION ALL SELECT id FROM cockroachdb
		UNION ALL SELECT id FROM randflake UNION ALL SELECT raw_id FROM randflake});
my @rows = map { my @lines = split /\n/, slurp_file($_); @lines - 1 } grep { !/sealed_key|guess|prefixed/ } glob "$vectors/*.csv";
my $rows = 0;
$rows += $_ for @rows;
is($sql->('SELECT count(*) - (SELECT count(*) FROM randflake) FROM known'), $rows, "all $rows rows of test/vectors are here");

# The ids for which an expression, with %s before each function, gives different values in the two editions.
sub differ
{
	my ($ids, $where, @expressions) = @_;
	my ($extension, $plain) = map {
		my $schema = $_;
		'ROW(' . join(', ', map { s/%s/$schema./gr } @expressions) . ')::text'
	} qw(public flakeid_plain);
	return $sql->("SELECT * FROM (SELECT id, $extension AS extension, $plain AS plain FROM $ids AS ids (id) WHERE $where OFFSET 0) AS both_ways
		WHERE extension IS DISTINCT FROM plain LIMIT 3");
}

my $seed = int rand(1 << 31);
note "seed of the random ids: $seed";
my %layouts = map { split /\|/ } split /\n/, $sql->('SELECT name, layout_text FROM flakeid_plain.layouts');
is_deeply(
	\%layouts,
	{ map { split /\|/ } split /\n/, $sql->('SELECT name, layout_text FROM flakeid.layouts') },
	'the presets are the same');
$layouts{'time:64:1us'} = 'time:64:1us';
for my $name (sort keys %layouts)
{
	my $layout = $layouts{$name};
	my $bits = 0;
	$bits += $_ for $layout =~ /(?<= |^)\w+:(\d+)/g;
	my @fields = $layout =~ /(?: |^)(\w+):\d+/g;
	my $enciphered = $layout =~ /cipher/;
	my $mask = $bits < 64 ? (1 << $bits) - 1 : $enciphered ? -1 : ~0 >> 1;    # ids of a plain layout are not negative
	$mask >>= 1 if $layout =~ /time:64/;    # later than PostgreSQL's calendar
	my $inside = $bits == 64 && $enciphered ? 'true' : "id BETWEEN 0 AND $mask";
	my $drawn = "(SELECT hashint8extended(n, $seed) & $mask FROM generate_series(1, $random) AS n)";
	is( differ(
			"(SELECT id FROM known UNION ALL SELECT * FROM $drawn AS drawn)", $inside,
			map({ "%s$_(id, '$name')" } qw(flake_timestamp flake_node flake_sequence)),
			map({ "%sflake_field(id, '$_', '$name')" } @fields)),
		'', "$name: known and random ids are read alike");
	is( differ('(SELECT id FROM known TABLESAMPLE bernoulli (5))', $inside, "%sflake_explain(id, '$name')", "%sflake_inspect(id, '$name')",
			"%sflake_make(%sflake_timestamp(id, '$name'), %sflake_node(id, '$name'), %sflake_sequence(id, '$name'), '$name')"),
		'', "$name: explained, inspected and composed alike");
	next if $layout =~ /cipher|^back/;
	my $moment = q{(timestamptz '2026-01-01' + (id % 10000000000) * interval '1 ms')};
	my @searched = map { ("%sflake_floor($_, '$name')", "%sflake_ceil($_, '$name')") } $moment, "'infinity'", "'-infinity'";
	for my $ends ('[]', '[)', '(]', '()')
	{
		for my $range ("tstzrange($moment, $moment + abs(id % 7) * interval '0.5 ms', '$ends')", "tstzrange($moment, NULL, '$ends')",
			"tstzrange(NULL, $moment, '$ends')", "tstzrange('-infinity', 'infinity', '$ends')")
		{
			push @searched, "%sflake_range_floor($range, '$name')", "%sflake_range_ceil($range, '$name')";
		}
	}
	is(differ('(SELECT id FROM known TABLESAMPLE bernoulli (5))', 'true', @searched),
		'', "$name: moments and ranges lead to the same ids");
}

my @forms = qw(base2 base16 base32 base32crockford base32hex base36 base58 base62 base64 base64url);
is(differ('(SELECT id FROM known)', 'true', map { "%sflake_to_text(id, '$_')" } @forms), '', 'ids are spelled alike');
for my $form (@forms)
{
	is($sql->("SELECT id FROM text_form WHERE (flakeid_plain.flake_to_text(id, '$form'), flakeid_plain.flake_from_text($form, '$form')) IS DISTINCT FROM ($form, id)"),
		'', "$form: the vectors both ways");
}
is( $sql->(
		q{SELECT * FROM randflake, decode(secret_hex, 'hex') AS key
		WHERE (raw_id, id) IS DISTINCT FROM (flakeid_plain.flake_decrypt(id, key), flakeid_plain.flake_encrypt(raw_id, key))}),
	'', "Randflake's own ids, each under its secret");
is(differ('(SELECT id FROM known)', 'true', '%sflake_encrypt(id)', '%sflake_decrypt(id)'), '', 'enciphered alike under the secret');

# What one edition refuses the other refuses: the calls of the SQL tests, and texts and layouts with a character changed.
$sql->(slurp_file(source_dir() . "/test/sql/raised.sql") =~ s{pg_temp\.raised}{public.raised}r);
my %told;    # messages that were compared
my $refused = sub {
	my ($what, $from) = @_;
	$sql->(
		qq{SET timezone = 'UTC'; SET datestyle = 'ISO'; DROP TABLE IF EXISTS refused;
		CREATE TABLE refused AS SELECT replace(call, '%s', '') AS call, public.raised(replace(call, '%s', 'public.')) AS extension,
			public.raised(replace(call, '%s', 'flakeid_plain.')) AS plain FROM ($from) AS calls (call)});
	is($sql->(q{SELECT * FROM refused WHERE regexp_replace(extension, '\n  hint.*', '') IS DISTINCT FROM regexp_replace(plain, '\n  hint.*', '') LIMIT 5}), '', $what);
	# Hints that name what this edition has not, or has elsewhere, differ.
	is($sql->(q{SELECT * FROM refused WHERE extension !~ '\n  hint: .*flakeid\.' AND extension IS DISTINCT FROM plain AND plain !~ 'flakeid_plain\.|The setting|Use flake_next\(\)' LIMIT 5}), '', "$what: the hints");
	my @messages = split /\n/, $sql->(q{SELECT DISTINCT substr(split_part(plain, E'\n', 1), 8) FROM refused WHERE plain <> 'nothing'});
	@told{@messages} = ();
	cmp_ok($sql->(q{SELECT count(*) FROM refused WHERE plain <> 'nothing'}), '>', 10, "$what: there are such");
	return;
};
my $errors = slurp_file(source_dir() . '/sql/errors.sql');
my ($bad) = $errors =~ /(INSERT INTO bad_layout .*?;)\n/s;
$sql->("CREATE TABLE bad_layout (number int GENERATED ALWAYS AS IDENTITY, layout text); $bad");
my $calls = q{unnest(ARRAY['SELECT %%sflake_timestamp(5, %L)', 'SELECT %%sflake_field(5, ''node'', %L)', 'SELECT %%sflake_inspect(5, %L)',
	'SELECT %%sflake_explain(5, %L)', 'SELECT %%sflake_make(now(), 0, 0, %L)', 'SELECT %%sflake_floor(now(), %L)',
	'SELECT %%sflake_next(%L)', 'SELECT %%sflake_block(1, %L)', 'SELECT * FROM %%sflake_next_many(1, %L)']) AS call};
$refused->('wrong layouts', "SELECT format(call, layout) FROM bad_layout, $calls WHERE layout IS NOT NULL");
my $letters = q{(ARRAY[' ', ':', '=', '-', '0', '1', '9', 'a', 'Z', 'm', 's', '_', 'é', '.', 'epoch=', 'time:', ':1ms', ' back:2', ' cipher='])};
$refused->('layouts with a piece changed',
	qq{SELECT format('SELECT %%sflake_explain(5, %L)', overlay(layout_text PLACING $letters\[1 + h % 19] FROM 1 + h / 32 % length(layout_text) FOR h / 8192 % 4))
		FROM flakeid_plain.layouts, generate_series(1, 100) AS n, LATERAL (SELECT abs(hashint8extended(n, $seed + length(layout_text)) % 1000000)::int AS h OFFSET 0) AS hash});
$refused->('texts with a character changed',
	qq{SELECT format('SELECT %%sflake_from_text(%L, %L)', overlay(flakeid_plain.flake_to_text(id, form) PLACING $letters\[1 + h % 19] FROM 1 + h / 32 % 12 FOR h / 8192 % 3), form)
		FROM unnest('{@{[ join ',', @forms ]}}'::text[]) AS form, (SELECT id FROM known ORDER BY hashint8(id) LIMIT 300) AS ids,
			LATERAL (SELECT abs(hashint8extended(id, $seed + length(form)) % 1000000)::int AS h OFFSET 0) AS hash});
# Their nodes and secrets are set in ways of the extension's own.
my @theirs = grep { /flake_(?!next\(\)|nodes|lease|seal|unseal|layout\()/ && !/::flake|flakeid\.|flake_next\('(?!snow)/ } map { s/^\$\$|\$\$$//gr =~ s/^'(.*)'$/$1/sr =~ s/''/'/gr }
  $errors =~ /pg_temp\.raised\((\$\$.*?\$\$|'(?:[^']|'')*')\)/g;
cmp_ok(scalar @theirs, '>', 30, 'calls of sql/errors.sql');
$refused->('the calls of sql/errors.sql', join ' UNION ALL ', map { my $call = s/\b(flake_\w+)\(/%s$1(/gr; "SELECT \$call\$$call\$call\$" } @theirs);
$refused->('other texts and numbers',
	join ' UNION ALL ', map { "SELECT \$call\$SELECT %sflake_$_\$call\$" } "from_text('', 'base58')", "from_text('0x', 'base16')",
	"from_text('0000000000000000', 'base16')", "from_text('FFFFFFFFFFFFFFFF', 'base16')", "from_text('zzzzzzzzzzzzz', 'base36')",
	"from_text('01', 'base2')", "from_text('====', 'base64')", "from_text('LTA=', 'base64')", "from_text('MDE=', 'base64')",
	"from_text('OTk5OTk5OTk5OTk5OTk5OTk5OTk=', 'base64')", "from_text('MTIz', 'base64 ')", "from_text('__________9', 'base64url')",
	"encrypt(1, '\\x00')", "timestamp(-1, 'snowflake')", "timestamp(1, 'time:62:1d sequence:1')", "explain(-1, 'time:62:1d sequence:1')",
	"make('infinity', 0, 0, 'mastodon')", "make(now(), 0, 0, 'uidgenerator')", "make(now(), 1, 0, 'mastodon')", "block(0)", "block(4097)",
	"block(NULL)", "next_many(-1)", "next_many(NULL)", "field(5, 'shard')", "floor(now(), 'rollback3')", "ceil(now(), 'randflake')");

# What has to do with settings, roles and the clock, as each edition is told it. Moments and lengths of time stand for each other.
install_plain($node, 'refused');
$node->safe_psql('refused', "CREATE EXTENSION flakeid; ALTER DATABASE refused SET flakeid.secret_file = ''; CREATE ROLE clerk LOGIN");
my $soon = $node->safe_psql('postgres', q{SELECT to_char((now() - interval '7000 s') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')});
my $error = [ when_ahead => 'error' ];
my $small = [ layout => 'time:31:1s node:29 sequence:3' ];
my $ending = [ layout => "time:13:1s node:10 sequence:12 epoch=$soon" ];
sub refuses_alike
{
	my ($what, $settings, $call, %o) = @_;
	my ($plain, $extension) = ('', "LOAD 'flakeid'; ");
	$plain = 'DELETE FROM flakeid_plain.settings; INSERT INTO flakeid_plain.settings VALUES '
	  . join(', ', map { "('$_->[0]', '$_->[1]')" } @$settings) . '; SELECT flakeid_plain.adopt(NULL); ' if @$settings;
	$extension .= "SET flakeid.$_->[0] = '$_->[1]'; " for @$settings;
	my @answers = map {
		my ($schema, $first) = @$_;
		my $statement = $first . $call =~ s/%s/$schema./gr;
		refusal($node, $statement, database => 'refused', user => $o{user} // 'postgres')
	} [ 'public', $extension . ($o{extension} // '') ], [ 'flakeid_plain', $plain . ($o{plain} // '') ];
	my ($message) = $answers[1] =~ /^\w{5}: (.*)/;
	$told{ $message // '' } = undef;
	for (@answers)
	{
		s/\((\d+)(?: ms|) \.\. (\d+)(?: ms|)\)/($1 .. $2)/;
		s/\bflakeid\.max_ahead is/max_ahead is/;
		s/\nhint: .*//s;
		s/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d(?::\d\d)?/MOMENT/g;
		s/\d+(?:\.\d+)? (?:us|ms|s)\b(?! is outside)/LENGTH/g;
	}
	is($answers[1], $answers[0], "refused alike: $what");
	like($answers[1], qr/^\w{5}: ./, "refused: $what");
	return;
}
my $next = 'SELECT %sflake_next()';
refuses_alike(@$_) for
	[ 'a node that the layout has not', [ [ node => 1024 ] ], $next ],
	[ 'a node where there is none', [ [ layout => 'mastodon' ], [ node => 1 ] ], $next ],
	[ 'a layout that is only read', [ [ layout => 'cockroachdb' ] ], $next ],
	[ 'when_ahead', [ [ when_ahead => 'maybe' ] ], $next ],
	[ 'a max_ahead that is too short', [ [ max_ahead => '10ms' ] ], $next ],
	[ 'a max_ahead that is too long', [ [ max_ahead => '2d' ] ], $next ],
	[ 'a max_ahead that is none', [ [ max_ahead => 'soon' ] ], $next ],
	[ 'a layout that is none', [ [ layout => 'snowflak' ] ], $next ],
	[ 'a layout of long ticks', [ [ layout => 'time:41:1h node:10 sequence:12' ] ], $next ],
	[ 'no secret', [ [ layout => 'randflake' ] ], $next ],
	[ 'no secret, reading', [], "SELECT %sflake_timestamp(5, 'randflake')" ],
	[ 'no right to read', [], "SELECT %sflake_timestamp(5, 'randflake')", user => 'clerk' ],
	[ 'no right to decipher', [], 'SELECT %sflake_decrypt(5)', user => 'clerk' ],
	[ 'a clock before the epoch', [ [ layout => 'time:41:1ms node:10 sequence:12 epoch=2999-01-01' ] ], $next ],
	[ 'a layout that is full', [ [ layout => 'uidgenerator' ] ], $next ],
	[ 'more ids than the sequence has', [ $error, $small, [ max_ahead => '1s' ] ], 'SELECT count(*) FROM %sflake_next_many(100)' ],
	[ 'a horizon ahead of the clock', [ [ layout => 'snowflake' ], $error ], $next,
		plain => q{SELECT flakeid_plain.adopt(flakeid_plain.flake_floor(now() + interval '1 day')); }, extension => q{SELECT flakeid.raise_horizon(now() + interval '1 day'); } ],
	[ 'a horizon at the end of the layout', [ $ending, $error ], $next,
		plain => q{SELECT flakeid_plain.adopt(flakeid_plain.flake_ceil('infinity')); } ];

# Every message of the edition was compared, but for those of what only it has.
my $only = join '|', 'the bound of the ids is not on disk', 'the bound of the ids was overwritten', 'a block has no such length', 'extension flakeid is not installed',
	'the extension makes ', 'the state of the extension is of format', 'view %s uses an operator', 'column %s of table %s is generated', 'invalid value for parameter "flakeid.node"', 'invalid value for parameter "flakeid.secret"',
	'extension flakeid_tables looks after table', 'table %s does not exist', 'table %s is for a session of its owner'; # of who may call what
for my $chapter (glob source_dir() . '/packaging/plain/chapters/*.sql')
{
	my $text = slurp_file($chapter);
	my @messages = map { s/''/'/gr } $text =~ /(?:MESSAGE = (?:format\()?|\bmessage text := format\()'((?:[^']|'')*)'/g;
	for my $message (grep { !/^(?:$only)/ } @messages)
	{
		my $pattern = join '.*', map { quotemeta } split /%s/, $message, -1;
		ok((grep { /^$pattern$/s } keys %told), "compared: $message");
	}
}

# What IMMUTABLE is for.
$sql->("CREATE INDEX moment ON bwmarrin (flakeid_plain.flake_timestamp(id, 'snowflake')); CREATE INDEX id ON bwmarrin (id)");
like(
	$sql->("SET enable_seqscan = off; EXPLAIN SELECT FROM bwmarrin WHERE flakeid_plain.flake_timestamp(id, 'snowflake') > now()"),
	qr/Index Cond: \(flakeid_plain\.timestamp_in/, 'readers serve in an index');
like(
	$sql->("SET enable_seqscan = off; EXPLAIN SELECT FROM bwmarrin WHERE flakeid_plain.flake_in_range(id, tstzrange('2026-01-01', NULL))"),
	qr/Index Cond: .*id >= .*AND.*id <= /, 'ids are found by time with the primary key');

$node->stop;
done_testing();
