# All scenarios by their names: Torture::Scenarios->can('crashes').
package Torture::Scenarios;

use strict;
use warnings;

use File::Basename qw(basename dirname);
use File::Spec ();

for my $file (glob dirname(File::Spec->rel2abs(__FILE__)) . '/Scenario/*.pm')
{
	my $scenarios = 'Torture::Scenario::' . basename($file, '.pm');
	require $file;
	$scenarios->import;
}

1;
