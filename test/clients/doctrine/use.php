<?php

use Doctrine\ORM\EntityManager;
use Doctrine\ORM\ORMSetup;
use Doctrine\ORM\Tools\SchemaTool;

require 'Doctrine/ORM/autoload.php';
require 'Symfony/Component/Cache/autoload.php';
require 'Flake.php';
require 'Entities.php';

error_reporting(E_ALL & ~E_DEPRECATED & ~E_USER_DEPRECATED);
foreach (['orm', 'dbal'] as $part) {
    passthru("dpkg-query -W -f 'version: Doctrine " . strtoupper($part) . " \${Version}\\n' php-doctrine-$part");
}

function check(mixed $found, mixed $expected): void
{
    if ($found !== $expected) {
        throw new Exception(var_export($found, true) . ' is not ' . var_export($expected, true));
    }
}

function shown(string $what): void
{
    echo 'shown: ', getenv('FLAKEID_SCHEMA'), " $what\n";
}

$config = ORMSetup::createAttributeMetadataConfiguration([], true);
$config->addCustomStringFunction('FLAKE_SEALED_OR_NULL', FlakeSealedOrNull::class);
$database = [
    'driver' => 'pdo_pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'dbname' => getenv('PGDATABASE'),
    'user' => getenv('PGUSER'), 'password' => getenv('PGPASSWORD'),
];
$em = EntityManager::create($database, $config);
$connection = $em->getConnection();
FlakeType::register($connection);
$connection->executeStatement('CREATE EXTENSION IF NOT EXISTS flakeid');
$classes = array_map(fn ($class) => $em->getClassMetadata($class), [Purchase::class, Line::class, Ticket::class, Reply::class, Invoice::class, Payment::class]);
$tool = new SchemaTool($em);
$manager = $connection->createSchemaManager();

function tables(): array
{
    global $manager;
    $names = array_map(fn ($table) => $table->getName(), $manager->introspectSchema()->getTables());
    sort($names);
    return array_values($names);
}

/** What doctrine:migrations:diff would write */
function difference(): array
{
    global $manager, $tool, $classes, $connection;
    $change = $manager->createComparator()->compareSchemas($manager->introspectSchema(), $tool->getSchemaFromMetadata($classes));
    return $connection->getDatabasePlatform()->getAlterSchemaSQL($change);
}

// The first migration creates, the second has nothing to do; everything goes and comes again.
foreach ([1, 2] as $round) {
    check(tables(), []);
    check($manager->introspectSchema()->getSequences(), []);
    $create = difference();
    check($create, $tool->getUpdateSchemaSql($classes));
    check(count(preg_grep('/^DROP/', $create)), 0);
    array_walk($create, fn ($sql) => $connection->executeStatement($sql));
    check(difference(), []);
    check($tool->getUpdateSchemaSql($classes), []);
    check(tables(), ['invoices', 'lines', 'orders', 'payments', 'replies', 'tickets']);
    check($manager->listTableColumns('lines')['order_id']->getDefault(), null);
    if ($round === 1) {
        shown('create');
        shown('second run');
        $tool->dropDatabase();
        check(tables(), []);
        $connection->executeStatement('DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE EXTENSION IF NOT EXISTS flakeid');
    }
}
shown('drop and reload');
// listTableNames() looks into every schema.
$config->setSchemaAssetsFilter(fn ($asset) => !str_starts_with(is_string($asset) ? $asset : $asset->getName(), 'flakeid.'));
$names = $manager->listTableNames();
sort($names);
check($names, tables());

// Ids are known before the flush.
$orders = [];
for ($n = 0; $n < 80; $n++) {
    $orders[] = $order = new Purchase("item $n");
    $order->lines->add(new Line($order));
    $em->persist($order);
}
$ids = array_map(fn ($order) => $order->id, $orders);
check($ids[0] > 2 ** 53, true);
$em->flush();
$em->clear();

$first = $em->find(Purchase::class, $ids[0]);
check($first->item, 'item 0');
check($first->lines->first()->order === $first, true);
check((int) $em->createQuery('SELECT max(o.id) FROM Purchase o')->getSingleScalarResult(), max($ids));
check(count($em->getRepository(Purchase::class)->findBy(['id' => $ids])), 80);

// Pages by the last id seen
$seen = [];
for ($page = 0; $page < 8; $page++) {
    $query = $em->createQuery('SELECT o.id FROM Purchase o WHERE o.id > :last ORDER BY o.id')->setParameter('last', end($seen) ?: 0, 'flake');
    $seen = array_merge($seen, array_map('intval', $query->setMaxResults(10)->getSingleColumnResult()));
}
check($seen, $ids);

// JSON: of the server, strings; of PHP, numbers unless said otherwise
$json = $connection->fetchOne("SELECT json_build_object('id', id) FROM orders WHERE id = ?", [$ids[0]]);
check(json_decode($json, true), ['id' => (string) $ids[0]]);
check(json_encode($first->id), (string) $ids[0]);

// A row that somebody else inserts has an id of its own.
$connection->executeStatement("INSERT INTO orders (item) VALUES ('by hand')");
check($connection->fetchOne('SELECT count(DISTINCT id) FROM orders'), 81);

// Sealed ids are texts, and a text that is none is no row.
$tickets = [];
for ($n = 0; $n < 80; $n++) {
    $tickets[] = $ticket = new Ticket("item $n");
    $ticket->replies->add(new Reply($ticket));
    $em->persist($ticket);
}
$ids = array_map(fn ($ticket) => $ticket->id, $tickets);
check(preg_match('/^[0-9a-v]{13}$/', $ids[0]), 1);
$em->flush();
$em->clear();
$ticket = $em->find(Ticket::class, $ids[0]);
check($ticket->item, 'item 0');
check($ticket->replies->first()->ticket === $ticket, true);
check(count($em->getRepository(Ticket::class)->findBy(['id' => $ids])), 80);
$connection->executeStatement("INSERT INTO tickets (item) VALUES ('by hand')");
check($em->createQuery('SELECT t.id FROM Ticket t ORDER BY t.id')->setMaxResults(80)->getSingleColumnResult(), $ids);

function ticket(string $text): ?Ticket
{
    global $em;
    $query = $em->createQuery('SELECT t FROM Ticket t WHERE t.id = FLAKE_SEALED_OR_NULL(:id)');
    return $query->setParameter('id', $text)->getOneOrNullResult();
}

check(ticket($ids[0]), $ticket);
foreach (['favicon.ico', '', '0000000000000'] as $text) {
    check(ticket($text), null);
}

// The third kind of key
$em->persist($invoice = new Invoice());
$em->persist($payment = new Payment($invoice));
$em->flush();
$em->clear();
check($em->find(Payment::class, $payment->id)->invoice->id, $invoice->id);

// What tests make for themselves
$connection->executeStatement('CREATE DATABASE test_doctrine TEMPLATE ' . getenv('FLAKEID_TEMPLATE'));
$em = EntityManager::create(['dbname' => 'test_doctrine'] + $database, $config);
FlakeType::register($em->getConnection());
$em->getConnection()->executeStatement('CREATE EXTENSION IF NOT EXISTS flakeid');
(new SchemaTool($em))->createSchema($classes);
$em->persist($ticket = new Ticket('tea'));
$em->persist(new Reply($ticket));
$em->flush();
$em->clear();
check(ticket($ticket->id)->replies->first()->ticket->item, 'tea');
$em->getConnection()->close();
$connection->executeStatement('DROP DATABASE test_doctrine');
shown('test database');
