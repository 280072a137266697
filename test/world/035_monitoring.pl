# doc/monitoring: each query runs as a member of pg_monitor and gives the numbers that its metrics say; alerts, dashboard
# and page name metrics that exist, and all of them.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t", "$FindBin::Bin/../rules.d", "$FindBin::Bin/..";
use Constants;
use FlakeTest;
use Leases;
use CPAN::Meta::YAML;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use Tree qw(none same);

my $dir = source_dir() . '/doc';
sub yaml { return CPAN::Meta::YAML->read("$dir/monitoring/$_[0]")->[0] }
my $queries = yaml('queries.yml');

# The metrics of a query, and the columns that are labels
my (%metric, %column);
for my $name (keys %$queries)
{
	for (@{ $queries->{$name}{metrics} })
	{
		my ($column, $is) = %$_;
		$column{$name}{$column} = $is->{usage};
		$metric{"${name}_$column"} = $is->{usage} if $is->{usage} ne 'LABEL';
		like($is->{usage}, qr/^(?:LABEL|COUNTER|GAUGE)$/, "usage of $name, $column");
	}
}

# What a query says on a server: rows of columns by name
sub rows
{
	my ($node, $name) = @_;
	my $sql = $queries->{$name}{query} =~ s/\s*\z//r;
	my $json = $node->safe_psql('postgres', "SELECT coalesce(json_agg(r), '[]') FROM ($sql) AS r", extra_params => [ '-U', 'exporter' ]);
	return @{ JSON::PP->new->allow_bignum->decode($json) };
}

sub look
{
	my ($node, $name, $least) = @_;
	my @rows = rows($node, $name);
	cmp_ok(scalar(@rows), '>=', $least, "$name has rows");
	for my $row (@rows)
	{
		is(join(' ', sort keys %$row), join(' ', sort keys %{ $column{$name} }), "$name: its columns are its labels and metrics");
		none("$name: metrics are numbers", map { "$_ $row->{$_}" } grep { $column{$name}{$_} ne 'LABEL' && $row->{$_} !~ /^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/i } keys %$row);
	}
	return @rows;
}

my $coordinator = coordinator('coordinator');
my $server = generator('server', $coordinator, ttl => '30s');
$_->safe_psql('postgres', 'CREATE ROLE exporter LOGIN IN ROLE pg_monitor') for $coordinator, $server;
$server->safe_psql('postgres', 'CREATE TABLE t (id flake DEFAULT flake_next()); CREATE TABLE event (id flake PRIMARY KEY) PARTITION BY RANGE (id)');
ok(wait_until(sub { error_of($server, 'INSERT INTO t SELECT FROM generate_series(1, 10)') eq '' }), 'ids with the first lease');
$server->safe_psql('postgres', q{CREATE EXTENSION flakeid_tables; CALL flakeid.partition('event', '1 month', 3)});

my %of;
$of{$_} = [ look($server, $_, 1) ] for grep { !/settled|realm|role/ } sort keys %$queries;
cmp_ok($of{flakeid_stats}[0]{issued}, '>=', 10, 'ids are counted');
is("$of{flakeid_stats}[0]{generators} $of{flakeid_stats}[0]{max_generators}", '1 ' . constant('max_slots'), 'one layout and node');
is($of{flakeid_generator}[0]{ready}, 1, 'the server makes ids');
cmp_ok($of{flakeid_generator}[0]{layout_left_seconds}, '>', 365 * 86400, 'the layout has years left');
cmp_ok(abs($of{flakeid_horizon}[0]{ahead_seconds}), '<', 86400, 'the horizon lies near');
my ($event) = @{ $of{flakeid_partitions} };
is("$event->{parent} $event->{attached} $event->{detached}", 'event 4 0', 'the declared table has partitions for this month and three more');
cmp_ok($event->{days_ahead}, '>', 60, 'which are more than two months');
cmp_ok($of{flakeid_lease}[0]{left_seconds}, '<=', 30, 'the lease ends');
is($of{flakeid_coordinator}[0]{away_seconds}, 0, 'the coordinator answers');
my ($leased) = $server->safe_psql('postgres', 'SELECT first_node FROM flakeid.nodes()');
is(join(',', map { $_->{node} } @{ $of{flakeid_node} }), $leased, 'a node for each node in use');
my ($realm) = look($coordinator, 'flakeid_realm', 1);
is("$realm->{realm} $realm->{held_nodes} $realm->{all_nodes}", 'default 1 1024', 'the realm has one holder');
is_deeply([ rows($server, 'flakeid_settled') ], [], 'nobody holds the settled mark back');
my $session = $server->background_psql('postgres');
$session->query_safe('BEGIN; INSERT INTO t DEFAULT VALUES');
my ($settled) = look($server, 'flakeid_settled', 1);
isnt($settled->{holder}, 'unknown', "$settled->{holder} does");
$session->query_safe('COMMIT');
$session->quit;

# What goes wrong shows.
$server->safe_psql('postgres', q{SELECT flakeid.raise_horizon(now() + interval '1 d')});
cmp_ok((rows($server, 'flakeid_horizon'))[0]{ahead_seconds}, '>', 80000, 'a horizon far ahead');
like($server->safe_psql('postgres', q{SELECT value FROM flakeid.status WHERE name = 'horizon'}), qr/^\d{4}-.*, \d+\.\d+ s ahead of the clock$/, 'which flakeid.status tells');
is((rows($server, 'flakeid_generator'))[0]{ready}, 0, 'an error of flake_next()');
$server->safe_psql('postgres', 'SELECT flakeid.repair_horizon(none_kept => true)');
$coordinator->stop;
ok(wait_until(sub { (rows($server, 'flakeid_coordinator'))[0]{away_seconds} > 0 }), 'a coordinator that is away');
ok(wait_until(sub { (rows($server, 'flakeid_lease'))[0]{left_seconds} <= 0 }), 'a lease that ended');
$server->stop;

# A secret that is there, and one that is not
my $secret = server('secret');
$secret->safe_psql('postgres', 'CREATE ROLE exporter LOGIN IN ROLE pg_monitor');
for (0, 1)
{
	$secret->safe_psql('postgres', "ALTER DATABASE postgres SET flakeid.secret_file = '" . $secret->basedir . "/secret'");
	write_file($secret->basedir . '/secret', '9f86d081884c7d659a2feaa0c55ad015') if $_;
	is((rows($secret, 'flakeid_generator'))[0]{ready}, $_, $_ ? 'with its secret' : 'a secret that cannot be read');
}
$secret->safe_psql('postgres', 'CREATE TABLE t (id flake_sealed DEFAULT flake_next()); INSERT INTO t DEFAULT VALUES; SELECT id FROM t');
write_file($secret->basedir . '/another', '00112233445566778899aabbccddeeff');
my $file = sub { $secret->safe_psql('postgres', "ALTER DATABASE postgres SET flakeid.secret_file = '" . $secret->basedir . "/$_[0]'") };
$file->('another');
my $another = q{SELECT value FROM flakeid.status WHERE name = 'secret'};
is((rows($secret, 'flakeid_generator'))[0]{ready}, 0, 'a secret that is another one');
is($secret->safe_psql('postgres', $another), 'another one: key 0 is not the one that sealed ids of this database were made with', 'which flakeid.status tells');
$file->('secret');
is((rows($secret, 'flakeid_generator'))[0]{ready}, 1, 'the right one again');

# Presets that roles have of their own
is_deeply([ rows($secret, 'flakeid_role') ], [], 'no role has a preset of its own');
$secret->safe_psql('postgres', "ALTER ROLE exporter SET flakeid.layout = $_") for 'js53';
is((rows($secret, 'flakeid_role'))[0]{ready}, 1, 'one that makes ids');
$secret->safe_psql('postgres', 'CREATE ROLE reader');
$secret->safe_psql('postgres', "ALTER ROLE reader IN DATABASE postgres SET flakeid.layout = uidgenerator");
is_deeply({ map { ($_->{role} => $_->{ready}) } rows($secret, 'flakeid_role') }, { exporter => 1, reader => 0 }, 'one that is full');
$secret->safe_psql('postgres', 'ALTER ROLE exporter RESET flakeid.layout');

# Node 0 of a server that was never given one is nobody's
is_deeply([ rows($secret, 'flakeid_node') ], [], 'a server that was never given a node');
$secret->stop;

# A server without leases, and what a layout without an end says
my $alone = server('alone');
$alone->safe_psql('postgres', q{CREATE ROLE exporter LOGIN IN ROLE pg_monitor; ALTER DATABASE postgres SET flakeid.layout = 'time:62:1s sequence:1'});
is_deeply([ rows($alone, $_) ], [], "$_ has nothing to say") for qw(flakeid_lease flakeid_coordinator flakeid_realm flakeid_partitions);
is((rows($alone, 'flakeid_generator'))[0]{layout_left_seconds}, 'Infinity', 'a layout that timestamptz does not see the end of');
$alone->stop;

# Names
my $dashboard = JSON::PP->new->decode(slurp_file("$dir/monitoring/grafana.json"));
my @shown = map { $_->{expr} =~ /\b(flakeid_\w+)/g } map { @{ $_->{targets} } } @{ $dashboard->{panels} };
my %shown = map { $_ => 1 } @shown;
none('panels show metrics that exist', grep { !$metric{$_} } @shown);
my %id;
none('panels have numbers of their own', grep { $id{$_}++ } map { $_->{id} } @{ $dashboard->{panels} });
my $page = slurp_file("$dir/monitoring.md");
my ($table) = $page =~ /^## Metrics\n(.*?)(?:^## |\z)/ms;
same('metrics of doc/monitoring.md', [ keys %metric ], [ $table =~ /`(flakeid_\w+)`/g ]);
my @rules = @{ yaml('alerts.yml')->{groups}[0]{rules} };
none('alerts look at metrics that exist', grep { !$metric{$_} } map { $_->{expr} =~ /\b(flakeid_\w+)/g } @rules);
SKIP:
{
	skip 'there is no promtool', 1 if system('promtool --version >/dev/null 2>&1') != 0;
	is(system('promtool', 'test', 'rules', "$FindBin::Bin/alerts.yml"), 0, 'alerts fire when they should');
}
my %severity = map { $_->{alert} => $_->{labels}{severity} } @rules;
my ($paging) = $page =~ /^## What to page for\n(.*?)^## /ms;
my ($waiting) = $page =~ /^## What can wait until morning\n(.*?)^## /ms;
same('alerts that page', [ grep { $severity{$_} eq 'page' } keys %severity ], [ $paging =~ /^- `(\w+)`/gm ]);
same('alerts that wait', [ grep { $severity{$_} eq 'ticket' } keys %severity ], [ $waiting =~ /^- `(\w+)`/gm ]);

done_testing();
