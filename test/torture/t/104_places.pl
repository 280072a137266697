# Ids out of every place that can call a function.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::Places;

places($_, ids => 10_000) for qw(snowflake sonyflake randflake rollback2);
done_testing();
