# Programs that make ids on leases of their own: the files of doc/clients, copied as anybody copies them.
package Programs;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use File::Basename qw(dirname);
use File::Copy qw(copy);
use IPC::Run qw(start run finish);
use POSIX qw(WNOHANG);
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep);

our @EXPORT = qw(copied drivers lease_programs commits_wait commits_go_on);

my $top = abs_path(dirname(abs_path(__FILE__)) . '/../..');

# What programs of this machine may be written in: [language, command].
my ($python) = grep { -x $_ && system("$_ -c 'import psycopg2' 2>/dev/null") == 0 } qw(/usr/bin/python3 /usr/local/bin/python3);
sub drivers
{
	return ((system('npm --version >/dev/null 2>&1') == 0 ? [ mjs => 'node' ] : ()), ($python ? [ py => $python, '-B' ] : ()));
}

# A directory with copies of these files of the tree, and pg for those that are JavaScript.
sub copied
{
	my (@files) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir;
	copy("$top/$_", $dir) or die "$_: $!" for 'test/clients/package.json', @files;
	return $dir if !grep { $_->[0] eq 'mjs' } drivers();
	# Where test/on_demand/clients has run, pg is there.
	if (-d "$top/test/clients/node_modules/pg")
	{
		symlink "$top/test/clients/node_modules", "$dir/node_modules" or die $!;
		return $dir;
	}
	my $log;
	run([ 'npm', '--prefix', $dir, 'install', '--no-package-lock', '--omit=dev', '--fetch-retries=5', '--no-audit', '--no-fund', '--cache', "$dir/cache" ],
		'<', \undef, '>&', \$log)
	  or die "npm install failed: $log";
	return $dir;
}

# A directory with the programs that make ids on leases, and how each of them is started: [language, command].
sub lease_programs
{
	my $jar = '/usr/share/java/postgresql.jar';
	my $dir = copied((map { "test/clients/lease_programs/$_" } qw(ids.mjs ids.py ids.go ids.java close_in_signal.py)), map { "doc/clients/$_" } qw(flake_lease.mjs flake_lease.py flake_lease.go FlakeIds.java));
	my @programs = map { [ @$_, "$dir/ids.$_->[0]" ] } drivers();
	if (system('go version >/dev/null 2>&1') == 0 && (() = glob '/usr/share/gocode/src/*/jackc/pgconn'))
	{
		mkdir $_ or die "$_: $!" for "$dir/go", "$dir/go/src", "$dir/go/src/flakelease";
		rename "$dir/flake_lease.go", "$dir/go/src/flakelease/flake_lease.go" or die $!;
		local %ENV = (%ENV, GOPATH => "$dir/go:/usr/share/gocode", GO111MODULE => 'off', GOCACHE => "$dir/gocache", GOFLAGS => '-p=2');
		PostgreSQL::Test::Utils::system_or_bail('go', 'build', '-o', "$dir/ids_go", "$dir/ids.go");
		push @programs, [ go => "$dir/ids_go" ];
	}
	if (-e $jar && system('javac -version >/dev/null 2>&1') == 0)
	{
		PostgreSQL::Test::Utils::system_or_bail('javac', '-Xlint:all', '-Werror', '-cp', $jar, '-d', $dir, "$dir/FlakeIds.java");
		push @programs, [ java => 'java', '-cp', "$dir:$jar", "$dir/ids.java" ];
	}
	return ($dir, @programs);
}

# The coordinators, as the option of a program in this language has them.
sub coordinators
{
	my ($language, @servers) = @_;
	return [
		map {
			my ($host, $port) = ($_->host, $_->port);
			$language eq 'mjs' ? { host => $host, port => $port, user => 'shop', database => 'postgres' }
			  : $language eq 'java' ? "jdbc:postgresql://127.0.0.1:$port/postgres?user=shop"
			  : "host=$host port=$port user=shop dbname=postgres"
		} @servers ];
}

# From now on no commit is answered, since a standby that is not there would have to confirm it. What was committed by then is.
sub commits_wait
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf', q{synchronous_standby_names = 'nobody'});
	$node->reload;
	# The server does not say when it has heard of it: until a commit waits.
	my $waiting = q{FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'probe'};
	while (1)
	{
		my $pid = fork // die $!;
		if ($pid == 0)
		{
			open STDOUT, '>', '/dev/null' or die $!;
			open STDERR, '>&', \*STDOUT or die $!;
			exec 'psql', '-Xq', '-d', $node->connstr('postgres') . ' application_name=probe', '-c', q{SELECT pg_logical_emit_message(true, 'probe', '')} or die $!;
		}
		until (waitpid($pid, WNOHANG) == $pid)
		{
			sleep 0.05;
			next if $node->safe_psql('postgres', "SELECT count(pg_terminate_backend(pid)) $waiting") == 0;
			waitpid $pid, 0;
			return;
		}
	}
}

sub commits_go_on
{
	my ($node) = @_;
	$node->append_conf('postgresql.conf', q{synchronous_standby_names = ''});
	$node->reload;
	return;
}

# Starts a program with these arguments.
sub new
{
	my ($class, @command) = @_;
	my $self = bless { in => '', out => '', err => '' }, $class;
	$self->{run} = start(\@command, '<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err});
	return $self;
}

# Hands it a line, without waiting for the answer.
sub tell
{
	my ($self, $line) = @_;
	$self->{in} .= "$line\n";
	$self->{run}->pump_nb;
	return;
}

# The next line that it prints.
sub answer
{
	my ($self) = @_;
	my $end;
	while (($end = index $self->{out}, "\n") < 0)
	{
		$self->{run}->pumpable or die "the program ended: $self->{err}";
		$self->{run}->pump;
	}
	return substr($self->{out}, 0, $end + 1, '') =~ s/\n//r;
}

sub ask { my ($self, $line) = @_; $self->tell($line); return $self->answer }

# Tells it to end, by an empty line since servers that were started meanwhile have its input too; returns what it said of errors.
sub end
{
	my ($self) = @_;
	$self->tell('');
	finish($self->{run});
	return $? . $self->{err};
}

1;
