# Dump, restore and pg_upgrade carry the horizon.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::Dumps;

dumps('snowflake', databases => 2, ids => 10_000);
dumps($_, databases => 1, ids => 10_000) for qw(randflake rollback2);
dumps('sonyflake', databases => 1, ids => 10_000, upgrade => 0);
done_testing();
