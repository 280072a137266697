# A million enciphered ids, counted in 512 equal parts of the range of 64-bit numbers.
use strict;
use warnings;
use utf8;

use List::Util qw(max);

use Svg;

my ($ids, $parts) = (1_000_000, 512);

return sub {
	my ($server) = @_;
	my %count = map { @$_ } $server->rows("SELECT floor((id::bigint::numeric + 2::numeric ^ 63) / 2::numeric ^ 64 * $parts)::int, count(*)
		FROM flake_next_many($ids, 'randflake') AS t (id) GROUP BY 1");
	my ($left, $top, $high, $even) = (70, 48, 200, $ids / $parts);
	my ($wide, $bottom) = (620 / $parts, $top + $high);
	my $y = sub { return $bottom - $high * $_[0] / (1.2 * $even) };
	my $svg = Svg->new(720, 296, 'How evenly enciphered ids are spread');
	$svg->text($left, 28, Svg::grouped($ids) . " enciphered ids, counted in $parts equal parts of all numbers", bold => 1);
	$svg->area('blue', [ map { my $x = $left + $_ * $wide; my $h = $y->($count{$_} // 0); ([ $x, $h ], [ $x + $wide, $h ]) } 0 .. $parts - 1 ], $bottom);
	$svg->line('orange', [ [ $left, $y->($even) ], [ $left + 620, $y->($even) ] ], thin => 1);
	$svg->text($left - 8, $y->($even) + 4, Svg::grouped(int $even), anchor => 'end', size => 'small');
	$svg->text($left - 8, $bottom + 4, '0', anchor => 'end', size => 'small');
	$svg->text($left, $bottom + 20, '-2^63', size => 'small');
	$svg->text($left + 310, $bottom + 20, '0', anchor => 'middle', size => 'small');
	$svg->text($left + 620, $bottom + 20, '2^63', anchor => 'end', size => 'small');
	$svg->text($left + 310, $bottom + 38, 'the line: an even spread', anchor => 'middle', size => 'small');
	return $svg;
};
