# Pollers that read up to the settled mark, while writers do whatever writers do, are killed, and
# lose their server. Beside them one that reads by the last id alone, and one with a margin of time.
package Torture::Scenario::Settled;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Scenario;
use Torture::Server;
use Torture::Session;

our @EXPORT = qw(settled);

my $writers = 16;
my $sleep = 'SELECT pg_sleep(random() * 0.02);';
my $poll_py = dirname(__FILE__) . '/../../../poll.py';

# What a writer does: round trips, split by bars. NAME is a name that no other transaction has,
# COUNT the number of rows.
my $parallel = q{SELECT set_config(name, 'on', true) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
	CREATE TEMPORARY TABLE drawn ON COMMIT DROP AS SELECT flake_next() AS id FROM generate_series(1, COUNT);};
my @ways = (
	'INSERT INTO rows VALUES (DEFAULT, COUNT)',
	"BEGIN; INSERT INTO rows SELECT FROM generate_series(1, COUNT); $sleep COMMIT",
	"BEGIN; INSERT INTO rows VALUES (DEFAULT); $sleep INSERT INTO rows SELECT flake_next_many(COUNT); $sleep COMMIT",
	"BEGIN; SAVEPOINT s; INSERT INTO rows VALUES (DEFAULT); ROLLBACK TO s; $sleep INSERT INTO rows SELECT FROM generate_series(1, COUNT); COMMIT",
	"BEGIN; INSERT INTO rows SELECT FROM generate_series(1, COUNT); $sleep ROLLBACK",
	"BEGIN; SELECT flake_next(); $sleep COMMIT",
	"BEGIN; INSERT INTO rows SELECT FROM generate_series(1, COUNT); PREPARE TRANSACTION 'NAME' | $sleep | COMMIT PREPARED 'NAME'",
	"BEGIN; INSERT INTO rows VALUES (DEFAULT); PREPARE TRANSACTION 'NAME' | $sleep | ROLLBACK PREPARED 'NAME'",
	"BEGIN; COPY rows (n) FROM PROGRAM 'seq 1 COUNT'; $sleep COMMIT",
	"BEGIN; $parallel $sleep INSERT INTO rows SELECT id FROM drawn; COMMIT",
	"BEGIN; SET LOCAL flakeid.cache = 50; INSERT INTO rows SELECT FROM generate_series(1, COUNT); $sleep COMMIT",
	"BEGIN; INSERT INTO rows SELECT first + i FROM (SELECT flake_block(20)::bigint AS first OFFSET 0) AS b, generate_series(0, 19) AS i; $sleep COMMIT");
# Longer than the margin of the poller that has one
my $long = 'BEGIN; INSERT INTO rows VALUES (DEFAULT); SELECT pg_sleep(2); COMMIT';

# How a poller reads: the statements, of which the last but COMMIT gives the rows. LAST is the last id,
# GIVEN what was given before.
my $rows = 'SELECT id FROM rows WHERE id > LAST AND id <';
my %pollers = (
	'two statements' => [ 'SELECT flake_settled()', "$rows GIVEN ORDER BY id LIMIT 5000" ],
	'one statement' => ["$rows flake_settled() ORDER BY id LIMIT 5000"],
	'repeatable read' => [ 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT count(*) FROM pg_class', 'SELECT pg_sleep(random() * 0.05)',
		"$rows flake_settled() ORDER BY id LIMIT 5000", 'COMMIT' ],
	'last id' => ["$rows 9223372036854775807 ORDER BY id LIMIT 100000"],
	'margin of 1 s' => ["$rows flake_floor(now() - interval '1 s') ORDER BY id LIMIT 100000"]);

sub number_in
{
	my ($file) = @_;
	open my $in, '<', $file or return;
	return scalar <$in>;
}

sub write_rows
{
	my ($server, $n, $stop, $size) = @_;
	srand $n;
	my ($session, $done);
	while (!-e $stop)
	{
		$session //= Torture::Session->new($server->{dir}, 'd1');
		if (!$session) { sleep 0.05; next }
		my $way = $n < 2 ? $long : $ways[ rand @ways ];
		my %value = (NAME => "w$n." . ++$done, COUNT => int 1 + rand $size);
		my $answer;
		for my $sql (split / \| /, $way =~ s/(NAME|COUNT)/$value{$1}/gr)
		{
			$answer = $session->run($sql);
			last if $answer->{code} || $answer->{lost};
		}
		$session->run('ROLLBACK') if $answer->{code} && !$answer->{lost};
		die "$way: $answer->{message}\n" if $answer->{code} && $answer->{code} !~ /^(?:55000|57|53|38000|25P02|42704)/;
		undef $session if $answer->{lost};
		sleep 0.02 if $answer->{code};
	}
	return;
}

sub poll
{
	my ($server, $how, $file, $end) = @_;
	open my $out, '>', $file or die $!;
	my ($session, $last, $stop) = (undef, 0);
	until (defined($stop = number_in($end)) && $last >= $stop)
	{
		$session //= Torture::Session->new($server->{dir}, 'd1');
		if (!$session) { sleep 0.05; next }
		my ($answer, @found);
		my %value = (LAST => $last);
		for my $sql (@{ $pollers{$how} })
		{
			$answer = $session->run($sql =~ s/(LAST|GIVEN)/$value{$1}/gr);
			last if $answer->{code} || $answer->{lost};
			$value{GIVEN} = $answer->{rows}[0] ? $answer->{rows}[0][0] : 0;
			@found = map { $_->[0] } @{ $answer->{rows} } if $sql =~ /FROM rows/;
		}
		if ($answer->{lost}) { undef $session; next }
		if ($answer->{code})
		{
			die "$how: $answer->{message}\n" if $answer->{code} !~ /^5[57]/;
			$session->run('ROLLBACK');
		}
		print $out map { "$_\n" } @found;
		$last = $found[-1] if @found;
		sleep 0.01 if !@found;
	}
	close $out or die $!;
	return;
}

sub start
{
	my ($action) = @_;
	my $pid = fork // die $!;
	if (!$pid)
	{
		my $done = eval { $action->(); 1 };
		warn $@ if !$done;
		POSIX::_exit($done ? 0 : 1);
	}
	return $pid;
}

sub ended_well
{
	my $failed = 0;
	for my $pid (@_)
	{
		waitpid $pid, 0;
		$failed++ if $?;
	}
	return !$failed;
}

sub commit_prepared
{
	my ($server) = @_;
	my $session = $server->connect('d1');
	$session->run("COMMIT PREPARED '$_->[0]'") for @{ $session->run('SELECT gid FROM pg_prepared_xacts')->{rows} };
	return;
}

# What a poller missed of the rows, and what it read twice or out of order
sub judge
{
	my ($file, $all) = @_;
	open my $in, '<', $file or die $!;
	my ($last, $wrong, %seen) = (0, 0);
	while (my $id = <$in>)
	{
		chomp $id;
		$wrong++ if $id <= $last;
		$seen{$id} = 1;
		$last = $id;
	}
	return (scalar(grep { !$seen{$_} } @$all), $wrong + keys(%seen) - grep { $seen{$_} } @$all);
}

sub settled
{
	my ($layout, %o) = @_;
	my $server = Torture::Server->create(layout => $layout, preload => $o{preload} // 1,
		conf => "max_prepared_transactions = 20\nmax_worker_processes = 16\nmax_parallel_workers = 16\n");
	$server->value('d1', 'CREATE TABLE rows (id flake PRIMARY KEY DEFAULT flake_next(), n int)');
	my ($stop, $end) = map { "$server->{dir}/$_" } qw(stop end);
	my @writing = map { my $n = $_; start(sub { write_rows($server, $n, $stop, $o{ids} > 100_000 ? 400 : 40) }) } 0 .. $writers - 1;
	my %file = map { $_ => "$server->{dir}/seen." . tr/ /_/r } keys %pollers, 'psycopg2';
	my @polling = map { my $how = $_; start(sub { poll($server, $how, $file{$how}, $end) }) } sort keys %pollers;
	push @polling, start(sub { exec 'python3', $poll_py, $server->{dir}, 'd1', $file{psycopg2}, $end or die $! });

	my %done = (terminated => 0, killed => 0, restarted => 0, 'clock moved' => 0);
	my $rounds = 0;
	my $enough = 0;
	until ($enough)
	{
		sleep 0.5;
		$rounds++;
		my $session = Torture::Session->new($server->{dir}, 'd1') or next;
		my $answer = $session->run(q{SELECT pid, backend_type FROM pg_stat_activity WHERE query ~ 'INTO rows' AND pid <> pg_backend_pid() ORDER BY random()});
		my @pids = map { $_->[0] } @{ $answer->{rows} };
		my ($writer) = map { $_->[0] } grep { $_->[1] eq 'client backend' } @{ $answer->{rows} };    # a parallel worker may have ended
		if ($rounds % 4 == 0 && @pids)
		{
			$session->run("SELECT pg_terminate_backend($pids[0])");
			$done{terminated}++;
		}
		if ($rounds % 3 == 0)
		{
			$server->move_clock(rand(0.6) - 0.25);
			$done{'clock moved'}++;
		}
		if ($rounds % 20 == 7 && $writer)
		{
			my $log = $server->log_size;
			kill 'KILL', $writer;
			wait_until(sub { $server->log($log) =~ /ready to accept connections/ }) or die 'the server does not come back';
			$done{killed}++;
			sleep 0.2;
			commit_prepared($server);
		}
		if ($rounds % 30 == 17)
		{
			$server->stop($done{restarted}++ % 2 ? 'immediate' : 'fast');
			$server->start;
			sleep 0.2;
			commit_prepared($server);
		}
		next if $rounds % 10 || $rounds < 40;
		$session = Torture::Session->new($server->{dir}, 'd1') or next;
		my $count = $session->run('SELECT count(*) FROM rows')->{rows};
		$enough = $count->[0] && $count->[0][0] >= $o{ids};
	}
	open my $out, '>', $stop or die $!;
	close $out;
	my $well = ended_well(@writing);
	commit_prepared($server);
	my $all = [ map { $_->[0] } @{ $server->connect('d1')->run('SELECT id FROM rows ORDER BY id')->{rows} } ];
	open $out, '>', "$end.new" or die $!;
	print $out $all->[-1];
	close $out;
	rename "$end.new", $end or die $!;
	ok(ended_well(@polling) && $well, "settled, $layout: all sessions ended well");

	my (%lost, %wrong);
	($lost{$_}, $wrong{$_}) = judge($file{$_}, $all) for keys %file;
	for my $how ('two statements', 'one statement', 'repeatable read', 'psycopg2')
	{
		is("$lost{$how} $wrong{$how}", '0 0', "settled, $layout: $how: each of " . @$all . ' rows once, in order');
	}
	cmp_ok($lost{$_}, '>', 0, "settled, $layout: $_ loses rows") for 'last id', 'margin of 1 s';
	$server->drop;
	my $what = join ', ', map { "$done{$_} $_" } sort keys %done;
	return {
		scenario => 'settled', layout => $layout, ids => scalar @$all, sessions => $writers + keys %file,
		what => "16 writers, $what; 4 pollers up to the mark miss nothing; by `id > last` $lost{'last id'} rows are lost, with a margin of 1 s $lost{'margin of 1 s'}",
		repeated => 0
	};
}

1;
