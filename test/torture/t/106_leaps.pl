# A clock that leaps forward, the way back, and the back field.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::Leaps;

leaps($_, ids => 10_000) for qw(snowflake rollback2);
back_field($_) for qw(rollback2 rollback3);
done_testing();
