# Sealed ids: the same ids inside and outside, and what they cost: the figures of doc/dev/performance.md, which test/bench/sealed measured.
use strict;
use warnings;
use utf8;

use FindBin;
use List::Util qw(max);

use Bench;
use Svg;

return sub {
	my ($server) = @_;
	my ($figures) = output('cat', "$FindBin::RealBin/../../doc/dev/performance.md") =~ /<!-- begin sealed -->\n(.*?)<!-- end sealed -->/s;
	my ($head, undef, @rows) = map { [ map { s/^\s+|\s+$//gr } split /\|/, s/^\|//r ] } grep { /^\|/ } split /\n/, $figures;
	my @ids = $server->rows('SELECT flake_unseal(s), s FROM (SELECT flake_seal(id::bigint) FROM flake_next_many(3) AS t (id)) AS u (s)');

	my $svg = Svg->new(720, 342, 'Ids that are plain inside and opaque outside');
	$svg->box(20, 20, 280, 126, 'blue', 6);
	$svg->box(430, 20, 270, 126, 'orange', 6);
	$svg->text(36, 46, 'Table, indexes, joins, partitions', bold => 1);
	$svg->text(446, 46, 'psql, drivers, JSON, COPY', bold => 1);
	for my $i (0 .. $#ids)
	{
		$svg->text(36, 76 + 24 * $i, $ids[$i][0], mono => 1);
		$svg->text(446, 76 + 24 * $i, $ids[$i][1], mono => 1);
	}
	$svg->text(365, 66, 'sealed', anchor => 'middle');
	$svg->line('grey', [ [ 308, 76 ], [ 422, 76 ] ], arrow => 1);
	$svg->text(365, 106, 'opened', anchor => 'middle');
	$svg->line('grey', [ [ 422, 116 ], [ 308, 116 ] ], arrow => 1);

	my %colour = (flake_sealed => 'blue', 'enciphered layout' => 'orange');
	for my $chart ([ 150, 1, 'INSERT of 1,000,000 rows, seconds' ], [ 500, 2, 'Primary key index, MB' ])
	{
		my ($x, $column, $title) = @$chart;
		my @values = map { ($_->[$column] =~ /^([\d.]+)/)[0] } @rows;
		$svg->text($x, 184, $title, bold => 1);
		$svg->bars($x, 198, 150, map { [ $rows[$_][0], $values[$_] / max(@values), $values[$_], $colour{ $rows[$_][0] } // 'grey' ] } 0 .. $#rows);
	}
	$svg->text(360, 326, "$head->[0], " . 'a primary key of each kind', anchor => 'middle', size => 'small');
	return $svg;
};
