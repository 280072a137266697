# Waiting for the clock, and what the counters say of it.
package Torture::Scenario::Waits;

use strict;
use warnings;

use Exporter 'import';
use List::Util qw(max);
use Test::More;
use Time::HiRes qw(sleep);
use Torture::Draws;
use Torture::Scenario;
use Torture::Server;
use Torture::Session;

our @EXPORT = qw(waits counters);

# A session that waits ends as told, long before the clock would have ended its wait with an id.
sub ends
{
	my ($session, $code, $what) = @_;
	my $answer = $session->receive;
	like($answer->{code} // ($answer->{lost} ? 'lost' : 'an id'), $code, $what) or diag $answer->{message};
	return;
}

# Whether a session of the server waits, as the server says.
sub is_waiting
{
	my ($server, $session) = @_;
	return wait_until(sub {
		$server->value('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $session->{pid} AND wait_event_type = 'Extension'") });
}

# A wait for the clock ends when it is told to, and is a wait of one session alone.
sub waits
{
	my ($layout, %o) = @_;
	my $far = 100;    # s, max_ahead
	my $server = Torture::Server->create(layout => $layout, databases => 2, conf => "flakeid.max_ahead = ${far}s");
	my $waiting = sub {
		my $session = $server->connect('d1');
		$session->send('SELECT flake_next()');
		ok(is_waiting($server, $session), "waits, $layout: it waits");
		return $session;
	};
	my $session = $server->connect('d1');
	$session->value('SELECT flake_next()');
	$server->value('d2', 'SELECT flake_next()');
	# A minute to wait, for what is running and after a start: nothing here takes as long as that.
	my $back = sub {
		my $horizon = $server->value('d1', $horizon_moment) / 1e6;
		$server->move_clock($horizon - $far - 60 - $server->now);
	};
	$back->();

	my $waits = $waiting->();
	$waits->cancel;
	ends($waits, qr/57014/, "waits, $layout: cancel");

	$waits = $server->connect('d1');
	$waits->value("SET statement_timeout = '500ms'");
	$waits->send('SELECT flake_next()');
	ends($waits, qr/57014/, "waits, $layout: statement_timeout");

	$waits = $waiting->();
	$session->value("SELECT pg_terminate_backend($waits->{pid})");
	ends($waits, qr/57P01/, "waits, $layout: pg_terminate_backend");

	$back->();

	# Nobody else waits: another node, another layout, whoever wants an error, and the rest of SQL.
	my @waiting = map { $waiting->() } 1 .. 2;
	for my $other (
		[ 'another node', 'SET flakeid.node = 7; SELECT flake_next()', '' ],
		[ 'another layout', q{SELECT flake_next('pgedge')}, '' ],
		[ 'when_ahead = error', 'SET flakeid.when_ahead = error; SELECT flake_next()', '55000' ],
		[ 'statistics', 'SELECT * FROM flakeid.stats', '' ],
		[ 'raising the horizon', q{SELECT flakeid.raise_horizon('2020-01-01')}, '' ],
		[ 'repairing the horizon', q{SELECT flakeid.repair_horizon()}, '(?:55000)?' ],    # which refuses the node that made the ids ahead
		[ 'reading', 'SELECT flake_timestamp(1)', '' ])
	{
		my ($what, $sql, $code) = @$other;
		my $answer = $server->connect($what =~ /layout|repair/ ? 'd2' : 'd1')->run($sql);
		like($answer->{code} // '', qr/^$code$/, "waits, $layout: $what does not wait") or diag $answer->{message};
		is(scalar(grep { $_->receive(0.01)->{late} } @waiting), 2, "waits, $layout: $what while others do");
	}
	$_->cancel for @waiting;
	ends($_, qr/57014/, "waits, $layout: cancel of several") for @waiting;

	# Others draw all the while.
	my $others = Torture::Draws->new('pgedge');
	$others->start($server, databases => ['d2'], sessions => 4, batch => 1000, settings => q{SET flakeid.layout = 'pgedge'});
	do
	{
		$back->();
		@waiting = map { $waiting->() } 1 .. 2;
		sleep 2;
		$_->cancel for @waiting;
		ends($_, qr/57014/, "waits, $layout: they waited while others drew") for @waiting;
	} while ($others->drawn < $o{ids});
	$others->stop;
	is($others->{errors}{55000}, undef, "waits, $layout: others are not refused");
	my $row = row('waits', $others, 'cancel, statement_timeout, pg_terminate_backend, shutdowns, death of the postmaster during a wait; '
		. 'four sessions draw from another layout meanwhile', %o, ahead => $far, longest => 2, server => $server);
	$back->();

	for my $mode (qw(fast immediate))
	{
		$waits = $waiting->();
		$server->stop($mode);
		ends($waits, qr/57P01|lost|57P02/, "waits, $layout: $mode shutdown");
		$server->start;
		$back->();
	}
	$waits = $waiting->();
	my @children = Torture::Server::children($server->{pid});
	kill 'KILL', $server->{pid};
	waitpid delete $server->{pid}, 0;
	ends($waits, qr/lost|57P/, "waits, $layout: death of the postmaster");
	ok(wait_until(sub { !grep { defined Torture::Server::parent($_) } @children }), "waits, $layout: nothing is left of the server");
	$server->start;

	# Never longer than this: the error at once, or when it has lasted that long.
	my $longest = 1 + $longest_move;
	my $draws = Torture::Draws->new($layout);
	my $ahead_by = sub {
		my ($seconds) = @_;
		my $moment = $server->connect('d1')->value('SELECT extract(epoch FROM flake_timestamp(flake_next()))');
		$server->move_clock($moment - $seconds - $server->now);
		return $moment;
	};
	$server->move_clock($far + 120);
	$session = $server->connect('d1');
	$session->value('SET flakeid.max_ahead = 1000');
	$ahead_by->(60);
	my ($before) = waited($server);
	my $answer = $draws->draw($session, 1);
	is($answer->{code}, '55000', "waits, $layout: an error rather than a wait of 59 s");
	# A machine that stalls may leave nothing to wait for: then another time.
	my $waits_now;
	for (1 .. 10)
	{
		$ahead_by->(3);
		$answer = $draws->draw($session, 1);
		($waits_now) = waited($server);
		last if $answer->{code} || $waits_now > $before;
	}
	is($answer->{code}, undef, "waits, $layout: a wait of 2 s") or diag $answer->{message};
	cmp_ok($waits_now, '>', $before, "waits, $layout: which is counted");
	my $longest_wait = $answer->{seconds};
	# A machine that stalls may let the clock come near enough: then another time.
	for (1 .. 10)
	{
		my $moment = $ahead_by->(1 + $longest - 0.1);
		$session->send('SELECT flake_next()');
		for (1 .. 100)
		{
			last if !($answer = $session->receive(0.3))->{late};
			$server->move_clock($moment - 1 - $longest + 0.1 - $server->now);    # set back again during the wait
		}
		last if $answer->{code} || $answer->{late};
	}
	is($answer->{code}, '55000', "waits, $layout: an error when the clock goes on going back");
	cmp_ok($answer->{seconds} // 0, '>', $longest - 0.1, "waits, $layout: when it has waited for max_ahead and a move of the horizon");
	$longest_wait = max($longest_wait, $answer->{seconds} // 0);
	$server->drop;
	return { %$row, layout => $layout, sessions => 6, longest => $longest_wait,
		what => sprintf '%s, %.3f s at most', $row->{what}, $row->{longest} };
}

# The counters say what happened.
sub counters
{
	my ($layout, %o) = @_;
	my $server = Torture::Server->create(layout => $layout, databases => 2);
	my $look = sub {
		my $session = $server->connect('d2');
		my $answer = $session->run('SELECT issued, extract(epoch FROM ahead_now), extract(epoch FROM ahead_max), waits,
			extract(epoch FROM wait_time), set_backs, extract(epoch FROM set_back_max), extensions,
			extract(epoch FROM clock_timestamp()) FROM flakeid.stats');
		my %stats;
		@stats{qw(issued ahead_now ahead_max waits wait_time set_backs set_back_max extensions clock)} = @{ $answer->{rows}[0] };
		return \%stats;
	};
	$server->value('d2', 'SELECT flakeid.stats_reset()');
	my $began = Torture::Session::steady();
	$server->value('d1', 'SELECT count(flake_next()) FROM generate_series(1, 1000)');
	my $session = $server->connect('d1');
	$session->value('BEGIN');
	$session->value('SELECT flake_next_many(499)');
	$session->value('ROLLBACK');
	$session->value('SELECT flake_next()');
	my $stats = $look->();
	my $most = 2 + int(Torture::Session::steady() - $began);    # the first one says which node makes ids
	is($stats->{issued}, 1500, "counters, $layout: issued");
	ok($stats->{extensions} >= 1 && $stats->{extensions} <= $most, "counters, $layout: one extension for the node, one, and one more a second at most")
	  or diag "$stats->{extensions}, $most";
	is("$stats->{waits} $stats->{set_backs}", '0 0', "counters, $layout: no wait, no set-back");

	# An id 6 s ahead of the clock, for a session that has not seen the clock before. A machine that
	# stalls may leave nothing to wait for: then another time.
	my $log = $server->log_size;
	my ($largest, $tries, $took, $seen) = (0, 0, 0);
	do
	{
		$session = $server->connect('d1');
		my $moment = $server->value('d1', 'SELECT extract(epoch FROM flake_timestamp(flake_next()))');
		my $step = $moment - 6 - $server->now;
		$server->move_clock($step);
		$largest = max($largest, -$step);
		my $answer = $session->run('SELECT extract(epoch FROM flake_timestamp(id)), extract(epoch FROM flake_timestamp(id) - clock_timestamp())
			FROM (SELECT flake_next() AS id OFFSET 0) AS s');
		$seen = $answer->{rows}[0] or die $answer->{message};
		$took += $answer->{seconds};
		$stats = $look->();
	} while (++$tries < 10 && !$stats->{waits});
	is($stats->{waits}, 1, "counters, $layout: a wait");
	ok($stats->{wait_time} > 0 && $stats->{wait_time} < $took, "counters, $layout: not longer than its statement") or diag $stats->{wait_time};
	is($stats->{set_backs}, $tries, "counters, $layout: a set-back");
	# The clock and the uptime are read one after the other, at most 250 us apart, or not compared.
	ok(abs($stats->{set_back_max} - $largest) < 0.001, "counters, $layout: as far as it was set back") or diag "$stats->{set_back_max}, $largest";
	ok($stats->{ahead_max} >= $seen->[1] && $stats->{ahead_max} <= 5, "counters, $layout: ahead") or diag "$stats->{ahead_max}, @$seen";
	ok($stats->{ahead_now} >= $seen->[0] - $stats->{clock} && $stats->{ahead_now} <= $stats->{ahead_max}, "counters, $layout: still ahead")
	  or diag "$stats->{ahead_now}, @$seen";
	is(() = $server->log($log) =~ /LOG:  the clock was set back by /g, 1, "counters, $layout: one line of log");
	$server->value('postgres', 'CREATE ROLE clerk');
	is($server->connect('d1')->run('SET ROLE clerk; SELECT flakeid.stats_reset()')->{code}, '42501', "counters, $layout: not everyone may reset");
	$server->value('d1', 'SELECT flakeid.stats_reset()');
	$stats = $look->();
	is("$stats->{issued} $stats->{waits} $stats->{set_backs} $stats->{extensions}", '0 0 0 0', "counters, $layout: reset");
	$server->drop;
	return;
}

1;
