# What people copy a server with: the copy is put back over the original, which had gone on, or starts elsewhere once the
# original is gone, or takes turns with it as its standby, which pg_rewind made. None makes an id of another again, in whatever
# database.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t", "$FindBin::Bin/../torture/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Torture::Scenario qw(caught_up);
use Torture::Server;

# A layout that a burst drives ahead of the clock, as far as flakeid.max_ahead allows
my $layout = 'sonyflake';
my $file = 0;
my @files;

sub draw
{
	my ($server, $database, $count) = @_;
	push @files, Torture::Server::top() . '/ids.' . $file++;
	$server->client('psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-o', $files[-1], '-c', "SELECT flake_next_many($count)");
	return;
}

# Until that many ids lie ahead of the clock that one more database would make them again
sub burst
{
	my ($server) = @_;
	draw($server, 'd1', 1);
	draw($server, 'd1', 60000) for 1 .. 2;
	return;
}

sub never_twice
{
	my ($server, $what, $before) = @_;
	draw($server, 'd2', 1);
	draw($server, 'd1', 40000);
	draw($server, 'd2', 20000);
	my $all = ($before // 120_101) + 60_001;
	is(counts(@files), "$all of $all", "$what: no id twice");
	return;
}

sub follow { my ($server) = @_; return "primary_conninfo = 'host=$server->{dir} port=5432 user=postgres'\n" }
sub shell_ok { my ($command) = @_; return Torture::Server::command('sh', '-ec', $command) }

# How a copy in $1 takes the place of $2
my %put_back = (
	'rsync -a --delete' => 'rsync -a --delete "$1/" "$2/"',
	'rsync -a --delete --checksum' => 'rsync -a --delete --checksum "$1/" "$2/"',
	'rsync -a --delete --inplace' => 'rsync -a --delete --inplace "$1/" "$2/"',
	'cp -a in its place' => 'rm -rf "$2"; cp -a "$1" "$2"',
	'cp -a over it' => 'cp -a "$1/." "$2/"',
	'cp -r over it' => 'cp -r "$1/." "$2/"',
	'tar' => 'tar -C "$1" -c . | tar -C "$2" -x',
	'mv' => 'rm -rf "$2"; mv "$1" "$2"',
);

for my $from ('cold', 'pg_basebackup')
{
	for my $how (sort keys %put_back)
	{
		@files = ();
		my $server = Torture::Server->create(layout => $layout, databases => 2, real_clock => 1);
		my ($data, $copy) = ($server->{data}, "$server->{dir}/copy");
		draw($server, 'd1', 100);
		if ($from eq 'cold')
		{
			$server->stop;
			shell_ok("cp -a '$data' '$copy'");
			$server->start;
		}
		else
		{
			$server->client('pg_basebackup', '-D', $copy, '--no-sync', '-c', 'fast');
		}
		burst($server);
		$server->stop;
		shell_ok("set -- '$copy' '$data'; $put_back{$how}");
		$server->start;
		never_twice($server, "$from, put back by $how");
		$server->drop;
	}

	# The original is gone, and the copy begins elsewhere.
	@files = ();
	my $server = Torture::Server->create(layout => $layout, databases => 2, real_clock => 1);
	my $copy = Torture::Server::top() . "/copy.$from";
	draw($server, 'd1', 100);
	$from eq 'cold' ? ($server->stop, shell_ok("cp -a '$server->{data}' '$copy'"), $server->start) : $server->client('pg_basebackup', '-D', $copy, '--no-sync', '-c', 'fast');
	burst($server);
	$server->kill_all;
	my $other = Torture::Server->new(layout => $layout, real_clock => 1, name => "elsewhere.$from", copy_of => $copy);
	$other->start;
	never_twice($other, "$from, started elsewhere");
	$_->drop for $server, $other;
}

# A primary dies and its standby is promoted; rewound, it follows that one, and is promoted when that one dies.
for my $end ('kill -9', 'stopped')
{
	@files = ();
	my %server = (layout => $layout, databases => 2, real_clock => 1);
	my $conf = "wal_log_hints = on\nwal_keep_size = 1GB\n";
	my $first = Torture::Server->create(%server, conf => $conf);
	my $second = Torture::Server->new(%server, name => "second.$end" =~ s/ //r, standby_of => $first, conf => $conf . follow($first))->start;
	my $ends = sub { my ($server) = @_; $end eq 'stopped' ? $server->stop : $server->kill_all };
	draw($first, 'd1', 100);
	burst($first);
	caught_up($first, $second);
	$ends->($first);
	$second->value('postgres', 'SELECT pg_promote()');
	draw($second, 'd2', 1);
	burst($second);
	$second->value('postgres', 'CHECKPOINT');

	Torture::Server::command(Torture::Server::bin() . '/pg_rewind', '--no-sync', '-D', $first->{data}, '--source-server', "host=$second->{dir} port=5432 user=postgres dbname=postgres");
	append_to_file("$first->{data}/postgresql.conf", "unix_socket_directories = '$first->{dir}'\n" . follow($second));
	append_to_file("$first->{data}/standby.signal", '');
	$first->start;
	caught_up($second, $first);
	$ends->($second);
	$first->value('postgres', 'SELECT pg_promote()');
	never_twice($first, "pg_rewind, $end", 240_103);
	$_->drop for $first, $second;
}

done_testing();
