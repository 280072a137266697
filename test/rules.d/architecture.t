# doc/dev/architecture.md speaks of this tree: rooms, floors, functions and shared words are where it says.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Tree;

chdir "$FindBin::Bin/../.." or die $!;

my $page = 'doc/dev/architecture.md';
my %text = map { $_ => text($_) } sources();

# Floors: a folder is one room. No room includes one of a higher floor, and no two include each other.
sub room { return $_[0] =~ m{^src/(.+/)} ? $1 : $_[0] =~ m{^src/(\w+)} ? $1 : $_[0] }
my (%floor, $height);
for my $row (map { @$_ } tables($page, 'floor'))
{
	$height++;
	$floor{$_} = $height for $row->[1] =~ /`([\w\/]+)`/g;
}
same("rooms of $page", [ map { room($_) } keys %text ], [ keys %floor ]);
my (@up, %arrow);
for my $file (keys %text)
{
	my ($folder) = $file =~ m{^(.*)/};
	for my $header (map { (grep { -e } "$folder/$_", "src/$_")[0] // () } $text{$file} =~ /^#include "(.*)"$/gm)
	{
		push @up, "$file -> $header" if $floor{ room($header) } < $floor{ room($file) };
		$arrow{ room($file) . ' ' . room($header) } = $file if room($file) ne room($header);
	}
}
none('no room includes one of a higher floor', @up);
none('no two rooms include each other', map { $arrow{$_} } grep { $arrow{ join ' ', reverse split } } sort keys %arrow);
cmp_ok(scalar(grep { m{^src/[^/]+$} } keys %text), '<=', 3, 'at most 3 files stand outside of the rooms');

# A wing: what the house knows of leases stands in src/slots/tenure.hpp.
my $wing = qr{^src/leases/};
none('no header of src/leases is included from outside of it', map { my $file = $_; map { "$file: $_" } grep { m{\bleases/} } $text{$file} =~ /^#include "(.*)"$/gm } grep { !/$wing/ } keys %text);

# Who changes how ids are made need not know how they are read.
my %apart = ('functions/' => 'readers/', 'readers/' => '(?:functions|generator)/');
none('functions/ includes nothing of readers/, and readers/ nothing of functions/ or generator/', map { my ($file, $not) = ($_, $apart{ room($_) }); $not ? map { "$file: $_" } $text{$file} =~ /^#include "($not.*)"$/gm : () } keys %text);

# Ways: each function is defined in its room, and called in one that was entered by then. One id's way, the
# first, enters each room once.
my @ways = tables($page, 'room');
my @rooms = grep { $_ } map { $_->[0] } @{ $ways[0] };
my %once = map { $_ => 1 } @rooms;
cmp_ok(scalar(@rooms), '>', 8, 'there is a way of one id');
is(scalar(@rooms), scalar(keys %once), 'it never returns to a room');
for my $way (@ways)
{
	my ($begin) = $way->[0][1] =~ /`(\w+)`/;
	my ($entered, @wrong) = '';
	for my $row (grep { $_->[0] } @$way)
	{
		my $room = $text{"src/$row->[0]"} // '';
		$entered .= $room;
		for my $function ($row->[1] =~ /`(\w+)`/g)
		{
			push @wrong, "$row->[0] has no $function()"
			  if $room !~ /^(?:FLAKEID_FUNCTION\($function\)|[^\s#\/][^\n;{}]*\b$function\([^;{}]*\)\s*\{)/m;
			push @wrong, "$function() is not called by then" if $function ne $begin && $entered !~ /^\s.*\b$function\(/m;
		}
	}
	none("the way from $begin() on", @wrong);
}
my %function = map { $_ => 1 } map { /\b(\w+)\(/g } values %text, script(version());
none('whatever else is called a function is one', grep { !$function{$_} } map { /^(?:flakeid\.)?(\w+)\(/ } text($page) =~ /`([^`\n]+)`/g);

# Shared words: each atomic variable has its line, and each line its variable.
my ($file, %told, @wrong);
for my $row (map { @$_ } tables($page, 'word'))
{
	$file = "src/$1" if $row->[0] =~ m{([\w/]+\.[ch]pp)};
	for my $word ($row->[0] =~ /`(\w+)`/g)
	{
		$told{$word} = 1;
		push @wrong, "$file has no $word" if $text{$file} !~ /\b$word\b/;
	}
}
none('shared words are where the page says', @wrong);
none('each atomic variable is told', grep { !$told{$_} } map { /^\s+pg_atomic_uint\d+ (\w+)[;\[]/mg } values %text);

done_testing();
