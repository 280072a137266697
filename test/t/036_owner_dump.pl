# The dump of a database's owner, who is no superuser, restores with exit status 0 in every way: the rows are there, and what he may
# not set is left out with a warning that holds the call (pg_restore shows it with --verbose). Nobody fills a table or raises the horizon through what makes that work.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN CREATEDB; CREATE ROLE stranger LOGIN');
my $dir = PostgreSQL::Test::Utils::tempdir();
my @as = ('-h', $node->host, '-p', $node->port, '-U', 'owner');
sub as { my ($database, $sql) = @_; return scalar $node->safe_psql($database, $sql, extra_params => [ '-U', 'owner' ]) }

# Databases to dump, of each set of extensions: with ids, and that partition tables or hand out leases too.
my @databases = qw(plain leases tables three);
as('postgres', "CREATE DATABASE $_") for @databases;
as($_, q{CREATE EXTENSION flakeid; CREATE TABLE t (id flake PRIMARY KEY DEFAULT flake_next(), n int); INSERT INTO t (n) SELECT generate_series(1, 100)})
  for @databases;
as($_, 'CREATE EXTENSION flakeid_coordinator') for 'leases', 'three';
as($_, "CREATE EXTENSION flakeid_tables; CALL flakeid.partition('t', '1 month', keep => '1 year')") for 'tables', 'three';
$node->safe_psql('leases', q{SELECT flakeid.lease_realm_set('shop', 64, '30 s', '5 s'); SELECT flakeid.lease_acquire('shop', 'me', '10 s')});
$node->safe_psql($_, q{SELECT flakeid.raise_horizon(now() + '1 hour')}) for @databases;

my $realms = 'SELECT * FROM flakeid.lease_realm ORDER BY realm';

my $made = 0;
sub restored
{
	my ($from, $dump, @restore) = @_;
	$made++;
	as('postgres', "CREATE DATABASE restored$made");
	my @dump = (@$dump, '-f', "$dir/$made");
	command_ok([ 'pg_dump', @as, @dump, $from ], "pg_dump @$dump $from");
	my ($out, $err);
	my $good = IPC::Run::run([ map { s/^DUMP$/$dir\/$made/r } @restore, @as, '-d', "restored$made", $restore[0] eq 'pg_restore' ? "$dir/$made" : () ],
		'<', \undef, '>', \$out, '2>', \$err);
	ok($good, "@restore: exit status 0") or diag $err;
	is(as("restored$made", 'SELECT count(*), count(DISTINCT id) FROM t'), '100|100', 'all rows');
	my ($hint) = $err =~ /WARNING:  the horizon of the dump is left out.*?HINT:  (SELECT flakeid\.raise_horizon\(.*?\);)/s;
	ok($hint, 'the warning says what to call') or diag $err;
	is($node->safe_psql("restored$made", q{SELECT count(*) FROM flakeid.restored}), '0', 'nothing is kept');
	is(as("restored$made", q{SELECT flake_timestamp(flake_next()) < now() + '1 min'}), 't', 'the horizon is not raised');
	$node->safe_psql("restored$made", $hint) if $hint;
	like(refusal($node, q{SET flakeid.when_ahead = 'error'; SELECT flake_next()}, database => "restored$made"), qr/ahead of the clock$/m, 'the call raises it') if $hint;
	return $err;
}
for my $from ('tables', 'three')
{
	my $declared = q{SELECT string_agg(partition::text, ' ' ORDER BY from_time) FROM flakeid.partitions};
	for my $how ([ [], 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', 'DUMP' ], [ ['-Fc'], 'pg_restore', '-v', '--exit-on-error', '--no-owner' ])
	{
		restored($from, @$how);
		is(as("restored$made", $declared), as($from, $declared), 'the same partitions of the declared table');
		as("restored$made", 'CALL flakeid.maintain()');
		is(as("restored$made", 'SELECT count(*) FROM flakeid.partitions'), as($from, 'SELECT count(*) FROM flakeid.partitions'), 'which is looked after');
	}
}
my $of_leases;
for my $from ('plain', 'leases')
{
	restored($from, [], 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', 'DUMP');
	$of_leases = $made;
	restored($from, ['--no-owner'], 'psql', '-Xq1', '-v', 'ON_ERROR_STOP=1', '-f', 'DUMP');
	restored($from, ['-Fc'], 'pg_restore', '-v', '-1');
	restored($from, ['-Fc'], 'pg_restore', '-v', '--exit-on-error', '--no-owner');
	restored($from, [ '-Fd', '-j2' ], 'pg_restore', '-v', '-j2', '--exit-on-error');
	my $err = restored($from, ['-Ft'], 'pg_restore', '-v', '-1', '--no-owner');
	my @calls = $err =~ /(SELECT flakeid\.lease_realm_set\(.*?\);)/g;
	next if $from eq 'plain';
	$node->safe_psql("restored$made", $_) for @calls;
	is($node->safe_psql("restored$made", $realms), $node->safe_psql('leases', $realms), 'settings of realms: the warnings say what to call');
}

# A superuser's restore takes the horizon over, as ever.
command_ok([ 'createdb', '-h', $node->host, '-p', $node->port, 'whole' ], 'a database for a superuser');
command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-d', 'whole', '-f', "$dir/$of_leases" ], 'and his restore');
like(refusal($node, q{SET flakeid.when_ahead = 'error'; SELECT flake_next()}, database => 'whole'), qr/ahead of the clock$/m, 'begins past the horizon');
is($node->safe_psql('whole', $realms), $node->safe_psql('leases', $realms), 'and has the realms, which servers know by their ids');

# What makes it work opens nothing.
as('postgres', 'CREATE DATABASE attacked');
as('attacked', 'CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator');
my $horizon = $node->safe_psql('attacked', 'SELECT * FROM flakeid.state');
my $default = $node->safe_psql('attacked', $realms);
for my $user ('owner', 'stranger')
{
	$node->psql('attacked', $_, extra_params => [ '-U', $user ], on_error_stop => 0)
	  for q{INSERT INTO flakeid.restored VALUES ('plain horizon', 4000000000000000), ('lease hold', 172800), ('fingerprint of key 0', 5)},
	  "COPY flakeid.restored FROM STDIN;\nplain horizon\t4000000000000000\n\\.\n",
	  q{WITH r AS (INSERT INTO flakeid.restored VALUES ('plain horizon', 4000000000000000) RETURNING *) SELECT * FROM r},
	  q{INSERT INTO flakeid.restored VALUES ('plain horizon', 4000000000000000) ON CONFLICT DO NOTHING},
	  q{INSERT INTO flakeid.lease_realm VALUES ('mine', 1, 3, 0)}, q{INSERT INTO flakeid.lease_realm VALUES ('default', 1, 86400, 0) ON CONFLICT (realm) DO UPDATE SET nodes = 1},
	  q{SET session_replication_role = replica; INSERT INTO flakeid.restored VALUES ('plain horizon', 4000000000000000)},
	  'ALTER TABLE flakeid.restored DISABLE TRIGGER ALL', 'ALTER TABLE flakeid.lease_realm DISABLE TRIGGER ALL';
}
is($node->safe_psql('attacked', 'SELECT * FROM flakeid.state'), $horizon, 'the state is as it was');
is($node->safe_psql('attacked', "SELECT count(*) FROM flakeid.restored; $realms"), "0\n$default", 'and so are the tables');
# Who may only set what makes triggers rest is stopped by the constraint.
$node->safe_psql('attacked', 'GRANT SET ON PARAMETER session_replication_role TO stranger');
is(refusal($node, q{SET session_replication_role = replica; INSERT INTO flakeid.restored VALUES ('plain horizon', 4000000000000000)}, database => 'attacked', user => 'stranger'),
	'42501: permission denied for function restore', 'without triggers it is an error');
$node->psql('attacked', q{SET session_replication_role = replica; INSERT INTO flakeid.lease_realm VALUES ('mine', 1, 3, 0)}, extra_params => [ '-U', 'stranger' ]);
is($node->safe_psql('attacked', $realms), $default, 'nor is a realm made');

$node->stop;
done_testing();
