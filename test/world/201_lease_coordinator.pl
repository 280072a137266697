# The coordinator goes away for less and for more than a lease, is replaced by a standby that has not
# seen the last leases and whose clock is 10 s behind, and is restored from an old dump.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use IPC::Run qw(start finish);
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my ($faketime) = glob '/usr/lib/*/faketime/libfaketime.so.1';

my ($ttl, $skew) = (13, 11);
my $primary = coordinator('primary', max_ttl => "$ttl s", max_skew => "$skew s");
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
my $both = sprintf 'host=%s,%s port=%d,%d dbname=postgres target_session_attrs=read-write',
  $primary->host, $standby->host, $primary->port, $standby->port;
my $server = generator('server', $primary, ttl => "${ttl}s", conninfo => $both);
my $other = generator('other', $primary, ttl => "${ttl}s", conninfo => $both);
ok(wait_until(sub { error_of($server) eq '' }), 'an id');

# Draws all the time for some seconds; returns the ids and what went wrong. Through files: servers that
# are started meanwhile would inherit pipes.
sub draw_for
{
	my ($node, $seconds, $during) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir;
	append_to_file("$dir/script",
		"SELECT flake_next() FROM generate_series(1, 100);\nDO \$\$ BEGIN PERFORM pg_sleep(0.05); END \$\$;\n" x ($seconds * 18));
	my $run = start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', "$dir/script" ],
		'<', '/dev/null', '>', "$dir/out", '2>', "$dir/err");
	$during->();
	finish($run);
	return (slurp_file("$dir/out"), slurp_file("$dir/err"));
}

# Less than a lease
my $ids = '';
my ($out, $err);
my $tries = 0;
do
{
	($out, $err) = draw_for($server, 6, sub {
		sleep 1;
		$primary->stop;
		sleep 2;
		$primary->start });
	$ids .= $out;
	# On a slow machine it is away for longer.
} while ($err ne '' && ++$tries < 10 && wait_until(sub { error_of($server) eq '' }));
is($err, '', 'coordinator stopped for less than a lease: nobody notices');
ok(wait_until(sub { log_lines($server, qr/cannot be reached/) == log_lines($server, qr/is back/) }), 'at most one line of log says that it was away, and one that it is back');

# More than a lease
my $name = $primary->host . ',' . $standby->host;
my $before = $primary->safe_psql('postgres', q{SELECT max(lease_end) FROM flakeid.leases WHERE holder LIKE '%server'});
my $renewals = q{SELECT sum(renewals) FROM flakeid.leases WHERE holder LIKE '%server'};
my $renewed = $primary->safe_psql('postgres', $renewals);
ok(wait_until(sub { $primary->safe_psql('postgres', $renewals) > $renewed }), 'a lease that was just renewed');
$primary->stop('immediate');
my $wrong = '';
my $draws = 0;
ok( wait_until(sub {
		my ($code, $id, $error) = $server->psql('postgres', 'SELECT flake_next()', timeout => 60);
		$draws++;
		$ids .= "$id\n" if $code == 0;
		return ($wrong = $error) ne ''; }),
	'for longer: generators stop');
my $stopped = time;
like($wrong, qr/ERROR: +the lease of node \d+ ended at (\S+ \S+)/, 'the error names the end');
my ($end) = $wrong =~ /ended at (\S+ [\d:]+)/;
cmp_ok($draws, '>', 1, 'they drew until then');
my $end_epoch = $server->safe_psql('postgres', "SELECT extract(epoch FROM '$end'::timestamptz)");
cmp_ok($stopped, '>=', $end_epoch, 'they did not stop before the end');
like($wrong, qr/Coordinator "\Q$name\E/, 'the coordinator');
like($wrong, qr/connection.*failed/i, 'and the last error');
unlike($wrong, qr/target_session_attrs/, 'never the whole connection string');
sleep 2;
my $lines = log_lines($server, qr/coordinator of leases/);
sleep 2;
is(log_lines($server, qr/coordinator of leases/), $lines, 'the log repeats nothing while it is away');
$primary->start;
ok(wait_until(sub { error_of($server) eq '' }), 'they go on by themselves when it is back');
like(slurp_file($server->logfile), qr/is back/, 'and the log says so');
$ids .= $server->safe_psql('postgres', 'SELECT flake_next() FROM generate_series(1, 1000)') . "\n";
add_ids($primary, $ids);
leases_hold($primary, 'coordinator stopped', 5000);

SKIP:
{
	skip 'needs faketime', 1 if !$faketime;
	# The standby does not see the last renewals of one generator and the lease of another.
	$primary->wait_for_catchup($standby);
	$standby->stop;
	ok(wait_until(sub { error_of($other) eq '' }), 'a lease that the standby never sees');
	my $taken = $primary->safe_psql('postgres', q{SELECT node FROM flakeid.leases WHERE holder LIKE '%other'});
	my $seen = $primary->safe_psql('postgres', q{SELECT renewals FROM flakeid.leases WHERE holder LIKE '%server' AND state = 'held'});
	ok(wait_until(sub { $primary->safe_psql('postgres', "SELECT renewals > $seen + 1 FROM flakeid.leases WHERE holder LIKE '%server' AND state = 'held'") eq 't' }),
		'renewals that the standby never sees');
	my $ids1 = $server->safe_psql('postgres', 'SELECT flake_next() FROM generate_series(1, 20000)');
	my $ids2 = $other->safe_psql('postgres', 'SELECT flake_next() FROM generate_series(1, 20000)');
	$primary->stop('immediate');
	{
		local %ENV = (%ENV, LD_PRELOAD => $faketime, FAKETIME => '-10s', FAKETIME_DONT_FAKE_MONOTONIC => 1, NO_FAKE_STAT => 1);
		$standby->start;
	}
	my $promoted = time;
	$standby->promote;
	my $asked = time;
	my $clock = 10 + $standby->safe_psql('postgres', 'SELECT extract(epoch FROM clock_timestamp())');
	ok($asked - 1 < $clock && $clock < time + 1, 'the clock of the new coordinator is 10 s behind');
	like(error_of($standby, "SELECT flakeid.lease_acquire('default', 'new', '10 s', $taken)"),
		qr/hands out no leases before/, 'the new coordinator rests');
	# All the while everybody tries.
	my $refused = 0;
	my ($new, $ended) = ('', 0);
	ok( wait_until(sub {
			my ($code, $stdout) = $server->psql('postgres', 'SELECT flake_next() FROM generate_series(1, 100)');
			$ids1 .= "\n$stdout" if $code == 0;
			($code, $stdout) = $other->psql('postgres', 'SELECT flake_next() FROM generate_series(1, 100)');
			# What it makes after an error belongs to another lease, which may be of the same node.
			$ended ||= $code != 0;
			$ids2 .= "\n$stdout" if !$ended;
			($code, $new) = $standby->psql('postgres', "SELECT node, lease_start FROM flakeid.lease_acquire('default', 'new', '10 s', $taken)");
			$refused++ if $code != 0;
			$new = $standby->safe_psql('postgres', "SELECT node, lease_start FROM flakeid.leases WHERE node = $taken AND holder LIKE '%other'")
			  if $code != 0;
			return $new ne ''; }),
		'after the rest the node is handed out');
	cmp_ok(time - $promoted, '>=', $ttl + $skew - 1, 'not before max_ttl + max_skew');
	note "refused $refused times";
	my ($start) = $new =~ /\|(.*)/;
	my @ids2 = grep { /\d/ } split /\n/, $ids2;
	is( $standby->safe_psql('postgres', "SELECT count(*) FROM unnest('{" . join(',', @ids2) . "}'::bigint[]) AS id
		WHERE flake_node(id) = $taken AND flake_timestamp(id) >= '$start'"),
		'0', 'no id of the lost lease lies in the new one');
	ok(wait_until(sub { error_of($other) eq '' }), 'its holder goes on with another lease');
	$ids2 .= "\n" . $other->safe_psql('postgres', 'SELECT flake_next() FROM generate_series(1, 1000)');
	ok(wait_until(sub { error_of($server) eq '' }), 'and the other one');
	$ids1 .= "\n" . $server->safe_psql('postgres', 'SELECT flake_next() FROM generate_series(1, 1000)');
	my @all = grep { /\d/ } split /\n/, "$ids1\n$ids2";
	my %distinct = map { $_ => 1 } @all;
	cmp_ok(scalar(@all), '>=', 42000, 'ids before and after the promotion');
	is(@all - keys %distinct, 0, 'no duplicate');
}

# Restored from an old dump, in the same cluster.
$_->stop for $server, $other, $standby;
my $restored = coordinator('restored', max_ttl => '12 s', max_skew => '8 s');
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
# A lease that was longer than what is allowed by the time of the dump
my ($early, $early_end) = split /\|/,
  $restored->safe_psql('postgres', "SELECT node, lease_end FROM flakeid.lease_acquire('default', 'early', '12 s')");
$restored->safe_psql('postgres', "SELECT flakeid.lease_realm_set('default', max_ttl => '3 s')");
$restored->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $restored->connstr('postgres') ], 'dumped');
$restored->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN; GRANT SELECT ON ids TO ordinary');
$restored->command_ok([ 'pg_dump', '-f', "$dump.ordinary", '-U', 'ordinary', $restored->connstr('postgres') ], 'by an ordinary role too');
unlike(slurp_file("$dump.ordinary"), qr/early/, 'which says nothing of who holds a lease');
my $lost = $restored->safe_psql('postgres', "SELECT node, lease_end FROM flakeid.lease_acquire('default', 'late', '3 s')");
$restored->safe_psql('template1', 'DROP DATABASE postgres WITH (FORCE)');
$restored->safe_psql('template1', 'CREATE DATABASE postgres');
$restored->command_ok([ 'pg_restore', '-d', $restored->connstr('postgres'), $dump ], 'restored');
my ($node, $until) = split /\|/, $lost;
is($restored->safe_psql('postgres', "SELECT count(*) FROM flakeid.leases WHERE holder = 'late'"), '0', 'without the last lease');
like(error_of($restored, "SELECT flakeid.lease_acquire('default', 'new', '3 s', $node)"),
	qr/hands out no leases before/, 'a restored coordinator rests');
is($restored->safe_psql('postgres', "SELECT max_ttl_s, max_skew_s FROM flakeid.lease_realm"), '3|8', 'its settings were restored');
ok(wait_until(sub { $restored->psql('postgres', "SELECT flakeid.lease_acquire('default', 'new', '3 s', $node)") == 0 }),
	'and then hands them out');
is($restored->safe_psql('postgres', "SELECT lease_start >= '$until' FROM flakeid.leases WHERE holder = 'new'"), 't', 'after the lease that it lost');
is(error_of($restored, "SELECT flakeid.lease_acquire('default', 'after', '3 s', $early)"), '', 'the other node too');
is($restored->safe_psql('postgres', "SELECT lease_start >= '$early_end' FROM flakeid.leases WHERE holder = 'after'"), 't', 'after a lease of a longer max_ttl');
$restored->stop;
done_testing();
