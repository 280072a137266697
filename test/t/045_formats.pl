# What lasts or is exchanged has the number of its format (doc/dev/formats.md). One that this version does not know, here the next, is refused
# by name before anything relies on it, and stays as it was for the version that knows it.
use strict;
use warnings;
no warnings 'portable';    # of numbers of 64 bits

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use Leases;
use PostgreSQL::Test::Utils;
use Test::More;

# A record of src/core/record.hpp: format, fence, number and birth of the file, moment; the body; a check.
my ($size, $count) = (512, 16);

sub check_of
{
	my ($record) = @_;
	use integer;
	my $hash = 0x9e3779b97f4a7c15;
	for my $word (unpack 'q*', substr $record, 0, $size - 8)
	{
		$hash = ($hash ^ $word) * -0x40a7b892e31b1a47;
		no integer;
		my $shifted = $hash & 0xffffffffffffffff;
		$shifted >>= 29;
		use integer;
		$hash ^= $shifted;
	}
	return pack 'q', $hash;
}

sub contents { my ($file) = @_; open my $in, '<:raw', $file or die "$file: $!"; local $/; return scalar <$in> }

# Makes all records of a file those of another format, in place.
sub reformat
{
	my ($file, $change) = @_;
	my $whole = contents($file);
	my $records = '';
	my $format;
	for my $record (unpack "(a$size)$count", $whole)
	{
		is(check_of($record), substr($record, -8), 'a record has the check that this test computes') if !defined $format;
		$format //= unpack 'Q', $record;
		substr $record, 0, 8, pack('Q', $format + 1);
		substr $record, -8, 8, check_of($record);
		$records .= $record;
	}
	open my $out, '+<:raw', $file or die "$file: $!";
	print $out $records;
	close $out or die "$file: $!";
	return ($format, $whole);
}

sub put_back
{
	my ($file, $whole) = @_;
	open my $out, '+<:raw', $file or die "$file: $!";
	print $out $whole;
	return close $out;
}

my $coordinator = coordinator('coordinator');
my $node = generator('main', $coordinator);
my $last = $node->safe_psql('postgres', 'SELECT flake_next()');

#
# flakeid/horizon
#
my $file = $node->data_dir . '/flakeid/horizon';
$node->stop;
my ($format, $whole) = reformat($file);
my $later = contents($file);
$node->start;
my $horizon = "55000: file \"flakeid/horizon\" is of format @{[ $format + 1 ]}\n"
  . "detail: This library knows format $format.\nhint: Install the later version of flakeid that this server had.";
is(refusal($node, $_), $horizon, "a later flakeid/horizon: $_") for 'SELECT flake_next()', 'SELECT flakeid.raise_horizon(now())', 'SELECT flakeid.repair_horizon()';
$node->stop;
ok(contents($file) eq $later, 'and it stays as it was');
put_back($file, $whole);

#
# flakeid/leases
#
$file = $node->data_dir . '/flakeid/leases';
($format, $whole) = reformat($file);
$later = contents($file);
$node->start;
my $taken = 'SELECT count(*) FROM flakeid.lease_history';
my $before = $coordinator->safe_psql('postgres', $taken);
$node->safe_psql('postgres', 'CREATE ROLE somebody LOGIN');
for my $who ([ undef, "File \"flakeid/leases\" is of format @{[ $format + 1 ]}, and this library knows format $format" ], [ 'somebody', 'A later version of flakeid wrote file "flakeid/leases"' ])
{
	my ($user, $detail) = @$who;
	like(refusal($node, 'SELECT flake_next()', user => $user),
		qr/^55000: no node is leased to this server\ndetail: \Q$detail\E; the clock says .*\nhint: Install the later version of flakeid that this server had\.$/,
		'a later flakeid/leases, told to ' . ($user // 'a superuser'));
}
is($coordinator->safe_psql('postgres', $taken), $before, 'no lease is asked for');
$node->stop;
ok(contents($file) eq $later, 'and it stays as it was');
put_back($file, $whole);
$node->start;
cmp_ok($node->safe_psql('postgres', 'SELECT flake_next()'), '>', $last, 'the version that knows both goes on');
$node->stop;

#
# Questions of servers
#
is(refusal($coordinator, "SELECT flakeid.lease_coordinator(2, 'default')"),
	"08P01: the server asks in version 2 of the protocol of leases\ndetail: This coordinator knows version 1.\nhint: Update flakeid on the coordinator.",
	'a later question');
is(refusal($coordinator, "SELECT flakeid.lease_coordinator(0, 'default')"),
	"08P01: the server asks in version 0 of the protocol of leases\ndetail: This coordinator knows version 1.\nhint: Update flakeid on the server that asks.",
	'one before the first');

#
# What flakeid_tables writes into comments
#
my $known = qr/detail: This version knows format 1\.\nhint: Install the later version of flakeid that wrote it, and update its extensions\.$/;
my $sql = sub { return $coordinator->safe_psql('postgres', @_) };
$sql->('CREATE EXTENSION flakeid_tables');
my $comment = sub {
	my ($of, $from, $to) = @_;
	my $was = $sql->("SELECT obj_description(oid, 'pg_trigger') FROM pg_trigger WHERE tgname = '$of'");
	my ($table) = $sql->("SELECT tgrelid::regclass FROM pg_trigger WHERE tgname = '$of'");
	$was =~ s/^flakeid $from \{/flakeid $to {/ or die "trigger $of says $was";
	$sql->("COMMENT ON TRIGGER $of ON $table IS \$\$$was\$\$");
	return;
};
my $catalogs = q{SELECT md5(string_agg(x::text, E'\n' ORDER BY x::text COLLATE "C")) FROM (
	SELECT c.oid, c.relname, c.relispartition, obj_description(c.oid, 'pg_class') FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace
	UNION ALL SELECT t.oid, t.tgname, t.tgenabled = 'O', obj_description(t.oid, 'pg_trigger') FROM pg_trigger AS t WHERE NOT t.tgisinternal) AS x};

# A declaration
$sql->(q{CREATE TABLE event (id flake PRIMARY KEY DEFAULT flake_next()); CALL flakeid.partition('event', every => '1 day', keep => '5 days', drop_old => true)});
$comment->('flakeid_partitions', 1, 2);
my $catalog = $sql->($catalogs);
like(refusal($coordinator, $_), qr/^55000: the declaration of table public.event is of format 2\n$known/, "a later declaration: $_")
  for q{CALL flakeid.maintain('event')}, q{CALL flakeid.partition('event', every => '1 month')}, q{SELECT * FROM flakeid.maintain_plan('event')};
like(refusal($coordinator, 'CALL flakeid.maintain()'), qr/^55000: the declaration of table public.event is of format 2\n/, 'a later declaration: of any table');
is($sql->('SELECT DISTINCT problem FROM flakeid.partitions WHERE problem IS NOT NULL'), 'the declaration of table public.event is of format 2', 'the view says so');
is($sql->($catalogs), $catalog, 'and it stays as it was');
$comment->('flakeid_partitions', 2, 1);
$sql->(q{CALL flakeid.maintain('event')});

# What a conversion remembers
$sql->('CREATE TABLE item (id bigserial PRIMARY KEY, name text); INSERT INTO item (name) SELECT n FROM generate_series(1, 100) AS n');
$sql->(q{CALL flakeid.convert('item')});
$comment->('flakeid_was_id', 1, 2);
$catalog = $sql->($catalogs);
like(refusal($coordinator, $_), qr/^55000: the conversion of table public.item is of format 2\n$known/, "a later conversion: $_")
  for q{CALL flakeid.convert_undo('item')}, q{CALL flakeid.convert('item')}, q{SELECT * FROM flakeid.convert_plan('item')}, q{SELECT flakeid.first_real_id('item')},
  q{CALL flakeid.partition('item', every => '1 day')};
is($sql->(q{SELECT step FROM flakeid.conversions WHERE table_name = 'public.item'}), 'of format 2, which this version does not know', 'the view says so');
is($sql->($catalogs), $catalog, 'and it stays as it was');
$comment->('flakeid_was_id', 2, 1);
$sql->(q{CALL flakeid.convert_undo('item')});
is($sql->(q{SELECT max(id) FROM item}), 100, 'the version that knows it takes it back');

# Nodes of old rows, which a conversion of UUIDs takes
$sql->('CREATE TABLE old (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), created_at timestamptz); INSERT INTO old (created_at) VALUES (now()); CREATE DATABASE other');
for my $list ('2;5:16384', '5:16384', '1;5:16384 and more', '1')
{
	$sql->("ALTER DATABASE other SET flakeid.old_row_nodes = '$list'");
	is(refusal($coordinator, q{CALL flakeid.convert('old', created_at => 'created_at')}), "55000: setting flakeid.old_row_nodes of database \"other\" is of another format\n"
		  . "detail: It is \"$list\", and this library knows format 1, which begins with \"1;\".\nhint: Install the later version of flakeid that this server had.",
		"nodes of old rows: $list");
}
is($sql->('SELECT count(*), min(id::text) ~ \'-\' FROM old'), '1|t', 'and nothing is converted');
$sql->('ALTER DATABASE other RESET flakeid.old_row_nodes');

#
# Dumps
#
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$coordinator->command_ok([ 'pg_dump', '-f', $dump, $coordinator->connstr('postgres') ], 'a dump');
my ($first) = slurp_file($dump) =~ /^COPY flakeid\.restored .*\n(.*)$/m;
is($first, "format\t1", 'it says its format before all else');
$sql->('CREATE ROLE ordinary; GRANT INSERT ON flakeid.restored TO ordinary; CREATE TABLE state AS SELECT * FROM flakeid.state');
is(refusal($coordinator, "${_}INSERT INTO flakeid.restored VALUES ('format', 2)"), "55000: what the dump carries of flakeid is of format 2\n"
	  . 'detail: This library knows format 1.' . "\nhint: Restore the dump with the version of flakeid that it comes from, or a later one.", "a later dump $_")
  for '', 'SET ROLE ordinary; ';
is($sql->('SELECT count(*) FROM (TABLE state EXCEPT TABLE flakeid.state) AS changed'), 0, 'it changes nothing');

#
# Sealed ids outside: the first of 14 digits is the number of a key, and from g on it is none
#
like(refusal($coordinator, q{SELECT 'g0000000000000'::flake_sealed}), qr/^22P02: .*\ndetail: .*first digit/s, 'a sealed id of a key that there is not');

$coordinator->stop;
done_testing();
