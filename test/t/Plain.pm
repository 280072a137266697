# The edition in plain SQL, as an ordinary owner of a database installs it.
package Plain;
use strict;
use warnings;

use Exporter 'import';
use FlakeTest;
use IPC::Run ();
use PostgreSQL::Test::Utils;

our @EXPORT = qw(plain_script install_plain);

my $script;

# The file that users run, built once a test.
sub plain_script
{
	return $script if $script;
	my $directory = PostgreSQL::Test::Utils::tempdir() . '/plain';
	IPC::Run::run([ source_dir() . '/packaging/plain/build', $directory ], '>', \my $printed) or die "not built\n";
	return $script = "$directory/flakeid_plain.sql";
}

# A database of that name, which may be there, with the edition; it belongs to the role "owner", no superuser.
sub install_plain
{
	my ($node, $database) = @_;
	$node->safe_psql('postgres', "DO \$\$ BEGIN CREATE ROLE owner LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END \$\$");
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER owner")
	  if !$node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname = '$database'");
	$node->command_ok([ 'psql', '-XqU', 'owner', '-d', $node->connstr($database), '-f', plain_script() ], "plain SQL is installed by an owner");
	return;
}

1;
