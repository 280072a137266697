# More databases than the server has room for, one after another: the room of dropped ones is taken
# again, and nothing of theirs is left in it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $room = 256;
my $node = server('databases', 'autovacuum = off');
$node->safe_psql('postgres', 'CREATE DATABASE shop');
$node->safe_psql('shop', 'CREATE EXTENSION flakeid');

my $script = '';
for my $i (1 .. $room + 1)
{
	# The first one, whose room is taken again first, has its ids a day ahead.
	my $draw = $i == 1 ? q{SELECT flakeid.raise_horizon(clock_timestamp() + '1 day')} : 'SELECT flake_next()';
	$script .= "CREATE DATABASE d$i TEMPLATE shop;\n\\c d$i\n$draw;\n\\c postgres\nDROP DATABASE d$i;\n";
}
my ($code, $out, $err) = $node->psql('postgres', $script, on_error_stop => 1);
is($code, 0, "$room databases and one more, each dropped") or diag $err;
my @ids = grep { /^\d+$/ } split /\n/, $out;
is(scalar(@ids), $room, 'each but the first has drawn');
is(scalar(grep { $ids[$_] <= $ids[ $_ - 1 ] } 1 .. $#ids), 0, 'in order');

# A horizon whose back count another layout of the database has no room for.
$node->safe_psql('postgres', q{INSERT INTO flakeid.restored VALUES ('back horizon', (64::bigint << 56) + (extract(epoch FROM now()) * 1e6)::bigint)});
for my $layout ('back:1 time:46:1ms sequence:16 epoch=2026-01-01', 'rollback2')
{
	like(refusal($node, "SELECT flake_next('$layout')"), qr/^2200H: layout "$layout" has no ids left after the horizon/, "$layout: used up");
}

# One that no clock ever said, as from a dump that was tampered with.
$node->safe_psql('postgres', q{INSERT INTO flakeid.restored VALUES ('back horizon', 9223372036854775807)});
like(refusal($node, q{SELECT flake_next('rollback2')}), qr/^2200H: layout "rollback2" has no ids left after the horizon/, 'a horizon at the end of time');
is($node->safe_psql('postgres', 'SELECT flakeid.repair_horizon(none_kept => true), flakeid.repair_horizon()'), 't|f', 'is repaired, once');
is(refusal($node, q{SELECT flake_next('rollback2')}), '', 'and layouts with a back field go on');

# A count that ids have is not repaired away.
$node->safe_psql('postgres', q{INSERT INTO flakeid.restored VALUES ('back horizon', (64::bigint << 56) + (extract(epoch FROM now()) * 1e6)::bigint)});
is(refusal($node, q{SELECT flake_next('back:7 time:46:1ms sequence:10 epoch=2026-01-01')}), '', 'a wider one goes on');
$node->safe_psql('postgres', q{SELECT flakeid.raise_horizon(now() + interval '1 day'), flakeid.repair_horizon(none_kept => true)});
like(refusal($node, q{SELECT flake_next('rollback2')}), qr/^2200H: /, 'which a narrower one still has no room for');
is(refusal($node, q{SELECT flake_next('back:7 time:46:1ms sequence:10 epoch=2026-01-01')}), '', 'and the wider one goes on');
for my $row ([ 'plain horizon', -1 ], [ 'plain horizon', '1::bigint << 56' ], [ 'no such', 1 ], [ 'lease hold', 1000000 ])
{
	like(refusal($node, "INSERT INTO flakeid.restored VALUES ('$row->[0]', $row->[1])"), qr/^22/, "not restored: @$row");
}
$node->stop;
done_testing();
