<?php
// flake in PDO: a string in PHP, as PDO gives bigint an int. PHP's int has 64 bits, so (int) keeps all of it.

function check(mixed $found, mixed $expected): void
{
    if ($found !== $expected) {
        throw new Exception(var_export($found, true) . ' is not ' . var_export($expected, true));
    }
}

function insert(PDO $db, string $item): int
{
    $insert = $db->prepare('INSERT INTO orders (item) VALUES (?) RETURNING id');
    $insert->execute([$item]);
    return (int) $insert->fetchColumn(); // lastInsertId() asks a sequence, and there is none
}

/** Ids before there are rows */
function block(PDO $db, int $n): array
{
    $select = $db->prepare('SELECT flake_next_many(?)');
    $select->execute([$n]);
    return array_map('intval', $select->fetchAll(PDO::FETCH_COLUMN));
}

function item(PDO $db, int|string $id): string|false
{
    $select = $db->prepare('SELECT item FROM orders WHERE id = ?');
    $select->execute([$id]);
    return $select->fetchColumn();
}

/** A text from outside: one that is no sealed id finds no row, so answer 404. */
function ticket(PDO $db, string $text): string|false
{
    $select = $db->prepare('SELECT item FROM tickets WHERE id = flake_sealed_or_null(?)');
    $select->execute([$text]);
    return $select->fetchColumn();
}

/** A page: the rows after the last id seen */
function page(PDO $db, int $last): array
{
    $select = $db->prepare('SELECT id FROM orders WHERE id > ? ORDER BY id LIMIT 10');
    $select->execute([$last]);
    return array_map('intval', $select->fetchAll(PDO::FETCH_COLUMN));
}

echo 'version: PHP ', PHP_VERSION, ' PDO, pgsql', "\n";
foreach ([false, true] as $emulate) {
    $db = new PDO('pgsql:host=' . getenv('PGHOST') . ';port=' . getenv('PGPORT') . ';dbname=' . getenv('PGDATABASE'),
        getenv('PGUSER'), getenv('PGPASSWORD'), [PDO::ATTR_EMULATE_PREPARES => $emulate]);
    $db->exec('CREATE EXTENSION IF NOT EXISTS flakeid');
    $db->exec('DROP TABLE IF EXISTS orders');
    $db->exec('CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])');

    $one = insert($db, 'tea');
    check($one > 2 ** 53, true);
    check(item($db, $one), 'tea');
    check(item($db, (string) $one), 'tea');
    $select = $db->prepare('SELECT id FROM orders WHERE id = :id::flake');
    foreach ([PDO::PARAM_INT, PDO::PARAM_STR] as $type) {
        $select->bindValue('id', $one, $type);
        $select->execute();
        check($select->fetchColumn(), (string) $one);
    }
    $ids = array_map('intval', $db->query(
        "INSERT INTO orders (item) SELECT 'item ' || n FROM generate_series(1, 80) AS n RETURNING id")->fetchAll(PDO::FETCH_COLUMN));
    $block = block($db, 50);
    check(count(array_unique($block)), 50);
    check($block[0] > end($ids), true);

    // Pages, arrays as text
    $seen = [];
    for ($i = 0; $i < 8; $i++) {
        $seen = array_merge($seen, page($db, end($seen) ?: $one));
    }
    check($seen, $ids);
    $any = $db->prepare('SELECT count(*) FROM orders WHERE id = ANY (CAST(? AS flake[]))');
    $any->execute(['{' . implode(',', $ids) . '}']);
    check($any->fetchColumn(), 80);

    // JSON of the server has strings. Of PHP's it has numbers, unless the id is still a string.
    $json = $db->query("SELECT json_build_object('id', id) FROM orders WHERE id = $one")->fetchColumn();
    check(json_decode($json, true), ['id' => (string) $one]);
    check(json_encode($db->query("SELECT id FROM orders WHERE id = $one")->fetch(PDO::FETCH_ASSOC)), '{"id":"' . $one . '"}');

    // COPY
    $db->pgsqlCopyFromArray('orders', array_map(fn ($id) => "$id\tcopied", $block), "\t", '\\\\N', 'id, item');
    check(array_map('intval', $db->query("SELECT id FROM orders WHERE item = 'copied' ORDER BY id")->fetchAll(PDO::FETCH_COLUMN)), $block);

    // Sealed ids are strings, and a string that is none is no row.
    $db->exec('DROP TABLE IF EXISTS replies, tickets');
    $db->exec('CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text)');
    $db->exec('CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)');
    $one = $db->query("INSERT INTO tickets (item) VALUES ('tea') RETURNING id")->fetchColumn();
    check(preg_match('/^[0-9a-v]{13}$/', $one), 1);
    $reply = $db->prepare('INSERT INTO replies (ticket_id) VALUES (?) RETURNING ticket_id');
    $reply->execute([$one]);
    check($reply->fetchColumn(), $one);
    check(ticket($db, $one), 'tea');
    foreach (['favicon.ico', '', '0000000000000'] as $text) {
        check(ticket($db, $text), false);
    }
    $any = $db->prepare('SELECT count(*) FROM tickets WHERE id = ANY (CAST(? AS flake_sealed[]))');
    $any->execute(["{{$one}}"]);
    check($any->fetchColumn(), 1);
    check($db->query('SELECT to_json(id) FROM tickets')->fetchColumn(), "\"$one\"");
}

// The functions of ext-pgsql: strings as well
$one = (int) $db->query('SELECT min(id) FROM orders')->fetchColumn();
$connection = pg_connect(sprintf('host=%s port=%s dbname=%s user=%s password=%s',
    ...array_map('getenv', ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGUSER', 'PGPASSWORD'])));
$result = pg_query_params($connection, 'SELECT id FROM orders WHERE id = $1', [$one]);
check(pg_fetch_result($result, 0, 0), (string) $one);
check(pg_field_type($result, 0), 'flake');
