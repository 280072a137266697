# flake in DBD::Pg: a string, which Perl takes for a whole number of 64 bits where one is wanted.
use strict;
use warnings;

use DBI;
use JSON::PP;
use List::Util qw(all uniq);

sub check { my ($found, $expected) = map { JSON::PP->new->allow_nonref->canonical->encode($_) } @_; $found eq $expected or die "$found is not $expected" }

# One new row; its id comes back with it. last_insert_id() asks a sequence, and there is none.
sub insert
{
	my ($db, $item) = @_;
	return $db->selectrow_array('INSERT INTO orders (item) VALUES (?) RETURNING id', undef, $item);
}

# Ids before there are rows
sub block { my ($db, $n) = @_; return @{ $db->selectcol_arrayref('SELECT flake_next_many(?)', undef, $n) } }

# A page: the rows after the last id seen
sub page
{
	my ($db, $last) = @_;
	return @{ $db->selectcol_arrayref('SELECT id FROM orders WHERE id > ? ORDER BY id LIMIT 10', undef, $last) };
}

print "version: DBD::Pg $DBD::Pg::VERSION\n" if require DBD::Pg;
for my $prepare (0, 1)
{
	my $db = DBI->connect('dbi:Pg:', undef, undef, { RaiseError => 1, PrintWarn => 0, pg_server_prepare => $prepare });
	$db->do('CREATE EXTENSION IF NOT EXISTS flakeid');
	$db->do('DROP TABLE IF EXISTS orders');
	$db->do('CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])');

	my $one = insert($db, 'tea');
	check($one > 2**53 ? 1 : 0, 1);
	check($one + 1 - 1 == $one ? 1 : 0, 1);    # Perl's integers have 64 bits
	my @ids = @{ $db->selectcol_arrayref("INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 80) AS n RETURNING id") };
	my @block = block($db, 50);
	check(scalar(uniq @ids, @block), 130);

	# Each kind of parameter, in a statement that is prepared after a while
	my $by_id = $db->prepare('SELECT item FROM orders WHERE id = ?');
	for my $type (undef, DBI::SQL_BIGINT(), { pg_type => DBD::Pg::PG_INT8() }, { pg_type => DBD::Pg::PG_UNKNOWN() })
	{
		$by_id->bind_param(1, $one, $type);
		for (1 .. 4) { $by_id->execute; check($by_id->fetchall_arrayref, [ ['tea'] ]) }
	}
	check($db->selectrow_array('SELECT item FROM orders WHERE id = ?::flake', { pg_server_prepare => 1 }, $one), 'tea');

	# Arrays go in as such; flake[] comes out as text, and array_agg(id::bigint) as an array.
	check($db->selectrow_array('SELECT count(*) FROM orders WHERE id = ANY (?)', undef, \@ids) + 0, 80);
	$db->do('UPDATE orders SET near = ? WHERE id = ?', undef, [ '9007199254740993', undef ], $one);
	check($db->selectrow_array('SELECT near FROM orders WHERE id = ?', undef, $one), '{9007199254740993,NULL}');
	my ($near) = $db->selectrow_array('SELECT near::bigint[] FROM orders WHERE id = ?', undef, $one);
	check(join(' ', map { $_ // 'NULL' } @$near), '9007199254740993 NULL');

	# Pages
	my @seen;
	push @seen, page($db, $seen[-1] // $one) for 1 .. 8;
	check(\@seen, \@ids);

	# JSON: strings, of the server and of Perl
	my $json = $db->selectrow_array("SELECT json_build_object('id', id)::text FROM orders WHERE id = ?", undef, $one);
	check(decode_json($json), { id => $one });
	check(encode_json($db->selectrow_hashref("SELECT id FROM orders WHERE item = 'tea'")), encode_json({ id => "$one" }));

	# COPY
	$db->do('COPY orders (id, item) FROM STDIN');
	$db->pg_putcopydata("$_\tcopied\n") for @block;
	$db->pg_putcopyend;
	check($db->selectcol_arrayref("SELECT id FROM orders WHERE item = 'copied' ORDER BY id"), \@block);

	# Sealed ids are texts, and a text that is none is no row.
	$db->do('DROP TABLE IF EXISTS replies, tickets');
	$db->do('CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text)');
	$db->do('CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)');
	my @tickets = map { scalar $db->selectrow_array('INSERT INTO tickets (item) VALUES (?) RETURNING id', undef, $_) } qw(tea pen);
	check([ grep { /^[0-9a-v]{13}$/ } @tickets ], \@tickets);
	check($db->selectrow_array('INSERT INTO replies (ticket_id) VALUES (?) RETURNING ticket_id', undef, $tickets[0]), $tickets[0]);
	check($db->selectcol_arrayref('SELECT id FROM tickets WHERE id = ANY (?) ORDER BY id', undef, \@tickets), \@tickets);
	check($db->selectcol_arrayref('SELECT item FROM tickets WHERE id = flake_sealed_or_null(?)', undef, $_), []) for 'favicon.ico', '', '0000000000000';
	check($db->selectrow_array('SELECT item FROM tickets WHERE id = flake_sealed_or_null(?)', undef, $tickets[1]), 'pen');
	$db->disconnect;
}
