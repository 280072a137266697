# A standby is promoted half a second behind what was issued, with a clock that is three seconds behind.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::Failover;

failover($_, rounds => 1, ids => 10_000) for qw(snowflake sonyflake randflake rollback2);
done_testing();
