# flakeid.status asks what a draw asks: in every state that refuses ids it gives the error of
# flake_next(), and issues nothing itself.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../torture/lib";
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Server;

my $two_days = 2 * 86400;
my $narrow = 'time:41:1ms node:10 sequence:1';

# What flakeid.status says and what flake_next() does, in one statement that others can hold up
my $both = q{CREATE FUNCTION both_answers() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	said text;
	done text := 'yes';
BEGIN
	PERFORM pg_advisory_lock_shared(1);
	said := value FROM flakeid.status WHERE name = 'can generate';
	BEGIN
		PERFORM flake_next();
	EXCEPTION WHEN OTHERS THEN
		done := 'no: ' || SQLERRM;
	END;
	RETURN said || E'\n' || done;
END $$};

sub created
{
	my (%o) = @_;
	my $server = Torture::Server->create(%o);
	$server->value('d1', $both);
	return $server;
}

# Numbers and moments go on from one answer to the next.
sub answers_agree
{
	my ($answers, $expected, $state) = @_;
	my ($said, $done) = map { s/\d+/#/gr } split /\n/, $answers;
	is($said, $done, "$state: the same answer");
	like($done, $expected, "$state: is the state");
	return;
}

sub agree
{
	my ($session, $expected, $state) = @_;
	return answers_agree($session->value('SELECT both_answers()'), $expected, $state);
}

my $server = created(name => 'main', conf => "flakeid.max_ahead = '1s'\n");
my $session = $server->connect;
agree($session, qr/^yes$/, 'all is well');
my $word = $session->value('SELECT flake_next()');
$session->value(q{SELECT value FROM flakeid.status WHERE name = 'can generate'}) for 1 .. 20;
is($session->value('SELECT issued FROM flakeid.stats'), 2, 'flakeid.status issues nothing');

# What follows from the settings
for my $state (
	[ 'a layout that is full', "flakeid.layout = 'uidgenerator'", qr/^no: layout "uidgenerator" has been full since/ ],
	[ 'a secret that is missing', "flakeid.layout = 'randflake'; SET flakeid.secret_file = ''", qr/^no: .*secret/ ],
	[ 'a secret file that is missing', "flakeid.layout = 'randflake'; SET flakeid.secret_file = '/nowhere/secret'", qr/^no: .*secret/ ],
	[ 'a node out of range', 'flakeid.node = 5000', qr/^no: node 5000 is out of range|^no: .*node #/ ],
	[ 'ticks that are too long', "flakeid.layout = 'time:31:1min node:10 sequence:12'", qr/^no: cannot generate ids with layout/ ],
	[ 'a node of a coordinator that is not set', "flakeid.node = 'auto'", qr/^no: this host has no node number/ ])
{
	my ($name, $setting, $expected) = @$state;
	my $other = $server->connect;
	$other->value("SET $setting");
	agree($other, $expected, $name);
}

# A burst: the clock stands still while the ids run ahead of it.
my $burst = $server->connect;
$burst->value("SET flakeid.layout = '$narrow'; SET flakeid.when_ahead = 'error'");
$burst->value('SELECT flake_next()');
$server->stop_clock($server->now);
$burst->run('SELECT flake_next() FROM generate_series(1, 4000)');
agree($burst, qr/^no: the next id of node # lies # ?\w+ ahead of the clock|^no: the next id of node/, 'a burst with when_ahead = error');
$server->set_clock(0);
$burst->value('SELECT pg_sleep(1.1)');
agree($burst, qr/^yes$/, 'after the burst');
$burst->value("SET flakeid.when_ahead = 'wait'");
agree($burst, qr/^yes$/, 'a wait is no refusal');

# Clocks
$server->set_clock($two_days);
agree($session, qr/^no: the wall clock ran ahead of the uptime clock by/, 'a leap past max_leap');
agree($server->connect, qr/^no: the wall clock ran ahead of the uptime clock by/, 'a leap, in a new session');
$server->value('d1', 'SELECT flakeid.accept_clock()');
agree($session, qr/^yes$/, 'a leap that was accepted');
$server->set_clock(0);
agree($session, qr/^no: the next id of node # lies/, 'the word two days ahead');
agree($server->connect, qr/^no: the next id of node # lies/, 'the word two days ahead, in a new session');

my $standby = Torture::Server->new(name => 'standby', standby_of => $server);
$standby->start;
agree($standby->connect, qr/^no: cannot generate ids during recovery/, 'recovery');
$standby->stop;

$server->stop;
$server->start;
agree($server->connect, qr/^no: the horizon of database "d#" lies/, 'the horizon two days ahead after a restart');
$server->value('d1', 'SELECT flakeid.repair_horizon(none_kept => true)');
agree($server->connect, qr/^yes$/, 'a horizon that was repaired');

# A refused setting of the coordinator
sub set_coordinator
{
	my ($of, $where, $more) = @_;
	open my $conf, '>>', "$of->{data}/postgresql.conf" or die $!;
	print $conf "flakeid.coordinator = '$where'\n", $more // '';
	close $conf;
	return;
}
set_coordinator($server, 'host=ids.example.com password=x');
$server->stop;
$server->start;
agree($server->connect, qr/^no: .*flakeid\.coordinator/, 'a coordinator that is refused');

# Leases
my $coordinator = created(name => 'coordinator');
$coordinator->value('d1', 'CREATE EXTENSION flakeid_coordinator');
$coordinator->value('d1', q{SELECT flakeid.lease_realm_set('default', 1024, '1 h', '5 s')}); # no renewal while this runs
set_coordinator($server, "host=$coordinator->{dir}/nowhere dbname=d1 user=postgres");
$server->stop;
$server->start;
agree($server->connect, qr/^no: node # is not leased to this server/, 'a lease that is missing');
$server->stop;

my $generator = created(name => 'generator', layout => $narrow, conf => "flakeid.max_ahead = '1s'\nflakeid.lease_ttl = '1h'\n");
my ($unleased, $gate, $leased) = map { $generator->connect } 1 .. 3;
$unleased->value('SELECT flake_next()');
$gate->value('SELECT pg_advisory_lock(1)');
$unleased->send('SELECT both_answers()');
sleep 0.01 while $gate->value(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}) == 0;
set_coordinator($generator, "host=$coordinator->{dir} port=5432 dbname=d1 user=postgres");
kill 'HUP', $generator->{pid};
my $limit = time + 180;
while (time < $limit)
{
	my $given = $coordinator->value('d1', 'SELECT count(*) FROM flakeid.leases') > 0;
	last if !$leased->run('SELECT flake_next()')->{code} && $given;
	sleep 0.05;
}
$gate->value('SELECT pg_advisory_unlock(1)');
answers_agree($unleased->receive->{rows}[0][0], qr/^no: ids are made with leases only from now on/, 'a word that was closed');
agree($leased, qr/^yes$/, 'a lease that is held');

# The end of a lease that nobody renews
my $end = $coordinator->value('d1', 'SELECT extract(epoch FROM max(lease_end)) FROM flakeid.leases');
$coordinator->kill_all;
$generator->stop_clock($end - 1);
$leased->run('SELECT flake_next() FROM generate_series(1, 4000)');
agree($leased, qr/^no: the lease of node # ends at .* before the next id/, 'a lease that ends');
$generator->stop_clock($end + 1);
agree($leased, qr/^no: the lease of node # ended at/, 'a lease that has ended');
agree($generator->connect, qr/^no: the lease of node # ended at/, 'a lease that has ended, in a new session');

done_testing();
