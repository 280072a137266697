<?php
// Types flake and flake_sealed in Doctrine: an int and a string in PHP.

use Doctrine\DBAL\Connection;
use Doctrine\DBAL\ParameterType;
use Doctrine\DBAL\Platforms\AbstractPlatform;
use Doctrine\DBAL\Types\PhpIntegerMappingType;
use Doctrine\DBAL\Types\Type;
use Doctrine\ORM\EntityManagerInterface;
use Doctrine\ORM\Id\AbstractIdGenerator;
use Doctrine\ORM\Query\AST\Functions\FunctionNode;
use Doctrine\ORM\Query\AST\Node;
use Doctrine\ORM\Query\Lexer;
use Doctrine\ORM\Query\Parser;
use Doctrine\ORM\Query\SqlWalker;

/** PhpIntegerMappingType lets a default such as flake_next() pass without quotes. */
class FlakeType extends Type implements PhpIntegerMappingType
{
    public static function register(Connection $connection): void
    {
        foreach (['flake' => self::class, 'flake_sealed' => FlakeSealedType::class] as $name => $class) {
            if (!Type::hasType($name)) {
                Type::addType($name, $class);
            }
            $connection->getDatabasePlatform()->registerDoctrineTypeMapping($name, $name);
        }
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

class FlakeSealedType extends Type implements PhpIntegerMappingType
{
    public function getSQLDeclaration(array $column, AbstractPlatform $platform): string
    {
        return 'flake_sealed';
    }

    public function getName(): string
    {
        return 'flake_sealed';
    }
}

/** FLAKE_SEALED_OR_NULL(:id) in DQL: a text from outside that is no sealed id finds no row. */
class FlakeSealedOrNull extends FunctionNode
{
    private Node $text;

    public function parse(Parser $parser): void
    {
        $parser->match(Lexer::T_IDENTIFIER);
        $parser->match(Lexer::T_OPEN_PARENTHESIS);
        $this->text = $parser->StringPrimary();
        $parser->match(Lexer::T_CLOSE_PARENTHESIS);
    }

    public function getSql(SqlWalker $sqlWalker): string
    {
        return 'flake_sealed_or_null(' . $this->text->dispatch($sqlWalker) . ')';
    }
}

/** Ids that are known before the flush: 50 in one round trip. */
class FlakeGenerator extends AbstractIdGenerator
{
    protected const SQL = 'SELECT flake_next_many(50)';
    private array $ids = [];

    public function generateId(EntityManagerInterface $em, $entity): int|string
    {
        if ($this->ids === []) {
            $this->ids = $em->getConnection()->fetchFirstColumn(static::SQL);
        }
        return array_shift($this->ids);
    }
}

class FlakeSealedGenerator extends FlakeGenerator
{
    protected const SQL = 'SELECT flake_next()::flake_sealed FROM generate_series(1, 50)';
}
