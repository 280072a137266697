# Generators that are killed, stopped, paused, copied, or lack what they need.
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

my $ttl = 6;
my $coordinator = coordinator('coordinator');
# A role that may take leases, and nothing else.
$coordinator->safe_psql('postgres', 'CREATE ROLE shop LOGIN IN ROLE flakeid_generator');
my $where = sprintf 'host=%s port=%d dbname=postgres user=shop', $coordinator->host, $coordinator->port;
my $server = generator('server', $coordinator, ttl => "${ttl}s", conninfo => $where);

sub leases { return $coordinator->safe_psql('postgres', "SELECT $_[0] FROM flakeid.leases WHERE $_[1]") }
sub draw { my ($node, $n) = @_; wait_until(sub { error_of($node) eq '' }); add_ids($coordinator, $node->safe_psql('postgres', "SELECT flake_next() FROM generate_series(1, $n)") . "\n"); return }

sub keepers
{
	my ($node) = @_;
	chomp(my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/);
	return scalar grep { /lease worker/ } `ps -o args= --ppid $pid`;
}

# Killed
draw($server, 10000);
is(leases('DISTINCT role', 'true'), 'shop', 'a role that may take leases takes one');
my $first = leases('node', "state = 'held'");
$server->stop('immediate');
$server->start;
draw($server, 10000);
is(leases('count(*)', 'true'), '1', 'killed and started again: it goes on in its lease');
is(leases('node', "state = 'held'"), $first, 'of the same node');
leases_hold($coordinator, 'killed', 20000);

$server->append_conf('postgresql.conf', "flakeid.node = 700\nflakeid.lease_ttl = 20s\n");
$server->reload;
ok(wait_until(sub { draw($server, 10000) if error_of($server) eq ''; leases('count(*)', 'node = 700') eq '1' }), 'a node by its number');
# A machine that stalls may start it again after the end of its lease: then it takes another one of the node.
$server->stop('immediate');
$server->start;
draw($server, 10000);
is(leases("count(*)", "node = 700 AND holder <> (SELECT holder FROM flakeid.leases WHERE node = $first ORDER BY acquired_at LIMIT 1)"), '0', 'killed and started again: nobody else has it');
leases_hold($coordinator, 'killed, with a number', 40000);

# Clean stop under load
my $dir = PostgreSQL::Test::Utils::tempdir;
append_to_file("$dir/script", "SELECT flake_next() FROM generate_series(1, 20);\n" x 200000);
my @load = map {
	start([ 'psql', '-XAtq', '-d', $server->connstr('postgres'), '-f', "$dir/script" ], '<', '/dev/null', '>', "$dir/load$_", '2>', "$dir/err$_")
} 1 .. 2;
ok(wait_until(sub { 2 == grep { -s "$dir/load$_" > 100_000 } 1 .. 2 }), 'drawing');
$server->stop;
finish($_) for @load;
is(leases('state', 'node = 700 ORDER BY lease_start DESC LIMIT 1'), 'released', 'clean stop under load: released');
for (1 .. 2) { my @whole = slurp_file("$dir/load$_") =~ /^(\d{18,}\n)/mg; note scalar(@whole), ' ids under load'; add_ids($coordinator, join '', @whole) }
$server->start;
ok(wait_until(sub { error_of($server) eq '' }), 'the next start');
leases_hold($coordinator, 'clean stop', 45000);

# Ids that run ahead of the clock when the coordinator is lost, 40 ms of ticks a statement: as far ahead
# as max_ahead allows, and from there to the end of the lease
$server->append_conf('postgresql.conf', "flakeid.node = auto\nflakeid.lease_ttl = ${ttl}s\n");
$server->restart;
$coordinator->safe_psql('postgres', 'CREATE TABLE ahead (id bigint)');
# flakeid.layout, so that a node comes that the layout has.
for ([ 'sonyflake', 1024, 'sonyflake' ], [ 'back', 640, 'time:41:1ms node:8 back:2 sequence:4 epoch=2021-06-01' ])
{
	my ($kind, $many, $layout) = @$_;
	my $set = "SET flakeid.layout = '$layout'";
	ok(wait_until(sub { error_of($server, "$set; SELECT flake_next()") eq '' }), 'a lease');
	my $node = $server->safe_psql('postgres', "$set; SELECT flake_node(flake_next())");
	my ($acquired, $lease_end) = split /\|/,
	  leases('acquired_at, extract(epoch FROM lease_end)', "node = $node AND state = 'held' ORDER BY acquired_at DESC LIMIT 1");
	append_to_file("$dir/$kind", "$set;\n" . "SELECT max(id) FROM flake_next_many($many) AS id;\n" x 10_000);
	my $drawing = start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $server->connstr('postgres'), '-f', "$dir/$kind" ],
		'<', '/dev/null', '>', "$dir/ids_$kind", '2>', "$dir/err_$kind");
	ok(wait_until(sub { -s "$dir/ids_$kind" }), 'drawing');
	$coordinator->stop;
	finish($drawing);
	my $err = slurp_file("$dir/err_$kind");
	like($err, qr/the lease of node $node (ends at .*, before the next id|ended at)/, "ids that run ahead of the clock, $kind: none when the lease ends");
	$coordinator->start;
	$lease_end = leases('extract(epoch FROM lease_end)', "acquired_at = '$acquired'");    # it may have been renewed
	$coordinator->safe_psql('postgres', "TRUNCATE ahead; \\copy ahead FROM '$dir/ids_$kind'");
	my ($beyond, $reached) = split /\|/, $coordinator->safe_psql('postgres', qq{
		SELECT count(*) FILTER (WHERE at >= $lease_end), count(*) FILTER (WHERE at >= $lease_end - 0.2)
		FROM (SELECT extract(epoch FROM flake_timestamp(id, '$layout')) AS at FROM ahead) AS i});
	is($beyond, '0', 'no id lies after it');
	cmp_ok($reached, '>', 0, 'some lie just before it');
}
ok(wait_until(sub { error_of($server) eq '' }), 'ids go on when the coordinator is there again');

# Paused past the end of the lease, all of it, while drawing: for six seconds at least
draw($server, 1);
my ($postmaster) = slurp_file($server->data_dir . '/postmaster.pid') =~ /^(\d+)/;
append_to_file("$dir/paused", "SELECT extract(epoch FROM clock_timestamp()) AS before, flake_next() FROM generate_series(1, 3000000) AS g WHERE g % 1000 <> 0 OR pg_sleep(0.002) IS NOT NULL;\n");
my $paused = start([ 'psql', '-XAt', '-F', ' ', '-v', 'FETCH_COUNT=1000', '-d', $server->connstr('postgres'), '-f', "$dir/paused" ], '<', '/dev/null', '>', "$dir/out", '2>', "$dir/err");
ok(wait_until(sub { -s "$dir/out" }), 'drawing');
my @pids = ($postmaster, map { /(\d+)/ } `ps -o pid= --ppid $postmaster`);
my $old_node = $server->safe_psql('postgres', 'SELECT flake_node(flake_next())');
kill 'STOP', @pids;
my $old_end = leases('extract(epoch FROM lease_end)', "node = $old_node AND state = 'held'");
sleep 0.1 while time < $old_end + 1.5;
# Meanwhile the node is somebody else's.
my $taken = $coordinator->safe_psql('postgres', "SELECT lease_start FROM flakeid.lease_acquire('default', 'thief', '60 s', $old_node)");
kill 'CONT', @pids;
finish($paused);
is(slurp_file("$dir/err"), '', 'paused past the end of its lease: the statement goes on');
$coordinator->safe_psql('postgres', 'CREATE TABLE paused (before numeric, id bigint)');
$coordinator->safe_psql('postgres', "\\copy paused FROM '$dir/out' (DELIMITER ' ')");
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM paused WHERE before >= $old_end AND flake_node(id, 'snowflake') = $old_node"),
	'0', 'it issues nothing under the old lease');
cmp_ok($coordinator->safe_psql('postgres', "SELECT count(*) FROM paused WHERE before >= $old_end"), '>', 0, 'but goes on under another one');
cmp_ok($coordinator->safe_psql('postgres', "SELECT count(*) FROM paused WHERE before < $old_end"), '>', 0, 'it drew before');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM paused WHERE flake_node(id, 'snowflake') = $old_node AND flake_timestamp(id, 'snowflake') >= '$taken'"),
	'0', 'no id lies in the lease of the other');
$coordinator->safe_psql('postgres', 'INSERT INTO ids SELECT id FROM paused');
leases_hold($coordinator, 'paused', 3000000);

# Two copies of one data directory
$server->append_conf('postgresql.conf', "flakeid.lease_ttl = 60s\n");
$server->stop;
mkdir $server->backup_dir;
system('cp', '-a', $server->data_dir, $server->backup_dir . '/copy') == 0 or die;
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($server, 'copy');
unlink $copy->data_dir . '/postmaster.pid';
$_->start for $server, $copy;
draw($_, 20000) for $server, $copy, $server, $copy;
is(leases('count(DISTINCT node)', "state = 'held' AND holder <> 'thief'"), '2', 'two copies of one data directory: two nodes');
leases_hold($coordinator, 'two copies', 3080000);
$_->append_conf('postgresql.conf', "flakeid.node = 800\n"), $_->restart for $server, $copy;
ok(wait_until(sub { error_of($server) eq '' }), 'one of them gets a node by its number');
ok(wait_until(sub { error_of($copy) =~ /node 800 .* is held by/s }), 'the other one does not');
$copy->stop;

# Two databases, two nodes, one worker; the setting comes and goes.
$server->safe_psql('postgres', 'CREATE DATABASE other');
$server->safe_psql('other', 'CREATE EXTENSION flakeid');
$server->safe_psql('postgres', 'ALTER DATABASE other SET flakeid.node = 801');
$server->safe_psql('postgres', 'SELECT flake_next()');
is($server->safe_psql('other', 'SELECT flake_node(flake_next())'), '801', 'another database');
is(leases('count(*)', "node IN (800, 801) AND state = 'held'"), '2', 'two databases: two leases');
is(keepers($server), 1, 'and one worker');
is($server->safe_psql('postgres', "SELECT count(DISTINCT flake_next('sonyflake')) FROM generate_series(1, 1000)"), '1000', 'another layout on the same lease');
is($server->safe_psql('other', "SET flakeid.node = '810-813'; SELECT count(DISTINCT flake_next()) FROM generate_series(1, 100000)"), '100000', 'a span');
cmp_ok(leases('count(*)', "node BETWEEN 810 AND 813 AND state = 'held'"), '>=', 1, 'is leased node by node');
my $longer = $server->background_psql('postgres');
my $issued = $longer->query_safe('SELECT flake_next()');
my $ahead = $longer->query_safe("SELECT max(id) FROM flake_next_many(100000, 'sonyflake') AS id");    # 3.9 s
$server->append_conf('postgresql.conf', "flakeid.coordinator = ''\n");
$server->reload;
ok(wait_until(sub { keepers($server) == 0 }), 'the worker ends when the setting is emptied');
is(leases('count(*)', "node BETWEEN 800 AND 813 AND state = 'held' AND lease_end > clock_timestamp() + interval '2 s'"), '0', 'its leases are given back');
is($longer->query_safe("SELECT flake_node(flake_next()), flake_next() > $issued"), '800|t', 'ids go on without');
is($longer->query_safe("SELECT flake_next('sonyflake') > $ahead"), 't', 'above those that ran ahead of the clock');
$longer->quit;
$server->stop;

# Ids from before the coordinator was set, and of another realm, do not come again: with ticks of a
# second, and with words that run ahead of the clock.
$coordinator->safe_psql('postgres', "SELECT flakeid.lease_realm_set('second realm', 1024)");
my $late = generator('late', $coordinator, conf => "flakeid.coordinator = ''\nflakeid.node = 0\nautovacuum = off\n");
my %drawn = ('js53' => 200_000, 'uidgenerator31' => 300);
my $draw_late = sub {
	my ($round) = @_;
	for my $layout (sort keys %drawn)
	{
		$late->safe_psql('postgres', "INSERT INTO late SELECT '$layout', $round, flake_next_many($drawn{$layout}, '$layout')");
	}
};
$late->safe_psql('postgres', 'CREATE TABLE late (layout text, round int, id bigint)');
$draw_late->(1);
my ($told, $endless) = ('', 'SET statement_timeout = 600000; DO $$BEGIN LOOP PERFORM flake_next(); END LOOP; END$$');
my $drawing = start([ 'psql', '-XAtq', '-d', $late->connstr('postgres'), '-c', $endless ], '<', \undef, '2>', \$told);
ok($late->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'active' AND query ~ 'LOOP' AND pid <> pg_backend_pid()"),
	'a session that will not hear of leases draws');
$late->append_conf('postgresql.conf', 'flakeid.coordinator = \'' . conninfo($coordinator) . "'\n");
$late->reload;
ok(wait_until(sub { error_of($late) eq '' && keepers($late) == 1 }), 'leases begin');
finish($drawing);
like($told, qr/ids are made with leases only from now on/, 'a statement that began without them makes no more ids');
$draw_late->(2);
$late->append_conf('postgresql.conf', "flakeid.realm = 'second realm'\n");
$late->reload;
ok(wait_until(sub { error_of($late) =~ /realm "second realm" is not the one that the server had its leases of/ }), 'another realm is refused');
$coordinator->safe_psql('postgres', q{SELECT flakeid.lease_realm_add_name('default', 'renamed')});
$late->append_conf('postgresql.conf', "flakeid.realm = 'renamed'\n");
$late->reload;
ok(wait_until(sub { error_of($late) eq '' }), 'another name of its own is none');
$draw_late->(3);
is($late->safe_psql('postgres', 'SELECT count(*), count(*) - count(DISTINCT (layout, id)) FROM late'), '600900|0', 'no id comes again');
is($late->safe_psql('postgres', q{SELECT count(*) FROM late AS a JOIN (SELECT layout, round, max(id) AS id FROM late GROUP BY 1, 2) AS b
	ON a.layout = b.layout AND a.round = b.round + 1 AND a.id <= b.id}), '0', 'in order');

# The coordinator is reached in another way: nobody notices.
my $leases_before = leases('count(*)', 'true');
$late->append_conf('postgresql.conf', 'flakeid.coordinator = \'' . conninfo($coordinator) . " connect_timeout=5'\n");
$late->reload;
my @refused = grep { $_ ne '' } map { sleep 0.1; error_of($late) } 1 .. 20;
is("@refused", '', 'a new connection string: no error');
is(leases('count(*)', 'true'), $leases_before, 'and no new lease');

# A setting whose place is the configuration file is not lost to one of a database.
$late->safe_psql('postgres', q{ALTER DATABASE postgres SET flakeid.coordinator = ''});
like(error_of($late), qr/parameter "flakeid.coordinator" cannot be set for a database or role/, 'a coordinator set for a database is an error');
$late->safe_psql('postgres', q{ALTER DATABASE postgres RESET flakeid.coordinator});
is(error_of($late), '', 'until it is taken back');
$late->stop;

# No free worker
my $poor = generator('poor', $coordinator, conf => "max_worker_processes = 1\nmax_logical_replication_workers = 0\n");
$poor->safe_psql('postgres', 'CREATE TABLE slow AS SELECT generate_series(1, 600)');
my $busy = $poor->background_psql('postgres');
$busy->query_safe('SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off');
$busy->query_until(qr/started/, "\\echo started\nSELECT count(*) FROM slow WHERE pg_sleep(0.05) IS NOT NULL;\n");
ok($poor->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'parallel worker'"), 'the only worker slot is taken');
my $error = error_of($poor);
like($error, qr/no worker process is free to take leases/, 'no free worker: an error');
like($error, qr/max_worker_processes/, 'that names the setting');
$poor->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
ok(wait_until(sub { error_of($poor) eq '' }), 'drawing starts when one comes free');
eval { $busy->quit };
$poor->stop;

# Preloaded: started with the server.
$poor->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'\n");
$poor->start;
ok(wait_until(sub { keepers($poor) == 1 }), 'preloaded: the worker starts with the server');
ok(wait_until(sub { error_of($poor) eq '' }), 'and serves');
my ($code, $out, $err) = $poor->psql('postgres', "CREATE ROLE nobody; SET ROLE nobody; SHOW flakeid.coordinator");
like($err, qr/permission denied|must be superuser/, 'nobody but superusers sees the connection string');
$poor->stop;
$poor->append_conf('postgresql.conf', "flakeid.coordinator = 'host=db password=secret'\n");
$poor->start;
$error = error_of($poor, 'SET flakeid.node = 5; SELECT flake_next()');
like($error, qr/flakeid.coordinator was refused.*It holds a password/s, 'one with a password is refused');
is($poor->safe_psql('postgres', 'SHOW flakeid.coordinator'), '(refused)', 'and not shown');
$poor->stop;
unlike(slurp_file($poor->logfile), qr/secret/, 'and not logged');

$coordinator->stop;
done_testing();
