# Enciphered ids are spread evenly, and sortable ids can be shown enciphered outside.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
my $secret = $node->basedir . '/secret';
umask 077;
append_to_file($secret, "3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49\n");
$node->append_conf('postgresql.conf', "flakeid.secret_file = '$secret'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

local %ENV = $node->_get_env();
my ($out, $err);
my $even = IPC::Run::run([ dirname(abs_path(__FILE__)) . '/../on_demand/uniformity' ], '>', \$out, '2>', \$err);
ok($even, 'a million enciphered ids are spread evenly');
diag "$out$err" if !$even;
like($out, qr/1024 buckets: .* within .*\n16 partitions: .* within/, 'over buckets and hash partitions');

# Rising ids in the table, opaque ones outside.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), n int);
	INSERT INTO orders (n) SELECT generate_series(1, 100000);
	ANALYZE orders});
is( $node->safe_psql(
		'postgres', q{SELECT count(DISTINCT flake_encrypt(id)),
		count(*) FILTER (WHERE flake_decrypt(flake_encrypt(id)) = id) FROM orders}),
	'100000|100000',
	'shown ids lead back');
my $outside = $node->safe_psql('postgres', 'SELECT flake_encrypt(id) FROM orders WHERE n = 4711');
is($node->safe_psql('postgres', "SELECT n FROM orders WHERE id = flake_decrypt($outside)"),
	'4711', 'lookup by a shown id');
like(
	$node->safe_psql('postgres', "EXPLAIN SELECT n FROM orders WHERE id = flake_decrypt($outside)"),
	qr/Index Scan using orders_pkey.*Index Cond/s, 'which uses the primary key');

$node->stop;
done_testing();
