# Random tables, many seeds: those of test/t/044_random_tables.pl and more. FLAKEID_SEEDS="1 1000" runs so many.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;    # its INIT blocks come before what is read when the test runs

$ENV{FLAKEID_SEEDS} //= '1 100';
do "$FindBin::Bin/../t/044_random_tables.pl" or die $@ || $!;
