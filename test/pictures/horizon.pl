# The durable horizon on a time line: ids are drawn, the server crashes, ids are drawn.
use strict;
use warnings;

use List::Util qw(max);

use Svg;

# Draws an id each 100 ms for so many seconds: [the clock, the id's stamp, the horizon], in seconds.
sub draw_for
{
	my ($server, $seconds) = @_;
	return $server->rows("SELECT date_part('epoch', at), date_part('epoch', stamp), horizon / 1e6 FROM draw_for($seconds)");
}

return sub {
	my ($server) = @_;
	$server->psql(q{
		CREATE OR REPLACE FUNCTION draw_for(seconds float) RETURNS TABLE (at timestamptz, stamp timestamptz, horizon bigint) LANGUAGE plpgsql AS $$
		DECLARE until timestamptz := clock_timestamp() + make_interval(secs => seconds);
		BEGIN
			WHILE clock_timestamp() < until LOOP
				at := clock_timestamp();
				stamp := flake_timestamp(flake_next());
				SELECT plain_horizon INTO horizon FROM flakeid.state;
				RETURN NEXT;
				PERFORM pg_sleep(0.1);
			END LOOP;
		END $$});
	my (@before, @after);
	do
	{
		@before = draw_for($server, 3.3);
		$server->crash;
		@after = draw_for($server, 4);
	} until $after[0][1] > $after[0][0] + 0.5;    # it was up again before the clock had reached the horizon

	my $begin = $before[0][0];
	for my $sample (@before, @after) { $_ -= $begin for @$sample }
	my ($left, $top, $wide, $high) = (70, 44, 620, 310);
	my $end = $after[-1][0] + 0.2;
	my $latest = max(map { $_->[2] } @after) + 0.4;
	my $x = sub { return $left + $wide * $_[0] / $end };
	my $y = sub { return $top + $high - $high * $_[0] / $latest };

	my $svg = Svg->new(720, 410, 'The horizon and a crash');
	$svg->line('grey', [ [ $left, $top ], [ $left, $top + $high ], [ $left + $wide, $top + $high ] ], thin => 1);
	$svg->text($x->($_), $top + $high + 18, $_, anchor => 'middle', size => 'small') for 0 .. $end;
	$svg->text($left - 8, $y->($_) + 4, $_, anchor => 'end', size => 'small') for 0 .. $latest;
	$svg->text($left + $wide, $top + $high + 36, 'the clock, seconds', anchor => 'end', size => 'small');
	$svg->text($left - 40, 26, 'stamps, seconds', size => 'small');

	my ($down, $up) = ($before[-1][0], $after[0][0]);
	$svg->box($x->($down), $top, $x->($up) - $x->($down), $high, 'red');
	$svg->line('grey', [ [ $x->(0), $y->(0) ], [ $x->($end), $y->($end) ] ], dashed => 1);
	for my $samples (\@before, \@after)
	{
		# The horizon stays where it is until it is extended.
		$svg->line('orange', [ map { my $i = $_; my $h = $samples->[$i][2]; [ $x->($samples->[$i][0]), $y->($h) ],
			$i < $#$samples ? [ $x->($samples->[ $i + 1 ][0]), $y->($h) ] : () } 0 .. $#$samples ]);
		$svg->dot($x->($_->[0]), $y->($_->[1]), 'blue', 2.5) for @$samples;
	}
	# What was promised before the crash is where ids go on.
	$svg->line('orange', [ [ $x->($down), $y->($before[-1][2]) ], [ $x->($up), $y->($before[-1][2]) ] ], dashed => 1);
	$svg->text($left, $top + $high + 36, 'dashed: where stamp and clock are equal', size => 'small');
	$svg->text($x->($down / 2 + $up / 2), 26, 'crash', anchor => 'middle');
	$svg->text($x->(0.1), $y->($before[0][2]) - 10, 'horizon');
	$svg->text($x->(1), $y->(0.2), 'ids, at the clock');
	my ($note_x, $note_y) = ($left + $wide - 10, $y->(1.6));
	$svg->text($note_x, $note_y, 'After a crash the first id lies past', anchor => 'end');
	$svg->text($note_x, $note_y + 18, 'the horizon: no earlier id is there.', anchor => 'end');
	$svg->line('grey', [ [ $note_x - 120, $note_y - 16 ], [ $x->($after[0][0]) + 4, $y->($after[0][1]) + 6 ] ], thin => 1, arrow => 1);
	return $svg;
};
