# Includes lead in one direction. A module is a header with its source; no module reaches itself through
# what it includes, neither another module's back door nor round a corner.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Tree;

chdir "$FindBin::Bin/../.." or die $!;

sub module { return $_[0] =~ s{[^/]+/\.\./}{}r =~ s{^src/|\.[ch]pp$}{}gr }

my %includes;
for my $file (sources())
{
	my ($folder) = $file =~ m{^(.*)/};
	for my $name (text($file) =~ /^#include "(.*)"$/gm)
	{
		my ($header) = grep { -e } "$folder/$name", "src/$name" or next; # the server's
		$includes{ module($file) }{ module($header) } = 1 if module($header) ne module($file);
	}
}
cmp_ok(scalar(keys %includes), '>', 20, 'modules were found');

# Depth first; a module that is met again on its own way closes a circle.
my (%done, @circles);
sub follow
{
	my ($module, @way) = @_;
	for my $i (grep { $way[$_] eq $module } 0 .. $#way)
	{
		push @circles, join ' -> ', @way[ $i .. $#way ], $module;
		return;
	}
	return if $done{$module};
	follow($_, @way, $module) for sort keys %{ $includes{$module} };
	$done{$module} = 1;
}
follow($_) for sort keys %includes;
none('no module includes itself, directly or round a corner', @circles);

none('the core includes nothing from above it',
	map { my $from = $_; map { "$from -> $_" } grep { !/^core\// } keys %{ $includes{$from} } } grep { /^core\// } keys %includes);

done_testing();
