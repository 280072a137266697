# Random tables as in test/t/044_random_tables.pl, partitioned by the edition in plain SQL. FLAKEID_SEEDS="1 1000" runs so many.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;    # its INIT blocks come before what is read when the test runs

$ENV{EDITION} = 'plain';
$ENV{FLAKEID_SEEDS} //= '1 50';
do "$FindBin::Bin/../t/044_random_tables.pl" or die $@ || $!;
