# doc/README.md, the contents of the manual, leads to every page, from parts of at most seven. No page is longer than a reader's patience.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Tree;

chdir "$FindBin::Bin/../.." or die $!;

# Pages for contributors and those of clients have lists of their own.
my @pages = grep { !m{^doc/(?:README\.md$|dev/|clients/)} } glob 'doc/*.md doc/*/*.md';
same('parts of the manual', [ 'Start', 'One server', 'Several servers', 'Ids in public', 'In service', 'Reference', 'For contributors' ], [ text('doc/README.md') =~ /^## (.*)$/gm ]);

my %told = map { ("doc/$_" => 1) } text('doc/README.md') =~ /\]\(([^)#]+\.md)/g;
none('doc/README.md leads to each page, or a page that it names does',
	grep { my $page = $_; !$told{$page} && !grep { text($_) =~ m{\]\(\Q@{[ $page =~ s{^doc/}{}r ]}\E[)#]} } grep { $told{$_} } glob 'doc/*.md' } @pages);
none('no page has more than 2,000 words', grep { split(' ', text($_)) > 2000 } @pages);

none('no part of doc/README.md but that for contributors has more than seven pages', grep { /^(?!For contributors)/ && (() = /\]\([^)]*\.md\)/g) > 7 } text('doc/README.md') =~ /^## (.*?)(?=^## |\z)/gms);

done_testing();
