# The manual tells every argument of the functions for people, every column that a function or view
# gives, and the defaults of settings. (test/rules.d/manual.t compares what shows without a server.)
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../rules.d";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Tree qw(cells none);

my $node = server('manual');
my @pages = map { source_dir() . "/doc/$_.md" } qw(reference leases);
my @rows = map { cells($_) } @pages;

# The words of the code in an object's rows, in those of the functions that they name, and in the table of its columns.
sub words { return map { split /\W+/ } map { /`([^`]+)`/g } @_ }

sub told
{
	my ($object) = @_;
	my @own = map { @$_ } grep { $_->[0] =~ /`$object\b/ } @rows;
	my @named = map { /`(flake\w+)\(\)`/g } @own;
	my @theirs = map { @$_ } grep { my $subject = $_->[0]; grep { $subject =~ /`$_\(/ } @named } @rows;
	my @columns = map { slurp_file($_) =~ /^\| column of `$object`.*\n\|[-| ]+\n((?:\| `.*\n)+)/m } @pages;
	return map { $_ => 1 } words(@own, @theirs, @columns);
}

my @names = split /\n/, $node->safe_psql('postgres', q{
	WITH member AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid'))
	SELECT DISTINCT proname, a FROM member JOIN pg_proc AS p ON classid = 'pg_proc'::regclass AND objid = p.oid, unnest(proargnames) AS a
	WHERE pronamespace = 'public'::regnamespace AND obj_description(p.oid, 'pg_proc') !~ '^(I/O|implementation of|convert )' AND a <> ''
	UNION ALL
	SELECT relname, attname FROM member JOIN pg_class AS c ON classid = 'pg_class'::regclass AND objid = c.oid JOIN pg_attribute ON attrelid = c.oid
	WHERE relnamespace = 'public'::regnamespace AND attnum > 0});
cmp_ok(scalar(@names), '>', 100, 'arguments and columns were found');
my %told;
for (@names)
{
	my ($object, $name) = split /\|/;
	$told{$object} //= { told($object) };
	$_ = '' if $told{$object}{$name};
}
none('each is told', grep { $_ } @names);

# Defaults, in the units that pg_settings has
my %per_unit = (ms => { ms => 1, s => 1000, min => 60_000 }, s => { s => 1, min => 60, d => 86400 });
my @defaults = map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql('postgres', q{
	SELECT FROM flake_next() \g /dev/null
	SELECT name, boot_val, unit FROM pg_settings WHERE name LIKE 'flakeid.%'});
cmp_ok(scalar(@defaults), '>', 8, 'settings were found');
for (@defaults)
{
	my ($name, $default, $unit) = @$_;
	for my $row (grep { $_->[0] =~ /^(?:`[\w.]+`(?:, )?)*`$name`/ } @rows)
	{
		my %of;
		@of{ $row->[0] =~ /`([\w.]+)`/g } = map { s/^empty$|`//gr } split /, /, $row->[1];
		my $says = $of{$name};
		$says = $1 * $per_unit{$unit}{$2} if $unit && $says =~ /^(\d+)(\w+)$/;
		is($says, $default, "default of $name");
	}
}

$node->stop;
done_testing();
