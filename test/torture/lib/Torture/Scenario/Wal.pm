# What the horizon costs.
package Torture::Scenario::Wal;

use strict;
use warnings;

use Exporter 'import';
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;
use Torture::Session;

our @EXPORT = qw(wal);

# What the horizon costs: little WAL at full speed, none when idle.
sub wal
{
	my ($layout, %o) = @_;
	my $seconds = $o{seconds} // 5;
	my $server = Torture::Server->create(layout => $layout, databases => 1, conf => "wal_level = minimal\nmax_wal_senders = 0");
	my $session = $server->connect;
	my $written = sub { return $session->value("SELECT pg_current_wal_insert_lsn() - '0/0'") };
	$session->value('SELECT flake_next()');
	$session->value('CHECKPOINT');
	my $from = $written->();
	my @sessions = map { $server->connect } 1 .. 2;
	my $began = Torture::Session::steady();
	my $ids = 0;
	while (Torture::Session::steady() < $began + $seconds)
	{
		$_->send('SELECT count(flake_next()) FROM generate_series(1, 200000)') for @sessions;
		$ids += $_->receive->{rows}[0][0] for @sessions;
	}
	my $bytes = $written->() - $from;
	my $took = Torture::Session::steady() - $began;
	cmp_ok($bytes, '<', 100_000 * $took / 60 + ($seconds < 60 ? 4000 : 0), sprintf "wal, $layout: $bytes bytes in %.1f s", $took);
	sleep 3;
	$from = $written->();
	my $horizon = $session->value($horizon_moment);
	sleep($seconds / 2);
	is($written->(), $from, "wal, $layout: an idle server writes nothing");
	is($session->value($horizon_moment), $horizon, "wal, $layout: and leaves the horizon alone");
	$server->drop;
	return { layout => $layout, scenario => 'WAL', ids => $ids, sessions => 2, what => "$seconds s at full speed: $bytes bytes of WAL; idle: none" };
}

1;
