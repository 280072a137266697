# Where four kinds of servers have their node from. The nodes are those of ids that servers made, which were set up so.
use strict;
use warnings;
use utf8;

use Bench;
use Svg;

return sub {
	my ($server) = @_;
	my @installed = (pg_config => $server->{pg_config}, installed => 1);
	my $one = sub { my ($server, $sql) = @_; return ($server->rows($sql))[0][0] };
	my $node = 'SELECT flake_node(flake_next())';

	my $coordinator = Bench->start(@installed);
	$coordinator->psql('CREATE EXTENSION flakeid_coordinator');
	my ($first, $second) = map { Bench->start(@installed, config => [ "flakeid.coordinator = 'host=$coordinator->{dir} dbname=postgres user=postgres'", 'flakeid.node = auto' ]) } 1, 2;
	my @leased = map { $one->($_, $node) } $first, $second;
	push @leased, $one->($coordinator, q{SELECT node FROM flakeid.lease_acquire('default', 'a program', '60 s')});
	$_->down for $first, $second;
	my $other = Bench->start(@installed);
	my $set = sub { $other->configure(@_); return $one->($other, $node) };
	my @fixed = map { $set->("flakeid.node = $_") } 1, 2;
	my @ordinals = map { $set->("cluster_name = '$_'", 'flakeid.node = cluster_name') } qw(shop-1 shop-2 shop-3);

	my @panels = (
		# title, who hands nodes out, how, and each server: what it is called, and its node
		[ 'Leases', 'a coordinator', 'a node for a while, renewed', [ 'any name', "node $leased[0]" ], [ 'any name', "node $leased[1]" ], [ 'a program', "node $leased[2]" ] ],
		[ 'Fixed numbers', 'you', 'a line in each configuration file', [ 'east', "node $fixed[0]" ], [ 'west', "node $fixed[1]" ] ],
		[ 'Citus groups', 'Citus', 'the number of its group, never given twice', [ 'coordinator', 'its group' ], [ 'worker', 'its group' ], [ 'worker', 'its group' ] ],
		[ 'Ordinals', 'whoever names servers', 'the number that ends a name', [ 'shop-1', "node $ordinals[0]" ], [ 'shop-2', "node $ordinals[1]" ], [ 'shop-3', "node $ordinals[2]" ] ]);

	my ($width, $height, $gap) = (344, 192, 12);
	my $svg = Svg->new(2 * $width + 3 * $gap - 4, 2 * $height + 3 * $gap, 'Where servers have their node from');
	for my $i (0 .. $#panels)
	{
		my ($title, $source, $how, @servers) = @{ $panels[$i] };
		my ($x, $y) = ($gap - 2 + $i % 2 * ($width + $gap), $gap + int($i / 2) * ($height + $gap));
		my $middle = $x + $width / 2;
		$svg->box($x, $y, $width, $height, 'grey', 8);
		$svg->text($x + 12, $y + 24, $title, bold => 1);
		my $pill = Svg::width($source) + 28;
		$svg->box($middle - $pill / 2, $y + 36, $pill, 30, 'blue', 15);
		$svg->text($middle, $y + 56, $source, anchor => 'middle');
		$svg->text($middle, $y + 182, $how, anchor => 'middle', size => 'small');
		my $step = $width / @servers;
		for my $j (0 .. $#servers)
		{
			my ($name, $has) = @{ $servers[$j] };
			my $centre = $x + $step * ($j + 0.5);
			$svg->line('blue', [ [ $middle, $y + 66 ], [ $centre, $y + 100 ] ]);
			$svg->box($centre - 51, $y + 100, 102, 58, 'white', 4);
			$svg->text($centre, $y + 122, $name, anchor => 'middle');
			$svg->text($centre, $y + 146, $has, anchor => 'middle', bold => 1);
		}
	}
	return $svg;
};
