# A session whose first id is printed by a query that runs in parallel loads the library during that query. Its settings are
# those that were made, and not the defaults.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use Test::More;

my $node = server('parallel', 'flakeid.node = 7');
my $secret = write_file($node->basedir . '/secret', '3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49');
$node->safe_psql('postgres', qq{
	ALTER DATABASE postgres SET flakeid.secret_file = '$secret';
	ALTER DATABASE postgres SET flakeid.layout = 'twitter';
	ALTER DATABASE postgres SET parallel_setup_cost = 0;
	ALTER DATABASE postgres SET parallel_tuple_cost = 0;
	ALTER DATABASE postgres SET min_parallel_table_scan_size = 0});
$node->safe_psql('postgres', 'CREATE TABLE t (id flake DEFAULT flake_next(), sealed flake_sealed DEFAULT flake_next(), n int);
	INSERT INTO t (n) SELECT generate_series(1, 20000); ANALYZE t');
for my $column ('id', 'sealed')
{
	my $query = "SELECT $column FROM t ORDER BY n LIMIT 1";
	like($node->safe_psql('postgres', "EXPLAIN $query"), qr/Gather/, "$query: in parallel");
	my ($result, $out, $err) = $node->psql('postgres', "$query; SHOW flakeid.node; SHOW flakeid.layout; SELECT flake_node(flake_next())");
	like($out, qr/^\w+\n7\ntwitter\n7$/, "$query: the settings are kept");
	is($err, '', "$query: without a warning");
}

$node->stop;
done_testing();
