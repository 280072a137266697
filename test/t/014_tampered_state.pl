# What others do to flakeid.state by hand is refused, or found out: an error that says what to do, and
# what it says works. Restores of every kind raise the horizon and never lower it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest qw(c_library);
use State;
use Test::More;
use Torture::Draws;
use Torture::Server;

my $server = Torture::Server->create(conf => 'flakeid.max_ahead = 60s');
my $draws = Torture::Draws->new('snowflake');

#
# The server refuses to write to it
#
survives($server, $draws, 'writes by hand', sub {
	refused($server, $_, '42809', $_)
	  for 'UPDATE flakeid.state SET plain_horizon = 1', 'INSERT INTO flakeid.state DEFAULT VALUES', 'DELETE FROM flakeid.state',
	  'TRUNCATE flakeid.state', 'COPY flakeid.state FROM STDIN', 'SELECT FROM flakeid.state FOR UPDATE';
	refused($server, $_, '2BP01', $_)
	  for 'DROP MATERIALIZED VIEW flakeid.state', 'DROP SCHEMA flakeid CASCADE', 'DROP TABLE flakeid.restored';
});

#
# Old dumps
#
my $dump = "$server->{dir}/early";
$server->value('d1', 'CREATE TABLE kept (id flake PRIMARY KEY DEFAULT flake_next())');
$server->value('d1', 'INSERT INTO kept SELECT FROM generate_series(1, 1000)');
$server->client('pg_dump', '-Fd', '-j', 4, '-f', $dump, 'd1');
for my $options (
	[ '--data-only' ], [ '--data-only', '--disable-triggers', '-j', 4 ], [ '--data-only', '--single-transaction' ],
	[ '--clean', '--if-exists', '-j', 4 ], [ '--clean', '--if-exists', '--single-transaction' ])
{
	survives($server, $draws, "restored @$options", sub {
		$server->value('d1', 'TRUNCATE kept');
		$server->client('pg_restore', '--exit-on-error', '-d', 'd1', @$options, $dump);
		is($server->value('d1', 'SELECT count(*) FROM kept'), 1000, "restored @$options: rows");
	}, alone => $options->[0] eq '--clean');
}
survives($server, $draws, 'dumped by an ordinary role', sub {
	$server->value('postgres', 'CREATE ROLE ordinary LOGIN');
	my $text = Torture::Server::command(Torture::Server::bin() . '/pg_dump', '-h', $server->{dir}, '-p', 5432, '-U', 'ordinary', '-T', 'kept', 'd1');
	like($text, qr/^plain horizon\t[1-9]/m, 'the horizon is in it');
});

# What a client restores counts, in whatever role; the same of a replication worker does not (013).
survives($server, $draws, 'restored in the role of a replica', sub {
	my $raised = $server->value('d1', 'SELECT plain_horizon + 5000000 FROM flakeid.state');
	accepted($server, "SET session_replication_role = replica; INSERT INTO flakeid.restored VALUES ('plain horizon', $raised)", 'a row of a dump');
	my $answer = $draws->draw($server->connect('d1'), 1);
	cmp_ok($answer->{drawn}[0][3] + 946_684_800_000_000, '>=', $raised, 'ids begin after it');
}, alone => 1);

#
# Lost, and found with what the hint says
#
sub found
{
	my ($what) = @_;
	$server->start;
	my $answer = $draws->draw($server->connect('d1'), 1);
	is($answer->{code}, 'XX001', "$what: an error") or diag $answer->{message};
	# With checksums the server itself refuses the page.
	if ($answer->{message} =~ /^invalid page in block 0/)
	{
		accepted($server, 'REFRESH MATERIALIZED VIEW flakeid.state WITH NO DATA', "$what: emptied");
		$answer = $draws->draw($server->connect('d1'), 1);
	}
	is($answer->{message}, 'the horizon of database "d1" is lost', "$what: that says so");
	my ($hint) = ($answer->{hint} // '') =~ /^Run (.*;) as a superuser, /;
	ok($hint, "$what: and what to do");
	refused($server, $_, 'XX001', "$what: $_") for 'SELECT flakeid.repair_horizon()', 'SELECT * FROM flakeid.dumped()';
	accepted($server, $_, "$what: $_") for split /(?<=;) /, $hint;
	is($server->value('d1', q{SELECT lease_hold || ' ' || (lease_rest > 0)::text FROM flakeid.state}), '172800 true', "$what: leases rest");
	is($draws->draw($server->connect('d1'), 100)->{code}, undef, "$what: ids go on");
	$server->kill_all;
	$draws->next_run;
	$server->start;
	is($draws->draw($server->connect('d1'), 100)->{code}, undef, "$what: also after the next start");
	return;
}

survives($server, $draws, 'emptied and filled', sub {
	accepted($server, "REFRESH MATERIALIZED VIEW flakeid.state$_", "REFRESH$_") for ' WITH NO DATA', '';
});
accepted($server, 'REFRESH MATERIALIZED VIEW flakeid.state WITH NO DATA', 'emptied');
$server->kill_all;
$draws->next_run;
found('emptied');

# Bytes of its file
my $bytes = sub {
	my ($at, $put) = @_;
	return sub {
		my ($file) = @_;
		open my $io, '+<:raw', $file or die "$file: $!";
		my $size = -s $io;
		seek $io, $at < 0 ? $size + $at : $at, 0;
		print $io $put;
		close $io or die $!;
	};
};
my %damage = (
	'the horizon' => $bytes->(-144, "\0" x 8),
	'one bit of the last number but one' => $bytes->(-16, "\1"),
	'the length of the row' => $bytes->(26, "\xff\xff"),
	'the place of the row' => $bytes->(24, "\xf8\x9f"),
	'another line pointer' => $bytes->(12, "\x24\0"),
	'the whole page' => $bytes->(0, "\0" x 8192),
	'all of the file' => sub { truncate $_[0], 0 or die $! });
for my $what (sort keys %damage)
{
	$draws->draw($server->connect('d1'), 100);
	my $file = $server->{data} . '/' . $server->value('d1', q{SELECT pg_relation_filepath('flakeid.state')});
	$server->stop;
	$draws->next_run;
	$damage{$what}->($file);
	found("changed $what");
}

# A row of a later format is neither believed nor taken for a damaged one, which a REFRESH would replace.
my $library = c_library('check', q{
#include "common/hashfn.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
PG_FUNCTION_INFO_V1(check_of);
Datum
check_of(PG_FUNCTION_ARGS)
{
	bytea *cells = PG_GETARG_BYTEA_PP(0);
	PG_RETURN_INT64((int64) (hash_bytes_extended((unsigned char *) VARDATA_ANY(cells), VARSIZE_ANY_EXHDR(cells), 0) & PG_INT64_MAX));
}});
SKIP:
{
	$draws->draw($server->connect('d1'), 100);
	my $file = $server->{data} . '/' . $server->value('d1', q{SELECT pg_relation_filepath('flakeid.state')});
	skip 'the page has a checksum', 1 if $server->value('d1', 'SHOW data_checksums') eq 'on';
	my ($format) = $server->value('d1', 'SELECT format FROM flakeid.state');
	my $cells = 8 * $server->value('d1', q{SELECT count(*) FROM pg_attribute WHERE attrelid = 'flakeid.state'::regclass AND attnum > 0});
	$server->stop;
	open my $in, '<:raw', $file or die "$file: $!";
	read($in, my $page, 8192) == 8192 or die "$file is short";
	my $row = substr $page, -$cells;
	is(unpack('q', $row), $format, 'the row is where this test looks for it');
	$server->start;
	$server->value('d1', "CREATE FUNCTION check_of(bytea) RETURNS bigint AS '$library' LANGUAGE C");
	my $check = sub { $server->value('d1', "SELECT check_of('\\x" . unpack('H*', $_[0]) . "')") };
	is($check->(substr $row, 0, -8), unpack('q', substr $row, -8), 'nor has another check');
	my $later = pack('q', $format + 1) . substr $row, 8, -8;
	$later .= pack 'q', $check->($later);
	$server->stop;
	$bytes->(-$cells, $later)->($file);
	$server->start;
	for my $sql ('SELECT flake_next()', 'SELECT flakeid.repair_horizon()', 'SELECT flakeid.raise_horizon(now())', 'SELECT * FROM flakeid.dumped()', 'REFRESH MATERIALIZED VIEW flakeid.state')
	{
		my $answer = refused($server, $sql, '55000', "a later format: $sql");
		is($answer->{message}, 'the state of database "d1" is of format ' . ($format + 1), 'which says so');
		like($answer->{hint}, qr/^Install the later version/, 'and what to do');
	}
	$server->stop;
	$bytes->(-$cells, $row)->($file);
	$server->start;
	$draws->next_run;
	is($draws->draw($server->connect('d1'), 100)->{code}, undef, 'the later version goes on with it');
}

# A page whose LSN lies past the end of the WAL, as pg_resetwal can leave it, counts all the same.
$draws->draw($server->connect('d1'), 100);
my $file = $server->{data} . '/' . $server->value('d1', q{SELECT pg_relation_filepath('flakeid.state')});
$server->stop;
$draws->next_run;
$bytes->(0, pack 'L2', 0x7f, 0)->($file);
$server->start;
SKIP:
{
	my $answer = $draws->draw($server->connect('d1'), 10_000);
	skip 'the page has a checksum', 1 if ($answer->{message} // '') =~ /^invalid page/;
	is($answer->{code}, undef, 'a page past the end of the WAL') or diag $answer->{message};
}
# Between REFRESH WITH NO DATA and REFRESH a session may find the state empty (XX001).
judged($draws, 'tampered with', 8_000, qr/^42883/, qr/^42704/, qr/^3F000/, qr/^55000/, qr/^XX001/);

# Of another file nobody believes that it is the state.
$server->value('d1', 'REFRESH MATERIALIZED VIEW flakeid.state WITH NO DATA');
$server->value('d1', 'ALTER EXTENSION flakeid DROP MATERIALIZED VIEW flakeid.state');
$server->kill_all;
$server->start;
my $answer = refused($server, 'SELECT flake_next()', '55000', 'not of the extension');
like($answer->{hint}, qr/otherwise restore the database/, 'is said');
$server->drop;
done_testing();
