# Hints that work when pasted: each situation raises an error; what its hint says to run, taken from the text of the hint, is run
# as it stands; then the first statement, or what the hint puts in its place, goes through. doc/dev/hints.md is the list of it.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../t";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = server('hints', 'max_prepared_transactions = 1', 'wal_level = logical');
my $base = PostgreSQL::Test::Utils::tempdir();
my $dir = "$base/it's here";
mkdir $dir or die "$dir: $!";
$node->safe_psql('postgres', 'CREATE ROLE app LOGIN');
my $far = 'time:41:1ms node:10 sequence:12 epoch=2031-01-01';
my $opaque = 'time:41:1ms node:10 sequence:12 cipher=sparx64';
my ($situations, $database, @list) = (0);

# Adds to the line of this situation, without what differs from run to run.
sub write_down
{
	my ($text) = @_;
	$text =~ s/\Q$base\E/DIR/g;
	$text =~ s/\d+\.\d+ s\b/... s/g;
	$text =~ s/\b\d{15,}\b/.../g;
	$text =~ s/\d{4}-\d\d-\d\d \d\d:[^\s`]+/.../g;
	$list[-1] .= $text;
	return;
}

# A database of its own for each situation
sub situation
{
	my ($what) = @_;
	$situations++;
	push @list, "- **$what**";
	$database = "situation_$situations";
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	return $node->safe_psql($database, 'CREATE EXTENSION flakeid');
}

# How a statement is refused: detail and hint. It must be.
sub refused
{
	my ($sql, $expected, %params) = @_;
	my $error = refusal($node, $sql, database => $database, %params);
	my ($first) = $error =~ /^(.*)/;
	like($error, $expected, "$database: $first");
	write_down(": `$first`");
	return $error =~ /^hint: (.*)/ms && !$params{detail} ? $1 : $error;
}

# The words of a hint that are to be pasted, byte for byte into a psql that has done nothing else and goes on after an error
sub paste
{
	my ($hint, $pattern) = @_;
	my ($pasted) = $hint =~ $pattern;
	isnt($pasted // '', '', "the hint has what to paste: $hint") or return;
	write_down("; pasted `$pasted`");
	my ($result, $out, $err) = $node->psql($database, $pasted, on_error_stop => 0);
	return is($err =~ s/^psql:.*NOTICE.*\n?//gmr, '', "pasted: $pasted");
}

sub shell_paste
{
	my ($hint, $pattern) = @_;
	my ($command) = $hint =~ $pattern;
	write_down("; pasted `$command`") if defined $command;
	return is(system($command // 'false'), 0, "pasted: " . ($command // $hint));
}

sub goes
{
	my ($sql, %params) = @_;
	write_down("; then `$sql`");
	return is(refusal($node, $sql, database => $database, %params), '', "then it goes: $sql");
}

# Rights
my $secret = write_file("$dir/secret", '00112233445566778899aabbccddeeff');
my $use_secret = 'SET flakeid.secret_file = $q$' . $secret . '$q$;';
my $set_secret = sub { $node->safe_psql($database, "ALTER DATABASE $database SET flakeid.secret_file = \$q\$$secret\$q\$") };

situation('reading an enciphered id without the right');
$set_secret->();
my $read = "SELECT flake_timestamp(flake_next('randflake'), 'randflake')";
my $hint = refused($read, qr/^42501: permission denied to look into enciphered ids/, user => 'app');
paste($hint, qr/^(GRANT .*;)$/);
goes($read, user => 'app');

situation('sealing a made-up id without the right');
$set_secret->();
my $seal = 'CREATE TEMP TABLE t (id flake_sealed); INSERT INTO t VALUES (5::bigint::flake)';
$hint = refused($seal, qr/^42501: permission denied to seal an id/, user => 'app');
paste($hint, qr/^(GRANT .*;)$/);
goes($seal, user => 'app');

situation('finding sealed ids by time without the right');
$set_secret->();
$node->safe_psql($database, 'CREATE TABLE t (id flake_sealed DEFAULT flake_next()); INSERT INTO t DEFAULT VALUES; GRANT SELECT ON t TO app');
my $find = "SELECT count(*) FROM t WHERE id <@ tstzrange(now() - interval '1 h', NULL)";
$hint = refused($find, qr/^42501: permission denied to find sealed ids by time/, user => 'app');
paste($hint, qr/^(GRANT .*;)$/);
goes($find, user => 'app');

situation('a layout that is not for everyone');
$hint = refused("SELECT flake_next('time:41:1ms node:9 sequence:13 epoch=2020-05-01')", qr/^42501: permission denied to generate ids with layout/, user => 'app');
unlike($hint, qr/ALTER DATABASE/, 'nothing that changes every default');
paste($hint, qr/: (CREATE FUNCTION .*;)$/);
goes('SELECT next_id()', user => 'app');
is($node->safe_psql($database, q{LOAD 'flakeid'; SHOW flakeid.layout}), 'snowflake', 'the layout of all others stays');

situation('a node that is not granted');
my $named = "SELECT flake_next('snowflake', 5)";
$hint = refused($named, qr/^42501: permission denied to generate ids of node 5/, user => 'app');
like($hint, qr/set flakeid.node to a span that has the node/, 'the hint names the setting');
$node->safe_psql($database, "ALTER DATABASE $database SET flakeid.node = '0-7'");
goes($named, user => 'app');

# Layouts
situation('a full layout');
$hint = refused("SELECT flake_next('uidgenerator')", qr/^2200H: layout "uidgenerator" has been full since .*\ndetail: .* makes ids again that this layout made/);
my ($successor) = $hint =~ /for new tables, such as the preset (\w+);/;
goes("CREATE TABLE t (id flake DEFAULT flake_next('$successor')); INSERT INTO t DEFAULT VALUES");
is($node->safe_psql($database, "SELECT 'uidgenerator' = ANY (repeats) FROM flakeid.layouts WHERE name = '$successor'"), 't', 'the column that it names tells why for new tables only');

situation('the floor of an enciphered layout');
$set_secret->();
$hint = refused("SELECT flake_floor(now(), 'randflake')", qr/^0A000: ids of layout "randflake" have no time order/, user => 'app');
my ($instead) = $hint =~ /Compare (flake_timestamp\(id, '.*?'\)) instead/;
goes("SELECT count(*) FROM (SELECT flake_next('randflake')::bigint AS id) AS s WHERE $instead > now() - interval '1 min'");
is(refusal($node, "SELECT flake_ceil(now())", database => $database, user => 'app'), '', 'layouts with a time order are for everyone');

situation('the floor of a layout whose highest field is not the time');
$hint = refused("SELECT flake_floor(now(), 'rollback3')", qr/^0A000: .*\ndetail: Their highest field is not the time/);
($instead) = $hint =~ /Compare (flake_timestamp\(id, '.*?'\)) instead/;
goes("SELECT count(*) FROM (SELECT flake_next('rollback3')::bigint AS id) AS s WHERE $instead > now() - interval '1 min'");

situation('an id of another layout');
$hint = refused("SELECT flake_inspect(flake_next(), 'js53')", qr/^22003: \d+ is not an id of layout "js53"/);
my ($inspect) = $hint =~ /as in (flake_inspect\(id, '\w+'\))/;
goes("SELECT $inspect FROM (SELECT flake_next()::bigint AS id) AS s");

situation('a text that is no layout');
$hint = refused("SELECT flakeid.describe('snow')", qr/^22023: invalid layout "snow"/);
my ($example) = $hint =~ /such as "(.*)"/;
goes("SELECT flakeid.describe('$example')");

situation('an epoch without its unit');
$hint = refused("SELECT flakeid.describe('time:41:1ms node:10 sequence:12 epoch=1288834974')", qr/^22023: invalid layout/);
my ($epoch) = $hint =~ /For seconds write (epoch=\w+)/;
goes("SELECT flakeid.describe('time:41:1ms node:10 sequence:12 $epoch')");

situation('a node that the layout does not have');
$hint = refused("SET flakeid.node = 5000; SELECT flake_next()", qr/^22003: node 5000 is out of range/, detail => 1);
my ($last) = $hint =~ /Its nodes are 0 to (\d+)/;
goes("SET flakeid.node = $last; SELECT flake_next()");

situation('a block past the sequence');
$hint = refused("SELECT flake_block(5000)", qr/^22003: a block of 5000 ids does not fit/);
my ($many) = $hint =~ /or use (flake_next_many)\(\)/;
goes("SELECT count($many) FROM $many(5000)");

# Texts and keys
situation('a text that is too short');
$hint = refused("SELECT flake_from_text('abc', 'base16')", qr/^22P02: invalid base16 text of a flake: "abc"\ndetail: Such a text has 16 characters, and this one has 3\.$/);
my ($length) = $hint =~ /has (\d+) characters/;
goes("SELECT flake_from_text(lpad('abc', $length, '0'), 'base16')");

situation('a text form that is none');
$hint = refused("SELECT flake_to_text(5, 'base85')", qr/^22023: there is no text form "base85"/);
goes(join '; ', map { "SELECT flake_to_text(5, '$_')" } $hint =~ /\b(base\w+)/g);

situation('a key of another length');
$hint = refused("SELECT flake_encrypt(5, 'abc')", qr/^22023: invalid key length/);
my ($bytes) = $hint =~ /has (\d+) bytes, as in decode\('\.\.\.', 'hex'\)/;
goes("SELECT flake_encrypt(5, decode(repeat('ab', $bytes), 'hex'))");

# The secret
situation('no secret');
my $encipher = "SELECT flake_next('$opaque')";
$hint = refused($encipher, qr/^55000: no secret is configured/) =~ s{/etc/postgresql/}{$base/}gr;
shell_paste($hint, qr/(\(umask .*?\))/);
paste($hint, qr/(ALTER DATABASE .*?;)/);
goes($encipher);

situation('no secret, for an ordinary role');
$node->safe_psql($database, "ALTER DATABASE $database OWNER TO app");
my $sealed = "CREATE TABLE sealed (id flake_sealed DEFAULT flake_next()); INSERT INTO sealed DEFAULT VALUES RETURNING id";
$hint = refused($sealed, qr/^55000: no secret is configured/, user => 'app') =~ s{/etc/postgresql/}{$base/}gr;
paste($hint, qr/(ALTER ROLE .*?;)/);
# as a program does with its test database, between two runs
$node->safe_psql('postgres', "DROP DATABASE $database");
$node->safe_psql('postgres', "CREATE DATABASE $database OWNER app");
$node->safe_psql($database, 'CREATE EXTENSION flakeid');
goes($sealed, user => 'app');
$node->safe_psql('postgres', 'ALTER ROLE app RESET flakeid.secret_file');

situation('a secret file that is not there');
$hint = refused("SET flakeid.secret_file = \$q\$$dir/new\$q\$; $encipher", qr/^58P01: could not open the secret file/);
shell_paste($hint, qr/(\(umask .*\))$/);
goes("SET flakeid.secret_file = \$q\$$dir/new\$q\$; $encipher");

situation('a secret file that others can read');
chmod 0644, $secret;
$hint = refused("$use_secret $encipher", qr/^F0000: the secret file has group or world access/);
shell_paste($hint, qr/run: (chmod .*)$/);
goes("$use_secret $encipher");

situation('a file of the system in the place of the secret');
$hint = refused("SET flakeid.secret_file = '/etc/passwd'; $encipher", qr/^F0000: the secret file has group or world access/);
unlike($hint, qr/chmod/, 'nothing that would change the file');
like($hint, qr/belongs to another/, 'but why');

situation('a file of the node that others can write');
my $number = write_file("$dir/node", "5\n", 0666);
my $of_file = "SET flakeid.node = \$q\$file:$number\$q\$; SELECT flake_next()";
$hint = refused($of_file, qr/^55000: this host has no node number/);
shell_paste($hint, qr/run: (chmod .*)$/);
goes($of_file);

# Time
situation('a horizon that lies ahead of the clock');
$node->safe_psql($database, q{SELECT flakeid.raise_horizon(now() + interval '2 days')});
$hint = refused('SELECT flake_next()', qr/^55000: the horizon of database "$database" lies \d+\.\d+ s ahead of the clock/);
like($hint, qr/superuser: SELECT flakeid\.repair_horizon\(\);$/, 'the hint is one statement');
$hint = refused('SELECT flakeid.repair_horizon()', qr/^55000: node 0 may have made the ids that lie ahead of the clock/);
my $other = 1;
paste($hint =~ s/flakeid\.node = N;/flakeid.node = $other;/r, qr/(LOAD .*? SELECT pg_reload_conf\(\);)/);
$node->poll_query_until($database, "SELECT flakeid.version() <> '' AND current_setting('flakeid.node') = '$other'");
like(refusal($node, 'SELECT flake_next()', database => $database), qr/^55000/, 'another node has the same horizon');
is($node->safe_psql($database, 'SELECT flakeid.repair_horizon()'), 't', 'and is not taken for a used one, since it made no id');
goes('SELECT flake_next()');
is($node->safe_psql($database, 'SELECT flake_node(flake_next())'), $other, 'of another node, which the ids ahead of the clock cannot meet');
$node->safe_psql($database, q{LOAD 'flakeid'; ALTER SYSTEM RESET flakeid.node});
$node->reload;

# One session with a large flakeid.max_ahead leads ids 40 s ahead of a clock that is right.
sub lead_ahead
{
	my ($epoch) = @_;
	$node->safe_psql($database, "ALTER DATABASE $database SET flakeid.layout = 'time:41:1ms node:3 sequence:1 epoch=$epoch'");
	return q{SET flakeid.max_ahead = '1 h'; SELECT count(flake_next()) FROM generate_series(1, 80000); RESET flakeid.max_ahead;};
}
situation('ids further ahead than draws lead');
my $ahead = lead_ahead('2019-01-01');
$hint = refused("$ahead SET flakeid.when_ahead = error; SELECT flake_next()", qr/^55000: the next id of node 0 lies \d+\.\d+ s ahead of the clock/);
unlike($hint, qr/repair/, 'a repair would not help');
like($hint, qr/^Wait, .* or a span of nodes\.$/, 'a span helps');
goes(q{SET flakeid.node = '0-7'; SET flakeid.when_ahead = error; SELECT flake_next()});

situation('a repair where ids lie ahead of a right clock');
$ahead = lead_ahead('2018-01-01');
my ($code, $lowered, $told) = $node->psql($database, "$ahead SELECT flakeid.raise_horizon(now() + interval '2 days'); SELECT flakeid.repair_horizon(none_kept => true)");
is($lowered =~ s/.*\n//gr, 't', 'lowered');
like($told, qr/NOTICE:  the horizon of database "$database" stays \d+\.\d+ s ahead of the clock/, 'but not below what was stamped');
write_down(": `$1`") if $told =~ /(the horizon of .*)/;
my ($further) = $told =~ /(SET flakeid\.max_ahead = '.*?';)/;
like(refusal($node, 'SELECT flake_next()', database => $database), qr/^55000: the horizon of database/, 'whoever does not wait');
goes("$further SELECT flake_next()");

situation('a burst past what the layout allows');
my $burst = "SET flakeid.layout = 'time:41:1ms node:3 sequence:1 epoch=2017-01-01'; SET flakeid.when_ahead = error; SELECT count(*) FROM flake_next_many(60000)";
$hint = refused($burst, qr/^55000: the next id of node 0 lies .* ahead of the clock/);
like($hint, qr/or a span of nodes\.$/, 'a span helps');
goes("SET flakeid.node = '0-7'; $burst");

situation('a durable state that was emptied');
$node->safe_psql($database, 'REFRESH MATERIALIZED VIEW flakeid.state WITH NO DATA');
$hint = refused('SELECT flake_next()', qr/^XX001: the horizon of database "$database" is lost/);
paste($hint, qr/Run (REFRESH .*?; SELECT .*?;)/);
goes('SELECT flake_next()');

# Set-up
situation('a server that is one of several');
$node->safe_psql($database, q{CREATE SUBSCRIPTION s CONNECTION 'dbname=nothing' PUBLICATION p WITH (connect = false)});
$hint = refused('SELECT flake_next()', qr/^55000: this server is one of several, and flakeid.node was never set/);
my $line = qr/for N that no other server has: (LOAD .*?; SELECT .*?;)/;
# Pasted as it stands on two servers, it gives neither of them a node; with a number each, they have no id in common.
my $twin = server('twin', 'wal_level = logical');
$twin->safe_psql('postgres', q{CREATE SUBSCRIPTION s CONNECTION 'dbname=nothing' PUBLICATION p WITH (connect = false)});
my ($told_twin) = refusal($twin, 'SELECT flake_next()') =~ /^hint: (.*)/ms;
is($told_twin, $hint, 'both are told the same');
my @servers = ([ $node, $database ], [ $twin, 'postgres' ]);
for my $of (@servers)
{
	my (undef, undef, $err) = $of->[0]->psql($of->[1], $hint =~ $line, on_error_stop => 0);
	like($err, qr/invalid value for parameter "flakeid.node": "n"/, 'pasted before somebody has chosen, it is refused');
	is($of->[0]->safe_psql($of->[1], q{LOAD 'flakeid'; SHOW flakeid.node}), '0', 'and sets nothing');
}
for my $i (0, 1)
{
	my ($server, $of) = @{ $servers[$i] };
	my $number = $i + 1;
	my $with = $hint =~ s/flakeid\.node = N;/flakeid.node = $number;/r;
	$i == 0 ? paste($with, $line) : $server->safe_psql($of, $with =~ $line);
	$server->poll_query_until($of, qq{SELECT flakeid.version() <> '' AND current_setting('flakeid.node') = '$number'});
}
is(join(' ', map { $_->[0]->safe_psql($_->[1], 'SELECT DISTINCT flake_node(flake_next()) FROM generate_series(1, 10000)') } @servers), '1 2', 'no id of one is an id of the other');
$twin->stop;
goes('SELECT flake_next()');
$node->safe_psql($database, q{ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s; LOAD 'flakeid'; ALTER SYSTEM RESET flakeid.node});
$node->reload;

situation('a setting of the configuration file that a database has');
$node->safe_psql($database, "ALTER DATABASE $database SET flakeid.realm = 'shop'");
$hint = refused('SELECT flake_next()', qr/^55P02: parameter "flakeid.realm" cannot be set for a database or role/);
my ($reset) = $hint =~ /(RESET \S+),/;
$node->safe_psql($database, "ALTER DATABASE $database $reset");
goes('SELECT flake_next()');

situation('ids in the transaction that makes the extension anew');
my $anew = 'BEGIN; DROP EXTENSION flakeid; CREATE EXTENSION flakeid';
$hint = refused("$anew; SELECT flake_next()", qr/^55000: cannot make ids in the transaction that replaces the durable state/);
my ($commit) = $hint =~ /^(Commit) first/;
goes("$anew; $commit; SELECT flake_next()");

situation('a transaction that was prepared before a restart');
$node->safe_psql($database, q{CREATE TABLE t (id flake DEFAULT flake_next()); BEGIN; INSERT INTO t DEFAULT VALUES; PREPARE TRANSACTION 'mine'});
$node->restart;
$hint = refused('SELECT flake_settled()', qr/^55000: nobody knows which ids prepared transactions drew/);
my ($end) = $hint =~ /or (ROLLBACK PREPARED)/;
$node->safe_psql($database, "$end 'mine'");
goes('SELECT flake_settled()');

# Tables
sub tables { situation(@_); return $node->safe_psql($database, 'CREATE EXTENSION flakeid_tables') }
my $partition = "CALL flakeid.partition('t', '1 month')";
tables('a table that nobody declared');
$node->safe_psql($database, 'CREATE TABLE t (id flake PRIMARY KEY) PARTITION BY RANGE (id)');
$hint = refused("CALL flakeid.maintain('t')", qr/^55000: table public\.t is not declared/);
paste($hint, qr/^(CALL .*;)$/);
goes("CALL flakeid.maintain('t')");

tables('a table to be partitioned by a column that may be NULL');
$node->safe_psql($database, 'CREATE TABLE t (id flake)');
$hint = refused($partition, qr/^55000: table public\.t cannot become partitioned/, detail => 1);
paste($hint, qr/may be NULL: (ALTER TABLE .*)$/m);
goes($partition);

tables('a table to be partitioned whose constraint is not valid');
$node->safe_psql($database, 'CREATE TABLE t (id flake PRIMARY KEY, n int); ALTER TABLE t ADD CONSTRAINT positive CHECK (n > 0) NOT VALID');
$hint = refused($partition, qr/^55000: table public\.t cannot become partitioned/, detail => 1);
paste($hint, qr/is not valid: (ALTER TABLE .*)$/m);
goes($partition);

# Leases
my $acquire = q{SELECT flakeid.lease_acquire('default', 'me', '60 s')};
sub realm { situation(@_); return $node->safe_psql($database, 'CREATE EXTENSION flakeid_coordinator') }
realm('a coordinator that rests');
$node->safe_psql($database, 'SELECT flakeid.lease_begin_rest()');
$hint = refused($acquire, qr/^55000: the coordinator hands out no leases before/);
paste($hint, qr/(SELECT flakeid\.lease_end_rest\(\);)/);
goes($acquire);

realm('a realm that is not there');
$hint = refused($acquire =~ s/default/shop/r, qr/^22023: there is no realm "shop"/);
my ($make) = $hint =~ /Make it with ([\w.]+)\(\)/;
$node->safe_psql($database, "SELECT $make('shop')");
goes($acquire =~ s/default/shop/r);

realm('a lease that is too long');
$hint = refused($acquire =~ s/60 s/10 min/r, qr/^22023: a lease cannot last 600 s/);
my ($raise) = $hint =~ /or raise max_ttl with ([\w.]+)\(\)/;
$node->safe_psql($database, "SELECT $raise('default', max_ttl => '10 min')");
goes($acquire =~ s/60 s/10 min/r);

realm('a holder whose name is too long');
$hint = refused($acquire =~ s/'me'/repeat('me', 128)/r, qr/^22023: the name of the holder is too long or not printable/);
like($hint, qr/the host and the program/, 'what a name is');
goes($acquire =~ s/'me'/'host program'/r);

realm('a token that was used');
$node->safe_psql($database, q{CREATE TABLE had AS SELECT token FROM flakeid.lease_acquire('default', 'another', '60 s')});
$hint = refused($acquire =~ s/\)$/, token => (SELECT token FROM had))/r, qr/^42710: the token is that of another lease/);
paste($hint, qr/(SELECT gen_random_uuid\(\);)/);
goes($acquire =~ s/\)$/, token => gen_random_uuid())/r);

realm('a token that another session asks with');
$node->safe_psql($database, 'CREATE TABLE mine AS SELECT gen_random_uuid() AS token');
my $mine = 'token => (SELECT token FROM mine)';
my $asking = $node->background_psql($database);
$asking->query_safe("BEGIN; SELECT flakeid.lease_acquire('default', 'me', '60 s', 1, $mine)");
$asking->query_until(qr/begun/, "\\echo begun\n" . 'DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP PERFORM pg_sleep(0.001); END LOOP; END $$; COMMIT;' . "\n");
refused($acquire =~ s/\)$/, 2, $mine)/r, qr/^55000: the token was used by a question that was asked at the same time/);
$asking->quit;
goes($acquire =~ s/\)$/, 1, $mine)/r);

realm('leases in the role of a replica');
$hint = refused("SET session_replication_role = replica; $acquire", qr/^55000: leases are not changed in the role of a replica/);
goes("SET session_replication_role = replica; $hint $acquire");

cmp_ok($situations, '>=', 40, "$situations situations");
my ($page) = slurp_file(source_dir() . '/doc/dev/hints.md') =~ /^(- \*\*.*?\n)\n/ms;
is($page, join('', map { "$_\n" } @list), 'the list of doc/dev/hints.md');
$node->stop;
done_testing();
