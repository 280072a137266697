# Two servers that write the same table and subscribe to each other: refused before the first id that
# both could make, and with the lines of the hint pasted, the same rows on both sides.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A connection that ends because the machine stalls would count as an error of the apply worker.
my @conf = ('wal_level = logical', 'max_wal_senders = 10', 'max_replication_slots = 10', 'wal_sender_timeout = 0', 'wal_receiver_timeout = 0');
my @sites = map { server($_, @conf) } 'east', 'west';
my ($east, $west) = @sites;
plan skip_all => 'subscriptions without what came from elsewhere are of PostgreSQL 16' if $east->pg_version < 16;

my $rows = 100000; # of each
for my $site (@sites)
{
	$site->safe_psql('postgres', 'CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), site text, n int);
		CREATE PUBLICATION orders FOR TABLE orders');
}
for ([ $east, $west ], [ $west, $east ])
{
	my ($here, $there) = @$_;
	my $conninfo = $there->connstr('postgres') =~ s/'/''/gr;
	$here->safe_psql('postgres', sprintf 'CREATE SUBSCRIPTION from_%s CONNECTION \'%s\' PUBLICATION orders WITH (origin = none, copy_data = false)',
		$there->name, $conninfo);
}

my $insert = sub { my ($site) = @_; return sprintf "INSERT INTO orders (site, n) SELECT '%s', generate_series(1, $rows)", $site->name };
my @hints;
for my $site (@sites)
{
	my $refusal = refusal($site, $insert->($site));
	like($refusal, qr/^55000: this server is one of several, and flakeid.node was never set$/m, $site->name . ' with nothing set');
	is($site->safe_psql('postgres', 'SELECT count(*) FROM orders'), '0', 'no row comes of it');
	push @hints, $refusal =~ /for N that no other server has: ((?:.*?;){3})/;
}
is(scalar(@hints), 2, 'each is told a line to paste');
is($hints[0], q{LOAD 'flakeid'; ALTER SYSTEM SET flakeid.node = N; SELECT pg_reload_conf();}, 'which is');
like(refusal($east, $hints[0] =~ s/ SELECT.*//r), qr/^22023: invalid value for parameter "flakeid.node": "n"/, 'which says nothing before somebody has chosen');
$hints[$_ - 1] =~ s/= N;/= $_;/ for 1, 2;
for my $i (0, 1)
{
	$sites[$i]->safe_psql('postgres', $hints[$i] =~ s/; */;\n/gr);
	$sites[$i]->poll_query_until('postgres', "LOAD 'flakeid'; SHOW flakeid.node", "LOAD\n" . ($i + 1)) or die;
}

# Both write at the same time, what the other wrote arrives meanwhile.
my @writers = map
{
	my $site = $_;
	local %ENV = $site->_get_env();
	IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', 'postgres', map { ('-c', $insert->($site) =~ s/1, $rows/$_ * $rows \/ 10 + 1, ($_ + 1) * $rows \/ 10/r) } 0 .. 9 ])
} @sites;
ok($_->finish, 'a writer writes all') for @writers;
my $all = 2 * $rows;
for my $site (@sites)
{
	ok($site->poll_query_until('postgres', "SELECT count(*) = $all FROM orders"), $site->name . " gets all $all rows");
	is($site->safe_psql('postgres', 'SELECT string_agg(DISTINCT site || flake_node(id), \' \') FROM orders'), 'east1 west2', 'each with the node of who made it');
	is($site->safe_psql('postgres', 'SELECT sum(apply_error_count) FROM pg_stat_subscription_stats'), '0', 'no conflict stopped it');
	is($site->safe_psql('postgres', 'SELECT sum(confl_insert_exists + confl_update_exists) FROM pg_stat_subscription_stats'), '0', 'or was counted')
	  if $site->pg_version >= 18;
}
my $digest = q{SELECT md5(string_agg(id || site || n, ',' ORDER BY id)) FROM orders};
is($east->safe_psql('postgres', $digest), $west->safe_psql('postgres', $digest), 'and all rows are the same');

# The recipe that reports a twin: rows from elsewhere with the node of this server.
$east->safe_psql('postgres', q{
	CREATE FUNCTION report_twin() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		RAISE LOG 'id % was made elsewhere with the node of this server', NEW.id;
		RETURN NULL;
	END $$;
	CREATE TRIGGER report_twin AFTER INSERT ON orders FOR EACH ROW
		WHEN (flake_node(NEW.id, 'snowflake') = 1 AND flake_timestamp(NEW.id, 'snowflake') >= '2026-01-01Z')
		EXECUTE FUNCTION report_twin();
	ALTER TABLE orders ENABLE REPLICA TRIGGER report_twin});
sub reported { return scalar(() = slurp_file($east->logfile) =~ /LOG:  id \d+ was made elsewhere/g) }
$west->safe_psql('postgres', $insert->($west) =~ s/1, $rows/1, 1000/r);
$east->safe_psql('postgres', $insert->($east) =~ s/1, $rows/1, 1000/r);
$all += 2000;
ok($_->poll_query_until('postgres', "SELECT count(*) = $all FROM orders"), $_->name . ' gets more rows') for @sites;
is(reported(), 0, 'a trigger is silent about rows of others, and of its own');
$west->safe_psql('postgres', "SET flakeid.node = 1; " . $insert->($west) =~ s/1, $rows/1, 10/r);
$all += 10;
ok($east->poll_query_until('postgres', "SELECT count(*) = $all FROM orders"), 'rows of a twin arrive');
is(reported(), 10, 'and each is told in the log');

$_->stop for @sites;
done_testing();
