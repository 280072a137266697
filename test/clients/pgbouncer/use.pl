# Ids of one client of a pool whose connections take turns: rise COUNT, or mix COUNT. Prints how many backends
# served, how many ids there are, and how often one was below the one before.
use strict;
use warnings;
use DBI;

my ($port) = @ARGV;
my @clients = map { DBI->connect("dbi:Pg:port=$port", undef, undef, { RaiseError => 1, pg_server_prepare => 0 }) } 1 .. 2;

# While this transaction is open the other client has the other connection: now the pool has both.
$clients[0]->begin_work;
my ($first) = $clients[0]->selectrow_array('SELECT pg_backend_pid()');
my ($second) = $clients[1]->selectrow_array('SELECT pg_backend_pid()');
$clients[0]->commit;

my (%backends, %ids, $falls, $last);
for (1 .. 40)
{
	my ($id, $backend) = $clients[1]->selectrow_array('INSERT INTO orders DEFAULT VALUES RETURNING id, pg_backend_pid()');
	$falls++ if defined $last && $id < $last;
	$last = $id;
	$ids{$id} = $backends{$backend} = 1;
}
printf "%d backends, %d ids, %s\n", scalar keys %backends, scalar keys %ids, $falls ? 'mixed' : 'rising';
