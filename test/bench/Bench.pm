# A throw-away server for benchmarks, and what they all need: statements timed in turn, medians.
#
# The server runs from a private copy of the installed PostgreSQL (its programs find the rest of it
# by their own place), with flakeid built from this tree: nothing is installed, and no server that
# runs already is touched.
package Bench;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter qw(import);
use File::Basename qw(dirname);
use File::Path qw(remove_tree);
use File::Temp qw(tempdir);
use List::Util qw(min);
use POSIX qw(sysconf _SC_CLK_TCK);

our @EXPORT = qw(run output median over ratio spread machine);

my @started;
my $here = dirname(abs_path(__FILE__));
my $project = dirname(dirname($here));

# Runs a command without a shell; an error unless it succeeds.
sub run
{
	my (@command) = @_;
	system(@command) == 0 or die "failed: @command\n";
	return;
}

# What a command prints.
sub output
{
	my (@command) = @_;
	open(my $pipe, '-|', @command) or die "$command[0]: $!\n";
	local $/;
	my $text = <$pipe> // '';
	close($pipe) or die "failed: @command\n";
	return $text;
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return $sorted[ $#sorted / 2 ] if @sorted % 2;
	return ($sorted[ @sorted / 2 - 1 ] + $sorted[ @sorted / 2 ]) / 2;
}

# Half of what separates the quartiles.
sub spread
{
	my @sorted = sort { $a <=> $b } @_;
	return ($sorted[ int($#sorted * 3 / 4 + 0.5) ] - $sorted[ int($#sorted / 4 + 0.5) ]) / 2;
}

# Two lists of measures taken in turn: their differences, and the quotient of their medians.
sub over { my ($a, $b) = @_; return [ map { $a->[$_] - $b->[$_] } 0 .. $#$a ]; }
sub ratio { my ($a, $b) = @_; return median(@$a) / median(@$b); }

# What the figures were measured on.
sub machine
{
	my ($server) = @_;
	my ($model) = (eval { output('lscpu') } // output('cat', '/proc/cpuinfo')) =~ /^model name\s*:\s*(.*)/mi; # a chroot may have no /sys
	my ($compiler) = output('c++', '--version') =~ /(.*)/;
	my ($memory) = output('cat', '/proc/meminfo') =~ /^MemTotal:\s*(\d+)/m;
	my ($clock) = eval { output('cat', '/sys/devices/system/clocksource/clocksource0/current_clocksource') };
	chomp(my $cpus = output('nproc'));
	chomp(my $release = output('uname', '-sr'));
	chomp $clock if defined $clock;
	return (
		"$cpus x " . ($model // 'unknown') . sprintf(', %.0f GB', $memory / 1024**2),
		"$release, clock source " . ($clock // 'unknown'),
		$server->{version}, $compiler);
}

# Starts a server. Options: `config`, lines of postgresql.conf; `pg_config`, of the PostgreSQL to
# use; `tree`, of flakeid, this one if not given; `extensions`, more trees to build and install;
# `installed`, true when that PostgreSQL has flakeid installed already and is to be used as it is.
sub start
{
	my ($class, %option) = @_;
	$SIG{$_} = sub { exit 1 } for grep { ($SIG{$_} // '') ne 'IGNORE' } qw(HUP INT PIPE TERM);
	my $self = bless { pid => $$, pg_config => $option{pg_config} // 'pg_config' }, $class;
	push @started, $self;
	$self->{dir} = abs_path(tempdir('flakeid_bench_XXXXXX', TMPDIR => 1));
	chmod 0755, $self->{dir};
	local $ENV{PG_CONFIG} = $self->{pg_config};
	chomp($self->{bindir} = $option{installed} ? output($self->{pg_config}, '--bindir')
		: output("$project/test/stage", "$self->{dir}/stage"));
	$self->{pg_config} = "$self->{bindir}/pg_config" if !$option{installed};
	for my $what (qw(includedir-server cc version))
	{
		chomp($self->{$what} = output($self->{pg_config}, "--$what"));
	}
	$self->build($_) for $option{installed} ? () : $option{tree} // $project, @{ $option{extensions} // [] };
	run(split(' ', $self->{cc}), qw(-O2 -fPIC -shared), "-I$self->{'includedir-server'}",
		'-o', "$self->{dir}/floor.so", "$here/floor.c");

	my $data = "$self->{dir}/data";
	run('mkdir', '-m', '700', $data);
	run('chown', '-R', 'postgres', $self->{dir}) if $> == 0;
	$self->as_server($self->program('initdb'), '-D', $data,
		qw(-U postgres -A trust -E UTF8 --no-locale --no-sync),
		{ to => "$self->{dir}/initdb.log" });
	$self->settings("listen_addresses = ''", "unix_socket_directories = '$self->{dir}'", @{ $option{config} // [] });
	$self->up;
	$self->psql("\\set floor '$self->{dir}/floor.so'\n" . output('cat', "$here/setup.sql"));
	return $self;
}

sub program { my ($self, $name) = @_; return "$self->{bindir}/$name"; }

# Builds and installs an extension from a copy of its tree.
sub build
{
	my ($self, $from) = @_;
	my $tree = "$self->{dir}/" . ($from =~ s{.*/}{}r);
	run('mkdir', $tree);
	run('sh', '-c', 'tar -C "$1" --exclude=./.git --exclude=./build --exclude=./test --exclude=./doc '
		  . '--exclude="*.o" --exclude="*.so" -cf - . | tar -C "$2" -xf -', 'sh', $from, $tree);
	my $log = "$tree.log";
	system('sh', '-c', '"$@" >>"$0" 2>&1', $log, 'make', '-s', '-j2', '-C', $tree,
		"PG_CONFIG=$self->{pg_config}", 'USE_PGXS=1', 'with_llvm=no', 'install') == 0
	  or die "cannot build $from:\n" . output('tail', '-20', $log);
	return;
}

# Seconds that all processors of the machine have worked, and those of this program, its children
# and the server.
sub machine_seconds
{
	my @ticks = split ' ', (output('cat', '/proc/stat') =~ /^cpu (.*)/m)[0];
	my ($user, $nice, $system, undef, undef, $irq, $softirq, $steal) = @ticks;
	return ($user + $nice + $system + $irq + $softirq + ($steal // 0)) / sysconf(_SC_CLK_TCK);
}

sub own_seconds
{
	my ($self) = @_;
	my $own = $self->{ended_seconds} // 0;
	$own += $_ for times;
	return $own + $self->server_seconds;
}

# Those of the server: its sessions count while they run, and once they ended by way of the postmaster.
sub server_seconds
{
	my ($self) = @_;
	return 0 if !$self->{up};
	my ($postmaster) = output('cat', "$self->{dir}/data/postmaster.pid") =~ /^(\d+)/;
	my $children = sub { return join ' ', sort split ' ', output('cat', "/proc/$postmaster/task/$postmaster/children") };
	my ($before, $ticks);
	do
	{
		$before = $children->();
		$ticks = 0;
		for my $process ($postmaster, split ' ', $before)
		{
			open(my $stat, '<', "/proc/$process/stat") or next;
			my $line = <$stat> // next;    # it has ended since
			my @fields = split ' ', $line =~ s/.*\) //r;
			$ticks += $_ for @fields[ $process == $postmaster ? (11 .. 14) : (11, 12) ];
		}
	} until $children->() eq $before;
	return $ticks / sysconf(_SC_CLK_TCK);
}

# Runs a command as the user that the server may run as.
sub as_server
{
	my ($self, @command) = @_;
	my $option = ref $command[-1] ? pop @command : {};
	unshift @command, qw(setpriv --reuid=postgres --regid=postgres --clear-groups) if $> == 0;
	my ($from, $to) = ($option->{from} // '/dev/null', $option->{to} // '/dev/null');
	system('sh', '-c', 'cd / && from=$1 && shift && exec "$@" <"$from" >>"$0" 2>&1', $to, $from,
		@command) == 0 or die "failed: @command\n" . output('tail', '-20', $to);
	return;
}

sub up
{
	my ($self) = @_;
	$self->as_server($self->program('pg_ctl'), '-D', "$self->{dir}/data", '-l',
		"$self->{dir}/server.log", '-w', 'start');
	$self->{up} = 1;
	return;
}

# Stops it: `fast`, or `immediate`, as a crash does.
sub down
{
	my ($self, $mode) = @_;
	$self->{ended_seconds} += $self->server_seconds;
	$self->as_server($self->program('pg_ctl'), '-D', "$self->{dir}/data", '-m', $mode // 'fast', '-w', 'stop')
	  if delete $self->{up};
	return;
}

# A standby of the server, streaming from it.
sub standby
{
	my ($self) = @_;
	my $standby = bless { %$self, dir => abs_path(tempdir('flakeid_bench_XXXXXX', TMPDIR => 1)) }, ref $self;
	push @started, $standby;
	chmod 0755, $standby->{dir};
	run('chown', 'postgres', $standby->{dir}) if $> == 0;
	$standby->as_server($self->client('pg_basebackup'), '-R', '-c', 'fast', '-D', "$standby->{dir}/data");
	$standby->settings("unix_socket_directories = '$standby->{dir}'");
	$standby->up;
	return $standby;
}

sub promote { my ($self) = @_; return $self->as_server($self->program('pg_ctl'), '-D', "$self->{dir}/data", '-w', 'promote'); }

# Kills a process of the server with signal 9, its WAL writer or the one given: the server ends all sessions, recovers from WAL, and is up
# again. False where that process has ended by itself.
sub crash
{
	my ($self, $pid) = @_;
	my $walwriter = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'";
	chomp(my $before = $self->psql($walwriter));
	$pid //= $before;
	my $state = sub { open(my $in, '<', "/proc/$pid/stat") or return ''; return (<$in> // '') =~ /\) (\w)/ ? $1 : '' };
	kill 'STOP', $pid;    # what stands still does not end by itself
	1 until $state->() =~ /^[TZX]?$/;
	return 0 if $state->() ne 'T';
	kill 'KILL', $pid;
	1 until system($self->client('pg_isready'), '-q') == 0 && (eval { $self->psql($walwriter) } // '') =~ /^(?!$before$)\d/;
	return 1;
}

# Appends to the configuration.
sub settings
{
	my ($self, @lines) = @_;
	open(my $conf, '>>', "$self->{dir}/data/postgresql.conf") or die "postgresql.conf: $!\n";
	print $conf map { "$_\n" } @lines;
	close($conf);
	return;
}

# Appends to the configuration and restarts.
sub configure
{
	my ($self, @lines) = @_;
	$self->settings(@lines);
	$self->down;
	$self->up;
	return;
}

# Nothing is left behind, however the program ends.
END
{
	local $?;
	local @SIG{qw(HUP INT PIPE TERM)} = ('IGNORE') x 4;
	for my $server (grep { $_->{pid} == $$ } @started)
	{
		eval { $server->down };
		remove_tree($server->{dir}) unless $ENV{FLAKEID_BENCH_KEEP};
	}
}

sub client { my ($self, $name) = @_; return ($self->program($name), '-h', $self->{dir}, '-U', 'postgres'); }

sub file
{
	my ($self, $name, $text) = @_;
	my $file = "$self->{dir}/$name";
	open(my $out, '>', $file) or die "$file: $!\n";
	print $out $text;
	close($out);
	return $file;
}

# Runs a script in one session; returns what it prints.
sub psql
{
	my ($self, $script) = @_;
	my $file = $self->file('script.sql', $script);
	local $ENV{PGOPTIONS} = '-c client_min_messages=warning';
	return output($self->client('psql'), qw(-X -q -A -t -v ON_ERROR_STOP=1 -d postgres -f), $file);
}

# The same, as rows of columns.
sub rows { my ($self, $script) = @_; return map { [ split /\|/, $_, -1 ] } split /\n/, $self->psql($script); }

# Times statements in one session, each round all of them in turn, after one round that does not
# count. A statement is [name, SQL, SQL to run before it and untimed]. Returns name -> list of ms.
sub times
{
	my ($self, $rounds, @statements) = @_;
	my $script = "SET jit = off;\nSET max_parallel_workers_per_gather = 0;\nSET work_mem = '1GB';\n"
	  . "\\o /dev/null\n";
	for my $round (0 .. $rounds)
	{
		for my $statement (@statements)
		{
			my (undef, $sql, $before) = @$statement;
			$script .= "$before;\n" if defined $before;
			$script .= "\\timing on\n$sql;\n\\timing off\n";
		}
	}
	my @ms = $self->psql($script) =~ /^Time: ([\d.]+) ms/mg;
	@ms == ($rounds + 1) * @statements or die "expected other timings\n";
	splice(@ms, 0, scalar @statements);
	my %times;
	while (@ms)
	{
		push @{ $times{ $_->[0] } }, shift @ms for @statements;
	}
	return \%times;
}

# The same, but milliseconds that a processor worked for the session, however long that took.
sub busy_times
{
	my ($self, $rounds, @statements) = @_;
	my $script = "SET jit = off;\nSET max_parallel_workers_per_gather = 0;\nSELECT pg_backend_pid() AS pid \\gset\n\\setenv BACKEND :pid\n";
	for my $round (0 .. $rounds)
	{
		$script .= "\\! cat /proc/\$BACKEND/schedstat\n$_->[1];\n\\! cat /proc/\$BACKEND/schedstat\n" for @statements;
	}
	my @ns = $self->psql($script) =~ /^(\d+) \d+ \d+$/mg;
	@ns == 2 * ($rounds + 1) * @statements or die "expected other figures of /proc\n";
	my %times;
	for my $round (0 .. $rounds)
	{
		for my $statement (@statements)
		{
			my ($before, $after) = splice @ns, 0, 2;
			push @{ $times{ $statement->[0] } }, ($after - $before) / 1e6 if $round > 0;
		}
	}
	return \%times;
}

# Instructions of a function, without the server around it, or of several of which none calls another: each of [functions, SQL,
# how many calls or ids that SQL stands for, SQL to run before] in a single-user server under
# callgrind. Statements end at the line's end there. Returns a list of instructions a call: the least
# of three runs, after one that warms up. An extension of the horizon, once a second, is left out.
sub instructions
{
	my ($self, @measures) = @_;
	my $out = "$self->{dir}/callgrind.out";
	my $script = '';
	my %functions = map { $_ => 1 } map { split ' ', $_->[0] } @measures;
	for my $measure (@measures)
	{
		my (undef, $sql, undef, $before) = @$measure;
		$script .= "$before\n" if defined $before;
		$script .= "$sql\nSELECT bench_mark()\n" x 4;
	}
	$self->down;
	$self->as_server('valgrind', '--tool=callgrind', "--callgrind-out-file=$out",
		'--dump-before=bench_mark', (map { "--toggle-collect=$_" } 'flakeid::horizon_extend*', sort keys %functions),
		$self->program('postgres'), '--single', '-D', "$self->{dir}/data", 'postgres',
		{ from => $self->file('single.sql', $script), to => "$self->{dir}/callgrind.log" });
	my @errors = grep { /ERROR/ } split /\n/, output('cat', "$self->{dir}/callgrind.log");
	die map { "$_\n" } @errors if @errors;
	my @counts;
	my $dump = 0;
	for my $measure (@measures)
	{
		my @totals;
		for my $run (0 .. 3)
		{
			my $part = output('cat', $out . '.' . ++$dump);
			push @totals, $part =~ /^(?:totals|summary): (\d+)/m;
		}
		push @counts, min(@totals[ 1 .. 3 ]) / $measure->[2];
	}
	return @counts;
}

# Instructions from begin to commit of one prepared INSERT of one row, for each key of a table, or each table, whose name is referred to: what
# the server does between transactions is left out.
sub row_instructions
{
	my ($self, $rows, @keys) = @_;
	return $self->instructions(map {
		my $table = ref $keys[$_] ? ${ $keys[$_] } : "row_$_";
		my $make = ref $keys[$_] ? '' : "CREATE TABLE $table (id $keys[$_] PRIMARY KEY, i int)\n";
		[ 'StartTransactionCommand PortalRun CommitTransactionCommand', "EXECUTE row_$_\n" x $rows =~ s/\n$//r, $rows, "${make}PREPARE row_$_ AS INSERT INTO $table (i) VALUES (1)" ]
	} 0 .. $#keys);
}

1;
