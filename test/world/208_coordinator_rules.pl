# The coordinator of the simulation is a table in C++ (test/sim/leases). Here it gets the same 10,000
# random calls as the SQL functions, in transactions that overlap: both give the same answers, wait for
# the same transactions, and keep the same rows.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sim = "$FindBin::Bin/../sim";
my $dir = PostgreSQL::Test::Utils::tempdir;
chomp(my ($include, $lib) = map { (run_command([ 'pg_config', $_ ]))[0] } '--includedir', '--libdir');
system('cc', '-O1', '-fPIC', '-shared', '-o', "$dir/frozen_clock.so", "$sim/leases/sql/frozen_clock.c", '-ldl') == 0 or die;
system('g++', '-std=c++17', "-I$FindBin::Bin/../../src", "-I$sim", '-isystem', $include, '-o', "$dir/compare",
	glob("$sim/leases/sql/*.cpp"), glob("$sim/leases/coordinator*.cpp"), map({ "$FindBin::Bin/../../src/leases/rules/$_.cpp" } 'term', 'lease_rules'), "-L$lib", '-lpq') == 0 or die;

# The wall clock of the server is a number in a file, which the program sets: late in 2033.
open my $clock, '>:raw', "$dir/clock" or die $!;
print $clock pack('q', 2_017_000_000 * 1_000_000);
close $clock;
my %frozen = (LD_PRELOAD => "$dir/frozen_clock.so", FROZEN_CLOCK => "$dir/clock");

my $node = PostgreSQL::Test::Cluster->new('coordinator');
$node->init(allows_streaming => 1, extra => ['--no-instructions']);
$node->append_conf('postgresql.conf', "autovacuum = off\ndeadlock_timeout = '10min'\nflakeid.max_leap = 0");
{
	local %ENV = (%ENV, %frozen);
	$node->start;
}
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid; CREATE EXTENSION flakeid_coordinator');

# As it is promoted where it stands, its timeline changes, and nothing else.
my $promote = "touch '@{[ $node->data_dir ]}/standby.signal'; " . join ' && ',
  map { "pg_ctl $_ -w -s -D '@{[ $node->data_dir ]}' -l '@{[ $node->logfile ]}'" } 'restart -m fast', 'promote';
my $seed = $ENV{SEED} // 1;
my ($out, $err);
{
	local %ENV = (%ENV, %frozen);
	IPC::Run::run([ "$dir/compare", $node->connstr('postgres'), "$dir/clock", $seed, 10_000, $promote ],
		'>', \$out, '2>', \$err);
}
is($?, 0, "SEED=$seed: the table in C++ and the SQL functions agree") or diag("$out\n$err");
note $out;
like($out, qr/^10000 calls agree: \d{4} answered, [1-9]\d* waited/m, 'in calls that were answered, and that waited for a question with their own token');
is_deeply([ $out =~ /, (0 ".*?")/g ], [], 'every refusal occurred');
$node->stop;

done_testing();
