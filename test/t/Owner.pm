# What the owner of a database, who is no superuser, may try to change of the extension.
package Owner;
use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(members changes tried);

# The objects of the extension, as a query
sub members
{
	return q{SELECT d.classid, d.objid, i.* FROM pg_depend AS d, pg_identify_object(d.classid, d.objid, 0) AS i
		WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname LIKE 'flakeid%')};
}

# Statements that would change them
sub changes
{
	my ($node, $database) = @_;
	$node->safe_psql($database, q{CREATE SCHEMA mine; CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE FUNCTION mine.castings(flake) RETURNS bytea LANGUAGE sql AS 'SELECT ''''::bytea'}, extra_params => [ '-U', 'owner' ]);
	my $members = members();
	return split /\n/, $node->safe_psql($database, qq{
		WITH member AS ($members)
		SELECT format(change, kind, identity) FROM (
			SELECT upper(type) AS kind, identity FROM member
			WHERE type IN ('function', 'view', 'table', 'sequence', 'type', 'operator', 'schema')) AS m,
		unnest(ARRAY['ALTER %s %s RENAME TO mine', 'ALTER %s %s OWNER TO owner', 'ALTER %s %s SET SCHEMA mine', 'DROP %s %s CASCADE',
			'GRANT ALL ON %s %s TO owner', 'COMMENT ON %s %s IS ''mine''', 'ALTER EXTENSION flakeid DROP %s %s']) AS change
		WHERE NOT (kind = 'OPERATOR' AND change ~ 'RENAME|GRANT') AND NOT (kind = 'SCHEMA' AND change ~ 'SET SCHEMA')
		UNION ALL SELECT format(change, identity) FROM member,
		unnest(ARRAY['CREATE TRIGGER t BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION trap()', 'CREATE RULE r AS ON INSERT TO %s DO INSTEAD NOTHING',
			'CREATE POLICY p ON %s', 'DO ''BEGIN INSERT INTO %s DEFAULT VALUES; IF NOT FOUND THEN RAISE ''''no row''''; END IF; END''', 'DELETE FROM %s', 'TRUNCATE %s', 'LOCK TABLE %s', 'SELECT 1 FROM %s FOR UPDATE']) AS change
		WHERE type = 'table'
		UNION ALL SELECT unnest(ARRAY['CREATE TABLE flakeid.mine ()', 'CREATE FUNCTION flakeid.mine() RETURNS int LANGUAGE sql AS ''SELECT 1''',
			'CREATE OR REPLACE FUNCTION flakeid.restore(name text, value bigint) RETURNS bool LANGUAGE sql AS ''SELECT true''', 'REFRESH MATERIALIZED VIEW flakeid.state',
			'CREATE CAST (flake AS bytea) WITH FUNCTION mine.castings(flake)', 'ALTER EXTENSION flakeid SET SCHEMA mine', 'ALTER EXTENSION flakeid_tables SET SCHEMA mine', 'ALTER EXTENSION flakeid_coordinator SET SCHEMA mine'])});
}

# Runs each as the owner, in a transaction that is rolled back; returns those that are allowed.
sub tried
{
	my ($node, $database, @changes) = @_;
	my ($out, $err) = ('', '');
	# COMMENT and GRANT say nothing of their success here, so each change is to leave an error behind.
	$node->psql($database, join('', map { "\\warn = $_\nBEGIN;\n$changes[$_];\nROLLBACK;\n" } 0 .. $#changes),
		extra_params => [ '-U', 'owner' ], on_error_stop => 0, stdout => \$out, stderr => \$err);
	my ($before, @said) = split /^= \d+\n/m, $err;
	die "not all were tried: $err" if @said != @changes;
	return map { $changes[$_] } grep { $said[$_] !~ /ERROR:  |WARNING:  no privileges were granted/ } 0 .. $#changes;
}

1;
