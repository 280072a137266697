# Links and pictures of every Markdown page: what a relative link names is there, its anchor too, and each picture is a small
# SVG, well-formed, that some page shows. Addresses of the web are not looked at.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Tree;
use XML::Parser;

chdir "$FindBin::Bin/../.." or die $!;

my @pages = files('*.md');

# A page without what is shown and not read: comments, blocks of code, and code in a line.
sub prose { return text($_[0]) =~ s/<!--.*?-->//gsr =~ s/^( *)(```+)(?!`).*?^ *\2`*$//gmsr =~ s/(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)//gsr }

# The anchors of a page: its headings as GitHub writes them, a repeated one with a number.
my %anchors;
sub anchors
{
	my ($page) = @_;
	my %times;
	return $anchors{$page} //= {
		map { $_ => 1 } map { my $n = $times{$_}++; $n ? "$_-$n" : $_ }
		map { lc =~ s/\[([^\]]*)\]\([^)]*\)/$1/gr =~ s/[^\w -]//gr =~ tr/ /-/r }
		text($page) =~ s/^( *)(```+)(?!`).*?^ *\2`*$//gmsr =~ /^#+ +(.*?)(?: +#+)?$/mg };
}

# Where a link of a page leads, from the top of the tree; undefined where that is outside.
sub target
{
	my ($page, $link) = @_;
	my @path = $page =~ m{[^/]+(?=/)}g;
	for my $step (split m{/}, $link)
	{
		if ($step ne '..') { push @path, $step if $step ne '.' }
		elsif (!@path) { return }
		else { pop @path }
	}
	return join '/', @path;
}

my ($count, @dead, %shown) = (0);
for my $page (@pages)
{
	for my $link (prose($page) =~ /\]\(\s*<?([^)>\s]*)/g)
	{
		next if $link =~ /^\w+:/;
		$count++;
		my ($file, $anchor) = split /#/, $link, 2;
		my $target = length $file ? target($page, $file) : $page;
		my $good = defined $target && -e ($target || '.');
		$good &&= $target =~ /\.md$/ && anchors($target)->{$anchor} if defined $anchor;
		push @dead, "$page: $link" if !$good;
		$shown{$target} = 1 if $good;
	}
}
cmp_ok($count, '>', 200, "$count relative links in " . @pages . ' pages');
none('each leads to what is there', @dead);

my @pictures = files('*.svg');
none('each picture is shown by a page', grep { !$shown{$_} } @pictures);
none('each is smaller than 40 kB', grep { -s >= 40_000 } @pictures);
none('each is well-formed', map { my $file = $_; eval { XML::Parser->new->parsefile($file); 1 } ? () : "$file: $@" =~ s/\n/ /gr } @pictures);

done_testing();
