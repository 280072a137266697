# Random tables, many seeds: those of test/t/044_random_tables.pl and more. FLAKEID_SEEDS="1 1000" runs so many.
use strict;
use warnings;

use FindBin;

$ENV{FLAKEID_SEEDS} //= '1 100';
do "$FindBin::Bin/../t/044_random_tables.pl" or die $@ || $!;
