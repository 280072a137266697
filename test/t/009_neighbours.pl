# What ordinary roles can do to their neighbours: 10 sessions draw one id a statement while 20 others
# do everything that is cheap and may hurt. Compared with 20 neighbours that draw as they do, by what
# was drawn and by the server's counters.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($victims, $others, $seconds) = (10, 20, 3);
my $huge = 2147483647;
my $node = server('neighbours', 'max_connections = 60');
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN');
for my $i (1 .. 4)
{
	$node->safe_psql('postgres', "CREATE DATABASE d$i");
	$node->safe_psql("d$i", 'CREATE EXTENSION flakeid');
}
my $dir = PostgreSQL::Test::Utils::tempdir();
my $ids = sub { return $node->safe_psql('postgres', 'SELECT issued FROM flake_stats') };

# What a statement reserves: no more than twice what its caller takes.
for ([ "SELECT flake_next_many($huge) LIMIT 1" => 1 ], [ "SELECT flake_next_many($huge) LIMIT 100" => 200 ],
	[ "BEGIN; DECLARE c CURSOR FOR SELECT flake_next_many($huge); FETCH 5 FROM c; COMMIT" => 10 ],
	[ "SELECT FROM generate_series(1, 50) WHERE EXISTS (SELECT flake_next_many($huge))" => 50 ],
	[ 'SELECT count(*) FROM flake_next_many(5000)' => 5000 ])
{
	my ($statement, $most) = @$_;
	my $before = $ids->();
	$node->safe_psql('d1', $statement);
	cmp_ok($ids->() - $before, '<=', $most, "$statement: at most $most ids are reserved");
}

sub scripts
{
	my ($name, @statements) = @_;
	return map { write_file("$dir/$name$_", "$statements[$_];\n", 0644) } 0 .. $#statements;
}
my @honest = scripts('honest', 'SELECT flake_next()');
my @attacks = scripts('attack',
	"SELECT flake_next_many($huge) LIMIT 1",
	"SELECT flake_next_many($huge, 'twitter') LIMIT 1",
	"SELECT flake_next_many($huge) FROM generate_series(1, 1000) LIMIT 1",
	"BEGIN; DECLARE c CURSOR FOR SELECT flake_next_many($huge); FETCH 2 FROM c; COMMIT",
	"BEGIN; DECLARE c SCROLL CURSOR FOR SELECT flake_next_many(100000); FETCH 10 FROM c; COMMIT",
	'SELECT flake_block(4096)',
	q{SELECT flake_block(4096, 'twitter') FROM generate_series(1, 5)},
	'SELECT count(*) FROM flake_next_many(100000)',
	'SELECT count(flake_next()) FROM generate_series(1, 100000)',
	'SELECT (SELECT count(*) FROM flake_layouts WHERE CASE WHEN alive AND NOT enciphered THEN flake_next(name) > 0 END)',
	q{SELECT pg_try_advisory_lock(n) FROM generate_series(1, 1000) n},
	q{SELECT pg_advisory_lock(hashtextextended('flakeid realm default', 0))},
	'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(flake_next()) FROM generate_series(1, 1000); ROLLBACK',
	'SELECT * FROM flake_status',
	'SELECT count(*) FROM flake_stats, generate_series(1, 1000)');

my @blocks = scripts('block', 'SELECT flake_block(4096) FROM generate_series(1, 5)');

# Ids that the victims draw beside those scripts, and what errors they get
sub drawn_beside
{
	my (@scripts) = @_;
	$node->restart;
	$node->safe_psql("d$_", 'SELECT flake_next()') for 1 .. 4;
	my @runs = map { IPC::Run::start([ 'pgbench', '-n', '-c', 1, '-T', 2 * $seconds, '-U', 'ordinary', '-f', $scripts[ $_ % @scripts ],
			$node->connstr('d' . (1 + $_ % 4)) ], '<', \undef, '>', '/dev/null', '2>', '/dev/null') } 0 .. $others - 1;
	$node->poll_query_until('postgres', "SELECT count(*) >= $others FROM pg_stat_activity WHERE usename = 'ordinary'");
	sleep 1;    # the time to run ahead
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'pgbench', '-n', '-c', $victims, '-T', $seconds, '-U', 'ordinary', '-f', $honest[0], $node->connstr('d1') ],
		'<', \undef, '>', \$out, '2>', \$err);
	my $stats = $node->safe_psql('postgres', 'SELECT waits, ahead_max FROM flake_stats');
	$_->signal('INT') for @runs;
	$_->finish for @runs;
	my ($ids) = $out =~ /number of transactions actually processed: (\d+)/;
	my ($error) = $err =~ /(ERROR.*)/;
	note "$ids ids; waits and furthest ahead of the server: $stats";
	return ($ids // 0, $error // '');
}

# In turns, so that whatever else the machine does is the same for all.
my %neighbours = (honest => \@honest, 'every attack' => \@attacks, blocks => \@blocks);
my %kept;
for my $round (1 .. 2)
{
	for my $kind (sort keys %neighbours)
	{
		my ($ids, $error) = drawn_beside(@{ $neighbours{$kind} });
		$kept{$kind} += $ids;
		is($error, '', "beside $kind, round $round: no error");
	}
}
cmp_ok($kept{$_}, '>=', $kept{honest} / 2, "beside $_ they keep at least half of what honest neighbours leave") for 'blocks', 'every attack';
$node->stop;

done_testing();
