# Random schemas through flakeid.convert(), its undo and partitions: test/schemas/run says what must hold. FLAKEID_SEEDS="FIRST COUNT" are
# the seeds; test/world/038_schemas.pl takes fresh ones for an hour.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use Test::More;

my ($first, $count) = split ' ', $ENV{FLAKEID_SEEDS} // '1 10';
my ($found, $said) = schemas($first, $count);
diag $said if !$found || $ENV{FLAKEID_SEEDS};
ok($found, "random schemas $first to " . ($first + $count - 1) . ' come through, but for what is known');
done_testing();
