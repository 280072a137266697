# A coordinator behind PgBouncer in transaction mode: leases are taken, renewed and given back through
# a few connections that many share.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest qw(write_file);
use IPC::Run qw(start);
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'pgbouncer is not installed' if !$pgbouncer;

my $coordinator = coordinator('coordinator');
$coordinator->safe_psql('postgres', 'CREATE ROLE shop LOGIN IN ROLE flakeid_generator');
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
write_file("$dir/users", qq{"shop" ""\n});
write_file("$dir/pgbouncer.ini", sprintf q{[databases]
ids = host=%s port=%d dbname=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = %s
listen_port = %d
auth_type = any
auth_file = %s/users
pool_mode = transaction
default_pool_size = 1
server_login_retry = 1
logfile = %s/log
}, $coordinator->host, $coordinator->port, $dir, $port, $dir, $dir);
# auth_type any connects as whom the pool says.
my $ini = slurp_file("$dir/pgbouncer.ini");
$ini =~ s/dbname=postgres/dbname=postgres user=shop/;
write_file("$dir/pgbouncer.ini", $ini);
my ($out, $err) = ('', '');
my $bouncer = start([ $pgbouncer, '-q', "$dir/pgbouncer.ini" ], '<', \undef, '>', \$out, '2>', \$err);
ok(wait_until(sub { -S "$dir/.s.PGSQL.$port" }), 'PgBouncer runs') or diag $err;

my $where = "host=$dir port=$port dbname=ids user=shop target_session_attrs=read-write";
my @servers = map { generator("server$_", $coordinator, ttl => '15s', conninfo => $where, conf => 'flakeid.max_ahead = 50s') } 1 .. 3;

# Where the machine stalls for longer than a lease, a draw takes the next one.
sub draw
{
	my ($server, $what) = @_;
	my $ids;
	ok(wait_until(sub { (my $code, $ids) = $server->psql('postgres', 'SELECT flake_next() FROM generate_series(1, 5000)'); return $code == 0 }), $server->name . " $what");
	add_ids($coordinator, "$ids\n");
	return;
}
draw($_, 'has a lease') for @servers;
is($coordinator->safe_psql('postgres', q{SELECT count(DISTINCT holder), string_agg(DISTINCT role, ' ') FROM flakeid.leases}),
	'3|shop', 'leases of three, in the role of the pool');

sub renewed
{
	my $renewals = 'FROM (SELECT sum(renewals) AS renewals FROM flakeid.leases GROUP BY holder) AS of_holders';
	my $most = $coordinator->safe_psql('postgres', "SELECT max(renewals) $renewals");
	return wait_until(sub {
		error_of($_) for @servers;
		return $coordinator->safe_psql('postgres', "SELECT min(renewals) > $most $renewals") eq 't';
	});
}
ok(renewed(), 'all are renewed');
cmp_ok($coordinator->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'shop'}), '<=', 1, 'over one connection');

# The pool loses its server, and the coordinator comes back.
$coordinator->restart;
ok(renewed(), 'renewals go on after a restart of the coordinator');
draw($_, 'has a lease then') for @servers;
leases_hold($coordinator, 'through PgBouncer', 30000);
# A stop waits three seconds for the coordinator, which may be slow: then another time.
for my $server (@servers)
{
	my $name = $server->name;
	my $state;
	for (1 .. 10)
	{
		$server->stop;
		$state = $coordinator->safe_psql('postgres', "SELECT state FROM flakeid.leases WHERE holder LIKE '%$name' ORDER BY acquired_at DESC LIMIT 1");
		last if $state eq 'released';
		$server->start;
		wait_until(sub { error_of($server) eq '' });
	}
	is($state, 'released', "a clean stop of $name gives the node back");
}
$bouncer->signal('INT');
eval { $bouncer->finish };
$coordinator->stop;
done_testing();
