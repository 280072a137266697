# Clocks of coordinator and generators that differ by 10 s in both directions, and are set back while
# they run.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my ($faketime) = glob '/usr/lib/*/faketime/libfaketime.so.1';
plan skip_all => 'needs faketime' if !$faketime;

my $dir = PostgreSQL::Test::Utils::tempdir;

# Each server reads how its clock differs from a file of its own.
sub set_clock
{
	my ($name, $offset) = @_;
	append_to_file("$dir/$name.new", sprintf("%+ds\n", $offset));
	rename "$dir/$name.new", "$dir/$name" or die $!;
	return;
}

sub with_clock
{
	my ($name, $offset, $start) = @_;
	set_clock($name, $offset);
	local %ENV = (%ENV, LD_PRELOAD => $faketime, FAKETIME_TIMESTAMP_FILE => "$dir/$name",
		FAKETIME_NO_CACHE => 1, FAKETIME_DONT_FAKE_MONOTONIC => 1, NO_FAKE_STAT => 1);
	return $start->();
}

my $coordinator = with_clock('coordinator', 0, sub { coordinator('coordinator') });
my @servers = map {
	my ($name, $offset) = @$_;
	with_clock($name, $offset, sub { generator($name, $coordinator, ttl => '24s') })
} [ right => 0 ], [ behind => -10 ], [ ahead => 10 ];

my %drawn;
sub draw
{
	my ($node) = @_;
	my ($code, $out, $err) = $node->psql('postgres', 'SELECT flake_next() FROM generate_series(1, 2000)', timeout => 60);
	add_ids($coordinator, "$out\n") if $code == 0;
	$drawn{ $node->name }++ if $code == 0;
	return $code == 0 ? '' : $err;
}

# Draws for so many seconds at least, and until each server has drawn so often.
sub draw_for
{
	my ($seconds, $times, $what) = @_;
	my $limit = time + $seconds;
	my $all_drew = sub { return !grep { ($drawn{ $_->name } // 0) < $times } @servers };
	ok(wait_until(sub { draw($_) for @servers; return time >= $limit && $all_drew->() }), "$what: all draw") or diag explain \%drawn;
	%drawn = ();
	return;
}

for my $server (@servers)
{
	my $clock = $server->safe_psql('postgres', 'SELECT round(extract(epoch FROM clock_timestamp()))') - int(time);
	note $server->name, ": $clock s";
}
draw_for(12, 5, '10 s apart');
leases_hold($coordinator, '10 s apart', 10000);

set_clock($_, { right => 3, behind => -14, ahead => 5 }->{$_}) for qw(right behind ahead);
draw_for(6, 5, 'clocks of generators set back and forth');
leases_hold($coordinator, 'generators set back', 20000);

my $acquire = "SELECT extract(epoch FROM lease_start) FROM flakeid.lease_acquire('default', 'x', '10 s')";
my $before = $coordinator->safe_psql('postgres', $acquire);
set_clock('coordinator', -10);
cmp_ok($coordinator->safe_psql('postgres', $acquire), '>=', $before - 1, 'a coordinator whose clock was set back goes on from where it was');
draw_for(15, 5, 'clock of the coordinator set back');
leases_hold($coordinator, 'coordinator set back', 30000);
set_clock('coordinator', 10);
draw_for(6, 5, 'clock of the coordinator set forward');
leases_hold($coordinator, 'coordinator set forward', 40000);

# Outside its lease
set_clock('right', 3600);
like(draw($servers[0]), qr/the lease of node \d+ ended at|gave a lease until .* and this server's clock says/s, 'a clock past the lease says so');
like(draw($servers[0]), qr/the clock says/, 'with what it says');
set_clock('right', -3600);
my $error = '';
ok(wait_until(sub { ($error = draw($servers[0])) =~ /ahead of the clock/ }), 'a clock before the lease says so') or diag $error;
like($error, qr/begins .* ahead of the clock|the horizon of database .* lies|the next id of node/, 'by how much') or diag $error;
set_clock('right', 0);
ok(wait_until(sub { draw($servers[0]) eq '' }), 'it goes on when it is right again');

# A leap of the coordinator's clock beyond flakeid.max_leap
set_clock('coordinator', 3 * 86400);
like(error_of($coordinator, "SELECT flakeid.lease_acquire('default', 'x', '10 s')"), qr/the wall clock ran ahead of the uptime clock/, 'a leap is refused');
set_clock('coordinator', 0);
$coordinator->safe_psql('postgres', 'SELECT flakeid.lease_repair_clock()');
is(error_of($coordinator, "SELECT flakeid.lease_acquire('default', 'x', '10 s')"), '', 'and all is well afterwards');
# A clock that was ahead and is put right: another node goes on where the clock is, below the ids that lie ahead. A machine that
# stands still for as long as the clock was ahead has another try.
my $one = sub {
	my $got;
	ok(wait_until(sub { (my $code, $got) = $servers[2]->psql('postgres', q{SELECT flake_node(id), extract(epoch FROM flake_timestamp(id)) FROM (SELECT flake_next() AS id OFFSET 0) AS i}); $code == 0 }), 'an id');
	return split /\|/, $got;
};
my ($node, $stamp, $other, $below);
for (1 .. 5)
{
	set_clock('ahead', 18);
	($node, $stamp) = $one->();
	set_clock('ahead', 0);
	($other, $below) = $one->();
	last if $other != $node;
}
isnt($other, $node, 'a clock that was ahead and is put right: another node');
cmp_ok($below, '<', $stamp, 'makes ids at once');
like(slurp_file($servers[2]->logfile), qr/LOG:  node $node is given back, for another one/, 'which the log says');

leases_hold($coordinator, 'in the end', 40000);

$_->stop for @servers, $coordinator;
done_testing();
