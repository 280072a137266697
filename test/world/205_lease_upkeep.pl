# What leases cost and keep over time: the node that a server had before, leases in constant use,
# layouts that differ in nodes, spans with a node that is gone, errors of the right lease, a stop
# without a coordinator, and settings that are lost or refused.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use IPC::Run qw(start finish);
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $dir = PostgreSQL::Test::Utils::tempdir;
my $coordinator = coordinator('coordinator',
	conf => "listen_addresses = '127.0.0.1'\nmax_connections = 50\n", max_ttl => '1 day');
append_to_file($coordinator->data_dir . '/pg_hba.conf', "host all all 127.0.0.1/32 trust\n");
$coordinator->reload;
my $conninfo = conninfo($coordinator);
sub leases { return $coordinator->safe_psql('postgres', "SELECT $_[0] FROM flakeid.leases WHERE $_[1]") }
sub set { my ($node, $line) = @_; $node->append_conf('postgresql.conf', "$line\n"); $node->reload; return }
sub hold { my ($holder, $nodes, $ttl) = @_; $coordinator->safe_psql('postgres', "SELECT flakeid.lease_acquire('default', $holder, '$ttl', node) FROM $nodes AS node"); return }
sub one { my ($node, $sql) = @_; my $got; ok(wait_until(sub { my $code; ($code, $got) = $node->psql('postgres', $sql); $code == 0 }), $sql); return $got }

# The same node again
my $server = generator('server', $coordinator);
my $node = one($server, 'SELECT flake_node(flake_next())');
for my $time (1 .. 3)
{
	set($server, "flakeid.coordinator = ''");
	ok(wait_until(sub { leases('count(*)', "state = 'held'") eq '0' }), "given back, $time");
	set($server, "flakeid.coordinator = '$conninfo'");
	is(one($server, 'SELECT flake_node(flake_next())'), $node, "an auto lease is of the node that it was before, $time");
}

# A server that starts renews at once what it goes on in: started again and again, it would never come to the third of a lease.
set($server, "flakeid.lease_ttl = '6h'");
ok(wait_until(sub { leases('count(*)', "state = 'held' AND lease_end > clock_timestamp() + interval '5 h'") eq '1' }), 'a lease of six hours');
$server->append_conf('postgresql.conf', "flakeid.lease_ttl = '12h'\n");
$server->stop('immediate');
$server->start;
one($server, 'SELECT flake_node(flake_next())');
ok(wait_until(sub { leases('count(*)', "state = 'held' AND lease_end > clock_timestamp() + interval '11 h'") eq '1' }), 'killed and started again: renewed at once');
set($server, "flakeid.lease_ttl = '60s'");

# A layout that a call names is served with the node that is there, or refused: it takes no lease. flakeid.layout of other
# nodes has a lease of its own, for good.
set($server, "flakeid.coordinator = ''");
ok(wait_until(sub { leases('count(*)', "state = 'held'") eq '0' }), 'given back');
sleep 0.1 while leases('count(*)', 'lease_end > clock_timestamp()') ne '0';
hold("'crowd' || node", 'generate_series(0, 80)', '1 day');
set($server, "flakeid.coordinator = '$conninfo'");
$server->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');
my $wide = one($server, 'SELECT flake_node(flake_next())');
cmp_ok($wide, '>', 80, 'a node that some presets do not have');
for my $preset ('mastodon', 'js53', 'rollback2', 'tsid', 'pgedge', 'sonyflake2')
{
	my $nodes = $server->safe_psql('postgres', "SELECT nodes FROM flakeid.layouts WHERE name = '$preset'");
	my ($code, $out, $err) = $server->psql('postgres', "SELECT flake_node(flake_next('$preset'), '$preset')", extra_params => [ '-U', 'ordinary' ]);
	my $refusal = "ERROR:  node $wide is out of range for layout \"$preset\"";
	is($wide < $nodes ? $out : ($err =~ /\Q$refusal/ ? $refusal : $err), $wide < $nodes ? $wide : $refusal, "an ordinary role names layout $preset of $nodes nodes");
}
is(leases('count(*)', "state = 'held' AND holder NOT LIKE 'crowd%'"), 1, 'all that takes one lease');
$coordinator->safe_psql('postgres', q{SELECT flakeid.lease_revoke('default', 40)});
is(one($server, 'SET flakeid.layout = js53; SELECT flake_node(flake_next())'), 40, 'flakeid.layout of fewer nodes has a lease of its own');
is(leases('count(*)', "state = 'held' AND holder NOT LIKE 'crowd%'"), 2, 'which makes two');

# Errors of the right lease
$coordinator->safe_psql('postgres', q{SELECT flakeid.lease_revoke('default', node) FROM generate_series(0, 80) AS node});
hold("'holder' || node", 'generate_series(100, 112)', '1 day');
my %told;
my $tell = sub { my ($held) = @_; push @{ $told{$held} }, error_of($server, "SET flakeid.node = $held; SELECT flake_next()"); return $told{$held}[-1] };
for my $held (100 .. 112)
{
	ok(wait_until(sub { $tell->($held) =~ /"holder$held"/ }), "node $held: the session is told who holds it");
}
$tell->($_) for 100 .. 112;
is(join(' ', grep { my $held = $_; grep { /"holder(\d+)"/ && $1 != $held } @{ $told{$held} } } 100 .. 112), '', 'and never who holds another');

# A span
is(one($server, q{SET flakeid.node = '112-115'; SELECT min(flake_node(id)) > 112 FROM flake_next_many(1000) AS id}),
	't', 'a span whose first node another holds makes ids with the others');
like(error_of($server, q{SET flakeid.node = '100-103'; SELECT flake_next()}), qr/node \d+ is not leased/, 'one whose nodes are all held says so');
my $span = q{SET flakeid.layout = sonyflake; SET flakeid.node = '200-207'; };
ok(wait_until(sub { $server->psql('postgres', "$span SELECT flake_next_many(3000)"); leases('count(*)', "state = 'held' AND node BETWEEN 200 AND 207") eq '8' }), 'eight nodes');
sleep 3;    # what was drawn lies ahead of the clock
my ($nodes, $most) = split /\|/, $server->safe_psql('postgres', "$span SELECT count(*), max(ids) FROM
	(SELECT count(*) AS ids FROM flake_next_many(20000) AS id GROUP BY flake_node(id)) AS n");
is($nodes, 8, 'flake_next_many() uses them all');
cmp_ok($most, '<=', 5000, 'none for more than twice its part');

# A stop without a coordinator
my $names = "$dir/slow_names";
system('cc', '-O1', '-fPIC', '-shared', '-o', "$dir/slow_names.so", "$FindBin::Bin/slow_names.c", '-ldl') == 0 or die;
$server->stop;
$server->append_conf('postgresql.conf', sprintf "flakeid.coordinator = 'host=localhost port=%d dbname=postgres user=%s'\nflakeid.node = 0\n",
	$coordinator->port, scalar getpwuid($>));
{
	local %ENV = (%ENV, LD_PRELOAD => "$dir/slow_names.so", SLOW_NAMES => $names);
	$server->start;
}
one($server, "SET flakeid.node = $_; SELECT flake_next()") for 300 .. 307;
$coordinator->stop('immediate');
append_to_file($names, '');
my $lookups = sub { return scalar(() = slurp_file("$names.log") =~ /^localhost$/mg) };
my $before = $lookups->();
$server->stop;
cmp_ok($lookups->() - $before, '<=', 1, 'a stop with 8 leases and no coordinator looks for it once at most');
unlink $names;
{
	local %ENV = (%ENV, LD_PRELOAD => "$dir/slow_names.so", SLOW_NAMES => $names);
	$server->append_conf('postgresql.conf', "flakeid.coordinator = 'host=a.example,b.example dbname=postgres'\n");
	append_to_file("$names.hang", '');
	$server->start;
}
my $asks = $server->background_psql('postgres', on_error_stop => 0);
$asks->query_until(qr/asked/, "\\echo asked\nSELECT flake_next();\n");
ok(wait_until(sub { slurp_file("$names.log") =~ /^a\.example$/m }), 'a name server hangs');
is(system('pg_ctl', '-D', $server->data_dir, '-m', 'fast', '-W', 'stop'), 0, 'meanwhile the server is to stop');
ok(wait_until(sub { slurp_file("$names.log") =~ /^signal$/m }), 'and so is the lease worker');
unlink "$names.hang";
ok(wait_until(sub { !-e $server->data_dir . '/postmaster.pid' }), 'it does');
$server->_update_pid(0);
eval { $asks->quit };
my $looked_up = slurp_file("$names.log");
unlike($looked_up, qr/^b\.example$/m, 'no other name is looked up');
like($looked_up, qr/^options timeout:1 attempts:1$/m, 'nor waits the resolver as long as it does by default');
$coordinator->start;

# Settings that are lost or refused
sub with_options { my ($options, $sql) = @_; local $ENV{PGOPTIONS} = $options; return error_of($server, $sql) }
$server->append_conf('postgresql.conf', "flakeid.coordinator = '$conninfo'\nflakeid.node = auto\n");
$server->start;
for my $setting ('coordinator=', 'realm=other', 'lease_ttl=5s')
{
	my ($name) = $setting =~ /(\w+)/;
	like(with_options("-c flakeid.$setting", 'SELECT flake_next()'),
		qr/parameter "flakeid.$name" cannot be set by an option of the connection/, "nobody replaces flakeid.$name by PGOPTIONS");
}
ok(wait_until(sub { error_of($server) eq '' }), 'without them leases are used');
my $session = $server->background_psql('postgres');
$session->query_safe('BEGIN; SELECT flake_next()');
set($server, "flakeid.coordinator = 'host=db password=hunter2'");
my $told;
ok(wait_until(sub { ($told = error_of($server, 'SELECT flake_next()')) =~ /flakeid.coordinator was refused.*It holds a password/s }),
	'a password at reload is an error at use') or diag $told;
ok(wait_until(sub { eval { $session->query_safe('SELECT flake_next()') }; my $refused = ($session->{stderr} // '') =~ /was refused/; $session->{stderr} = ''; $refused }), 'in an open transaction too');
eval { $session->quit };
set($server, "flakeid.coordinator = '$conninfo'");
ok(wait_until(sub { error_of($server) eq '' }), 'until it is removed');
like(error_of($server, q{LOAD 'flakeid'; ALTER SYSTEM SET flakeid.coordinator = 'host=db password=hunter2'}), qr/It holds a password/, 'ALTER SYSTEM refuses it');
$server->stop;

# In constant use with a long lease
{
	system('cc', '-O1', '-fPIC', '-shared', '-o', "$dir/shifted_clock.so", "$FindBin::Bin/shifted_clock.c", '-ldl') == 0 or die;
	append_to_file("$dir/clock", "0\n");
	$coordinator->stop;
	{
		local %ENV = (%ENV, LD_PRELOAD => "$dir/shifted_clock.so", SHIFTED_CLOCK => "$dir/clock");
		$coordinator->start;
	}
	# Every clock goes forward together, so the server is its own coordinator.
	set($coordinator, "flakeid.coordinator = '$conninfo'");
	set($coordinator, "flakeid.lease_ttl = '1d'");
	one($coordinator, "SET flakeid.node = $_; SELECT flake_next()") for 400, 401;
	my $endless = 'SET flakeid.node = 400; SET statement_timeout = 0; DO $$BEGIN LOOP PERFORM flake_next(); END LOOP; END$$';
	my $err = '';
	my $drawing = start([ 'psql', '-XAtq', '-d', $coordinator->connstr('postgres'), '-c', $endless ], '<', \undef, '2>', \$err);
	ok($coordinator->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'active' AND query ~ 'LOOP' AND pid <> pg_backend_pid()"), 'a session draws all the time');
	# The lease worker looks at every reload, and counts from the last look that found something.
	my $returned = sub { return leases('state', 'node = 401 ORDER BY lease_start DESC LIMIT 1') eq 'released' };
	my $hours = 0;
	ok( wait_until(
			sub {
				return 1 if $returned->();
				return 0 if $hours++ > 12;
				append_to_file("$dir/clock.new", $hours * 3700 . "\n");
				rename "$dir/clock.new", "$dir/clock" or die $!;
				$coordinator->reload;
				sleep 0.5;
				return 0;
			}),
		'a lease that nobody used for an hour is given back');
	is(leases('state', 'node = 400 ORDER BY lease_start DESC LIMIT 1'), 'held', 'one in constant use is not');
	$coordinator->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ 'LOOP' AND pid <> pg_backend_pid()");
	finish($drawing);
}
$coordinator->stop('immediate');
done_testing();
