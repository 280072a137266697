# Ids of another server, through postgres_fdw: which conditions and joins are done there.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use Test::More;

my $far = server('far', 'flakeid.node = 1');
$far->safe_psql('postgres', q{
	CREATE TABLE orders (id flake PRIMARY KEY, n int);
	CREATE TABLE lines (order_id flake REFERENCES orders, n int);
	INSERT INTO orders SELECT flake_make('2026-01-01 00:00Z'::timestamptz + n * interval '1 min', 1, 0), n FROM generate_series(0, 9999) AS n;
	INSERT INTO lines SELECT id, n FROM orders;
	CREATE INDEX ON lines (order_id);
	ANALYZE});
my $near = server('near', 'flakeid.node = 2');
my ($port, $host) = ($far->port, $far->host);
$near->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
for my $extensions ('', q{, extensions 'flakeid', use_remote_estimate 'true'})
{
	my $name = $extensions eq '' ? 'bare' : 'far';
	$near->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres'$extensions);
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name;
		CREATE SCHEMA $name;
		CREATE FOREIGN TABLE $name.orders (id flake, n int) SERVER $name OPTIONS (schema_name 'public', table_name 'orders');
		CREATE FOREIGN TABLE $name.lines (order_id flake, n int) SERVER $name OPTIONS (schema_name 'public', table_name 'lines')});
}

# What is asked of the other server, and how many rows come of it
sub asked
{
	my ($sql) = @_;
	my @asked = $near->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS OFF) $sql") =~ /Remote SQL: (.*)$/mg;
	return join "\n", @asked;
}
sub rows { my ($sql) = @_; return $near->safe_psql('postgres', "SELECT count(*) FROM ($sql) AS s") }

my $id = $far->safe_psql('postgres', 'SELECT id FROM orders WHERE n = 30');
my $text = $far->safe_psql('postgres', "SELECT flake_to_text($id, 'base58')");
my $hour = q{tstzrange('2026-01-01 00:00Z', '2026-01-01 01:00Z')};
my $recipe = "SELECT * FROM far.orders WHERE id BETWEEN (SELECT flake_range_floor($hour)) AND (SELECT flake_range_ceil($hour))";

is(asked("SELECT * FROM bare.orders WHERE id = $id"), 'SELECT id, n FROM public.orders', 'without the option the whole table is fetched');
like(asked("SELECT * FROM far.orders WHERE id = $id"), qr/WHERE \(\(id = '?$id'?(?:::bigint)?\)\)$/, 'with it an id is looked up there');
is(rows("SELECT * FROM far.orders WHERE id = $id"), 1, 'and found');
like(asked("SELECT * FROM far.orders WHERE id = ANY ('{$id,5}')"), qr/WHERE \(\(id = ANY \(.*\)\)\)$/, 'so is each of an array');
like(asked("SELECT * FROM far.orders WHERE id = flake_from_text('$text', 'base58')"), qr/WHERE \(\(id = '?$id'?::bigint\)\)$/, 'and what an immutable function makes of a text');
like(asked("SELECT o.n, l.n FROM far.orders AS o JOIN far.lines AS l ON l.order_id = o.id WHERE o.id = $id"), qr/INNER JOIN/, 'a join is done there');

like(asked("SELECT * FROM far.orders WHERE id <@ $hour"), qr/WHERE \(\(id >= '?\d+'?::bigint\)\) AND \(\(id <= '?\d+'?::bigint\)\)$/, 'a constant range of time is, as the ids of flakeid.layout here');
is(rows("SELECT * FROM far.orders WHERE id <@ $hour"), 60, 'with the right rows');
my $moving = q{tstzrange('2026-01-01 00:00Z', '2026-01-01 01:00Z'::timestamptz + (now() - now()))};
is(asked("SELECT * FROM far.orders WHERE id <@ $moving"), 'SELECT id, n FROM public.orders', 'one that is known when the query runs is not: it follows flakeid.layout, which may differ there');
is(rows("SELECT * FROM far.orders WHERE id <@ $moving"), 60, 'though it is right');
like(asked($recipe), qr/WHERE \(\(id >= \$1::bigint\)\) AND \(\(id <= \$2::bigint\)\)$/, 'its bounds are, from subqueries');
is(rows($recipe), 60, 'with the same rows');
like(asked(q{SELECT * FROM far.orders WHERE id BETWEEN flake_floor('2026-01-01Z'::timestamptz, 'snowflake') AND flake_ceil('2026-01-31Z'::timestamptz, 'snowflake')}),
	qr/WHERE \(\(id >= '?\d+'?::bigint\)\) AND \(\(id <= '?\d+'?::bigint\)\)$/, 'or of a layout that is named');

$_->stop for $near, $far;
done_testing();
