# An id alone beside an id and created_at with its index: the figures of doc/dev/performance.md, which test/bench/partitions measured.
use strict;
use warnings;
use utf8;

use FindBin;
use List::Util qw(max);

use Bench;
use Svg;

return sub {
	my ($figures) = output('cat', "$FindBin::RealBin/../../doc/dev/performance.md") =~ /<!-- begin partitions -->\n(.*?)<!-- end partitions -->/s;
	my ($head, undef, @rows) = map { [ map { s/^\s+|\s+$|`//gr } split /\|/, s/^\|//r ] } grep { /^\|/ } split /\n/, $figures;
	my $svg = Svg->new(720, 372, 'An id in the place of created_at');
	for my $i (0 .. $#rows)
	{
		my ($what, @values) = @{ $rows[$i] }[ 0 .. 2 ];
		my ($x, $y) = ($i < 4 ? 130 : 480, 34 + 82 * ($i % 4));
		$svg->text($x, $y, $what, bold => 1);
		$svg->bars($x, $y + 10, 150, map { [ ('id, created_at', 'id alone')[$_], $values[$_] / max(@values), $values[$_], ('grey', 'blue')[$_] ] } 0, 1);
	}
	$svg->text(360, 358, $head->[0] =~ s/(?<=\d)(?=(?:\d{3})+ rows)/,/gr, anchor => 'middle', size => 'small');
	return $svg;
};
