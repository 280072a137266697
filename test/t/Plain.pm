# The edition in plain SQL, as an ordinary owner of a database installs it.
package Plain;
use strict;
use warnings;

use Exporter 'import';
use FlakeTest;
use IPC::Run ();
use PostgreSQL::Test::Utils;

our @EXPORT = qw(plain_scripts install_plain);

my @scripts;

# The files that users run, in their order, built once a test.
sub plain_scripts
{
	return @scripts if @scripts;
	my $directory = PostgreSQL::Test::Utils::tempdir() . '/plain';
	IPC::Run::run([ source_dir() . '/packaging/plain/build', $directory ], '>', \my $printed) or die "not built\n";
	return @scripts = map { "$directory/$_.sql" } qw(flakeid_plain flakeid_plain_tables);
}

# A database of that name, which may be there, with the edition; it belongs to the role "owner", no superuser.
sub install_plain
{
	my ($node, $database) = @_;
	$node->safe_psql('postgres', "DO \$\$ BEGIN CREATE ROLE owner LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END \$\$");
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER owner")
	  if !$node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname = '$database'");
	$node->command_ok([ 'psql', '-XqU', 'owner', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), map { ('-f', $_) } plain_scripts() ], "plain SQL is installed by an owner");
	return;
}

1;
