# Random tables, a few seeds of them. FLAKEID_SEEDS="1 200" runs those from 1 to 200.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use RandomTables;
use Test::More;

my ($first, $last) = split ' ', $ENV{FLAKEID_SEEDS} // '1 4';
my $node = random_server();
for my $seed ($first .. $last)
{
	my ($wrong, $did) = random_tables($node, $seed);
	is(join("\n", @$wrong), '', "seed $seed") or diag join "\n", @$did;
}
$node->stop;
done_testing();
1;
