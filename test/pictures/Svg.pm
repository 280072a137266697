# What the pictures of the manual are drawn with: text, boxes, lines and dots on a white card that is readable on any ground.
# A label that is cut off, or that lies across another one, a line or the edge of a box, is an error: no one has to look
# for those.
package Svg;

use strict;
use warnings;
use utf8;

use Encode qw(encode);
use List::Util qw(max min sum);

# Widths of the characters from blank to ~ in thousandths of the font's size, of DejaVu Sans: the widest sans-serif there is.
my @widths = (qw(
	318 401 460 838 636 950 780 275 390 390 500 838 318 361 318 337 636 636 636 636 636 636 636 636 636 636 337 337 838 838 838 531
	1000 684 686 698 770 632 575 775 752 295 295 656 557 863 748 787 603 787 695 635 611 732 684 989 685 611 685 390 337 390 838 500
	500 613 635 550 635 615 352 635 634 278 278 579 278 974 634 612 635 635 411 521 392 634 592 818 592 592 525 636 337 636 838));
my %size = (text => 13, small => 12, tiny => 10, title => 15);

# Fill, and edge: of boxes, lines and dots
my %colours = (
	blue => [ '#cfe3f7', '#2f6fad' ], orange => [ '#fbdfc3', '#b5641e' ], green => [ '#d3efd0', '#3d8536' ], purple => [ '#e5daf5', '#7650ab' ],
	red => [ '#f9d2d2', '#b3322f' ], yellow => [ '#fcf0bf', '#9a7b12' ], grey => [ '#e9edf1', '#77838f' ], white => [ '#ffffff', '#77838f' ]);

sub new
{
	my ($class, $width, $height, $title) = @_;
	return bless { width => $width, height => $height, title => $title, drawn => [], texts => [], boxes => [], segments => [] }, $class;
}

sub escape { return $_[0] =~ s/&/&amp;/gr =~ s/</&lt;/gr =~ s/>/&gt;/gr }
sub number { return sprintf('%.1f', $_[0]) =~ s/\.0$//r }

# With commas between thousands
sub grouped { my ($n) = @_; 1 while $n =~ s/^(-?\d+)(\d{3})/$1,$2/; return $n }

# How wide words become. Options: `size` (text, small, tiny, title), `bold`, `mono`.
sub width
{
	my ($words, %option) = @_;
	my $size = $size{ $option{size} // 'text' };
	return 0.602 * $size * length $words if $option{mono};
	return $size / 1000 * ($option{bold} ? 1.12 : 1) * sum(0, map { $widths[ ord($_) - 32 ] // 838 } split //, $words);
}

# Words at a place, the baseline's. Options: those of width(), and `anchor` (start, middle, end).
sub text
{
	my ($self, $x, $y, $words, %option) = @_;
	my ($anchor, $class) = ($option{anchor} // 'start', $option{size} // 'text');
	my $size = $size{$class};
	my $width = width($words, %option);
	my $left = $x - $width * { start => 0, middle => 0.5, end => 1 }->{$anchor};
	push @{ $self->{texts} }, [ $words, $left, $y - 0.76 * $size, $left + $width, $y + 0.2 * $size ];
	$class .= ' bold' if $option{bold};
	$class .= ' mono' if $option{mono};
	push @{ $self->{drawn} }, sprintf '<text x="%s" y="%s" class="%s"%s>%s</text>', number($x), number($y), $class,
	  $anchor eq 'start' ? '' : " text-anchor=\"$anchor\"", escape($words);
	return;
}

sub box
{
	my ($self, $x, $y, $width, $height, $colour, $round) = @_;
	push @{ $self->{boxes} }, [ $x, $y, $x + $width, $y + $height ];
	push @{ $self->{drawn} }, sprintf '<rect x="%s" y="%s" width="%s" height="%s"%s class="%s"/>', map({ number($_) } $x, $y, $width, $height),
	  $round ? " rx=\"$round\"" : '', $colour;
	return;
}

# What each colour stands for, in a row: [colour, words]...
sub legend
{
	my ($self, $x, $y, @entries) = @_;
	for my $entry (@entries)
	{
		my ($colour, $words) = @$entry;
		$self->box($x, $y - 10, 12, 12, $colour);
		$self->text($x + 17, $y, $words, size => 'small');
		$x += 17 + width($words, size => 'small') + 16;
	}
	return;
}

# Bars from left to right, one below the other, with their names before and their values after them: [name, length from 0 to 1,
# value, colour]... Returns where the last one ends.
sub bars
{
	my ($self, $x, $y, $wide, @bars) = @_;
	for my $bar (@bars)
	{
		my ($name, $length, $value, $colour) = @$bar;
		$self->text($x - 8, $y + 14, $name, anchor => 'end');
		$self->box($x, $y, max(1, $wide * $length), 18, $colour);
		$self->text($x + $wide * $length + 6, $y + 14, $value);
		$y += 26;
	}
	return $y;
}

# A line through [x, y]... Options: `dashed`, `thin`, `arrow` at its end.
sub line
{
	my ($self, $colour, $points, %option) = @_;
	my @points = @$points;
	push @{ $self->{segments} }, map { [ @{ $points[ $_ - 1 ] }, @{ $points[$_] } ] } 1 .. $#points;
	my $path = 'M' . join 'L', map { number($_->[0]) . ' ' . number($_->[1]) } @points;
	if ($option{arrow})
	{
		my ($from, $to) = @points[ -2, -1 ];
		my ($dx, $dy) = ($to->[0] - $from->[0], $to->[1] - $from->[1]);
		my $length = sqrt($dx**2 + $dy**2);
		($dx, $dy) = ($dx / $length, $dy / $length);
		$path .= sprintf 'M%s %sL%s %sL%s %s', map { number($_) } $to->[0] - 8 * $dx + 4 * $dy, $to->[1] - 8 * $dy - 4 * $dx, @$to,
		  $to->[0] - 8 * $dx - 4 * $dy, $to->[1] - 8 * $dy + 4 * $dx;
	}
	push @{ $self->{drawn} }, sprintf '<path d="%s" class="%s line%s"/>', $path, $colour, join '', map { " $_" } grep { $option{$_} } qw(dashed thin);
	return;
}

# What lies between [x, y]... and a level below them
sub area
{
	my ($self, $colour, $points, $bottom) = @_;
	my @path = map { number($_->[0]) . ' ' . number($_->[1]) } [ $points->[0][0], $bottom ], @$points, [ $points->[-1][0], $bottom ];
	push @{ $self->{drawn} }, sprintf '<path d="M%sZ" class="%s"/>', join('L', @path), $colour;
	return;
}

sub dot
{
	my ($self, $x, $y, $colour, $radius) = @_;
	push @{ $self->{boxes} }, [ $x - $radius, $y - $radius, $x + $radius, $y + $radius ];
	push @{ $self->{drawn} }, sprintf '<circle cx="%s" cy="%s" r="%s" class="%s dot"/>', map({ number($_) } $x, $y, $radius), $colour;
	return;
}

# What lies across what: each of [name, left, top, right, bottom].
sub apart { my ($a, $b) = @_; return $a->[2] <= $b->[0] || $b->[2] <= $a->[0] || $a->[3] <= $b->[1] || $b->[3] <= $a->[1] }
sub inside { my ($a, $b) = @_; return $a->[0] >= $b->[0] && $a->[1] >= $b->[1] && $a->[2] <= $b->[2] && $a->[3] <= $b->[3] }

# Does a segment pass through a box? (Liang and Barsky)
sub crosses
{
	my ($segment, $box) = @_;
	my ($x, $y, $dx, $dy) = (@$segment[ 0, 1 ], $segment->[2] - $segment->[0], $segment->[3] - $segment->[1]);
	my ($enter, $leave) = (0, 1);
	for my $side ([ -$dx, $x - $box->[0] ], [ $dx, $box->[2] - $x ], [ -$dy, $y - $box->[1] ], [ $dy, $box->[3] - $y ])
	{
		my ($p, $q) = @$side;
		return if $p == 0 && $q < 0;
		next if $p == 0;
		$enter = max($enter, $q / $p) if $p < 0;
		$leave = min($leave, $q / $p) if $p > 0;
	}
	return $enter < $leave;
}

sub faults
{
	my ($self) = @_;
	my @faults;
	my @texts = @{ $self->{texts} };
	for my $i (0 .. $#texts)
	{
		my ($words, @box) = @{ $texts[$i] };
		push @faults, "'$words' is cut off" if !inside(\@box, [ 6, 6, $self->{width} - 6, $self->{height} - 6 ]);
		push @faults, map { "'$words' lies on '$_->[0]'" } grep { !apart(\@box, [ @$_[ 1 .. 4 ] ]) } @texts[ $i + 1 .. $#texts ];
		push @faults, map { "'$words' lies across the edge of a box" } grep { !apart(\@box, $_) && !inside(\@box, $_) } @{ $self->{boxes} };
		push @faults, map { "'$words' lies on a line" } grep { crosses($_, \@box) } @{ $self->{segments} };
	}
	return @faults;
}

# The whole picture, or an error that lists what is unreadable.
sub svg
{
	my ($self) = @_;
	my @faults = $self->faults;
	die map { "$self->{title}: $_\n" } @faults if @faults;
	my $drawn = join "\n", @{ $self->{drawn} };
	my $style = join "\n", (map { ".$_ { font-size: $size{$_}px }" } sort keys %size),
	  map { ".$_ { fill: $colours{$_}[0]; stroke: $colours{$_}[1]; color: $colours{$_}[1] }" } grep { $drawn =~ /class="$_\b/ } sort keys %colours;
	return encode('UTF-8', <<"SVG");
<svg xmlns="http://www.w3.org/2000/svg" width="$self->{width}" height="$self->{height}" viewBox="0 0 $self->{width} $self->{height}">
<title>@{[ escape($self->{title}) ]}</title>
<style>
text { font-family: sans-serif; fill: #1f2933 } .small, .tiny { fill: #4a5763 } .bold { font-weight: bold } .mono { font-family: monospace }
$style
.line { fill: none; stroke-width: 1.6 } .thin { stroke-width: 1 } .dashed { stroke-dasharray: 4 3 } .dot { fill: currentColor; stroke: none }
</style>
<rect x="0.5" y="0.5" width="@{[ $self->{width} - 1 ]}" height="@{[ $self->{height} - 1 ]}" rx="8" fill="#ffffff" stroke="#d5dce3"/>
$drawn
</svg>
SVG
}

1;
