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

$config = ORMSetup::createAttributeMetadataConfiguration([], true);
$em = EntityManager::create([
    'driver' => 'pdo_pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'dbname' => getenv('PGDATABASE'),
    'user' => getenv('PGUSER'), 'password' => getenv('PGPASSWORD'),
], $config);
$connection = $em->getConnection();
FlakeType::register($connection);
$connection->executeStatement('CREATE EXTENSION flakeid');
$classes = [$em->getClassMetadata(Purchase::class), $em->getClassMetadata(Line::class)];
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
    check(tables(), ['lines', 'orders']);
    check($manager->listTableColumns('lines')['order_id']->getDefault(), null);
    if ($round === 1) {
        $tool->dropDatabase();
    }
}
// listTableNames() looks into every schema.
$config->setSchemaAssetsFilter(fn ($asset) => !str_starts_with(is_string($asset) ? $asset : $asset->getName(), 'flakeid.'));
check($manager->listTableNames(), ['orders', 'lines']);

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
