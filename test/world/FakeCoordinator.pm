# A coordinator of leases that speaks the protocol and says what a test wants it to say.
package FakeCoordinator;

use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Utils;
use POSIX qw(_exit);
use Time::HiRes qw(time);

# A token in an answer becomes the one that was asked with.
our $example = '6f9619ff-8b86-d011-b42d-00cf4fc964ff';

# Which coordinator it says it is.
our @term = ('00000000-0000-4000-8000-000000000001', 1, 1);

# Answers of a name are functions of the question (functions, acquire, renew, release) and the number of
# the question on this connection, that return bytes; undef hangs up, '' says nothing, and a second
# value hangs up after the bytes.
sub new
{
	my ($class, %answers) = @_;
	my $listener = IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1') or die "listen: $!";
	my $self = bless {
		port => $listener->sockport,
		file => PostgreSQL::Test::Utils::tempdir . '/says',
		log => PostgreSQL::Test::Utils::tempdir . '/asked' }, $class;
	$self->says((sort keys %answers)[0]);
	defined($self->{pid} = fork) or die "fork: $!";
	if ($self->{pid} == 0)
	{
		$SIG{CHLD} = 'IGNORE';
		$SIG{TERM} = sub { _exit(0) };
		while (1)
		{
			my $client = $listener->accept or next;
			next if fork;
			eval { $self->_serve($client, \%answers) };
			_exit(0);
		}
	}
	close $listener;
	return $self;
}

sub conninfo { my ($self) = @_; return "host=127.0.0.1 port=$self->{port} dbname=ids user=shop sslmode=disable" }
sub stop { my ($self) = @_; kill 'TERM', $self->{pid}; waitpid $self->{pid}, 0; return }

# Chooses what is answered from the next question on.
sub says
{
	my ($self, $name) = @_;
	append_to_file("$self->{file}.new", $name);
	rename "$self->{file}.new", $self->{file} or die $!;
	return;
}

# The questions that came, and how many of a kind.
sub questions { my ($self) = @_; return -e $self->{log} ? split /\n/, slurp_file($self->{log}) : () }
sub asked { my ($self, $question) = @_; return scalar grep { /^$question$/ } $self->questions }

sub message { my ($type, $body) = @_; return $type . pack('N', 4 + length $body) . $body }

# A row of text fields, and a whole answer of rows.
sub fields { return message('D', pack('n', scalar @_) . join '', map { defined ? pack('N', length) . $_ : pack('N', 0xffffffff) } @_) }

sub rows
{
	my ($columns, @rows) = @_;
	return message('1', '') . message('2', '')
	  . message('T', pack('n', $columns) . pack('Z*NnNnNn', 'f', 0, 0, 25, 0xffff, 0xffffffff, 0) x $columns)
	  . join('', @rows) . message('C', "SELECT 1\0") . message('Z', 'I');
}

sub row { return rows(scalar @_, fields(@_)) }
sub refusal { my ($state, $text) = @_; return message('E', "SERROR\0C$state\0M$text\0\0") . message('Z', 'I') }

# What a good one says.
sub good
{
	my ($question, undef, $node) = @_;
	my $now = int time;
	return
	    $question eq 'installed' ? row('1')
	  : $question eq 'acquire' ? row($node // 5, $example, $now, $now + 3, 1, @term)
	  : $question eq 'renew' ? row($now + 3, @term)
	  : row('2026-01-01 00:00:00+00');
}

sub _take
{
	my ($client, $length) = @_;
	my $bytes = '';
	while (length $bytes < $length)
	{
		sysread($client, $bytes, $length - length $bytes, length $bytes) or die 'end';
	}
	return $bytes;
}

# True when it goes on after that.
sub _say
{
	my ($client, $bytes, $is_last) = @_;
	return 0 unless defined $bytes;
	syswrite $client, $bytes;
	return !$is_last;
}

sub _serve
{
	my ($self, $client, $answers) = @_;
	while (1)
	{
		my ($length, $code) = unpack 'NN', _take($client, 8);
		_take($client, $length - 8);
		last if $code == 196608;
		syswrite $client, 'N';
	}
	my $text = '';
	my $asked = $example;
	for (my $number = 0; ; )
	{
		my $says = $answers->{ slurp_file($self->{file}) };
		if ($number == 0)
		{
			my ($greeting, $is_last) = $says->('connect', $number++);
			$greeting = message('R', pack('N', 0)) . message('Z', 'I') if ($greeting // '') eq 'good';
			_say($client, $greeting, $is_last) or return;
		}
		my ($type, $length) = unpack 'aN', _take($client, 5);
		my $body = _take($client, $length - 4);
		return if $type eq 'X';
		$text = $body if $type eq 'P';
		($asked) = $body =~ /.*(\w{8}(?:-\w{4}){3}-\w{12})/s if $type eq 'B' && $text =~ /lease_acquire/;
		next if $type ne 'S';
		my ($question) = $text =~ /flakeid\.lease_(acquire|renew|release)\b/;
		$question //= 'installed';
		append_to_file($self->{log}, "$question\n");
		$says = $answers->{ slurp_file($self->{file}) };
		my ($bytes, $is_last) = $says->($question, $number++);
		$bytes =~ s/\Q$example\E/$asked/g if defined $bytes;
		_say($client, $bytes, $is_last) or return;
	}
	return;
}

1;
