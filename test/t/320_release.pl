# packaging/release stops when a version, a date, a tag, META.json or a script of what was released is wrong in any place. The cases are
# made for each extension that the tree has.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'git is not installed' if system('git --version >/dev/null 2>&1');

my $tree = PostgreSQL::Test::Utils::tempdir();
my $from = source_dir();
my ($version) = slurp_file("$from/flakeid.control") =~ /^default_version = '(.*)'$/m;
my @extensions = map { m{([^/]+)\.control$} } glob "$from/*.control";
my @files = (map({ "$_.control" } @extensions), qw(Makefile META.json CHANGELOG.md packaging sql src/core/presets.hpp));
run('tar', '-C', $from, '-cf', "$tree/files.tar", @files);
run('tar', '-C', $tree, '-xf', "$tree/files.tar");
unlink "$tree/files.tar";
write_file("$tree/.gitignore", "/sql/flakeid*--*.sql\n", 0644);

# What a release has and a tree in work need not have: a date, that of the Debian package, and all committed.
my ($day) = slurp_file("$tree/packaging/debian/changelog") =~ /^ -- .*>  (.*)$/m;
chomp(my $packaged = `date -ud '$day' +%F`);
edit('CHANGELOG.md', qr/^(## \[\Q$version\E\] - ).*$/m, $packaged);
my @git = ('git', '-C', $tree, '-c', 'user.name=test', '-c', 'user.email=test@localhost');
run(@git, 'init', '-q');
run(@git, 'add', '.');
run(@git, 'commit', '-q', '-m', 'A release');

sub run { PostgreSQL::Test::Utils::system_log(@_) == 0 or die "@_ failed"; return }

sub edit
{
	my ($name, $what, $with) = @_;
	my $text = slurp_file("$tree/$name");
	$text =~ s/$what/($1 \/\/ '') . $with/e or die "$name has nothing like $what";
	write_file("$tree/$name", $text, (stat "$tree/$name")[2] & 0777);
	return;
}

sub checked { my ($tag) = @_; my $out = `'$tree/packaging/release' --check $tag 2>&1`; return ($?, $out) }

sub refused
{
	my ($what, @named) = @_;
	my ($status, $out) = checked("v$version");
	isnt($status, 0, "$what is refused");
	like($out, qr/^WRONG  .*$_/m, 'and named') for @named;
	return;
}

my ($status, $out) = checked("v$version");
is($status, 0, 'a release is one') or diag $out;
my ($entry) = slurp_file("$tree/CHANGELOG.md") =~ /^## \[\Q$version\E\].*?\n(.*?)(?=^## |\z)/ms;
is(slurp_file("$tree/build/TAG"), "flakeid $version\n$entry", 'the message of its tag is its entry in CHANGELOG.md');

($status, $out) = checked('v9.9.9');
isnt($status, 0, 'a tag of another version is refused');
like($out, qr/^WRONG  tag is "v9\.9\.9", not "v\Q$version\E"$/m, 'and named');

# Each place repeats the version of flakeid.control: with another one in that place, in the working tree. What is said of every extension
# is broken for all of them at once, and each must be named.
sub each_extension { my ($case) = @_; return [ map { $case->($_) } @extensions ] }
for my $case (
	[ [ 'flakeid.control', qr/^(default_version = ')[\d.]+/m, '9.9.9', qr/version in META.json/ ] ],
	[ grep { $$_[0] ne 'flakeid.control' } @{ each_extension(sub { [ "$_[0].control", qr/^(default_version = ')[\d.]+/m, '9.9.9', qr/version in $_[0]\.control/ ] }) } ],
	each_extension(sub { [ 'META.json', qr/("$_[0]": \{[^}]*"version": ")\Q$version\E/, '9.9.9', qr/version of $_[0] in META\.json/ ] }),
	each_extension(sub { [ 'META.json', qr/("file": ")$_[0]\.control/, 'other.control', qr/file of $_[0] in META\.json/ ] }),
	each_extension(sub { [ 'Makefile', qr/^(EXTENSION = .*?)(?<=\s)$_[0](?=\s)/m, 'other', qr/script of $_[0] / ] }),
	(map { [$_] } @{ each_extension(sub { [ 'META.json', qr/^(\s+")$_[0]": \{/m, 'other": {', qr/what META\.json provides/ ] }) }),
	[ [ 'META.json', qr/^(\s+"version": ")\Q$version\E/m, '9.9.9', qr/version in META.json/ ] ],
	[ [ 'META.json', qr/("release_status": ")stable/, 'testing', qr/state of the release in META.json/ ] ],
	[ [ 'META.json', qr/("license": ")postgresql/, 'ours', qr/PGXN's specification/ ] ],
	[ [ 'Makefile', qr/(-DFLAKEID_VERSION='")\$\(EXTVERSION\)/, '9.9.9', qr/version of the libraries/ ] ],
	[
		[ 'packaging/plain/build', qr/(\A.*?)(?=^my \$head)/ms, "\$version = '9.9.9';\n", qr/version of flakeid_plain\.sql/ ],
		map { [ undef, undef, undef, qr/version of flakeid_plain$_\.sql/ ] } qw(_tables .pg_tle)
	],
	[ [ 'packaging/debian/changelog', qr/^(flakeid \()\Q$version\E/, '9.9.9', qr/version of the Debian package/ ] ],
	[ [ 'packaging/debian/changelog', qr/^( -- .*>  ).*$/m, 'Thu, 01 Jan 2026 00:00:00 +0000', qr/date of the Debian package/ ] ],
	[ [ 'CHANGELOG.md', qr/^(## \[)\Q$version\E/m, '9.9.9', qr/newest entry of CHANGELOG.md/ ] ],
	[ [ 'CHANGELOG.md', qr/^(## \[\Q$version\E\] - ).*$/m, 'unreleased', qr/its date/ ] ],
	[ [ 'CHANGELOG.md', qr/^(## \[\Q$version\E\] - ).*$/m, '2026-13-01', qr/its date/ ] ],
	[ [ 'sql/type.sql', qr/^()/, "--\n", qr/not committed/ ] ])
{
	edit(@$_[ 0 .. 2 ]) for grep { defined $$_[0] } @$case;
	refused("$$case[0][0] with $$case[0][2]", map { $$_[3] } @$case);
	run(@git, 'checkout', '-q', '.');
	run(@git, 'clean', '-qfdx');
}
write_file("$tree/flakeid_more.control", "default_version = '$version'\n", 0644);
refused('an extension that META.json does not provide', qr/what META\.json provides/, qr/version of flakeid_more in META\.json/, qr/script of flakeid_more /);
unlink "$tree/flakeid_more.control";

# After a release: its scripts as they were built then, and a way from each to this version.
edit("$_.control", qr/^(default_version = ')[\d.]+/m, '0.0.1') for @extensions;
run(@git, 'commit', '-qam', 'An older release');
run(@git, 'tag', 'v0.0.1');
run('make', '-s', '-C', $tree, 'PG_CONFIG=true', 'PGXS=/dev/null', map { "sql/$_--0.0.1.sql" } @extensions);
run(@git, 'checkout', '-q', 'HEAD~1', '--', map { "$_.control" } @extensions);
for my $extension (@extensions)
{
	write_file("$tree/sql/$extension--0.0.1--0.0.2.sql", '', 0644);
	write_file("$tree/sql/$extension--0.0.2--$version.sql", '', 0644);
}
run(@git, 'add', '-f', map { ("sql/$_--0.0.1.sql", "sql/$_--0.0.1--0.0.2.sql", "sql/$_--0.0.2--$version.sql") } @extensions);
run(@git, 'commit', '-qam', 'The next release');
($status, $out) = checked("v$version");
is($status, 0, 'a release after another is one') or diag $out;
for my $case (
	[ 'no script', sub { run(@git, 'rm', '-q', "sql/$_[0]--0.0.1.sql") }, 'script of %s 0\.0\.1 ' ],
	[ 'another script', sub { edit("sql/$_[0]--0.0.1.sql", qr/\z/, "--\n") }, 'script of %s 0\.0\.1 ' ],
	[ 'no way', sub { run(@git, 'rm', '-q', "sql/$_[0]--0.0.2--$version.sql") }, 'update of %s 0\.0\.1 to' ])
{
	my ($what, $break, $named) = @$case;
	$break->($_) for @extensions;
	run(@git, 'commit', '-qam', $what);
	refused("$what of an older release", map { my $pattern = sprintf $named, $_; qr/$pattern/ } @extensions);
	run(@git, 'reset', '-q', '--hard', 'HEAD~1');
}

done_testing();
