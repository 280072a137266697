# Who may set what, before and after the library is loaded; and all SQL tests on a server that
# preloads it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

for my $preload (0, 1)
{
	my $with = $preload ? 'preloaded' : 'not preloaded';
	my $node = server("preload_$preload", "flakeid.node = 7", $preload ? "shared_preload_libraries = 'flakeid'" : ());
	$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN; CREATE ROLE trusted LOGIN;
		GRANT SET ON PARAMETER flakeid.node TO trusted; ALTER ROLE ordinary SET flakeid.layout = \'twitter\'');
	my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
	my $drawn = sub {
		my ($user, $options, $before) = @_;
		local $ENV{PGOPTIONS} = $options;
		# not through standard input, which psql leaves unread when the connection is refused
		my ($out, $err) = run_command([
			'psql', '-XAtq', '-d', $node->connstr('postgres') . " user=$user", '-c', $before // '', '-c',
			q{SELECT flake_node(id), layout_text LIKE '%datacenter%' FROM (SELECT flake_next() AS id) AS s, flake_inspect(id)} ]);
		return $out ne '' ? $out : $err;
	};
	is($drawn->('ordinary', ''), '7|t', "$with: what the administrator set counts");

	# An option of the connection takes the place of the administrator's value while the library is
	# not loaded, and falls when it is: then there would be the default.
	for my $option ('node=9', 'node=0', 'node=', 'layout=snowflake', 'max_leap=0', 'cache=5', 'when_ahead=error', 'secret_file=/x', 'Node=9')
	{
		my ($name) = $option =~ /^(\w+)/;
		like($drawn->('ordinary', "-c flakeid.$option"), qr/(ERROR|FATAL):  permission denied to set parameter "flakeid.$name"/i,
			"$with: an ordinary role has no option flakeid.$option");
	}
	my $twice = $drawn->('ordinary', '-c flakeid.node=9', 'SELECT flake_next(); SELECT flake_next()');
	unlike($twice, qr/redefine/, "$with: it is told so again");
	is($drawn->($superuser, '-c flakeid.node=9'), '9|f', "$with: a superuser has");
	is($drawn->('trusted', '-c flakeid.node=9'), '9|f', "$with: and so has a role that was granted SET");
	like($drawn->('trusted', '-c flakeid.layout=tsid'), qr/permission denied/, "$with: on that parameter");
	like($drawn->('ordinary', '-c flakeid.secret=0123456789abcdef'), $preload ? qr/FATAL/ : qr/cannot be set by an option of the connection/, "$with: a secret is none of an option");

	# SET in the session, which leaves the administrator's value below it
	for my $set (q{SET flakeid.node = 9}, q{SELECT set_config('flakeid.node', '9', false)},
		q{SET flakeid.node = 9; RESET flakeid.node}, q{SET flakeid.node = 9; SET flakeid.node TO DEFAULT}, q{SET flakeid.layout = 'tsid'},
		q{SET flakeid.node = 9; DISCARD ALL})
	{
		like($drawn->('ordinary', '', $set), qr/(^|\n)7\|t$/, "$with: an ordinary role gets nowhere with $set");
	}
	is($drawn->($superuser, '', 'SET flakeid.node = 9'), '9|f', "$with: a superuser sets it");
	is($drawn->('trusted', '', 'SET flakeid.node = 9'), '9|f', "$with: and a role that was granted SET");
	my ($result, $out, $err) = $node->psql('postgres', 'SET flakeid.nonsense = 1; SELECT flake_next() > 0; SHOW flakeid.nonsense', on_error_stop => 0);
	like($err, qr/invalid configuration parameter name "flakeid.nonsense"/, "$with: the prefix is reserved");

	# A configuration file with a bad value: refused, with the reason, and not in effect
	my $offset = -s $node->logfile;
	$node->append_conf('postgresql.conf', "flakeid.layout = 'sequence:12'");
	$node->reload;
	if ($preload)
	{
		$node->wait_for_log(qr/invalid layout "sequence:12"\n.*DETAIL: .*time is missing/, $offset);
		pass("$with: a bad layout in the file is logged");
		is($drawn->($superuser, ''), '7|f', "$with: and the one in effect stays");
	}
	else
	{
		$node->poll_query_until('postgres', q{SELECT current_setting('flakeid.layout', true) = 'sequence:12'});
		my ($result, $out, $err) = $node->psql('postgres', 'SELECT flake_node(flake_next())', on_error_stop => 0);
		like($err, qr/WARNING:  invalid layout "sequence:12"\nDETAIL:  The field time is missing/, "$with: a bad layout in the file is a warning");
		like($err, qr/ERROR:  the value that parameter "flakeid.layout" was set to is not valid/, "$with: and no other layout takes its place");
		$node->adjust_conf('postgresql.conf', 'flakeid.layout', undef);
		$node->reload;
		$node->safe_psql('postgres', q{CREATE DATABASE typo; ALTER DATABASE typo SET flakeid.node = '1O'});
		$node->safe_psql('typo', 'SET flakeid.node = 10; CREATE EXTENSION flakeid');
		my ($wrong, $wrong_out, $wrong_err) = $node->psql('typo', 'SELECT flake_node(flake_next())', on_error_stop => 0);
		like("$wrong_out$wrong_err", qr/ERROR:  the value that parameter "flakeid.node" was set to is not valid/, "$with: a mistyped node does not become node 0");
		is($node->safe_psql('typo', 'SET flakeid.node = 10; SELECT flake_node(flake_next())'), '10', "$with: until it is set right");
		like(refusal($node, 'SET flakeid.node = 10; RESET flakeid.node; SELECT flake_node(flake_next())', database => 'typo'),
			qr/parameter "flakeid.node" was set to is not valid/, "$with: and no longer than that");
	}
	if ($preload)
	{
		# ALTER SYSTEM needs no session that has loaded the library.
		$node->adjust_conf('postgresql.conf', 'flakeid.layout', undef);
		$node->safe_psql('postgres', 'ALTER SYSTEM SET flakeid.node = 11');
		$node->reload;
		is($node->poll_query_until('postgres', 'SELECT flake_node(flake_next()) = 11'), 1, "$with: ALTER SYSTEM");
		$node->safe_psql('postgres', 'ALTER SYSTEM RESET flakeid.node; DROP EXTENSION flakeid');
		$node->adjust_conf('postgresql.conf', 'flakeid.node', undef);
		$node->restart;

	}
	$node->stop;
}

# A server that preloads the library, sorts and capitalizes as Turkish does, and has other settings than
# the default ones: no test of SQL depends on where it runs.
my $node = PostgreSQL::Test::Cluster->new('elsewhere');
my $configured = `pg_config --configure`;
my @locale = ('--encoding=UTF8', grep { $_ eq 'tr_TR.utf8' } split /\n/, `locale -a`);
$locale[1] = "--locale=$locale[1]" if @locale > 1;
push @locale, '--locale-provider=icu', '--icu-locale=tr'
  if $configured =~ /with-icu/ || ($node->pg_version >= 16 && $configured !~ /without-icu/);
$node->init(extra => \@locale);
$node->append_conf('postgresql.conf', "$_\n")
  for "shared_preload_libraries = 'flakeid'", "flakeid.node = '9'", "flakeid.layout = 'tsid'", "flakeid.cache = 10",
  "flakeid.max_ahead = '20s'", "flakeid.max_leap = '2d'", "flakeid.when_ahead = 'error'";
$node->start;
my ($tests) = slurp_file(source_dir() . '/Makefile') =~ /^REGRESS = ((?:.*\\\n)*.*)$/m;
my $dir = PostgreSQL::Test::Utils::tempdir();
chdir $dir or die $!;
my $passed = run_log([ $ENV{PG_REGRESS}, '--bindir=', '--host', $node->host, '--port', $node->port,
	'--inputdir', source_dir(), '--outputdir', $dir, '--dbname', 'contrib_regression', grep { $_ ne '\\' } split ' ', $tests ]);
ok($passed, 'all SQL tests pass elsewhere');
diag slurp_file("$dir/regression.diffs") if !$passed;
chdir source_dir();
$node->stop;

done_testing();
