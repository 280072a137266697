# What ordinary roles can do to their neighbours: 10 sessions draw one id a statement while 20 others
# do everything that is cheap and may hurt. Compared with 20 neighbours that draw as they do, by what
# was drawn and by the server's counters.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($victims, $others, $seconds) = (10, 20, 5);
my $huge = 2147483647;
my $dir = PostgreSQL::Test::Utils::tempdir();

# A server with four databases for whoever lives there.
sub neighbourhood
{
	my ($name) = @_;
	my $node = server($name, 'max_connections = 60');
	$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');
	for my $i (1 .. 4)
	{
		$node->safe_psql('postgres', "CREATE DATABASE d$i");
		$node->safe_psql("d$i", 'CREATE EXTENSION flakeid');
	}
	return $node;
}

sub scripts
{
	my ($name, @statements) = @_;
	return [ map { write_file("$dir/$name$_", "$statements[$_];\n", 0644) } 0 .. $#statements ];
}
my %neighbours = (
	honest => scripts('honest', 'SELECT flake_next()'),
	blocks => scripts('block', 'SELECT flake_block(4096) FROM generate_series(1, 5)'),
	attacks => scripts('attack',
		"SELECT flake_next_many($huge) LIMIT 1",
		"SELECT flake_next_many($huge, 'twitter') LIMIT 1",
		"SELECT flake_next_many($huge) FROM generate_series(1, 1000) LIMIT 1",
		"BEGIN; DECLARE c CURSOR FOR SELECT flake_next_many($huge); FETCH 2 FROM c; COMMIT",
		"BEGIN; DECLARE c SCROLL CURSOR FOR SELECT flake_next_many(100000); FETCH 10 FROM c; COMMIT",
		'SELECT flake_block(4096)',
		q{SELECT flake_block(4096, 'twitter') FROM generate_series(1, 5)},
		'SELECT count(*) FROM flake_next_many(100000)',
		'SELECT count(flake_next()) FROM generate_series(1, 100000)',
		'SELECT (SELECT count(*) FROM flakeid.layouts WHERE CASE WHEN alive AND NOT enciphered THEN flake_next(name) > 0 END)',
		q{SELECT pg_try_advisory_lock(n) FROM generate_series(1, 1000) n},
		q{SELECT pg_advisory_lock(hashtextextended('flakeid realm default', 0))},
		'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(flake_next()) FROM generate_series(1, 1000); ROLLBACK',
		'SELECT * FROM flakeid.status',
		'SELECT count(*) FROM flakeid.stats, generate_series(1, 1000)'));
my @kinds = sort keys %neighbours;
my %server = map { $_ => neighbourhood($_) } @kinds;

# What a statement reserves: no more than twice what its caller takes.
my $ids = sub { return $server{honest}->safe_psql('postgres', 'SELECT issued FROM flakeid.stats') };
for ([ "SELECT flake_next_many($huge) LIMIT 1" => 1 ], [ "SELECT flake_next_many($huge) LIMIT 100" => 200 ],
	[ "BEGIN; DECLARE c CURSOR FOR SELECT flake_next_many($huge); FETCH 5 FROM c; COMMIT" => 10 ],
	[ "SELECT FROM generate_series(1, 50) WHERE EXISTS (SELECT flake_next_many($huge))" => 50 ],
	[ 'SELECT count(*) FROM flake_next_many(5000)' => 5000 ])
{
	my ($statement, $most) = @$_;
	my $before = $ids->();
	$server{honest}->safe_psql('d1', $statement);
	cmp_ok($ids->() - $before, '<=', $most, "$statement: at most $most ids are reserved");
}

# Sessions that run a script over and over, each with a thread: a scheduler gives each its share.
sub drawing
{
	my ($database, $sessions, $time, $script, $out, $err) = @_;
	return IPC::Run::start([ 'pgbench', '-n', '-c', $sessions, '-j', $sessions, '-T', $time, '-U', 'ordinary', '-f', $script, $database ],
		'<', \undef, '>', $out, '2>', $err);
}
my $there = "SELECT count(*) = $others FROM pg_stat_activity WHERE usename = 'ordinary' AND backend_type = 'client backend'";

# Who draws many at once leaves what others need before the horizon can be extended again.
for ([ 'd2', 'blocks', 'SELECT count(flake_block(4096)) FROM generate_series(1, 100000)', 'flake_next()' ],
	[ 'd3', 'a cache of many ticks', "SET flakeid.cache = 10000; SELECT count(flake_next('$FlakeTest::narrow')) FROM generate_series(1, 100000)", "flake_next('$FlakeTest::narrow')" ])
{
	my ($database, $what, $many, $one) = @$_;
	my $of_many = "FROM pg_stat_activity WHERE datname = '$database' AND state = 'active'";
	my $session = $server{honest}->background_psql($database, on_error_stop => 0);
	$session->query_until(qr/begun/, "\\echo begun\n$many;\n");
	$server{honest}->poll_query_until('postgres', "SELECT wait_event = 'Extension' $of_many") or die 'it does not wait';
	$server{honest}->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $of_many");
	$server{honest}->poll_query_until('postgres', "SELECT count(*) = 0 $of_many") or die 'it does not end';
	my $waits = $server{honest}->safe_psql('postgres', 'SELECT waits FROM flakeid.stats');
	$server{honest}->safe_psql($database, "SELECT $one FROM generate_series(1, 100)");
	is($server{honest}->safe_psql('postgres', 'SELECT waits FROM flakeid.stats'), $waits, "beside $what nobody waits for the horizon");
	$session->quit;
}

# All kinds at once, each on its server, so that the machine and its scheduler are the same for all.
my @runs;
for my $kind (@kinds)
{
	my @scripts = @{ $neighbours{$kind} };
	$server{$kind}->safe_psql("d$_", 'SELECT flake_next()') for 1 .. 4;
	push @runs, map { drawing($server{$kind}->connstr('d' . (1 + $_ % 4)), 1, 3600, $scripts[ $_ % @scripts ], '/dev/null', '/dev/null') } 0 .. $others - 1;
}
$server{$_}->poll_query_until('postgres', $there) or die "$_: not all come" for @kinds;
sleep 1;    # the time to run ahead
# A pause of the machine may hit one of them alone. Whom nobody gives way to loses in every round.
my %kept;
for my $round (1 .. 5)
{
	my (%out, %err, %victims);
	$victims{$_} = drawing($server{$_}->connstr('d1'), $victims, $seconds, $neighbours{honest}[0], \$out{$_}, \$err{$_}) for @kinds;
	$_->finish for values %victims;
	for my $kind (@kinds)
	{
		($kept{$kind}) = $out{$kind} =~ /number of transactions actually processed: (\d+)/;
		unlike($err{$kind}, qr/ERROR/, "$kind: no error");
		ok($server{$kind}->poll_query_until('postgres', $there), "$kind: the neighbours are still there");
		note "$kind: $kept{$kind} ids; waits and furthest ahead of the server: ",
		  $server{$kind}->safe_psql('postgres', 'SELECT waits, ahead_max FROM flakeid.stats');
	}
	last if !grep { $kept{$_} < $kept{honest} / 2 } @kinds;
}
$_->signal('TERM') for @runs;
$_->finish for @runs;
cmp_ok($kept{$_}, '>=', $kept{honest} / 2, "$_: the victims keep at least half of what honest neighbours leave") for 'attacks', 'blocks';
$_->stop for values %server;

done_testing();
