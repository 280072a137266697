# flakeid_libpq, the client of coordinators, is a library of its own: in whatever order it and flakeid are loaded, it is mapped where a
# coordinator is named, and only there. Where it is missing, or of another version, servers that name no coordinator go on, and one
# that names it makes no id and says what to install. A server that is its own coordinator passes pg_upgrade.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use Leases;
use File::Basename qw(dirname);
use File::Copy qw(copy move);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# An installation of its own, out of which the library can be taken.
my $bin = installation();
chomp(my $libraries = (run_command([ "$bin/pg_config", '--pkglibdir' ]))[0]);
my $library = "$libraries/flakeid_libpq.so";
my ($version) = slurp_file(source_dir() . '/flakeid.control') =~ /^default_version = '(.*)'$/m;

sub on_its_own { my ($name) = @_; return PostgreSQL::Test::Cluster->new($name, install_path => dirname($bin)) }
sub take_away { move($library, "$library.away") or die $!; return }
sub put_back { move("$library.away", $library) or die $!; return }

# What a server of either kind has in its configuration file
my $coordinator = coordinator('ids');
my %kind = (alone => 'flakeid.node = 5', leased => "flakeid.node = auto\nflakeid.coordinator = '" . conninfo($coordinator) . "'");
my $node = on_its_own('shop');
$node->init;
sub started
{
	my ($preloaded, $kind) = @_;
	$node->stop if -e $node->data_dir . '/postmaster.pid';
	write_file($node->data_dir . '/own.conf', "restart_after_crash = on\nshared_preload_libraries = '$preloaded'\n$kind{$kind}\n");
	$node->start;
	return;
}
$node->append_conf('postgresql.conf', "include = 'own.conf'");
started('', 'alone');
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

my $draw = 'SELECT flake_next() > 0';
my $mapped = q{SELECT count(*) FILTER (WHERE m ~ '/flakeid\.so$') > 0, count(*) FILTER (WHERE m ~ '/flakeid_libpq\.so$') > 0, count(*) FILTER (WHERE m ~ '/libpq\.so') > 0
	FROM regexp_split_to_table(pg_read_file('/proc/self/maps', 0, 1000000), '\n') AS m};
sub workers
{
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return map { /^ *(\d+) .*lease worker/ } `ps -o pid=,args= --ppid $postmaster`;
}

# Ends the lease worker, and with it all sessions; ids go on after that.
sub crashes
{
	my ($what) = @_;
	my $since = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
	my ($pid) = workers() or die 'there is no lease worker';
	my $length = -s $node->logfile;
	kill 'KILL', $pid or die "$pid: $!";
	$node->wait_for_log(qr/database system is ready to accept connections/, $length);
	ok(wait_until(sub { error_of($node) eq '' }), "$what: after kill -9 it makes ids");
	is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $since, 'under the same postmaster');
	return;
}

#
# Every order
#
for my $preloaded ('', 'flakeid', 'flakeid_libpq', 'flakeid, flakeid_libpq', 'flakeid_libpq, flakeid')
{
	my $by_name = $preloaded =~ /libpq/ ? 't' : 'f';
	started($preloaded, 'alone');
	is($node->safe_psql('postgres', "$draw; $mapped"), "t\nt|$by_name|$by_name", "preloaded '$preloaded', no coordinator: the client is not there by itself");
	is($node->safe_psql('postgres', "LOAD '$_->[0]'; LOAD '$_->[1]'; $draw"), 't', "LOAD @$_")
	  for [ 'flakeid', 'flakeid_libpq' ], [ 'flakeid_libpq', 'flakeid' ];
	started($preloaded, 'leased');
	is($node->safe_psql('postgres', "$draw; $mapped"), "t\nt|t|t", "preloaded '$preloaded', with a coordinator: the client is there");
	crashes("preloaded '$preloaded'");
	is($node->safe_psql('postgres', "LOAD '$_->[0]'; LOAD '$_->[1]'; $draw"), 't', "LOAD @$_, with a coordinator")
	  for [ 'flakeid', 'flakeid_libpq' ], [ 'flakeid_libpq', 'flakeid' ];
}

# What a server of that kind does without a client that fits, for that reason.
my $hint = "hint: Install the library flakeid_libpq, which comes with flakeid $version, and restart the server.";
sub does_without
{
	my ($what, $reason) = @_;
	my $refused = "55000: flakeid.coordinator needs the library flakeid_libpq\ndetail: $reason\n$hint";
	for my $preloaded ('', 'flakeid')
	{
		my $where = "$what, preloaded '$preloaded'";
		started($preloaded, 'alone');
		is($node->safe_psql('postgres', $draw), 't', "$where: without a coordinator it makes ids");
		is(refusal($node, "LOAD 'flakeid'; ALTER SYSTEM SET flakeid.coordinator = 'host=x'"),
			"22023: invalid value for parameter \"flakeid.coordinator\"\ndetail: $reason\n$hint", 'ALTER SYSTEM is refused');
		started($preloaded, 'leased');
		is(refusal($node, $draw), $refused, "$where: with one it makes none");
		is(refusal($node, $draw), $refused, 'nor does the next session');
		is($node->safe_psql('postgres', 'SELECT flake_node(5)'), '0', 'it reads');
		is(scalar(workers()), 0, 'and has no lease worker');
	}
	# A postmaster that is told of a coordinator goes on.
	started('flakeid', 'alone');
	$node->append_conf('own.conf', $kind{leased});
	$node->reload;
	ok(wait_until(sub { refusal($node, $draw) eq $refused }), "$what: a reload that names a coordinator ends the ids");
	$node->append_conf('own.conf', "flakeid.coordinator = ''\nflakeid.node = 5");
	$node->reload;
	ok(wait_until(sub { refusal($node, $draw) eq '' }), "$what: and one that names none brings them back");
	return;
}

#
# Missing
#
started('flakeid', 'leased');
$node->safe_psql('postgres', $draw);
take_away();
is(refusal($node, $draw), '', 'a preloaded server keeps the library that it has');
crashes('without its file');
started('', 'alone');
# PostgreSQL 18 looks for it along a path, and leaves out the directory.
my $file = ($node->pg_version >= 18 ? '' : '$libdir/') . 'flakeid_libpq';
my $missing = qq{Library flakeid_libpq cannot be loaded: could not access file "$file": No such file or directory.};
does_without('missing', $missing);
started('', 'leased');
like(refusal($node, $draw), qr/^55000: /, 'not preloaded: no ids');
put_back();
is(refusal($node, $draw), '', 'put back: ids, in the next session');

#
# Another one
#
my $other = q{#include <stddef.h>
	typedef struct Client { const char *version; size_t size; } Client;
	PGDLLEXPORT const Client *flakeid_client(void);
	const Client *flakeid_client(void) { static const Client client = {%s}; return &client; }};
my %reason = (
	'of another version' => [ '"0.0.1", 64', "Library flakeid_libpq is of version 0.0.1 (64), and flakeid of version $version (64)." ],
	'of another size' => [ "\"$version\", 8", "Library flakeid_libpq is of version $version (8), and flakeid of version $version (64)." ]);
take_away();
for my $what (sort keys %reason)
{
	copy(c_library('flakeid_libpq', sprintf $other, $reason{$what}[0]) . '.so', $library) or die $!;
	does_without($what, $reason{$what}[1]);
}
copy(c_library('flakeid_libpq', '') . '.so', $library) or die $!;
started('', 'leased');
like(refusal($node, $draw), qr/^55000: .*\ndetail: Library flakeid_libpq cannot be loaded: could not find function "flakeid_client" in file /, 'without what it is asked for');
unlink $library or die $!;
put_back();
$node->stop;

#
# pg_upgrade of a server that is its own coordinator
#
sub own_coordinator
{
	my ($name) = @_;
	my $server = on_its_own($name);
	$server->init;
	$server->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\nflakeid.node = auto\n"
		  . "flakeid.coordinator = '" . $server->connstr('ids') =~ s/'/''/gr . "'");
	return $server;
}
my $old = own_coordinator('old');
$old->start;
$old->safe_psql('postgres', 'CREATE ROLE flakeid_generator; CREATE DATABASE ids; CREATE DATABASE shop');
$old->safe_psql('ids', 'CREATE EXTENSION flakeid_coordinator CASCADE');
$old->safe_psql('shop', 'CREATE EXTENSION flakeid; CREATE TABLE t (id flake PRIMARY KEY DEFAULT flake_next())');
ok(wait_until(sub { refusal($old, 'INSERT INTO t SELECT FROM generate_series(1, 1000)', database => 'shop') eq '' }), 'a server that is its own coordinator');
my $leases = $old->safe_psql('ids', 'SELECT count(*) FROM flakeid.leases');
cmp_ok($leases, '>=', 1, 'the server leases its node to itself');
$old->stop;
my $new = own_coordinator('new');
chdir PostgreSQL::Test::Utils::tempdir() or die $!;
my @upgrade = ("$bin/pg_upgrade", '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $bin, '-B', $bin, '-s', $new->host, '-p', $old->port, '-P', $new->port);
take_away();
command_ok([ @upgrade, '--check' ], 'pg_upgrade --check does not ask for the client');
put_back();
command_ok(\@upgrade, 'pg_upgrade with a coordinator');
chdir source_dir();
$new->start;
like(refusal($new, 'INSERT INTO t DEFAULT VALUES', database => 'shop'), qr/hands out no leases before/, 'the coordinator rests');
$new->safe_psql('ids', 'SELECT flakeid.lease_end_rest()');
ok(wait_until(sub { refusal($new, 'INSERT INTO t DEFAULT VALUES', database => 'shop') eq '' }), 'and then ids are made');
is($new->safe_psql('shop', 'SELECT count(*), count(DISTINCT id) FROM t'), '1001|1001', 'none of them twice');
$new->stop;

done_testing();
