# What the TAP tests share.
package FlakeTest;
use strict;
use warnings;

use Exporter 'import';
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(source_dir server installation refusal write_file draw_at_once draw_ahead shell counts rising parallel_setting c_library schemas);

# A server begins as a copy of $INITDB_TEMPLATE, where there is one: the framework itself does so from PostgreSQL 17 on.
# It counts as new for ten minutes after its initdb only, so half of that is left to a test.
my $days = -M(($ENV{INITDB_TEMPLATE} // '') . '/PG_VERSION');
delete $ENV{INITDB_TEMPLATE} if ($days // 1) > 5 / (24 * 60);
my $system = \&PostgreSQL::Test::Utils::system_or_bail;
{
	no warnings 'redefine';
	*PostgreSQL::Test::Utils::system_or_bail = sub {
		my ($program, undef, $data, @options) = @_;
		return $system->('cp', '-RPp', $ENV{INITDB_TEMPLATE}, $data)
		  if $program eq 'initdb' && $ENV{INITDB_TEMPLATE} && "@options" eq '-A trust -N';
		return $system->(@_);
	};
}

# The top of the source tree.
sub source_dir { return abs_path(dirname(abs_path(__FILE__)) . '/../..') }

# A running server with these lines in its configuration and flakeid in database postgres.
sub server
{
	my ($name, @conf) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	$node->append_conf('postgresql.conf', "$_\n") for @conf;
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# An installation of PostgreSQL and flakeid of the test's own, whose files it may change: the directory of its programs. Servers are of it
# with install_path => dirname(installation()).
sub installation
{
	my $first_line = sub { my ($out) = run_command([@_]); chomp $out; return $out };
	my $bin = $first_line->(source_dir() . '/test/stage', PostgreSQL::Test::Utils::tempdir() . '/stage');
	for my $of ([ '--pkglibdir', 'flakeid*.so' ], [ '--sharedir', 'extension/flakeid*' ])
	{
		my ($from, $to) = map { $first_line->($_, $of->[0]) } 'pg_config', "$bin/pg_config";
		copy($_, $to . substr($_, length $from)) or die "$_: $!" for glob "$from/$of->[1]";
	}
	return $bin;
}

# Runs test/schemas/run with some seeds, on a server of their own. Returns whether nothing failed but what is known, and what was printed.
sub schemas
{
	my ($first, $count) = @_;
	my ($python) = grep { -x $_ && system("$_ -c 'import psycopg2' 2>/dev/null") == 0 } qw(/usr/bin/python3 /usr/local/bin/python3);
	die 'no python3 that has psycopg2' if !$python;
	our $for_schemas //= PostgreSQL::Test::Cluster->new('schemas');
	if (!-d $for_schemas->data_dir)
	{
		$for_schemas->init(extra => ['--encoding=UTF8']); # some names are not ASCII
		$for_schemas->append_conf('postgresql.conf', "fsync = off\nwal_level = logical\nmax_connections = 30\nrestart_after_crash = on\n");
		$for_schemas->start;
	}
	local %ENV = $for_schemas->_get_env;
	my $said = '';
	my $found = IPC::Run::run([ $python, source_dir() . '/test/schemas/run', $first, $count ], '<', \undef, '>&', \$said);
	return ($found, $said);
}

# What no hint says: a number that another server may be told, too.
our $prints_node = qr/flakeid\.node\s*(?:=|TO)\s*'?\d/i;

# How a statement, the last one, is refused: "SQLSTATE: message", then detail and hint in lines of
# their own; the empty string when it is not.
sub refusal
{
	my ($node, $sql, %params) = @_;
	my ($result, $out, $err) = $node->psql(
		$params{database} // 'postgres', $sql,
		on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=verbose', $params{user} ? ('-U', $params{user}) : () ]);
	my @errors = $err =~ /^(?:psql:<stdin>:\d+: )?ERROR: +(.*?)\s*^(?:CONTEXT|LOCATION)/msg;
	(my $error = $errors[-1] // '') =~ s/^(DETAIL|HINT): +/lc($1) . ': '/gme;
	# Two servers that are told the same number, and are given it, make the same ids.
	die "a hint prints a node: $error" if $error =~ /^hint: .*$prints_node/ms;
	return $error;
}

# Writes a file of exactly this text and mode.
sub write_file
{
	my ($file, $text, $mode) = @_;
	unlink $file;
	open(my $handle, '>', $file) or die "$file: $!";
	print $handle $text;
	close $handle;
	chmod $mode // 0600, $file or die "$file: $!";
	return $file;
}

# Runs every query in a session of its own, all at the same time, and returns the files with the
# lines that each printed. A query is [database, text, settings for PGOPTIONS].
my $files = 0;

sub draw_at_once
{
	my ($node, @queries) = @_;
	my (%gate, %waiting, @sessions);

	# Advisory locks belong to a database, so each has a gate.
	for my $query (@queries)
	{
		my $database = $query->[0];
		$gate{$database} //= $node->background_psql($database);
		$waiting{$database}++;
	}
	$_->query_safe('SELECT pg_advisory_lock(1)') for values %gate;

	local %ENV = $node->_get_env();
	for my $query (@queries)
	{
		my ($database, $sql, $options) = @$query;
		local $ENV{PGOPTIONS} = $options // '';
		my $file = PostgreSQL::Test::Utils::tempdir() . '/drawn.' . $files++;
		my $err = '';
		push @sessions,
		  {
			file => $file,
			err => \$err,
			run => IPC::Run::start(
				[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $database,
					'-c', 'SELECT FROM pg_advisory_lock_shared(1)', '-c', "COPY ($sql) TO STDOUT" ],
				'<', \undef, '>', $file, '2>', \$err)
		  };
	}
	$node->poll_query_until(
		$_, qq{SELECT count(*) = $waiting{$_} FROM pg_locks JOIN pg_database d ON d.oid = database
			WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()})
	  or die "sessions in $_ do not come to the gate"
	  for keys %gate;
	$_->query_safe('SELECT pg_advisory_unlock(1)') for values %gate;
	$_->{run}->finish or die "session failed: ${$_->{err}}" for @sessions;
	$_->quit for values %gate;
	return map { $_->{file} } @sessions;
}

# Draws until the ids lie more than a second ahead of the clock, and returns the last one. What comes
# after it is above it because it is remembered, and not because time has passed.
our $narrow = 'time:41:1ms node:10 sequence:1';

sub draw_ahead
{
	my ($node, $database) = @_;
	for (1 .. 10)
	{
		my ($last, $ahead) = split /\|/, $node->safe_psql($database, qq{
			SELECT max(id), flake_timestamp(max(id), '$narrow') - clock_timestamp() > interval '1 s'
			FROM (SELECT flake_next('$narrow') AS id FROM generate_series(1, 3600) OFFSET 0) AS s});
		return $last if $ahead eq 't';
	}
	die 'the clock keeps up with the ids';
}

sub shell
{
	my ($command) = @_;
	chomp(my $out = `LC_ALL=C; export LC_ALL; $command`);
	return $out;
}

# Of files with an id first in each line: how many there are together, and how many distinct ones.
sub counts { return join ' of ', shell("cut -f1 @_ | sort -u | wc -l"), shell("cat @_ | wc -l") }

# How many of these files have the numbers of that column in strictly rising order.
sub rising
{
	my ($column, @of) = @_;
	return scalar grep { shell("cut -f$column $_ | sort -Cnu; echo \$?") == 0 } @of;
}

# Compiles a library for the server from C functions, and returns its path without the suffix.
sub c_library
{
	my ($name, $functions) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	write_file("$dir/$name.c", qq{#include "postgres.h"\n#include "fmgr.h"\nPG_MODULE_MAGIC;\n$functions\n});
	write_file("$dir/$name.mk", "MODULES = $name\nPGXS := \$(shell pg_config --pgxs)\ninclude \$(PGXS)\n");
	my ($out, $err) = run_command([ 'make', '-s', '-C', $dir, '-f', "$name.mk", 'with_llvm=no' ]);
	-e "$dir/$name.so" or die "no $name.so: $out $err";
	return "$dir/$name";
}

# The setting that makes the planner use a worker wherever it may.
sub parallel_setting
{
	my ($node) = @_;
	return $node->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
}

1;
