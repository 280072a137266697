# The tables of the reference are those that doc/dev/reference makes of the catalogs; it names what flakeid.status shows.
# (test/rules.d/manual.t compares what shows without a server.)
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../rules.d";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Tree qw(none);

my $node = server('manual');
{
	local %ENV = $node->_get_env();
	my ($differs, $err) = run_command([ $^X, source_dir() . '/doc/dev/reference' ]);
	is("$differs$err", '', 'the tables of the reference are those of the catalogs (doc/dev/reference --write)');
}
is($node->safe_psql('postgres', q{SELECT datname FROM pg_database WHERE datname ~ 'reference'}), '', 'it leaves no database');
is($node->safe_psql('postgres', q{SELECT to_regrole('flakeid_generator')}), '', 'and no role');

my $views = slurp_file(source_dir() . '/doc/reference/views.md');
none('the rows of flakeid.status are told', grep { $views !~ /^- `\Q$_\E`/m } split /\n/,
	$node->safe_psql('postgres', q{SELECT name FROM flakeid.status WHERE name !~ '^flakeid[.]'}));

$node->stop;
done_testing();
