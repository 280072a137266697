# What a dump carries of the horizon counts for every session from the commit of its restore on, also
# where the same transaction replaces the file of the state. Where that does not commit, nothing is left
# behind.
use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use FlakeTest;
use Test::More;

my $node = server('replaced', "flakeid.max_ahead = '2min'");
my $rewrite = 'CREATE INDEX IF NOT EXISTS state_clock ON flakeid.state (plain_horizon); CLUSTER flakeid.state USING state_clock';
my $recreate = 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid';
my $raised = 0;

# A moment ahead of all that was raised to so far.
sub later
{
	$raised += 20;
	return $node->safe_psql('postgres', "SELECT clock_timestamp() + interval '$raised s'");
}

sub all_after
{
	my ($moment, $what, $session) = @_;
	my $sql = "SELECT flake_timestamp(flake_next()) > '$moment'";
	is($session ? $session->query_safe($sql) : $node->safe_psql('postgres', $sql), 't', $what);
}

# What restores a dump that goes up to that moment.
sub restore
{
	my ($moment) = @_;
	return "INSERT INTO flakeid.restored VALUES ('plain horizon', 1000000 * extract(epoch FROM timestamptz '$moment'))";
}

for ([ rewritten => $rewrite ], [ recreated => $recreate ])
{
	my ($name, $replace) = @$_;

	# A session goes on with the bound that it knows.
	my $session = $node->background_psql('postgres');
	$session->query_safe('SELECT flake_next()');
	my $moment = later();
	$node->safe_psql('postgres', "BEGIN; $replace; ${\restore($moment)}; COMMIT");
	all_after($moment, "$name: a session that drew before the restore", $session);

	# What was rolled back is known in shared memory and nowhere else.
	$moment = later();
	my $restore = restore($moment);
	$node->safe_psql('postgres', "BEGIN; $replace; $restore; ROLLBACK; BEGIN; $replace; $restore; COMMIT");
	all_after($moment, "$name: after a restore, rolled back and made again");
	$session->quit;
	$node->stop('immediate');
	$node->start;
	all_after($moment, "$name: and after a crash");
}

my $moment = later();
$node->safe_psql('postgres', "BEGIN; $rewrite; ${\restore($moment)}; ROLLBACK; SELECT flakeid.raise_horizon('$moment')");
$node->stop('immediate');
$node->start;
all_after($moment, 'a raise after a restore that was rolled back');

# What was not restored after all is no reason to wait for.
$node->safe_psql('postgres', "BEGIN; $rewrite; ${\restore('2090-01-01')}; ROLLBACK");
is($node->safe_psql('postgres', 'SELECT flakeid.repair_horizon(none_kept => true)'), 't', 'a restore by mistake, rolled back, is repaired');
is($node->safe_psql('postgres', "SELECT flake_timestamp(flake_next()) < '2090-01-01'"), 't', 'and ids go on');

like(refusal($node, "BEGIN; $rewrite; SELECT flakeid.raise_horizon('2090-01-01')"), qr/^55000: cannot make ids in the transaction/,
	'a raise by hand is refused there');
is($node->safe_psql('postgres', 'SELECT flakeid.repair_horizon(none_kept => true)'), 'f', 'before it did anything');

# The node that ids were made of stands in the row too. What a session has read of it counts for others as long as the row does.
my $node_5 = "INSERT INTO flakeid.restored VALUES ('node assigned', 162)";
for ([ rewritten => $rewrite ], [ recreated => $recreate ])
{
	my ($name, $replace) = @$_;
	my $draw = 'SELECT flake_next() > 0';
	is($node->safe_psql('postgres', $draw), 't', "$name: no node was assigned");
	like(refusal($node, "BEGIN; $replace; $node_5; $draw"), qr/^55000: /, 'a row with one, in its transaction');
	is($node->safe_psql('postgres', $draw), 't', 'which was rolled back');
	$node->safe_psql('postgres', "BEGIN; $replace; $node_5; COMMIT");
	like(refusal($node, $draw), qr/^55000: flakeid.node is not set, and was 5 when/, 'and one that was not') for 1, 2;
	refusal($node, "BEGIN; $recreate; SELECT flake_next(); SELECT 1/0");
	like(refusal($node, $draw), qr/^55000: flakeid.node is not set, and was 5 when/, 'a row without one, rolled back');
	$node->safe_psql('postgres', $recreate);
	is($node->safe_psql('postgres', $draw), 't', 'and one that was not');
}

$node->stop;
done_testing();
