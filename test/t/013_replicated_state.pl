# Publications and subscriptions of everything neither write to the horizon nor stop because of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use State;
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Server;

# Both have node 0, on purpose: whose horizon counted would be seen.
my $conf = "wal_level = logical\nflakeid.max_ahead = 60s\nflakeid.node = 0\n";
# Its clock, and so its horizon, lies 10 minutes behind.
my $there = Torture::Server->create(name => 'there', conf => $conf, offset => -600);
my $here = Torture::Server->create(name => 'here', conf => $conf);
my $version = int($here->value('postgres', 'SHOW server_version_num') / 10000);
my %draws = map { $_->{dir} => Torture::Draws->new('snowflake') } $there, $here;
my $rows = 0;

for my $server ($there, $here)
{
	$server->value('d1', 'CREATE TABLE events (n int PRIMARY KEY, id flake DEFAULT flake_next())');
	$server->value('d1', 'CREATE SEQUENCE numbers');
	$server->value('d1', 'CREATE EXTENSION flakeid_coordinator');
}

sub wait_for
{
	my ($server, $sql, $what) = @_;
	my $seen = 'f';
	for (1 .. 3600)
	{
		$seen = $server->value('d1', $sql) // 'f';
		last if $seen eq 't';
		sleep 0.05;
	}
	is($seen, 't', $what);
	return;
}

# A row that is written on one arrives on the other.
sub arrives
{
	my ($from, $to, $what) = @_;
	$rows++;
	$from->value('d1', "INSERT INTO events (n) VALUES ($rows)");
	wait_for($to, "SELECT count(*) = 1 FROM events WHERE n = $rows", "$what: rows arrive");
	return;
}

sub subscribed
{
	my ($from, $to, $publication, $with) = @_;
	$with //= 'copy_data = true';
	$to->value('d1', "CREATE SUBSCRIPTION $publication CONNECTION 'host=$from->{dir} port=5432 user=postgres dbname=d1'
		PUBLICATION $publication WITH ($with)");
	wait_for($to, q{SELECT bool_and(srsubstate = 'r') FROM pg_subscription_rel}, "$publication: copied") if $with !~ /copy_data = false/;
	return;
}

# What is published of flakeid arrives, is not believed, and stops nothing.
sub written_there
{
	my ($from, $to, $what) = @_;
	my ($horizon) = @{ horizon($from, 'd1') };
	my $before = $to->value('d1', 'SELECT count(*) FROM flakeid.restored');
	my $leases = q{SELECT lease_rest || ' ' || lease_hold FROM flakeid.state};
	my $rest = $to->value('d1', $leases);
	$from->value('d1', "INSERT INTO flakeid.restored VALUES ('plain horizon', $horizon), ('lease hold', 600)");
	$from->value('d1', "SELECT flakeid.lease_realm_set('r$rows', 64)");
	wait_for($to, "SELECT count(*) >= $before + 2 FROM flakeid.restored", "$what: rows of a dump arrive");
	arrives($from, $to, $what);
	is($to->value('d1', $leases), $rest, "$what: but say nothing about leases");
	$from->value('d1', 'TRUNCATE flakeid.restored');
	wait_for($to, 'SELECT count(*) = 0 FROM flakeid.restored', "$what: and go");
	arrives($from, $to, "$what, emptied");
	return;
}

sub survives_with
{
	my ($from, $to, $what, $action) = @_;
	my $log = $to->log_size;
	survives($to, $draws{ $to->{dir} }, $what, $action);
	arrives($from, $to, "$what, after the kill");
	# The publisher may not have noticed yet that the subscriber was killed: then it is asked again.
	my @errors = grep { !/replication slot ".*" is active for PID/ } $to->log($log) =~ /^.*(?:ERROR|PANIC): .*$/mg;
	is("@errors", '', "$what: no error");
	return;
}

# A subscriber far ahead of its publisher: what comes must not lower it, nor raise the other.
my %published = (of_schemas => 'FOR TABLES IN SCHEMA flakeid, public', all_tables => 'FOR ALL TABLES');
for my $name (sort keys %published)
{
	my $what = $published{$name};
	$here->value('d1', "TRUNCATE $_") for 'events', 'flakeid.lease_realm';
	survives_with($there, $here, $what, sub {
		$there->value('d1', "CREATE PUBLICATION $name $what");
		subscribed($there, $here, $name);
		written_there($there, $here, $what);
	});
	$here->value('d1', "DROP SUBSCRIPTION $name");
}

SKIP:
{
	skip "subscriptions with an origin came with 16, this is $version", 1 if $version < 16;
	$here->value('d1', 'CREATE PUBLICATION back FOR ALL TABLES');
	subscribed($there, $here, 'all_tables', 'origin = none, copy_data = false');
	survives_with($here, $there, 'subscriptions both ways', sub {
		subscribed($here, $there, 'back', 'origin = none, copy_data = false');
		written_there($here, $there, 'both ways');
		arrives($there, $here, 'the other way');
	});
	$there->value('d1', 'DROP SUBSCRIPTION back');
	$here->value('d1', 'DROP SUBSCRIPTION all_tables');
}

SKIP:
{
	skip "publications of all sequences came with 19, this is $version", 1 if $version < 19;
	$there->value('d1', 'CREATE PUBLICATION sequences FOR ALL SEQUENCES');
	survives($here, $draws{ $here->{dir} }, 'FOR ALL SEQUENCES', sub {
		$there->value('d1', q{SELECT setval('numbers', 4711)});
		$here->value('d1', "CREATE SUBSCRIPTION sequences CONNECTION 'host=$there->{dir} port=5432 user=postgres dbname=d1' PUBLICATION sequences");
		wait_for($here, 'SELECT last_value >= 4711 FROM numbers', 'sequences are copied');
		$here->value('d1', 'ALTER SUBSCRIPTION sequences REFRESH SEQUENCES');
	});
	is($here->value('d1', q{SELECT count(*) FROM pg_sequences WHERE schemaname = 'flakeid' OR sequencename LIKE 'flake%'}), 0, 'flakeid has none');
	$here->value('d1', 'DROP SUBSCRIPTION sequences');
}

SKIP:
{
	skip "pg_createsubscriber came with 17, this is $version", 1 if $version < 17;
	my $made = Torture::Server->new(name => 'made', standby_of => $there, offset => -600,
		conf => "primary_conninfo = 'host=$there->{dir} port=5432 user=postgres'");
	my $draws = $draws{ $there->{dir} };
	$made->start;
	$made->stop;
	$draws->draw($there->connect('d1'), 1000);
	my $before = horizon($there, 'd1');
	Torture::Server::command(Torture::Server::bin() . '/pg_createsubscriber', '-D', $made->{data}, '-s', $made->{dir}, '-p', 5432,
		'-P', "host=$there->{dir} port=5432 user=postgres dbname=d1", '-d', 'd1', '-U', 'postgres');
	$draws{ $made->{dir} } = $draws->branch;
	$draws{ $made->{dir} }{last} = { %{ $draws->{last} } };
	$draws{ $made->{dir} }->next_run;
	$made->start;
	my $after = horizon($made, 'd1');
	ok($after->[0] >= $before->[0], 'pg_createsubscriber: the horizon is not lower');
	survives_with($there, $made, 'pg_createsubscriber', sub { written_there($there, $made, 'pg_createsubscriber') });
}

judged($_, 'replicated', 2_000) for grep { $_->{sessions} } values %draws;
$_->drop for $here, $there;
done_testing();
