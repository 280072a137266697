# Two transactions, the settled mark, and what a poller reads: it is played on a server, and what that says is drawn.
use strict;
use warnings;
use utf8;

use Svg;

# Ticks of a second, so that all ids of the play can be told by their sequence.
my $layout = 'time:32:1s node:10 sequence:20';

# A draws an id and goes on; B draws one, commits, draws another and commits; then A commits. Returns A's id, B's first, what
# a poller reads now, B's second, the mark and who holds it, what the poller reads now and would read without the mark, and
# after the end of A the mark, who holds it, and what the poller reads then.
sub played
{
	my ($server) = @_;
	my $ids = q{coalesce(string_agg(flake_sequence(id)::text, ', ' ORDER BY id), 'nothing') AS ids, max(id) AS last FROM outbox WHERE id > :last};
	my $mark = 'SELECT flake_sequence(flake_settled()); SELECT count(*) FROM flakeid.unsettled;';
	my $insert = sub { my ($session) = @_; return "SELECT n FROM dblink('$session', 'INSERT INTO outbox DEFAULT VALUES RETURNING flake_sequence(id)') AS t (n text);" };
	my $do = sub { my ($session, $sql) = @_; return "SELECT dblink_exec('$session', '$sql') \\g /dev/null" };
	return map { $_->[0] } $server->rows(qq{
		SET flakeid.layout = '$layout';
		DROP TABLE IF EXISTS outbox;
		CREATE TABLE outbox (id flake DEFAULT flake_next());
		SELECT dblink_connect(s, format('host=%s dbname=postgres user=postgres', current_setting('unix_socket_directories'))) FROM unnest(ARRAY['a', 'b']) AS s \\g /dev/null
		@{[ map { $do->($_ => "SET flakeid.layout = ''$layout''") . "\n" } qw(a b) ]}
		SELECT pg_sleep_until(to_timestamp(floor(date_part('epoch', clock_timestamp())) + 1.01)) \\g /dev/null
		INSERT INTO outbox SELECT FROM generate_series(0, 4);
		\\set last 0
		@{[ $do->(a => 'BEGIN') ]}
		@{[ $insert->('a') ]}
		@{[ $do->(b => 'BEGIN') ]}
		@{[ $insert->('b') ]}
		SELECT $ids AND id < flake_settled() \\gset
		\\echo :ids
		@{[ $do->(b => 'COMMIT') ]}
		@{[ $insert->('b') ]}
		$mark
		SELECT ids FROM (SELECT $ids AND id < flake_settled()) AS s;
		SELECT ids FROM (SELECT $ids) AS s;
		@{[ $do->(a => 'COMMIT') ]}
		$mark
		SELECT ids FROM (SELECT $ids AND id < flake_settled()) AS s;
		SELECT dblink_disconnect(s) FROM unnest(ARRAY['a', 'b']) AS s \\g /dev/null
	});
}

return sub {
	my ($server) = @_;
	my ($first, $second, $polled, $third, $held, $holders, $nothing, $without, $free, $nobody, $rest);
	# Again where the second was over too soon
	do { ($first, $second, $polled, $third, $held, $holders, $nothing, $without, $free, $nobody, $rest) = played($server) } until $free == $third + 1;
	die "others hold the mark\n" if $holders != 1 || $nobody != 0;

	my ($left, $step) = (136, 41);
	my %row = (first => 66, second => 112, mark => 172, poller => 232);
	my $svg = Svg->new(720, 292, 'Two transactions and the settled mark');
	my $x = sub { return $left + $_[0] * $step };
	my $bar = sub {
		my ($row, $from, $to, $colour, $words) = @_;
		$svg->box($x->($from), $row{$row} - 14, $x->($to) - $x->($from), 28, $colour, 4);
		$svg->text($x->($from) + 8, $row{$row} + 5, $words);
	};
	$svg->text($left - 12, $row{ $_->[0] } + 5, $_->[1], anchor => 'end') for [ first => 'session A' ], [ second => 'session B' ], [ mark => 'flake_settled()' ], [ poller => 'poller reads' ];
	$svg->text($x->(0), 28, 'time', size => 'small');
	$svg->line('grey', [ [ $x->(0.8), 24 ], [ $x->(2), 24 ] ], thin => 1, arrow => 1);
	$bar->(first => 0.8, 9.8, 'blue', "draws $first");
	$svg->text($x->(9.8) + 8, $row{first} + 5, 'COMMIT', size => 'small');
	$bar->(second => 2.2, 4.6, 'blue', "draws $second");
	$bar->(second => 5.6, 8, 'blue', "draws $third");
	$svg->text($x->(8) + 8, $row{second} + 5, 'COMMIT', size => 'small');
	$bar->(mark => 0.8, 9.8, 'orange', "$held: held by A");
	$bar->(mark => 9.8, 13.6, 'green', "$free: held by nobody");
	for my $poll ([ 3.4, 'up to ' . ($polled =~ /(\d+)$/)[0] ], [ 7, $nothing ], [ 11.7, $rest ])
	{
		$svg->line('grey', [ [ $x->($poll->[0]), $row{mark} + 14 ], [ $x->($poll->[0]), $row{poller} - 10 ] ], dashed => 1);
		$svg->text($x->($poll->[0]), $row{poller} + 5, $poll->[1], anchor => 'middle', bold => 1);
	}
	$svg->text($x->(7), $row{poller} + 36, "Without the mark it would read " . ($without =~ s/, / and /r) . " here, and never $first.", anchor => 'middle', size => 'small');
	return $svg;
};
