# Nodes: from the host, spans, and how many there can be.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

#
# What the host says. A library loaded before the C library answers for it, from a file: the name,
# then interfaces as address, or as -address when it is down. While there is a file FILE.user, the user is another one.
#
my $dir = PostgreSQL::Test::Utils::tempdir();
my $host = "$dir/host";
write_file("$dir/host.c", <<'C', 0644);
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int gethostname(char *name, size_t size)
{
	FILE *file = fopen(getenv("FLAKE_TEST_HOST"), "r");
	if (file == NULL || fscanf(file, "%255s", name) != 1)
		return -1;
	fclose(file);
	return 0;
}

int getifaddrs(struct ifaddrs **list)
{
	char word[256];
	FILE *file = fopen(getenv("FLAKE_TEST_HOST"), "r");
	struct ifaddrs **end = list;
	*list = NULL;
	if (file == NULL || fscanf(file, "%255s", word) != 1)
		return -1;
	while (fscanf(file, "%255s", word) == 1)
	{
		struct ifaddrs *next = calloc(1, sizeof *next);
		struct sockaddr_in *address = calloc(1, sizeof *address);
		int down = word[0] == '-';
		address->sin_family = AF_INET;
		next->ifa_name = strdup("eth");
		next->ifa_flags = down ? 0 : IFF_UP;
		if (strcmp(word, "none") != 0)
		{
			inet_pton(AF_INET, word + down, &address->sin_addr);
			next->ifa_addr = (struct sockaddr *) address;
		}
		*end = next;
		end = &next->ifa_next;
	}
	fclose(file);
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	(void) list;
}

uid_t geteuid(void)
{
	char file[1024];
	snprintf(file, sizeof file, "%s.user", getenv("FLAKE_TEST_HOST"));
	return syscall(SYS_geteuid) + (access(file, F_OK) == 0);
}
C
system_or_bail('gcc', '-shared', '-fPIC', '-o', "$dir/host.so", "$dir/host.c");

my $node = PostgreSQL::Test::Cluster->new('host');
$node->init;
write_file($host, "db-1\n");
{
	local $ENV{LD_PRELOAD} = join ' ', "$dir/host.so", $ENV{LD_PRELOAD} // ();
	local $ENV{FLAKE_TEST_HOST} = $host;
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

# The node of a new id, or how it is refused
sub node_of
{
	my ($says, $source, $layout) = @_;
	$layout //= 'snowflake';
	write_file($host, "$says\n");
	my $settings = "SET flakeid.node = '$source'; SET flakeid.layout = '$layout';";
	my $refusal = refusal($node, "$settings SELECT flake_next()");
	return $refusal ne '' ? $refusal : $node->safe_psql('postgres', "$settings SELECT flake_node(flake_next())");
}

sub no_number
{
	my ($source, $what) = @_;
	return "55000: this host has no node number\n"
	  . "detail: flakeid.node is $source, which takes the number that ends a name such as db-3 or db-3.example.com, and $what.\n"
	  . 'hint: Set flakeid.node to a number.';
}
my %name = ('db-3' => 3, 'db3' => 3, 'db-0' => 0, 'db-007' => 7, '42' => 42, 'db-1023' => 1023, 'db-3.example.com' => 3);
$name{$_} = no_number('hostname', qq{"$_" is none}) for 'db', 'db-3-replica', 'db.example.com7', 'db-1234567890', '3-db', 'db-3-.example.com';
# Names that say two things: which of them tells servers apart, nobody knows.
$name{$_} = no_number('hostname', qq{"$_" has more than one number})
  for 'citus-1-0', 'citus-2-0', 'postgres-12-4', 'db-3.zone-5', 'ip-10-0-0-5.ec2.internal', 'pg15-db-3', 'db-3.eu2.example.com';
# Pods of a Deployment: the hash of its template, and five characters at random.
my $pod = 'is of a Deployment, whose pods have names that end at random';
$name{$_} = no_number('hostname', qq{"$_" $pod}) for 'shop-bcdfghjk-xwzq7', 'my-shop-bcdfghjklm-xwzq7', 'shop-bcdfghjklm-xwzq7.example.com', 'shop-7d9f8b6c5d-x2k47', 'shop-bcdfghjkl-24567';
$name{$_} = 7 for 'shop-bcdfghj-xwzq7', 'shop-bcdfghjklmn-xwzq7', 'shop-bcdfghjk-wzq7', 'shop-bcdfghjk-xwzaq7', 'shop-mysqlrdbms-7';
is(node_of($_, 'hostname'), $name{$_}, "host name $_") for sort keys %name;
like(node_of('db-1024', 'hostname'), qr/^22003: node 1024 is out of range for layout "snowflake"\ndetail: Its nodes are 0 to 1023/, 'host name db-1024');
is(node_of('db-1024', 'hostname', 'sonyflake2'), 1024, 'host name db-1024 with more bits');

# Two sets of servers, with an offset each
is(node_of($_->[0], $_->[1]), $_->[2], "$_->[1] of host $_->[0]")
  for [ 'db-3', 'hostname+32', 35 ], [ 'db-0', 'hostname+32', 32 ], [ 'db-3', 'hostname+0', 3 ], [ 'db-991', 'hostname+32', 1023 ], [ 'db', 'hostname+32', no_number('hostname', '"db" is none') ];
like(node_of('db-992', 'hostname+32'), qr/^22003: node 1024 is out of range/, 'past the last node');
like(node_of('db-999999999', 'hostname+999999999'), qr/^22003: node 1999999998 is out of range/, 'far past it');
like(refusal($node, "LOAD 'flakeid'; SET flakeid.node = '$_'"), qr/^22023: invalid value for parameter "flakeid.node": "\Q$_\E"\ndetail: A node is a number/, "$_ is refused")
  for 'hostname+', 'hostname+x', 'hostname+1x', 'hostname+1000000000', 'hostname-3', 'hostname32', 'hostname +3', 'ip+3', 'citus+3', 'auto+3', 'hostname+3+4';

my $no_address = "55000: this host has no node number\n"
  . "detail: flakeid.node is ip, which takes the low bits of an address in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, or else in 100.64.0.0/10, and this host has none.\n"
  . 'hint: Set flakeid.node to a number.';
my @addresses = (
	[ '10.0.0.5', 5 ], [ '10.255.255.255', 65535 ], [ '192.168.7.9', 7 * 256 + 9 ], [ '172.16.3.4', 3 * 256 + 4 ], [ '172.31.3.4', 3 * 256 + 4 ],
	[ '127.0.0.1 10.0.1.5', 256 + 5 ], [ 'none 10.0.0.6', 6 ], [ '10.0.0.7 192.168.0.8', 7 ], [ '-10.0.0.7 192.168.0.8', 8 ], [ '8.8.8.8 10.0.0.9', 9 ],
	[ '', $no_address ], [ '127.0.0.1', $no_address ], [ '172.15.0.1 172.32.0.1 11.0.0.1 9.255.255.255 192.167.0.1 192.169.0.1', $no_address ],
	[ '-10.0.0.7', $no_address ],
	# shared address space, where there is no private address: before it and after it
	[ '100.64.7.9', 7 * 256 + 9 ], [ '100.127.7.9', 7 * 256 + 9 ], [ '100.64.7.9 10.0.0.5', 5 ], [ '10.0.0.5 100.64.7.9', 5 ], [ '100.64.7.9 100.65.0.1', 7 * 256 + 9 ],
	[ '8.8.8.8 -100.64.7.9 100.64.0.3', 3 ], [ '100.63.0.1 100.128.0.1', $no_address ]);
is(node_of("db-1 $_->[0]", 'ip', 'sonyflake2'), $_->[1], "addresses $_->[0]") for @addresses;
is(node_of('db-1 10.0.2.3', 'ip'), (2 * 256 + 3) % 1024, 'the low bits that the layout has');
write_file($host, "db-12 10.0.0.5\n");
is($node->safe_psql('postgres', q{SET flakeid.node = 'hostname'; SELECT value FROM flakeid.status WHERE name = 'node'}), '12', 'flakeid.status shows it');

#
# A number or a span in a file, to which nobody else may write
#
my $file = "$dir/number of this server";
my $no_file = "55000: this host has no node number\ndetail: flakeid.node is a file, and";
my $put = 'hint: Put the number into a file that the user that runs the server can read, or correct flakeid.node.';
my $no_number = qq{$no_file "$file" does not hold a number such as 5 or a span such as 8-15.\nhint: Write one line that has the number, or the span, and nothing else.};
sub of_file { my ($text, $mode) = @_; write_file($file, $text, $mode // 0644); return node_of('db-1', "file:$file") }
is(of_file($_->[0]), $_->[1], "a file with '$_->[0]'" =~ s/\n/\\n/gr)
  for [ "5\n", 5 ], [ '7', 7 ], [ "8-15\n", 8 ], map { [ $_, $no_number ] } '', "\n", 'five', "5\n\n", "5\n6\n", '5 ', ' 5', '-5', '15-8', '5,6', '0' x 31 . '56';
is(of_file("1024\n"), "22003: node 1024 is out of range for layout \"snowflake\"\ndetail: Its nodes are 0 to 1023.\n"
	. 'hint: Set flakeid.node to a node of the layout, or use a layout with a wider node field.', 'a node that the layout does not have');
is(of_file("9\n", $_), 9, sprintf 'mode %o', $_) for 0400, 0600, 0444, 0644, 0755;
is(of_file("9\n", $_), qq{$no_file "$file" can be written by its group or by others.\nhint: If it is the file that you mean, run: chmod go-w '$file'}, sprintf 'mode %o', $_)
  for 0660, 0646, 0620, 0666;
unlink $file;
is(node_of('db-1', "file:$file"), qq{$no_file "$file" cannot be opened: No such file or directory.\n$put}, 'no file');
is(node_of('db-1', "file:$dir"), qq{$no_file "$dir" is not a regular file.\n$put}, 'a directory');
symlink '/proc/sys/kernel/cap_last_cap', $file;
is(node_of('db-1', "file:$file"), slurp_file($file) =~ s/\s//r, 'a link to a file of root, as in a volume of Kubernetes');
write_file("$host.user", '', 0644);
is(node_of('db-1', "file:$file"), slurp_file($file) =~ s/\s//r, 'whoever the server runs as');
unlink $file;
is(of_file("9\n"), qq{$no_file "$file" belongs to neither the user that runs the server nor root.\n}
	. 'hint: Whoever writes there decides which ids this server makes: have the file belong to one of the two.', 'a file of another user');
unlink "$host.user";
is(of_file("9\n"), 9, 'a file of the user that runs the server');
like(refusal($node, "LOAD 'flakeid'; SET flakeid.node = 'file:number'"), qr/^22023: .*\ndetail: The file of flakeid.node must have an absolute path\./, 'a path that is not absolute');

# It is read anew at a reload.
write_file($file, "20\n", 0644);
$node->append_conf('postgresql.conf', "flakeid.node = 'file:$file'\n");
$node->reload;
ok($node->poll_query_until('postgres', 'SELECT flake_node(flake_next()) = 20'), 'a file in the configuration');
my $open = $node->background_psql('postgres');
is($open->query_safe('SELECT flake_node(flake_next())'), 20, 'of an open session too');
write_file($file, "21-22\n", 0644);
is($open->query_safe('SELECT flake_node(flake_next())'), 20, 'it goes on when the file changes');
$node->reload;
ok($node->poll_query_until('postgres', 'SELECT flake_node(flake_next()) = 21'), 'and takes the new number');
my $nodes_of = 'SELECT first_node, last_node, setting, source, problem FROM flakeid.nodes()';
is($node->safe_psql('postgres', $nodes_of), "21|22|file:$file|configuration file|", 'flakeid.nodes() shows it');
is($node->safe_psql('postgres', q{SELECT value, source FROM flakeid.status WHERE name = 'node'}), '21-22|the file that flakeid.node names', 'and flakeid.status');
write_file($file, "20\n", 0664);
is($node->safe_psql('postgres', $nodes_of), qq{||file:$file|configuration file|flakeid.node is a file, and "$file" can be written by its group or by others.}, 'or why there is none');
ok($open->quit, 'the session ends');

# What was given is remembered, for whoever loses the configuration.
for my $setting ("file:$file", 'hostname+32')
{
	write_file($file, "20\n", 0644);
	write_file($host, "db-1\n");
	$node->adjust_conf('postgresql.conf', 'flakeid.node', undef);
	$node->append_conf('postgresql.conf', "flakeid.node = '$setting'\n");
	$node->reload;
	ok($node->poll_query_until('postgres', "SELECT flake_next() > 0 AND current_setting('flakeid.node') = '$setting'"), $setting);
	$node->adjust_conf('postgresql.conf', 'flakeid.node', undef);
	$node->reload;
	ok($node->poll_query_until('postgres', "LOAD 'flakeid'; SHOW flakeid.node", "LOAD\n0"), 'and lost');
	my $kept = $setting =~ /^file/ ? 'file:...' : $setting;
	like(refusal($node, 'SELECT flake_next()'), qr/^55000: flakeid.node is not set, and was \Q$kept\E when ids were made here\n/, 'which is told');
}
$node->stop;

# What made no id is not: an attempt with a coordinator that nobody can reach.
$node = server('attempt', "flakeid.node = 'auto'", "flakeid.coordinator = 'host=/nowhere'");
like(refusal($node, 'SELECT flake_next()'), qr/^55000: .*lease/, 'no lease');
$node->adjust_conf('postgresql.conf', $_, undef) for qw(flakeid.node flakeid.coordinator);
$node->reload;
ok($node->poll_query_until('postgres', "LOAD 'flakeid'; SELECT current_setting('flakeid.node') || current_setting('flakeid.coordinator')", "LOAD\n0"), 'is taken back');
is($node->safe_psql('postgres', 'SELECT flake_node(flake_next())'), 0, 'and ids have the node of a server that was given none');
$node->stop;

#
# cluster_name is read by the same rule. (The framework makes the server's name its cluster_name.)
#
my %cluster = (
	'shop-12' => 12, 'shop-1-0' => no_number('cluster_name', '"shop-1-0" has more than one number'),
	'shop' => no_number('cluster_name', '"shop" is none'));
for my $name (sort keys %cluster)
{
	$node = server($name, "flakeid.node = 'cluster_name'");
	my $refusal = refusal($node, 'SELECT flake_next()');
	is($refusal ne '' ? $refusal : $node->safe_psql('postgres', 'SELECT flake_node(flake_next())'), $cluster{$name}, "cluster_name '$name'");
	is($node->safe_psql('postgres', q{SET flakeid.node = 'cluster_name+100'; SELECT flake_node(flake_next())}), $cluster{$name} + 100, 'with an offset') if $refusal eq '';
	$node->stop;
}

#
# A span moves on when a tick is full: several sessions, each with all ids distinct and in the span
#
$node = server('span', "flakeid.node = '8-15'", "flakeid.layout = 'time:41:1ms node:10 sequence:4'", "flakeid.max_ahead = '1s'");
my @drawn = draw_at_once($node, map { [ 'postgres', 'SELECT flake_next() FROM generate_series(1, 50000)' ] } 1 .. 4);
is(counts(@drawn), '200000 of 200000', 'ids of a span are distinct');
$node->safe_psql('postgres', 'CREATE TABLE drawn (id bigint)');
$node->safe_psql('postgres', "COPY drawn FROM '$_'") for @drawn;
is($node->safe_psql('postgres', 'SELECT string_agg(DISTINCT flake_node(id)::text, \' \') FROM drawn'), '10 11 12 13 14 15 8 9', 'of all its nodes');
my $most_of_a_tick = 'SELECT count(*) FROM drawn GROUP BY flake_timestamp(id) ORDER BY 1 DESC LIMIT 1';
cmp_ok($node->safe_psql('postgres', $most_of_a_tick), '>', 2 * 16, 'more in a millisecond than the 16 that one node makes');
is(refusal($node, "SET flakeid.node = '1020-1030'; SELECT flake_next()"),
	"22003: node 1030 is out of range for layout \"time:41:1ms node:10 sequence:4\"\ndetail: Its nodes are 0 to 1023.\n"
	  . 'hint: Set flakeid.node to a node of the layout, or use a layout with a wider node field.', 'a span past the last node');

#
# A server has room for every preset in every database, twice. Drawing fast over a wide span leaves some for others; only who
# may name layouts and nodes uses them up.
#
$node->safe_psql('postgres', q{CREATE ROLE ordinary LOGIN; ALTER DATABASE postgres SET flakeid.node = '0-1023';
	ALTER DATABASE postgres SET flakeid.layout = 'time:41:1ms node:10 sequence:1'});
$node->restart;
my @ordinary = (extra_params => [ '-U', 'ordinary' ]);
is($node->safe_psql('postgres', q{SELECT sum(distinct_ids), max(ids) > 10 * 2
		FROM (SELECT count(*) AS ids, count(DISTINCT id) AS distinct_ids FROM
			(SELECT flake_next() AS id FROM generate_series(1, 100000) OFFSET 0) AS s GROUP BY flake_timestamp(id)) AS ticks}, @ordinary),
	'100000|t', 'an ordinary role draws as fast as it can from 1024 nodes, which is much faster than the 2 in a millisecond of one');
my $nodes = $node->safe_psql('postgres', 'SELECT count(DISTINCT flake_node(flake_next())) FROM generate_series(1, 20000)', @ordinary);
cmp_ok($nodes, '>', 100, 'it has many of them');
$node->safe_psql('postgres', q{ALTER DATABASE postgres SET flakeid.node = 0});
for my $preset (split /\n/, $node->safe_psql('postgres', 'SELECT name FROM flakeid.layouts WHERE alive AND NOT enciphered'))
{
	is(refusal($node, "SELECT flake_next('$preset')", user => 'ordinary'), '', "then $preset has a generator");
}
# Further nodes of spans leave half of the room to others.
my $room = $node->safe_psql('postgres', 'SELECT 2 * 256 * count(*) FROM flakeid.layouts');
$node->safe_psql('postgres', q{ALTER DATABASE postgres SET flakeid.node = '0-100000';
	ALTER DATABASE postgres SET flakeid.layout = 'time:41:1ms node:21 sequence:1'});
$node->safe_psql('postgres', "SELECT count(flake_next()) FROM generate_series(1, 3 * $room)", @ordinary);
is($node->safe_psql('postgres', "SELECT count(DISTINCT flake_node(flake_next())) <= $room / 2 FROM generate_series(1, $room)", @ordinary),
	't', 'a span takes at most half of the generators');
$node->safe_psql('postgres', q{ALTER DATABASE postgres SET flakeid.node = 0; ALTER DATABASE postgres SET flakeid.layout = 'time:41:1ms node:10 sequence:1'});
my $all = qq{DO \$\$ BEGIN FOR n IN 0 .. $room LOOP PERFORM set_config('flakeid.node', n::text, true), flake_next('time:41:1ms node:21 sequence:1 epoch=2026-01-01'); END LOOP; END \$\$};
my $taken = "53400: all $room generators of the server are taken\n"
  . "detail: Every combination of layout and node that was used since the server's start takes one.\n"
  . 'hint: Use fewer layouts and nodes, and restart the server.';
is(refusal($node, $all), $taken, 'a superuser uses them up');
like(refusal($node, $all, user => 'ordinary'), qr/^42501/, 'an ordinary role does not come that far');
is(refusal($node, "SET flakeid.node = 1023; SELECT flake_next('tsid')"), $taken, 'there is none for another node');
is(refusal($node, q{SELECT flake_next(), flake_next('tsid'), flake_next('twitter')}, user => 'ordinary'), '', 'those that are there go on');
$node->restart;
is(refusal($node, "SET flakeid.node = 1023; SELECT flake_next('tsid')"), '', 'a restart frees them');
$node->stop;

done_testing();
