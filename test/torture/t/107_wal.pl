# What the horizon costs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::Wal;

wal('snowflake', seconds => 5);
done_testing();
