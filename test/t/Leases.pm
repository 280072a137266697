# What the tests of leases share: a coordinator, generator servers, and proof that ids are unique and
# lie inside the leases that the coordinator's history shows.
package Leases;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(coordinator conninfo generator add_ids leases_hold wait_until error_of log_lines);

# A server that hands out leases. `max_ttl` and `max_skew` are those of realm default.
sub coordinator
{
	my ($name, %option) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1, extra => ['--no-instructions']);    # not a copy: with an identity of its own
	$node->append_conf('postgresql.conf', $option{conf} // '');
	$node->start;
	$node->safe_psql('postgres', 'CREATE ROLE flakeid_generator; CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator; CREATE TABLE ids (id bigint)');
	my ($ttl, $skew) = ($option{max_ttl} // '60 s', $option{max_skew} // '2 s');
	$node->safe_psql('postgres', "SELECT flakeid.lease_realm_set('default', 1024, '$ttl', '$skew')");
	return $node;
}

# How a generator reaches it.
sub conninfo { my ($node) = @_; return $node->connstr('postgres') =~ s/'/''/gr }

# A server that takes leases from there.
sub generator
{
	my ($name, $coordinator, %option) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => ['--no-instructions']);
	my $where = $option{conninfo} // conninfo($coordinator);
	$node->append_conf(
		'postgresql.conf', qq{
flakeid.coordinator = '$where'
flakeid.node = '@{[ $option{node} // 'auto' ]}'
flakeid.lease_ttl = '@{[ $option{ttl} // '60s' ]}'
cluster_name = '$name'
log_min_messages = log
@{[ $option{conf} // '' ]}});
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
	return $node;
}

# Hands ids (text, one a line) to the coordinator, whose history they are held against.
sub add_ids
{
	my ($coordinator, $text) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir . '/ids';
	append_to_file($file, $text);
	$coordinator->safe_psql('postgres', "\\copy ids FROM '$file'");
	unlink $file;
	return;
}

# No id twice, and each inside a lease of its node.
sub leases_hold
{
	my ($coordinator, $what, $least, $layout) = @_;
	$layout //= 'snowflake';
	$coordinator->safe_psql('postgres', 'ANALYZE ids');
	my ($ids, $distinct) = split /\|/,
	  $coordinator->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id) FROM ids');
	note "$what: $ids ids";
	cmp_ok($ids, '>=', $least, "$what: at least $least ids");
	is($ids - $distinct, 0, "$what: no duplicate");
	is( $coordinator->safe_psql(
			'postgres', qq{
		WITH stamped AS (
			SELECT flake_node(id, '$layout') AS node, flake_timestamp(id, '$layout') AS at FROM ids),
		spans AS (SELECT node, date_trunc('second', at) AS at, count(*) AS ids FROM stamped GROUP BY 1, 2)
		SELECT coalesce(sum(ids), 0) FROM spans AS s
		WHERE NOT EXISTS (SELECT FROM flakeid.leases AS l
			WHERE s.node BETWEEN l.node AND l.node + l.nodes - 1 AND l.lease_start <= s.at AND s.at < l.lease_end)}),
		'0',
		"$what: every id lies inside a lease");
	is( $coordinator->safe_psql(
			'postgres', q{
		SELECT count(*) FROM flakeid.leases AS a JOIN flakeid.leases AS b
		ON a.realm = b.realm AND a.node < b.node + b.nodes AND b.node < a.node + a.nodes AND a.acquired_at < b.acquired_at
		   AND a.lease_end > b.lease_start}),
		'0',
		"$what: no two leases of a node overlap");
	return;
}

# Waits for a condition; false when it does not come true in time.
sub wait_until
{
	my ($condition) = @_;
	my $limit = time + $PostgreSQL::Test::Utils::timeout_default;
	while (time < $limit)
	{
		return 1 if $condition->();
		sleep 0.05;
	}
	return 0;
}

# What drawing one id says: '' when it works.
sub error_of
{
	my ($node, $sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $sql // 'SELECT flake_next()', timeout => 60);
	return $code == 0 ? '' : $err;
}

sub log_lines { my ($node, $pattern) = @_; return scalar(() = slurp_file($node->logfile) =~ /$pattern/g) }

1;
