# Nothing that maintains, moves or replaces flakeid.state lowers the horizon or is blocked by it,
# with the least WAL that there is, while sessions draw and the server is killed after each.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/..";
use Constants;
use State;
use Test::More;
use Torture::Draws;
use Torture::Server;

my $conf = <<'END';
wal_level = minimal
max_wal_senders = 0
max_prepared_transactions = 5
flakeid.max_ahead = 60s
END
my $server = Torture::Server->create(conf => $conf);
my $draws = Torture::Draws->new('snowflake');
mkdir "$server->{dir}/$_" or die $! for 'one', 'two';
$server->value('postgres', "CREATE TABLESPACE $_ LOCATION '$server->{dir}/$_'") for 'one', 'two';
$server->value('postgres', $_) for 'CREATE ROLE installer SUPERUSER', 'CREATE ROLE ordinary LOGIN';
my ($version) = $server->value('postgres', 'SHOW server_version_num') / 10000;

# Statements that are carried out, each in a transaction of its own.
sub carried_out
{
	my ($what, @sql) = @_;
	survives($server, $draws, $what, sub { accepted($server, $_, "$what: $_") for @sql });
	return;
}

# A transaction that replaces the state draws as far as the old state allows: two seconds here, and none pass.
sub carried_out_at_once
{
	my ($what, @sql) = @_;
	survives($server, $draws, $what, sub {
		$server->stop_clock($server->now);
		accepted($server, $_, "$what: $_")
		  for q{SELECT flakeid.raise_horizon(to_timestamp(plain_horizon / 1e6) + interval '1 s') FROM flakeid.state}, 'SELECT flake_next()', @sql;
		$server->move_clock(0);
	});
	return;
}

my $again = 'DROP EXTENSION flakeid CASCADE; CREATE EXTENSION flakeid';
my $rewrite = 'CREATE INDEX IF NOT EXISTS state_clock ON flakeid.state (plain_horizon); CLUSTER flakeid.state USING state_clock';
my $refresh = 'REFRESH MATERIALIZED VIEW flakeid.state';

survives($server, $draws, 'VACUUM FULL', sub { accepted($server, $_, $_) for 'VACUUM FULL flakeid.state', 'VACUUM FULL' }, ids => 100_000);
carried_out('VACUUM FREEZE', 'VACUUM FREEZE flakeid.state', 'VACUUM (FREEZE, ANALYZE)');
carried_out('CLUSTER and REINDEX',
	'CREATE INDEX state_clock ON flakeid.state (plain_horizon)', 'CLUSTER flakeid.state USING state_clock',
	'REINDEX TABLE flakeid.state', 'REINDEX DATABASE d1', 'DROP INDEX flakeid.state_clock');
carried_out('CLUSTER in a transaction', "BEGIN; $rewrite; $rewrite; ROLLBACK", $rewrite, 'DROP INDEX flakeid.state_clock');
carried_out('SET TABLESPACE', map { "ALTER MATERIALIZED VIEW flakeid.state SET TABLESPACE $_" } 'one', 'pg_default');
carried_out('SET ACCESS METHOD', 'ALTER MATERIALIZED VIEW flakeid.state SET ACCESS METHOD heap');
survives($server, $draws, 'database in another tablespace', sub {
	my $answer;
	for (1 .. 100)    # the last session may not be gone yet
	{
		$answer = $server->connect('postgres')->run('ALTER DATABASE d1 SET TABLESPACE two');
		last if ($answer->{code} // '') ne '55006';
	}
	is($answer->{code}, undef, 'ALTER DATABASE SET TABLESPACE') or diag $answer->{message};
}, alone => 1);
carried_out('TRUNCATE of every table', q{DO $$
	DECLARE t regclass;
	BEGIN
		FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'flakeid'::regnamespace AND relkind = 'r' LOOP
			EXECUTE 'TRUNCATE ' || t || ' CASCADE';
		END LOOP;
	END $$});

SKIP:
{
	skip 'pg_repack is not installed', 1 if !-x Torture::Server::bin() . '/pg_repack';
	survives($server, $draws, 'pg_repack', sub {
		accepted($server, 'CREATE EXTENSION pg_repack', 'pg_repack: its extension');
		$server->client('pg_repack', '-d', 'd1', '--no-order');
		accepted($server, 'DROP EXTENSION pg_repack', 'pg_repack: and without it');
	});
}

#
# The extension once more
#
survives($server, $draws, 'second CREATE EXTENSION', sub {
	refused($server, 'CREATE EXTENSION flakeid', '42710', 'there is one');
	accepted($server, 'CREATE EXTENSION IF NOT EXISTS flakeid', 'IF NOT EXISTS');
});
survives($server, $draws, 'SET SCHEMA', sub {
	accepted($server, 'CREATE SCHEMA other', 'another schema');
	refused($server, 'ALTER EXTENSION flakeid SET SCHEMA other', '0A000', 'it stays in its schema');
});
carried_out('DROP and CREATE', split /; /, $again);
carried_out('DROP and CREATE by another superuser in one transaction', "BEGIN; SET LOCAL ROLE installer; $again; COMMIT");
carried_out('REASSIGN OWNED', 'REASSIGN OWNED BY installer TO ordinary');
carried_out_at_once('DROP and CREATE rolled back', "BEGIN; $again; SELECT flake_next(); ROLLBACK");
carried_out_at_once('rolled back to a savepoint', "BEGIN; SAVEPOINT a; $again; SELECT flake_next(); ROLLBACK TO a; SELECT flake_next(); COMMIT");
carried_out('prepared and committed', "BEGIN; $again; PREPARE TRANSACTION 'again'", "COMMIT PREPARED 'again'");
carried_out_at_once('prepared and rolled back', "BEGIN; $again; SELECT flake_next(); PREPARE TRANSACTION 'again'", "ROLLBACK PREPARED 'again'");
survives($server, $draws, 'made again by hand', sub {
	refused($server, 'BEGIN; ALTER EXTENSION flakeid DROP MATERIALIZED VIEW flakeid.state; DROP MATERIALIZED VIEW flakeid.state;
		CREATE MATERIALIZED VIEW flakeid.state AS SELECT * FROM flakeid.state_now()', '55000', 'only flakeid makes it');
});

# A transaction that may go back does not lead others further than the state that comes back.
survives($server, $draws, 'whoever replaces the state', sub {
	for my $replace ($again, $rewrite, 'ALTER MATERIALIZED VIEW flakeid.state SET TABLESPACE one')
	{
		# More than the horizon has left of a layout with two ids a millisecond.
		my $many = 2000 * (1 + seconds('extension_us'));
		for my $draw (qq{SELECT flake_next('time:41:1ms node:10 sequence:1') FROM generate_series(1, $many)},
			'SELECT flakeid.raise_horizon(clock_timestamp())', 'SELECT flakeid.repair_horizon(none_kept => true)')
		{
			my $session = $server->connect;
			$session->value(q{SELECT flakeid.raise_horizon(clock_timestamp() + '2 min')}) if $draw =~ /repair/;
			my $answer = $session->run("BEGIN; $replace; $draw");
			is($answer->{code}, '55000', "makes none: $replace; $draw");
			like($answer->{message}, qr/transaction that replaces the durable state/, 'and is told why');
			$session->run('ROLLBACK');
			$session->value('SELECT flakeid.repair_horizon(none_kept => true)') if $draw =~ /repair/;
		}
	}
	$server->move_clock(20);    # a repaired horizon lies max_ahead before the clock: nobody waits when that is set back
}, alone => 1);

# Made, used, dropped and made again in one transaction, of which a part is rolled back.
$server->value('postgres', 'CREATE DATABASE fresh');
my $session = $server->connect('fresh');
my $answer = $session->run('BEGIN; CREATE EXTENSION flakeid; SELECT flake_next()');
is($answer->{code}, undef, 'CREATE EXTENSION and an id in one transaction') or diag $answer->{message};
$answer = $session->run("SAVEPOINT a; $again; SELECT flakeid.raise_horizon(clock_timestamp() + '10 s')");
is($answer->{code}, '55000', 'what a savepoint brings back is replaced, too');
$session->run("ROLLBACK TO a; SELECT flake_next(); COMMIT");
survives($server, $draws, 'made in one transaction', sub { }, database => 'fresh');

judged($draws, 'maintenance', 120_000, qr/^55000/, qr/^42883/, qr/^42704/, qr/^3F000/, qr/^XX000/);
$server->drop;

#
# A transaction that draws, and is rolled back with the state that it drew from
#
for my $how ('', 'SET LOCAL debug_parallel_query = on; ')
{
	my $sql = $how;
	$sql =~ s/debug_parallel_query/force_parallel_mode/ if $version < 16;
	my $name = $how ? 'by a parallel worker' : 'by the session';
	my $other = Torture::Server->create(layout => 'randflake', conf => $conf);
	my $drawn = Torture::Draws->new('randflake');
	survives($other, $drawn, "drawn $name and rolled back",
		sub { $other->connect->run("BEGIN; $again; ${sql}SELECT flake_next('randflake'); ROLLBACK") },
		alone => 1);
	judged($drawn, $name, 1_000);
	$other->drop;
}
done_testing();
