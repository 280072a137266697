# An outbox that 16 sessions write, and consumers of it, as doc/clients has them, that are killed, stopped and cut off at random: each
# row once in what each consumer did, in the order of the ids.
#   FLAKEID_ROWS=100000 SEED=2 make check STEPS=tap PROVE_TESTS=test/world/211_outbox.pl
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use FlakeTest qw(server source_dir write_file);
use IPC::Run qw(start finish);
use Leases qw(wait_until);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Programs;
use Test::More;

my @drivers = drivers();
plan skip_all => 'needs node and npm, or psycopg2' if !@drivers;
my $rows = $ENV{FLAKEID_ROWS} // 16_000;
my $seed = $ENV{SEED} // 1;
srand $seed;

my $dir = copied(map { ("doc/clients/flake_outbox.$_", "test/clients/outbox/use.$_") } qw(mjs py));
my $node = server('main', 'wal_level = replica', 'max_wal_senders = 2');
my $from = source_dir() . '/test/clients/outbox';
$node->safe_psql('postgres', join '', map { slurp_file("$from/$_.sql") } qw(outbox done));
sub one { my ($sql) = @_; return $node->safe_psql('postgres', $sql) }

# Processes of three consumers: two of each language by itself, and one of both. What they print goes to files, since a server that is
# started meanwhile has the pipes too.
my @places = map { my $driver = $_; map { { driver => $driver, consumer => $_ } } ($driver->[0]) x 2, 'both' } @drivers;

sub put
{
	my ($place) = @_;
	my ($language, @command) = @{ $place->{driver} };
	local %ENV = (%ENV, $node->_get_env(PGDATABASE => 'postgres', PGUSER => scalar getpwuid($>)));
	my $pid = fork // die $!;
	if ($pid == 0)
	{
		open STDOUT, '>>', "$dir/log" or die $!;
		open STDERR, '>>', "$dir/log" or die $!;
		exec @command, "$dir/use.$language", $place->{consumer}, '{"batch": 50, "limit": 2}' or die $!;
	}
	return $place->{pid} = $pid;
}

END { kill 'KILL', map { $_->{pid} // () } @places }

# Each commits rows one by one or some at once, in transactions that overlap; some are rolled back.
write_file("$dir/write.sql", q{
\set rows random(1, 3)
\set ends random(1, 10)
BEGIN;
INSERT INTO outbox (body) SELECT 'row' FROM generate_series(1, :rows);
SELECT pg_sleep(random() / 20);
\if :ends = 1
ROLLBACK;
\else
COMMIT;
\endif
});
my $writers;
{
	local %ENV = (%ENV, $node->_get_env());
	# No faster than consumers read, so that they meet transactions that are under way.
	$writers = start([ 'pgbench', '-n', '-R', 300, '-c', 16, '-j', 2, '-t', int($rows / 16 / 1.8), '--random-seed', $seed, '-f', "$dir/write.sql", 'postgres' ],
		'<', \undef, '>', "$dir/pgbench", '2>&1');
}
put($_) for @places;

# What happens to them, each time after some more was done, and until all is: the last rows come when nobody writes.
my %happened;
my $written = 0;
my $stopped;
my $settled = sub {
	return one(q{SELECT (SELECT count(*) FROM outbox) * } . scalar(keys %{ { map { $_->{consumer} => 1 } @places } }) . q{ = (SELECT count(*) FROM done)}) eq 't';
};
my $going = 1;
until ($written && $settled->() || !$going)
{
	my $place = $places[ rand @places ];
	my $what = (qw(kill kill cut stop))[ rand 4 ];
	my $before = one('SELECT count(*) FROM done');
	if ($what eq 'kill')
	{
		kill 'KILL', $place->{pid};
		waitpid $place->{pid}, 0;
		put($place);
	}
	elsif ($what eq 'stop')
	{
		kill 'CONT', $stopped->{pid} if $stopped;
		kill 'STOP', ($stopped = $place)->{pid};
	}
	else
	{
		my @sessions = split /\n/, one(q{SELECT pid FROM pg_stat_activity WHERE query ~ 'consumer|LISTEN|done' AND pid <> pg_backend_pid() ORDER BY pid});
		one("SELECT pg_terminate_backend($sessions[rand @sessions])") if @sessions;
	}
	$happened{$what}++;
	# Somebody gets on before the next thing happens.
	my $more = 20 + int rand 200;
	$going = wait_until(sub {
		$written ||= slurp_file("$dir/pgbench") =~ /^tps/m;
		return one("SELECT count(*) >= $before + $more FROM done") eq 't' || $written && $settled->();
	});
}
ok($going, "$rows rows, seed $seed");
kill 'CONT', $stopped->{pid} if $stopped;
ok(finish($writers), 'the writers wrote');
like(slurp_file("$dir/pgbench"), qr/number of failed transactions: 0|processed: (\d+)\/\1/, 'all of it');
note 'happened: ', join ', ', map { "$_ $happened{$_}" } sort keys %happened;

# A commit that was done, and whose answer is lost.
commits_wait($node);
one(q{SET synchronous_commit = off; INSERT INTO outbox (body) SELECT 'late' FROM generate_series(1, 100)});
my $waiting = q{FROM pg_stat_activity WHERE wait_event = 'SyncRep'};
for (1 .. 2)
{
	$node->poll_query_until('postgres', "SELECT count(*) > 0 $waiting") or die 'nobody commits';
	one("SELECT count(pg_terminate_backend(pid)) $waiting");
}
commits_go_on($node);
ok(wait_until($settled), 'answers that were lost');

# The server crashes.
one(q{INSERT INTO outbox (body) SELECT 'more' FROM generate_series(1, 2000)});
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM done WHERE id > (SELECT max(id) FROM outbox WHERE body = 'late')});
$node->stop('immediate');
$node->start;
ok(wait_until($settled), 'a server that crashed');

kill 'TERM', map { $_->{pid} } @places;
is((waitpid($_->{pid}, 0), $?)[1], 0, "$_->{consumer} ends") for @places;
cmp_ok(one('SELECT count(*) FROM outbox'), '>', $rows / 2, 'rows');
for my $consumer (do { my %seen; grep { !$seen{$_}++ } map { $_->{consumer} } @places })
{
	is(one("SELECT count(*) - count(DISTINCT id) FROM done WHERE consumer = '$consumer'"), 0, "$consumer: no row twice");
	is(one("SELECT count(*) FROM outbox WHERE id NOT IN (SELECT id FROM done WHERE consumer = '$consumer')"), 0, "$consumer: no row lost");
	is(one("SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY number) AS before FROM done WHERE consumer = '$consumer') AS d WHERE id <= before"), 0, "$consumer: in order");
	cmp_ok(one("SELECT count(DISTINCT process) FROM done WHERE consumer = '$consumer'"), '>', 1, "$consumer: several processes");
}
note one(q{SELECT string_agg(consumer || ' ' || n || ' of ' || p, ', ') FROM (SELECT consumer, count(*) AS n, count(DISTINCT process) AS p FROM done GROUP BY 1) AS d});
$node->stop;
done_testing();
