# A throw-away server whose wall clock is moved from outside (libfaketime), and that can be killed
# at any moment. Only its own processes are ever signalled.
package Torture::Server;

use strict;
use warnings;

# What a test harness sets for its own servers is nothing for these.
delete @ENV{qw(PGPORT PGHOST PGDATABASE PGUSER PGDATA)};

use File::Basename qw(dirname);
use File::Spec ();
use File::Temp ();
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(sleep time);
use Torture::Session;

my $here = dirname(dirname(dirname(File::Spec->rel2abs(__FILE__))));    # test/torture
my ($bin, $top, $faketime, $template, $slow_wal, $shifted_clock);
my @started;

# PostgreSQL refuses to run as root: whoever starts this as root goes on as postgres.
sub prepare
{
	return if $top;
	if ($> == 0)
	{
		my (undef, undef, $uid, $gid) = getpwnam 'postgres' or die "no user postgres\n";
		$) = "$gid $gid";
		POSIX::setgid($gid);
		POSIX::setuid($uid);
		$ENV{HOME} = '/';
	}
	chomp($bin = `\${PG_CONFIG:-pg_config} --bindir`) or die "no pg_config\n";
	($faketime) = glob '/usr/lib/*/faketime/libfaketime.so.1 /usr/lib*/faketime/libfaketime.so.1';
	-e ($faketime // '') or die "libfaketime is missing: install the package faketime\n";
	$top = File::Temp->newdir('flakeid.XXXXXX', TMPDIR => 1, CLEANUP => !$ENV{KEEP});
	# Made here: a server counts as new for ten minutes after its initdb, and begins past a lost one's ids later.
	$template = "$top/template";
	command("$bin/initdb", '--no-sync', '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', $template);
	$slow_wal = "$top/slow_wal.so";
	command(qw(cc -O1 -fPIC -shared -o), $slow_wal, "$here/slow_wal.c", '-ldl');
	$shifted_clock = "$top/shifted_clock.so";
	command(qw(cc -O1 -fPIC -shared -o), $shifted_clock, "$here/../world/shifted_clock.c", '-ldl');
	open my $secret, '>', "$top/secret" or die $!;
	print $secret "2c1fd0e37b5a4961881f0a4c35d26b97\n";
	chmod 0600, "$top/secret";
	return;
}

# The edition in plain SQL in the place of the extension (EDITION=plain), a mutant of it (MUTANT).
our $plain = ($ENV{EDITION} // '') eq 'plain';

# What makes a mutant of the edition: what is left out, and the simulated mistake.
my %mutants = (
	unflushed => [ qr/PERFORM flakeid_plain\.flush_wal\(\);/ => 'NULL;' ],
	unbound => [ qr/    RETURN kept;/ => '    RETURN 0;' ],
	unchecked_tick => [ qr/ & %2\$s = \(date_part/ => ' & %2$s >= (date_part' ],
	trusting => [ qr/NOT \(t\.is_called AND t\.log_cnt > 0\)/ => 'NOT t.is_called', qr/(last_value = word & g\.tick_mask) AND is_called AND log_cnt > 0/ => 'last_value = word & g.tick_mask' ],
	unclosed => [ qr/CASE g\.word WHEN 'flakeid_plain\.word_a'::regclass THEN 'flakeid_plain\.word_b'/ => "CASE g.word WHEN 'flakeid_plain.word_a'::regclass THEN 'flakeid_plain.word_a'" ],
	coarse => [ qr/l\.enciphered OR l\.tick_us > 1000 THEN/ => 'l.enciphered THEN' ],
);

sub install_plain
{
	my ($self, $database, $node) = @_;
	my $script = "$top/plain/flakeid_plain.sql";
	if (!-e $script)
	{
		command("$here/../../packaging/plain/build", "$top/plain");
		if (my $name = $ENV{MUTANT})
		{
			open my $in, '<', $script or die $!;
			my $sql = do { local $/; <$in> };
			my @changes = @{ $mutants{$name} // die "no mutant $name\n" };
			while (my ($from, $to) = splice @changes, 0, 2) { $sql =~ s/$from/$to/ or die "nothing to change: $from\n" }
			open my $out, '>', $script or die $!;
			print $out $sql;
			close $out;
		}
	}
	$self->value('postgres', "DO \$\$ BEGIN CREATE ROLE owner LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END \$\$");
	$self->value('postgres', "ALTER DATABASE $database OWNER TO owner");
	command("$bin/psql", '-h', $self->{dir}, '-p', 5432, '-U', 'owner', '-d', $database, '-XqAt', '-v', 'ON_ERROR_STOP=1', '-f', $script);
	my $when = $self->{conf} =~ /^flakeid\.when_ahead = (\w+)/m ? $1 : 'wait';
	$self->value($database, "INSERT INTO flakeid_plain.settings VALUES ('layout', '$self->{layout}'), ('node', '$node'),
		('when_ahead', '$when'), ('secret', '2c1fd0e37b5a4961881f0a4c35d26b97')");
	$self->value('postgres', "ALTER DATABASE $database SET search_path = flakeid_plain, public");
	return;
}

sub top { return "$top" }
sub bin { return $bin }

# Runs a program that must succeed and returns what it printed.
sub command
{
	my @command = @_;
	my $log = "$top/command.log";
	my $pid = fork // die $!;
	if (!$pid)
	{
		open STDIN,  '<', '/dev/null';
		open STDOUT, '>', $log;
		open STDERR, '>&', \*STDOUT;
		chdir $top;
		exec @command or POSIX::_exit(127);
	}
	waitpid $pid, 0;
	my $status = $?;
	open my $in, '<', $log or die $!;
	my $text = do { local $/; <$in> };
	die "@command:\n$text" if $status;
	return $text;
}

# A server that does not run yet. Options: name, layout, databases (number, default 1), preload (0:
# the library is loaded by its first use), conf (more settings), offset (of its clock), standby_of
# (a server, which it reaches through the socket in its directory line), copy_of (a data directory), real_clock (1: its wall
# clock is not moved, and costs what it costs), workers (1: its wall clock is moved for background workers too, which libfaketime
# does not do before PostgreSQL 16).
sub new
{
	my ($class, %o) = @_;
	prepare();
	my $number = @started;
	my $dir = "$top/" . ($o{name} // "s$number");
	my $self = bless { dir => $dir, data => "$dir/data", offset => 0, layout => $o{layout} // 'snowflake', conf => $o{conf} // '',
		real_clock => $o{real_clock}, workers => $o{workers} },
	  $class;
	mkdir $dir;
	push @started, $self;
	my $primary = $o{standby_of};
	if ($primary)
	{
		$primary->client('pg_basebackup', '-D', $self->{data}, '--no-sync', '-c', 'fast');
		open my $signal, '>', "$self->{data}/standby.signal" or die $!;
		close $signal;
	}
	else
	{
		command('cp', '-a', $o{copy_of} // $template, $self->{data});
		unlink "$self->{data}/postmaster.pid";
	}
	open my $conf, '>>', "$self->{data}/postgresql.conf" or die $!;
	print $conf <<END;
unix_socket_directories = '$dir'
listen_addresses = ''
fsync = off
max_connections = 60
shared_buffers = 16MB
wal_writer_delay = 10s
autovacuum = off
log_timezone = 'UTC'
timezone = 'UTC'
log_min_messages = log
flakeid.layout = '$self->{layout}'
flakeid.secret_file = '$top/secret'
END
	print $conf "shared_preload_libraries = 'flakeid'\n" if !$plain && ($o{preload} // 1);
	print $conf "primary_conninfo = 'host=$dir/line port=5432 user=postgres'\n" if $primary;
	print $conf $o{conf} // '', "\n";
	close $conf;
	$self->set_clock($o{offset} // 0);
	$self->{databases} = $primary ? $primary->{databases} : [ map { "d$_" } 1 .. $o{databases} // 1 ];
	return $self;
}

# Starts it for the first time, with its databases.
sub create
{
	my ($class, %o) = @_;
	my $self = $class->new(%o);
	$self->start;
	my $node = 0;
	for my $database (@{ $self->{databases} })
	{
		$self->value('postgres', "CREATE DATABASE $database");
		# In plain SQL each database has a generator of its own, and so a node.
		$plain ? $self->install_plain($database, $node++) : $self->value($database, 'CREATE EXTENSION flakeid');
	}
	return $self;
}

sub start
{
	my ($self, %o) = @_;
	my $pid = fork // die $!;
	if (!$pid)
	{
		POSIX::setsid();
		open STDIN,  '<',  '/dev/null';
		open STDOUT, '>>', "$self->{dir}/log";
		open STDERR, '>&', \*STDOUT;
		@ENV{qw(LD_PRELOAD SHIFTED_WALL)} = ($shifted_clock, "$self->{dir}/clock") if $self->{workers};
		@ENV{qw(LD_PRELOAD FAKETIME_TIMESTAMP_FILE FAKETIME_NO_CACHE FAKETIME_DONT_FAKE_MONOTONIC NO_FAKE_STAT SLOW_WAL)} =
		  ("$faketime:$slow_wal", "$self->{dir}/clock", 1, 1, 1, "$self->{dir}/slow") if !$self->{real_clock} && !$self->{workers};
		$ENV{TZ} = 'UTC';
		exec "$bin/postgres", '-D', $self->{data} or POSIX::_exit(127);
	}
	$self->{pid} = $pid;
	return $o{no_wait} ? $self : $self->wait_ready;
}

sub wait_ready
{
	my ($self) = @_;
	for (1 .. 3600)
	{
		return $self if Torture::Session->new($self->{dir}, 'postgres');
		if (waitpid($self->{pid}, WNOHANG) > 0)
		{
			delete $self->{pid};
			last;
		}
		sleep 0.05;
	}
	die "the server in $self->{dir} does not start:\n" . $self->log;
}

sub log
{
	my ($self, $from) = @_;
	open my $in, '<', "$self->{dir}/log" or return '';
	seek $in, $from // 0, 0;
	local $/;
	return <$in> // '';
}

sub log_size { my ($self) = @_; return -s "$self->{dir}/log" // 0 }

sub connect
{
	my ($self, $database) = @_;
	return Torture::Session->new($self->{dir}, $database // $self->{databases}[0])
	  // die "cannot connect to " . ($database // $self->{databases}[0]) . "\n" . substr $self->log, -2000;
}

sub value
{
	my ($self, $database, $sql) = @_;
	return $self->connect($database)->value($sql);
}

# Runs a program of PostgreSQL against this server.
sub client
{
	my ($self, $program, @arguments) = @_;
	return command("$bin/$program", '-h', $self->{dir}, '-p', 5432, '-U', 'postgres', @arguments);
}

# The parent of a process, or undef when it has ended.
sub parent
{
	my ($pid) = @_;
	open my $in, '<', "/proc/$pid/stat" or return;
	my ($state, $parent) = (<$in> // '') =~ /^\d+ \(.*\) (\S) (\d+)/s or return;
	return $state eq 'Z' ? undef : $parent;
}

sub children
{
	my ($of) = @_;
	return grep { (parent($_) // 0) == $of } map { m{/(\d+)$} } glob '/proc/[0-9]*';
}

# kill -9 of the postmaster and every process of it, as good as at once.
sub kill_all
{
	my ($self) = @_;
	my $postmaster = delete $self->{pid} or return;
	kill 'STOP', $postmaster;
	my @children = children($postmaster);
	kill 'KILL', @children, $postmaster;
	waitpid $postmaster, 0;
	for my $pid (@children)
	{
		sleep 0.005 while defined parent($pid);
	}
	return;
}

sub stop
{
	my ($self, $mode) = @_;
	my $postmaster = delete $self->{pid} or return;
	kill { smart => 'TERM', fast => 'INT', immediate => 'QUIT' }->{ $mode // 'fast' }, $postmaster;
	for (1 .. 3600)
	{
		return if waitpid($postmaster, WNOHANG) == $postmaster;
		sleep 0.05;
	}
	$self->{pid} = $postmaster;
	$self->kill_all;
	die "the server in $self->{dir} did not stop:\n" . substr $self->log, -2000;
}

# The wall clock, as seconds away from the machine's, or standing still at that moment.
sub set_clock
{
	my ($self, $offset) = @_;
	$self->{offset} = $offset;
	return $self->write_clock(sprintf '%+.6f', $offset);
}

sub move_clock
{
	my ($self, $seconds) = @_;
	return $self->set_clock($self->{offset} + $seconds);
}

sub stop_clock
{
	my ($self, $moment) = @_;
	return $self->write_clock(POSIX::strftime('%Y-%m-%d %H:%M:%S', gmtime $moment));
}

sub now { my ($self) = @_; return time + $self->{offset} }

sub write_clock
{
	my ($self, $text) = @_;
	open my $out, '>', "$self->{dir}/clock.new" or die $!;
	print $out "$text\n";
	close $out;
	rename "$self->{dir}/clock.new", "$self->{dir}/clock" or die $!;
	return $self;
}

# From now on, or no longer, WAL is written slowly.
sub slow_wal
{
	my ($self, $slow) = @_;
	return unlink "$self->{dir}/slow" if !$slow;
	open my $out, '>', "$self->{dir}/slow" or die $!;
	return 1;
}

sub drop
{
	my ($self) = @_;
	$self->stop('immediate');    # which leaves no shared memory
	system 'rm', '-rf', $self->{dir} if !$ENV{KEEP};
	return;
}

my $owner = $$;
END
{
	my $status = $?;
	if ($owner == $$) { $_->stop('immediate') for @started }
	$? = $status;
}

1;
