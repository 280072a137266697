import asyncio

import psycopg

from flake import register_flake, register_flake_async

print("version: psycopg", psycopg.__version__)
connection = psycopg.connect("")
cursor = connection.cursor()
cursor.execute("CREATE EXTENSION flakeid")
cursor.execute("CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])")
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
connection.commit()


async def main():
    async with await psycopg.AsyncConnection.connect("") as connection:
        await register_flake_async(connection)
        cursor = await connection.execute("SELECT array_agg(id ORDER BY id), %s::flake FROM orders WHERE item = 'copied'", (new,))
        assert await cursor.fetchone() == (block, new)


asyncio.run(main())
