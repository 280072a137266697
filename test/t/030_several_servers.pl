# A server that is one of several, as its catalogs tell, makes no ids with a node that was left to chance.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $never_set = 'this server is one of several, and flakeid.node was never set';
my $same_ids = 'Servers with the same node make the same ids, and a server that was never given one has node 0.';
my $own = q{On each server, with a number for N that no other server has: LOAD 'flakeid'; ALTER SYSTEM SET flakeid.node = N; SELECT pg_reload_conf();};
my $citus_line = q{LOAD 'flakeid'; ALTER SYSTEM SET flakeid.node = 'citus'; SELECT pg_reload_conf();};
my $citus = "On every server: $citus_line";

my $server = server('several', 'wal_level = logical', 'max_wal_senders = 5', 'allow_system_table_mods = on');

# What drawing says to a client: warnings and errors.
sub said
{
	my ($sql) = @_;
	my (undef, undef, $said) = $server->psql('postgres', $sql, on_error_stop => 0);
	$said =~ s/^(?:psql:<stdin>:\d+: )//gm;
	return $said;
}

# Waits until new sessions have the node from there.
sub reloaded
{
	my ($source) = @_;
	$server->poll_query_until('postgres', "LOAD 'flakeid'; SELECT source FROM pg_settings WHERE name = 'flakeid.node'", "LOAD\n$source") or die $source;
	return;
}

# A line of a hint, as an administrator pastes it into the session that it was shown to.
sub pasted
{
	my ($line) = @_;
	$server->safe_psql('postgres', "LOAD 'flakeid';\n" . join("\n", map { "$_;" } split /; */, $line));
	reloaded('configuration file');
	return;
}

sub unset
{
	$server->safe_psql('postgres', "LOAD 'flakeid'; ALTER SYSTEM RESET flakeid.node; SELECT pg_reload_conf()");
	reloaded('default');
	return;
}

is(said('SELECT flake_next()'), '', 'a lone server needs no node');

#
# Published: others may have the rows, but nobody else's rows come here yet. A warning, once a session.
#
$server->safe_psql('postgres', 'CREATE TABLE shared (id flake PRIMARY KEY DEFAULT flake_next()); CREATE PUBLICATION everything FOR TABLE shared');
my $warning = said(q{SELECT flake_next(); SELECT flake_next('sonyflake')});
is($warning, "WARNING:  this database is published, and flakeid.node was never set\n"
	  . "DETAIL:  When it has a subscription too, it makes no ids until flakeid.node is set.\n"
	  . "HINT:  $own", 'a published database: one warning in a session');
is(said("SET flakeid.node = $_; SELECT flake_next()"), '', "none with node $_") for 0, 1;

#
# A subscription: an error, in sessions that make ids already too
#
my $running = $server->background_psql('postgres', on_error_stop => 0);
like($running->query('SELECT flake_next() > 0'), qr/^t$/m, 'a session makes ids');
$server->safe_psql('postgres', q{CREATE DATABASE elsewhere});
$server->safe_psql('elsewhere', 'CREATE EXTENSION flakeid');
$server->safe_psql('postgres', q{CREATE SUBSCRIPTION "From there" CONNECTION 'dbname=nowhere' PUBLICATION p WITH (connect = false, slot_name = NONE)});
my $refused = "55000: $never_set\ndetail: Database \"postgres\" has subscription \"From there\". $same_ids\nhint: $own";
is(refusal($server, 'SELECT flake_next()'), $refused, 'a subscription');
is(refusal($server, $_), $refused, "also: $_") for 'INSERT INTO shared DEFAULT VALUES', q{SELECT flake_next('tsid')}, 'SELECT flake_block(2)', 'SELECT flake_next_many(2)';
$running->{stderr} = '';
$running->query('SELECT flake_next() > 0');
like($running->{stderr}, qr/ERROR:  \Q$never_set/, 'the running session stops as well');
is(refusal($server, 'SELECT flake_next()', database => 'elsewhere'), '', 'other databases go on');
is($server->safe_psql('postgres', "SELECT value FROM flakeid.status WHERE name = 'can generate'"), "no: $never_set", 'flakeid.status says so');
is(refusal($server, 'SELECT flake_timestamp(1)'), '', 'reading needs no node');
pasted($own =~ s/.*?: //r =~ s/= N;/= 1;/r);
is($server->safe_psql('postgres', 'SELECT flake_node(flake_next())'), '1', 'the line pasted');
$running->{stderr} = '';
is($running->query('SELECT flake_node(flake_next())'), '1', 'the running session goes on with it');
is($running->{stderr}, '', 'and says nothing');
pasted($own =~ s/.*?: //r =~ s/= N;/= 0;/r);
is($server->safe_psql('postgres', 'SELECT flake_node(flake_next())'), '0', 'or with the number that it had');
unset();
is(refusal($server, 'SELECT flake_next()'), $refused, 'unset again');
is($server->safe_psql('postgres', 'ALTER DATABASE postgres SET flakeid.node = 7; SELECT 1'), '1', 'a subscriber may have it set for the database');
is($server->safe_psql('postgres', 'SELECT flake_node(flake_next())'), '7', 'which belongs to this server alone');
is($server->safe_psql('postgres', 'ALTER DATABASE postgres SET flakeid.node = 0; SELECT 1'), '1', 'to go back to the default is said once');
is($server->safe_psql('postgres', 'SELECT flake_node(flake_next())'), '0', 'and remembered');
$server->safe_psql('postgres', 'ALTER DATABASE postgres RESET flakeid.node; DROP SUBSCRIPTION "From there"');
unlike(said('SELECT flake_next()'), qr/ERROR/, 'it is a lone server again');
like($running->query('SELECT flake_next() > 0'), qr/^t$/m, 'in the running session too');
$server->safe_psql('postgres', 'DROP PUBLICATION everything');

#
# An extension with which several servers write the same tables
#
my $extensions = $server->config_data('--sharedir') . '/extension';
for my $name ('spock', 'bdr')
{
	my $comment = 'stand-in of a test';
	SKIP:
	{
		skip "this server has $name", 3 if -e "$extensions/$name.control";
		write_file("$extensions/$name.control", "comment = '$comment'\ndefault_version = '1'\nschema = '$name'\nrelocatable = false\n", 0644);
		write_file("$extensions/$name--1.sql", "CREATE TABLE $name.node (id int);\n", 0644);
		my $created = refusal($server, "CREATE EXTENSION $name");
		unlink "$extensions/$name.control", "$extensions/$name--1.sql";
		die $created if $created ne '';
		my $with = "55000: $never_set\ndetail: Database \"postgres\" has extension $name. $same_ids\nhint: $own";
		is(refusal($server, 'SELECT flake_next()'), $with, "extension $name");
		$running->{stderr} = '';
		$running->query('SELECT flake_next() > 0');
		like($running->{stderr}, qr/ERROR:  \Q$never_set/, 'in a session that made ids before too');
		$server->safe_psql('postgres', "DROP EXTENSION $name");
		like($running->query('SELECT flake_next() > 0'), qr/^t$/m, 'until it is dropped');
	}
}

#
# What replicates without a subscription: an origin that is none's, and a slot of a system with which several servers write. Those
# who only read make no ids. The slot's plugin is a stand-in.
#
$server->safe_psql('postgres', q{SELECT pg_replication_origin_create('pgl_shop_west')});
my $with_origin = "55000: $never_set\ndetail: The server has replication origin \"pgl_shop_west\", which is no subscription's. $same_ids\nhint: $own";
is(refusal($server, 'SELECT flake_next()', database => $_), $with_origin, "an origin, in database $_") for 'postgres', 'elsewhere';
$running->{stderr} = '';
$running->query('SELECT flake_next() > 0');
like($running->{stderr}, qr/ERROR:  \Q$never_set/, 'in a session that made ids before too');
$server->safe_psql('postgres', q{SELECT pg_replication_origin_drop('pgl_shop_west')});
like($running->query('SELECT flake_next() > 0'), qr/^t$/m, 'until it is dropped');

my $plugins = PostgreSQL::Test::Utils::tempdir();
my $decoding = $server->config_data('--pkglibdir') . '/test_decoding.so';
SKIP:
{
	skip 'this server has no test_decoding', 4 if !-e $decoding;
	copy($decoding, "$plugins/pglogical_output.so") or die;
	my $listed = $server->safe_psql('postgres', q{SELECT 'SET output_plugin_libraries = test_decoding, pglogical_output;' FROM pg_settings WHERE name = 'output_plugin_libraries'});
	my $make = sub { my ($plugin) = @_; return $server->safe_psql('postgres', "SET dynamic_library_path = '$plugins:\$libdir'; $listed SELECT slot_name FROM pg_create_logical_replication_slot('words', '$plugin')") };
	is($make->('test_decoding'), 'words', 'a slot of somebody who reads');
	unlike(said('SELECT flake_next()'), qr/ERROR/, 'is no other server');
	$server->safe_psql('postgres', q{SELECT pg_drop_replication_slot('words')});
	$make->('pglogical_output');
	is(refusal($server, 'SELECT flake_next()'), "55000: $never_set\ndetail: Database \"postgres\" has replication slot \"words\" of pglogical_output. $same_ids\nhint: $own", 'a slot of pglogical');
	unlike(refusal($server, 'SELECT flake_next()', database => 'elsewhere'), qr/slot/, 'says nothing of other databases');
	$server->safe_psql('postgres', q{SELECT pg_drop_replication_slot('words')});
}
$running->quit;

#
# Citus: stand-ins for the tables that name the servers of a cluster
#
my $no_group = q{55000: this host has no node number
detail: flakeid.node is citus, which takes the group that Citus gave this server, and };
is(refusal($server, q{SET flakeid.node = 'citus'; SELECT flake_next()}),
	qq{${no_group}database "postgres" has no extension citus.\nhint: Set flakeid.node to a number.}, 'no Citus: no group');
$server->safe_psql('postgres', q{
	CREATE TABLE pg_catalog.pg_dist_local_group (groupid int PRIMARY KEY);
	CREATE TABLE pg_catalog.pg_dist_node (nodeid int, groupid int, nodename text, nodeport int, noderole text);
	INSERT INTO pg_dist_local_group VALUES (0)});

# This server's group, and the groups of all servers: what a node that was never set, set for the
# database, and taken from Citus give.
my $distributed = "55000: $never_set\ndetail: Database \"postgres\" is distributed by Citus. $same_ids\nhint: $citus";
my $everywhere = "55000: flakeid.node is a number set for a database or role, and this server is one of a Citus cluster\n"
  . "detail: Citus carries ALTER DATABASE and ALTER ROLE to every server, and servers with the same node make the same ids.\n"
  . 'hint: Once: ALTER DATABASE postgres RESET flakeid.node; or ALTER ROLE. ' . $citus;
my $not_joined = "${no_group}it has joined no cluster yet: run citus_set_coordinator_host() on a coordinator, or citus_add_node() there for a worker.\n"
  . 'hint: Set flakeid.node to a number.';
my @clusters = (
	# group, groups of all, and what is made of: unset, 7 for the database, citus
	[ 'a server that has joined nobody', 0, [], 0, 7, $not_joined ],
	[ 'a cluster of one', 0, [0], 0, 7, 0 ],
	[ 'one of one, with standbys', 0, [ 0, 0, 0 ], 0, 7, 0 ],
	[ 'a coordinator that is not among its workers', 0, [1], $distributed, $everywhere, 0 ],
	[ 'a coordinator among its workers', 0, [ 0, 1, 2 ], $distributed, $everywhere, 0 ],
	[ 'a worker that knows the others', 2, [ 0, 1, 2 ], $distributed, $everywhere, 2 ],
	[ 'a worker that knows no others', 3, [], $distributed, $everywhere, 3 ],
	[ 'the last node of the layout', 1023, [0], $distributed, $everywhere, 1023 ],
	[ 'past the last node of the layout', 1024, [0], $distributed, $everywhere,
		"22003: node 1024 is out of range for layout \"snowflake\"\ndetail: Its nodes are 0 to 1023.\n"
		  . 'hint: Set flakeid.node to a node of the layout, or use a layout with a wider node field.' ]);

my $alone = "WARNING:  this database is of a Citus cluster of one server, and flakeid.node was never set\n"
  . "DETAIL:  When another server joins, this one makes no ids until flakeid.node is set.\n"
  . "HINT:  Run now: $citus_line";

sub made
{
	my (%params) = @_;
	my $refusal = refusal($server, 'SELECT flake_next()', %params);
	return $refusal ne '' ? $refusal : $server->safe_psql('postgres', 'SELECT flake_node(flake_next())', $params{user} ? (extra_params => [ '-U', $params{user} ]) : ());
}
$server->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN; CREATE ROLE shard LOGIN; REVOKE ALL ON pg_dist_local_group, pg_dist_node FROM PUBLIC');

# A database that remembers that it was given a node goes back to the default when it was told so.
sub default_again
{
	$server->safe_psql('postgres', 'UPDATE pg_dist_local_group SET groupid = 0; TRUNCATE pg_dist_node; ALTER DATABASE postgres SET flakeid.node = 0');
	is(made(), '0', 'told to have node 0');
	return $server->safe_psql('postgres', 'ALTER DATABASE postgres RESET flakeid.node');
}
for my $cluster (@clusters)
{
	my ($what, $group, $groups, $unset, $of_database, $of_citus) = @$cluster;
	default_again();
	$server->safe_psql('postgres', "UPDATE pg_dist_local_group SET groupid = $group; TRUNCATE pg_dist_node");
	$server->safe_psql('postgres', "INSERT INTO pg_dist_node VALUES (1, $_, 'host', 5432, 'primary')") for @$groups;
	is(made(user => 'ordinary'), $unset, "$what: unset");
	is(said('SELECT flake_next()'), $alone, "$what: which is told in time") if $unset eq 0;
	$server->safe_psql('postgres', 'ALTER DATABASE postgres SET flakeid.node = 7');
	is(made(user => 'ordinary'), $of_database, "$what: 7 for the database");
	$server->safe_psql('postgres', q{ALTER DATABASE postgres SET flakeid.node = 'citus'});
	is(made(user => 'ordinary'), $of_citus, "$what: citus, for the database");
	$server->safe_psql('postgres', 'ALTER DATABASE postgres RESET flakeid.node');
}
$server->safe_psql('postgres', q{UPDATE pg_dist_local_group SET groupid = 4; ALTER ROLE shard SET flakeid.node = 9;
	ALTER ROLE ordinary IN DATABASE postgres SET flakeid.node = '8-15'});
is(made(user => $_), $everywhere, "a node set for role $_") for 'shard', 'ordinary';
$server->safe_psql('postgres', q{ALTER ROLE ALL SET flakeid.node = 9; ALTER ROLE ordinary IN DATABASE postgres RESET flakeid.node});
is(made(user => 'ordinary'), $everywhere, 'a node set for all roles');
$server->safe_psql('postgres', 'ALTER ROLE ALL RESET flakeid.node');
is(said('SET flakeid.node = 0; SELECT flake_next()'), '', 'a session that sets it accepts');
pasted($citus =~ s/.*?: //r);
is(made(user => 'ordinary'), '4', 'the line pasted: the group of this server');
is(made(user => 'shard'), $everywhere, 'but a node set for a role goes before it');

# What Citus changes is noticed by sessions that make ids: it tells of its tables as a change of them does.
$running = $server->background_psql('postgres', on_error_stop => 0);
is($running->query('SELECT flake_node(flake_next())'), '4', 'a session makes ids of group 4');
$server->safe_psql('postgres', "UPDATE pg_dist_local_group SET groupid = 5; COMMENT ON TABLE pg_dist_local_group IS ''; ALTER TABLE pg_dist_local_group SET (fillfactor = 90)");
is($running->query('SELECT flake_node(flake_next())'), '5', 'of group 5, when the server gets another one');
$running->quit;
unset();
default_again();
$server->safe_psql('postgres', q{UPDATE pg_dist_local_group SET groupid = 0; TRUNCATE pg_dist_node; INSERT INTO pg_dist_node VALUES (1, 0, 'host', 5432, 'primary')});
$running = $server->background_psql('postgres', on_error_stop => 0);
is($running->query('SELECT flake_node(flake_next())'), '0', 'a session makes ids in a cluster of one');
$server->safe_psql('postgres', q{INSERT INTO pg_dist_node VALUES (2, 1, 'other', 5432, 'primary'); ALTER TABLE pg_dist_node SET (fillfactor = 90)});
$running->{stderr} = '';
$running->query('SELECT flake_next()');
like($running->{stderr}, qr/ERROR:  \Q$never_set/, 'and none when another server joins');
$running->quit;

#
# A clone of Citus: a standby that is promoted has its original's group until Citus gives it one of its own.
#
$server->safe_psql('postgres', q{ALTER TABLE pg_dist_node ADD nodeisclone bool NOT NULL DEFAULT false, ADD nodeprimarynodeid int NOT NULL DEFAULT 0;
	UPDATE pg_dist_local_group SET groupid = 2; TRUNCATE pg_dist_node;
	INSERT INTO pg_dist_node VALUES (1, 0, 'host', 5432, 'primary', false, 0), (7, 2, 'host', 5433, 'primary', false, 0), (8, 3, 'host', 5434, 'unavailable', true, 7)});
pasted($citus =~ s/.*?: //r);
is(made(), '2', 'a server that has a clone makes ids of its group');
$server->backup('clone');
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($server, 'clone', has_streaming => 1);
$clone->start;
is(made(), '2', 'also while it streams');
$server->wait_for_catchup($clone);
$clone->promote;
like(refusal($clone, 'SELECT flake_next()'), qr/^55000: the group that Citus gave may be that of another server\ndetail: Citus knows a clone of the server of group 2, and this may be the clone: it made no ids of this database since it was promoted\.\nhint: If it is the clone, wait/,
	'the clone, promoted, makes none');
is($clone->safe_psql('postgres', q{SELECT problem ~ 'this may be the clone' FROM flakeid.nodes()}), 't', 'which flakeid.nodes() tells');
is(made(), '2', 'the original goes on');
$clone->safe_psql('postgres', 'UPDATE pg_dist_local_group SET groupid = 3; UPDATE pg_dist_node SET nodeisclone = false, nodeprimarynodeid = 0 WHERE nodeid = 8');
is($clone->safe_psql('postgres', 'SELECT flake_node(flake_next())'), '3', 'with a group of its own it makes ids');
# It is on the second timeline, and made ids there: it knows that it is no clone of itself.
$clone->safe_psql('postgres', q{INSERT INTO pg_dist_node VALUES (9, 4, 'host', 5435, 'unavailable', true, 8)});
is($clone->safe_psql('postgres', 'SELECT flake_node(flake_next())'), '3', 'and has a clone itself');
$clone->restart;
is($clone->safe_psql('postgres', 'SELECT flake_node(flake_next())'), '3', 'after a restart too');
$clone->stop;
$server->stop;

done_testing();
