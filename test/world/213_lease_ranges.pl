# A lease of a range of nodes is one row and one renewal, and a server makes ids of all of its nodes; two regions
# with coordinators of their own give different nodes; servers and coordinators are updated one after the other.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $coordinator = coordinator('east', max_ttl => '1 h');
sub coordinate { my ($sql) = @_; return $coordinator->safe_psql('postgres', $sql) }
sub status { my ($server, $name) = @_; return $server->safe_psql('postgres', "SELECT value FROM flakeid.status WHERE name ~ '$name'") }

# How many nodes a server made ids of, which it hands to the coordinator.
sub nodes_of
{
	my ($server) = @_;
	$server->safe_psql('postgres', 'DROP TABLE IF EXISTS drawn; CREATE TABLE drawn AS SELECT flake_next() AS id FROM generate_series(1, 200000)');
	add_ids($coordinator, $server->safe_psql('postgres', 'SELECT id FROM drawn') . "\n");
	return $server->safe_psql('postgres', 'SELECT count(DISTINCT flake_node(id)) FROM drawn');
}

# As a realm is from the start, auto(16) gets no node, and the error says what to do; that works.
my $narrow = 'time:41:1ms node:10 sequence:4 epoch=2026-01-01';
my $server = generator('server', $coordinator, node => 'auto(16)', ttl => '5s', conf => "flakeid.layout = '$narrow'");
like(error_of($server), qr/flakeid\.node is auto\(16\), and a lease has one node/, 'a realm that leases nodes one by one');
my (undef, undef, $err) = $server->psql('postgres', "\\set VERBOSITY verbose\nSELECT flake_next()");
my ($cure) = $err =~ /(SELECT flakeid\.lease_realm_set\(.*?\);)/ or die $err;
like(status($server, 'can generate'), qr/^no: flakeid\.node is auto\(16\)/, 'the status says so');
coordinate($cure);
ok(wait_until(sub { error_of($server) eq '' }), 'after the line of the hint, and the end of the lease, it gets sixteen nodes');
is(coordinate("SELECT nodes, count(*) FROM flakeid.leases WHERE state = 'held' GROUP BY 1"), '16|1', 'by one lease');
is(nodes_of($server), 16, 'and makes ids of all of them');
my ($first, $last) = status($server, '^node$') =~ /^(\d+)-(\d+)$/;
is($last - $first, 15, 'which flakeid.status names');
like(status($server, "^lease of nodes $first to $last\$"), qr/^until /, 'with the end of their lease');
is(status($server, '^usable nodes$'), '16', 'all are usable');
is($server->safe_psql('postgres', 'SELECT last_node - first_node FROM flakeid.nodes()'), '15', 'flakeid.nodes() names them too');
my $renewals = coordinate('SELECT max(renewals) FROM flakeid.leases');
ok(wait_until(sub { coordinate('SELECT max(renewals) FROM flakeid.leases') > $renewals + 1 }), 'it is renewed as a whole');

# A crash: it goes on in all of them, the coordinator away.
$server->append_conf('postgresql.conf', "flakeid.lease_ttl = '1h'");
$server->reload;
ok(wait_until(sub { coordinate('SELECT max(lease_end) > now() + interval $$50 min$$ FROM flakeid.leases') eq 't' }), 'a longer lease');
$coordinator->stop;
$server->stop('immediate');
$server->start;
ok(wait_until(sub { error_of($server) eq '' }), 'killed, and started without the coordinator');
$coordinator->start;
is(nodes_of($server), 16, 'it makes ids of all its nodes');
is(log_lines($server, qr/this server goes on in its lease of nodes $first to $last/), 1, 'which the log says');

# A clean stop gives all back.
$server->stop;
is(coordinate('SELECT state FROM flakeid.leases ORDER BY acquired_at DESC LIMIT 1'), 'released', 'a clean stop gives them back');
$server->start;

# What flakeid.node says is refused when it is set; auto takes the first node alone.
like(error_of($server, "LOAD 'flakeid'; SET flakeid.node = '$_'"), qr/invalid value for parameter "flakeid.node": "\Q$_\E"/, "$_ is refused")
  for 'auto(0)', 'auto()', 'auto(16', 'auto(-1)', 'auto(4294967297)', 'auto(16) ', 'hostname(16)';
is($server->safe_psql('postgres', "SET flakeid.node = 'auto'; SELECT count(DISTINCT flake_node(flake_next())) FROM generate_series(1, 1000)"), '1', 'auto is the first node');
like(error_of($server, "SET flakeid.node = 'auto(2000)'; SELECT flake_next()"), qr/out of range for layout/, 'more nodes than the layout has');
like(error_of($server, "SET flakeid.node = '@{[ $first + 1 ]}'; SELECT flake_next()"), qr/not leased/, 'a node inside a range is not leased alone');
is($server->safe_psql('postgres', "SET flakeid.node = 'auto(3)'; SELECT count(DISTINCT flake_node(flake_next())) FROM generate_series(1, 20000)"), '3', 'auto(3) takes three of them');

# 4,096 nodes by one renewal.
my $wide = 'time:41:1ms node:20 sequence:2 epoch=2026-01-01';
coordinate("SELECT flakeid.lease_realm_set('wide', nodes => 65536, lease_nodes => 4096, max_ttl => '1 h')");
my $large = generator('large', $coordinator, node => 'auto(4096)', ttl => '6s', conf => "flakeid.layout = '$wide'\nflakeid.realm = wide");
is(error_of($large), '', 'a lease of 4,096 nodes');
is($large->safe_psql('postgres', "SELECT count(DISTINCT flake_node(flake_next())) FROM generate_series(1, 400000)"), '4096', 'ids of 4,096 nodes');
my ($before, $wal) = split /\|/, coordinate("SELECT max(renewals), pg_current_wal_insert_lsn() FROM flakeid.leases WHERE realm = 'wide'");
ok(wait_until(sub { coordinate("SELECT max(renewals) FROM flakeid.leases WHERE realm = 'wide'") >= $before + 2 }), 'are kept by one renewal');
is(coordinate("SELECT count(*), sum(nodes) FROM flakeid.leases WHERE realm = 'wide' AND state = 'held'"), '1|4096', 'of one row');
is($large->safe_psql('postgres', 'SELECT lease_grants FROM flakeid.stats'), '1', 'that was granted once');
$large->stop;
leases_hold($coordinator, 'all so far', 400_000, $narrow);

# Two regions share nothing: each has a coordinator, and some nodes of the layout.
my $west = coordinator('west', max_ttl => '1 h');
$west->safe_psql('postgres', q{SELECT flakeid.lease_realm_set('default', first_node => 512, nodes => 512, lease_nodes => 256)});
coordinate(q{SELECT flakeid.lease_realm_set('east', first_node => 0, nodes => 512, lease_nodes => 128, max_ttl => '1 h')});
my @regions = (
	generator('in_east', $coordinator, node => 'auto(128)', conf => 'flakeid.realm = east'),
	generator('in_west', $west, node => 'auto(256)'));
is(error_of($_), '', $_->name . ' makes ids') for @regions;
my @spans = map { [ status($_, '^node$') =~ /^(\d+)-(\d+)$/ ] } @regions;
cmp_ok($spans[0][1], '<', 512, 'the nodes of one region lie below');
cmp_ok($spans[1][0], '>=', 512, 'those of the other above');
like(error_of($west, q{SELECT flakeid.lease_acquire('default', 'x', '10 s', 256)}), qr/node 256 is out of range for realm "default"/, 'each gives its own alone');
$coordinator->stop('immediate');
is(error_of($regions[1]), '', 'without the coordinator of the other region too');
$coordinator->start;

# A server that was not updated asks for no number, and gets the first node. (What it asks is kept here.)
my $old_question = q{SELECT a.node, a.token, pg_catalog.date_part('epoch', a.lease_start)::pg_catalog.int8,
	pg_catalog.date_part('epoch', a.lease_end)::pg_catalog.int8, c.realm_id, c.term, c.place
	FROM flakeid.lease_coordinator(1, 'east', NULL, NULL, NULL) AS c,
	LATERAL flakeid.lease_acquire(c.realm, 'old', '60 s', NULL, 511, gen_random_uuid()) AS a};
like(coordinate($old_question), qr/^(?:128|256|384)\|/, 'a server from before ranges gets the first node of one');

# A coordinator that was not updated says no number: a server has one node of it.
$west->safe_psql('postgres', q{
	CREATE SCHEMA newer;
	ALTER FUNCTION flakeid.lease_acquire(text, text, interval, int4, int4, uuid) SET SCHEMA newer;
	CREATE FUNCTION flakeid.lease_acquire(realm text, holder text, ttl interval, INOUT node int4 DEFAULT NULL, max_node int4 DEFAULT NULL,
		INOUT token uuid DEFAULT NULL, OUT lease_start timestamptz, OUT lease_end timestamptz) LANGUAGE sql AS $$
		SELECT a.node, a.token, a.lease_start, a.lease_end FROM newer.lease_acquire($1, $2, $3, $4, $5, $6) AS a $$;
	SELECT flakeid.lease_realm_set('default', lease_nodes => 1)});
my $newer = generator('newer', $west);
is(error_of($newer), '', 'a coordinator from before ranges gives one node');
like(error_of($newer, "SET flakeid.node = 'auto(2)'; SELECT flake_next()"), qr/flakeid\.node is auto\(2\), and a lease has one node/, 'and no more');

$_->stop for $server, @regions, $newer, $west, $coordinator;
done_testing();
