# Dump, restore and pg_upgrade carry the horizon.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenarios;

Torture::Scenarios::dumps('snowflake', databases => 2, ids => 10_000);
Torture::Scenarios::dumps($_, databases => 1, ids => 10_000) for qw(randflake rollback2);
Torture::Scenarios::dumps('sonyflake', databases => 1, ids => 10_000, upgrade => 0);
done_testing();
