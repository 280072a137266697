# Ids drawn by real sessions at once, written down as their clients were given them, and what is to
# be said of them afterwards. An id that was given to a client counts, whatever became of its
# transaction, its session or its server.
package Torture::Draws;

use strict;
use warnings;

use List::Util qw(max min sum0);
use POSIX qw(:sys_wait_h);
use Storable ();
use Time::HiRes qw(sleep);
use Torture::Server;
use Torture::Session;

# An id between two looks at the server's clock, and the moment that it says it was made.
my $row_bytes = 50;
my $head_bytes = 20;    # of a batch: begin, end, number of rows
my $made = 0;
my $stopped;             # in a session's process
my $statement = <<'END';
COPY (SELECT before, id, clock_timestamp(), flake_timestamp(id)
      FROM (SELECT clock_timestamp() AS before, %s AS id FROM generate_series(1, %d)) AS drawn)
TO STDOUT (FORMAT binary)
END

# What a generator needs to know of the layouts that are tortured; microseconds.
my %layouts = (
	snowflake => { tick => 1000, sequence_bits => 12, ordered => 1 },
	sonyflake => { tick => 10000, sequence_bits => 8, ordered => 1 },
	randflake => { tick => 1000000, sequence_bits => 17 },
	rollback2 => { tick => 1000, sequence_bits => 12 },
	rollback3 => { tick => 1000, sequence_bits => 12, ordered => 1 },
);

sub new
{
	my ($class, $layout) = @_;
	Torture::Server::prepare();
	my $shape = $layouts{$layout} // { tick => 1000, sequence_bits => 12, ordered => 1 };
	my $dir = Torture::Server::top() . '/draws' . $made++;
	mkdir $dir or die $!;
	return bless {
		layout => $layout, dir => $dir, files => [], runs => 0, sessions => 0,
		shape => $shape, errors => {}, lost => 0, longest => 0, statements => 0
	}, $class;
}

sub ids_a_second
{
	my ($self) = @_;
	return (1_000_000 << $self->{shape}{sequence_bits}) / $self->{shape}{tick};
}

# Draws `count` ids in one statement and returns what came back, with {drawn}: an array of rows
# [clock before, id, clock after, moment of the id].
sub batch
{
	my ($session, $count, %o) = @_;
	my $copy = sprintf $statement, $o{call} // 'flake_next()', $count;
	my ($start, $end) =
	    $o{rolled_back} ? ('BEGIN;', '; ROLLBACK')
	  : $o{read_only} && !$Torture::Server::plain ? ('BEGIN READ ONLY;', '; COMMIT')
	  :                   ('', '');
	my $from = Torture::Session::steady();
	my $answer = $session->run("$start $copy $end");
	my $to = Torture::Session::steady();
	$session->run('ROLLBACK') if $start && $answer->{code} && !$answer->{lost};
	my $rows = int max(0, (length($answer->{copied}) - 19) / $row_bytes);
	$answer->{drawn} =
	  [ map { [ unpack "\@$_ x2 (x4 q>)4", $answer->{copied} ] } map { 19 + $_ * $row_bytes } 0 .. $rows - 1 ];
	$answer->{record} = pack('d d N', $from, $to, $rows) . substr $answer->{copied}, 19,
	  $rows * $row_bytes
	  if $rows;
	return $answer;
}

# What was drawn so far, to go on with by itself: servers with the same past.
sub branch
{
	my ($self) = @_;
	return bless {
		%$self, workers => [], files => [ @{ $self->{files} } ],
		errors => { %{ $self->{errors} } }
	}, ref $self;
}

sub file_for
{
	my ($self, $database) = @_;
	my $file = "$self->{dir}/" . $made++;
	push @{ $self->{files} }, { path => $file, run => $self->{runs}, database => $database };
	return $file;
}

# The server was started again: ids of different databases may meet those of earlier runs.
sub next_run { my ($self) = @_; $self->{runs}++; return }

# Draws in this process, and takes part in the count.
sub draw
{
	my ($self, $session, $count, %o) = @_;
	my $answer = batch($session, $count, %o);
	my $file = $session->{"file$self->{runs}"} //= $self->file_for($session->{database});
	open my $out, '>>:raw', $file or die $!;
	print $out $answer->{record} // '';
	close $out or die $!;
	$self->{sessions} ||= 1;
	$self->{longest} = max($self->{longest}, $answer->{seconds});
	return $answer;
}

# Lets sessions draw until stop(), or until they lose their server. Options:
# sessions (number, spread over the databases), databases, batch (ids a statement), pause (seconds
# between statements), settings (SQL to begin with), call.
sub start
{
	my ($self, $server, %o) = @_;
	my @databases = @{ $o{databases} // $server->{databases} };
	$self->{sessions} = max($self->{sessions}, $o{sessions});
	local $SIG{TERM} = sub { $stopped = 1 };    # in force before there is whom to stop
	for my $n (0 .. $o{sessions} - 1)
	{
		my $database = $databases[ $n % @databases ];
		my $file = $self->file_for($database);
		my $parent = $$;
		my $pid = fork // die $!;
		if (!$pid)
		{
			my $done = eval { work($server, $database, $file, $parent, $n, %o); 1 };
			warn $@ if !$done;
			POSIX::_exit($done ? 0 : 1);
		}
		push @{ $self->{workers} }, $pid;
	}
	return $self;
}

sub work
{
	my ($server, $database, $file, $parent, $n, %o) = @_;
	local $SIG{INT} = 'IGNORE';
	open my $out, '>:raw', $file or die $!;
	my %sum = (errors => {}, messages => {}, lost => 0, longest => 0, statements => 0);
	my $session = Torture::Session->new($server->{dir}, $database);    # unless the server is gone, which ran when this began
	$session->run($o{settings}) if $session && $o{settings};
	while ($session && !$stopped && getppid == $parent)
	{
		my $kind = ($n + $sum{statements}++) % 4;
		my $answer = batch($session, $o{batch} // 100, call => $o{call},
			rolled_back => $kind == 1, read_only => $kind == 2);
		print $out $answer->{record} // '';
		if ($answer->{lost})
		{
			$sum{lost}++;
			last;
		}
		$sum{longest} = max($sum{longest}, $answer->{seconds});
		if ($answer->{code})
		{
			$sum{errors}{ $answer->{code} }++;
			$sum{messages}{ "$answer->{code} $answer->{message}" =~ s/\d+(\.\d+)?/N/gr }++;
			sleep 0.01;
		}
		sleep $o{pause} if $o{pause};
	}
	close $out or die $!;
	Storable::store(\%sum, "$file.sum");
	return;
}

sub stop
{
	my ($self) = @_;
	kill 'TERM', @{ $self->{workers} } if @{ $self->{workers} };
	return $self->finish;
}

# Waits until every session has ended by itself, and adds up what happened to them.
sub finish
{
	my ($self) = @_;
	my $failed = 0;
	for my $pid (@{ $self->{workers} })
	{
		waitpid $pid, 0;
		$failed ||= $?;
	}
	$self->{workers} = [];
	die "a session failed\n" if $failed;
	for my $file (@{ $self->{files} })
	{
		next if $file->{added}++ || !-e "$file->{path}.sum";
		my $sum = Storable::retrieve("$file->{path}.sum");
		$self->{$_} += $sum->{$_} for qw(lost statements);
		$self->{longest} = max($self->{longest}, $sum->{longest});
		$self->{errors}{$_} += $sum->{errors}{$_} for keys %{ $sum->{errors} };
		$self->{messages}{$_} += $sum->{messages}{$_} for keys %{ $sum->{messages} };
	}
	return $self;
}

# How many ids there are more than different ones.
sub repeated
{
	my ($packed) = @_;
	my @ids = sort { $a <=> $b } unpack 'q*', $packed;
	my $repeated = 0;
	for my $i (1 .. $#ids) { $repeated++ if $ids[$i] == $ids[ $i - 1 ] }
	return $repeated;
}

# How many batches hold an id that is not larger than one of a batch that ended before they began.
sub out_of_order
{
	my @batches = sort { $a->[0] <=> $b->[0] } @_;    # [begin, end, lowest, highest]
	my @ended = sort { $a->[1] <=> $b->[1] } @batches;
	my ($wrong, $highest) = (0, undef);
	for my $batch (@batches)
	{
		while (@ended && $ended[0][1] < $batch->[0])
		{
			my $id = (shift @ended)->[3];
			$highest = $id if !defined $highest || $id > $highest;
		}
		$wrong++ if defined $highest && $batch->[2] <= $highest;
	}
	return $wrong;
}

# Ids that a generator of the layout without a memory would have repeated, had it been asked at the
# same moments: it begins anew with every run.
sub repeated_without_memory
{
	my ($self, $runs) = @_;
	my ($tick, $bits) = @{ $self->{shape} }{qw(tick sequence_bits)};
	my $words = '';
	for my $clocks (values %$runs)
	{
		my $word = 0;
		for my $clock (sort { $a <=> $b } unpack 'q*', $clocks)
		{
			my $first = int($clock / $tick) << $bits;
			$word = $word + 1 > $first ? $word + 1 : $first;
			$words .= pack 'q', $word;
		}
	}
	return repeated($words);
}

# Looks through everything that was written down. No id may come twice, in whatever database and run of the server.
sub judge
{
	my ($self) = @_;
	my (%clocks, %batches, %run_batches);
	my ($all, $within, $ahead) = ('', 0, 0);
	for my $file (@{ $self->{files} })
	{
		my ($database, $run) = @$file{qw(database run)};
		open my $in, '<:raw', $file->{path} or next;
		while (read $in, my $head, $head_bytes)
		{
			my ($from, $to, $rows) = unpack 'd d N', $head;
			read($in, my $body, $rows * $row_bytes) == $rows * $row_bytes or die 'a record is cut short';
			my @values = unpack '(x2 (x4 q>)4)*', $body;
			my ($low, $high, $last);
			for (my $i = 0; $i < @values; $i += 4)
			{
				my ($before, $id, $after, $moment) = @values[ $i .. $i + 3 ];
				my $clock = $before > $after ? $before : $after;
				$all .= pack 'q', $id;
				$clocks{$database}{$run} .= pack 'q', $after;
				$ahead = $moment - $clock if $moment - $clock > $ahead;
				$within++ if defined $last && $id <= $last;
				$low = $id if !defined $low || $id < $low;
				$high = $id if !defined $high || $id > $high;
				$last = $id;
			}
			push @{ $batches{$database} }, [ $from, $to, $low, $high ];
			push @{ $run_batches{$run} }, $batches{$database}[-1];
		}
	}
	my $repeated = repeated($all);
	# In plain SQL databases have generators of their own.
	my $disorder = $within + sum0 map { out_of_order(@$_) } values %batches, $Torture::Server::plain ? () : values %run_batches;
	return {
		ids => length($all) / 8, repeated => $repeated,
		disorder => $self->{shape}{ordered} ? $disorder : undef,
		ahead => $ahead / 1e6,
		without_memory => sum0(map { $self->repeated_without_memory($_) } values %clocks),
		map { $_ => $self->{$_} } qw(layout sessions longest errors messages lost statements),
	};
}

# How many ids were written down so far.
sub drawn
{
	my ($self) = @_;
	for my $file (@{ $self->{files} })
	{
		my $size = -s $file->{path} // 0;
		open my $in, '<:raw', $file->{path} or next;
		while (seek($in, $file->{looked} // 0, 0) && read($in, my $head, $head_bytes) == $head_bytes)
		{
			my $rows = unpack '@16 N', $head;
			my $end = ($file->{looked} // 0) + $head_bytes + $rows * $row_bytes;
			last if $end > $size;
			$file->{looked} = $end;
			$file->{rows} += $rows;
		}
	}
	return sum0(map { $_->{rows} // 0 } @{ $self->{files} });
}

# The ids that were drawn in one database, packed.
sub ids
{
	my ($self, $database) = @_;
	my $ids = '';
	for my $file (grep { $_->{database} eq $database } @{ $self->{files} })
	{
		open my $in, '<:raw', $file->{path} or next;
		while (read $in, my $head, $head_bytes)
		{
			read $in, my $body, $row_bytes * unpack '@16 N', $head;
			my @values = unpack '(x2 (x4 q>)4)*', $body;
			$ids .= pack 'q*', @values[ map { 4 * $_ + 1 } 0 .. $#values / 4 ];
		}
	}
	return $ids;
}

1;
