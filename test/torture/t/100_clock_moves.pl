# 8 sessions in 3 databases while the clock is moved, and clocks that are odd without being wrong.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::ClockMoves;
use Torture::Scenario::OddClocks;

clock_moves($_, ids => 10_000) for qw(snowflake sonyflake randflake rollback2);
odd_clocks($_, ids => 10_000) for qw(snowflake randflake);
session_cache('snowflake');
slow_then_fast('randflake', ids => 190_000);
done_testing();
