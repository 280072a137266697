# What people copy a server with: the copy is put back over the original, which had gone on, or starts elsewhere once the
# original is gone. Neither makes an id of the original again, in whatever database.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t", "$FindBin::Bin/../torture/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;
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
	my ($server, $what) = @_;
	draw($server, 'd2', 1);
	draw($server, 'd1', 40000);
	draw($server, 'd2', 20000);
	is(counts(@files), '180102 of 180102', "$what: no id twice");
	return;
}

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

done_testing();
