# doc/errors has what there is to say of a message beside its detail and hint, doc/dev/messages.md the others: together every one
# that the library and the SQL script raise, with its SQLSTATE or its level, and no other. doc/errors.md leads to them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Tree;

chdir "$FindBin::Bin/../.." or die $!;

my (%code, %condition);
for (grep { /^\w{5} / } split /\n/, text((lines('pg_config --sharedir'))[0] . '/errcodes.txt'))
{
	my ($code, undef, $macro, $name) = split;
	$code{$macro} = $code;
	$condition{$name} = $code if $name;
}

# The text of C literals that stand side by side; what a format puts in is three dots.
my $literal = qr/"(?:[^"\\]|\\.)*"|U?INT64_FORMAT/;
my $literals = qr/$literal(?:\s*$literal)*/;
sub message
{
	my ($source) = @_;
	my $text = join '', map { /^"(.*)"$/s ? $1 =~ s/\\(.)/$1/gr : '%d' } $source =~ /$literal/g;
	return $text =~ s/%[.*\d]*[a-z]/.../gr;
}

my (%raised, %helps); # message: its SQLSTATEs and levels; whether it comes with a detail or hint
sub raised { my ($message, $helps, @codes) = @_; $raised{$message}{$_} = 1 for @codes; $helps{$message} ||= $helps; return }

for my $file (sources())
{
	my $text = text($file);
	while ($text =~ /\b(?:ereport\(\s*(?<level>[A-Z]+)|ereturn\(|GUC_check_errmsg)\b(?<rest>[^;]*;)/g)
	{
		my ($level, $rest) = ($+{level} // 'ERROR', $+{rest});
		my @codes = map { $code{$_} // die "$file: $_" } $rest =~ /\b(ERRCODE_\w+)/g;
		@codes = $rest =~ /^\(/ ? $code{ERRCODE_INVALID_PARAMETER_VALUE} : $level if !@codes;
		my $helps = $rest =~ /\berr(?:detail|hint)\(/;
		raised(message($1), $helps, @codes) while $rest =~ /(?:errmsg\(|^\()\s*($literals)/g;
	}
	# Those whose message is an argument
	raised(message($1), 1, 'WARNING') while $text =~ /\bwarn_once\(\s*($literals)/g;
	raised(message("$1"), 1, $code{ERRCODE_CONFIG_FILE_ERROR}) while $text =~ /\brefuse_(?:file|unreadable)\(\s*\w+,\s*($literals)/g;
}
my $script = script(version());
while ($script =~ /\bRAISE (\w+) USING\s+MESSAGE = (?:format\()?'((?:[^']|'')*)'((?:[^';]|'(?:[^']|'')*')*)/g)
{
	my ($condition, $message, $rest) = ($1, $2, $3);
	my $helps = $rest =~ /\b(?:DETAIL|HINT) = /;
	raised($message =~ s/%s/.../gr =~ s/''/'/gr, $helps, $condition{$condition} // $condition);
}
delete @raised{ '...', '...: ...' }; # whose message is an argument

# No hint prints a node: what is printed to one server may be printed to another, and both would make the same ids.
my $prints_node = qr/flakeid\.node\s*(?:=|TO)\s*'?(?:\d|%[du])/i;
none('a text prints a node; a hint says N, and what to choose', map { my $file = $_; map { "$file: $_" } text($file) =~ s/"\s*"//gr =~ /($prints_node.*)/g }
	sources(), glob 'sql/*/*.sql packaging/plain/chapters/*.sql');
cmp_ok(scalar(keys %raised), '>', 100, 'messages were found');

my (%told, @mute);
my @pages = glob 'doc/errors/*.md';
for my $page (@pages, 'doc/dev/messages.md')
{
	for (split /\n/, text($page))
	{
		my ($message, $codes, $more) = /^- `(.*?)` \(((?:[A-Z]+|\w{5})(?:, \w{5})*)(?:, [^)]*)?\)(?:: (\S.*))?$/ or next;
		$told{"$_ $message"} = 1 for split /, /, $codes;
		push @mute, $message if !$more && !($page =~ /messages/ && $helps{$message});
	}
}
none('each message has a detail or hint, or more on its page', @mute);
same('messages', [ map { my $message = $_; map { "$_ $message" } keys %{ $raised{$message} } } keys %raised ], [ keys %told ]);

# doc/errors.md says of each SQLSTATE what it means, and leads to each page of messages.
my $list = text('doc/errors.md');
none('doc/errors.md tells each SQLSTATE', grep { length == 5 && $list !~ /^\|[^|]*\b$_\b/m } map { (split)[0] } keys %told);
none('doc/errors.md leads to each page', grep { my $page = s{^doc/}{}r; $list !~ /\]\(\Q$page\E\)/ } @pages);

done_testing();
