# One id of layout snowflake: its bits, what they hold, and what reads them.
use strict;
use warnings;
use utf8;

use Svg;

return sub {
	my ($server) = @_;
	my ($row) = $server->rows(q{
		SELECT id, id::bigint::bit(64), to_char(flake_timestamp(id), 'YYYY-MM-DD HH24:MI:SS.MS'), flake_node(id), flake_sequence(id), flake_field(id, 'time'),
			(SELECT to_char(first_date, 'YYYY-MM-DD HH24:MI:SS.MS') FROM flakeid.layouts WHERE name = 'snowflake')
		FROM (SELECT max(id) AS id FROM flake_next_many(4, 'snowflake') AS t (id)) AS s});
	my ($id, $bits, $time, $node, $sequence, $ticks, $epoch) = @$row;

	my $svg = Svg->new(720, 262, "The bits of $id");
	$svg->text(360, 34, $id, anchor => 'middle', size => 'title', bold => 1, mono => 1);
	my ($left, $step, $top) = (40, 10, 50);
	my $at = 0;
	$svg->text($left + $step / 2, $top + 37, 'sign', anchor => 'middle', size => 'tiny');
	my @fields = ([ 1, 'grey' ], [ 41, 'blue', 40, 300, 'time, 41 bits', 'flake_timestamp(id)', "$time UTC", Svg::grouped($ticks) . ' ms since', "$epoch UTC" ],
		[ 10, 'orange', 354, 150, 'node, 10 bits', 'flake_node(id)', $node, 'which server made it,', '0 to ' . Svg::grouped(2**10 - 1) ],
		[ 12, 'green', 518, 162, 'sequence, 12 bits', 'flake_sequence(id)', $sequence, 'counts within the tick,', '0 to ' . Svg::grouped(2**12 - 1) ]);
	for my $field (@fields)
	{
		my ($width, $colour, $x, $wide, $name, $reader, $value, @what) = @$field;
		my $from = $left + $at * $step;
		$svg->box($from, $top, $width * $step, 24, $colour);
		$svg->text($from + ($_ + 0.5) * $step, $top + 16, substr($bits, $at + $_, 1), anchor => 'middle', size => 'tiny', mono => 1) for 0 .. $width - 1;
		$at += $width;
		next if !$name;
		$svg->line($colour, [ [ $from + $width * $step / 2, $top + 24 ], [ $x + $wide / 2, $top + 56 ] ]);
		$svg->box($x, $top + 56, $wide, 142, $colour, 6);
		my $y = $top + 56;
		$svg->text($x + $wide / 2, $y + 24, $name, anchor => 'middle', bold => 1);
		$svg->text($x + $wide / 2, $y + 52, $reader, anchor => 'middle', mono => 1);
		$svg->text($x + $wide / 2, $y + 78, $value, anchor => 'middle', bold => 1);
		$svg->text($x + $wide / 2, $y + 104 + 18 * $_, $what[$_], anchor => 'middle', size => 'small') for 0 .. $#what;
	}
	return $svg;
};
