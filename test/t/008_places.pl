# What takes a server's place begins past all that it stamped, whoever comes first there: the first session of a database that is new after
# pg_upgrade, also where a role alone stamped that far ahead, and one of a role with a small flakeid.max_ahead after a promotion.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# 1600 ids are a second of it, so that ids soon run ahead of the clock.
my $settings = "flakeid.layout = 'time:39:10ms sequence:4 machine:20 epoch=2026-01-01'\nflakeid.node = 7\n";
my $reach = "flakeid.max_ahead = '10min'\n";
my $draw = 'SELECT max(id::bigint) FROM flake_next_many(48000) AS id';
my $too_far = qr/^55000: the horizon of database "b" lies \d{3}\.\d+ s ahead of the clock$/m;
my ($bindir) = split /\n/, (run_command([ 'pg_config', '--bindir' ]))[0];
my ($major) = (run_command([ 'pg_config', '--version' ]))[0] =~ /(\d+)/;

sub cluster
{
	my ($name, $more) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', $settings . $more);
	return $node;
}

sub upgrade
{
	my ($old, $new, @options) = @_;
	chdir PostgreSQL::Test::Utils::tempdir() or die $!;
	command_ok([ 'pg_upgrade', '--no-sync', @options, '-d', $old->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir, '-s', $new->host,
			'-p', $old->port, '-P', $new->port ], "pg_upgrade @options");
	chdir source_dir();
}

for my $mode ('--copy', '--link', $major >= 18 ? '--swap' : ())
{
	my $preload = $mode eq '--link' ? "shared_preload_libraries = 'flakeid'\n" : '';
	my $of_role = $mode eq '--copy';
	my ($old, $new) = map { cluster($_ . substr($mode, 1), ($of_role ? '' : $reach) . $preload) } 'old', 'new';
	$old->start;
	$old->safe_psql('postgres', 'CREATE ROLE far LOGIN; ALTER ROLE far SET ' . $reach);
	$old->safe_psql('postgres', 'CREATE DATABASE a');
	$old->safe_psql('a', 'CREATE EXTENSION flakeid');
	my @who = $of_role ? ('-U', 'far') : ();
	my $last = $old->safe_psql('a', $draw, extra_params => \@who);
	$old->stop;
	# Somebody looked whether the extension is there.
	$new->start;
	$new->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_next(); DROP EXTENSION flakeid') if $preload;
	$new->stop;
	my $file = $old->data_dir . '/flakeid/horizon';
	my $before = slurp_file($file);
	upgrade($old, $new, $mode eq '--copy' ? () : $mode, '--check');
	is(slurp_file($file), $before, "pg_upgrade $mode --check leaves the file of the old server as it is");
	upgrade($old, $new, $mode eq '--copy' ? () : $mode);
	$new->start;
	$new->safe_psql('postgres', 'CREATE DATABASE b');
	$new->safe_psql('b', 'CREATE EXTENSION flakeid');
	# What the first session there learns of roles, the next start knows.
	$new->safe_psql('b', 'SELECT flake_settled()');
	$new->restart;
	like(refusal($new, 'SELECT flake_next()', database => 'b'), $too_far, "pg_upgrade $mode: the first session has a small max_ahead") if $of_role;
	is($new->safe_psql($_, "SELECT flake_next() > $last", extra_params => \@who), 't', "pg_upgrade $mode: ids of database $_ come after all of the old server") for 'b', 'a';
	$new->stop;
}

# initdb has just made it, and not a template long ago.
delete $ENV{INITDB_TEMPLATE};
my $fresh = cluster('fresh', "flakeid.max_ahead = '1s'\nflakeid.when_ahead = error\n");
$fresh->start;
is($fresh->safe_psql('postgres', 'CREATE EXTENSION flakeid; SELECT flake_timestamp(flake_next()) <= clock_timestamp()'), 't', 'a new server begins at once');
$fresh->stop;

# The configuration files say how far ahead of the clock the primary may have stamped.
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', $settings);
$primary->start;
$primary->safe_psql('postgres', q{CREATE DATABASE a; CREATE DATABASE b; CREATE ROLE web LOGIN; ALTER ROLE web SET flakeid.max_ahead = '1s'});
$primary->safe_psql($_, 'CREATE EXTENSION flakeid; SELECT flake_next()') for 'a', 'b';
$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$_->append_conf('postgresql.conf', $reach) for $primary, $standby;
$standby->start;
$primary->reload;
my $last = $primary->safe_psql('a', $draw);
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
$standby->promote;
like(refusal($standby, 'SELECT flake_next()', database => 'b', user => 'web'), $too_far, 'a role with less is told the moment');
is($standby->safe_psql('b', "SELECT flake_next() > $last"), 't', 'ids of the promoted server come after all of the primary');
$standby->stop;

done_testing();
