# A coordinator that has not seen all leases of its realm hands out nothing before they have ended, whatever put it in the place of the
# one that has: a standby that was made before the first lease, or a database that got the id of the realm. And a role with a quota
# holds no more leases than that, whatever its sessions do at the same time. Nor do two questions at the same time get one node.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $first = PostgreSQL::Test::Cluster->new('first');
$first->init(allows_streaming => 1);
$first->start;
$first->safe_psql('postgres', 'CREATE ROLE flakeid_generator; CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator');
$first->backup('early');
my $acquire = q{SELECT flakeid.lease_acquire('default', 'holder', '60 s')};
my $rests = qr/^55000: the coordinator hands out no leases before/;
is(refusal($first, $acquire), '', 'a new coordinator does not rest');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($first, 'early', has_streaming => 1);
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$standby->start;
$standby->promote;
like(refusal($standby, $acquire), $rests, 'a standby that was made before the first lease, and is promoted, rests');
$standby->stop;

# Made anew: the line that the error of a server names
my $id = $first->safe_psql('postgres', q{SELECT id FROM flakeid.lease_realm WHERE realm = 'default'});
for my $realm ('default', 'shop')
{
	my $database = "anew_$realm";
	$first->safe_psql('postgres', "CREATE DATABASE $database");
	$first->safe_psql($database, 'CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator');
	is(refusal($first, $acquire, database => $database), '', "$realm: it has an id of its own and hands out leases");
	my ($line) = refusal($first, "SELECT flakeid.lease_coordinator(1, 'default', '$id', 1, 1)", database => $database) =~ /made anew: (SELECT .*;)$/m;
	$first->safe_psql($database, $line =~ s/'default'/'$realm'/r);
	like(refusal($first, $acquire =~ s/'default'/'$realm'/r, database => $database), $rests, "$realm: with the id that servers know it rests");
	is($first->safe_psql($database, "SELECT id FROM flakeid.lease_realm WHERE realm = '$realm'"), $id, "$realm: which it has");
	$first->safe_psql($database, "SELECT flakeid.lease_end_rest(); SELECT flakeid.lease_realm_set('$realm', max_ttl => '50 s')");
	is(refusal($first, $acquire =~ s/'default'.*/'$realm', 'holder', '50 s')/r, database => $database), '', "$realm: other settings begin no rest");
	$first->safe_psql($database, "UPDATE flakeid.lease_realm SET id = gen_random_uuid() WHERE realm = '$realm'");
	like(refusal($first, $acquire =~ s/'default'.*/'$realm', 'holder', '50 s')/r, database => $database), $rests, "$realm: an id that a superuser writes does");
}
for my $role ('', 'SET session_replication_role = replica;')
{
	like(refusal($first, "$role UPDATE flakeid.lease_realm SET realm = 'shop'"), qr/^55000: realm "default" keeps its name\n.*hint: Give it a further one: SELECT flakeid\.lease_realm_add_name\('default', 'shop'\);$/s, "no realm is renamed; $role");
}
is($first->safe_psql('postgres', 'SELECT count(*) FROM flakeid.lease_realm WHERE realm = \'default\''), '1', 'and none is');

#
# A quota
#
my $database = 'quota';
$first->safe_psql('postgres', "CREATE DATABASE $database; CREATE ROLE fleet LOGIN IN ROLE flakeid_generator; CREATE ROLE web LOGIN IN ROLE flakeid_generator");
$first->safe_psql($database, 'CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator');
my $many = q{SELECT count(DISTINCT node) FROM generate_series(1, %d) AS n, LATERAL flakeid.lease_acquire('default', 'h' || n, '2 min', token => ('00000000-0000-0000-0000-' || lpad((%d + n)::text, 12, '0'))::uuid) AS l};
my @as = (extra_params => [ '-U', 'fleet' ]);
is($first->safe_psql($database, sprintf($many, 10, 0), @as), '10', 'a role without a quota takes as many as there are');
$first->safe_psql($database, q{SELECT flakeid.lease_realm_set('default', role_leases => 12)});
is($first->safe_psql($database, sprintf($many, 10, 0), @as), '10', 'asking again is no further lease');
my $full = qr/^53400: role "fleet" holds 12 leases of realm "default"\ndetail: A role may hold 12 of them at once\.\nhint: /;
like(refusal($first, sprintf($many, 10, 10), database => $database, user => 'fleet'), qr/^53400: role "fleet" holds 12/, 'one statement stops at the quota');
my @sessions = map { $first->background_psql($database, on_error_stop => 0, extra_params => [ '-U', 'fleet' ]) } 1 .. 3;
$sessions[0]->query_safe('BEGIN; ' . sprintf($many, 2, 100));
like(refusal($first, sprintf($many, 1, 200), database => $database, user => 'fleet'), qr/^55P03: another transaction of role "fleet" is taking a lease/, 'a session is told of another one of its role');
is($first->safe_psql($database, sprintf($many, 12, 300), extra_params => [ '-U', 'web' ]), '12', 'other roles are not held up');
$sessions[1]->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$sessions[0]->query_safe('COMMIT');
$sessions[1]->{stderr} = '';
$sessions[1]->query(sprintf($many, 1, 400));
like($sessions[1]->{stderr}, qr/a quota of leases is not kept at isolation level REPEATABLE READ/, 'nobody counts with an old snapshot');
like(refusal($first, sprintf($many, 1, 500), database => $database, user => 'fleet'), $full, 'the quota is used up');
is(refusal($first, q{SELECT flakeid.lease_renew('00000000-0000-0000-0000-000000000101', '2 min')}, database => $database, user => 'fleet'), '', 'renewals go on');
$first->safe_psql($database, q{SELECT flakeid.lease_release('00000000-0000-0000-0000-000000000101', NULL)}, @as);
is(refusal($first, sprintf($many, 1, 600), database => $database, user => 'fleet'), '', 'what was given back is not counted');
is($first->safe_psql($database, q{SELECT string_agg(role || ' ' || held, ', ' ORDER BY role) FROM (SELECT role, count(*) AS held FROM flakeid.leases WHERE state = 'held' GROUP BY role) AS s}), 'fleet 12, web 12', 'so many they hold');
$first->safe_psql($database, q{SELECT flakeid.lease_realm_set('default', role_leases => 0)});
is(refusal($first, sprintf($many, 1, 700), database => $database, user => 'fleet'), '', 'and without a quota any number again');
$_->quit for @sessions;

#
# Two at the same time
#
$first->safe_psql('postgres', 'CREATE DATABASE pair');
$first->safe_psql('pair', q{CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator; SELECT flakeid.lease_realm_set('default', 3)});
my ($one, $other) = map { $first->background_psql('pair', on_error_stop => 0) } 1, 2;
my $pid = $other->query_safe('SELECT pg_backend_pid()');

# What the second one is told, who asks while the first one's transaction is open; and whether he waits for its end
sub beside
{
	my ($open, $asked) = @_;
	$one->query_safe("BEGIN; SELECT flakeid.$open");
	$other->{stderr} = '';
	$other->query_until(qr/begun/, "\\echo begun\nSELECT flakeid.$asked;\n");
	$first->poll_query_until('pair', qq{
		SELECT query ~ '^SELECT flakeid' AND (state ~ 'idle' OR wait_event_type = 'Lock') FROM pg_stat_activity WHERE pid = $pid}) or die 'nobody asks';
	my $waits = $first->safe_psql('pair', "SELECT count(*) FROM pg_locks WHERE pid = $pid AND NOT granted") > 0 ? ', who waited' : '';
	$one->query_safe('COMMIT');
	$other->query('SELECT 1');
	return ($other->{stderr} =~ /ERROR: +(.*)/ ? $1 : 'answered') . $waits;
}
sub lease { my ($holder, @more) = @_; return "lease_acquire(" . join(', ', "'default'", "'$holder'", "'2 min'", @more) . ')' }
my $token = '00000000-0000-0000-0000-000000000001';
is(beside((lease('holder', "token => '$token'")) x 2), 'the token was used by a question that was asked at the same time, who waited', 'a question that is asked twice has one lease');
my $node = $first->safe_psql('pair', "SELECT node FROM flakeid.lease_node WHERE token = '$token'");
my $left = 3 - $node;
my $changing = 'another transaction is changing node %d of realm "default"';
is(beside(lease('a', $left), lease('b', $left)), sprintf($changing, $left), 'two want a node by its number: one has it');
my $of_left = $first->safe_psql('pair', "SELECT token FROM flakeid.lease_node WHERE node = $left");
for ([ "lease_release('$token', NULL)", "lease_renew('$token', '2 min')", $node ], [ "lease_renew('$of_left', '2 min')", "lease_revoke('default', $left)", $left ],
	[ "lease_renew('$of_left', '2 min')", lease('a', "token => '$of_left'"), $left ], [ "lease_revoke('default', $left)", "lease_release('$of_left', clock_timestamp())", $left ])
{
	is(beside(@$_[ 0, 1 ]), sprintf($changing, $_->[2]), "$_->[1], beside $_->[0]");
}
# What was given back comes free with the next whole second.
$first->poll_query_until('pair', "BEGIN; SELECT count(*) FROM flakeid." . lease('c') . '; ROLLBACK', "BEGIN\n1\nROLLBACK") or die 'no node comes free';
is(beside(lease('a'), lease('b')), 'other transactions are changing the last free nodes of realm "default"', 'two want any node, and one is left');
is($first->safe_psql('pair', q{SELECT count(*) FROM flakeid.leases AS x JOIN flakeid.leases AS y USING (node) WHERE x.acquired_at < y.acquired_at AND x.lease_end > y.lease_start}), '0', 'no two leases of a node overlap');

# Another question may come and go between the look at a node and its lock: what was read before that counts for nothing. The lock stands
# still for whoever does not hold the gate.
$first->safe_psql('pair', q{SELECT flakeid.lease_realm_set('default', 8);
	ALTER FUNCTION flakeid.lease_lock(text, int4, uuid) RENAME TO lease_lock_itself;
	CREATE FUNCTION flakeid.lease_lock(of_realm text, of_node int4, of_token uuid) RETURNS timestamptz LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN flakeid.lease_lock_itself(of_realm, of_node, of_token); END'});
sub between
{
	my ($asked, $comes) = @_;
	$one->query_safe('SELECT pg_advisory_lock(1)');
	$other->{stderr} = '';
	$other->query_until(qr/begun/, "\\echo begun\nSELECT flakeid.$asked;\n");
	$first->poll_query_until('pair', "SELECT count(*) > 0 FROM pg_locks WHERE pid = $pid AND NOT granted") or die 'nobody stands still';
	$one->query_safe("SELECT flakeid.$_") for @$comes;
	$one->query_safe('SELECT pg_advisory_unlock(1)');
	$other->query('SELECT 1');
	return $other->{stderr} =~ /ERROR: +(.*)/ ? $1 : 'answered';
}
my @token = map { sprintf '00000000-0000-0000-0000-%012d', $_ } 100 .. 109;
like(between(lease('a', 5, "token => '$token[0]'"), [ lease('b', 5, "token => '$token[1]'") ]), qr/^node 5 of realm "default" is not free before/, 'a node that somebody else got meanwhile');
my @gone = ("lease_revoke('default', 5)", lease('c', 6, "token => '$token[2]'"));
is(between("lease_renew('$token[1]', '2 min')", \@gone), 'the lease of node 5 has ended', 'a lease that was revoked meanwhile is not renewed');
is(between(lease('c', 6, "token => '$token[2]'"), ["lease_release('$token[2]', clock_timestamp())"]), 'the token is that of another lease, or of one that has ended', 'nor one that was given back, where it is asked for again');
is(between("lease_release('$token[2]', clock_timestamp())", []), 'answered', 'it may be given back twice');
is($first->safe_psql('pair', q{SELECT count(*) FROM flakeid.leases AS x JOIN flakeid.leases AS y USING (node) WHERE x.acquired_at < y.acquired_at AND x.lease_end > y.lease_start}), '0', 'and no two leases of a node overlap');
$_->quit for $one, $other;

# Nine tenths
$first->safe_psql($database, q{SELECT flakeid.lease_realm_set('default', nodes => 40)});
my $told = qr/LOG:  nine tenths of the leases of realm "default" are taken\n.*DETAIL:  Of 40, (\d+) are free\./;
my $held = $first->safe_psql($database, q{SELECT count(*) FROM flakeid.lease_node WHERE free_from > clock_timestamp()});
$first->safe_psql($database, sprintf $many, 35 - $held, 800);
unlike(slurp_file($first->logfile), $told, 'with more than a tenth left nobody is told');
my (undef, undef, $said) = $first->psql($database, sprintf($many, 1, 900), @as);
is($said, '', 'at nine tenths a holder gets its node without a word');
like(slurp_file($first->logfile), $told, 'and the log says it');
$first->stop;
done_testing();
