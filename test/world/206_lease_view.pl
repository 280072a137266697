# What a holder of leases shows: it connects to its coordinator, renews and leaves; flakeid.status tells
# how the coordinator does and until when each lease is held, flakeid.stats counts.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $coordinator = coordinator('coordinator', max_ttl => '1 d');
my $server = generator('server', $coordinator, ttl => '6s', node => '5', conf => 'flakeid.max_ahead = 50s');
$server->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');

sub status { my ($name, @params) = @_; return $server->safe_psql('postgres', "SELECT value FROM flakeid.status WHERE name = '$name'", @params) }
sub counted { my ($what) = @_; return $server->safe_psql('postgres', "SELECT $what FROM flakeid.stats") }
sub keepers { return $coordinator->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'flakeid %'}) }

is(error_of($server), '', 'an id');
my $moment = qr/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/;
like(status('coordinator'), qr/^answered last at $moment/, 'the coordinator answered');
like(status('lease of node 5'), qr/^until $moment/, 'the lease has an end');
cmp_ok($server->safe_psql('postgres', q{SELECT extract(epoch FROM until) FROM flakeid.status WHERE name = 'lease of node 5'}),
	'<=', $coordinator->safe_psql('postgres', 'SELECT extract(epoch FROM max(lease_end)) FROM flakeid.leases WHERE node = 5'), 'no later than the coordinator says');
is(counted('lease_grants || chr(32) || lease_failures'), '1 0', 'one lease was granted');
ok(wait_until(sub { counted('lease_renewals') >= 2 }), 'it is renewed');
ok(wait_until(sub { keepers() eq '0' }), 'between renewals there is no connection');
# A keeper that was stopped for seconds needs another lease, so it has more than one try.
my ($grants, $kept);
for (1 .. 10)
{
	$grants = counted('lease_grants');
	$kept = counted('lease_renewals');
	last if !wait_until(sub { counted('lease_renewals') >= $kept + 2 }) || counted('lease_grants') == $grants;
}
cmp_ok(counted('lease_renewals'), '>=', $kept + 2, 'and it is renewed again');
is(counted('lease_grants'), $grants, 'without another grant');
is(log_lines($server, qr/coordinator of leases/), 0, 'all that is no line in the log');

# Leases that were granted together come to be renewed on one connection.
$server->append_conf('postgresql.conf', "flakeid.lease_ttl = 30s\n");
$server->reload;
is(error_of($server, "SET flakeid.node = $_; SELECT flake_next()"), '', "node $_") for 10 .. 17;
ok(wait_until(sub { keepers() eq '0' }), 'the lease worker has left');
my $renewals = counted('lease_renewals');
$coordinator->append_conf('postgresql.conf', 'log_connections = on');
$coordinator->reload;
ok(wait_until(sub { counted('lease_renewals') >= $renewals + 18 }), 'nine leases are renewed twice');
cmp_ok(log_lines($coordinator, qr/connection authorized: .*application_name=flakeid/), '<=', 9, 'on fewer connections than renewals');

# A holder that is told no
is($coordinator->safe_psql('postgres', q{SELECT node FROM flakeid.lease_acquire('default', 'thief', '1 d', 40)}), '40', 'a node of another');
like(error_of($server, 'SET flakeid.node = 40; SELECT flake_next()'), qr/not leased/, 'is refused');
like(status('lease of node 40'), qr/^not held\. .*held by "thief"/, 'and flakeid.status says why');
like(status('last error of leases'), qr/$moment.*: .*held by "thief"/, 'and when');
like(status('coordinator'), qr/^answered last at/, 'the coordinator did answer');
like(status('lease of node 40', extra_params => [ '-U', 'ordinary' ]), qr/^not held\. Another holder has the node$/, 'ordinary roles are told the kind');
unlike(status('last error of leases', extra_params => [ '-U', 'ordinary' ]), qr/thief/, 'of the last error too');

# The coordinator goes away: one line at the first failure, and since when.
$server->append_conf('postgresql.conf', "flakeid.lease_ttl = 1h\n");
$server->reload;
ok(wait_until(sub { $server->safe_psql('postgres', q{SELECT until > now() + interval '30 min' FROM flakeid.status WHERE name = 'lease of node 5'}) eq 't' }),
	'a lease for long');
my $failures = counted('lease_failures');
$coordinator->stop;
ok(wait_until(sub { status('coordinator') =~ /^does not answer since $moment.*; it answered last at $moment/ }), 'flakeid.status says that it does not answer, and since when');
is(log_lines($server, qr/LOG: .*coordinator of leases ".*" cannot be reached/), 1, 'one line in the log');
my ($since) = status('coordinator') =~ /since (.*?);/;
ok(wait_until(sub { counted('lease_failures') >= $failures + 3 }), 'it tries again');
is((status('coordinator') =~ /since (.*?);/)[0], $since, 'since the first failure');
is(log_lines($server, qr/cannot be reached/), 1, 'still one line');
like(status('lease of node 5'), qr/^until/, 'the lease is held all the same');
$coordinator->start;
ok(wait_until(sub { status('coordinator') =~ /^answered last at/ }), 'it is back');
is(log_lines($server, qr/is back/), 1, 'and the log says so');

$failures = counted('lease_failures');
is($server->safe_psql('postgres', "SELECT flakeid.stats_reset(); SELECT lease_grants, lease_failures < $failures FROM flakeid.stats") =~ s/^\n//r, '0|t', 'flakeid.stats_reset() resets these too');

# What a span can use: leases that others have are left out.
ok(wait_until(sub { status('lease of node 40') =~ /held by "thief"/ }), 'the node of another is refused again');
is($server->safe_psql('postgres', q{SET flakeid.node = '40-43'; SELECT string_agg(value, ' ' ORDER BY name COLLATE "C")
	FROM flakeid.status WHERE name IN ('usable nodes', 'ids per second')}), 3 * 4_096_000 . ' 3', 'the ids a second of the nodes that a span can use');
is($server->safe_psql('postgres', q{SET flakeid.node = '100-299'; SELECT sum(CASE WHEN name = 'usable nodes' THEN value::int ELSE 1 END)
	FROM flakeid.status WHERE name = 'usable nodes' OR name ~ '^lease of node ..?$'}), 64, 'no more than a server has leases');
$server->stop;
$coordinator->stop;
done_testing();
