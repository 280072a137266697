# A constant stands in one place (CONTRIBUTING.md). A page or a script that says its value names it beside the number: 2 s<!-- extension_us -->,
# 2000000 /* extension_us */.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/..";
use Constants;
use Test::More;
use Tree;

chdir "$FindBin::Bin/../.." or die $!;

my %us = (us => 1, ms => 1000, s => 1e6);
my $expression = qr/[a-z]+_\w+(?: [-+*] [a-z]+_\w+)*/;
my $marker = qr{<!-- ($expression) -->| /\* ($expression) \*/};
my ($found, @wrong) = (0);
for my $file (glob('*.md doc/*.md doc/*/*.md'), sort glob('sql/chapters/*.sql sql/chapters/*/*.sql packaging/plain/chapters/*.sql'))
{
	my $text = text($file);
	while ($text =~ /$marker/g)
	{
		my ($name, $before) = ($1 // $2, substr $text, 0, $-[0]);
		$found++;
		my ($number, $unit) = $before =~ /(?<![\d.,])(\d[\d,]*(?:\.\d+)?)(?: ?([a-z]+))?['`)]*\z/;
		if (!defined $number) { push @wrong, "$file: no number stands before $name"; next }
		my ($own) = $name =~ /_(us|ms|s)\b/;
		my $scale = $own && defined $unit && $us{$unit} ? $us{$own} / $us{$unit} : 1;
		my $is = constant($name) * $scale;
		push @wrong, "$file: $number" . (defined $unit ? " $unit" : '') . " is $is now: $name" if $number =~ s/,//gr != $is;
	}
}
cmp_ok($found, '>', 40, 'numbers that name their constant were found');
none('pages and scripts say what the sources say', @wrong);

# What lasts or is exchanged has a number, and its place in the list of formats.
my $formats = text('doc/dev/formats.md');
none('doc/dev/formats.md has each format', grep { $formats !~ /<!-- $_ -->/ } map { text($_) =~ /^constexpr \w+ (\w+_format|shared_version|lease_wire_version) =/mg } sources());

# How rare presets are is told in words.
my ($rare) = text('doc/reference/functions.md') =~ /how rare the preset is: ([^;]*);/;
my %told;
while ($rare =~ /((?:`\w+`[^`\d]*)+)(\d+)/g) { my ($names, $bits) = ($1, $2); $told{$_} = $bits for $names =~ /`(\w+)`/g }
is_deeply(\%told, { text('src/core/guess.hpp') =~ /^    \{"(\w+)", (\d+),/mg }, 'doc/reference/functions.md says how rare each preset is');

# What has no name is found by nobody who changes it.
my @lengths = map { my $file = $_; map { "$file: $_" } grep { /\b\d+ \* us_per_\w+/ } map { split /\n/ } text($file) =~ s/\bconstexpr [^;]*;//gr } sources();
none('a length of time in the sources has a name', @lengths);
none('no text of the sources says one', map { my $file = $_; map { "$file: $_" } grep { /\b\d+ (?:u|m)?s\b/ } text($file) =~ s{(?<!:)//.*}{}gr =~ /"((?:[^"\\\n]|\\.)*)"/g } sources());

done_testing();
