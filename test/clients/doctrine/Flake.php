<?php
// Type flake in Doctrine: an int in PHP.

use Doctrine\DBAL\Connection;
use Doctrine\DBAL\ParameterType;
use Doctrine\DBAL\Platforms\AbstractPlatform;
use Doctrine\DBAL\Types\PhpIntegerMappingType;
use Doctrine\DBAL\Types\Type;
use Doctrine\ORM\EntityManagerInterface;
use Doctrine\ORM\Id\AbstractIdGenerator;

/** PhpIntegerMappingType lets a default such as flake_next() pass without quotes. */
class FlakeType extends Type implements PhpIntegerMappingType
{
    public static function register(Connection $connection): void
    {
        if (!Type::hasType('flake')) {
            Type::addType('flake', self::class);
        }
        $connection->getDatabasePlatform()->registerDoctrineTypeMapping('flake', 'flake');
    }

    public function getSQLDeclaration(array $column, AbstractPlatform $platform): string
    {
        return 'flake';
    }

    public function getName(): string
    {
        return 'flake';
    }

    public function convertToPHPValue($value, AbstractPlatform $platform): ?int
    {
        return $value === null ? null : (int) $value;
    }

    public function getBindingType(): int
    {
        return ParameterType::INTEGER;
    }
}

/** Ids of flake_next_many(): 50 in one round trip, and known before the flush. */
class FlakeGenerator extends AbstractIdGenerator
{
    private array $ids = [];

    public function generateId(EntityManagerInterface $em, $entity): int
    {
        if ($this->ids === []) {
            $this->ids = $em->getConnection()->fetchFirstColumn('SELECT flake_next_many(50)');
        }
        return (int) array_shift($this->ids);
    }
}
