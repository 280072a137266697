# Copies of a server's files that go on, with a clock that is behind.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Scenario::Copies;

copies('snowflake', ids => 10_000);
for my $layout ('snowflake', 'rollback2')
{
	$_->($layout, ids => 10_000) for \&rewound, \&chained, \&late, \&same_files, \&years;
}
done_testing();
