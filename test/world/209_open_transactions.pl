# A transaction that took a lease and stays open is in nobody's way; nor does a coordinator whose commits
# wait for a standby that is gone collect the sessions of those who ask. Twenty clients that do their worst at once cost
# honest servers nothing.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use IPC::Run qw(start finish);
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $coordinator = coordinator('coordinator', max_ttl => '1 h', conf => "deadlock_timeout = '1h'\nmax_connections = 60\nlog_line_prefix = '%u %a '\n");
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
ok(wait_until(sub { asked(acquire('all')) eq 'answered' }), 'and then it is given');
$open->quit;

# What is missing is said, and how to make it.
$coordinator->safe_psql('postgres', "DELETE FROM flakeid.lease_node WHERE realm = 'small'");
like(asked(acquire('none')), qr/nodes of realm "small" are missing.*SELECT flakeid\.lease_realm_set\('small'\)/s, 'nodes that were deleted');
$coordinator->safe_psql('postgres', "SELECT flakeid.lease_realm_set('small')");
my $all_leased = qr/all nodes of realm "small" from 1 to 4 are leased/;
like(asked(acquire('again')), $all_leased, 'are made again, with the leases of the history');
$coordinator->safe_psql('postgres', 'TRUNCATE flakeid.lease_node; SELECT flakeid.lease_end_rest()');
like(asked(acquire('again')), $all_leased, 'as after a TRUNCATE');
$coordinator->safe_psql('postgres', 'TRUNCATE flakeid.lease_node, flakeid.lease_history; SELECT flakeid.lease_end_rest()');
is(asked(acquire('again')), 'answered', 'unless their history goes too');

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

# Twenty hostile members of flakeid_generator. Whatever they do, they do until they are told to end. An honest server that a
# transaction of theirs held up would wait until its lock_timeout, since the open ones never end: its question were refused.
my $honest = q{role = 'honest'};
$coordinator->safe_psql('postgres', q{
	CREATE ROLE honest LOGIN IN ROLE flakeid_generator;
	ALTER ROLE honest SET lock_timeout = '4s';
	ALTER ROLE honest SET log_statement = 'all';
	CREATE TABLE done (n int8 GENERATED ALWAYS AS IDENTITY, what text, state text);
	GRANT INSERT ON done TO client});
my @holders = map { generator($_, $coordinator, conninfo => conninfo($coordinator) . ' user=honest', ttl => '60s', node => { number => 700, another => 701 }->{$_}) } qw(any number another);
my @new = map { generator("new$_", $coordinator, conninfo => conninfo($coordinator) . ' user=honest', ttl => '60s') } 1 .. 3;
is(error_of($_), '', $_->name . ' has a lease') for @holders;
my $leases = "SELECT string_agg(holder || ' ' || node || ' ' || lease_start, ', ' ORDER BY holder, node) FROM flakeid.leases WHERE $honest AND state = 'held'";
my $held_before = $coordinator->safe_psql('postgres', $leases);
my @nodes = split /\n/, $coordinator->safe_psql('postgres', "SELECT node FROM flakeid.leases WHERE $honest");

my $dir = PostgreSQL::Test::Utils::tempdir;
my %scripts = (
	names => [ map { "SELECT flakeid.lease_acquire('default', $_, '1 h');" } q{repeat('x', 10000000)}, q{E'a\nERROR:  b'}, q{repeat(E'\u001b[2J', 1000)} ],
	claims => [ map { "SELECT flakeid.lease_acquire('default', 'claims', '1 h', $_);" } @nodes ],
	ends => [
		q{SELECT token FROM flakeid.lease_acquire('default', 'ends', '1 h') \gset},
		q{SELECT flakeid.lease_renew(:'token', '1 h', 'infinity');},
		q{SELECT flakeid.lease_renew(:'token', '1000 years');},
		q{SELECT flakeid.lease_release(:'token', 'infinity');},
		q{SELECT flakeid.lease_release(:'token', clock_timestamp());} ],
	killed => [ 'BEGIN;', q{SELECT flakeid.lease_acquire('default', 'killed', '1 h');}, '\! kill -9 $PPID' ],
	open => [ 'BEGIN;', (map { "SAVEPOINT s; SELECT flakeid.lease_acquire('default', 'open', '1 h', $_); ROLLBACK TO s;" } @nodes),
		q{SELECT count(flakeid.lease_acquire('default', 'open' || i, '1 h')) FROM generate_series(1, 200) AS i;}, 'SELECT pg_sleep(100000);' ]);
my @hostile;
append_to_file("$dir/go", '');
for my $what (sort keys %scripts)
{
	# What leaves its transaction open says before that it comes.
	my $is_open = $what =~ /killed|open/;
	append_to_file("$dir/$what", join "\n", $is_open ? "INSERT INTO done (what, state) VALUES ('$what', '');" : (), (map { $_, $is_open ? () : "INSERT INTO done (what, state) VALUES ('$what', :'SQLSTATE');" } @{ $scripts{$what} }), '');
	my $psql = "psql -Xq -U client -d '@{[ $coordinator->connstr('postgres') ]}' -f $dir/$what";
	push @hostile, map { start([ 'sh', '-c', "while [ -e $dir/go ]; do $psql; done" ], '<', \undef, '>', '/dev/null', '2>', '/dev/null') } 1 .. 4;
}
my $open_ones = q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'client' AND query ~ 'pg_sleep'};
ok(wait_until(sub { $coordinator->safe_psql('postgres', $open_ones) == 4 }), 'four transactions are open, with 800 of 1,023 nodes');
my $renewed = "SELECT min(renewed_at) FROM flakeid.leases WHERE $honest AND node IN (" . join(',', @nodes) . ')';
for my $round (1 .. @new)
{
	# Each of them goes on doing it.
	my $since = $coordinator->safe_psql('postgres', q{SELECT coalesce(max(n), 0) FROM done});
	ok(wait_until(sub { $coordinator->safe_psql('postgres', "SELECT count(*) FROM (SELECT FROM done WHERE n > $since GROUP BY what HAVING count(*) >= 8) AS d") == 4 }), "round $round of attacks");
	my $asked = $coordinator->safe_psql('postgres', 'SELECT clock_timestamp()');
	ok(wait_until(sub { $coordinator->safe_psql('postgres', "SELECT ($renewed) > '$asked'") eq 't' }), 'all leases are renewed');
	is(error_of($_, 'SELECT count(flake_next()) FROM generate_series(1, 10000)'), '', $_->name . ' makes ids') for @holders;
	my $began = time;
	is(error_of($new[ $round - 1 ]), '', 'a new server does too');
	note sprintf 'after %.2f s', time - $began;
	is($coordinator->safe_psql('postgres', "SELECT count(*) FROM (SELECT FROM pg_stat_activity WHERE usename = 'honest' GROUP BY application_name HAVING count(*) > 1) AS several"),
		0, 'no server has two sessions at the coordinator');
}
is($coordinator->safe_psql('postgres', $open_ones), 4, 'the transactions are open all the while');
unlink "$dir/go";
$coordinator->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'client'});
finish($_) for @hostile;
is($coordinator->safe_psql('postgres', "$leases AND node IN (" . join(',', @nodes) . ')'), $held_before, 'no lease was lost');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM flakeid.leases WHERE $honest"), @nodes + @new, 'none was taken twice');
my @questions = slurp_file($coordinator->logfile) =~ /^honest flakeid ([\d.]+) LOG: .*lease_acquire/mg;
my %questions;
$questions{$_}++ for @questions;
is(join(' ', sort values %questions), join(' ', (1) x (@holders + @new)), 'a new server asks once');
is(log_lines($coordinator, qr/^honest .*(ERROR|FATAL)/m), 0, 'and is refused nothing');
is($coordinator->safe_psql('postgres', q{SELECT string_agg(what || ' ' || state, ', ' ORDER BY what, state) FROM (SELECT DISTINCT what, state FROM done WHERE state <> '' AND (what, state) <> ('ends', '55P03')) AS d}), # which says that others change the last free nodes
	'claims 55006, ends 00000, ends 22008, ends 22023, names 22023', 'what the hostile ones were told');
is($coordinator->safe_psql('postgres', q{SELECT count(*) FROM flakeid.lease_node WHERE free_from > clock_timestamp() + '1 h'}), 0, 'no node is taken for longer than a lease');
note $coordinator->safe_psql('postgres', q{SELECT string_agg(what || ': ' || times, ', ' ORDER BY what) FROM (SELECT what, count(*) AS times FROM done GROUP BY what) AS d});
$_->stop for @holders, @new;
$coordinator->stop;
done_testing();
