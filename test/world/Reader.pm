# Somebody who pastes the blocks of one page: psql and a shell on servers of his own, each of which is a copy of one that
# has nothing but an empty database "shop". What a page says of the world outside is led here: /etc/postgresql is a
# directory of the page, and host=NAME is the server that the page calls so.
package Reader;
use strict;
use warnings;

use File::Basename qw(basename);
use FlakeTest qw(source_dir write_file);
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

my $template;

sub template
{
	return $template if $template;
	$template = PostgreSQL::Test::Cluster->new('template');
	$template->init(allows_streaming => 1);
	$template->append_conf('postgresql.conf', "timezone = 'UTC'\nlc_messages = 'C'\n");
	$template->start;
	$template->safe_psql('postgres', 'CREATE DATABASE shop');
	$template->stop;
	$template->backup_fs_cold('template');
	return $template;
}

sub version { return template()->pg_version }

# The reader of these blocks. Database shop of each server has the extension, unless one of its blocks creates it.
sub new
{
	my ($class, $name, @blocks) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	mkdir "$dir/etc" or die "$dir/etc: $!";
	mkdir "$dir/home" or die "$dir/home: $!";
	# He stands at the top of a checkout, into which nothing is written.
	symlink($_, "$dir/home/" . basename($_)) or die "$_: $!" for grep { !m{/(?:build|tmp|tmp_check)$} } glob(source_dir() . '/*');
	my %creates;
	$creates{ $_->{server} } += $_->{text} =~ /\bCREATE EXTENSION (?:IF NOT EXISTS )?flakeid\b/ && !$_->{skip} for @blocks;
	return bless { name => $name, dir => $dir, creates => \%creates, servers => {} }, $class;
}

# The server that the page calls so, started
sub server
{
	my ($self, $name) = @_;
	my $server = $self->{servers}{$name} //= do {
		my $node = PostgreSQL::Test::Cluster->new("$self->{name}_$name");
		$node->init_from_backup(template(), 'template');
		$node->start;
		$node->safe_psql('shop', 'CREATE EXTENSION flakeid') if !$self->{creates}{$name};
		{ node => $node };
	};
	return $server;
}

# Starts psql or bash, whose output is waited for by mark().
sub talk
{
	my ($self, $server, $what, @command) = @_;
	my $talk = $server->{$what} = { in => '', out => '' };
	my $node = $server->{node};
	local %ENV = (
		$node->_get_env(),
		HOME => "$self->{dir}/home",
		PGDATABASE => 'shop',
		PGDATA => $node->data_dir,
		PGCTLTIMEOUT => $PostgreSQL::Test::Utils::timeout_default,
		PGTZ => 'UTC');
	delete $ENV{$_} for qw(PGOPTIONS PGAPPNAME PAGER COLUMNS);
	$talk->{timer} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
	$talk->{run} = IPC::Run::start(\@command, '<', \$talk->{in}, '>&', \$talk->{out},
		init => sub { chdir "$self->{dir}/home" or die $! }, $talk->{timer});
	return $talk;
}

# What comes until the mark, and what follows the mark in its line; nothing follows where the program ended.
sub until_mark
{
	my ($talk, $input) = @_;
	$talk->{in} .= $input;
	$talk->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	my $mark = qr/^(.*?)--- end of the block (\d+)\n/ms;
	my $ended = 0;
	until ($talk->{out} =~ $mark || $ended)
	{
		$ended = !eval { $talk->{run}->pump };
		$talk->{out} .= "\nNothing more came: a quote that is open, or a program that goes on?" if $@ =~ /^IPC::Run: timeout/;
	}
	$talk->{timer}->reset;
	if ($talk->{out} !~ $mark)
	{
		$talk->{run}->kill_kill;
		return ($talk->{out}, undef);
	}
	my ($out, $said) = ($1, $2);
	$talk->{out} = $';
	return ($out, $said);
}

sub started
{
	my ($server) = @_;
	my @lines = split /\n/, eval { slurp_file($server->{node}->data_dir . '/postmaster.pid') } // '';
	return "@lines[0, 2]" if @lines > 2;
	return '';
}

# Runs a block and returns what it printed and, where it failed, why.
sub paste
{
	my ($self, $block) = @_;
	my $server = $self->server($block->{server});
	my $text = $self->led_here($block->{text});
	my $kind = $block->{kind};
	my ($out, $why) = $kind eq 'sql' ? $self->sql($server, $text) : $kind eq 'sh' ? $self->sh($server, $text) : $self->conf($server, $text);
	# A session ends with its server.
	(delete $server->{psql})->{run}->kill_kill if $server->{psql} && $server->{psql}{of} ne started($server);
	return ($self->led_back($out), $why);
}

sub sql
{
	my ($self, $server, $text) = @_;
	(my $statements = $text) =~ s/--[^\n]*$//gm;
	return ('', 'its last statement has no ";"') if $statements !~ /;\s*\z|\\[^\n;]*\s*\z/;
	my $psql = $server->{psql};
	if (!$psql)
	{
		$psql = $self->talk($server, 'psql', 'psql', '-Xq', '-f', '-');
		$psql->{of} = started($server);
	}
	my ($out, $said) = until_mark($psql, "$text\n\\echo '--- end of the block 0'\n");
	my ($why) = $out =~ /^psql:<stdin>:\d+: ((?:ERROR|FATAL|PANIC|WARNING|error|warning): .*)/m;
	if (!defined $said)
	{
		delete $server->{psql};
		$why = 'psql ended';
	}
	$out =~ s/^psql:<stdin>:\d+: (?:error: |warning: )?//gm;
	return ($out, $why);
}

sub sh
{
	my ($self, $server, $text) = @_;
	my $file = write_file("$self->{dir}/block", $text);
	my $bash = $server->{bash} // $self->talk($server, 'bash', 'bash', '--norc');
	my ($out, $status) = until_mark($bash,
		"failed=; trap 'failed=\$?' ERR; . $file >$file.out 2>&1 </dev/null; trap - ERR; echo --- end of the block \${failed:-0}\n");
	delete $server->{bash} if !defined $status;
	my $printed = slurp_file("$file.out");
	return ("$printed$out", !defined $status ? 'the shell ended' : $status ? "exit status $status" : undef);
}

# Lines for postgresql.conf; the server is started anew.
sub conf
{
	my ($self, $server, $text) = @_;
	$server->{node}->append_conf('postgresql.conf', $text);
	$server->{node}->stop;
	my $started = $server->{node}->start(fail_ok => 1);
	return ('', undef) if $started;
	my @log = split /^/, slurp_file($server->{node}->logfile);
	return (join('', @log[-3 .. -1]), 'the server does not start');
}

sub led_here
{
	my ($self, $text) = @_;
	$text =~ s{/etc/postgresql\b}{$self->{dir}/etc}g;
	# "host=a,b" in a connection string, "host 'a'" among the options of a foreign server
	$text =~ s/\bhost(?:=(\w+)[\w,]*| '(\w+)')/$self->address($&, $1 \/\/ $2, defined $2)/ge;
	return $text;
}

sub address
{
	my ($self, $text, $name, $quoted) = @_;
	return $text if !exists $self->{creates}{$name};
	my $node = $self->server($name)->{node};
	return $quoted ? sprintf("host '%s', port '%s'", $node->host, $node->port) : sprintf('host=%s port=%s', $node->host, $node->port);
}

sub led_back
{
	my ($self, $text) = @_;
	$text =~ s{\Q$self->{dir}\E/etc}{/etc/postgresql}g;
	$text =~ s{\Q$self->{dir}\E}{~}g;
	$text =~ s/[ \t]+$//gm;
	return $text;
}

sub leave
{
	my ($self) = @_;
	for my $server (values %{ $self->{servers} })
	{
		for my $talk (grep { $_ } @$server{qw(psql bash)})
		{
			$talk->{run}->kill_kill;
		}
		$server->{node}->stop('immediate', fail_ok => 1);
		$server->{node}->clean_node;
	}
	return;
}

1;
