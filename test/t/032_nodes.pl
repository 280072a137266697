# flakeid.nodes(): the nodes of this server, where the setting came from, and what else can make ids for the same tables.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('one');
$node->init(allows_streaming => 'logical');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE ROLE monitor LOGIN IN ROLE pg_monitor; CREATE ROLE ordinary LOGIN');

sub nodes
{
	my ($of, $sql) = @_;
	return $of->safe_psql('postgres', ($sql // '') . 'SELECT first_node, last_node, setting, source, standby, others, problem FROM flakeid.nodes()');
}
sub configure
{
	my ($line) = @_;
	$node->append_conf('postgresql.conf', "$line\n");
	$node->restart;
	return;
}
my $subscription = 'Database "postgres" has subscription "s".';

is(nodes($node), '0|0|0|default|f||', 'a server that was never given a node');
like($node->safe_psql('postgres', 'SELECT server FROM flakeid.nodes()'), qr/:@{[ $node->port ]} one$/, 'what it calls itself');
is($node->safe_psql('postgres', 'SELECT layout FROM flakeid.nodes()'), $node->safe_psql('postgres', q{SELECT layout_text FROM flakeid.describe('snowflake')}), 'its layout');
$node->safe_psql('postgres', q{CREATE SUBSCRIPTION s CONNECTION 'dbname=nothing' PUBLICATION p WITH (connect = false)});
is(nodes($node), "0|0|0|default|f|$subscription|flakeid.node was never set", 'beside another server');
is(nodes($node, 'SET flakeid.node = 7; '), "7|7|7|session|f|$subscription|", 'a node of the session');
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET flakeid.node = 8');
is(nodes($node), "8|8|8|database|f|$subscription|", 'a node of the database');
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET flakeid.node');
configure(q{flakeid.node = '2-2147483647'});
is(nodes($node), "2|2147483647|2-2147483647|configuration file|f|$subscription|", 'a span of the configuration file');
configure(q{flakeid.node = 'auto'});
is(nodes($node), "||auto|configuration file|f|$subscription|flakeid.node is auto, which is for servers with a coordinator, and flakeid.coordinator is empty.",
	'a setting that gives no node');
$node->safe_psql('postgres', 'ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s');

# A standby makes no ids, and has its primary's settings.
configure('flakeid.node = 5');
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
is(nodes($standby), '5|5|5|configuration file|t||', 'a standby');
$standby->promote;
is(nodes($standby), nodes($node), 'promoted: the same node as its primary');
$standby->stop;

is($node->safe_psql('postgres', 'SELECT first_node FROM flakeid.nodes()', extra_params => [ '-U', 'monitor' ]), '5', 'pg_monitor may ask');
is(refusal($node, 'SELECT flakeid.nodes()', user => 'ordinary'), '42501: permission denied for function nodes', 'others may not');
$node->stop;
done_testing();
