# The walk-through of doc/secrets.md, "Changing the key of sealed ids", run as it stands there while sessions
# write and read: no statement fails, old links are read, new ones are made with the new key.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($chapter) = slurp_file(source_dir() . '/doc/secrets.md') =~ /^## Changing the key of sealed ids\n(.*?)(?=^## |\z)/ms;
my @steps = map { s/^   //gmr } $chapter =~ /^   ```sh\n(.*?)^   ```$/gms;
is(scalar @steps, 3, 'three steps');

my $node = PostgreSQL::Test::Cluster->new('keys');
$node->init;
my $file = write_file($node->basedir . '/secret', "3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49\n");
$node->append_conf('postgresql.conf', "flakeid.secret_file = '$file'");
$node->start;
$node->safe_psql('postgres', q{CREATE EXTENSION flakeid; CREATE TABLE orders (id flake_sealed PRIMARY KEY DEFAULT flake_next(), n int);
	CREATE TABLE links (link text, n int)});

# Sessions that go on all the while: each makes a row and its link, and reads a link that was made before.
my $work = q{
	PREPARE made (int) AS WITH o AS (INSERT INTO orders (n) VALUES ($1) RETURNING id, n) INSERT INTO links SELECT id, n FROM o;
	PREPARE read (text, int) AS SELECT n FROM orders WHERE id = $1 AND n = $2};
my @sessions = map { $node->background_psql('postgres') } 1 .. 2;
$_->query_safe($work) for @sessions;
my $rows = 0;

sub work
{
	my ($form, $what) = @_;
	for my $session (@sessions)
	{
		for (1 .. 20)
		{
			$rows++;
			$session->query_safe("EXECUTE made ($rows)");
		}
	}
	my $failed = $node->safe_psql('postgres', 'SELECT count(*) FROM links WHERE NOT EXISTS (SELECT FROM orders WHERE id = link AND orders.n = links.n)');
	is($failed, 0, "$what: every link made until now is read");
	for my $session (@sessions)
	{
		for my $n (1, int($rows / 2), $rows)
		{
			my $link = $node->safe_psql('postgres', "SELECT link FROM links WHERE n = $n");
			is($session->query_safe("EXECUTE read ('$link', $n)"), $n, "$what: by a session of before");
		}
	}
	is($node->safe_psql('postgres', "SELECT bool_and(link ~ '$form') FROM links WHERE n > $rows - 40"), 't', "$what: the form of new links");
	return;
}

sub step
{
	my ($step) = @_;
	local %ENV = ($node->_get_env(), FILE => $file, PGDATABASE => 'postgres');
	my $offset = -s $node->logfile;
	my ($out, $err) = run_command([ 'sh', '-euc', $steps[$step] ]);
	is($err, '', 'step ' . ($step + 1));
	$node->wait_for_log(qr/received SIGHUP/, $offset);
	# The sessions have heard of it when they say so.
	for my $session (@sessions)
	{
		$session->query_safe('SELECT pg_sleep(0.05)') until $session->query_safe('SELECT pg_conf_load_time()') ne ($session->{loaded} // '');
		$session->{loaded} = $session->query_safe('SELECT pg_conf_load_time()');
	}
	return;
}

$_->{loaded} = $_->query_safe('SELECT pg_conf_load_time()') for @sessions;
my ($plain, $numbered) = ('^[0-9a-f][0-9a-v]{12}$', '^1[0-9a-f][0-9a-v]{12}$');
work($plain, 'before');
my $marks = 'SELECT keys_0 > 0 AND keys_0 < 1::bigint << 32 FROM flakeid.state';
is($node->safe_psql('postgres', $marks), 't', 'the database knows key 0');
step(0);
work($plain, 'both keys, the old one first');
is($node->safe_psql('postgres', $marks), 'f', 'the database knows both keys');
my $oldest = $node->safe_psql('postgres', 'SELECT link FROM links WHERE n = 1');
step(1);
work($numbered, 'both keys, the new one first');
is($node->safe_psql('postgres', "SELECT count(DISTINCT o) FROM unnest(ARRAY[(SELECT id::text FROM orders WHERE n = 1), '$oldest']) AS t (o)"), 2, 'a row has a new link');
is($node->safe_psql('postgres', "SELECT id = '$oldest'::text FROM orders WHERE n = 1"), 't', 'beside the old one');

# With the old key out of the file its links end, and no row is lost.
step(2);
like(refusal($node, "SELECT n FROM orders WHERE id = '$oldest'"), qr/^55000: the secret has no key 0\n.*^hint: Put the key back/ms, 'a link of a removed key');
is($node->safe_psql('postgres', q{SELECT count(*), bool_and(id::text ~ '^1') FROM orders}), "$rows|t", 'all rows have links of the new key');
like(refusal($node, q{SELECT flake_next('randflake')}), qr/^F0000: the secret file holds no key 0/, 'enciphered layouts have no key then');

# Mistakes
my %text = (current => slurp_file($file));
my ($new) = $text{current} =~ /^1 (\w{32})\n\z/;
my @mistakes = (
	[ "0 3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a48\n1 $new", qr/^F0000: the secret file has changed since the server first read it\ndetail: Key 0 is another one/, 'another secret under a known number' ],
	[ "1 $new\n1 $new", qr/^F0000: the secret file does not hold a secret\ndetail: Line 2: It has the number of a line before\./, 'a number twice' ],
	[ "1 $new\n$new", qr/detail: Line 2: It does not begin with a number and one blank\./, 'a line without a number' ],
	[ "1 $new\n16 $new", qr/detail: Line 2: It does not begin with a number/, 'a number too large' ],
	[ "1 $new\n\n", qr/detail: Line 2: It does not begin with a number/, 'an empty line' ],
	[ "1 $new\n2 ${new}0", qr/detail: Line 2: The secret has the wrong length\./, 'a secret too long' ],
	[ "1  $new", qr/detail: Line 1: The secret has the wrong length\./, 'two blanks' ]);
for my $mistake (@mistakes)
{
	my ($text, $expected, $what) = @$mistake;
	write_file($file, $text);
	my $refusal = refusal($node, 'SELECT max(id) FROM orders');
	like($refusal, $expected, $what);
	unlike($refusal . slurp_file($node->logfile), qr/\Q$new\E/, "$what: without showing it");
}
write_file($file, "1 $new\n0 3a5c9b0f1e2d4c6b8a7f9e0d1c2b3a49\n2 sixteen letters!\n");
is($node->safe_psql('postgres', "SELECT n FROM orders WHERE id = '$oldest'"), 1, 'a removed key is put back');

# After a restart the server has forgotten, and the database has not.
write_file($file, "1 ffffffffffffffffffffffffffffffff\n");
$node->restart;
like(refusal($node, 'SELECT max(id) FROM orders'), qr/^55000: key 1 is not the one that sealed ids of this database were made with/, 'another secret after a restart');
$node->safe_psql('postgres', 'SELECT flakeid.accept_secret()');
is(refusal($node, 'SELECT max(id) FROM orders'), '', 'until a superuser accepts it');

$node->stop;
done_testing();
