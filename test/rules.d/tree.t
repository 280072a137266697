# The tree itself: how long files are, how formatted, what the model checks, what commits are called.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Digest::SHA qw(sha256_hex);
use Test::More;
use Tree;

chdir "$FindBin::Bin/../.." or die $!;

# A long file is a place where nobody finds anything. Collections are not read.
my %most = (src => 600, test => 600);
for my $top (sort keys %most)
{
	my @files = grep { !m{/(?:build|corpus|figures|vectors)/|\.(?:o|d|bc)$} } lines("find $top -type f");
	none("no file of $top/ has more than $most{$top} lines", grep { text($_) =~ tr/\n// > $most{$top} } @files);
}

# The model draws with the step that the server runs, not another one.
my @compiles = lines('make -nB -C test/model build/lease_model');
like("@compiles", qr{/src/core/step\.cpp\b}, 'the model links core/step');
like(join(' ', lines('g++ -std=c++17 -MM test/model/lease_model.cpp')), qr{/src/core/step\.hpp\b}, 'and uses it');

# The server's Max and Min evaluate an argument twice. So the keeper of leases looked at all leases a
# second time for how long to sleep, and what had just ended then was for ever.
none('std::max and std::min, not Max and Min', grep { text($_) =~ /\b(?:Max|Min)\(/ } sources());

# Another host name, machine-id or boot is no copy; but leases end with a boot, because a clone of a disk looks the same.
none('only flakeid.node and leases ask what machine this is', grep { !m{^src/leases/holder/lease_file\.cpp$} && text($_) =~ /disk_place\(/ } grep { !m{/disk\.} } sources());
none('with a function of their own', grep { !m{^src/(?:settings/node|durable/disk)\.cpp$} && text($_) =~ /\bgethostname\(|\buname\(|machine-id|boot_id/ } sources());

# What .editorconfig says of every file, but for what programs wrote.
my @texts = grep { -T && !m{^(?:expected|test/fuzz/corpus)/|^regression\.|\.(?:o|d|bc|so|svg)$} } files('*');
none('lines end in LF, without blanks before it', grep { text($_) =~ /[ \t\r]\n|[^\n]\z/ } @texts);

# Editors indent Perl as it is: whoever adds a script without an ending names it there.
my ($tabbed) = text('.editorconfig') =~ /^\[\{(\*\.pl,.*)\}\]\nindent_style = tab$/m;
$tabbed = join '|', map { s/([{},*])|([^\w{},*]+)/$1 ? { '{' => '(?:', '}' => ')', ',' => '|', '*' => '[^\/]*' }->{$1} : quotemeta $2/ger } $tabbed;
my @perl = grep { /\.(?:pl|pm|t)$/ || text($_) =~ /\A#!.*\bperl\b/ } map { s{^\./}{}r } grep { -T } @texts;
cmp_ok(scalar(@perl), '>', 100, 'there is Perl');
none('.editorconfig knows the indentation of all Perl', grep { !m{(?:^|/)(?:$tabbed)$} } @perl);
none('Perl is indented by tabs', grep { text($_) =~ /\{\n {2,}\S/ } @perl);

# A released script is frozen: databases that were made with it are what updates begin with. sql/released has the sums.
my %sum = -e 'sql/released' ? map { reverse split } split /\n/, text('sql/released') : ();
none('each older version has its scripts', grep { !-e } map { my $of = $_; map { "sql/$_--$of.sql" } extensions() }
	  grep { $_ ne version() } text('CHANGELOG.md') =~ /^## \[(\d\S*)\]/mg);
none('scripts of older versions are as they were released', grep { sha256_hex(text($_)) ne ($sum{$_} // '') }
	  grep { !/--\Q@{[ version() ]}\E\.sql$/ } glob 'sql/flakeid*--*.sql');

# Before a script makes anything, it asks for a library that has it. (That the library has what any script made, test/rules asks.)
none('each script asks for its version first',
	grep { my ($to) = /--([\d.]+)\.sql$/; text($_) !~ /^SELECT flakeid\.require_version\('\Q$to\E'\);$/m } glob 'sql/flakeid*--*.sql');

# Names in capitals stand for something else.
my @missing;
for my $file (grep { -T && !m{/node_modules/|/corpus/} } lines('find src sql test -type f'))
{
	my @comments = grep { m{^\s*(?://|#|--|\*)} } split /\n/, text($file);
	push @missing, map { "$_ in $file" } grep { !-e && !/[A-Z]{3}/ } map { m{(?<![\w/.])((?:src|sql|test|doc|packaging)/[\w./-]+\.\w+)\b}g } @comments;
}
none('files that comments name are there', @missing);

SKIP:
{
	# Every version of clang-format has an idea of its own of .clang-format.
	if (!grep { -x "$_/clang-format-14" } split /:/, $ENV{PATH})
	{
		diag('clang-format-14 is missing: how C++ is formatted is not looked at');
		ok(0, 'CI has clang-format-14 where Debian has it') if $ENV{CI} && !system('apt-cache show clang-format-14 >/dev/null 2>&1');
		skip 'there is no clang-format-14', 1;
	}
	my @files = map { lines("find $_ -name '*.?pp'") } qw(src test/unit test/model test/fuzz);
	none('clang-format-14 -i would change nothing', map { /^(\S+?):\d+:\d+: error/ } `clang-format-14 --dry-run -Werror @files 2>&1`);
}

SKIP:
{
	# test/run brings what git tells, since the copy that it makes has no history.
	my $log = -e '.git' ? `git log --format='%ct %s' 2>/dev/null` : -e 'build/subjects' ? text('build/subjects') : '';
	skip 'there is no history', 1 if !$log;
	my $begun = 1795320000; # with the first commit after 2026-11-22 04:00 UTC
	my @subjects = map { /^(\d+) (.*)/ && $1 >= $begun ? $2 : () } split /\n/, $log;
	none('subjects of commits have at most 72 characters', grep { length > 72 } @subjects);
}

done_testing();
