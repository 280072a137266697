# A copy of a server's files goes on where the server was: copied, put back, moved, rewound, promoted
# in a chain, or the files are the same and what they say of WAL or the clock is not.
package Torture::Scenario::Copies;

use strict;
use warnings;

use Exporter 'import';
use Test::More;
use Time::HiRes qw(sleep time);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;

our @EXPORT = qw(copies rewound chained late same_files years);

my $behind = 3;    # s that the clock of what goes on is behind
my $long = 4;      # s, so that the horizon of an idle database does not cover what others draw

# The last of several databases is idle.
sub draw_for
{
	my ($draws, $server, $seconds, $ids) = @_;
	$ids = $draws->drawn + ($ids // 0);
	my ($first, @others) = @{ $server->{databases} };
	pop @others;
	$draws->start($server, databases => [ $first, @others ], sessions => 4, batch => 20, pause => pause_for($draws->{layout}) / 4);
	sleep $seconds;
	sleep 0.1 while $draws->drawn < $ids;
	$draws->stop;
	return;
}

# What goes on has ids at once, in the idle database first, after those of whom it comes from, and is killed once.
# `stopped` is when the other one stopped, by its clock: the same moments come again.
sub goes_on
{
	my ($scenario, $draws, $server, $stopped, $what, %o) = @_;
	for my $again (0, 1)
	{
		$draws->next_run;
		$server->set_clock($stopped - $behind - time) if defined $stopped;
		$server->start if !$server->{pid};
		wait_until(sub { $server->value('postgres', 'SELECT pg_is_in_recovery()') eq 'f' }) or die "$scenario does not start\n";
		$server->set_clock($stopped - $behind - time) if defined $stopped;    # however long that took
		my $asked = draw_first($draws, $server, $server->{databases}[ $again ? 0 : -1 ]);
		cmp_ok($asked, '<', $stopped, "$scenario, $draws->{layout}: asked at moments that had ids") if defined $stopped;
		draw_for($draws, $server, 0.5, $again ? $o{ids} : 0);
		$server->kill_all if !$again;
	}
	my $row = row($scenario, $draws, $what, ids => $o{ids}, nodes => $o{nodes});
	$server->drop;
	return $row;
}

# Copies of every kind of a server that goes on for a while.
sub copies
{
	my ($layout, %o) = @_;
	Torture::Server::prepare();
	my $archive = Torture::Server::top() . '/archive';
	mkdir $archive;
	my $conf = "flakeid.when_ahead = error\n";
	my %server = (layout => $layout, conf => $conf, databases => 2);
	my $original = Torture::Server->create(%server, conf => $conf . "archive_mode = on\narchive_command = 'cp %p $archive/%f'\n");
	my $draws = Torture::Draws->new($layout);
	my ($database) = @{ $original->{databases} };
	my $count = 0;
	my @rows;

	# `copy` is called between draws and says what the copy is made of; `later` just before the server dies.
	my $copied = sub {
		my ($scenario, $what, $copy, %with) = @_;
		draw_first($draws, $original, $_) for @{ $original->{databases} };
		draw_for($draws, $original, 1.2);
		my $dir = "$original->{dir}/copy" . $count++;
		$copy->($dir);
		draw_first($draws, $original, $database);
		draw_for($draws, $original, $long);
		$with{later}->() if $with{later};
		$original->kill_all;
		my $stopped = $original->now;
		$draws->next_run;
		my $other = Torture::Server->new(%server, name => "c$count" . int rand 1e6, copy_of => $dir, conf => $conf . ($with{conf} // "archive_mode = off\n"));
		if ($with{signal})
		{
			open my $signal, '>', "$other->{data}/$with{signal}" or die $!;
		}
		push @rows, goes_on($scenario, $draws->branch, $other, $stopped, "$what, its clock $behind s behind", ids => $o{ids});
		Torture::Server::command('rm', '-rf', $dir);
		$original->start;
		$draws->next_run;
	};
	my $backup = sub { $original->client('pg_basebackup', '-D', $_[0], '--no-sync', '-c', 'fast') };

	$copied->('base backup', 'pg_basebackup started as a primary', $backup);
	$copied->('base backup, no signal', 'pg_basebackup of a standby whose standby.signal is removed', sub {
		my ($dir) = @_;
		my $standby = Torture::Server->new(%server, name => "s$count" . int rand 1e6, standby_of => $original,
			conf => $conf . "primary_conninfo = 'host=$original->{dir} port=5432 user=postgres'");
		$standby->start;
		draw_for($draws, $original, 0.5);
		$standby->stop;
		Torture::Server::command('mv', $standby->{data}, $dir);
		unlink "$dir/standby.signal" or die $!;
		$standby->drop;
	});
	$copied->('point in time', 'restored from an archive to a moment before the last ids', sub {
		$backup->(@_);
		draw_for($draws, $original, 0.5);
		$original->value($database, q{SELECT pg_create_restore_point('here')});
	},
		signal => 'recovery.signal',
		conf => "restore_command = 'cp $archive/%f %p'\nrecovery_target_name = 'here'\nrecovery_target_action = promote\narchive_mode = off\n",
		later => sub {
			my $file = $original->value($database, 'SELECT pg_walfile_name(pg_switch_wal())');
			wait_until(sub { -e "$archive/$file" }) or die "$file is not archived\n";
		});
	$copied->('cold copy', 'files copied while the server was shut down, which then went on', sub {
		$original->stop;
		Torture::Server::command('cp', '-a', $original->{data}, $_[0]);
		$original->start;
		$draws->next_run;
	});
	$copied->('snapshot', 'files copied when the server had been killed, which then went on', sub {
		$original->kill_all;
		Torture::Server::command('cp', '-a', $original->{data}, $_[0]);
		$original->start;
		$draws->next_run;
	});

	# Where the original was, and maybe with its number.
	my $saved = "$original->{dir}/saved";
	draw_for($draws, $original, 1.2);
	$original->stop;
	Torture::Server::command('cp', '-a', $original->{data}, $saved);
	$original->start;
	$draws->next_run;
	draw_first($draws, $original, $database);
	draw_for($draws, $original, $long);
	$original->stop;
	my $stopped = $original->now;
	my $put_back = $draws->branch;
	my $moved = Torture::Server->new(%server, name => 'm' . int rand 1e6, copy_of => $original->{data}, conf => $conf . "archive_mode = off\n");
	Torture::Server::command('rm', '-rf', $original->{data});
	Torture::Server::command('cp', '-a', $saved, $original->{data});
	push @rows, goes_on('copy put back', $put_back, $original, $stopped, "an earlier copy of the files in the place of the server's own, its clock $behind s behind", ids => $o{ids});

	# The whole of it elsewhere, with a clock that is right.
	$moved->start;
	my $answer = $draws->draw($moved->connect, 1);
	is($answer->{code}, undef, "moved, $layout: ids go on at once") or diag $answer->{message};
	like($moved->log, qr/files of this server were copied, put back or changed/, "moved, $layout: told in the log");
	$moved->kill_all;
	push @rows, goes_on('moved', $draws, $moved, undef, 'files moved to another place, the clock right', ids => $o{ids});
	return @rows;
}

sub standby
{
	my ($of, %server) = @_;
	my $standby = Torture::Server->new(%server, standby_of => $of,
		conf => "$server{conf}primary_conninfo = 'host=$of->{dir} port=5432 user=postgres'");
	return $standby->start;
}

# A server whose standby was promoted is rewound to follow it, and promoted after it.
sub rewound
{
	my ($layout, %o) = @_;
	my %server = (layout => $layout, databases => 2, conf => "flakeid.when_ahead = error\nwal_log_hints = on\nwal_keep_size = 1GB\n");
	my $first = Torture::Server->create(%server);
	my $second = standby($first, %server);
	my $draws = Torture::Draws->new($layout);
	my ($database) = @{ $first->{databases} };
	draw_first($draws, $first, $_) for @{ $first->{databases} };
	draw_for($draws, $first, 1.2);
	caught_up($first, $second);
	$first->kill_all;
	$draws->next_run;
	$second->value('postgres', 'SELECT pg_promote()');
	draw_first($draws, $second, $database);
	draw_for($draws, $second, 1.2);
	$second->value('postgres', 'CHECKPOINT');
	my $bin = Torture::Server::bin();
	Torture::Server::command("$bin/pg_rewind", '--no-sync', '-D', $first->{data}, '--source-server', "host=$second->{dir} port=5432 user=postgres dbname=postgres");
	open my $conf, '>>', "$first->{data}/postgresql.conf" or die $!;
	print $conf "unix_socket_directories = '$first->{dir}'\nprimary_conninfo = 'host=$second->{dir} port=5432 user=postgres'\n";
	close $conf;
	open my $signal, '>', "$first->{data}/standby.signal" or die $!;
	close $signal;
	$first->start;
	draw_for($draws, $second, $long);
	caught_up($second, $first);
	$second->kill_all;
	my $stopped = $second->now;
	$first->value('postgres', 'SELECT pg_promote()');
	my $row = goes_on('pg_rewind', $draws, $first, $stopped,
		"the primary killed, its standby promoted, the old primary rewound to follow it and promoted after it, its clock $behind s behind", ids => $o{ids});
	$second->drop;
	return $row;
}

# A standby's standby, promoted after it.
sub chained
{
	my ($layout, %o) = @_;
	my %server = (layout => $layout, databases => 2, conf => "flakeid.when_ahead = error\n");
	my $first = Torture::Server->create(%server);
	my $second = standby($first, %server);
	my $third = standby($second, %server);
	my $draws = Torture::Draws->new($layout);
	my ($database) = @{ $first->{databases} };
	draw_first($draws, $first, $_) for @{ $first->{databases} };
	draw_for($draws, $first, 1.2);
	caught_up($first, $third);
	$first->drop;
	$draws->next_run;
	$second->value('postgres', 'SELECT pg_promote()');
	draw_first($draws, $second, $database);
	draw_for($draws, $second, $long);
	caught_up($second, $third);
	$second->kill_all;
	my $stopped = $second->now;
	$third->value('postgres', 'SELECT pg_promote()');
	my $row = goes_on('cascading promotion', $draws, $third, $stopped,
		"the primary killed and its standby promoted, that one killed and its own standby promoted, its clock $behind s behind", ids => $o{ids});
	$second->drop;
	return $row;
}

# A standby whose clock is an hour behind, which is more than may be, is promoted. Where one database alone made ids it
# goes on all the same; else the horizon of each database is raised first. No count of a back field serves that hour.
sub late
{
	my ($layout, %o) = @_;
	my @rows;
	for my $databases (1, 2)
	{
		my %server = (layout => $layout, databases => $databases, conf => "flakeid.when_ahead = error\n");
		my $first = Torture::Server->create(%server);
		my $second = standby($first, %server, offset => -3600);
		my $draws = Torture::Draws->new($layout);
		draw_first($draws, $first, $_) for @{ $first->{databases} };
		draw_for($draws, $first, $long);
		caught_up($first, $second);
		$first->kill_all;
		my $stopped = $first->now;
		$draws->next_run;
		$second->value('postgres', 'SELECT pg_promote()');
		my $name = "late promotion, $layout, databases: $databases";
		for my $database ($databases > 1 ? @{ $second->{databases} } : ())
		{
			$second->value($database, sprintf 'SELECT flakeid.raise_horizon(to_timestamp(%.6f))', $stopped + $max_ahead);
		}
		is($draws->draw($second->connect($_), 10)->{code}, '55000', "$name: nothing an hour before, in $_") for @{ $second->{databases} };
		push @rows, goes_on('late promotion', $draws, $second, $stopped, 'the primary killed, its standby promoted with its clock an hour behind, in '
			. ($databases > 1 ? 'two databases, after flakeid.raise_horizon()' : 'one database') . ", then its clock $behind s behind", ids => $o{ids});
		$first->drop;
	}
	return @rows;
}

# The files stay; they move between tablespaces, and lose their WAL.
sub same_files
{
	my ($layout, %o) = @_;
	my $server = Torture::Server->create(layout => $layout, conf => "flakeid.when_ahead = error\n");
	my $draws = Torture::Draws->new($layout);
	my ($database) = @{ $server->{databases} };
	mkdir "$server->{dir}/space";
	$server->value('postgres', "CREATE TABLESPACE space LOCATION '$server->{dir}/space'");
	for my $space ('space', 'pg_default')
	{
		draw_first($draws, $server, $database);
		draw_for($draws, $server, 1.2);
		my $stopped = $server->now;
		my $move = sub { !$server->connect('postgres')->run("ALTER DATABASE $database SET TABLESPACE $space")->{code} };
		wait_until($move) or die "$database does not move\n";
		draw_for($draws, $server, 0.5);
		$server->kill_all;
		$draws->next_run;
		$server->set_clock($stopped - $behind - time);
		$server->start;
	}
	draw_first($draws, $server, $database);
	draw_for($draws, $server, 1.2);
	$server->stop;
	my $stopped = $server->now;
	Torture::Server::command(Torture::Server::bin() . '/pg_resetwal', '-f', $server->{data});
	return goes_on('tablespaces, pg_resetwal', $draws, $server, $stopped,
		"the database to another tablespace and back, kill -9 after each; shut down and pg_resetwal; the clock $behind s back each time", ids => $o{ids});
}

# The clock of a server that is down is set by years.
sub years
{
	my ($layout, %o) = @_;
	my $year = 365 * 86400;
	my $server = Torture::Server->create(layout => $layout, conf => "flakeid.when_ahead = error\n");
	my $draws = Torture::Draws->new($layout);
	my ($database) = @{ $server->{databases} };
	my $name = "years, $layout";
	my $start = sub {
		$server->kill_all;
		$draws->next_run;
		$server->set_clock($_[0] * $year);
		$server->start;
		return $server->connect;
	};
	draw_for($draws, $server, 0.5);
	my $answer = $draws->draw($start->(-20), 1);
	is($answer->{code}, '55000', "$name: nothing 20 years ago") or diag $answer->{message};
	draw_first($draws, $server, $database) if $start->(0);
	is($draws->draw($start->(10), 100)->{code}, undef, "$name: ids 10 years later");
	draw_for($draws, $server, 0.5);
	my $session = $start->(0);
	$answer = $draws->draw($session, 100);
	if ($layout =~ /^rollback/) { is($answer->{code}, undef, "$name: its count is raised") }
	else
	{
		is($answer->{code}, '55000', "$name: nothing 10 years before the horizon") or diag $answer->{message};
		like($answer->{message}, qr/^the horizon of database "d1" lies \d{9}\.\d+ s ahead of the clock/, "$name: that says so");
		$session->value('ALTER DATABASE d1 SET flakeid.node = 8');
		is($server->value($database, 'SELECT flakeid.repair_horizon()'), 't', "$name: repaired, with another node");
	}
	my $row = goes_on('years', $draws, $server, undef, 'the clock set 20 years back, right, 10 years ahead and right again while the server is down',
		ids => $o{ids}, nodes => 2);
	return $row;
}

1;
