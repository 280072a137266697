# The bits of every preset, from the highest to the lowest.
use strict;
use warnings;

use Svg;

return sub {
	my ($server) = @_;
	my @presets = $server->rows('SELECT name, layout_text, enciphered FROM flakeid.layouts');
	my ($left, $step, $row) = (136, 9, 34);
	my $svg = Svg->new(720, 50 + $row * @presets, 'The bits of every preset');
	$svg->legend($left, 26, [ blue => 'time' ], [ orange => 'node' ], [ green => 'sequence' ], [ purple => 'set-backs of the clock' ], [ grey => 'not used' ]);
	$svg->text(712, 26, 'numbers: bits', anchor => 'end', size => 'small');
	for my $i (0 .. $#presets)
	{
		my ($name, $layout, $enciphered) = @{ $presets[$i] };
		my $y = 38 + $i * $row;
		$svg->text($left - 10, $y + 17, $name, anchor => 'end', bold => 1);
		my @fields = map { [ split /:/ ] } grep { /:\d+/ && !/=/ } split ' ', $layout;
		my $at = 64;
		$at -= $_->[1] for @fields;
		$svg->box($left, $y, $at * $step, 24, 'grey') if $at;
		for my $field (@fields)
		{
			my ($what, $bits, $tick) = @$field;
			my $colour = { time => 'blue', sequence => 'green', back => 'purple' }->{$what} // 'orange';
			$svg->box($left + $at * $step, $y, $bits * $step, 24, $colour);
			my $label = "$what $bits" . ($tick ? ", ticks of $tick" : '') . ($tick && $enciphered eq 't' ? '; enciphered' : '');
			my $fits = Svg::width($label, size => 'small') < $bits * $step - 6;
			$svg->text($left + ($at + $bits / 2) * $step, $y + 16, $fits ? $label : $bits, anchor => 'middle', size => 'small');
			$at += $bits;
		}
	}
	return $svg;
};
