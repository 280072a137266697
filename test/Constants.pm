# The constants of the sources, for those who compare with them: tests, rules and what pages say.
package Constants;
use strict;
use warnings;
use Exporter 'import';
use Cwd qw(abs_path);
use File::Basename qw(dirname);
our @EXPORT = qw(constant seconds);

my $top = dirname(dirname(abs_path(__FILE__)));
my %expression;
for my $file (glob "$top/src/*/*.[ch]pp $top/src/*/*/*.[ch]pp")
{
	open my $in, '<', $file or die "$file: $!";
	local $/;
	my $text = <$in>;
	push @{ $expression{$1} }, $2 while $text =~ /^(?:inline )?constexpr \w+ (\w+) =\s+([^;]+);/mg;
	$expression{shared_version} = [$1] if $text =~ /^#define FLAKEID_SHARED_VERSION (\d+)$/m;
	$expression{preset_count} = [ scalar(() = $1 =~ /\{"/g) ] if $text =~ /^inline constexpr Preset presets\[\] = \{\n(.*?)^\};/ms;
}

# The value of a constant, or of an expression of them.
sub constant
{
	my ($code) = @_;
	$code =~ s/\b(?:U?INT64_C|static_cast<\w+>)\b//g;
	$code =~ s{\b([a-z]\w*)\b}{ my @all = @{ $expression{$1} // [] }; die "$1: the sources have " . @all . " such constants\n" if @all != 1; '(' . constant($all[0]) . ')' }ge;
	die "$code is no number\n" if $code !~ m{^[-\d+*/() ]+$};
	return eval $code;
}

sub seconds { return constant($_[0]) / constant('us_per_s') }

1;
