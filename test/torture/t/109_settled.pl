# Pollers up to the settled mark read every row once, in order; others lose some.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::Settled;

settled('snowflake', ids => 10_000);
done_testing();
