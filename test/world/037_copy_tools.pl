# What people copy a server with: the copy is put back over the original, which had gone on, or starts elsewhere once the
# original is gone, or takes turns with it as its standby, which pg_rewind made. None makes an id of another again, in whatever
# database.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t", "$FindBin::Bin/../torture/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Torture::Scenario qw(caught_up);
use Torture::Server;

# A layout that a burst drives ahead of the clock, as far as flakeid.max_ahead allows
my $layout = 'sonyflake';
my $file = 0;
my @files;

sub draw
{
	my ($server, $database, $count) = @_;
	push @files, Torture::Server::top() . '/ids.' . $file++;
	$server->client('psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-o', $files[-1], '-c', "SELECT flake_next_many($count)");
	return;
}

# Until that many ids lie ahead of the clock that one more database would make them again
sub burst
{
	my ($server) = @_;
	draw($server, 'd1', 1);
	draw($server, 'd1', 60000) for 1 .. 2;
	return;
}

sub never_twice
{
	my ($server, $what, $before) = @_;
	draw($server, 'd2', 1);
	draw($server, 'd1', 40000);
	draw($server, 'd2', 20000);
	my $all = ($before // 120_101) + 60_001;
	is(counts(@files), "$all of $all", "$what: no id twice");
	return;
}

sub follow { my ($server) = @_; return "primary_conninfo = 'host=$server->{dir} port=5432 user=postgres'\n" }
sub shell_ok { my ($command) = @_; return Torture::Server::command('sh', '-ec', $command) }

# How a copy in $1 takes the place of $2
my %put_back = (
	'rsync -a --delete' => 'rsync -a --delete "$1/" "$2/"',
	'rsync -a --delete --checksum' => 'rsync -a --delete --checksum "$1/" "$2/"',
	'rsync -a --delete --inplace' => 'rsync -a --delete --inplace "$1/" "$2/"',
	'cp -a in its place' => 'rm -rf "$2"; cp -a "$1" "$2"',
	'cp -a over it' => 'cp -a "$1/." "$2/"',
	'cp -r over it' => 'cp -r "$1/." "$2/"',
	'tar' => 'tar -C "$1" -c . | tar -C "$2" -x',
	'mv' => 'rm -rf "$2"; mv "$1" "$2"',
);

for my $from ('cold', 'pg_basebackup')
{
	for my $how (sort keys %put_back)
	{
		@files = ();
		my $server = Torture::Server->create(layout => $layout, databases => 2, real_clock => 1);
		my ($data, $copy) = ($server->{data}, "$server->{dir}/copy");
		draw($server, 'd1', 100);
		if ($from eq 'cold')
		{
			$server->stop;
			shell_ok("cp -a '$data' '$copy'");
			$server->start;
		}
		else
		{
			$server->client('pg_basebackup', '-D', $copy, '--no-sync', '-c', 'fast');
		}
		burst($server);
		$server->stop;
		shell_ok("set -- '$copy' '$data'; $put_back{$how}");
		$server->start;
		never_twice($server, "$from, put back by $how");
		$server->drop;
	}

	# The original is gone, and the copy begins elsewhere.
	@files = ();
	my $server = Torture::Server->create(layout => $layout, databases => 2, real_clock => 1);
	my $copy = Torture::Server::top() . "/copy.$from";
	draw($server, 'd1', 100);
	$from eq 'cold' ? ($server->stop, shell_ok("cp -a '$server->{data}' '$copy'"), $server->start) : $server->client('pg_basebackup', '-D', $copy, '--no-sync', '-c', 'fast');
	burst($server);
	$server->kill_all;
	my $other = Torture::Server->new(layout => $layout, real_clock => 1, name => "elsewhere.$from", copy_of => $copy);
	$other->start;
	never_twice($other, "$from, started elsewhere");
	$_->drop for $server, $other;
}

# One database stamps almost as far ahead of the clock as its flakeid.max_ahead allows, and the server is stopped. However long it
# takes to put a copy in its place, the ids of that begin past it.
sub far_ahead
{
	my $server = Torture::Server->create(databases => 2);
	$server->value('postgres', q{ALTER DATABASE d1 SET flakeid.max_ahead = '10min'});
	$server->value($_, 'SELECT flake_next()') for 'd1', 'd2';
	return $server;
}

sub stamp_ahead
{
	my ($server) = @_;
	$server->move_clock(580);
	my $last = $server->value('d1', 'SELECT flake_next()');
	$server->stop;
	$server->move_clock(-580);
	return $last;
}

sub begins_past
{
	my ($server, $last, $what) = @_;
	cmp_ok($server->value($_, q{SET flakeid.max_ahead = '20min'; SELECT flake_next()}), '>', $last, "$what: ids of $_ begin past the last of the original") for 'd2', 'd1';
	return;
}

# pgBackRest puts its backup back over the original: one of a server that stood still as it is, one of a server that ran up to
# where that backup ended.
SKIP:
{
	skip 'pgBackRest is not installed', 4 if !grep { -x "$_/pgbackrest" } split /:/, $ENV{PATH};
	my %kind = (cold => [ [ '--no-online' ], ['--type=none'] ], online => [ [], [ '--type=immediate', '--target-action=promote' ] ]);
	for my $kind (sort keys %kind)
	{
		my ($backup, $restore) = @{ $kind{$kind} };
		my $server = far_ahead();
		my $tool = "$server->{dir}/pgbackrest";
		my $run = "pgbackrest --config=$tool/conf --stanza=main";
		mkdir $tool or die $!;
		append_to_file("$tool/conf", <<END);
[global]
repo1-path=$tool/repo
lock-path=$tool/lock
log-level-file=off
log-level-console=warn
start-fast=y

[main]
pg1-path=$server->{data}
pg1-socket-path=$server->{dir}
pg1-user=postgres
END
		append_to_file("$server->{data}/postgresql.conf", "archive_mode = on\narchive_command = '$run archive-push %p'\n") if $kind eq 'online';
		$server->stop;
		$server->start if $kind eq 'online';
		shell_ok("$run stanza-create @$backup; $run backup --type=full @$backup");
		$server->start if $kind eq 'cold';
		my $last = stamp_ahead($server);
		shell_ok("$run restore --delta @$restore");
		# A session that ends during recovery takes the semaphore of libfaketime away, without which restore_command fails.
		my $ready = sub { return scalar(() = slurp_file("$server->{dir}/log") =~ /ready to accept connections/g) };
		my $before = $ready->();
		$server->start(no_wait => 1);
		Torture::Scenario::wait_until(sub { $ready->() > $before }) or die 'it does not come out of recovery';
		$server->wait_ready;
		begins_past($server, $last, "pgBackRest, $kind");
		$server->drop;
	}
}

# Whoever draws first from a copy, its ids begin past what sessions with a larger flakeid.max_ahead may have stamped.
{
	my $server = far_ahead();
	$server->value('postgres', $_) for 'CREATE ROLE web LOGIN', q{ALTER ROLE web SET flakeid.max_ahead = '1s'};
	$server->stop;
	my $other = Torture::Server->new(name => 'web', copy_of => $server->{data});
	$server->start;
	my $last = stamp_ahead($server);
	$other->start;
	eval { $other->client('psql', '-X', '-U', 'web', '-d', $_, '-c', 'SELECT flake_next()') } for 'd2', 'd1';    # too far ahead for it, most likely
	begins_past($other, $last, 'web first');
	$_->drop for $server, $other;
}

# Leases that a copied coordinator does not know of may count: it rests. One that was moved goes on at once.
{
	my $server = Torture::Server->create(real_clock => 1);
	my $holder = 0;
	my $said = sub { my ($of) = @_; return $of->connect('d1')->run("SELECT FROM flakeid.lease_acquire('default', 'holder " . $holder++ . "', '10 s')")->{message} // 'a lease' };
	$server->value('d1', 'CREATE EXTENSION flakeid_coordinator');
	is($said->($server), 'a lease', 'a coordinator hands out a lease');
	my %harmless = (
		'restart' => sub { $server->stop },
		'kill -9' => sub { $server->kill_all },
		'mv' => sub { $server->stop; my $to = "$server->{dir}/moved"; shell_ok("mv '$server->{data}' '$to'"); $server->{data} = $to },
		'kill -9 and mv' => sub { $server->kill_all; my $to = "$server->{dir}/again"; shell_ok("mv '$server->{data}' '$to'"); $server->{data} = $to },
	);
	for my $what (sort keys %harmless)
	{
		$harmless{$what}->();
		$server->start;
		is($said->($server), 'a lease', "a new holder gets one at once after: $what");
	}
	my $rests = qr/hands out no leases before/;
	my $kept = "$server->{dir}/kept";
	$server->stop;
	shell_ok("cp -a '$server->{data}' '$kept'");
	my $other = Torture::Server->new(real_clock => 1, name => 'coordinator', copy_of => $server->{data});
	$server->start;
	is($said->($server), 'a lease', 'nor does being copied make it rest');
	$server->stop;
	$other->start;
	like($said->($other), $rests, 'a copy in another place rests');
	for my $how (sort keys %put_back)
	{
		next if $how eq 'mv' || $how =~ /over it/;
		shell_ok("set -- '$kept' '$server->{data}'; $put_back{$how}");
		$server->start;
		like($said->($server), $rests, "and one that was put back by $how");
		$server->stop;
	}
	$_->drop for $server, $other;
}

# A primary dies and its standby is promoted; rewound, it follows that one, and is promoted when that one dies.
for my $end ('kill -9', 'stopped')
{
	@files = ();
	my %server = (layout => $layout, databases => 2, real_clock => 1);
	my $conf = "wal_log_hints = on\nwal_keep_size = 1GB\n";
	my $first = Torture::Server->create(%server, conf => $conf);
	my $second = Torture::Server->new(%server, name => "second.$end" =~ s/ //r, standby_of => $first, conf => $conf . follow($first))->start;
	my $ends = sub { my ($server) = @_; $end eq 'stopped' ? $server->stop : $server->kill_all };
	draw($first, 'd1', 100);
	burst($first);
	caught_up($first, $second);
	$ends->($first);
	$second->value('postgres', 'SELECT pg_promote()');
	draw($second, 'd2', 1);
	burst($second);
	$second->value('postgres', 'CHECKPOINT');

	Torture::Server::command(Torture::Server::bin() . '/pg_rewind', '--no-sync', '-D', $first->{data}, '--source-server', "host=$second->{dir} port=5432 user=postgres dbname=postgres");
	append_to_file("$first->{data}/postgresql.conf", "unix_socket_directories = '$first->{dir}'\n" . follow($second));
	append_to_file("$first->{data}/standby.signal", '');
	$first->start;
	caught_up($second, $first);
	$ends->($second);
	$first->value('postgres', 'SELECT pg_promote()');
	never_twice($first, "pg_rewind, $end", 240_103);
	$_->drop for $first, $second;
}

done_testing();
