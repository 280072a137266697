# Programs of others make ids that are read here, and read ids that are made here.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use IPC::Run qw(run);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs node and npm' if system('npm --version >/dev/null 2>&1') != 0;

# npm's package of Sonyflake counts milliseconds where Sony's counts 10 ms.
my %layout = (
	discord => 'discord',
	sonyflake => 'time:39:1ms sequence:8 machine:16 epoch=2020-01-01');
my $ids = 1000;

my $clients = dirname(abs_path(__FILE__)) . '/../clients';
my $dir = PostgreSQL::Test::Utils::tempdir;
copy("$clients/$_", $dir) or die "$_: $!" for qw(package.json ids.mjs);
my $npm_log;
run([ 'npm', '--prefix', $dir, 'install', '--no-package-lock', '--omit=dev', '--no-audit', '--no-fund', '--cache', "$dir/cache" ],
	'<', \undef, '>&', \$npm_log)
  or die "npm install failed: $npm_log";

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

sub node_program
{
	my ($input, @args) = @_;
	my ($out, $err);
	run([ 'node', "$dir/ids.mjs", @args ], '<', \$input, '>', \$out, '2>', \$err)
	  or die "node failed: $err";
	return $out;
}

# Theirs, read here.
my $made = node_program('', 'make', $ids);
is(scalar(split /\n/, $made), 2 * $ids, 'programs of others make ids');
my $values = join ',', map { sprintf "('%s',%s,%s,%s,%s)", split ' ' } split /\n/, $made;
is( $node->safe_psql(
		'postgres', qq{
	SELECT kind, count(*) FROM (VALUES $values) AS v (kind, id, ms, node, sequence),
	LATERAL (SELECT CASE kind WHEN 'discord' THEN '$layout{discord}' ELSE '$layout{sonyflake}' END AS layout) AS l
	WHERE flake_timestamp(id, layout) = to_timestamp(ms / 1000.0)
	  AND flake_node(id, layout) = v.node AND flake_sequence(id, layout) = v.sequence
	GROUP BY kind ORDER BY kind}),
	"discord|$ids\nsonyflake|$ids",
	'ids of others are read here');

# Ours, read there.
my $expected = $node->safe_psql(
	'postgres', join(
		';', map {
			qq{SELECT '$_', id, round(extract(epoch from flake_timestamp(id, '$layout{$_}')) * 1000)::bigint,
			   flake_node(id, '$layout{$_}'), flake_sequence(id, '$layout{$_}')
			   FROM flake_next_many($ids, '$layout{$_}') AS id}
		} sort keys %layout));
$expected =~ tr/|/ /;
my $asked = join "\n", map { join ' ', (split ' ')[ 0, 1 ] } split /\n/, $expected;
my $read = node_program("$asked\n", 'read');
is($read, "$expected\n", 'ids made here are read by programs of others');

$node->stop;
done_testing();
