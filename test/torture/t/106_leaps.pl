# A clock that leaps forward, the way back, and the back field.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenarios;

Torture::Scenarios::leaps($_, ids => 10_000) for qw(snowflake rollback2);
Torture::Scenarios::back_field($_) for qw(rollback2 rollback3);
done_testing();
