# Random tables under a seed: what flakeid.partition() and flakeid.maintain() do to them, held against an oracle that knows rows alone.
#
# Each row is written down when it is inserted: how old it is, and whether its id tells so. Whatever is called, killed and called again, by
# whomever, two at once, beside INSERTs:
#   no row that is younger than what is kept leaves its table, but an id of another layout, which nobody can tell from an old one;
#   no row is gone from all tables, detached ones counted, before a detached table is made a day older;
#   rights, owners and roles stay as they are, new partitions have the parent's rights, and no code of an owner gets rights of others;
#   the end is the same as that of a twin, a table that one call after the other has maintained: the same periods are covered, in as many
#   partitions as rows that strayed made of them.
package RandomTables;
use strict;
use warnings;

use Exporter 'import';
use FlakeTest;
use IPC::Run ();
use Plain;
use PostgreSQL::Test::Cluster;
use Time::HiRes qw(sleep);

our @EXPORT = qw(random_server random_tables);

my @roles = qw(rt_one rt_two rt_reader rt_writer rt_snoop);

# With EDITION=plain the edition in plain SQL is asked the same, with ids of type bigint: who is not the owner is refused there.
my $edition = ($ENV{EDITION} // '') eq 'plain' ? 'flakeid_plain' : 'flakeid';
my @callers = $edition eq 'flakeid' ? qw(rt_one super rt_member) : 'rt_one';
sub of_edition { my ($sql) = @_; return $sql =~ s/\bflakeid\./$edition./gr }

sub random_server
{
	my $node = PostgreSQL::Test::Cluster->new('random');
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', "flakeid.node = 1\nfsync = off\ndeadlock_timeout = 5s\nclient_min_messages = error\nmax_locks_per_transaction = 256\n");
	$node->start;
	$node->safe_psql('postgres', join '', map { "CREATE ROLE $_ LOGIN;" } @roles, 'rt_member');
	if ($edition eq 'flakeid')
	{
		$node->safe_psql('postgres', 'CREATE EXTENSION flakeid_tables CASCADE');
	}
	else
	{
		$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; ALTER DATABASE postgres OWNER TO owner');
		install_plain($node, 'postgres');
	}
	$node->safe_psql('postgres', <<'END');
GRANT rt_one, rt_two TO rt_member;
CREATE SCHEMA oracle;
CREATE TABLE oracle.row (id bigint PRIMARY KEY, kind text NOT NULL, at timestamptz NOT NULL);
CREATE TABLE oracle.rights (tab oid PRIMARY KEY, says text NOT NULL);
CREATE TABLE oracle.evil (who text);
-- All tables of a schema that hold rows: t and what was detached from it
CREATE FUNCTION oracle.held(s text) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
    tab regclass;
BEGIN
    FOR tab IN SELECT c.oid FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'rt_at' WHERE c.relnamespace = s::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relname NOT LIKE 'twin%' LOOP
        RETURN QUERY EXECUTE format('SELECT id::bigint FROM %s', tab);
    END LOOP;
END $$;
CREATE FUNCTION oracle.says(tab oid) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(r || ' ' || p, ',' ORDER BY r, p) || ' of ' || (SELECT relowner::regrole FROM pg_class WHERE oid = tab)
    FROM unnest('{rt_two,rt_reader,rt_writer,rt_snoop}'::text[]) AS r, unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,TRIGGER,REFERENCES}'::text[]) AS p WHERE has_table_privilege(r, tab, p)
$$;
CREATE FUNCTION oracle.roles() RETURNS text LANGUAGE sql AS $$
    SELECT (SELECT string_agg(to_jsonb(r)::text, ' ' ORDER BY rolname) FROM pg_roles AS r) || (SELECT string_agg(to_jsonb(m)::text, ' ' ORDER BY roleid, member) FROM pg_auth_members AS m)
$$;
-- What is wrong with the rights of tables of a schema: new ones have the parent's, the others what they had
CREATE FUNCTION oracle.changed(s text, OUT changed text) LANGUAGE plpgsql AS $$
BEGIN
    SELECT string_agg(c.relname || ': ' || coalesce(oracle.says(c.oid), '-') || ', not ' || coalesce(r.says, parent.says, '-'), '; ') INTO changed
    FROM pg_class AS c LEFT JOIN oracle.rights AS r ON r.tab = c.oid, (SELECT coalesce(oracle.says((s || '.t')::regclass), '-') AS says) AS parent
    WHERE c.relnamespace = s::regnamespace AND c.relkind IN ('r', 'p') AND c.relname LIKE 't%' AND c.relname NOT LIKE 'twin%' AND coalesce(oracle.says(c.oid), '-') <> coalesce(r.says, parent.says);
    INSERT INTO oracle.rights SELECT c.oid, coalesce(oracle.says(c.oid), '-') FROM pg_class AS c WHERE c.relnamespace = s::regnamespace AND c.relkind IN ('r', 'p') ON CONFLICT DO NOTHING;
END $$;
-- A table of twenty-five hours ago: what was detached looks so much older.
CREATE FUNCTION oracle.grow_old(s text, every interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tab regclass;
    said jsonb;
BEGIN
    FOR tab, said IN SELECT c.oid, substr(obj_description(c.oid, 'pg_class'), 11) FROM pg_class AS c WHERE c.relnamespace = s::regnamespace AND obj_description(c.oid, 'pg_class') LIKE 'flakeid 1 {%' LOOP
        EXECUTE format('COMMENT ON TABLE %s IS %L', tab, 'flakeid 1 ' || jsonb_set(said, '{at}', to_jsonb((said ->> 'at')::timestamptz - every - interval '1 hour'))::text);
    END LOOP;
END $$;
-- Code of an owner that tries to get more rights than the owner has
CREATE FUNCTION oracle.tries() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['', session_user, 'rt_two', 'rt_one', 'rt_member'] LOOP
        BEGIN
            IF role <> '' THEN PERFORM set_config('role', role, true); END IF;
            INSERT INTO oracle.evil VALUES (current_user);
        EXCEPTION WHEN OTHERS THEN NULL;
        END;
    END LOOP;
    RETURN 1;
END $$;
CREATE FUNCTION oracle.innocent(bigint) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN oracle.tries() > 0; END $$;
GRANT USAGE ON SCHEMA oracle TO PUBLIC;
GRANT INSERT ON oracle.evil TO rt_two;
END
	return $node;
}

# One seed; returns what was wrong, and what was done.
sub random_tables
{
	my ($node, $seed) = @_;
	srand $seed;
	my $one_of = sub { return $_[ int rand @_ ] };
	my $maybe = sub { return rand() < $_[0] };
	my $s = "rt_$seed";
	my (@did, @wrong);
	my $session = $node->background_psql('postgres');
	my $super = sub { return scalar $session->query_safe(of_edition($_[0])) };
	my $path = "SET search_path = $s, flakeid_plain, public";
	$super->($path);
	# What may fail: a session that is killed, or meets another
	my $call = sub {
		my ($who, $sql) = @_;
		push @did, "$who: $sql";
		my ($status, $out, $err) = $node->psql('postgres', "$path;\n" . of_edition($sql), extra_params => [ '-U', $who eq 'super' ? 'postgres' : $who ], on_error_stop => 1);
		return $err;
	};

	# The time does not pass a whole hour, where a period may end, while a seed runs.
	$super->("SELECT pg_sleep_until(date_trunc('hour', now() + interval '1 min'))");
	my $roles = $super->('SELECT oracle.roles()');
	my $type = $edition eq 'flakeid' ? $one_of->('flake', 'bigint') : 'bigint';
	my $zone = $maybe->(0.4) ? $one_of->('Europe/Berlin', 'Africa/Cairo', 'America/Havana', 'Pacific/Apia', 'UTC') : undef;
	my ($every, $days) = @{ $one_of->([ '1 day', 1 ], [ '1 day', 1 ], [ '2 days', 2 ], [ '1 week', 7 ], [ '1 month', 31 ], $zone ? () : ([ '12 hours', 1 ])) };
	my $plain = $maybe->(0.25);
	my $default = !$plain && $maybe->(0.7);
	my $kept = !$plain && $maybe->(0.5);
	my $years = !$plain && $maybe->(0.5);    # a partition of 2017, where ids of tsid are read as ids of this layout
	my $before = $plain ? 0 : int rand 6;
	my $referrer = $maybe->(0.25) ? $one_of->('rt_one', $plain ? () : 'rt_two') : '';    # of another role, a plain table is refused
	my $all_tables = $maybe->(0.3);

	$super->("TRUNCATE oracle.row, oracle.rights, oracle.evil; CREATE SCHEMA $s AUTHORIZATION rt_one; GRANT USAGE ON SCHEMA $s TO PUBLIC; GRANT CREATE ON SCHEMA $s TO rt_two");
	my @partitions;
	push @partitions, [ default => 'DEFAULT' ] if $default;
	push @partitions, [ kept => 'FROM (MINVALUE) TO (100000)' ] if $kept;
	push @partitions, [ y17 => 'FROM (' . $super->("SELECT flake_floor('2017-01-01Z', 'snowflake')") . ') TO (' . $super->("SELECT flake_floor('2018-06-01Z', 'snowflake')") . ')' ] if $years;
	my $midnight = sub { my ($n) = @_; return $super->("SELECT flake_floor(date_trunc('day', now(), 'UTC') + $n * interval '1 day', 'snowflake')") };
	for my $n (1 .. $before)
	{
		push @partitions, [ "b$n", 'FROM (' . $midnight->(-3 * $n) . ') TO (' . $midnight->(-3 * $n + 3) . ')' ];
	}
	my $make = sub {
		my ($t) = @_;
		return "CREATE TABLE $t (id $type PRIMARY KEY DEFAULT flake_next(), rt_at timestamptz)" . ($plain ? '' : ' PARTITION BY RANGE (id)') . ";\n"
		  . join('', map { "CREATE TABLE ${t}_$_->[0] PARTITION OF $t " . ($_->[1] eq 'DEFAULT' ? '' : 'FOR VALUES ') . "$_->[1];\n" } @partitions);
	};
	my $grants = join '', map { $maybe->(0.5) ? "GRANT $_ ON t TO rt_reader;" : '' } qw(SELECT INSERT DELETE);
	my $err = $call->('rt_one', $make->('t') . $make->('twin') . "REVOKE ALL ON t FROM PUBLIC;$grants GRANT INSERT ON t TO rt_writer;"
		. ($maybe->(0.4) ? "ALTER DEFAULT PRIVILEGES IN SCHEMA $s GRANT SELECT, DELETE ON TABLES TO rt_snoop;" : '')
		. ($maybe->(0.3) ? 'ALTER TABLE t ADD CHECK (oracle.innocent(id));' : ''));
	die "seed $seed: $err" if $err;
	$super->("GRANT REFERENCES ON t TO rt_two") if $referrer eq 'rt_two';
	$call->($referrer, "CREATE TABLE refers (id $type REFERENCES t, CHECK (oracle.innocent(id)))") if $referrer;
	$super->('CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root)') if $all_tables;
	# Another table that cannot be maintained, and one that is
	$call->('rt_two', "CREATE TABLE bad (id $type PRIMARY KEY DEFAULT flake_next()) PARTITION BY RANGE (id); CALL flakeid.partition('bad', '1 month', 1); COMMENT ON TRIGGER flakeid_partitions ON bad IS 'no'") if $maybe->(0.3);
	$super->("SELECT oracle.changed('$s')");

	my $number = 0;
	my $keep;        # the least that was ever said, in days
	my $dropping = 0;
	# Rows of a kind, into table and twin alike
	my $insert = sub {
		my ($kind, $n) = @_;
		my @values;
		for (1 .. $n)
		{
			$number++;
			my $ago = rand($before ? 3 * $before - 0.01 : 20);
			my ($id, $at) = $kind eq 'old' ? ("flake_make(now() - $ago * interval '1 day', 1, $number, 'snowflake')::bigint", "now() - $ago * interval '1 day'")
			  : $kind eq 'young' ? ("flake_make(now() - interval '1 s', 2, $number, 'snowflake')::bigint", 'now()')
			  : $kind eq 'ahead' ? ("flake_make(now() + @{[ 1 + rand 20 ]} * interval '1 day', 3, $number, 'snowflake')::bigint", 'now()')
			  : $kind eq 'kept' ? (1000 + $number, 'now()')
			  : $kind eq 'foreign' ? ("flake_make(now() - interval '1 s', 4, $number, 'tsid')::bigint", 'now()')
			  : ($one_of->(0, -5, 9223372036854775807), 'now()');
			push @values, "($id, $at)";
		}
		my $values = join ', ', @values;
		# By the owner, as code of the table runs
		my $rows = $super->("SELECT string_agg(format('(%s, %L)', id, at), ', ') FROM (SELECT id, min(at) AS at FROM (VALUES $values) AS v (id, at) WHERE id NOT IN (SELECT id FROM oracle.row) GROUP BY id) AS new") or return;
		my $err = $call->('rt_one', "BEGIN; INSERT INTO t VALUES $rows; INSERT INTO twin VALUES $rows; COMMIT");
		my $of_kind = $rows =~ s/\((-?\d+), /($1, '$kind', /gr;
		$super->("INSERT INTO oracle.row VALUES $of_kind") if !$err;
		push @did, "$n rows $kind" . ($err ? ": $err" : '');
		return;
	};
	my @kinds = ('young', $default || $plain || $before ? 'old' : (), $default ? ('ahead', 'ahead', 'odd') : (), $default || $kept || $plain ? ('kept', 'kept') : (), $default || $years ? 'foreign' : ());
	$insert->($_, 1 + int rand 8) for grep { $maybe->(0.7) } @kinds;
	$insert->('old', 10) if $default || $plain || $before;
	$call->('rt_one', 'INSERT INTO refers SELECT id FROM t ORDER BY id OFFSET 1 LIMIT 1') if $referrer eq 'rt_one';

	# What must hold at any time
	my $look = sub {
		my ($gone) = @_;
		my $young = $keep ? "at > now() - interval '$keep days' + interval '1 hour'" : 'true';
		my $left = $super->("SELECT string_agg(kind || ' ' || id, ', ') FROM (SELECT * FROM oracle.row WHERE kind <> 'foreign' AND $young AND id NOT IN (SELECT id FROM t) ORDER BY id LIMIT 3) AS r");
		push @wrong, "young rows left the table: $left" if $left;
		my $lost = $super->("SELECT string_agg(kind || ' ' || id, ', ') FROM (SELECT * FROM oracle.row WHERE id NOT IN (SELECT oracle.held('$s')) ORDER BY id LIMIT 3) AS r"
			. ($gone ? " WHERE kind <> 'foreign' AND $young" : ''));
		push @wrong, "rows are in no table: $lost" if $lost;
		my $changed = $super->("SELECT oracle.changed('$s')");
		push @wrong, "rights: $changed" if $changed;
		my $evil = $super->("SELECT string_agg(DISTINCT who, ', ') FROM oracle.evil");
		push @wrong, "code of the owner had the rights of $evil" if $evil;
		push @wrong, 'roles have changed' if $super->('SELECT oracle.roles()') ne $roles;
		my $out = $super->("SELECT count(*) FROM pg_class WHERE relnamespace = '$s'::regnamespace AND relname NOT LIKE 'twin%' AND obj_description(oid, 'pg_class') LIKE 'flakeid 1 {%'");
		push @wrong, 'a partition was detached, though another role refers to the table' if $referrer eq 'rt_two' && $out > 0;
		return;
	};

	# Sessions beside us
	my $beside = sub {
		my ($who, $name, $sql) = @_;
		push @did, "beside, $who: $sql";
		local %ENV = $node->_get_env(PGAPPNAME => $name, PGOPTIONS => '-c client_min_messages=error');
		my ($out, $err) = ('', '');
		my $run = IPC::Run::start([ 'psql', '-XAtq', '-U', $who eq 'super' ? 'postgres' : $who, '-d', 'postgres', '-c', $path, '-c', of_edition($sql) ], '<', \undef, '>', \$out, '2>', \$err);
		return sub { $run->finish; return $err };
	};
	my $said;
	my $maintain = sub { return $one_of->("CALL flakeid.maintain('$s.t')", 'CALL flakeid.maintain()') };
	my $declare = sub {
		my $ahead = 1 + int rand 2;
		my $of = $maybe->(0.75) ? $one_of->(1, 3, 6, 12, 40) * $days : undef;
		$dropping ||= my $drop = $of && $maybe->(0.4) ? 1 : 0;
		$keep = $of if $of && (!$keep || $of < $keep);
		$said = "every => '$every', ahead => $ahead, layout => 'snowflake'" . ($of ? ", keep => '$of days'" : '') . ($drop ? ', drop_old => true' : '') . ($zone ? ", time_zone => '$zone'" : '');
		return "CALL flakeid.partition('$s.%s', $said)";
	};
	for my $action (1 .. 4 + int rand 4)
	{
		my $who = $one_of->(@callers);
		my $what = $action == 1 ? 'declare' : $one_of->(qw(declare maintain kill kill two insert beside));
		my @after;
		if ($what eq 'insert')
		{
			$insert->($_, 1 + int rand 5) for grep { $maybe->(0.5) } @kinds;
		}
		elsif ($what eq 'declare')
		{
			my $sql = $declare->();
			$call->($who, sprintf $sql, 't');
			@after = sprintf $sql, 'twin';
		}
		elsif ($what eq 'kill')
		{
			my $sql = $maybe->(0.5) && $said ? "CALL flakeid.partition('$s.t', $said)" : $maintain->();
			my $end = $beside->($who, "killed_$seed", $sql);
			sleep(rand 0.3);
			$super->("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'killed_$seed'");
			$end->();
			$call->($who, $sql);
			@after = $sql =~ s/\.t'/.twin'/r;
		}
		elsif ($what eq 'two')
		{
			my @ends = map { $beside->($_, "two_$seed", $maintain->()) } $who, $one_of->(grep { $_ ne 'rt_member' } @callers);
			$_->() for @ends;
			@after = "CALL flakeid.maintain('$s.twin')";
		}
		elsif ($what eq 'beside')
		{
			my @ends = map { $beside->('rt_writer', 'writer', "DO \$\$ BEGIN FOR i IN 1 .. 20 LOOP INSERT INTO t (rt_at) VALUES (now()); COMMIT; END LOOP; END \$\$") } 1, 2;
			$call->($who, $maintain->());
			@after = "CALL flakeid.maintain('$s.twin')";
			for (@ends) { my $err = $_->(); push @wrong, "a writer failed: $err" if $err =~ /ERROR/ && $said && $err !~ /no partition of relation/ }
		}
		else
		{
			$call->($who, $maintain->());
			@after = "CALL flakeid.maintain('$s.twin')";
		}
		$call->('rt_one', $_) for @after;
		$look->(0);
	}

	# The same end as that of the twin, and nothing is left to do
	my ($mine, $twins) = map { $call->('rt_one', "CALL flakeid.partition('$s.$_', $said);\nCALL flakeid.maintain('$s.$_')") } qw(t twin);
	push @wrong, "an error at the end: $mine" if $mine && !$twins;
	my $end = sub {
		my ($t) = @_;
		return $super->("SELECT range_agg(tstzrange(from_time, to_time)) FROM flakeid.partitions WHERE parent = '$t'::regclass AND attached AND to_time IS NOT NULL");
	};
	my ($ends, $twin) = ($end->('t'), $end->('twin'));
	push @wrong, "another end: $ends; the twin: $twin" if $ends ne $twin && !$referrer;
	my $before_again = $super->("SELECT string_agg(partition::text, ' ' ORDER BY partition::text) FROM flakeid.partitions WHERE parent = 't'::regclass");
	$call->($callers[1] // $callers[0], "CALL flakeid.maintain('$s.t')");
	push @wrong, 'a further call found something to do' if $super->("SELECT string_agg(partition::text, ' ' ORDER BY partition::text) FROM flakeid.partitions WHERE parent = 't'::regclass") ne $before_again;
	my $overlap = $super->("SELECT count(*) FROM (SELECT lead(from_time) OVER (ORDER BY from_time) < to_time AS meet FROM flakeid.partitions WHERE parent = 't'::regclass AND attached) AS o WHERE o.meet");
	push @wrong, 'partitions overlap' if $overlap;
	my ($ahead) = $said =~ /ahead => (\d)/;
	my $covered = $call->('rt_one', "BEGIN; INSERT INTO t SELECT flake_make(now() + $ahead * interval '@{[ $every =~ /month/ ? '28 days' : $every ]}', 5, 1, 'snowflake'), now(); ROLLBACK");
	push @wrong, "no partition ahead: $covered" if $covered && !$default;
	$look->(0);

	# What was detached is dropped a period later, and nothing else
	$super->("SELECT oracle.grow_old('$s', greatest('$every'::interval, '1 day'))");
	$call->($callers[1] // $callers[0], "CALL flakeid.maintain('$s.t')");
	$look->($dropping);

	$super->('DROP PUBLICATION IF EXISTS everything');
	$super->("DROP SCHEMA $s CASCADE");
	$session->quit;
	return (\@wrong, \@did);
}

1;
