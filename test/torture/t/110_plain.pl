# The generator of the edition in plain SQL, one danger after the other. test/on_demand/plain has them all at once.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Torture::Server;

$Torture::Server::plain = 1;
my $server = Torture::Server->create(databases => 1, conf => 'flakeid.when_ahead = error');
my ($database, $dir, $bin) = ('d1', $server->{dir}, Torture::Server::bin());
$server->value('postgres', 'CREATE ROLE clerk LOGIN');

my (%seen, $highest);

# Draws as the role that may do nothing else; none of the ids was there before, and all lie above those.
sub draw
{
	my ($what, $call) = @_;
	my $session = $server->connect($database);
	$session->run('SET ROLE clerk');
	my $answer;
	for (1 .. 20)
	{
		$answer = $session->run('SELECT ' . ($call // 'flake_next() FROM generate_series(1, 500)'));
		last if ($answer->{code} // '') ne '55000';
		$server->move_clock(0.5);    # until it comes near enough to what may have been issued
	}
	my @ids = map { $_->[0] } @{ $answer->{rows} };
	my @twice = grep { $seen{$_}++ } @ids;
	my ($lowest) = sort { $a <=> $b } @ids;
	ok(@ids && !@twice && $lowest > ($highest // 0), $what)
	  or diag $answer->{message} // sprintf '%d of %d came twice, the lowest is %s, after %s', @twice + 0, @ids + 0, $lowest, $highest;
	($highest) = sort { $b <=> $a } @ids, $highest // 0 if @ids;
	return $answer;
}

sub refused
{
	my ($sql, $role) = @_;
	my $session = $server->connect($database);
	$session->run('SET ROLE ' . ($role // 'clerk'));
	return $session->run($sql)->{code} // '';
}

sub again_after
{
	my ($moment) = @_;
	$server->set_clock($moment - $server->now + $server->{offset});
	return;
}

# As the owner puts a dump back: errors are told, and do not stop it.
sub put_back
{
	my ($role, $dump) = @_;
	my $psql = "$bin/psql -XAtq -h $dir -p 5432 -U $role $database";
	system("$psql -f $dump > $dir/put_back.log 2>&1");
	open my $in, '<', "$dir/put_back.log" or die $!;
	return grep { /ERROR/ && !/settings_pkey/ } <$in>;
}

sub dump_generator
{
	my ($role) = @_;
	$server->client('pg_dump', '-U', $role, '--data-only', '-n', 'flakeid_plain', '-f', "$dir/dump", $database);
	return "$dir/dump";
}

draw('one by one');
draw('many', 'flake_next_many(5000)');
draw('a block', 'flake_block(1) FROM generate_series(1, 20)');
draw('one in between');
my ($first) = map { $_->[0] } @{ draw('a block in the middle', 'flake_block(100)')->{rows} };
$highest = $first + 99;
draw('above the whole block');

# The id was given to a client, and nobody's commit has flushed anything.
for my $call ('flake_next()', 'flake_next_many(3)', 'flake_block(3)')
{
	my $began = $server->now;
	sleep 3;    # past the bound
	$server->move_clock(10);
	my $session = $server->connect($database);
	$session->run('BEGIN');
	$seen{ $_->[0] }++ for @{ $session->run("SELECT $call")->{rows} };
	($highest) = sort { $b <=> $a } keys %seen;
	my $killed = $server->now;
	$server->kill_all;
	again_after($killed - 1);
	$server->start;
	draw("$call, not committed, kill -9 of all, the same second again");
	$server->kill_all;
	again_after($killed - 1);
	$server->start;
	draw('and killed again in the same second');
}

# kill -9 of one process: the server begins anew, and unlogged sequences with it.
{
	my $session = $server->connect($database);
	my $log = $server->log_size;
	kill 'KILL', $session->{pid};
	select undef, undef, undef, 0.05 until $server->log($log) =~ /ready to accept connections/;
	draw('kill -9 of one process');
	$server->stop('fast');
	$server->move_clock(-1);
	$server->start;
	draw('a fast restart, a second back');
	$server->stop('immediate');
	$server->move_clock(-1);
	$server->start;
	draw('an immediate one, a second back');
}

# A clock that is set back.
$server->move_clock(10);
draw('the clock has caught up');
$server->move_clock(-2);
draw('two seconds back');
$server->move_clock(-3600);
is(refused('SELECT flake_next()'), '55000', 'an hour back: refused');
is(refused('SELECT flake_next_many(2)'), '55000', 'an hour back: many are refused');
is(refused('SELECT flake_block(2)'), '55000', 'an hour back: a block is refused');
$server->move_clock(3602);

# A dump that is put back over the living generator, in the tick that is open: it lies ahead of the clock, and stays open.
for my $back (0, 2)
{
	draw('before the dump');
	$server->move_clock(-$back);
	draw("the clock $back s back");
	my $dump = dump_generator('owner');
	draw('what the dump does not know');
	like(join('', put_back('owner', $dump)), qr/^\S+ ERROR:  permission denied for sequence bound$/, 'the owner cannot put back the bound');
	draw("put back, the clock $back s back");
	$server->move_clock($back);
}
{
	my $dump = dump_generator('postgres');
	draw('what the dump does not know');
	put_back('postgres', $dump);
	is(refused('SELECT flake_next()'), '55000', 'put back by a superuser: refused');
	$server->value($database, "SELECT adopt($highest)");
	draw('and adopted');
}

# A dump of everything restored in its place; a copy; both with the clock back.
$server->client('pg_dump', '-U', 'owner', '-Fc', '-f', "$dir/all", $database);
draw('what the dump of all does not know');
$server->value('postgres', "CREATE DATABASE restored OWNER owner");
$server->client('pg_restore', '-U', 'owner', '-d', 'restored', "$dir/all");
pass('an owner restores without an error');
$server->value('postgres', "DROP DATABASE $database");
$server->value('postgres', "ALTER DATABASE restored RENAME TO $database");
$server->value('postgres', "ALTER DATABASE $database SET search_path = flakeid_plain, public");
draw('restored in another database');
$server->move_clock(-1);
$server->value('postgres', "CREATE DATABASE copied TEMPLATE $database");
$server->value('postgres', "DROP DATABASE $database");
$server->value('postgres', "ALTER DATABASE copied RENAME TO $database");
$server->value('postgres', "ALTER DATABASE $database SET search_path = flakeid_plain, public");
draw('copied by TEMPLATE, a second back');
$server->move_clock(20);
draw('later');

# A standby that has missed a second and takes over, two seconds behind.
{
	my $standby = Torture::Server->new(standby_of => $server, offset => $server->{offset});
	symlink $server->{dir}, "$standby->{dir}/line" or die $!;
	$standby->start;
	# One database has made no id yet.
	$server->value('postgres', 'CREATE DATABASE fresh');
	$server->install_plain('fresh', 0);
	my $replayed = $server->value($database, 'SELECT pg_current_wal_flush_lsn()');
	for (1 .. 600)
	{
		last if $standby->value($database, "SELECT pg_last_wal_replay_lsn() >= '$replayed'") eq 't';
		select undef, undef, undef, 0.1;
	}
	$standby->stop('fast');
	draw('what the standby does not know');
	my @first = map { $_->[0] } @{ $server->connect('fresh')->run('SELECT flake_next() FROM generate_series(1, 500)')->{rows} };
	my $killed = $server->now;
	$server->kill_all;
	$standby->set_clock($killed - 2 - $standby->now + $standby->{offset});
	$standby->start;
	my $old = $server;
	$server = $standby;
	is(refused('SELECT flake_next()'), '25006', 'a standby refuses') or note 'nextval() says so';
	$server->value('postgres', 'SELECT pg_promote()');
	$dir = $server->{dir};
	my $answer = $server->connect('fresh')->run('SELECT flake_next() FROM generate_series(1, 500)');
	cmp_ok($answer->{rows}[0][0] // 0, '>', $first[-1] // 'no id', 'the first ids of a database are not made again') or diag $answer->{message};
	draw('promoted, two seconds behind');
	my $answer = $server->connect('fresh')->run('SELECT flake_next() FROM generate_series(1, 500)');
	cmp_ok($answer->{rows}[0][0] // 0, '>', $first[-1] // 'no id', 'the first ids of a database are not made again') or diag $answer->{message};
	$old->drop;
}

# Whoever draws can neither set the generator back nor hold its locks.
my @sequences = qw(word_a word_b tick sure extended bound home);
is_deeply([ map { refused("SELECT setval('flakeid_plain.$_', 5)") } @sequences ], [ map { '42501' } @sequences ], 'no setval()');
is_deeply([ map { refused("BEGIN; LOCK TABLE flakeid_plain.$_ IN ACCESS SHARE MODE") } qw(configuring opening extending flushing settings) ], [ ('42501') x 5 ], 'no lock');
is_deeply(
	[ map { refused("SELECT flakeid_plain.$_") } 'adopt(5)', 'close_tick()', 'configure()', 'extend(1, true, true)', 'floor_at_start(1)', 'flush_wal()', 'secret_rounds()' ],
	[ ('42501') x 7 ], 'nothing of the owner');
is(refused("SELECT setval('flakeid_plain.bound', 5)", 'owner'), '42501', 'the owner cannot lower the bound either');
$server->connect($database)->run("SET ROLE clerk; SELECT nextval((flakeid_plain.generator()).word) FROM generate_series(1, 100000)");
draw('after somebody has wasted words');
for my $call ('open(true, -5)', 'open(true, 100000)', 'open(true, NULL)', 'open(NULL, 5)', 'id_of(-1)')
{
	refused("SELECT flakeid_plain.$call");
	draw("after a call of flakeid_plain.$call");
}

# Who waits for the lock and is cancelled leaves nothing behind.
{
	my $holder = $server->connect($database);
	$holder->run('BEGIN; LOCK TABLE flakeid_plain.opening IN EXCLUSIVE MODE');
	my @waiting = map { $server->connect($database)->send('SELECT flake_block(2)') } 1 .. 5;
	my $look = $server->connect($database);
	for (1 .. 600)
	{
		last if $look->value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == 5;
		select undef, undef, undef, 0.1;
	}
	$look->run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
	is_deeply([ map { $_->receive->{code} } @waiting ], [ ('57014') x 5 ], 'cancelled while they wait');
	$holder->run('ROLLBACK');
	is($look->value(q{SELECT count(*) FROM pg_locks WHERE relation IN ('flakeid_plain.opening'::regclass, 'flakeid_plain.extending'::regclass)}),
		0, 'no lock is left');
	draw('and others draw');
	my $inside = $server->connect($database);
	$inside->run('BEGIN; SELECT flake_block(5), flake_next(), flake_next_many(10)');
	is($look->value(q{SELECT count(*) FROM pg_locks WHERE relation IN ('flakeid_plain.opening'::regclass, 'flakeid_plain.extending'::regclass)}),
		0, 'nor is one held by an open transaction that drew');
}

# A search path in which everything is somebody else's.
$server->value($database, <<'END');
CREATE SCHEMA evil; GRANT ALL ON SCHEMA evil TO PUBLIC;
CREATE FUNCTION evil.trap() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION $$trapped$$; END';
CREATE FUNCTION evil.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT evil.trap()';
CREATE FUNCTION evil.nextval(text) RETURNS bigint LANGUAGE sql AS 'SELECT evil.trap()';
CREATE FUNCTION evil.setval(regclass, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT evil.trap()';
CREATE FUNCTION evil.pg_sequence_last_value(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT evil.trap()';
CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT now() FROM evil.trap()';
CREATE FUNCTION evil.date_part(text, timestamptz) RETURNS float8 LANGUAGE sql AS 'SELECT evil.trap()::float8';
CREATE FUNCTION evil.shift(bigint, int) RETURNS bigint LANGUAGE sql AS 'SELECT evil.trap()';
CREATE FUNCTION evil.calc(bigint, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT evil.trap()';
CREATE FUNCTION evil.less(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT evil.trap() > 0';
CREATE FUNCTION evil.calc(float8, float8) RETURNS float8 LANGUAGE sql AS 'SELECT evil.trap()::float8';
CREATE OPERATOR evil.>> (LEFTARG = bigint, RIGHTARG = int, FUNCTION = evil.shift);
CREATE OPERATOR evil.<< (LEFTARG = bigint, RIGHTARG = int, FUNCTION = evil.shift);
CREATE OPERATOR evil.& (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.calc);
CREATE OPERATOR evil.| (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.calc);
CREATE OPERATOR evil.+ (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.calc);
CREATE OPERATOR evil.- (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.calc);
CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.less);
CREATE OPERATOR evil.>= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.less);
CREATE OPERATOR evil.<= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.less);
CREATE OPERATOR evil.* (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.calc);
CREATE OPERATOR evil.- (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.calc);
END
my $trapped = $server->connect($database);
$trapped->run('SET search_path = evil, pg_catalog');
is_deeply(
	[ map { $trapped->run("SELECT flakeid_plain.$_ FROM generate_series(1, 3)")->{message} // '' } 'flake_next()', 'flake_next_many(300)',
		'flake_block(5)', 'flake_timestamp(5)', "flake_node(5, 'twitter')", 'flake_explain(5)', 'flake_inspect(5)', 'flake_floor(now())',
		"flake_in_range(5, tstzrange(now(), NULL))", "flake_to_text(5, 'base58')", "flake_from_text('6', 'base58')", "flake_make(now(), 1, 1)",
		"flake_encrypt(5, '\\x00112233445566778899aabbccddeeff')" ],
	[ ('') x 13 ], 'nobody is trapped');

# Settings: ids go on past the bound, whatever was changed and rolled back.
draw('before a change');
$server->value($database, "UPDATE settings SET value = '7' WHERE name = 'node'");
draw('another node');
$server->connect($database)->run("BEGIN; UPDATE flakeid_plain.settings SET value = '8' WHERE name = 'node'; ROLLBACK");
draw('a change that was rolled back');
is($server->value($database, 'SELECT flake_node(flake_next())'), 7, 'the node is the one before');

# A statement that runs meanwhile makes no more ids with the old settings.
{
	my $session = $server->connect($database);
	$session->run('BEGIN; DECLARE running CURSOR FOR SELECT flake_next() FROM generate_series(1, 100)');
	my @before = map { $_->[0] } @{ $session->run('FETCH 10 FROM running')->{rows} };
	$server->value($database, "UPDATE settings SET value = '9' WHERE name = 'node'");
	draw('the next node');
	my @after = map { $_->[0] } @{ $session->run('FETCH 10 FROM running')->{rows} };
	my %nodes = map { $_ => $server->value($database, "SELECT flake_node($_)") } @before, @after;
	is_deeply([ map { $nodes{$_} } @before, @after ], [ (7) x 10, (9) x 10 ], 'a statement that ran when the node was changed');
	is((grep { $seen{$_}++ } @before, @after), 0, 'none of its ids twice');
	$session->run('COMMIT');
}
%seen = ();
for my $layout (qw(sonyflake2 js53 uidgenerator31))
{
	$highest = 0;
	$server->value($database, "UPDATE settings SET value = '$layout' WHERE name = 'layout'");
	is(draw($layout, 'flake_next() FROM generate_series(1, 20)')->{code}, undef, "layout $layout");
}

# A dump that is read and put back within a long tick.
$server->stop_clock(10 + 2 * int $server->now / 2);    # where the common case rounds to this tick
{
	my @some = 'flake_next() FROM generate_series(1, 100)';
	draw('before the dump', @some);
	my $dump = dump_generator('owner');
	draw('what the dump does not know', @some);
	put_back('owner', $dump);
	draw('put back within the tick', @some);
}
$server->set_clock($server->{offset} + 20);

# Who may not decipher makes enciphered ids.
$server->value($database, "UPDATE settings SET value = 'randflake' WHERE name = 'layout'");
{
	my $session = $server->connect($database);
	$session->run('SET ROLE clerk');
	my $answer = $session->run('SELECT flake_next() FROM generate_series(1, 20) UNION ALL SELECT flake_next_many(20) UNION ALL SELECT flake_block(1)');
	is($answer->{code}, undef, 'layout randflake') or diag $answer->{message};
	is((grep { $seen{ $_->[0] }++ } @{ $answer->{rows} }), 0, 'none twice');
	is($session->run("SELECT flakeid_plain.$_")->{code}, '42501', "not for everybody: $_") for 'id_of(5)', 'flake_encrypt(5)';
}

$server->drop;
done_testing();
