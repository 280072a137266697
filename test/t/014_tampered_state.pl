# What others do to flakeid.state by hand is refused, or found out: an error that says what to do, and
# what it says works. Restores of every kind raise the horizon and never lower it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use State;
use Test::More;
use Torture::Draws;
use Torture::Server;

my $server = Torture::Server->create(conf => "flakeid.max_ahead = 60s\nmax_prepared_transactions = 5");
my $draws = Torture::Draws->new('snowflake');

#
# The server refuses to write to it
#
survives($server, $draws, 'writes by hand', sub {
	my @columns = qw(plain_horizon back_horizon timeline place lease_clock lease_rest lease_origin lease_hold lost check_value);
	refused($server, $_->[0], $_->[1], $_->[0]) for
		[ 'UPDATE flakeid.state SET plain_horizon = 1', '42809' ],
		[ 'INSERT INTO flakeid.state VALUES (' . join(', ', (0) x @columns) . ')', '42809' ],
		[ 'DELETE FROM flakeid.state', '42809' ],
		[ 'TRUNCATE flakeid.state', '42809' ],
		[ 'COPY flakeid.state FROM STDIN', '42809' ],
		[ 'MERGE INTO flakeid.state USING (SELECT 1) AS s ON true WHEN MATCHED THEN DELETE', '' . ($server->value('postgres', 'SHOW server_version_num') < 170000 ? '0A000' : '42809') ],
		[ 'SELECT FROM flakeid.state FOR UPDATE', '42809' ],
		[ 'DROP MATERIALIZED VIEW flakeid.state', '2BP01' ],
		[ 'DROP SCHEMA flakeid CASCADE', '2BP01' ];
});

# One row is added and one removed by a concurrent REFRESH, for which a superuser makes an index.
$server->value('d1', 'CREATE UNIQUE INDEX by_place ON flakeid.state (place)');
$server->value('d1', 'REFRESH MATERIALIZED VIEW CONCURRENTLY flakeid.state');

# How many ids, and the error.
sub ids_or_error
{
	my ($database, $what) = @_;
	my $answer = $draws->draw($server->connect($database), 1);
	return $answer;
}

# The error that tells that nobody knows the horizon, and its hint carried out.
sub lost_and_found
{
	my ($what) = @_;
	my $answer = $draws->draw($server->connect('d1'), 1);
	is($answer->{code}, 'XX001', "$what: an error");
	like($answer->{message}, qr/^the horizon of database "d1" is lost$/, "$what: says so");
	my ($refresh, $raise) = ($answer->{hint} // '') =~ /run (REFRESH .*?;) and then (SELECT flake_raise_horizon\(.*?'\))/;
	ok($raise, "$what: and what to do") or return;
	accepted($server, $refresh, "$what: $refresh");
	is($draws->draw($server->connect('d1'), 1)->{code}, 'XX001', "$what: which alone does not say where ids begin");
	my $rest = accepted($server, q{SELECT to_timestamp(lease_rest / 1e6) > clock_timestamp() - interval '1 min', lease_hold FROM flakeid.state}, 'state');
	is("@{ $rest->[0] }", 't 172800', "$what: leases rest");
	$server->move_clock(-60 - 20);
	# Past all that was made.
	accepted($server, $raise =~ s/1 min/3 min/r, "$what: $raise");
	accepted($server, 'SELECT flake_repair_horizon()', "$what: repaired");
	return;
}

#
# Emptied, and the server started again
#
survives($server, $draws, 'emptied and filled', sub {
	accepted($server, "REFRESH MATERIALIZED VIEW flakeid.state$_", "REFRESH$_") for ' WITH NO DATA', '';
});
$server->value('d1', 'REFRESH MATERIALIZED VIEW flakeid.state WITH NO DATA');
$server->kill_all;
$draws->next_run;
$server->start;
done_testing();
