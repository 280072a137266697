# The life of a lease while its coordinator fails over: a generator draws ids, the coordinator is stopped as by a crash, and its
# standby is promoted. How long the lease still lasts is what the generator says.
use strict;
use warnings;
use utf8;

use List::Util qw(uniq);
use Time::HiRes qw(sleep time);

use Bench;
use Svg;

my ($ttl, $skew) = (12, 2);

return sub {
	my ($server) = @_;
	my @installed = (pg_config => $server->{pg_config}, installed => 1);
	my $coordinator = Bench->start(@installed, config => [ "shared_preload_libraries = 'flakeid'", 'fsync = off' ]);
	$coordinator->psql('CREATE EXTENSION flakeid_coordinator');
	$coordinator->psql("SELECT flakeid.lease_realm_set('default', 1024, '$ttl s', '$skew s')");
	$coordinator->psql(q{
		CREATE FUNCTION refusal() RETURNS text LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM flakeid.lease_acquire('default', 'another server', '5 s');
			RETURN '';
		EXCEPTION WHEN OTHERS THEN
			RETURN SQLERRM;
		END $$});
	my $standby = $coordinator->standby;
	my $generator = Bench->start(@installed, config => [ "shared_preload_libraries = 'flakeid'", 'fsync = off',
		"flakeid.coordinator = 'host=$coordinator->{dir},$standby->{dir} dbname=postgres user=postgres target_session_attrs=read-write'",
		'flakeid.node = auto', "flakeid.lease_ttl = '$ttl s'" ]);

	# Each tenth of a second: the clock, the node of an id, and the end of the lease, which shows in flakeid.status.
	$generator->psql(q{
		SELECT flake_next();
		CREATE FUNCTION draw() RETURNS TABLE (at float, node int, until float) LANGUAGE plpgsql AS $$
		BEGIN
			FOR i IN 1 .. 320 LOOP
				node := flake_node(flake_next());
				at := date_part('epoch', clock_timestamp());
				SELECT date_part('epoch', substr(value, 7)::timestamptz) INTO until FROM flakeid.status WHERE name = 'lease of node ' || draw.node;
				RETURN NEXT;
				PERFORM pg_sleep(0.1);
			END LOOP;
		END $$});
	open(my $drawing, '-|', $generator->client('psql'), qw(-XAt -F), ' ', '-d', 'postgres', '-c', 'SELECT * FROM draw()') or die "psql: $!\n";
	sleep 9;
	$coordinator->down('immediate');
	my $stopped = time;
	sleep 4.5;
	$standby->promote;
	my $promoted = time;
	my ($rest) = $standby->psql(q{SELECT date_part('epoch', substring(refusal() FROM 'no leases before (.*)')::timestamptz)}) =~ /^([\d.]+)$/ or die "the standby does not rest\n";
	my @samples = map { [ split ] } <$drawing>;
	close($drawing) or die "ids failed meanwhile\n";
	my ($node, @others) = uniq(map { $_->[1] } @samples);
	die "another node\n" if @others;

	my $begun = $samples[0][0];
	my $end = $samples[-1][0] - $begun;
	my ($left, $top, $wide, $high) = (120, 44, 570, 160);
	my $bottom = $top + $high;
	my $x = sub { return $left + $wide * ($_[0] - $begun) / $end };
	my $y = sub { return $bottom - $high * $_[0] / $ttl };
	my $svg = Svg->new(720, $bottom + 160, 'A lease while its coordinator fails over');
	$svg->text($left, 28, "Seconds left of the lease of node $node (lease_ttl = $ttl s)", bold => 1);
	$svg->line('grey', [ [ $left, $top ], [ $left, $bottom ], [ $left + $wide, $bottom ] ], thin => 1);
	$svg->text($left - 8, $y->($_) + 4, $_, anchor => 'end', size => 'small') for grep { $_ % 4 == 0 } 0 .. $ttl;
	$svg->text($left - 8, $bottom + 20, 'second', anchor => 'end', size => 'small');
	$svg->text($left + $wide * $_ / $end, $bottom + 20, $_, anchor => 'middle', size => 'small') for grep { $_ % 5 == 0 } 0 .. $end;
	$svg->box($x->($stopped), $top, $x->($promoted) - $x->($stopped), $high, 'red');
	$svg->text(($x->($stopped) + $x->($promoted)) / 2, $top + 18, 'nobody', anchor => 'middle', size => 'small');
	$svg->text(($x->($stopped) + $x->($promoted)) / 2, $top + 33, 'answers', anchor => 'middle', size => 'small');
	$svg->line('blue', [ map { my ($at, undef, $until) = @$_; [ $x->($at), $y->($until - $at) ] } @samples ]);

	my $row = $bottom + 40;
	my $bar = sub {
		my ($from, $to, $colour, $words) = @_;
		$svg->box($x->($from), $row, $x->($to) - $x->($from), 28, $colour, 4);
		$svg->text($x->($from) + 8, $row + 19, $words, size => 'small');
	};
	$svg->text($left - 12, $row + 19, 'coordinator', anchor => 'end');
	$bar->($begun, $stopped, 'green', 'gives and renews leases');
	$svg->text($x->($stopped) + 8, $row + 19, 'stopped', size => 'small');
	$row += 36;
	$svg->text($left - 12, $row + 19, 'its standby', anchor => 'end');
	$bar->($begun, $promoted, 'grey', 'replays');
	$bar->($promoted, $rest, 'yellow', 'promoted: renews, gives none yet');
	$bar->($rest, $samples[-1][0], 'green', 'gives');
	$row += 36;
	$svg->text($left - 12, $row + 19, 'generator', anchor => 'end');
	$bar->($begun, $samples[-1][0], 'blue', 'makes ids of node ' . $node . ' all the time');
	return $svg;
};
