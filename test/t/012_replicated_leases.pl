# Servers that publish everything to each other, lease tables included: what arrives changes no lease
# and stops no subscription. In both directions, for all tables and for schemas.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @node = map {
	my $node = PostgreSQL::Test::Cluster->new($_);
	$node->init(allows_streaming => 'logical', extra => ['--no-instructions']);    # not a copy: with an identity of its own
	$node->start;
	# Both hand out leases of the same nodes, under different rules.
	$node->safe_psql('postgres', "CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator; CREATE TABLE theirs (id int PRIMARY KEY, n int);
		SELECT flakeid.lease_realm_set('default', max_ttl => '" . ($_ eq 'one' ? 1 : 2) . " h')");
	$node
} qw(one two);

sub sql { my ($node, $sql) = @_; return scalar $node->safe_psql('postgres', $sql) }
sub acquire { my ($node, $holder) = @_; return sql($node, "SELECT node, token FROM flakeid.lease_acquire('default', '$holder', '1 h')") }
my $state = "SELECT 'realm', r::text FROM flakeid.lease_realm AS r UNION ALL SELECT 'node', n::text FROM flakeid.lease_node AS n
	UNION ALL SELECT 'history', h::text FROM flakeid.lease_history AS h ORDER BY 1, 2";

# Leases of before the subscription arrive by its copy, those of after one by one.
my %token = map { $_->name => (split /\|/, acquire($_, $_->name . ' early'))[1] } @node;
my $round = 0;
for my $what ('ALL TABLES', 'TABLES IN SCHEMA public, flakeid')
{
	for my $from (@node)
	{
		my $to = $from == $node[0] ? $node[1] : $node[0];
		my $case = "$what, from " . $from->name;
		my $before = sql($to, $state);
		sql($from, "CREATE PUBLICATION everything FOR $what");
		my $where = $from->connstr('postgres') =~ s/'/''/gr;
		sql($to, "CREATE SUBSCRIPTION everything CONNECTION '$where' PUBLICATION everything");
		$to->wait_for_subscription_sync($from, 'everything');
		is(sql($to, $state), $before, "$case: nothing of the copy stays");

		# Every kind of change, of rows that are there too, and one of a table of the user's own behind it.
		$round++;
		acquire($from, $case);
		sql($from, "SELECT flakeid.lease_renew('$token{ $from->name }', '1 h')");
		sql($from, "SELECT flakeid.lease_release(token, lease_start) FROM flakeid.lease_acquire('default', 'given back', '1 h')");
		sql($from, "SELECT flakeid.lease_realm_set('default', max_skew => '$round s');
			SELECT flakeid.lease_realm_set('gone'); DELETE FROM flakeid.lease_realm WHERE realm = 'gone'");
		sql($from, "INSERT INTO theirs VALUES ($round)");
		ok(wait_until(sub { sql($to, "SELECT count(*) FROM theirs WHERE id = $round") == 1 }), "$case: other tables arrive");
		is(sql($to, $state), $before, 'and leases are as they were');
		is(sql($to, "SELECT flakeid.lease_renew('$token{ $to->name }', '1 h') > now()"), 't', 'and can be renewed');
		is(sql($to, q{SELECT sum(n.value::int) FROM pg_stat_subscription_stats AS s, jsonb_each_text(to_jsonb(s)) AS n WHERE n.key ~ 'error_count$'}),
			0, 'the subscription met no error');

		# A TRUNCATE comes through; nothing is handed out until whatever was leased has ended.
		if ($round == 4)
		{
			sql($from, 'TRUNCATE flakeid.lease_node, flakeid.lease_history; INSERT INTO theirs VALUES (99)');
			ok(wait_until(sub { sql($to, 'SELECT count(*) FROM theirs WHERE id = 99') == 1 }), 'a TRUNCATE stops no subscription');
			like(error_of($_, "SELECT flakeid.lease_acquire('default', 'after', '10 s')"), qr/hands out no leases before/, $_->name . ' rests after it')
			  for @node;
		}
		sql($to, 'DROP SUBSCRIPTION everything');
		sql($from, 'DROP PUBLICATION everything');
		sql($_, 'TRUNCATE theirs') for @node;
	}
}

# A dump carries the settings of realms, also into a session in the role of a replica.
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
sql($node[0], q{SELECT flakeid.lease_realm_set('default', lease_nodes => 16)});
$node[0]->command_ok([ 'pg_dump', '-f', $dump, $node[0]->connstr('postgres') ], 'dumped');
my $realms = sql($node[0], 'SELECT r::text FROM flakeid.lease_realm AS r');
for my $role (qw(origin replica))
{
	sql($node[0], "CREATE DATABASE restored_$role");
	local $ENV{PGOPTIONS} = "-c session_replication_role=$role";
	$node[0]->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node[0]->connstr("restored_$role") ], "restored in the role $role");
	is($node[0]->safe_psql("restored_$role", 'SELECT r::text FROM flakeid.lease_realm AS r'), $realms, 'with the settings of realms');
	is($node[0]->safe_psql("restored_$role", 'SELECT DISTINCT nodes, node % nodes FROM flakeid.lease_node'), '16|0', 'and their ranges, and no others');
}
$_->stop for @node;
done_testing();
