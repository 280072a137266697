# What several rules read of the tree, at whose top they stand.
package Tree;
use strict;
use warnings;
use Exporter 'import';
use Test::More;
our @EXPORT = qw(text lines files sources version extensions script made cells tables none same);

sub text { open my $in, '<', $_[0] or die "$_[0]: $!"; local $/; return <$in> }
sub lines { my @lines = `@_`; die "@_ failed" if $?; chomp @lines; return @lines }

# The files of the project with such names; not those that tests make, which come and go meanwhile.
sub files
{
	my $names = join ' -o ', map { "-name '$_'" } @_;
	return map { s{^\./}{}r } lines("find . \\( -name .git -o -name node_modules -o -path ./build -o -path ./log -o -path ./results -o -path ./tmp -o -path ./tmp_check \\) -prune -o -type f \\( $names \\) -print");
}

sub sources { return sort glob 'src/*.[ch]pp src/*/*.[ch]pp src/*/*/*.[ch]pp' }
sub version { return (text('flakeid.control') =~ /^default_version = '(.*)'$/m)[0] }

# The extensions, and their SQL scripts of a version
sub extensions { return map { /^EXTENSION = (.*)$/m ? split ' ', $1 : () } text('Makefile') }
sub script { return join '', map { text("sql/$_--$_[0].sql") } extensions() }

# The names that they make: those for people, and all, with their schema where it is the extension's own. What only implements
# a type, a cast or an operator is not for people, nor is what its comment calls internal, nor are tables.
sub made
{
	my $script = script($_[0]);
	my %all = map { $_ => 1 } $script =~ /\bCREATE (?:MATERIALIZED )?(?:FUNCTION|PROCEDURE|VIEW|TABLE|TYPE|DOMAIN|SEQUENCE) ([\w.]+)/g;
	my %implements = map { $_ => 1 } $script =~ /^COMMENT ON (?:FUNCTION|PROCEDURE) ([\w.]+)\([^;]*?IS\s+'(?:I\/O|implementation of|planner support|internal: )/gm,
	  $script =~ /^COMMENT ON (?:TYPE|DOMAIN) ([\w.]+) IS 'internal: /gm,
	  $script =~ /\bCREATE (?:MATERIALIZED VIEW|TABLE) ([\w.]+)/g;
	# One that only implements an operator may have a namesake for people.
	delete @implements{ $script =~ /^COMMENT ON (?:FUNCTION|PROCEDURE) ([\w.]+)\([^;]*?IS\s+'(?!I\/O|implementation of|planner support|internal: )/gm };
	return ({ map { $_ => 1 } grep { !$implements{$_} } keys %all }, \%all);
}

# The rows of a page's tables, heads among them: a list of cells each.
sub cells
{
	return map { [ map { s/^\s+|\s+$//gr } split /(?<!\\)\|/, s/^\|//r ] }
	  grep { /^\|/ && !/^\|[-:| ]+$/ } split /\n/, text($_[0]);
}

# The tables of a page whose head begins with that cell: a list of rows each.
sub tables
{
	my ($page, $first) = @_;
	my @tables = text($page) =~ /^\| $first \|.*\n\|[-:| ]+\n((?:\|.*\n)+)/gm;
	return map { [ map { [ map { s/^\s+|\s+$//gr } split /\|/, s/^\|//r ] } split /\n/ ] } @tables;
}

# A list that must be empty; printed one a line where it is not.
sub none
{
	my ($what, @list) = @_;
	my %seen;
	return is(join("\n", sort grep { !$seen{$_}++ } @list), '', $what);
}

# Two lists that must have the same members, in whatever order.
sub same
{
	my ($what, $have, $told) = @_;
	my %have = map { $_ => 1 } @$have;
	my %told = map { $_ => 1 } @$told;
	ok(%have, "$what: some were found");
	none("$what: none is missing", grep { !$told{$_} } keys %have);
	none("$what: no other is told", grep { !$have{$_} } keys %told);
}

1;
