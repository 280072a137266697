# Dump, restore and pg_upgrade.
package Torture::Scenario::Dumps;

use strict;
use warnings;

use Exporter 'import';
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;

our @EXPORT = qw(dumps);

# Draws in every database of a server for a while, and returns the last id of each as the server
# reads it.
sub draw_everywhere
{
	my ($draws, $server, %o) = @_;
	my $enough = $draws->drawn + ($o{ids} // 0);
	$draws->start($server, sessions => 8, batch => 50, pause => pause_for($draws->{layout}));
	sleep 0.5;
	sleep 0.2 while $draws->drawn < $enough;
	$draws->stop;
	return { map { $_ => last_id($draws, $server, $_) } @{ $server->{databases} } };
}

# An id as one number that rises with every id: enciphered ids are deciphered, and a count of
# set-backs comes before the time.
my $word = q{SELECT CASE WHEN jsonb_exists(fields, 'back')
		THEN extract(epoch from "timestamp") + (fields->>'back')::numeric * 1e10
		ELSE raw_id::numeric END
	FROM flake_inspect(%s)};

sub last_id
{
	my ($draws, $server, $database) = @_;
	my $session = $server->connect($database);
	my $answer = $draws->draw($session, 1);
	die $answer->{message} if $answer->{code};
	$session->value("INSERT INTO kept VALUES ($answer->{drawn}[0][1])");
	return $session->value(sprintf $word, $answer->{drawn}[0][1]);
}

# The first id of each database after `old` ones, which it must exceed.
sub first_ids_exceed
{
	my ($draws, $server, $old, $what) = @_;
	for my $database (@{ $server->{databases} })
	{
		my $session = $server->connect($database);
		my $answer = $draws->draw($session, 1);
		if ($answer->{code})
		{
			fail("$what, $database: $answer->{message}");
			next;
		}
		my $first = $session->value(sprintf $word, $answer->{drawn}[0][1]);
		ok($first > $old->{$database}, "$what, $draws->{layout}: the first id in $database is above all old ones")
		  or diag "$first after $old->{$database}";
	}
	return;
}

# Dumps and pg_upgrade carry the horizon; an old dump does not turn it back.
sub dumps
{
	my ($layout, %o) = @_;
	my $conf = 'wal_level = minimal
max_wal_senders = 0';
	my $number = $o{databases} // 3;
	my $old = Torture::Server->create(layout => $layout, databases => $number, conf => $conf);
	my @databases = @{ $old->{databases} };
	my $draws = Torture::Draws->new($layout);
	for my $database (@databases)
	{
		$old->value($database, 'CREATE TABLE kept (id flake PRIMARY KEY DEFAULT flake_next())');
	}
	$old->value('postgres', 'CREATE ROLE clerk LOGIN');
	my $dir = $old->{dir};
	my $dump = sub {
		my ($name) = @_;
		$old->client('pg_dump', '-Fc', '-f', "$dir/$_.$name", $_) for @databases;
	};
	my $restore = sub {
		my ($server, $name, @options) = @_;
		$server->client('pg_restore', '-d', $_, @options, "$dir/$_.$name") for @databases;
	};
	my $ids = ($o{ids} // 0) / 4;

	draw_everywhere($draws, $old, ids => $ids);
	$dump->('early');
	my $last = draw_everywhere($draws, $old, ids => $ids);
	$dump->('late');

	# An ordinary role's dump.
	my ($database) = @databases;
	$old->value($database, $_) for 'GRANT SELECT ON kept TO clerk', 'CREATE SCHEMA AUTHORIZATION clerk',
	  'SET ROLE clerk; CREATE TABLE clerk.own (id bigint DEFAULT flake_next()); INSERT INTO clerk.own VALUES (DEFAULT)';
	my $dumped = Torture::Server::command(Torture::Server::bin() . '/pg_dump', '-h', $dir, '-p', 5432, '-U', 'clerk', $database);
	like($dumped, qr/COPY clerk.own/, "dumps, $layout: an ordinary role's pg_dump");
	$old->value($database, 'DROP SCHEMA clerk CASCADE');
	like($dumped, qr/^(plain|back) horizon\t[1-9]/m, "dumps, $layout: carries the horizon");

	# Into a new server, whose clock is 4 s behind.
	my $new = Torture::Server->new(layout => $layout, databases => $number, offset => $old->{offset} - 4, conf => $conf);
	$new->start;
	$new->value('postgres', "CREATE ROLE clerk");
	$new->value('postgres', "CREATE DATABASE $_") for @databases;
	my $before = $draws->branch;
	$draws->next_run;
	$restore->($new, 'late');
	first_ids_exceed($draws, $new, $last, 'restored');
	draw_everywhere($draws, $new, ids => 2 * $ids);
	$new->drop;
	my $restored = row('dump and restore', $draws,
		"$number databases: pg_dump and pg_restore into a new server whose clock is 4 s behind", %o);

	# An old dump into the live database, data alone and then everything.
	$draws = $before;
	$last = draw_everywhere($draws, $old);
	for my $options ([ '--data-only', '--disable-triggers' ], [ '--clean', '--if-exists' ])
	{
		$old->move_clock(4);
		$old->value($_, 'TRUNCATE kept') for @databases;
		$restore->($old, 'early', @$options);
		$last = draw_everywhere($draws, $old);
		$old->kill_all;
		$draws->next_run;
		$old->move_clock(-4);
		$old->start;
		first_ids_exceed($draws, $old, $last, "old dump, @$options");
		$last = draw_everywhere($draws, $old);
	}

	# pg_upgrade, to the same major version.
	my $upgrade = $o{upgrade} // 1;
	if ($upgrade)
	{
		my $bin = Torture::Server::bin();
		my $upgraded = Torture::Server->new(layout => $layout, databases => $number, offset => $old->{offset} - 4, conf => $conf);
		$last = draw_everywhere($draws, $old, ids => $ids);
		$old->stop;
		Torture::Server::command("$bin/pg_upgrade", '--no-sync', '-b', $bin, '-B', $bin, '-U', 'postgres',
			'-d', $old->{data}, '-D', $upgraded->{data}, '-s', $upgraded->{dir});
		$draws->next_run;
		$upgraded->start;
		first_ids_exceed($draws, $upgraded, $last, 'pg_upgrade');
		draw_everywhere($draws, $upgraded, ids => $ids);
		$upgraded->drop;
	}
	my $row = row($upgrade ? 'old dump, pg_upgrade' : 'old dump', $draws,
		"$number databases: an old dump into the live databases (data alone, everything), kill -9, clock 4 s back"
		  . ($upgrade ? '; pg_upgrade, clock 4 s back' : ''), %o);
	$old->drop;
	return $restored, $row;
}

1;
