# Promotions, upgrades and changes of layout over restarts, ten of each, in an order and with settings of roles, databases and files
# that a seed chooses: no id comes twice. FLAKEID_SEED chooses another seed, FLAKEID_IDS about how many ids.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use IPC::Run;
use List::Util qw(shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{FLAKEID_SEED} // 1;
my $wanted = $ENV{FLAKEID_IDS} // 500_000;
srand $seed;
my $dir = PostgreSQL::Test::Utils::tempdir();
my ($bindir) = split /\n/, (run_command([ 'pg_config', '--bindir' ]))[0];

# Each of them can make numbers that the others make.
my @layouts = (
	'time:39:10ms sequence:8 machine:16 epoch=2026-01-01',
	'time:39:10ms sequence:8 machine:16 epoch=2026-01-01T00:00:12Z',
	'time:38:20ms sequence:9 machine:16 epoch=2026-01-01',
	'time:41:1ms sequence:6 node:16 epoch=2026-01-01');
my $layout = $layouts[0];
my ($servers, $files, $far) = (0, 0, 0);
my (%done, %refused);

sub some { return $_[ rand @_ ] }
sub reach { return some('1s', '5s', '30s', '2min') }

sub configure
{
	my ($server) = @_;
	$server->append_conf('postgresql.conf', "flakeid.layout = '$layout'\nflakeid.max_ahead = '" . reach() . "'\n");
	return;
}

sub new_server
{
	my $server = PostgreSQL::Test::Cluster->new('s' . ++$servers);
	$server->init(allows_streaming => 1);
	$server->append_conf('postgresql.conf', "flakeid.node = 7\nflakeid.when_ahead = error\nshared_preload_libraries = 'flakeid'\n");
	configure($server);
	return $server;
}

# Roles and databases get a reach, or lose it.
sub set_reaches
{
	my ($server) = @_;
	return if rand() < 0.3;
	for my $what ('ROLE near', some('DATABASE a', 'DATABASE b'), 'ROLE near IN DATABASE a')
	{
		$server->safe_psql('postgres', "ALTER $what " . (rand() < 0.3 ? 'RESET flakeid.max_ahead' : "SET flakeid.max_ahead = '" . reach() . "'"));
	}
	return;
}

# Starts a session of one of these roles, which draws.
sub begin
{
	my ($users, @statements) = @_;
	my $err = '';
	my @psql = ('psql', '-XAtq', '-U', some(@$users), '-d', some('a', 'b'), map { ('-c', $_) } @statements);
	return { err => \$err, run => IPC::Run::start(\@psql, '<', \undef, '>', "$dir/drawn." . $files++, '2>', \$err) };
}

# One that is refused, since its reach is short or another layout made what comes next, tells so.
sub finish
{
	my ($session) = @_;
	$session->{run}->finish;
	for my $error (grep { /ERROR|FATAL/ } split /\n/, ${ $session->{err} })
	{
		my ($kind) = $error =~ /(ahead of the clock|layout)/;
		$kind ? $refused{$kind}++ : fail($error);
	}
	return;
}

# One session looks first, as after a start. Then the reach of one role grows, so that it draws past what others reserved, and sessions of any
# role and database draw at once.
sub draw
{
	my ($server, $count) = @_;
	local %ENV = $server->_get_env();
	finish(begin([ 'near', 'far', 'postgres' ], 'SELECT flake_next()::bigint'));
	$far += 150;
	$server->safe_psql('postgres', "ALTER ROLE far SET flakeid.max_ahead = '${far}s'");
	my $statement = 'SELECT id::bigint FROM flake_next_many(' . int($count / 20) . ') AS id';
	finish($_) for map { begin([ 'near', 'far', 'far', 'far', 'postgres' ], ($statement) x 5) } 1 .. 4;
	return;
}

my %moves = (
	promote => sub {
		my ($server) = @_;
		$server->backup('copy');
		my $standby = PostgreSQL::Test::Cluster->new('s' . ++$servers);
		$standby->init_from_backup($server, 'copy', has_streaming => 1);
		$standby->start;
		draw($server, 40_000);
		$server->wait_for_catchup($standby);
		$server->stop(some('immediate', 'fast'));
		$standby->promote;
		return $standby;
	},
	upgrade => sub {
		my ($server) = @_;
		$server->stop(some('fast', 'smart'));
		my $new = new_server();
		chdir $dir or die $!;
		command_ok([ 'pg_upgrade', '--no-sync', rand() < 0.5 ? '--link' : (), '-d', $server->data_dir, '-D', $new->data_dir, '-b', $bindir, '-B', $bindir, '-s', $new->host,
				'-p', $server->port, '-P', $new->port ], 'pg_upgrade');
		chdir source_dir();
		$new->start;
		$new->safe_psql('postgres', 'DROP DATABASE b; CREATE DATABASE b'); # one that is new there
		$new->safe_psql('b', 'CREATE EXTENSION flakeid');
		return $new;
	},
	layout => sub {
		my ($server) = @_;
		$server->stop(some('immediate', 'fast'));
		$layout = some(grep { $_ ne $layout } @layouts);
		configure($server);
		$server->start;
		return $server;
	});

my $server = new_server();
$server->start;
$server->safe_psql('postgres', 'CREATE ROLE near LOGIN SUPERUSER; CREATE ROLE far LOGIN SUPERUSER; CREATE DATABASE a; CREATE DATABASE b');
$server->safe_psql($_, 'CREATE EXTENSION flakeid') for 'a', 'b';
set_reaches($server);
draw($server, $wanted / 20);
for my $move (shuffle map { ($_) x 10 } sort keys %moves)
{
	$server = $moves{$move}->($server);
	set_reaches($server);
	$done{$move}++;
	draw($server, $wanted / 20);
}
my $all = shell("cat $dir/drawn.* | wc -l");
cmp_ok($all, '>=', $wanted / 2, 'most sessions drew');
$server->stop;
is(shell("cat $dir/drawn.* | sort -n -S 1G | uniq -d | wc -l"), 0, "none of $all ids came twice");
is_deeply(\%done, { map { $_ => 10 } keys %moves }, "of seed $seed");
diag "seed $seed: $all ids, $servers servers; statements refused: " . join ', ', map { "$refused{$_} ($_)" } sort keys %refused;
done_testing();
