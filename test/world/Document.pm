# A page of the manual as a list of blocks, and what a block printed beside what the page says it prints.
# test/README.md, "The documents", says which blocks there are.
package Document;
use strict;
use warnings;

use Exporter 'import';
use POSIX qw(strftime);

our @EXPORT = qw(blocks differs);

my %run = map { $_ => 1 } qw(sql sh conf);
my %instead = (
	(map { $_ => 'sql' } qw(psql postgres postgresql plpgsql pgsql SQL)),
	(map { $_ => 'sh' } qw(bash shell console zsh shell-session)),
	(map { $_ => 'text' } qw(output txt plain)));

# The blocks of a Markdown text, in its order. Each has the number of its first line, a kind (sql, sh, conf: to be run;
# text: what the block before it prints; other), its text, the server that it is for, and where it is not to be run "skip",
# the reason, and "before", the version of PostgreSQL from which on it is. What is wrong with a page is a block of kind "error" whose text says it.
sub blocks
{
	my ($page) = @_;
	my @lines = split /\n/, $page;
	my ($server, @skip, @blocks) = ('main');
	my $add = sub {
		my ($kind, $line, $text) = @_;
		push @blocks, { kind => $kind, line => $line, text => $text, server => $server, @skip };
		@skip = ();
	};
	my $wrong = sub { $add->('error', @_) };
	my $list = 0;
	for (my $i = 0; $i < @lines; $i++)
	{
		my $line = $i + 1;
		my $text = $lines[$i];
		if ($text =~ /^(\s*)(`{3,}|~{3,})\s*([^`]*?)\s*$/)
		{
			my ($indent, $fence, $language) = ($1, $2, $3);
			my @inside;
			push @inside, $lines[$i] =~ s/^\Q$indent\E//r while ++$i < @lines && $lines[$i] !~ /^\s*\Q$fence\E\s*$/;
			$wrong->($line, 'a block that does not end') if $i >= @lines;
			$wrong->($line, qq{"$language" is written "$instead{$language}" here}) if $instead{$language};
			if ($language eq '' && !@skip)
			{
				$wrong->($line, 'a block needs a language: sql, sh or conf is run, text is what the block before it prints');
				next;
			}
			my $kind = $run{$language} || $language eq 'text' ? $language : 'other';
			$wrong->($line, 'psql takes what is pasted behind \c or \gset for its arguments: let it end the block')
			  if $kind eq 'sql' && join("\n", @inside) =~ /\\(?:c|connect|gset)\b[^\n]*\n\s*\S/;
			$add->($kind, $line, join("\n", @inside) . "\n");
		}
		elsif ($text =~ /^\s*<!--\s*(not run|run|on)\b(.*)/)
		{
			my ($marker, $said) = ($1, "$2\n");
			$said .= "$lines[++$i]\n" while $said !~ /-->/ && $i + 1 < @lines;
			$wrong->($line, 'a comment that does not end in a line of its own') if $said !~ s/-->\s*\z//;
			if ($marker eq 'not run')
			{
				my ($before, $why) = $said =~ /^(?: before (\d+))?:\s*(\S.*?)\s*$/s;
				if ($why) { @skip = (before => $before // 1000, skip => $why =~ s/\s+/ /gr) }
				else { $wrong->($line, 'a reason is missing: <!-- not run: why -->, or <!-- not run before 17: why -->') }
			}
			elsif ($marker eq 'on')
			{
				if ($said =~ /^\s+(\w+)\s*$/) { $server = $1 }
				else { $wrong->($line, 'a server is missing: <!-- on main -->') }
			}
			elsif ($said =~ /^\s+(sql|sh|conf):?\s(.*)/s) { $add->($1, $line, $2) }
			else { $wrong->($line, 'a language is missing: <!-- run sql: ... -->, or sh, or conf') }
		}
		elsif ($text =~ /^(?: {4}|\t)\s*\S/ && !$list && ($i == 0 || $lines[$i - 1] =~ /^\s*$/))
		{
			$wrong->($line, 'an indented block has no language: put it between ```sh and ```, for example');
		}
		$list = $text =~ /^ {0,3}(?:[-*+]|\d+[.)])\s/ if $text =~ /^ {0,3}\S/;
	}
	return @blocks;
}

# What may differ from what the page prints: ids, sealed ids, UUIDs, places in the WAL, lengths of time, and moments of
# these days. The page tells which it is, for what is printed may look like a number or a word.
my $time = qr/[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?/;
my $moment = qr/\b\d{4}-\d\d-\d\d$time?(?![\w.])/;
my $whole_length = qr/(?:\d+ days? )?\d+:\d\d:\d\d/;
my %printed = (
	uuid => qr/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/,
	sealed => qr/[0-9a-v]{13,14}/,
	id => qr/-?\d{15,20}/,
	length => qr/$whole_length(?:\.\d+)?/,
	place => qr{[0-9A-F]{1,8}/[0-9A-F]{5,8}});
my $varies = qr/(?<uuid>\b$printed{uuid}\b)
	|(?<sealed>(?<![\w.])(?=[a-v]*\d)(?=\d*[a-v])$printed{sealed}(?![\w.]))
	|(?<id>(?<![\w.-])$printed{id}(?![\w.]))
	|(?<length>\b$whole_length\.\d+\b)
	|(?<place>\b$printed{place}\b)/x;

# The lines that count
sub lines
{
	my ($text, $footers) = @_;
	my @lines;
	for (split /\n/, $text)
	{
		s/\s+/ /g;
		s/^ | $//g;
		s/-+/-/g if /^[-+]+$/;
		push @lines, $_ if $_ ne '' && ($footers || !/^\(\d+ rows?\)$/);
	}
	return @lines;
}

# The pattern of what may be printed where the page has this line
sub pattern
{
	my ($line) = @_;
	my $days = join '|', map { strftime('%Y-%m-%d', gmtime(time + $_ * 86400)) } -1 .. 1;
	my $pattern = '';
	while ($line =~ /\G(?:(?<moment>$moment)|$varies|(?<any>\.\.\.)|(?<plain>.))/gs)
	{
		my ($kind, $text) = %+;
		$pattern .=
			$kind eq 'plain' ? quotemeta $text
		  : $kind eq 'any' ? '[^\n]*?'
		  : '(?<![\w.])(?:' . ($kind eq 'moment' ? quotemeta($text) . "|(?:$days)$time?" : $printed{$kind}) . ')(?![\w.])';
	}
	return $pattern;
}

# Whether what was printed is another thing than the page says. White space, and the number of rows where the page has
# none, do not count. "..." on the page stands for anything, in a line of its own for any number of lines.
sub differs
{
	my ($told, $printed) = @_;
	my $footers = $told =~ /^\(\d+ rows?\)\s*$/m;
	my $same = join '', map { $_ eq '...' ? '(?:[^\n]*\n)*?' : pattern($_) . '\n' } lines($told, $footers);
	return join('', map { "$_\n" } lines($printed, $footers)) !~ /\A$same\z/;
}

1;
