# Random schemas, fresh ones for FLAKEID_MINUTES; test/t/044_schemas.pl takes a few that are always the same.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use Test::More;

my $first = time;
my ($all, $block) = (0, 20);
my $end = $first + 60 * ($ENV{FLAKEID_MINUTES} // 60);
while (time < $end)
{
	my ($found, $said) = schemas($first + $all, $block);
	ok($found, 'schemas from seed ' . ($first + $all) . ' on') or diag $said;
	$all += $block;
}
done_testing();
