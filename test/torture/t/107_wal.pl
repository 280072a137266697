# What the horizon costs.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenarios;

Torture::Scenarios::wal('snowflake', seconds => 5);
done_testing();
