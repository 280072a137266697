# Programs that make ids on leases of their own, as doc/clients has them: answers that are lost, late or doubled, a coordinator that
# restarts, goes away, and is promoted; programs that stand still, and whose clock is set. No id twice, and each in a lease of its holder.
#   FLAKEID_IDS=10000000 make check STEPS=tap PROVE_TESTS=test/world/210_lease_programs.pl
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use IPC::Run;
use JSON::PP qw(encode_json);
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Programs;
use Test::More;

my ($dir, @found) = lease_programs();
our @drivers = @found;
plan skip_all => 'needs node and npm, psycopg2, Go or Java' if !@drivers;
note 'programs in ', join ', ', map { $_->[0] } @drivers;
my $many = $ENV{FLAKEID_IDS} // 200_000;

# Java's driver knows no other sockets.
my $coordinator = coordinator('coordinator', conf => "wal_keep_size = 20GB\nlisten_addresses = '127.0.0.1'\n");
$coordinator->safe_psql('postgres', 'CREATE ROLE shop LOGIN IN ROLE flakeid_generator; CREATE TABLE made (id bigint, holder text)');
$coordinator->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($coordinator, 'base', has_streaming => 1);
my $now = $coordinator;    # who is the coordinator

# Programs, one in each language: their names are WHAT.LANGUAGE, and so are the files of their ids.
my %of;

sub programs
{
	my ($what, %option) = @_;
	my @servers = @{ delete $option{servers} // [ $coordinator, $standby ] };
	return map {
		my ($language, @command) = @$_;
		my $name = "$what.$language";
		$of{$name} = Programs->new(@command, "$dir/$name.ids",
			encode_json({ holder => $name, coordinators => Programs::coordinators($language, @servers), %option }));
		$name;
	} @drivers;
}

sub one { my ($sql) = @_; return $now->safe_psql('postgres', $sql) }
sub leases { my ($name, $what) = @_; return one("SELECT $what FROM flakeid.leases WHERE holder LIKE '$name on %'") }
sub process { my ($name) = @_; return leases($name, q{max(split_part(holder, ':', 2))}) }

# Asks until there are ids.
sub goes_on
{
	my ($name, $what) = @_;
	my $said;
	ok(wait_until(sub { ($said = $of{$name}->ask(1000)) =~ /^ok/ }), "$name: $what") or diag $said;
	return $said =~ s/^ok //r;
}

# Its input ends, and its ids go to the table.
sub ended
{
	for my $name (@_)
	{
		is($of{$name}->end, '0', "$name ends");
		is(leases($name, "count(*) FILTER (WHERE state = 'held')"), 0, 'and gave its node back');
	}
	return;
}

my $asking = q{FROM pg_stat_activity WHERE usename = 'shop' AND query LIKE '%lease_acquire%' AND state = 'active'};
sub waits { my ($how) = @_; return $now->poll_query_until('postgres', "SELECT count(*) > 0 $asking AND $how") || die "nobody waits: $how" }

# One at a time, so that it is known whose answer is lost.
for my $driver (map { [$_] } @drivers)
{
	local @drivers = @$driver;
	commits_wait($now);
	my ($name) = programs('lost', servers => [$coordinator], timeout => 600);
	$of{$name}->tell(10);
	waits(q{wait_event = 'SyncRep'});
	one("SELECT pg_cancel_backend(pid) $asking AND wait_event = 'SyncRep'");
	like($of{$name}->answer, qr/no node is leased: .*canceling wait for synchronous replication/i, "$name: an answer that was cut short is none");
	waits(q{wait_event = 'SyncRep'});
	one("SELECT pg_terminate_backend(pid) $asking AND wait_event = 'SyncRep'");
	waits(q{wait_event = 'SyncRep'});
	commits_go_on($now);
	goes_on($name, 'asks until there is an answer');
	is(leases($name, 'count(*)'), 1, 'and got one lease');
	cmp_ok(leases($name, 'max(renewals)'), '>=', 2, 'as often as it asked');
	ended($name);

	commits_wait($now);
	($name) = programs('late', servers => [$coordinator], timeout => 2);
	$of{$name}->tell(10);
	waits(q{wait_event = 'SyncRep'});
	my $first = one("SELECT min(pid) $asking");
	waits("pid <> $first");    # it asked again meanwhile
	commits_go_on($now);
	$of{$name}->answer;
	goes_on($name, 'a question that was asked twice');
	is(leases($name, 'count(*)'), 1, 'got one lease');
	ended($name);
}

# A coordinator that restarts, beside servers of the realm; programs that stand still for a while.
my $server = generator('server', $coordinator);
my @names = programs('many');
goes_on($_, 'makes ids') for @names;
my %node = map { $_ => leases($_, 'max(node)') } @names;
$of{$_}->tell($many) for @names;
my ($code, $drawn) = $server->psql('postgres', "SELECT flake_next() FROM generate_series(1, $many)");
is($code, 0, 'a server beside them');
$coordinator->stop('immediate');
$of{$_}->tell(1000) for @names;
$coordinator->start;
like($of{$_}->answer, qr/^ok/, "$_: $many ids") for @names, @names;
my %renewals = map { $_ => leases($_, 'sum(renewals)') } @names;
ok(wait_until(sub { leases($_, 'sum(renewals)') > $renewals{$_} }), "$_: renews when the coordinator is back") for @names;
ended(@names);
one('TRUNCATE ids');
add_ids($coordinator, "$drawn\n");
$server->stop;

# Leases that end: the coordinator is away, then the program stands still, and others get the node.
@names = programs('short', ttl => 4);
goes_on($_, 'makes ids') for @names;
$coordinator->stop;
for my $name (@names)
{
	my $said = '';
	ok(wait_until(sub { ($said = $of{$name}->ask(1)) !~ /^ok/ }), "$name: stops with its lease");
	like($said, qr/^the lease of node \d+ has ended: ./, 'and says why');
}
$coordinator->start;
goes_on($_, 'goes on with another lease') for @names;
for my $name (@names)
{
	my $id = process($name);
	my $node = goes_on($name, 'a lease');
	kill 'STOP', $id;
	ok(wait_until(sub { one(qq{SELECT count(*) FROM flakeid.leases WHERE holder LIKE '$name on %' AND state = 'held'}) == 0 }), "$name stands still until its lease has ended");
	one("SELECT flakeid.lease_acquire('default', 'another', '60 s', $node)");
	$of{$name}->tell(5000);
	kill 'CONT', $id;
	$of{$name}->answer;
	# Its clock is behind that of the coordinator by as long as an answer took: until the lease has ended by that, too, its
	# ids lie in the lease.
	ok(wait_until(sub { $of{$name}->ask(1000) =~ /^ok (\d+)/ && $1 != $node }), "$name: goes on, on another node");
}
ended(@names);

# A length of time that is none is refused before anybody is asked.
for my $driver (map { [$_] } grep { $_->[0] ne 'go' } @drivers)    # Go's have a type
{
	local @drivers = @$driver;
	my $asked = one('SELECT sum(sessions) FROM pg_stat_database');
	for my $option ([ ttl => '60s' ], [ ttl => 0 ], [ ttl => -1 ], [ ttl => 1e30 ], [ timeout => '10s' ], [ timeout => 0 ])
	{
		next if $driver->[0][0] eq 'java' && $option->[1] =~ /s/;
		my ($name) = programs('none', @$option);
		$of{$name}->tell(1);
		my $said = '';
		eval { $said = $of{$name}->answer; 1 } or $said = $@;
		like($said, qr/the program ended: .*\b$option->[0]\b.* is .*(number of seconds|out of range)/s, "$name: $option->[0] $option->[1]");
		eval { $of{$name}->end };
	}
}

# A generator may be closed by a signal handler, whatever that interrupts; and no id is later than what it said to be its last.
SKIP:
{
	my ($python) = grep { $_->[0] eq 'py' } @drivers;
	skip 'no psycopg2', 2 if !$python;
	my ($out, $err) = IPC::Run::run([ @$python[ 1 .. $#$python - 1 ], "$dir/close_in_signal.py", 40,
		encode_json({ holder => 'signal', coordinators => Programs::coordinators('py', $coordinator) }) ], '<', \undef, '>', \my $printed, '2>', \my $errors);
	is($errors . ($printed =~ tr/\n//), 40, 'closed in a signal handler, 40 times');
	my $last = join ',', map { "($_)" } split /\n/, $printed;
	is( one(qq{SELECT count(*) FROM (VALUES $last) AS i (id) WHERE NOT EXISTS (SELECT FROM flakeid.leases AS l WHERE l.holder LIKE 'signal on %'
			AND l.node = flake_node(i.id, 'snowflake') AND l.released_at IS NOT NULL AND flake_timestamp(i.id, 'snowflake') BETWEEN l.lease_start AND l.last_stamp)}),
		0, 'each last id is one of which the coordinator heard');
}

# The clock of the machine: an hour back, and an hour ahead.
{
	my $set_clock = sub { append_to_file("$dir/clock.new", "$_[0]\n"); rename "$dir/clock.new", "$dir/clock" or die $! };
	$set_clock->(0);
	PostgreSQL::Test::Utils::system_or_bail('cc', '-shared', '-fPIC', '-o', "$dir/shifted_clock.so", "$FindBin::Bin/shifted_clock.c", '-ldl');
	local %ENV = (%ENV, LD_PRELOAD => "$dir/shifted_clock.so", SHIFTED_WALL => "$dir/clock");
	local @drivers = grep { $_->[0] ne 'go' } @drivers;    # it asks the kernel, past what is preloaded
	@names = programs('clock');
	delete $ENV{LD_PRELOAD};
	goes_on($_, 'makes ids') for @names;
	for my $by (-3600, 3600, 0)
	{
		$set_clock->($by);
		is(int(1000.5 + (qx(LD_PRELOAD=$dir/shifted_clock.so date +%s) - time) / 3600) - 1000, $by / 3600, "a clock that is $by s ahead");
		goes_on($_, "goes on") for @names;
	}
	is(leases($_, 'count(*)'), 1, "$_: on one lease") for @names;
	ended(@names);
}

# A standby takes over, and renews what it knows of.
$standby->start;
@names = programs('promoted');
goes_on($_, 'makes ids') for @names;
%node = map { $_ => leases($_, 'max(node)') } @names;
sub collect
{
	for my $file (glob "$dir/*.ids")
	{
		my ($name) = $file =~ m{([^/]+)\.ids$};
		is(system("LC_ALL=C sort -C -n -u $file"), 0, "$name: ids rise");
		one("TRUNCATE took") if $now->safe_psql('postgres', "SELECT to_regclass('took') IS NOT NULL") eq 't';
		one('CREATE TABLE IF NOT EXISTS took (id bigint)');
		one("\\copy took FROM '$file'");
		one("INSERT INTO made SELECT id, '$name' FROM took; INSERT INTO ids SELECT id FROM took");
	}
	return;
}
$coordinator->wait_for_catchup($standby);
$coordinator->stop('immediate');
$standby->promote;
$now = $standby;
%renewals = map { $_ => leases($_, 'sum(renewals)') } @names;
ok(wait_until(sub { $of{$_}->ask(100); leases($_, 'sum(renewals)') > $renewals{$_} }), "$_: is renewed by the promoted coordinator") for @names;
is(goes_on($_, 'goes on'), $node{$_}, 'on its node') for @names;
ended(@names);

collect();
leases_hold($now, 'programs', @drivers * $many);
is( one(q{SELECT coalesce(string_agg(DISTINCT m.holder, ' '), '') FROM made AS m
		WHERE NOT EXISTS (SELECT FROM flakeid.leases AS l WHERE l.holder LIKE m.holder || ' on %' AND l.node = flake_node(m.id, 'snowflake')
			AND flake_timestamp(m.id, 'snowflake') >= l.lease_start AND flake_timestamp(m.id, 'snowflake') < l.lease_end)}),
	'', 'each id lies in a lease of its own program');
$standby->stop;
done_testing();
