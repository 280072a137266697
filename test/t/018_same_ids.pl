# Layouts that can make the same ids are kept apart, whoever was first: what flakeid.layout says comes
# before what a call names.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The bits of snowflake cut in other ways
my $epoch = 'epoch=2010-11-04T01:42:54.657Z';
my $back = "time:41:1ms node:8 back:2 sequence:12 $epoch";
my $wide = "time:41:1ms node:8 sequence:14 $epoch";
my $soon = 'time:41:1ms node:8 sequence:14 epoch=2010-12-01';
# A tick twice as long, one bit higher up: the same ids at every moment
my $scaled = "time:40:2ms node:10 sequence:13 $epoch";
my $late = 'time:41:1ms node:8 sequence:14 epoch=2011-12-01';

my $node = server('same_ids');
for my $database ('configured', 'names', 'other')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION flakeid');
}
$node->safe_psql('postgres', "ALTER DATABASE configured SET flakeid.layout = '$wide'; ALTER DATABASE names SET flakeid.layout = 'tsid';
	CREATE ROLE ordinary LOGIN");

# Within one database
for my $first ('SELECT 1', 'SELECT flake_next()')
{
	$node->restart;
	$node->safe_psql('postgres', $first);
	for my $layout ($back, $wide, $soon, $scaled)
	{
		is(refusal($node, "SELECT flake_next('$layout')"),
			"55000: layout \"$layout\" can make the same ids as flakeid.layout\ndetail: flakeid.layout is \"snowflake\".\n"
			  . 'hint: Use flake_next() without a layout, or a layout whose epoch lies at least a year away.', "after $first: refused, $layout");
	}
	is(refusal($node, "SELECT flake_next('$late')"), '', "after $first: not with an epoch that lies further away");
	is(refusal($node, "SELECT flake_next('twitter'), flake_next('snowflake'), flake_next()"), '', "after $first: nor where the bits are the same");
}
is(refusal($node, "SET flakeid.node = '100-200'; SELECT flake_next('$wide')"), '', 'the node of another part of the bits');
like(refusal($node, "SET flakeid.node = '30-200'; SELECT flake_next('$wide')"), qr/^55000: layout ".*" can make the same ids as flakeid\.layout/,
	'all nodes of a span count');
is($node->safe_psql('postgres', q{SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM flakeid.layouts WHERE alive AND name NOT LIKE 'rand%'
	AND CASE WHEN alive THEN flake_next(name) IS NULL END}, extra_params => [ '-U', 'ordinary' ]), '', 'an ordinary role draws with every preset');

# Two databases, both of which are configured: the second one is told which other is in its way.
is(refusal($node, 'SELECT flake_next()', database => 'configured'),
	"55000: layout \"$wide\" on node 0 can make the same ids as layout \"snowflake\" on node 0\n"
	  . "detail: Database \"postgres\" generated with that one since the server's start.\n"
	  . 'hint: Give one of them another node or an epoch at least a year away.',
	'of two configured ones the second is refused');
like(refusal($node, "SET flakeid.layout = '$scaled'; SELECT flake_next()", database => 'other'),
	qr/^55000: layout "\Q$scaled\E" on node 0 can make the same ids as layout "snowflake" on node 0\n/, 'so is one with a longer tick, one bit higher up');
is(refusal($node, "SET flakeid.layout = 'time:40:2ms node:10 sequence:12 $epoch'; SELECT flake_next()", database => 'other'), '', 'but not one that rises at half the pace');
is(refusal($node, 'SET flakeid.node = 1; SELECT flake_next()', database => 'configured'), '', 'it has another node');
is(refusal($node, q{SET flakeid.node = 5; SELECT flake_next('snowflake')}, database => 'names'),
	"55000: layout \"snowflake\" on node 5 can make the same ids as layout \"$wide\" on node 1\n"
	  . "detail: Database \"configured\" generated with that one since the server's start.\n"
	  . 'hint: Use a layout whose epoch lies at least a year away.', 'a layout that a call names is refused after it');

# Before it: the slots of such calls are closed while they draw, and no id comes again.
$node->restart;
my $dir = PostgreSQL::Test::Utils::tempdir();
$node->safe_psql('names', 'CREATE TABLE ids (id bigint)');
my @errors = ('') x 3;
my $statements = q{DO $$ BEGIN LOOP INSERT INTO ids SELECT flake_next('snowflake') FROM generate_series(1, 1000); COMMIT; END LOOP; END $$};
my $one = q{SELECT count(flake_next('snowflake')) FROM (SELECT generate_series(1, 2000000000)) AS g};
my @sessions = map { my $err = \$errors[$_];
	IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('names'), '-c', $_ < 2 ? $statements : $one ], '<', \undef, '2>', $err) } 0 .. 2;
$node->poll_query_until('names', 'SELECT count(*) > 20000 FROM ids') or die;
my @drawn = draw_at_once($node, map { [ 'configured', 'SELECT flake_next() FROM generate_series(1, 50000)' ] } 1 .. 4);
$_->finish for @sessions;
like($errors[$_], qr/ERROR:  layout "snowflake" on node 0 can make the same ids as layout "\Q$wide\E" on node 0/, 'a call that draws meanwhile is refused, in the midst of a statement too')
  for 0 .. 2;
like(refusal($node, q{SELECT flake_next('snowflake')}, database => 'names'), qr/^55000: layout "snowflake" on node 0 can make the same/, 'and so are later ones');
$node->safe_psql('names', "\\copy ids TO '$dir/names'");
is(counts(@drawn), '200000 of 200000', 'all that the configured layout draws are distinct');
is(shell("cat @drawn '$dir/names' | sort | uniq -d | wc -l"), '0', 'and none was made by the calls');
my $last = shell("sort -n '$dir/names' | tail -1") >> 22;
cmp_ok(shell("cat @drawn | sort -n | head -1") >> 22, '>', $last, 'they begin after the last tick of those');
is(refusal($node, q{SELECT flake_next('tsid')}, database => 'names'), '', 'other layouts of such calls go on');

# One that was closed has made its ids all the same: what cannot begin after them is refused, though it has nothing in common with
# the layout that closed it.
my $month_later = 'time:41:1ms node:10 sequence:12 epoch=2010-12-01';
$node->restart;
$node->safe_psql('names', "SELECT flake_next('$wide')");
is(refusal($node, 'SET flakeid.node = 1; SELECT flake_next()', database => 'other'), '', 'a configured layout closes it');
like(refusal($node, "SET flakeid.layout = '$month_later'; SELECT flake_next()", database => 'other'),
	qr/^55000: layout "\Q$month_later\E" on node 0 can make the same ids as layout "\Q$wide\E" on node 0\n/, 'a closed one stays in the way');
is(refusal($node, 'SET flakeid.node = 2; SELECT flake_next()', database => 'other'), '', 'but not of another node of what closed it');

# With a back field ticks come again: nothing gives way.
$node->restart;
$node->safe_psql('names', q{SELECT flake_next('snowflake')});
like(refusal($node, "SET flakeid.layout = '$back'; SELECT flake_next()", database => 'other'),
	qr/^55000: layout "\Q$back\E" on node 0 can make the same ids as layout "snowflake" on node 0\n/, 'refused until a restart');

# What layouts made before a restart is remembered. A layout whose epoch is later comes to the same numbers; so does one whose tick is
# longer, from where its own numbers are as large.
my $born = time() - 10_000;
my %changed = map { ($_->[0] => "time:41:$_->[1] node:10 sequence:12 epoch=" . (1000 * $_->[2]) . 'ms') }
  ['first', '1ms', $born], ['later', '1ms', $born + 3], ['earlier', '1ms', $born - 3600], ['half', '2ms', $born - 10_000];
my @of_layouts;

sub change_to
{
	my ($layout) = @_;
	$node->safe_psql('postgres', "ALTER DATABASE other SET flakeid.layout = '$changed{$layout}'");
	$node->restart;
}

sub draw_of_other
{
	my $name = "$dir/" . @of_layouts;
	$node->safe_psql('other', "\\copy (SELECT flake_next() FROM generate_series(1, 50000)) TO '$name'");
	push @of_layouts, $name;
}

for my $layout (qw(first later half first))
{
	change_to($layout);
	draw_of_other();
}
is(shell("cat @of_layouts | sort | uniq -d | wc -l"), '0', 'a layout that is changed over a restart begins past what others have made');
# Where it takes a hundred times as long for the same numbers
my ($least, $most) = map { shell("cat $of_layouts[0] $of_layouts[3] | sort -n | $_ -n 1") >> 22 } qw(head tail);
$changed{hundredth} = 'time:41:100ms node:10 sequence:12 epoch=' . (1000 * time() - 100 * int(($least + $most) / 2)) . 'ms';
change_to('hundredth');
my $too_far = qr/^55000: layout "\Q$changed{hundredth}\E" comes to ids that another layout made on this server\ndetail: Its ids are new from \d{4}-.* on, and the clock says /;
like(refusal($node, 'SELECT flake_next()', database => 'other'), $too_far, 'where that is far off, an error says the moment');
like(refusal($node, 'SELECT flake_next()', database => 'other'), $too_far, 'again');
is(refusal($node, 'SET flakeid.node = 1; SELECT flake_next()', database => 'other'), '', 'not for another node');
change_to('earlier');
draw_of_other();
change_to('first');
is(refusal($node, 'SELECT flake_next()', database => 'other'), '', 'what was tried for a moment keeps nobody out until its numbers come');
change_to('hundredth');
$node->safe_psql('other', 'SET flakeid.node = 1; SELECT flakeid.repair_horizon(none_kept => true)');
like(refusal($node, 'SELECT flake_next()', database => 'other'), $too_far, 'a repair forgets nothing of other nodes');
is($node->safe_psql('other', 'SELECT flakeid.repair_horizon(none_kept => true)'), 't', 'whoever kept no ids says so');
is(refusal($node, 'SELECT flake_next()', database => 'other'), '', 'and goes on');
$node->stop;

done_testing();
