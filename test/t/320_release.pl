# packaging/release stops when a version, a date, a tag or META.json is wrong in any place.
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
my @files = qw(flakeid.control flakeid_tables.control flakeid_coordinator.control META.json CHANGELOG.md packaging sql);
run('tar', '-C', $from, '-cf', "$tree/files.tar", @files);
run('tar', '-C', $tree, '-xf', "$tree/files.tar");
unlink "$tree/files.tar";

# What a release has and a tree in work need not have: a date, and all committed.
edit('CHANGELOG.md', qr/^(## \[\Q$version\E\] - ).*$/m, '2026-11-22');
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
	write_file("$tree/$name", $text, 0644);
	return;
}

sub checked { my ($tag) = @_; my $out = `'$tree/packaging/release' --check $tag 2>&1`; return ($?, $out) }

my ($status, $out) = checked("v$version");
is($status, 0, 'a release is one') or diag $out;

($status, $out) = checked('v9.9.9');
isnt($status, 0, 'a tag of another version is refused');
like($out, qr/^WRONG  tag is "v9\.9\.9", not "v\Q$version\E"$/m, 'and named');

for my $case (
	[ 'flakeid.control', qr/^(default_version = ')[\d.]+/m, '9.9.9', qr/version in META.json/ ],
	[ 'META.json', qr/^(\s+"version": ")\Q$version\E/m, '9.9.9', qr/version in META.json/ ],
	[ 'META.json', qr/("docfile".*\s+"version": ")\Q$version\E/, '9.9.9', qr/what META.json provides/ ],
	[ 'META.json', qr/("license": ")postgresql/, 'ours', qr/PGXN's specification/ ],
	[ 'packaging/debian/changelog', qr/^(flakeid \()\Q$version\E/, '9.9.9', qr/Debian package/ ],
	[ 'CHANGELOG.md', qr/^(## \[)\Q$version\E/m, '9.9.9', qr/newest entry of CHANGELOG.md/ ],
	[ 'CHANGELOG.md', qr/^(## \[\Q$version\E\] - ).*$/m, 'unreleased', qr/its date/ ],
	[ 'CHANGELOG.md', qr/^(## \[\Q$version\E\] - ).*$/m, '2026-13-01', qr/its date/ ],
	[ 'sql/type.sql', qr/^()/, "--\n", qr/not committed/ ])
{
	my ($name, $what, $with, $named) = @$case;
	edit($name, $what, $with);
	($status, $out) = checked("v$version");
	isnt($status, 0, "$name with $with is refused");
	like($out, qr/^WRONG  .*$named/m, 'and named');
	run(@git, 'checkout', '-q', '.');
}
run(@git, 'tag', 'v0.0.1');
($status, $out) = checked("v$version");
isnt($status, 0, 'a missing script of a released version is refused');
like($out, qr/^WRONG  script of v0\.0\.1/m, 'and named');

done_testing();
