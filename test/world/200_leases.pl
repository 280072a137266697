# Three servers, and two programs in each language, on leases of one realm: no id twice, each
# inside its lease. Then what a hundred acquires at once, and one too many, get.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use IPC::Run qw(start finish);
use JSON::PP qw(encode_json);
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Programs;
use Test::More;

my $each = 400_000;
my $coordinator = coordinator('coordinator', conf => "max_connections = 150\nlisten_addresses = '127.0.0.1'\n");
$coordinator->safe_psql('postgres', 'CREATE ROLE shop LOGIN IN ROLE flakeid_generator');
my @servers = map { generator("server$_", $coordinator, ttl => '6s') } 1 .. 3;

# The programs, with what of them this machine has, on leases that outlast a slow reader of what they print.
my ($dir, @drivers) = lease_programs();
my @programs = map {
	my ($language, @command) = @$_;
	map { [ @command, "$dir/$language$_.ids", encode_json({ holder => "$language$_", coordinators => Programs::coordinators($language, $coordinator) }) ] } 1 .. 2
} @drivers;
note scalar(@programs), ' programs';

my (@running, @printed, @errors);
{
	local %ENV = $coordinator->_get_env(PGDATABASE => 'postgres', PGUSER => scalar getpwuid($>));
	for my $command (@programs, map { [ server($_) ] } @servers)
	{
		my $i = @running;
		($printed[$i], $errors[$i]) = ('', '');
		push @running, start($command, '<', \"$each\n\n", '>', \$printed[$i], '2>', \$errors[$i]);
	}
}
sub server
{
	my ($node) = @_;
	# Quarters with pauses between, so that the draws go over several renewals.
	return ('psql', '-XAtq', '-d', $node->connstr('postgres'),
		map { ('-c', 'SELECT flake_next() FROM generate_series(1, ' . $each / 4 . ')',
			'-c', 'DO $$BEGIN PERFORM pg_sleep(2); END$$') } 1 .. 4);
}
for my $i (0 .. $#running)
{
	finish($running[$i]);
	is($? . $errors[$i], '0', 'drew: ' . ($programs[$i] ? $programs[$i][-1] : 'server'));
	$printed[$i] = slurp_file($programs[$i][-2]) if $programs[$i];
	$printed[$i] =~ s/^\n//mg;
	add_ids($coordinator, $printed[$i]);
}
leases_hold($coordinator, 'servers and programs', $each * @running);
is( $coordinator->safe_psql('postgres', 'SELECT count(DISTINCT node) FROM flakeid.leases'),
	scalar(@running), 'each had a node of its own');
cmp_ok($coordinator->safe_psql('postgres', 'SELECT max(renewals) FROM flakeid.leases'), '>', 0, 'leases were renewed');
$_->stop for @servers;
ok( wait_until(sub {
		$coordinator->safe_psql('postgres', "SELECT count(*) FROM flakeid.leases WHERE state = 'held'") eq '0' }),
	'all are given back');

# A hundred at the same instant.
$coordinator->safe_psql('postgres', "SELECT flakeid.lease_realm_set('hundred', 1024)");
my $gate = $coordinator->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(1)');
my @sessions = map {
	my ($out, $err) = ('', '');
	{ out => \$out, err => \$err,
	  run => start([ 'psql', '-XAtq', '-d', $coordinator->connstr('postgres'), '-c',
			'SELECT pg_advisory_lock_shared(1)', '-c', "SELECT node FROM flakeid.lease_acquire('hundred', 's$_', '120 s')" ],
		'<', \undef, '>', \$out, '2>', \$err) }
} 1 .. 100;
$coordinator->poll_query_until('postgres',
	"SELECT count(*) = 100 FROM pg_stat_activity WHERE wait_event = 'advisory'") or die 'sessions did not come';
$gate->query_safe('SELECT pg_advisory_unlock(1)');
finish($_->{run}) for @sessions;
my %nodes = map { s/\s//gr => 1 } map { ${ $_->{out} } } @sessions;
is(join('', map { ${ $_->{err} } } @sessions), '', 'a hundred acquires succeed');
is(scalar(keys %nodes), 100, 'and get a hundred nodes');
is( $coordinator->safe_psql('postgres',
		"SELECT count(DISTINCT node) FROM generate_series(1, 923) AS i, LATERAL flakeid.lease_acquire('hundred', 'x' || i, '120 s')"),
	923, 'the rest of 1,024, but node 0');
my $err = error_of($coordinator, "SELECT flakeid.lease_acquire('hundred', 'one too many', '60 s')");
like($err, qr/all nodes of realm "hundred" from 1 to 1023 are leased/, 'the 1,024th gets an error');
my ($earliest) = $err =~ /The earliest comes free at (\S+ \S+?),/;
is( $coordinator->safe_psql('postgres', "SELECT min(lease_end) = '$earliest' FROM flakeid.leases WHERE realm = 'hundred'"),
	't', 'that says when one comes free');
$gate->quit;

# A lease belongs to the data directory: what starts there goes on in it, also while nobody answers.
my @going = (generator('fixed', $coordinator, node => 900, conf => "restart_after_crash = on\n"),
	generator('any', $coordinator, conf => "restart_after_crash = on\n"),
	generator('preloaded', $coordinator, node => 901, conf => "restart_after_crash = on\nshared_preload_libraries = 'flakeid'\n"));
my $draw = 'SELECT flake_next() FROM generate_series(1, 20000)';
$coordinator->safe_psql('postgres', 'TRUNCATE ids');
my %had;
my $drawn = '';
$drawn .= $_->safe_psql('postgres', $draw) . "\n" for @going;
$had{ $_->name } = $_->safe_psql('postgres', 'SELECT flake_node(flake_next())') for @going;
$coordinator->stop('immediate');
for my $how ('kill -9 of all', 'an automatic restart', 'a fast restart')
{
	for my $server (@going)
	{
		my $name = $server->name;
		if ($how eq 'kill -9 of all')
		{
			my @backends = split /\n/, $server->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
			$server->kill9;
			kill 'KILL', @backends;
			ok(wait_until(sub { !grep { kill 0, $_ } @backends }), "$name: $how");
			$server->start;
		}
		elsif ($how eq 'an automatic restart')
		{
			my $killed = $server->background_psql('postgres', on_error_stop => 0);
			my $pid = $killed->query_safe('SELECT pg_backend_pid()');
			kill 'KILL', $pid;
			ok(wait_until(sub { log_lines($server, 'all server processes terminated; reinitializing') > 0 }), "$name: $how");
			$server->poll_query_until('postgres', 'SELECT true') or die "$name does not come back";
			eval { $killed->quit };
		}
		else
		{
			$server->restart;
			pass("$name: $how");
		}
		my ($code, $out, $err) = $server->psql('postgres', $draw);
		is($code . $err, '0', "$name: ids at once after $how, without a coordinator");
		$drawn .= "$out\n";
		is($server->safe_psql('postgres', 'SELECT flake_node(flake_next())'), $had{$name}, 'in the node that it had');
	}
}
$coordinator->start;
add_ids($coordinator, $drawn =~ s/^\n//gmr);
leases_hold($coordinator, 'goes on', 4 * 3 * 20_000);
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM flakeid.leases WHERE holder ~ ' (fixed|any|preloaded)\$'"), 3, 'one lease each');

# A copy has none of it, while the server that it is of goes on.
my $copy = PostgreSQL::Test::Cluster->new('copy');
$going[0]->stop('immediate');
PostgreSQL::Test::Utils::system_or_bail('cp', '-a', $going[0]->data_dir, $copy->data_dir . '.new');
rename $copy->data_dir . '.new', $copy->data_dir or die $!;
unlink $copy->data_dir . '/postmaster.pid';
$copy->append_conf('postgresql.conf', 'port = ' . $copy->port);
$going[0]->start;
$copy->start;
is(error_of($going[0]), '', 'the server goes on');
like(error_of($copy), qr/node 900 is not leased/, 'its copy does not');
$_->stop('immediate') for @going, $copy;
$coordinator->stop;
done_testing();
