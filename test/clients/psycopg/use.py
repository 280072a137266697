import asyncio
import os

import psycopg

from flake import register_flake, register_flake_async

TICKETS = (
    "CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text, near flake_sealed[])",
    "CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)",
)

print("version: psycopg", psycopg.__version__)
connection = psycopg.connect("")
cursor = connection.cursor()
cursor.execute("CREATE EXTENSION flakeid")
cursor.execute("CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])")
for statement in TICKETS:
    cursor.execute(statement)
cursor.execute("INSERT INTO orders (item) VALUES ('text') RETURNING id")
assert isinstance(cursor.fetchone()[0], str)  # what happens without the file
connection.commit()
register_flake(connection)

# What comes back is the same in text and in binary.
for binary in (False, True):
    cursor = connection.cursor(binary=binary)
    cursor.execute("TRUNCATE orders")

    # One row: the id comes back from INSERT and serves as a parameter.
    cursor.execute("INSERT INTO orders (item) VALUES (%s) RETURNING id", ("tea",))
    (new,) = cursor.fetchone()
    assert isinstance(new, int) and new > 2**53
    for placeholder in ("%s", "%b", "%t"):
        cursor.execute(f"SELECT item FROM orders WHERE id = {placeholder}", (new,))
        assert cursor.fetchone() == ("tea",)

    # Many rows: their ids in one round trip each.
    cursor.executemany(
        "INSERT INTO orders (item) VALUES (%s) RETURNING id", [(f"item {n}",) for n in range(80)], returning=True
    )
    ids = [cursor.fetchone()[0]]
    while cursor.nextset():
        ids.append(cursor.fetchone()[0])
    assert ids == sorted(set(ids)) and len(ids) == 80 and ids[0] > new

    # A block of ids before there are rows.
    block = [row[0] for row in cursor.execute("SELECT flake_next_many(%s)", (50,))]
    assert len(set(block)) == 50 and block[0] > ids[-1]

    # Arrays, with NULL; small numbers are sent as int2
    for odd in ([2**53 + 1, None, -(2**63), 2**63 - 1], [1, 2]):
        cursor.execute("UPDATE orders SET near = %s::flake[] WHERE id = %s RETURNING near", (odd, new))
        assert cursor.fetchone() == (odd,)
    cursor.execute("SELECT count(*) FROM orders WHERE id = ANY(%s)", (ids,))
    assert cursor.fetchone() == (80,)

    # Pages by the last id seen
    seen, last = [], new
    for _ in range(8):
        cursor.execute("SELECT id FROM orders WHERE id > %s ORDER BY id LIMIT 10", (last,))
        page = [row[0] for row in cursor]
        seen, last = seen + page, page[-1]
    assert seen == ids

    # JSON carries the id as a string.
    cursor.execute("SELECT json_agg(o) FROM (SELECT id FROM orders WHERE id = %s) AS o", (new,))
    assert cursor.fetchone()[0] == [{"id": str(new)}]

    # COPY BINARY both ways: on the wire a flake is an int8.
    with cursor.copy("COPY orders (id, item) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int8", "text"])
        for i in block:
            copy.write_row((i, "copied"))
    with cursor.copy("COPY (SELECT id FROM orders WHERE item = 'copied' ORDER BY id) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["int8"])
        assert [row[0] for row in copy.rows()] == block

    # A statement that the server has prepared
    for _ in range(10):
        cursor.execute("SELECT item FROM orders WHERE id = %s", (new,), prepare=True)
        assert cursor.fetchone() == ("tea",)
    for name in ("bigint", "text", "unknown", "flake"):
        cast = "::flake" if name == "text" else ""
        cursor.execute(f"PREPARE by_{name} ({name}) AS SELECT item FROM orders WHERE id = $1{cast}")
        cursor.execute(f"EXECUTE by_{name} ('{new}')")
        assert cursor.fetchone() == ("tea",), name
        cursor.execute(f"DEALLOCATE by_{name}")

    # Sealed ids are texts, and a text that is none is no row.
    cursor.execute("INSERT INTO tickets (item) SELECT 'item ' || n FROM generate_series(1, 3) AS n RETURNING id")
    tickets = [row[0] for row in cursor]
    text = connection.execute("SELECT array_agg(id::text ORDER BY id) FROM tickets WHERE item <> 'copied'").fetchone()[0]
    assert tickets == text[-3:] and all(len(ticket) == int(os.environ["FLAKEID_DIGITS"]) for ticket in tickets), (tickets, text)
    for placeholder in ("%s", "%b", "%t"):
        cursor.execute(f"SELECT item FROM tickets WHERE id = {placeholder}", (tickets[0],))
        assert cursor.fetchone() == ("item 1",)
    cursor.execute("INSERT INTO replies (ticket_id) VALUES (%s) RETURNING ticket_id", (tickets[0],))
    assert cursor.fetchone() == (tickets[0],)
    cursor.execute("SELECT id FROM tickets WHERE id = ANY(%s) ORDER BY id", (tickets,))
    assert [row[0] for row in cursor] == tickets
    cursor.execute("UPDATE tickets SET near = %s WHERE id = %s RETURNING near", ([tickets[1], None], tickets[0]))
    assert cursor.fetchone() == ([tickets[1], None],)
    cursor.execute("SELECT id FROM tickets WHERE id = flake_sealed_or_null(%s)", ("favicon.ico",))
    assert cursor.fetchone() is None
    with cursor.copy("COPY replies (ticket_id) FROM STDIN") as copy:
        copy.write_row((tickets[1],))
    with cursor.copy("COPY (SELECT ticket_id FROM replies ORDER BY id) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["flake_sealed"])
        assert [row[0] for row in copy.rows()][-2:] == tickets[:2]
connection.commit()


async def main():
    async with await psycopg.AsyncConnection.connect("") as connection:
        await register_flake_async(connection)
        cursor = await connection.execute("SELECT array_agg(id ORDER BY id), %s::flake FROM orders WHERE item = 'copied'", (new,))
        assert await cursor.fetchone() == (block, new)
        cursor = await connection.execute("SELECT array_agg(id ORDER BY id), %s::flake_sealed FROM tickets", (tickets[0],))
        assert (await cursor.fetchone())[1] == tickets[0]


asyncio.run(main())
