# A client session, spoken on the wire: it knows which rows it was given before a server died, and
# can be left waiting, cancelled and asked how long something took.
package Torture::Session;

use strict;
use warnings;

use Errno qw(EINTR);
use IO::Select;
use IO::Socket::UNIX;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

sub steady { return clock_gettime(CLOCK_MONOTONIC) }

# Returns undef when the server does not take the session.
sub new
{
	my ($class, $socket_dir, $database) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => "$socket_dir/.s.PGSQL.5432") or return;
	my $self =
	  bless { socket => $socket, dir => $socket_dir, in => '', database => $database }, $class;
	my $startup = join "\0", 'user', 'postgres', 'database', $database, '', '';
	local $SIG{PIPE} = 'IGNORE';
	syswrite $socket, pack('N N a*', length($startup) + 8, 196608, $startup);
	my $answer = $self->receive;
	return $answer->{code} || $answer->{lost} ? undef : $self;
}

sub send
{
	my ($self, $sql) = @_;
	local $SIG{PIPE} = 'IGNORE';
	$self->{sent} = steady();
	syswrite $self->{socket}, pack('a N Z*', 'Q', length($sql) + 5, $sql);
	return $self;
}

# What came back: rows (texts), copied (bytes of COPY), code and message of an error, lost (the
# connection ended), late (nothing came in time: call again), seconds since it was sent.
sub receive
{
	my ($self, $timeout) = @_;
	my $until = defined $timeout ? steady() + $timeout : undef;
	my $answer = $self->{answer} //= { rows => [], copied => '' };
	while (1)
	{
		while (length $self->{in} >= 5)
		{
			my ($type, $length) = unpack 'a N', $self->{in};
			last if length $self->{in} < $length + 1;
			my $body = substr $self->{in}, 5, $length - 4;
			substr($self->{in}, 0, $length + 1) = '';
			if    ($type eq 'd') { $answer->{copied} .= $body }
			elsif ($type eq 'D') { push @{ $answer->{rows} }, row($body) }
			elsif ($type eq 'K') { @$self{qw(pid key)} = unpack 'N N', $body }
			elsif ($type eq 'E')
			{
				my %field = $body =~ /([A-Z])([^\0]*)\0/gi;
				@$answer{qw(code message detail hint)} = @field{qw(C M D H)};
			}
			elsif ($type eq 'Z') { return $self->finish }
		}
		if (defined $until)
		{
			my $left = $until - steady();
			return { late => 1 }
			  if $left <= 0 || !IO::Select->new($self->{socket})->can_read($left);
		}
		my $got = sysread $self->{socket}, $self->{in}, 65536, length $self->{in};
		next if !defined $got && $! == EINTR;
		if (!$got)
		{
			$answer->{lost} = 1;
			return $self->finish;
		}
	}
}

sub finish
{
	my ($self) = @_;
	my $answer = delete $self->{answer};
	$answer->{seconds} = steady() - ($self->{sent} // steady());
	return $answer;
}

sub row
{
	my ($body) = @_;
	my @values;
	my $at = 2;
	for (1 .. unpack 'n', $body)
	{
		my $length = unpack 'l>', substr $body, $at, 4;
		$at += 4;
		push @values, $length < 0 ? undef : substr $body, $at, $length;
		$at += $length if $length > 0;
	}
	return \@values;
}

sub run
{
	my ($self, $sql, $timeout) = @_;
	return $self->send($sql)->receive($timeout);
}

# The first value of a statement that must succeed.
sub value
{
	my ($self, $sql) = @_;
	my $answer = $self->run($sql);
	die "$sql: " . ($answer->{message} // 'connection lost') . "\n"
	  if $answer->{code} || $answer->{lost};
	return $answer->{rows}[0] ? $answer->{rows}[0][0] : undef;
}

sub cancel
{
	my ($self) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => "$self->{dir}/.s.PGSQL.5432") or return;
	syswrite $socket, pack 'N N N N', 16, 80877102, $self->{pid}, $self->{key};
	sysread $socket, my $end, 1;
	return;
}

1;
