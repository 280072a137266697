# The manual, CHANGELOG and the sources name the same presets, settings, functions, views and errors.
# What is missing on either side is printed. (test/t/022_manual.pl compares the tables of the
# reference with a server.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/..";
use Constants;
use Time::Piece;
use Test::More;
use Tree;

chdir "$FindBin::Bin/../.." or die $!;
my $version = version();
my ($people, $all) = made($version);
my $script = script($version);
my $sources = join '', map { text($_) } sources();
my @settings = $sources =~ /DefineCustom\w+Variable\(\s*"flakeid\.(\w+)"/g;
my @pages = glob 'doc/reference/*.md';
my @reference = map { cells($_) } @pages, 'doc/reference.md';

# Presets: layout and epoch too, the latter in ms.
sub epoch_ms
{
	my ($epoch) = @_;
	return $1 * ($2 eq 's' ? 1000 : 1) if $epoch =~ /^(\d+) (m?s)\b/;
	my ($date, $time, $ms) = $epoch =~ /^(\d{4}-\d\d-\d\d)(?:T([\d:]+)(?:\.(\d{3}))?Z)?/ or return "'$epoch'";
	return Time::Piece->strptime("$date " . ($time // '00:00:00'), '%Y-%m-%d %T')->epoch * 1000 + ($ms // 0);
}

my ($table) = $sources =~ /^inline constexpr Preset presets\[\] = \{\n(.*?)^\};/ms;
my (@presets, @layouts);
for my $row (map { s/"\s+"//gr } $table =~ /\{("[^{}]*)\}/g)
{
	my ($name, $layout) = $row =~ /"(.*?)"/g;
	my $epoch = $layout =~ s/ epoch=(\S+)// ? $1 : '1970-01-01';
	push @presets, $name;
	push @layouts, "`$name` $layout since " . epoch_ms($epoch);
}
my @told = map { "@$_[0, 1] since " . epoch_ms($_->[2]) } grep { @$_ > 2 && $_->[1] =~ /^time:\d|^back:\d/ } cells('doc/layouts.md');
same('presets of doc/layouts.md', \@layouts, \@told);
none('doc/pictures/presets.svg is drawn anew (test/pictures/draw presets)', grep { text('doc/pictures/presets.svg') !~ />$_</ } @presets);

# Pages say how many generators a server has, or the half of them that is for spans, and so does a test of spans.
my %room = map { constant($_) => 1 } 'spare_slots', 'max_slots';
my @rooms = map { my $file = $_; map { [ $file, $_ ] } text($file) =~ /\b(\d[\d,]{3,})(?:<!-- \w+ -->)? (?:generators\b|of them may be for|nodes of a span\b)/g }
  glob('*.md doc/*.md doc/*/*.md test/t/*.pl test/world/*.pl');
cmp_ok(scalar(@rooms), '>', 2, 'numbers of generators were found');
none('they are those of all pages and tests', map { "$_->[0]: $_->[1]" } grep { !$room{ $_->[1] =~ s/,//gr } } @rooms);

# Settings, functions, types and views have their rows.
my @subjects = ((map { $_->[0] } @reference), map { text($_) =~ /^- (`[^`]*`)/gm } @pages);
my @headings = map { text($_) =~ /^## (.*)$/gm } @pages;
same('settings of doc/reference', \@settings, [ map { /^(?:`flakeid\.\w+`(?:, | and )?)+$/ ? grep({ !$people->{"flakeid.$_"} } /`flakeid\.(\w+)`/g) : () } @subjects, @headings ]);
same('settings of doc/dev/privileges_functions.md', \@settings, [ map { $_->[0] =~ /^setting `flakeid\.(\w+)`$/ } cells('doc/dev/privileges_functions.md') ]);
my %is_setting = map { ("flakeid.$_" => 1) } @settings;
same('functions, types and views of doc/reference',
	[ keys %$people ], [ grep { !$is_setting{$_} } map { /`(flake(?:_\w+|id\.\w+)?)(?=[`(])/g } grep { !/^column/ } @subjects, @headings ]);

# Who may look into enciphered ids is told, and tested, with the names of all functions that look.
my %sql_name = reverse $script =~ /^CREATE FUNCTION (\w+)\([^;]*?'MODULE_PATHNAME', '(\w+)'/gm;
my @look = map { $sql_name{$_} } text('src/readers/read.cpp') =~ /^FLAKEID_FUNCTION\((\w+)\)/gm;
cmp_ok(scalar(@look), '>', 5, 'functions that look into ids were found');
for my $file ('doc/secrets.md', 'sql/cipher.sql')
{
	my $text = text($file);
	none("$file names each function that looks into ids", grep { $text !~ /\b$_\b/ } @look);
}

# Errors: each that is raised has its SQLSTATE in the manual.
my (%code, %condition);
for (grep { /^\w{5} / } split /\n/, text((lines('pg_config --sharedir'))[0] . '/errcodes.txt'))
{
	my ($code, undef, $macro, $name) = split;
	$code{$macro} = $code;
	$condition{$name} = $code if $name;
}
my @raised = (
	map({ $code{$_} } $sources =~ /errcode\((ERRCODE_\w+)/g),
	map({ $condition{$_} } $script =~ /\bRAISE ([a-z_]+)/g));
my %code_of = map { $_ => 1 } values %code;
same('SQLSTATEs of the manual', \@raised,
	[ grep { $code_of{$_} } map { text($_) =~ /(?<=[ (])([0-9A-Z]{5})(?=[ ,);])/g } glob 'doc/*.md doc/*/*.md' ]);

# Names in messages, comments of objects, the manual and CHANGELOG are names of something.
my @versions = sort map { m{--([\d.]+)\.sql$} && !/--.*--/ ? $1 : () } glob 'sql/flakeid--*.sql';
my %ever = map { $_ => 1 } map { keys %{ (made($_))[1] } } @versions;
my %known = map { $_ => 1 } keys %$all, map { "flakeid.$_" } @settings;
sub unknown { return grep { !$known{$_} } map { /\b(flake_[a-z]\w*|flakeid\.[a-z]\w*)(?<!_)\b(?!\.)/g } @_ }
none('messages and comments of objects name what is or was there',
	grep { !$ever{$_} } unknown($sources =~ /"((?:[^"\\\n]|\\.)*)"/g, $script =~ /'([^']*)'/g));
none("$_ names what is there", unknown(text($_) =~ /`([^`\n]+)`/g)) for grep { $_ ne 'CHANGELOG.md' } glob '*.md doc/*.md doc/howto/*.md doc/reference/*.md doc/errors/*.md doc/dev/*.md';

# CHANGELOG: a function stands in the section of the version that brought it; presets and settings anywhere.
my $changelog = text('CHANGELOG.md');
my %section = $changelog =~ /^## \[(.*?)\].*?\n(.*?)(?=^## |\z)/gms;
my %unnamed = %$people;
for my $old (@versions)
{
	my ($people_then) = made($old);
	my @came = grep { $people_then->{$_} && delete $unnamed{$_} } keys %unnamed;
	none("CHANGELOG.md names what came with $old", grep { $section{$old} !~ /\b$_\b/ } @came);
}
# Pasted once more, after a restore say, it would destroy the secret that ids were made with.
none('a printed command that writes a secret does not overwrite', map { my $page = $_; map { "$page: $_" } grep { />/ && !/set -e?C|^<!--/ } text($page) =~ /^.*\(umask.*$/mg }
	glob('*.md doc/*.md doc/*/*.md'), sources());

none('CHANGELOG.md names what is or was there', grep { !$ever{$_} } unknown($changelog =~ /`([^`\n]+)`/g));
none('CHANGELOG.md has one line for each entry', $changelog =~ /^(?:[ \t]+\S|\*).*/mg);
none('CHANGELOG.md names each preset and setting', grep { $changelog !~ /`$_`/ } @presets, map { "flakeid.$_" } @settings);

done_testing();
