# Waiting for the clock: nobody else does, it ends when told to, and in time. The counters tell.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::Waits;

waits($_, ids => 10_000) for qw(snowflake randflake);
counters('snowflake');
done_testing();
