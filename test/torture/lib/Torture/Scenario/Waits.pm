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

# How long a session takes to answer what it was sent.
sub ends_within
{
	my ($session, $seconds, $code, $what) = @_;
	my $from = Torture::Session::steady();
	my $answer = $session->receive($seconds + 5);
	my $took = Torture::Session::steady() - $from;
	ok($took <= $seconds, "$what: at once") or diag "$took s";
	like($answer->{code} // ($answer->{lost} ? 'lost' : $answer->{late} ? 'late' : 'none'), $code, "$what: says so")
	  or diag $answer->{message};
	return;
}

# A wait for the clock ends at once when it is told to, and is a wait of one session alone.
sub waits
{
	my ($layout, %o) = @_;
	my $at_once = $slack;
	my $server = Torture::Server->create(layout => $layout, databases => 2);
	my $waiting = sub {
		my ($settings) = @_;
		my $session = $server->connect('d1');
		$session->value($settings) if $settings;
		$session->send('SELECT flake_next()');
		ok($session->receive(0.3)->{late}, "waits, $layout: it waits");
		return $session;
	};
	my $session = $server->connect('d1');
	$session->value('SELECT flake_next()');
	$server->value('d2', 'SELECT flake_next()');
	# Some seconds to wait, for what is running and after a start.
	my $back = sub {
		my $horizon = $server->value('d1', 'SELECT plain_horizon FROM flakeid.state') / 1e6;
		$server->move_clock($horizon - 10.5 - $server->now);
	};
	$back->();

	my $waits = $waiting->();
	$waits->cancel;
	ends_within($waits, $at_once, qr/57014/, "waits, $layout: cancel");

	$waits = $server->connect('d1');
	$waits->value("SET statement_timeout = '500ms'");
	$waits->send('SELECT flake_next()');
	ends_within($waits, 0.5 + $at_once, qr/57014/, "waits, $layout: statement_timeout");

	$waits = $waiting->();
	$session->value("SELECT pg_terminate_backend($waits->{pid})");
	ends_within($waits, $at_once, qr/57P01/, "waits, $layout: pg_terminate_backend");

	$back->();

	# Nobody else waits: another node, another layout, whoever wants an error, and the rest of SQL.
	my @waiting = map { $waiting->() } 1 .. 2;
	for my $other (
		[ 'another node', 'SET flakeid.node = 7; SELECT flake_next()', '' ],
		[ 'another layout', q{SELECT flake_next('pgedge')}, '' ],
		[ 'when_ahead = error', 'SET flakeid.when_ahead = error; SELECT flake_next()', '55000' ],
		[ 'statistics', 'SELECT * FROM flake_stats', '' ],
		[ 'raising the horizon', q{SELECT flake_raise_horizon('2020-01-01')}, '' ],
		[ 'repairing the horizon', q{SELECT flake_repair_horizon()}, '' ],
		[ 'reading', 'SELECT flake_timestamp(1)', '' ])
	{
		my ($what, $sql, $code) = @$other;
		my $answer = $server->connect($what =~ /layout|repair/ ? 'd2' : 'd1')->run($sql, 3);
		is($answer->{code} // ($answer->{late} ? 'late' : ''), $code, "waits, $layout: $what does not wait") or diag $answer->{message};
		cmp_ok($answer->{seconds} // 9, '<=', $code ? $at_once : 1 + $slack, "waits, $layout: $what is at once");
	}
	$_->cancel for @waiting;
	ends_within($_, $at_once, qr/57014/, "waits, $layout: cancel of several") for @waiting;

	# Others draw all the while.
	my $others = Torture::Draws->new('pgedge');
	$others->start($server, databases => ['d2'], sessions => 4, batch => 1000, settings => q{SET flakeid.layout = 'pgedge'});
	do
	{
		$back->();
		@waiting = map { $waiting->() } 1 .. 2;
		sleep 2;
		$_->cancel for @waiting;
		ends_within($_, $at_once, qr/57014/, "waits, $layout: they waited while others drew") for @waiting;
	} while ($others->drawn < $o{ids});
	$others->stop;
	is($others->{errors}{55000}, undef, "waits, $layout: others are not refused");
	my $row = row('waits', $others, 'cancel, statement_timeout, pg_terminate_backend, shutdowns, death of the postmaster during a wait; '
		. 'max_ahead = 1s; four sessions draw from another layout meanwhile', %o, longest => 1 + $slack);
	$back->();

	for my $mode (qw(fast immediate))
	{
		$waits = $waiting->();
		my $from = Torture::Session::steady();
		$server->stop($mode);
		cmp_ok(Torture::Session::steady() - $from, '<=', 1 + $slack, "waits, $layout: $mode shutdown is at once");
		ends_within($waits, $at_once, qr/57P01|lost|57P02/, "waits, $layout: $mode shutdown");
		$server->start;
		$back->();
	}
	$waits = $waiting->();
	my @children = Torture::Server::children($server->{pid});
	kill 'KILL', $server->{pid};
	waitpid delete $server->{pid}, 0;
	ends_within($waits, $at_once, qr/lost|57P/, "waits, $layout: death of the postmaster");
	for (1 .. 100) { last if !grep { defined Torture::Server::parent($_) } @children; sleep 0.05 }
	ok(!(grep { defined Torture::Server::parent($_) } @children), "waits, $layout: nothing is left of the server");
	$server->start;

	# Never longer than max_ahead + 2 s: the error at once, or when it has lasted that long.
	my $longest = 3;
	my $draws = Torture::Draws->new($layout);
	$server->move_clock(60 - ($server->now - int $server->now) + 0.05);
	$draws->draw($server->connect('d1'), 1);
	$session = $server->connect('d1');
	$session->value('SET flakeid.max_ahead = 1000');
	$server->move_clock(-5);
	my $answer = $draws->draw($session, 1);
	is($answer->{code}, '55000', "waits, $layout: an error rather than a wait of 4 s");
	cmp_ok($answer->{seconds}, '<=', $at_once, "waits, $layout: at once");
	$server->move_clock(2);
	$answer = $draws->draw($session, 1);
	is($answer->{code}, undef, "waits, $layout: a wait of 2 s") or diag $answer->{message};
	cmp_ok($answer->{seconds}, '<=', $longest, "waits, $layout: no longer");
	my $longest_wait = $answer->{seconds};
	$server->move_clock(-1.5);
	$session->send('SELECT flake_next()');
	while (Torture::Session::steady() < $session->{sent} + $longest - 0.1)
	{
		last if !($answer = $session->receive(0.7))->{late};
		$server->move_clock(-0.7);    # set back again during the wait
	}
	$answer = $session->receive(10) if $answer->{late};
	is($answer->{code}, '55000', "waits, $layout: an error when the clock goes on going back");
	cmp_ok($answer->{seconds}, '>', $longest - 0.1, "waits, $layout: when it has waited");
	cmp_ok($answer->{seconds}, '<=', $longest + $slack, "waits, $layout: max_ahead + 2 s");
	$longest_wait = max($longest_wait, $answer->{seconds});
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
			extract(epoch FROM wait_time), set_backs, extract(epoch FROM set_back_max), extensions FROM flake_stats');
		my %stats;
		@stats{qw(issued ahead_now ahead_max waits wait_time set_backs set_back_max extensions)} = @{ $answer->{rows}[0] };
		return \%stats;
	};
	$server->value('d2', 'SELECT flake_stats_reset()');
	$server->value('d1', 'SELECT count(flake_next()) FROM generate_series(1, 1000)');
	my $session = $server->connect('d1');
	$session->value('BEGIN');
	$session->value('SELECT flake_next_many(499)');
	$session->value('ROLLBACK');
	$session->value('SELECT flake_next()');
	my $stats = $look->();
	is($stats->{issued}, 1500, "counters, $layout: issued");
	is($stats->{extensions}, 1, "counters, $layout: one extension");
	is("$stats->{waits} $stats->{set_backs}", '0 0', "counters, $layout: no wait, no set-back");

	my $log = $server->log_size;
	$server->move_clock(-6);
	$server->value('d1', 'SELECT flake_next()');    # a session that has not seen the clock before
	$stats = $look->();
	is($stats->{waits}, 1, "counters, $layout: a wait");
	ok($stats->{wait_time} > 0 && $stats->{wait_time} < 1 + $slack, "counters, $layout: of a second") or diag $stats->{wait_time};
	is($stats->{set_backs}, 1, "counters, $layout: a set-back");
	ok($stats->{set_back_max} > 6 - $slack && $stats->{set_back_max} <= 6, "counters, $layout: of 6 s since it was last read") or diag $stats->{set_back_max};
	ok($stats->{ahead_max} > 4.5 && $stats->{ahead_max} <= 5, "counters, $layout: ahead") or diag $stats->{ahead_max};
	ok($stats->{ahead_now} > 5 - $slack && $stats->{ahead_now} <= 5, "counters, $layout: still ahead") or diag $stats->{ahead_now};
	is(() = $server->log($log) =~ /LOG:  the clock was set back by [56]\./g, 1, "counters, $layout: one line of log");
	$server->value('postgres', 'CREATE ROLE clerk');
	is($server->connect('d1')->run('SET ROLE clerk; SELECT flake_stats_reset()')->{code}, '42501', "counters, $layout: not everyone may reset");
	$server->value('d1', 'SELECT flake_stats_reset()');
	$stats = $look->();
	is("$stats->{issued} $stats->{waits} $stats->{set_backs} $stats->{extensions}", '0 0 0 0', "counters, $layout: reset");
	$server->drop;
	return;
}

1;
