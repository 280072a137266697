# Every function of the extension called with random arguments, and type flake read from random bytes:
# the server stays up and no error is an internal one. On demand, with any number of others:
#
#     RANDOM_SEED=$RANDOM RANDOM_CALLS=450000 STEPS=tap PROVE_TESTS=test/t/017_random_calls.pl make check
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $calls = $ENV{RANDOM_CALLS} // 5000;
srand($ENV{RANDOM_SEED} // 1);

my $node = server('random', "flakeid.when_ahead = 'error'", "log_min_messages = 'log'", "log_min_error_statement = 'panic'",
	'restart_after_crash = off');

my @numbers = (0, 1, -1, 2, 7, 63, 64, 1023, 1024, 32767, 2147483647, -2147483648);
my @large = (9223372036854775807, '-9223372036854775808', 9007199254740993, 1 << 62);
my @moments = qw(now epoch infinity -infinity 294276-12-31 4714-12-01BC 2010-11-04 2039-01-01 4253-05-31);
my $presets = $node->safe_psql('postgres', 'SELECT string_agg(name, \' \') FROM flakeid.layouts');
my @texts = ('', split(/ /, $presets), 'time:41:1ms node:10 sequence:12', 'time:62:1us sequence:1', 'time:1:1d sequence:1',
	'back:3 time:38:1ms sequence:8 epoch=2020-01-01 cipher=sparx64', 'base2', 'base32hex', 'base58', 'base62', 'base64url',
	'default', 'plain horizon', 'back horizon', 'lease hold', 'node', '%s%n', 'x' x 9000, "\x{c3}\x{a9}" x 300, "a'b\\c\n");

sub random_bytes
{
	my ($length) = @_;
	return join '', map { chr int rand 256 } 1 .. $length;
}

sub one_of { return $_[ rand @_ ] }

my %random = (
	bool => sub { one_of('t', 'f') },
	int2 => sub { one_of(grep { abs($_) < 32768 } @numbers) },
	int4 => sub { rand() < 0.5 ? one_of(@numbers) : int(rand 2**32) - 2**31 },
	int8 => sub { rand() < 0.5 ? one_of(@numbers, @large) : int(rand 2**62) },
	text => sub { rand() < 0.9 ? one_of(@texts) : join '', map { chr(32 + int rand 95) } 1 .. rand 40 },
	timestamptz => sub { one_of(@moments) },
	interval => sub { one_of('0', '1 s', '-1 s', '1.5 s', '60 s', '1 day', '1 mon -30 days', '178000000 years') },
	tstzrange => sub { one_of('empty', '(,)', '[2020-01-01,2030-01-01)', '(infinity,)', "[" . one_of(@moments) . ",]") },
	tsrange => sub { one_of('empty', '(,)', '[2020-01-01,2030-01-01)', '(infinity,)', "[" . one_of(@moments) . ",]") },
	daterange => sub { one_of('empty', '(,)', '[2020-01-01,2030-01-01)', '(infinity,)', '[2026-03-29,2026-03-30)', '[5874897-12-30,)', '(,4713-01-01 BC]') },
	tstzmultirange => sub { one_of('{}', '{(,)}', '{[2020-01-01,2030-01-01)}', '{[2020-01-01,2021-01-01),[2026-01-01,)}', '{(,-infinity],[infinity,)}') },
	bytea => sub { '\x' . unpack 'H*', random_bytes(one_of(0, 1, 15, 16, 17, 100)) },
	oid => sub { one_of(0, 1, 10, 1259, 4294967295, int rand 30000) },
	flake_sealed => sub { join '', map { one_of(0 .. 9, 'a' .. 'v') } 1 .. one_of(13, 13, 14) },
	uuid => sub { unpack 'H*', random_bytes(16) });
$random{numeric} = sub { one_of(@numbers, @large, 'NaN', '1e100', '-0.5', '18446744073709551615') };
$random{flake} = $random{int8};
@random{map { "flakeid.$_" } qw(moments several_moments days local_times)} = @random{qw(tstzrange tstzmultirange daterange tsrange)};
$random{cstring} = $random{text};

sub argument
{
	my ($type) = @_;
	return "NULL::$type" if rand() < 0.1;
	my $array = $type =~ s/\[\]$//;
	my @values = map { my $value = $random{$type}->(); $value =~ s/'/''/g; "'$value'::$type" } 1 .. ($array ? rand 4 : 1);
	return $array ? 'ARRAY[' . join(', ', @values) . "]::$type" . '[]' : $values[0];
}

# The library's own. Those that take what only the server itself can pass are left out.
my @functions = map { [ split /\|/ ] } split /\n/, $node->safe_psql('postgres', q{
	SELECT p.oid::regproc, p.prokind, (SELECT string_agg(format_type(t, NULL), '|' ORDER BY n)
		FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n))
	FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'flakeid'
	WHERE p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'c') AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
		AND NOT 'internal'::regtype = ANY (p.proargtypes)});
my %long = ('timestamp with time zone' => 'timestamptz', boolean => 'bool', integer => 'int4', bigint => 'int8', smallint => 'int2');
my %unknown;

sub call
{
	my ($name, $kind, @types) = @{ one_of(@functions) };
	s/^([^\[]*)/$long{$1} \/\/ $1/e for @types;
	$unknown{$_} = 1 for grep { !$random{ s/\[\]$//r } } @types;
	my $list = join ', ', map { $random{ s/\[\]$//r } ? argument($_) : 'NULL' } @types;
	return "SELECT count(*) FROM (SELECT $name($list)) AS s;";
}

# Runs a script and returns the internal errors; dies when the session is lost.
sub internal_errors
{
	my ($script) = @_;
	my $file = write_file(PostgreSQL::Test::Utils::tempdir() . '/script.sql', $script);
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET statement_timeout = '200ms';\n\\i $file", on_error_stop => 0);
	is($node->safe_psql('postgres', 'SELECT 1'), '1', 'the server is up');
	return join "\n", $err =~ /^.*(?:ERROR|FATAL):  XX000.*$/mg, $err =~ /^.*connection to server was lost.*$/mg;
}

cmp_ok(scalar @functions, '>', 40, 'the functions are found');
for (my $left = $calls; $left > 0; $left -= 5000)
{
	is(internal_errors(join "\n", map { call() } 1 .. ($left < 5000 ? $left : 5000)), '', 'calls: no internal error');
}
is(join(' ', sort keys %unknown), '', 'there are values for every type');

# COPY BINARY: one column, fields of right and wrong lengths.
$node->safe_psql('postgres', 'CREATE TABLE copied (id flake)');
my $copies = '';
for my $i (1 .. $calls / 25)
{
	my $row = sub {
		my $length = one_of(8, 8, 8, 0, 1, 7, 9, 100);
		return pack 'n N a*', 1, rand() < 0.1 ? one_of(0xffffffff, 0xfffffffe, 0x7fffffff) : $length, random_bytes($length);
	};
	my $bytes = "PGCOPY\n\xff\r\n\0" . pack('N N', 0, 0) . join('', map { $row->() } 1 .. 1 + rand 3) . pack 'n', 0xffff;
	substr($bytes, rand length $bytes, 1, random_bytes(1)) if rand() < 0.2;
	my $file = write_file(PostgreSQL::Test::Utils::tempdir() . "/copy.$i", $bytes, 0644);
	$copies .= "COPY copied FROM '$file' (FORMAT binary);\n";
}
is(internal_errors($copies), '', 'COPY BINARY: no internal error');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM copied WHERE id IS NOT NULL'), '>', 0, 'and good rows arrive');

$node->stop('immediate');
done_testing();
