# The tables of the reference are those that doc/dev/reference makes of the catalogs; it names what flakeid.status shows, and
# the page of leases tells the defaults of their settings. (test/rules.d/manual.t compares what shows without a server.)
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../rules.d";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Tree qw(cells none);

my $node = server('manual');
{
	local %ENV = $node->_get_env();
	my ($differs, $err) = run_command([ $^X, source_dir() . '/doc/dev/reference' ]);
	is("$differs$err", '', 'the tables of the reference are those of the catalogs (doc/dev/reference --write)');
}
is($node->safe_psql('postgres', q{SELECT datname FROM pg_database WHERE datname ~ 'reference'}), '', 'it leaves no database');
is($node->safe_psql('postgres', q{SELECT to_regrole('flakeid_generator')}), '', 'and no role');

my $views = slurp_file(source_dir() . '/doc/reference/views.md');
none('the rows of flakeid.status are told', grep { $views !~ /^\| `\Q$_\E`/m } split /\n/,
	$node->safe_psql('postgres', q{SELECT name FROM flakeid.status WHERE name !~ '^flakeid[.]'}));

my %default = map { my ($name, $default, $unit) = split /\|/, $_, -1; ($name => $default . $unit) } split /\n/, $node->safe_psql('postgres', q{
	SELECT FROM flake_next() \g /dev/null
	SELECT name, boot_val, unit FROM pg_settings WHERE name LIKE 'flakeid.%'});
my %told = map { my ($name) = $_->[0] =~ /^`(flakeid\.\w+)`$/; $name ? ($name => $_->[1] =~ s/^empty$|`//gr) : () } cells(source_dir() . '/doc/leases.md');
cmp_ok(scalar(keys %told), '>=', 4, 'settings of leases were found');
is($told{$_}, $default{$_}, "default of $_ in doc/leases.md") for sort keys %told;

$node->stop;
done_testing();
