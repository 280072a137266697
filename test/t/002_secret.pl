# The secret: where it comes from, that a wrong one is an error and never another key, and that
# nothing shows it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Known answers: under these secrets these words become these ids.
my @known;
open(my $csv, '<', source_dir() . '/test/vectors/randflake.csv') or die $!;
while (<$csv>)
{
	my ($secret, undef, undef, undef, $raw, $id) = split /,/;
	push @known, { secret => $secret, raw => $raw, id => $id } if $secret =~ /^(?=.*[a-f].*[a-f])[0-9a-f]{32}$/;
	last if @known == 4;
}
close $csv;
my $characters = 'sixteen letters!';
sub new_file
{
	my ($file) = @_;
	return 'hint: Put the secret back, or correct flakeid.secret_file. A new secret cannot read ids made with the old one; '
	  . "for a new installation, as the user that runs the server: (umask 077; set -C; openssl rand -hex 16 > '$file')";
}
my $hint_used = 'hint: Put the secret back, or correct flakeid.secret_file. Ids of this database were made with it, and a new one cannot read them.';
my $hint_form = 'hint: A secret is 32 hexadecimal digits, or exactly 16 characters.';
my $none = "55000: no secret is configured\ndetail: Sealed and enciphered ids need a secret of 16 bytes.\n"
  . 'hint: As the user that runs the server: (umask 077; set -C; openssl rand -hex 16 > /etc/postgresql/flakeid.secret) Then as a superuser: '
  . "ALTER DATABASE postgres SET flakeid.secret_file = '/etc/postgresql/flakeid.secret'; and connect again.";

# The number of the known secret that a session of the server uses, or how it is refused.
sub in_use
{
	my ($node, $before, $database) = @_;
	for my $i (0 .. $#known)
	{
		my $refusal = refusal($node, "$before SELECT 1 / (flake_encrypt($known[$i]{raw}) = $known[$i]{id})::int",
			database => $database);
		return $i if $refusal eq '';
		return $refusal if $refusal !~ /^22012/;
	}
	return 'unknown';
}

sub count_in_log { my ($node, $text) = @_; return scalar(() = slurp_file($node->logfile) =~ /\Q$text\E/gi) }

#
# flakeid.secret_file, without preloading
#
my $node = server('file');
my $dir = $node->basedir;
my $good = write_file("$dir/good", "$known[0]{secret}\n");

is(in_use($node, ''), $none, 'no secret');
is(in_use($node, "SET flakeid.secret_file = '$good';"), 0, 'a file with a newline');
is(in_use($node, "SET flakeid.secret_file = '" . write_file("$dir/bare", $known[1]{secret}) . "';"), 1, 'without');
is(in_use($node, "SET flakeid.secret_file = '" . write_file("$dir/upper", uc $known[1]{secret}) . "';"), 1, 'in capitals');
is(in_use($node, "SET flakeid.secret_file = '" . write_file("$dir/mode", $known[2]{secret}, 0400) . "';"), 2, 'that cannot be written');
my $of_characters = $node->safe_psql('postgres',
	"SET flakeid.secret_file = '" . write_file("$dir/characters", "$characters\n") . "'; SELECT flake_encrypt(5)");
is($of_characters, $node->safe_psql('postgres', "SELECT flake_encrypt(5, convert_to('$characters', 'UTF8'))"), '16 characters');
is(refusal($node, "SET flakeid.secret_file = '$dir/wrong'; SELECT flake_next('randflake')"),
	"58P01: could not open the secret file: No such file or directory\ndetail: The file is \"$dir/wrong\".\n" . new_file("$dir/wrong"), 'a new secret is offered where none was used');
is($node->safe_psql('postgres', "SET flakeid.secret_file = '$good';
		SELECT flake_make('2058-11-05 17:10:23Z', 131071, 131071, 'randflake') = flake_encrypt(-1, decode('$known[0]{secret}', 'hex')),
		flake_decrypt(flake_next('randflake')) >> 34 > 0"),
	't|t', 'the whole layout uses it');

# flakeid.status tells what a new session would meet, and takes nothing from one that has read the secret.
write_file("$dir/gone", $known[3]{secret});
my $reader = $node->background_psql('postgres');
$reader->query_safe("SET flakeid.secret_file = '$dir/gone'; SELECT flake_encrypt(5)");
unlink "$dir/gone";
is($reader->query_safe(q{SELECT value FROM flakeid.status WHERE name = 'secret'}), 'cannot be read: could not open the secret file: No such file or directory', 'flakeid.status says that a secret is gone');
is($reader->query_safe("SELECT flake_encrypt($known[3]{raw})"), $known[3]{id}, 'and the session keeps what it has read');
$reader->quit;

# Everything wrong with a file, each in a session that has used a good one before
my $the_wrong = "The file is \"$dir/wrong\".";
sub wrong { my ($text) = @_; return "F0000: the secret file does not hold a secret\ndetail: $text $the_wrong\n$hint_form" }
my $length = 'The secret has the wrong length.';
my $digit = 'The secret has 32 characters, but not all of them are hexadecimal digits.';
my @bad = (
	[ '15 characters', 'fifteen letters', wrong($length) ],
	[ '15 characters and a newline', "fifteen letters\n", undef ],
	[ '17 characters', 'seventeen letters', wrong($length) ],
	[ '31 digits', substr($known[1]{secret}, 1), wrong($length) ],
	[ '33 digits', "$known[1]{secret}0", wrong($length) ],
	[ 'an odd digit', substr($known[1]{secret}, 1) . 'g', wrong($digit) ],
	[ 'a first odd digit', 'G' . substr($known[1]{secret}, 1), wrong($digit) ],
	[ 'nothing', '', wrong($length) ],
	[ 'a newline', "\n", wrong($length) ],
	[ 'two newlines', "$known[1]{secret}\n\n", wrong($length) ],
	[ 'a newline of DOS', "$known[1]{secret}\r\n", wrong($length) ],
	[ 'a second line', "$known[1]{secret}\nand more\n", wrong($length) ],
	[ 'digits in two lines', substr($known[1]{secret}, 0, 16) . "\n" . substr($known[1]{secret}, 16), wrong($length) ],
	[ 'two zero bytes', "$known[1]{secret}\0\0", wrong($length) ]);
for my $mode (0640, 0620, 0610, 0604, 0602, 0601, 0660, 0644, 0777)
{
	push @bad, [ sprintf('mode %o', $mode), $known[1]{secret},
		"F0000: the secret file has group or world access\ndetail: $the_wrong\nhint: If it is the file that you mean, run: chmod 600 '$dir/wrong'", $mode ];
}
push @bad, [ 'no right for the server', $known[1]{secret},
	"42501: could not open the secret file: Permission denied\ndetail: $the_wrong\n" . $hint_used, 0000 ];
for my $bad (@bad)
{
	my ($what, $text, $expected, $mode) = @$bad;
	write_file("$dir/wrong", $text, $mode);
	# 15 characters and a newline are 16 characters, but the newline is not one of the secret
	$expected //= wrong($length);
	is(in_use($node, "SET flakeid.secret_file = '$good'; SELECT flake_encrypt(5); SET flakeid.secret_file = '$dir/wrong';"),
		$expected, "a file with $what is an error after a good one");
	is(refusal($node, "SET flakeid.secret_file = '$dir/wrong'; SELECT flake_next('randflake')"), $expected, 'for flake_next too');
}
unlink "$dir/wrong";
my $missing = "58P01: could not open the secret file: No such file or directory\ndetail: $the_wrong\n" . $hint_used;
is(in_use($node, "SET flakeid.secret_file = '$good'; SELECT flake_encrypt(5); SET flakeid.secret_file = '$dir/wrong';"), $missing, 'no file');
mkdir "$dir/wrong", 0700;
my $not_regular = "F0000: the secret file is not a regular file\ndetail: $the_wrong\n" . $hint_used;
is(in_use($node, "SET flakeid.secret_file = '$dir/wrong';"), $not_regular, 'a directory');
rmdir "$dir/wrong";
system('mkfifo', '-m', '600', "$dir/wrong") == 0 or die $!;
is(in_use($node, "SET flakeid.secret_file = '$dir/wrong';"), $not_regular, 'a pipe, without waiting for it');
unlink "$dir/wrong";
is(in_use($node, "SET flakeid.secret_file = '/dev/null';"), "F0000: the secret file is not a regular file\ndetail: The file is \"/dev/null\".\n" . $hint_used, 'a device');
is(refusal($node, "SET flakeid.secret_file = '$dir/wrong'; SELECT flake_next(), flake_node(5)"), '', 'plain layouts do not ask for it');

# A file that changes under a running server
my $changed = "F0000: the secret file has changed since the server first read it\n"
  . "detail: Ids enciphered with one secret cannot be read with another. The file is \"$good\".\n"
  . "hint: Put the old secret back. To change to a new one on purpose, write it to a new file and set flakeid.secret_file to that.";
my $use_good = "SET flakeid.secret_file = '$good';";
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query("$use_good SELECT flake_encrypt(5)");
write_file($good, "$known[3]{secret}\n");
is(in_use($node, $use_good), $changed, 'a changed file is an error for new sessions');
is($session->query("SELECT flake_encrypt($known[0]{raw})"), $known[0]{id}, 'a session that has read it goes on');
$session->query('SET flakeid.node = 1');
is($session->query("SELECT flake_encrypt($known[0]{raw})"), '', 'until it reads it again');
is($session->query("SELECT flake_next('randflake')"), '', 'and makes no ids');
write_file($good, $known[0]{secret});
is($session->query("SELECT flake_encrypt($known[0]{raw})"), $known[0]{id}, 'when the old secret is back, all is well');
is(in_use($node, $use_good), 0, 'for new sessions as well');
$session->quit;
write_file("$dir/new", $known[3]{secret});
is(in_use($node, "$use_good SELECT flake_encrypt(5); SET flakeid.secret_file = '$dir/new';"), 3, 'another file changes the secret on purpose');
write_file($good, $known[3]{secret});
$node->restart;
is(in_use($node, $use_good), 3, 'after a restart the file may hold another one');

# For one database, by a superuser; others see no more of it than that
$node->safe_psql('postgres', "CREATE DATABASE other; CREATE ROLE ordinary LOGIN; CREATE ROLE monitor LOGIN IN ROLE pg_monitor;
	ALTER DATABASE postgres SET flakeid.secret_file = '$good'");
$node->safe_psql('other', 'CREATE EXTENSION flakeid');
is(in_use($node, ''), 3, 'ALTER DATABASE sets it');
is(in_use($node, '', 'other'), $none =~ s{DATABASE postgres}{DATABASE other}r, 'for that database');

# A dump says that there was a secret, and sealed ids may be the first to say which
my $used = "55000: no secret is configured\ndetail: Sealed and enciphered ids need a secret of 16 bytes.\n"
  . 'hint: Set flakeid.secret_file to the file of the secret that ids were made with here: by ALTER ROLE, or in the server\'s configuration, where databases come and go.';
$node->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', "$dir/dump.sql" ], 'pg_dump');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'restored', '-f', "$dir/dump.sql" ], 'restored');
is(in_use($node, '', 'restored'), $used, 'a restored database asks for the old secret');
my $seal = "$use_good SELECT flake_next()::flake_sealed::text";
is(refusal($node, $seal, database => $_), '', "$_: ids are sealed with the secret that was enciphered with before") for 'postgres', 'restored';
is($node->safe_psql('restored', 'SELECT keys_0 > 2 FROM flakeid.state'), 't', 'and which one it was is known');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'restored', '-c', "INSERT INTO flakeid.restored VALUES ('fingerprint of key 0', 2)" ], 'a dump of before');
is($node->safe_psql('restored', 'SELECT keys_0 > 2 FROM flakeid.state'), 't', 'forgets nothing');
$node->safe_psql('restored', 'SELECT flakeid.accept_secret()');
is(in_use($node, '', 'restored'), $used, 'nor that there was one, when another one is accepted');
is(refusal($node, "SET flakeid.secret_file = '$dir/bare'; SELECT flake_next()::flake_sealed::text", database => 'restored'), '', 'which then seals');
is(refusal($node, "SELECT flake_next('randflake')", user => 'ordinary'), '', 'an ordinary role generates with it');
is(refusal($node, "SET flakeid.secret_file = ''; SELECT flake_next('randflake')", user => 'ordinary'), '', 'and cannot take it away');

# What is wrong with the file is told to everyone, where it lies to those who may see settings.
chmod 0640, $good;
my $told = "F0000: the secret file has group or world access\nhint: The administrator finds the file in the server's log.";
my $logged = -s $node->logfile;
is(refusal($node, "SELECT flake_next('randflake')", user => 'ordinary'), $told, 'an ordinary role is not told the path');
is(refusal($node, "SET ROLE ordinary; SELECT flake_next('randflake')"), $told, 'nor a superuser who has become one');
$node->safe_psql('postgres', "CREATE FUNCTION as_definer() RETURNS flake LANGUAGE plpgsql SECURITY DEFINER AS
	\$\$ BEGIN RETURN flake_next('randflake'); END \$\$");
is(refusal($node, 'SELECT as_definer()', user => 'ordinary'), $told, 'nor through a function of a superuser');
like(slurp_file($node->logfile, $logged), qr/DETAIL:  The file is "\Q$good\E"/, 'the log says it');
like(refusal($node, "SELECT flake_next('randflake')", user => 'monitor'), qr/detail: The file is "\Q$good\E"/, 'and a monitor is');
chmod 0600, $good;

# flakeid.secret without preloading: an error that names secret_file, since anybody can see it
my $not_preloaded = "F0000: flakeid.secret needs flakeid in shared_preload_libraries\n"
  . "detail: Without it every role can see the secret with SHOW.\n"
  . "hint: Take the secret out of the configuration and set flakeid.secret_file, which needs no preloading, "
  . "or add flakeid to shared_preload_libraries and restart the server.";
$node->append_conf('postgresql.conf', "flakeid.secret = '$known[2]{secret}'");
$node->reload;
$node->poll_query_until('other', "SELECT current_setting('flakeid.secret', true) <> ''");
is($node->safe_psql('other', 'SHOW flakeid.secret', extra_params => [ '-U', 'ordinary' ]), $known[2]{secret}, 'a placeholder is shown to anybody');
is(in_use($node, '', 'other'), $not_preloaded, 'flakeid.secret without preloading is an error');
is(refusal($node, "SELECT flake_next('randflake')", database => 'other', user => 'ordinary'), $not_preloaded, 'for everyone');
is(refusal($node, "LOAD 'flakeid'; SELECT flake_next(), flake_node(5)", database => 'other'), '', 'plain layouts go on');
is($node->safe_psql('other', q{SELECT value FROM flakeid.status WHERE name = 'secret'}), 'not honoured: flakeid is not preloaded', 'flakeid.status says so');
is($node->safe_psql('other', "LOAD 'flakeid'; SHOW flakeid.secret"), '********', 'once the library is loaded it is hidden');
like(in_use($node, ''), qr/^F0000: flakeid.secret and flakeid.secret_file are both set\nhint: .*secret_file/, 'both set is an error');
for my $way ("SET flakeid.secret = '$known[2]{secret}'", "ALTER DATABASE other SET flakeid.secret = '$known[2]{secret}'")
{
	like(refusal($node, "LOAD 'flakeid'; $way"), qr/^55P02/, 'it stands in the configuration file only');
}
is(count_in_log($node, "parameter \"flakeid.secret_file\" changed"), 0, 'nothing of the file was logged');
$node->stop;

#
# flakeid.secret, preloaded; everything is logged that can be
#
my $two = PostgreSQL::Test::Cluster->new('preloaded');
$two->init;
$two->append_conf('postgresql.conf', "$_\n")
  for "shared_preload_libraries = 'flakeid'", "flakeid.secret = '$known[0]{secret}'", 'log_statement = all', 'log_min_messages = debug1',
  'log_min_error_statement = debug5', 'debug_print_plan = on', 'log_connections = on', 'max_worker_processes = 16', 'log_parameter_max_length_on_error = -1';
$two->start;
$two->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE ROLE ordinary LOGIN; CREATE ROLE monitor LOGIN IN ROLE pg_monitor');
is(in_use($two, ''), 0, 'preloaded: flakeid.secret is used');
is($two->safe_psql('postgres', q{SELECT value FROM flakeid.status WHERE name = 'secret'}), 'from flakeid.secret', 'flakeid.status says so');

# Nobody is shown it.
my @questions = ('SHOW flakeid.secret', q{SELECT current_setting('flakeid.secret')}, q{SELECT current_setting('flakeid.secret', true)},
	'SHOW ALL', 'SELECT * FROM pg_settings', 'SELECT * FROM flakeid.status', 'SELECT pg_show_all_settings()', q{SELECT set_config('work_mem', current_setting('flakeid.secret', true), false)},
	q{DO $$ BEGIN RAISE NOTICE '%', current_setting('flakeid.secret'); END $$}, q{SELECT flake_encrypt(5, current_setting('flakeid.secret')::bytea)}, 'RESET flakeid.secret', 'DISCARD ALL');
for my $user ($two->safe_psql('postgres', 'SELECT current_user'), 'monitor', 'ordinary')
{
	my $shown = '';
	for my $question (@questions)
	{
		my ($result, $out, $err) = $two->psql('postgres', $question, on_error_stop => 0, extra_params => [ '-U', $user, '-v', 'VERBOSITY=verbose' ]);
		$shown .= $out . $err;
	}
	unlike($shown, qr/\Q$known[0]{secret}\E/i, "$user is not shown it");
	like($shown, $user eq 'ordinary' ? qr/42501/ : qr/\*{8}/, $user eq 'ordinary' ? 'but refused' : 'but asterisks');
}
like(refusal($two, 'SELECT * FROM pg_file_settings', user => 'ordinary'), qr/^42501/, 'the view of the configuration file is not for ordinary roles');
command_like([ 'pg_dumpall', '-d', $two->connstr('postgres') ], qr/CREATE EXTENSION IF NOT EXISTS flakeid/, 'pg_dumpall runs');
my ($dump) = run_command([ 'pg_dumpall', '-d', $two->connstr('postgres') ]);
unlike($dump, qr/\Q$known[0]{secret}\E/i, 'and holds nothing of it');
like(refusal($two, 'SELECT flake_encrypt(5)', user => 'ordinary'), qr/^42501: permission denied for function flake_encrypt/, 'the cipher is not for everyone');

# Workers have the same key: the leader's.
my $force = parallel_setting($two);
is(in_use($two, "SET $force = on;"), 0, 'a parallel worker has the same key');
like($two->safe_psql('postgres', "SET $force = on; EXPLAIN SELECT flake_encrypt(5)"), qr/Gather/, 'it was a worker');
$two->safe_psql('postgres', "CREATE TABLE words AS SELECT n, flake_encrypt(n) AS id FROM generate_series(1, 20000) AS n");
my $parallel = q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;};
is($two->safe_psql('postgres', "$parallel SELECT count(*) FROM words WHERE flake_encrypt(n) = id AND flake_decrypt(id) = n"), '20000',
	'workers encipher and decipher as the leader does');
like($two->safe_psql('postgres', "$parallel EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(*) FROM words WHERE flake_encrypt(n) = id"),
	qr/Workers Launched: [1-9]/, 'in parallel');

# A reload with another secret reaches running sessions, new ones, and their workers.
sub set_secret
{
	my ($value) = @_;
	$two->adjust_conf('postgresql.conf', 'flakeid.secret', undef);
	$two->append_conf('postgresql.conf', "flakeid.secret = '$value'") if defined $value;
}

sub reload
{
	set_secret(@_);
	my $offset = -s $two->logfile;
	$two->reload;
	$two->wait_for_log(qr/received SIGHUP/, $offset);
	return $offset;
}
$session = $two->background_psql('postgres', on_error_stop => 0);
is($session->query("SELECT flake_encrypt($known[0]{raw})"), $known[0]{id}, 'a running session uses the secret');
reload($known[1]{secret});
is($two->poll_query_until('postgres', "SELECT flake_encrypt($known[1]{raw}) = $known[1]{id}"), 1, 'reload: new sessions use the new one');
sub session_has
{
	my ($known) = @_;
	for (1 .. 3600)
	{
		return 1 if $session->query("SELECT flake_encrypt($known->{raw})") eq $known->{id};
		$session->query('SELECT pg_sleep(0.05)');
	}
	return 0;
}
ok(session_has($known[1]), 'a running session does');
is($session->query("SELECT flake_node(flake_next('randflake'), 'randflake')"), 0, 'and makes ids with it that it can read');
is($session->query("SET $force = on; SELECT flake_encrypt($known[1]{raw})"), $known[1]{id}, 'and so does its worker');
is(in_use($two, "SET $force = on;"), 1, 'and the worker of a new one');
$session->query("RESET $force");

# A bad one in a reload is refused and logged with a hint. The good one stays, as for every setting.
for my $bad ('fifteen letters', 'g' . substr($known[2]{secret}, 1), "$known[2]{secret}00", substr($known[2]{secret}, 2))
{
	my $offset = reload($bad);
	$two->wait_for_log(qr/invalid value for parameter "flakeid.secret"/, $offset);
	like(slurp_file($two->logfile, $offset), qr/DETAIL: .*secret has.*\n.*HINT: .*32 hexadecimal digits, or exactly 16 characters/,
		'a bad secret in a reload is logged with a hint');
	is(count_in_log($two, $bad), 0, 'and not shown');
	is(in_use($two, ''), 1, 'the one in use stays');
}
# Taken away it is gone: no session goes on with it.
reload(undef);
is($two->poll_query_until('postgres', q{SELECT value = 'none' FROM flakeid.status WHERE name = 'secret'}), 1, 'taken out of the file');
is(in_use($two, ''), $used, 'there is none');
$session->query("SELECT pg_sleep(0.05)") until $session->query(q{SELECT value FROM flakeid.status WHERE name = 'secret'}) eq 'none';
is($session->query("SELECT flake_encrypt($known[1]{raw})"), '', 'for a running session neither');
reload($characters);
$two->poll_query_until('postgres', q{SELECT value <> 'none' FROM flakeid.status WHERE name = 'secret'});
is($two->safe_psql('postgres', 'SELECT flake_encrypt(5)'), $of_characters, '16 characters');

# Both set
write_file($two->basedir . '/file', $known[2]{secret});
$two->safe_psql('postgres', "ALTER DATABASE postgres SET flakeid.secret_file = '" . $two->basedir . "/file'");
my $both = "F0000: flakeid.secret and flakeid.secret_file are both set\nhint: Remove one of them; flakeid.secret_file is the recommended way.";
is(in_use($two, ''), $both, 'both set is an error');
is(refusal($two, "SELECT flake_next('randflake')"), $both, 'for flake_next too');
is(refusal($two, 'SELECT flake_next()'), '', 'plain layouts go on');
reload(undef);
is($two->poll_query_until('postgres', q{SELECT value = 'from flakeid.secret_file' FROM flakeid.status WHERE name = 'secret'}), 1, 'when one is removed');
is(in_use($two, ''), 2, 'the other is used');
$two->safe_psql('postgres', 'ALTER DATABASE postgres RESET flakeid.secret_file');
$session->quit;

# Nothing of any of them in the log, that holds every statement and every change of a setting.
set_secret($known[3]{secret});
$two->append_conf('postgresql.conf', "work_mem = '5MB'");
$two->restart;
is(in_use($two, ''), 3, 'the secret of the start');
my $offset = -s $two->logfile;
set_secret($known[0]{secret});
$two->append_conf('postgresql.conf', "work_mem = '6MB'");
$two->reload;
$two->wait_for_log(qr/parameter "work_mem" changed to "6MB"/, $offset);
my $all = slurp_file($two->logfile);
is(count_in_log($two, $_), 0, 'the log shows no secret') for (map { $_->{secret} } @known), $characters;
is(scalar(() = $all =~ /[0-9a-f]{32}/gi), 0, 'nor anything that looks like one');

# A start with a bad one: there is none, and the log says why.
set_secret('fifteen letters');
$offset = -s $two->logfile;
$two->restart;
is(in_use($two, ''), $used, 'started with a bad secret there is none');
like(slurp_file($two->logfile, $offset), qr/invalid value for parameter "flakeid.secret"/, 'the log says why');
is(count_in_log($two, 'fifteen letters'), 0, 'without showing it');
$two->stop;

# What was made of a secret does not outlive it in a session's memory.
my $three = server('three');
my $file = $three->basedir . '/secret';
write_file($file, $known[0]{secret});
$session = $three->background_psql('postgres');
my $backend = $session->query_safe('SELECT pg_backend_pid()');
my $words = pack('S6', map { hex } $known[0]{secret} =~ /(.{4})/g);  # that the expanded secret begins with
sub in_memory
{
	my $found = 0;
	open(my $maps, '<', "/proc/$backend/maps") or die $!;
	open(my $memory, '<:raw', "/proc/$backend/mem") or return 'not readable';
	while (<$maps>)
	{
		my ($from, $to) = map { hex } /^([0-9a-f]+)-([0-9a-f]+) rw\S* \S+ \S+ (?!.*(?:zero|shm\/PostgreSQL))/ or next;
		sysseek($memory, $from, 0) && sysread($memory, my $bytes, $to - $from) or next;
		$found += () = $bytes =~ /\Q$words\E/g;
	}
	return $found;
}
SKIP:
{
	skip 'the memory of another process is not readable here', 3 if in_memory() eq 'not readable';
	$session->query_safe("SET flakeid.secret_file = '$file'");
	is($session->query_safe("SELECT flake_encrypt($known[0]{raw})"), $known[0]{id}, 'a secret in use');
	is(in_memory(), 1, 'is in memory, expanded, once');
	$session->query_safe("SET flakeid.secret_file = ''");
	is(in_memory(), 0, 'and nowhere once it is replaced');
}
$session->quit;
$three->stop;

done_testing();
