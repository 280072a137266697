# flakeid.nodes(): which server has which node, and what is wrong with it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $one = PostgreSQL::Test::Cluster->new('one');
$one->init(allows_streaming => 'logical');
$one->append_conf('postgresql.conf', "flakeid.node = 1\n");
$one->start;
$one->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my $two = server('two', 'wal_level = logical');

my $snowflake = $one->safe_psql('postgres', q{SELECT layout_text FROM flakeid.describe('snowflake')});
my $tsid = $one->safe_psql('postgres', q{SELECT layout_text FROM flakeid.describe('tsid')});

# Rows of flakeid.nodes: nodes, setting, standby, problem, with the names of servers in the place of
# what they call themselves. A machine that stalls may leave a server no time to answer: then another time.
sub nodes
{
	my ($server, $conninfos, %params) = @_;
	my $of = defined $conninfos ? 'ARRAY[' . join(', ', map { "'$_'" } @$conninfos) . ']::text[]' : '';
	my @params = $params{user} ? (extra_params => [ '-U', $params{user} ]) : ();
	my $rows;
	for (1 .. 10)
	{
		$rows = $server->safe_psql('postgres', "SELECT server, nodes, setting, standby, problem FROM flakeid.nodes($of)", @params);
		last if $rows !~ /it did not answer in time/;
	}
	for my $known (@{ $params{known} // [ $one, $two ] })
	{
		my ($port, $name) = ($known->port, $known->name);
		$rows =~ s/[\w.-]+:$port $name\b/$name/g;
	}
	return $rows;
}

# The setting in the configuration file
sub configure
{
	my ($server, $line) = @_;
	$server->append_conf('postgresql.conf', "$line\n");
	$server->restart;
	return;
}
my ($to_one, $to_two) = map { $_->connstr('postgres') =~ s/'/''/gr } $one, $two;

is(nodes($one), 'one|1|1|f|', 'a lone server');
is($one->safe_psql('postgres', 'SELECT layout FROM flakeid.nodes()'), $snowflake, 'with the layout in its normal text');
is(nodes($two), 'two|0|0|f|', 'one whose node was never set');
is(nodes($one, [$to_two]), "one|1|1|f|\ntwo|0|0|f|flakeid.node was never set", 'two: it is told');
is(nodes($two, [$to_one]), "two|0|0|f|flakeid.node was never set\none|1|1|f|", 'from the other side too');
is(nodes($one, [ $to_one, $to_two, $to_two ]), "one|1|1|f|\ntwo|0|0|f|flakeid.node was never set", 'a server that is known twice is one');
configure($two, 'flakeid.node = 1');
is(nodes($one, [$to_two]), "one|1|1|f|the same node as two\ntwo|1|1|f|the same node as one", 'twins');
configure($two, q{flakeid.node = '0-3'});
is(nodes($one, [$to_two]), "one|1|1|f|the same node as two\ntwo|0-3|0-3|f|the same node as one", 'a node inside a span');
configure($two, q{flakeid.node = '2-2147483647'});
is(nodes($one, [$to_two]), "one|1|1|f|\ntwo|2-2147483647|2-2147483647|f|", 'one outside');
configure($two, qq{flakeid.node = 2\nflakeid.layout = 'tsid'});
is(nodes($one, [$to_two]), "one|1|1|f|\ntwo|2|2|f|another flakeid.layout than one", 'another layout');
ok($one->poll_query_until('postgres', "SELECT layout FROM flakeid.nodes(ARRAY['$to_two']) OFFSET 1", $tsid), 'which is told');
configure($two, qq{flakeid.node = 'auto'\nflakeid.layout = 'snowflake'});
like(nodes($one, [$to_two]), qr/^two\|\|auto\|f\|flakeid\.node is auto, which is for servers with a coordinator/m, 'a server without a node');
configure($two, 'flakeid.node = 2');

# A standby makes no ids, and has its primary's settings; promoted, it is a server like others.
$one->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($one, 'b', has_streaming => 1);
$standby->start;
my @known = (known => [ $one, $two, $standby ]);
my $to_standby = $standby->connstr('postgres');
is(nodes($one, [$to_standby =~ s/'/''/gr], @known), "one|1|1|f|\nstandby|1|1|t|", 'a standby');
$standby->promote;
is(nodes($one, [$to_standby =~ s/'/''/gr], @known), "one|1|1|f|the same node as standby\nstandby|1|1|f|the same node as one", 'promoted while the primary goes on: twins');
$standby->stop;

# What cannot be told is told
like(nodes($one, [$to_standby =~ s/'/''/gr]), qr/^one\|1\|1\|f\|\nconnection 1\|\|\|f\|connection to server .* failed/, 'a server that is not there');
like(nodes($one, ['host=x nonsense']), qr/^connection 1\|\|\|f\|missing "=" after "nonsense"/m, 'a connection string that is none');
$two->safe_psql('postgres', 'CREATE DATABASE bare');
like(nodes($one, [ $two->connstr('bare') =~ s/'/''/gr ]), qr/^connection 1\|\|\|f\|schema "flakeid" does not exist$/m, 'a database without the extension');
$two->safe_psql('bare', 'CREATE SCHEMA flakeid');
my %lie = (
	q{'no JSON'} => 'it gave an answer that is none', q{'[1]'} => 'it gave an answer that is none', q{'7'} => 'it gave an answer that is none',
	q{'{"nodes": "x"}'} => 'it gave an answer that is none', q{'{"nodes": "5-3"}'} => 'it gave an answer that is none',
	q{'{"nodes": "99999999999999999999"}'} => 'it gave an answer that is none', q{NULL} => 'it gave an answer that is none',
	q{repeat('x', 10000)} => 'it gave an answer that is none', q{'{"nodes": "1"}'} => 'the same node as one', q{'{}'} => '');
for my $lie (sort keys %lie)
{
	$two->safe_psql('bare', "CREATE OR REPLACE FUNCTION flakeid.node_report(oid) RETURNS text LANGUAGE sql AS \$\$ SELECT $lie \$\$");
	my ($row) = nodes($one, [ $two->connstr('bare') =~ s/'/''/gr ]) =~ /^connection 1\|.*\|(.*)$/m;
	is($row, $lie{$lie}, "a server that answers $lie");
}

# Whoever owns a database there makes nobody run what is his.
$two->safe_psql('bare', q{CREATE ROLE owner; GRANT ALL ON SCHEMA flakeid TO owner; CREATE TABLE ran (n int); GRANT ALL ON ran TO owner;
	CREATE OR REPLACE FUNCTION flakeid.node_report(oid) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN INSERT INTO public.ran VALUES (1); RETURN '{}'; END $$;
	ALTER FUNCTION flakeid.node_report(oid) OWNER TO owner});
like(nodes($one, [ $two->connstr('bare') =~ s/'/''/gr ]), qr/^connection 1\|\|\|f\|it gave an answer that is none$/m, 'a function of somebody else');
is($two->safe_psql('bare', 'SELECT count(*) FROM ran'), '0', 'is not run');

# Subscriptions are known by themselves.
$one->safe_psql('postgres', 'CREATE PUBLICATION p');
$two->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$to_one' PUBLICATION p");
is(nodes($two), "two|2|2|f|\none|1|1|f|", 'the server that a subscription comes from');
configure($two, 'flakeid.node = 1');
is(nodes($two), "two|1|1|f|the same node as one\none|1|1|f|the same node as two", 'and the same node there');

$two->safe_psql('postgres', 'CREATE ROLE subscriber SUPERUSER; ALTER SUBSCRIPTION s OWNER TO subscriber; ALTER ROLE subscriber NOSUPERUSER');
is(nodes($two), 'two|1|1|f|', 'the server that an ordinary role names is not asked');
$two->safe_psql('postgres', 'ALTER SUBSCRIPTION s OWNER TO CURRENT_USER');

# Who may ask whom
$two->safe_psql('postgres', 'CREATE ROLE monitor LOGIN IN ROLE pg_monitor; CREATE ROLE ordinary LOGIN');
is(nodes($two, undef, user => 'monitor'), nodes($two), 'pg_monitor is told of the servers that are known');
is(refusal($two, 'SELECT flakeid.nodes(ARRAY[$$host=/tmp$$])', user => 'monitor'), '42501: permission denied for function nodes', 'and sends nobody anywhere');
is(refusal($two, "SELECT $_", user => 'ordinary'), '42501: permission denied for function ' . ($_ =~ /^(?:flakeid\.)?(\w+)/)[0], "others: not $_")
  for 'flakeid.nodes()', 'flakeid.nodes(ARRAY[$$x$$])', 'flakeid.nodes(ARRAY[$$x$$])', 'flakeid.ask_node($$x$$)';
$two->safe_psql('postgres', 'ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s');

$_->stop for $one, $two;
done_testing();
