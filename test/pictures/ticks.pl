# How ids fill ticks: one at a time; many at once, which borrow ticks ahead of the clock; and after that.
use strict;
use warnings;

use Svg;

# A layout of long ticks with few ids each, so that there is something to see
my ($layout, $tick_ms, $ids) = ('time:40:100ms node:10 sequence:3', 100, 8);

# What is drawn: milliseconds after the begin, and how many ids at that moment
my @steps = (
	[ 'three, one by one', 'blue', 'Each takes the next place in the tick that the clock shows.', [ 15, 1 ], [ 40, 1 ], [ 65, 1 ] ],
	[ '20 at once', 'orange', 'After 8 the tick is full. The others borrow places of the next ticks: they lie ahead of the clock.', [ 115, 20 ] ],
	[ 'two, one by one', 'purple', 'Ids always rise, so these go on after the last one, still ahead of the clock.', [ 220, 1 ], [ 250, 1 ] ],
	[ 'three, later', 'green', 'The clock has passed all that was borrowed, so ids are in its tick again.', [ 515, 1 ], [ 540, 1 ], [ 565, 1 ] ]);

# Draws them: [step, tick of the id, its sequence, the clock in ticks], where ticks are counted from the first.
sub drawn
{
	my ($server) = @_;
	my $script = "CREATE TEMP TABLE drawn (step int, id flake, at timestamptz);\n"
	  . "SELECT to_timestamp((floor(date_part('epoch', clock_timestamp()) * 1000 / $tick_ms) + 2) * $tick_ms / 1000) AS begun \\gset\n";
	for my $step (0 .. $#steps)
	{
		my (undef, undef, undef, @moments) = @{ $steps[$step] };
		$script .= "SELECT pg_sleep_until(:'begun'::timestamptz + interval '$_->[0] ms') \\g /dev/null\n"
		  . "INSERT INTO drawn SELECT $step, id, statement_timestamp() FROM flake_next_many($_->[1], '$layout') AS t (id);\n"
		  for @moments;
	}
	return $server->rows($script . "SELECT step, flake_field(id, 'time', '$layout') - flake_field(first, 'time', '$layout'), flake_sequence(id, '$layout'),
			date_part('epoch', at - flake_timestamp(first, '$layout')) * 1000 / $tick_ms
		FROM drawn, (SELECT min(id) AS first FROM drawn) AS f ORDER BY id");
}

# On a busy machine draws come late; then they are made again, until each is in the tick that it was meant for.
my $meant = join ' ', map({ "0:0:$_:0" } 0 .. 2), map({ '1:' . int(1 + $_ / $ids) . ':' . $_ % $ids . ':1' } 0 .. 19), map({ "2:3:$_:2" } 4, 5), map { "3:5:$_:5" } 0 .. 2;

return sub {
	my ($server) = @_;
	my @drawn;
	do { @drawn = drawn($server) } until join(' ', map { "$_->[0]:$_->[1]:$_->[2]:" . int $_->[3] } @drawn) eq $meant;

	my ($left, $wide, $top, $high) = (150, 90, 74, 20);
	my $bottom = $top + $ids * $high;
	my $below = $bottom + 74 + 34 * @steps;
	my $svg = Svg->new(720, $below + 22 * @steps, 'Ids fill ticks');
	$svg->text(20, 28, "A column is a tick, here of $tick_ms ms. It has a place for each of $ids ids, from sequence 0 upwards.");
	$svg->text($left - 14, $top - 16, 'tick', anchor => 'end', bold => 1);
	$svg->text($left - 14, $bottom - $_ * $high - 5, $_ == $ids - 1 ? "sequence $_" : $_, anchor => 'end', size => 'small') for 0 .. $ids - 1;
	my %colour = map { ("$_->[1] $_->[2]" => $steps[ $_->[0] ][1]) } @drawn;
	for my $tick (0 .. 5)
	{
		my $x = $left + $tick * $wide;
		$svg->text($x + $wide / 2, $top - 16, $tick, anchor => 'middle', bold => 1);
		$svg->box($x + 4, $bottom - ($_ + 1) * $high, $wide - 8, $high, $colour{"$tick $_"} // 'white') for 0 .. $ids - 1;
		$svg->line('grey', [ [ $x, $bottom + 10 ], [ $x, $bottom + 24 + 34 * @steps ] ], thin => 1, dashed => 1);
	}
	$svg->line('grey', [ [ $left + 6 * $wide, $bottom + 10 ], [ $left + 6 * $wide, $bottom + 24 + 34 * @steps ] ], thin => 1, dashed => 1);
	for my $step (0 .. $#steps)
	{
		my ($label, $colour, $why) = @{ $steps[$step] };
		$svg->legend(20, $below + 22 * $step, [ $colour, $why ]);
		my $y = $bottom + 38 + 34 * $step;
		my @of = grep { $_->[0] == $step } @drawn;
		$svg->text($left - 14, $y + 4, $label, anchor => 'end');
		my %seen;
		$svg->dot($left + $_ * $wide, $y, $colour, 5) for grep { !$seen{$_}++ } map { $_->[3] } @of;
		my ($from, $to) = ($left + $of[-1][3] * $wide + 7, $left + ($of[-1][1] + 0.5) * $wide);
		$svg->line($colour, [ [ $from, $y ], [ $to, $y ] ], arrow => 1) if $of[-1][1] > int $of[-1][3];
	}
	$svg->text($left + 3 * $wide, $bottom + 46 + 34 * @steps, 'dots: the clock when they are drawn; arrows: the tick that they reach', anchor => 'middle', size => 'small');
	return $svg;
};
