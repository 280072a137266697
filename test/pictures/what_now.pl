# What happened, and what to do: the lists of doc/what_now.md, each with what stands before its first full stop.
use strict;
use warnings;
use utf8;

use FindBin;

use Svg;

return sub {
	open my $in, '<:encoding(UTF-8)', "$FindBin::RealBin/../../doc/what_now.md" or die "doc/what_now.md: $!\n";
	my $page = do { local $/; <$in> };
	my @groups = $page =~ /^## (.*?)\n(.*?)(?=^## |\z)/gms;
	my ($wide, $row, $gap, $left) = (720, 27, 14, 166);
	my $rows = () = $page =~ /^- \*\*/gm;
	my $svg = Svg->new($wide, $rows * $row + (@groups / 2 + 1) * $gap, 'What happened, and what to do');
	my $y = $gap;
	while (my ($title, $list) = splice @groups, 0, 2)
	{
		my @leaves = $list =~ /^- \*\*(.*?)\*\*: (.*?)(?:\. .*)?$/gm or die "$title: nothing happens\n";
		my $middle = $y + @leaves / 4 * $row;
		$svg->box(12, $middle - 16, 130, 32, 'grey', 8);
		$svg->text(77, $middle + 5, $title, anchor => 'middle', bold => 1);
		while (my ($event, $leaf) = splice @leaves, 0, 2)
		{
			my $command = $leaf =~ s/^`(.*)`$/$1/;
			my $at = $y + $row / 2;
			$svg->line('grey', [ [ 142, $middle ], [ $left - 6, $at ] ], thin => 1);
			$svg->text($left, $at + 4, $event, size => 'small');
			$svg->box(372, $at - 11, 336, 22, $command ? 'blue' : $leaf eq 'nothing to do' ? 'green' : 'orange', 6);
			$svg->text(380, $at + 4, $leaf, size => $command ? 'tiny' : 'small', mono => $command);
			$y += $row;
		}
		$y += $gap;
	}
	return $svg;
};
