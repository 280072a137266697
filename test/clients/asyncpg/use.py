import asyncio
import io

import asyncpg

from flake import register_flake

print("version: asyncpg", asyncpg.__version__)


async def main():
    first = await asyncpg.connect()
    await first.execute("CREATE EXTENSION flakeid")
    await first.execute("CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])")
    await first.execute("CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text, near flake_sealed[])")
    await first.execute("CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)")

    # What happens without the file: a str comes back, and bigint's operators refuse it as a parameter.
    text = await first.fetchval("INSERT INTO orders (item) VALUES ('text') RETURNING id")
    try:
        await first.fetchval("SELECT item FROM orders WHERE id = $1", text)
        raise AssertionError("a str was taken for an id")
    except asyncpg.DataError:
        pass

    pool = await asyncpg.create_pool(init=register_flake, min_size=2, max_size=2)
    async with pool.acquire() as connection:
        # One row: the id comes back from INSERT and serves as a parameter.
        new = await connection.fetchval("INSERT INTO orders (item) VALUES ($1) RETURNING id", "tea")
        assert isinstance(new, int) and new > 2**53
        for cast in ("", "::bigint", "::flake"):
            assert await connection.fetchval(f"SELECT item FROM orders WHERE id = $1{cast}", new) == "tea"
        assert await connection.fetchval("SELECT item FROM orders WHERE id = $1::text::flake", str(new)) == "tea"

        # Many rows: their ids in one round trip.
        rows = await connection.fetch(
            "INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING id", [f"item {n}" for n in range(80)]
        )
        ids = [row["id"] for row in rows]
        assert ids == sorted(set(ids)) and len(ids) == 80 and ids[0] > new

        # A block of ids before there are rows.
        block = [row[0] for row in await connection.fetch("SELECT flake_next_many($1)", 50)]
        assert len(set(block)) == 50 and block[0] > ids[-1]

        # Arrays, with NULL
        odd = [2**53 + 1, None, -(2**63), 2**63 - 1]
        assert await connection.fetchval("UPDATE orders SET near = $1 WHERE id = $2 RETURNING near", odd, new) == odd
        for cast in ("", "::flake[]", "::bigint[]"):
            assert await connection.fetchval(f"SELECT count(*) FROM orders WHERE id = ANY($1{cast})", ids) == 80

        # Pages by the last id seen
        seen, last = [], new
        for _ in range(8):
            page = [
                row["id"]
                for row in await connection.fetch("SELECT id FROM orders WHERE id > $1 ORDER BY id LIMIT 10", last)
            ]
            seen, last = seen + page, page[-1]
        assert seen == ids

        # JSON carries the id as a string.
        json = await connection.fetchval("SELECT json_agg(o) FROM (SELECT id FROM orders WHERE id = $1) AS o", new)
        assert json == f'[{{"id":"{new}"}}]'

        # COPY BINARY, which asyncpg always uses here
        await connection.copy_records_to_table("orders", records=[(i, "copied") for i in block], columns=["id", "item"])
        copied = await connection.fetchval("SELECT array_agg(id ORDER BY id) FROM orders WHERE item = 'copied'")
        assert copied == block

        # A prepared statement
        by_id = await connection.prepare("SELECT item FROM orders WHERE id = $1")
        for i in ids[:10]:
            assert (await by_id.fetchval(i)).startswith("item ")

        # Sealed ids are texts, and a text that is none is no row.
        rows = await connection.fetch("INSERT INTO tickets (item) SELECT unnest($1::text[]) RETURNING id", ["tea", "pen"])
        tickets = [row["id"] for row in rows]
        assert all(len(ticket) == 13 for ticket in tickets)
        assert await connection.fetchval("SELECT item FROM tickets WHERE id = $1", tickets[0]) == "tea"
        assert await connection.fetchval("SELECT array_agg(id ORDER BY id) FROM tickets WHERE id = ANY($1)", tickets) == tickets
        near = [tickets[1], None]
        assert await connection.fetchval("UPDATE tickets SET near = $1 WHERE id = $2 RETURNING near", near, tickets[0]) == near
        assert await connection.fetchval("SELECT id FROM tickets WHERE id = flake_sealed_or_null($1)", "favicon.ico") is None
        # copy_records_to_table is binary, where a sealed id is no text.
        await connection.copy_to_table("replies", source=io.BytesIO("\n".join(tickets).encode()), columns=["ticket_id"])
        assert await connection.fetchval("SELECT array_agg(ticket_id ORDER BY id) FROM replies") == tickets
    await pool.close()
    await first.close()


asyncio.run(main())
