# A transaction that took a lease and stays open is in nobody's way; nor does a coordinator whose commits
# wait for a standby that is gone collect the sessions of those who ask.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $coordinator = coordinator('coordinator', max_ttl => '1 h', conf => "deadlock_timeout = '1h'\n");
$coordinator->safe_psql('postgres', "SELECT flakeid.lease_realm_set('small', 3, '1 h'); CREATE ROLE client LOGIN IN ROLE flakeid_generator");

# Who waits for another one is told so by the timeout.
sub asked { my ($sql) = @_; return error_of($coordinator, "SET statement_timeout = '30s'; SET ROLE client; $sql") || 'answered' }
sub acquire { my ($holder, @more) = @_; return 'SELECT node, token FROM flakeid.lease_acquire(' . join(', ', "'small'", "'$holder'", "'1 h'", @more) . ')' }

# Somebody who begins, asks, and stays.
my $open = $coordinator->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'client' ]);
sub stays { my ($sql) = @_; return $open->query("BEGIN; $sql") }

# A lease of before, whose node another one has by now
my ($node, $old) = split /\|/, $coordinator->safe_psql('postgres', acquire('old'));
$coordinator->safe_psql('postgres', "SELECT flakeid.lease_revoke('small', $node)");
ok(wait_until(sub { asked(acquire('held', $node)) eq 'answered' }), 'a node that another one had');
my $held = $coordinator->safe_psql('postgres', "SELECT token FROM flakeid.lease_node WHERE realm = 'small' AND node = $node");
my $renew = "SELECT flakeid.lease_renew('$held', '1 h')";
for my $question ("SELECT flakeid.lease_release('$old', NULL)", "SELECT flakeid.lease_renew('$old', '1 h')", acquire('thief', $node),
	"SAVEPOINT s; " . acquire('thief', $node) . '; ROLLBACK TO s')
{
	stays($question);
	is(asked($renew), 'answered', "a renewal, beside $question");
	$open->query('ROLLBACK');
}

# The first lease of a realm, and of a node
is(stays(acquire('open')) =~ /(\d)\|/ ? $1 : '', 3 - $node, 'an open transaction has a node');
is(asked($renew), 'answered', 'a renewal goes on');
is(asked("SELECT flakeid.lease_acquire('default', 'another realm', '1 h')"), 'answered', 'another realm has nodes');
like(asked(acquire('late')), qr/other transactions are changing the last free nodes of realm "small"/, 'who wants any node is told at once that none is left');
like(asked(acquire('late', 3 - $node)), qr/another transaction is changing node @{[ 3 - $node ]} of realm "small"/, 'who wants that node too');
is(asked(acquire('zero', 0)), 'answered', 'who wants another one has it');
is(asked("SELECT flakeid.lease_realm_set('small', 4)") =~ /denied/ ? 'denied' : '', 'denied', 'a generator adds no nodes');
is(error_of($coordinator, "SET statement_timeout = '30s'; SELECT flakeid.lease_realm_set('small', 5)"), '', 'a superuser does');
is(asked(acquire('late', 3)), 'answered', 'and they are given');
stays($_) for 'COMMIT', acquire('open', 4);
like(asked(acquire('all')), qr/other transactions are changing the last free nodes/, 'the last one is being taken');
is(error_of($coordinator, "SET statement_timeout = '30s'; SELECT flakeid.lease_revoke('small', $node)"), '', 'a lease is revoked beside it');
$open->query('COMMIT');
like(asked(acquire('all')), qr/all nodes of realm "small" from 1 to 4 are leased|^answered/, 'and then it is taken');
$open->quit;

# What is missing is said, and how to make it.
$coordinator->safe_psql('postgres', "DELETE FROM flakeid.lease_node WHERE realm = 'small'");
like(asked(acquire('none')), qr/nodes of realm "small" are missing.*SELECT flakeid\.lease_realm_set\('small'\)/s, 'nodes that were deleted');
$coordinator->safe_psql('postgres', "SELECT flakeid.lease_realm_set('small')");
is(asked(acquire('again')), 'answered', 'are made again');
$coordinator->safe_psql('postgres', 'TRUNCATE flakeid.lease_node; SELECT flakeid.lease_end_rest()');
is(asked(acquire('again')), 'answered', 'and after a TRUNCATE');

# Commits wait for a standby that is gone. Each server has one session there, however often it asks.
my $server = generator('server', $coordinator, ttl => '6s');
is(error_of($server), '', 'a server has a lease');
my $sessions = q{SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'flakeid %'};
$coordinator->append_conf('postgresql.conf', "log_connections = on\nsynchronous_standby_names = 'gone'\n");
$coordinator->reload;
ok(wait_until(sub { log_lines($coordinator, qr/connection authorized: .*application_name=flakeid \d/) >= 4 }), 'it asks again and again');
ok(wait_until(sub { $coordinator->safe_psql('postgres', $sessions) <= 1 }), 'and what it left is ended');
like(error_of($server), qr/The coordinator|Coordinator/, 'an answer that a failover takes back is none');
# The standby is given up by somebody who cancels each wait.
$coordinator->poll_query_until('postgres', "SELECT count(pg_cancel_backend(pid)) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'") or die 'nobody waits';
ok(wait_until(sub { log_lines($server, qr/answered with a warning/) > 0 || error_of($server) =~ /answered with a warning/ }), 'nor is one that came with a warning');
$coordinator->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
$coordinator->reload;
ok(wait_until(sub { error_of($server) eq '' }), 'without that standby it has a lease again');
$server->stop;
$coordinator->stop;
done_testing();
