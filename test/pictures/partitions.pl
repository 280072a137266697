# A table that is partitioned by the time in its ids: bounds, rows, and what a query by time reads.
use strict;
use warnings;
use utf8;

use Svg;

return sub {
	my ($server) = @_;
	my ($from, $to) = ('2026-10-20', '2026-11-05');
	my $month = sub { return "flake_floor('$_[0]'::timestamptz, 'snowflake')" };
	my @months = map { sprintf '2026-%02d-01', $_ } 8 .. 12;
	my @partitions = $server->rows(join "\n", q{
		DROP TABLE IF EXISTS event;
		CREATE TABLE event (id flake PRIMARY KEY, what text) PARTITION BY RANGE (id);},
		map({ 'CREATE TABLE event_' . ($months[$_] =~ s/-/_/r =~ s/-.*//r) . ' PARTITION OF event FOR VALUES FROM (' . $month->($months[$_]) . ') TO (' . $month->($months[ $_ + 1 ]) . ');' } 0 .. $#months - 1),
		qq{INSERT INTO event SELECT flake_make(at, 7, 0, 'snowflake') FROM generate_series('$months[0]'::timestamptz, '$months[-1]'::timestamptz - interval '1 s', '17 min') AS at;
		ANALYZE event;
		SELECT partition, bounds[1], bounds[2], flake_timestamp(bounds[1]::flake, 'snowflake')::date, (SELECT count(*) FROM event WHERE tableoid = partition)
		FROM (SELECT c.oid::regclass AS partition, regexp_match(pg_get_expr(relpartbound, c.oid), '(\\d+).*?(\\d+)') AS bounds
			FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid WHERE inhparent = 'event'::regclass) AS s ORDER BY bounds[1]::flake;});
	my $where = "id <@ tstzrange('$from', '$to')";
	my %read = map { $_ => 1 } $server->psql("EXPLAIN SELECT * FROM event WHERE $where") =~ /\bon (event_\w+)/g;
	my ($count) = map { $_->[0] } $server->rows("SELECT count(*) FROM event WHERE $where");
	my ($share_from, $share_to) = @{ ($server->rows("SELECT extract(epoch FROM '$from'::timestamptz - '$months[0]') / extract(epoch FROM '$months[-1]'::timestamptz - '$months[0]'),
		extract(epoch FROM '$to'::timestamptz - '$months[0]') / extract(epoch FROM '$months[-1]'::timestamptz - '$months[0]')"))[0] };

	my ($left, $wide) = (20, 680);
	my $svg = Svg->new(720, 236, 'Partitions by the time of ids');
	my $each = $wide / @partitions;
	for my $i (0 .. $#partitions)
	{
		my ($name, $low, $high, $begin, $rows) = @{ $partitions[$i] };
		my $x = $left + $i * $each;
		$svg->box($x, 86, $each - 6, 92, $read{$name} ? 'green' : 'grey', 5);
		$svg->text($x + 12, 108, $name, bold => 1);
		$svg->text($x + 12, 128, "from $begin on:", size => 'small');
		$svg->text($x + 12, 146, $low, size => 'small');
		$svg->text($x + 12, 166, Svg::grouped($rows) . ' rows' . ($read{$name} ? ', searched' : ', left out'), size => 'small');
	}
	my @between = map { $left + $wide * $_ } $share_from, $share_to;
	$svg->text(360, 34, "WHERE $where", anchor => 'middle', mono => 1);
	$svg->line('green', [ [ $between[0], 78 ], [ $between[0], 56 ], [ $between[1], 56 ], [ $between[1], 78 ] ]);
	$svg->text(($between[0] + $between[1]) / 2, 73, Svg::grouped($count) . ' rows', anchor => 'middle', size => 'small');
	$svg->text(360, 210, 'The bounds are flake_floor() of the first of each month.', anchor => 'middle', size => 'small');
	return $svg;
};
