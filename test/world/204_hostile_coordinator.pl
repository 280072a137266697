# A coordinator that answers with anything costs an error message: the server lives, its keeper goes
# on in one worker slot, and users learn no more than they may know. One that does not answer at all
# costs its own time limit, and then the next host is asked.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use Encode qw(decode FB_CROAK);
use FakeCoordinator;
use FlakeTest;
use IO::Socket::INET;
use Leases;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $token = '6f9619ff-8b86-d011-b42d-00cf4fc964ff';
my $now = int time;
my @here = @FakeCoordinator::term;

# A good coordinator but for what it says about a lease.
sub lease
{
	my ($answer) = @_;
	return sub {
		my ($question, $number) = @_;
		return 'good' if $question eq 'connect';
		return $question eq 'acquire' ? ref $answer ? $answer->($number) : $answer : FakeCoordinator::good(@_);
	};
}

# Each with what superusers are told of it.
my $shape = qr/not one row of the expected fields/;
my %wrong = (
	'one column' => [ FakeCoordinator::row('5'), $shape ],
	'no column' => [ FakeCoordinator::row(), $shape ],
	'five columns' => [ FakeCoordinator::row('5', $token, $now, $now + 3, 'x'), $shape ],
	'no row' => [ FakeCoordinator::rows(7), $shape ],
	'two rows' => [ FakeCoordinator::rows(7, (FakeCoordinator::fields('5', $token, $now, $now + 3, @here)) x 2), $shape ],
	'a null' => [ FakeCoordinator::row('5', undef, $now, $now + 3, 1, @here), qr/null or binary/ ],
	'no uuid' => [ FakeCoordinator::row('5', 'not a uuid', $now, $now + 3, 1, @here), qr/token .* no uuid/ ],
	'a uuid too long' => [ FakeCoordinator::row('5', "$token$token", $now, $now + 3, 1, @here), qr/token .* no uuid/ ],
	'a node too large' => [ FakeCoordinator::row('1024', $token, $now, $now + 3, 1, @here), qr/not asked for/ ],
	'a node below 0' => [ FakeCoordinator::row('-1', $token, $now, $now + 3, 1, @here), qr/out of range/ ],
	'a node past 64 bits' => [ FakeCoordinator::row('9' x 30, $token, $now, $now + 3, 1, @here), qr/out of range/ ],
	'a start after the end' => [ FakeCoordinator::row('5', $token, $now + 3, $now, 1, @here), qr/ends before it begins/ ],
	'years' => [ FakeCoordinator::row('5', $token, $now, $now + 500_000_000, 1, @here), qr/longer than asked for/ ],
	'infinity' => [ FakeCoordinator::row('5', $token, $now, 'Infinity', 1, @here), qr/out of range/ ],
	'no nodes' => [ FakeCoordinator::row('5', $token, $now, $now + 3, 0, @here), qr/out of range/ ],
	'more nodes than there are' => [ FakeCoordinator::row('5', $token, $now, $now + 3, '9' x 30, @here), qr/out of range/ ],
	'nodes past the last one' => [ FakeCoordinator::row('5', $token, $now, $now + 3, 1020, @here), qr/not asked for/ ],
	'no id of a realm' => [ FakeCoordinator::row('5', $token, $now, $now + 3, 1, 'x', 1, 1), qr/realm in the answer is no uuid/ ],
	'no term' => [ FakeCoordinator::row('5', $token, $now, $now + 3, 1, $here[0], 0, 1), qr/out of range/ ],
	'a COPY' => [ FakeCoordinator::message('H', pack('Cn', 0, 0)), $shape ],
	'an empty query' => [ FakeCoordinator::message('I', '') . FakeCoordinator::message('Z', 'I'), $shape ],
	'no message of the protocol' => [ FakeCoordinator::message("\xff", 'x' x 50), qr/\w/ ],
	'a length past the end of time' => [ 'D' . pack('N', 0x7fffffff), qr/\w/ ],
	'the end' => [ undef, qr/closed the connection/ ],
	'foreign bytes' => [ FakeCoordinator::refusal('XX000', "\xff\xfe\x80 \xe4\xf6\xfc"), qr/\?/ ],
	'half a character' => [ FakeCoordinator::refusal('XX000', 'y' . "\xc3\xa9" x 400), qr/y\?\?\?/ ],
);
my %answers = map { my $answer = $wrong{$_}[0]; $_ => lease(ref $answer ? $answer : sub { $answer }) } keys %wrong;
$answers{good} = sub { return $_[0] eq 'connect' ? 'good' : FakeCoordinator::good(@_) };
$answers{unwilling} = sub { return $_[0] eq 'connect' ? 'good' : $_[0] eq 'installed' ? FakeCoordinator::refusal('42501', 'not for you') : undef };
$answers{'for ever'} = sub { return $_[0] eq 'connect' ? 'good' : $_[0] eq 'renew' ? FakeCoordinator::row(6_100_000_000, @here) : FakeCoordinator::good(@_) };
$answers{taken} = lease(FakeCoordinator::refusal('55006', 'node 5 is held by "the neighbour"'));
# Mostly it is asked for leases, and never is it silent: there the lease worker's limits of time decide.
$answers{'any bytes'} = sub {
	my ($question, $number) = @_;
	srand($$ + $number);
	return 'good' if $question eq 'connect' && rand() < 0.9;
	return FakeCoordinator::good($question) if $question eq 'installed' && rand() < 0.7;
	my $fields = join '', map { pack('N', rand() < 0.2 ? rand(2**32) : rand(20)) . chr(rand 256) x rand 20 } 1 .. rand 6;
	return (sub { undef }, sub { (join('', map { chr rand 256 } 1 .. rand 200), 'the end') },
		sub { (FakeCoordinator::message(chr(rand 256), $fields), 'the end') },
		sub { FakeCoordinator::rows(int rand 6, FakeCoordinator::message('D', pack('n', rand 6) . $fields)) },
		sub { FakeCoordinator::refusal('XX000', $fields =~ s/\0//gr) },
		sub { FakeCoordinator::good($question, $number) })[ rand 6 ]->();
};
my $fake = FakeCoordinator->new(%answers);
my $server = generator('server', undef, conninfo => $fake->conninfo, ttl => '3s', conf => "max_worker_processes = 4\nlog_min_messages = warning\n");
my $postmaster = slurp_file($server->data_dir . '/postmaster.pid');
my $started = $server->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');
$server->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor');

sub keepers
{
	my ($pid) = $postmaster =~ /^(\d+)/;
	return scalar grep { /lease worker/ } `ps -o args= --ppid $pid`;
}
sub crashes { return log_lines($server, qr/was terminated by signal|all server processes terminated/) }

# Everything that the server and its users were told so far is text.
sub is_text { my ($text) = @_; return defined eval { decode('UTF-8', $text, FB_CROAK) } }

for my $what (sort keys %wrong)
{
	$fake->says($what);
	my $told = '';
	ok(wait_until(sub { ($told = error_of($server)) =~ $wrong{$what}[1] }), "$what: an error that says so") or diag $told;
	ok(is_text($told), "$what: in good characters");
}
is(crashes(), 0, 'nothing of it crashed a process');
is(keepers(), 1, 'one keeper goes on');
ok(is_text(slurp_file($server->logfile)), 'the log is in good characters');

# One worker slot, whatever happens: the other two are free.
$fake->says('no uuid');
error_of($server) for 1 .. 3;
is( $server->safe_psql('postgres', q{
		CREATE TABLE slow AS SELECT generate_series(1, 1000) AS i;
		SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
		SET max_parallel_workers_per_gather = 2;
		CREATE TEMP TABLE plan (line text);
		DO $$DECLARE line text; BEGIN
			FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off) SELECT count(*) FROM slow' LOOP INSERT INTO plan VALUES (line); END LOOP;
		END$$;
		SELECT line ~ 'Launched: 2' FROM plan WHERE line ~ 'Workers Launched'}),
	't', 'the other worker slots are free');

# A connection whose first question is refused is of no use for another.
$fake->says('good');
ok(wait_until(sub { error_of($server) eq '' }), 'a good answer');

# A renewal is believed for as long as was asked for.
$fake->says('for ever');
my $renewals = $fake->asked('renew');
ok(wait_until(sub { error_of($server); $fake->asked('renew') > $renewals + 2 }), 'a renewal until the year 2163, and the next ones');
is( $server->safe_psql('postgres', q{SELECT count(*), count(*) FILTER (WHERE substring(value FROM 'until (.*)')::timestamptz > now() + interval '1 hour')
		FROM flakeid.status WHERE name LIKE 'lease of node%' AND value LIKE 'until %'}),
	'1|0', 'the lease ends soon');
$fake->says('good');
my $questions = () = $fake->questions;
$fake->says('unwilling');
my @since;
ok(wait_until(sub { @since = $fake->questions; splice @since, 0, $questions; 5 < grep { $_ eq 'installed' } @since }), 'a first question that is refused is asked again');
shift @since while $since[0] ne 'installed';
is(join(' ', grep { $_ ne 'installed' } @since), '', 'and no other after it');
like(error_of($server), qr/not for you/, 'with an error that says so');

# What ordinary roles are told.
for my $case ([ 'taken', qr/Another holder has the node/ ], [ 'no uuid', qr/an answer that is none/ ])
{
	my ($says, $kind) = @$case;
	$fake->says($says);
	my $told;
	ok(wait_until(sub { ($told = refusal($server, 'SELECT flake_next()', user => 'ordinary')) =~ $kind }),
		"$says: an ordinary role is told the kind of trouble") or diag $told;
	unlike($told, qr/127\.0\.0\.1|$fake->{port}|neighbour|uuid/, 'and nothing else');
	like(refusal($server, 'SELECT flake_next()', user => $_), qr/Coordinator "127\.0\.0\.1:$fake->{port}\/ids": /, "$_ is told all")
	  for 'watcher', scalar getpwuid($>);
}
like(slurp_file($server->logfile), qr/ERROR: .*\n.*DETAIL: +Coordinator "127\.0\.0\.1.*\n.*\n.*STATEMENT/, 'and so is the log');

# Anything at all, for a while, for many nodes at once.
$fake->says('any bytes');
$server->append_conf('postgresql.conf', "flakeid.node = '0-31'\n");
$server->reload;
my $before = $fake->asked('\w+');
error_of($server, "SET flakeid.node = $_; SELECT flake_next()") for 1 .. 32;
ok(wait_until(sub { $fake->asked('\w+') > $before + 200 }), 'questions go on') or diag $fake->asked('\w+') - $before;
is(crashes(), 0, 'any bytes: no crash');
is(keepers(), 1, 'and one keeper');
ok(is_text(slurp_file($server->logfile)), 'whose log is in good characters');
$server->append_conf('postgresql.conf', "flakeid.node = auto\n");
$server->reload;
$fake->says('good');
ok(wait_until(sub { error_of($server) eq '' }), 'a good answer ends it all');
is($server->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $started, 'it is the same server');

# A server that joins another realm.
sub joins
{
	my ($one) = @_;
	$one->stop;
	unlink $one->data_dir . '/flakeid/leases' or die $!;
	$one->start;
	return;
}

# The first host accepts and never answers.
my $coordinator = coordinator('coordinator', conf => "listen_addresses = '127.0.0.1'\n");
append_to_file($coordinator->data_dir . '/pg_hba.conf', "host all all 127.0.0.1/32 trust\n");
$coordinator->reload;
my $mute = IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1') or die $!;
my $user = getpwuid($>);
$server->append_conf('postgresql.conf', "flakeid.max_ahead = 50s\n");
for my $hosts (
	[ 'host=127.0.0.1,127.0.0.1', 'hosts' ],
	[ 'host=first,second hostaddr=127.0.0.1,127.0.0.1 target_session_attrs=read-write', 'hosts with addresses' ])
{
	my ($where, $what) = @$hosts;
	$server->append_conf('postgresql.conf', sprintf "flakeid.coordinator = '%s port=%d,%d dbname=postgres user=%s'\nflakeid.realm = '%s'\n",
		$where, $mute->sockport, $coordinator->port, $user, $what);
	$coordinator->safe_psql('postgres', "SELECT flakeid.lease_realm_set('$what', 1024)");
	joins($server);
	is(error_of($server), '', "the first of two $what never answers: the first draw waits for the second");
}

# It lets a session in and answers no question: then the next one is asked.
$answers{mute} = undef;
$fake->stop;
my $half = FakeCoordinator->new(mute => sub { return $_[0] eq 'connect' ? 'good' : $_[0] eq 'installed' ? FakeCoordinator::row('1') : '' });
$server->append_conf('postgresql.conf', sprintf "flakeid.coordinator = 'host=127.0.0.1,127.0.0.1 port=%d,%d dbname=postgres user=%s'\n",
	$half->{port}, $coordinator->port, $user);
$coordinator->safe_psql('postgres', "SELECT flakeid.lease_realm_set('default', 1024)");
joins($server);
ok(wait_until(sub { error_of($server) eq '' }), 'a first host that answers no question is left for the second');
is($half->asked('acquire'), 1, 'after one question');
$half->stop;
$server->stop;
$coordinator->stop;
done_testing();
