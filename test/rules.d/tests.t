# What the tests leave out: functions, settings and counters that no SQL or TAP test names, and torture
# scenarios that nobody runs or nobody reads of.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use POSIX ();
use Test::More;
use Tree;

BEGIN { chdir "$FindBin::Bin/../.." or die $! }

my ($people) = made(version());
my $sources = join '', map { text($_) } sources();
my @settings = map { "flakeid.$_" } $sources =~ /DefineCustom\w+Variable\(\s*"flakeid\.(\w+)"/g;
my ($counters) = text('doc/reference/views.md') =~ /^<!-- begin columns flakeid\.stats -->\n(.*?)^<!-- end/ms;
my $tests = join '', map { text($_) } (grep { !/--/ } glob 'sql/*.sql'), glob('test/t/*.pl test/world/*.pl test/torture/lib/Torture/Scenario/*.pm');
none('each function, view and setting is tested', grep { $tests !~ /\b\Q$_\E\b/ } keys %$people, @settings);
none('each counter is tested', grep { $tests !~ /\b$_\b/ } $counters =~ /^- `(\w+) /mg);

# A scenario is a sub that a file of Scenario/ exports. make check runs it briefly; what it says of its
# rows stands in the table that torture/run prints. One that returns none has nothing to run there.
my $briefly = join '', map { text($_) } glob 'test/torture/t/*.pl';
my $table = text('doc/dev/torture.md');
my (%scenario, @printed);
for my $file (glob 'test/torture/lib/Torture/Scenario/*.pm')
{
	my $text = text($file);
	my @exported = map { split } $text =~ /^our \@EXPORT = qw\((.*)\);/m;
	$scenario{$_} = 1 for @exported;
	push @printed, grep { $text =~ /^sub $_\n\{(?:(?!^\}).)*?^\treturn (?!;)/ms } @exported;
	my @rows = map { s/', .*//r } grep { !/, ''/ } $text =~ /\b(?:row\(|scenario => )'(.*)$/gm;
	none("doc/dev/torture.md has the rows of $file", grep { $table !~ /^\| \Q$_\E \|/m } map { /^([^']+)/ } @rows);
}
cmp_ok(scalar(keys %scenario), '>', 10, 'scenarios were found');
none('make check runs each scenario', grep { $briefly !~ /\b$_\b/ } keys %scenario);
same('scenarios that test/torture/run runs', \@printed, [ text('test/torture/run') =~ /^\t\[ (\w+) => /gm ]);

# make check runs few of the tests: the others compile.
sub compiled
{
	my ($file) = @_;
	$0 = $file;
	FindBin::again();
	open STDERR, '>', '/dev/null' or die $!;
	my $code = text($file) =~ s/^__(?:END|DATA)__$.*//msr;
	return eval "package Compiled; no strict; return 1;\n#line 1 \"$file\"\n$code" ? q() : "$file: $@";
}
# A process that has the modules already, which cost more than the rest, compiles each in a child. It begins
# before this file runs, when the modules may still have INIT blocks.
my $errors;
BEGIN
{
	chomp(my $harness = `dirname "\$(pg_config --pgxs)"`);
	my $compiler = open($errors, '-|') // die $!;
	if (!$compiler)
	{
		unshift @INC, "$harness/../test/perl";
		open STDERR, '>', '/dev/null' or die $!;
		require PostgreSQL::Test::Cluster;
		for my $file (glob 'test/t/*.pl test/world/*.pl test/torture/t/*.pl')
		{
			my $pid = fork // die $!;
			if (!$pid) { syswrite STDOUT, compiled($file); POSIX::_exit(0) }
			waitpid $pid, 0;
			syswrite STDOUT, "$file\n" if $?;
		}
		POSIX::_exit(0);
	}
}
none('each test in Perl compiles', <$errors>);
close $errors;
is($?, 0, 'and all were tried');

# A feature of the simulation that nothing asks for changes nothing; what asks for one that is not there never happens.
my $simulation = join '', map { text($_) } glob 'test/sim/*.cpp test/sim/checkers/*.cpp';
my %feature = map { $_ => 1 } $simulation =~ /^    \{'(\w)', "/mg;
cmp_ok(scalar(keys %feature), '>', 20, 'the simulation has features');
none('each feature is asked for', grep { $simulation !~ /^(?!    \{'$_').*'$_'/m } keys %feature);
my @steps = text('test/sim/world.cpp') =~ /^    \{"[^"]+", '(\w)', \d+, step_/mg;
cmp_ok(scalar(@steps), '>', 5, 'steps were found');
none('each feature that is a kind of step is reached', grep { $simulation !~ /\bReached \w+\('$_'/ } @steps);
none('no other is', grep { !$feature{$_} } $simulation =~ /(?:\bhas\(|\bReached \w+\(|^    \{"[^"]+", )'(\w)'[,)]/mg);

# Markers of faults that change nothing stand at lines where there is such a fault.
my @faults = `test/sim/mutants --list 2>&1`;
like($faults[-1], qr/^\d+ mutants$/, 'markers of the sources fit what test/sim/mutants breaks') or diag @faults;

# Nothing but a call tells a checker of anything.
my %checker = map { $_ => 0 } map { /\b(\w+)\([^()]*\);/g } text('test/sim/checkers.hpp') =~ s{//.*}{}gr;
cmp_ok(scalar(keys %checker), '>', 30, 'checkers were found');
for my $text (map { text($_) } glob 'test/sim/*.cpp test/sim/*/*.cpp')
{
	$checker{$_}++ for grep { $text =~ /\b$_\b/ } keys %checker;
}
none('each is told by another file', grep { $checker{$_} < 2 } keys %checker);

done_testing();
