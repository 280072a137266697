# kill -9, shutdowns and the same moments again.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::Crashes;

my $preload = 0;
for (qw(snowflake sonyflake randflake rollback2))
{
	crashes($_, kills => 3, ids => 10_000, preload => $preload = !$preload);
}
created_again($_) for qw(snowflake randflake);
unflushed($_, rounds => 1, ids => 10_000) for qw(snowflake randflake rollback2);
done_testing();
