# The manual as a reader meets it: every SQL and shell block of each page is run, from top to bottom, and what it prints
# is compared with what the page says. test/README.md, "The documents", says how a page tells what cannot be run here.
#   make check STEPS=tap PROVE_TESTS=test/world/311_documents.pl DOCUMENTS="README.md doc/secrets.md"
# runs these pages, and shows all that they print.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use Document;
use POSIX qw(strftime);
use FlakeTest;
use Reader;
use PostgreSQL::Test::Utils;
use Test::More;

# What counts as the same
sub same { return !differs(@_) }
my $today = strftime('%Y-%m-%d', gmtime);
ok(same("a | b\n---+---\n 1 | 2\n", " a |  b \n---+----\n 1 |  2\n(1 row)\n\n"), 'white space and the number of rows do not count');
ok(!same("1\n(1 row)\n", "1\n(2 rows)\n"), 'but where the page has it');
ok(!same("1\n", "2\n") && !same("1\n", "1\n2\n") && !same("1\n2\n", "1\n"), 'figures and lines do');
ok(same("2063530187283488768 8b0kd71amsd62\n", "-206353018728348876 4b0kd71amsd61\n"), 'an id stands for another');
ok(!same("8b0kd71amsd62\n", "2063530187283488768\n"), 'of its kind');
ok(same("8b0kd71amsd62 00:00:00.01\n", "administrator 00:00:00\n"), 'which may look like a word, as a length of time may be whole');
ok(same("2020-02-02 02:02:02.2+00\n", "$today 23:00:00+00\n"), 'a moment stands for one of these days');
ok(!same("2020-02-02 02:02:02+00\n", "2020-02-02 02:02:03+00\n"), 'and for no other');
ok(same("a ... d\n...\n", "a b c d\ne\nf\n") && !same("a ... d\n", "a b c\n"), 'three dots stand for anything');

# Pages for contributors, and those whose blocks are files that other tests run, have theirs elsewhere.
chdir source_dir() or die $!;
my @pages = $ENV{DOCUMENTS} ? split(' ', $ENV{DOCUMENTS})
  : ('README.md', 'test/next_steps.md', glob('doc/*.md'), grep { !m{^doc/(?:clients|dev)/} } glob('doc/*/*.md'));

my $version = Reader::version();
my %count = (map { $_ => 0 } qw(run compared skipped other));
my (@skipped, @told);
for my $page (@pages)
{
	my @blocks = blocks(slurp_file($page));
	my @faults;
	my $fault = sub { push @faults, "$page:$_[0]->{line}: $_[1]" };
	my $reader = Reader->new($page =~ s/\W/_/gr, @blocks);
	my $last;
	for my $i (0 .. $#blocks)
	{
		my $block = $blocks[$i];
		if ($block->{kind} eq 'error') { $fault->($block, $block->{text}) }
		elsif ($block->{kind} eq 'other') { $count{other}++ }
		elsif ($block->{skip} && $version < $block->{before})
		{
			$count{skipped}++;
			push @skipped, "$page:$block->{line}: $block->{skip}";
			$last = undef if $block->{kind} ne 'text';
		}
		elsif ($block->{kind} eq 'text')
		{
			if (!$last) { $fault->($block, 'no block before it printed this; a text that nothing prints has another language') }
			else
			{
				$count{compared}++;
				$fault->($block, "the block in line $last->{line} prints something else:\n$last->{out}--- and the page says:\n$block->{text}")
				  if differs($block->{text}, $last->{out});
			}
			$last = undef;
		}
		else
		{
			$count{run}++;
			my ($out, $why) = $reader->paste($block);
			$last = { line => $block->{line}, out => $out };
			diag("$page:$block->{line} prints:\n$out") if $ENV{DOCUMENTS};
			my ($next) = grep { $_->{kind} ne 'other' } @blocks[ $i + 1 .. $#blocks ];
			$fault->($block, "$why\n$out") if $why && !($next && $next->{kind} eq 'text');
		}
	}
	$reader->leave;
	ok(!@faults, $page);
	push @told, @faults;
}
cmp_ok($count{run}, '>', 0, 'blocks were run');

diag("documents: " . @pages . " pages, $count{run} blocks run, $count{compared} outputs compared, "
	  . "$count{skipped} skipped, $count{other} in other languages");
diag("skipped: $_") for @skipped;
diag($_) for @told;

done_testing();
