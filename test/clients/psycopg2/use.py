import io
import json

import psycopg2
from psycopg2.extras import execute_values

from flake import register_flake

print("version: psycopg2", psycopg2.__version__.split()[0])
connection = psycopg2.connect("")
cursor = connection.cursor()
cursor.execute("CREATE EXTENSION flakeid")
cursor.execute("CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])")
cursor.execute("INSERT INTO orders (item) VALUES ('text') RETURNING id")
assert isinstance(cursor.fetchone()[0], str)  # what happens without the file
cursor.execute("CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text, near flake_sealed[])")
cursor.execute("CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)")
register_flake(connection)

# One row: the id comes back from INSERT and serves as a parameter.
cursor.execute("INSERT INTO orders (item) VALUES (%s) RETURNING id", ("tea",))
(new,) = cursor.fetchone()
assert isinstance(new, int) and new > 2**53
cursor.execute("SELECT item FROM orders WHERE id = %s", (new,))
assert cursor.fetchone() == ("tea",)
cursor.execute("SELECT item FROM orders WHERE id = %s", (str(new),))
assert cursor.fetchone() == ("tea",)

# Many rows: their ids in one round trip.
ids = execute_values(
    cursor,
    "INSERT INTO orders (item) VALUES %s RETURNING id",
    [(f"item {n}",) for n in range(80)],
    page_size=80,
    fetch=True,
)
ids = [row[0] for row in ids]
assert ids == sorted(set(ids)) and ids[0] > new

# A block of ids before there are rows.
cursor.execute("SELECT flake_next_many(%s)", (50,))
block = [row[0] for row in cursor]
assert len(set(block)) == 50 and block[0] > ids[-1]

# Arrays, with NULL
odd = [2**53 + 1, None, -(2**63), 2**63 - 1]
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
cursor.execute("SELECT item FROM json_populate_record(NULL::orders, %s)", (json.dumps({"id": new, "item": "x"}),))
assert cursor.fetchone() == ("x",)

# COPY, in text
text = io.StringIO("".join(f"{i}\tcopied\n" for i in block))
cursor.copy_expert("COPY orders (id, item) FROM STDIN", text)
cursor.execute("SELECT array_agg(id ORDER BY id) FROM orders WHERE item = 'copied'")
assert cursor.fetchone()[0] == block

# Sealed ids are texts, and a text that is none is no row.
rows = execute_values(cursor, "INSERT INTO tickets (item) VALUES %s RETURNING id", [("tea",), ("pen",)], fetch=True)
tickets = [row[0] for row in rows]
assert all(len(ticket) == 13 for ticket in tickets)
cursor.execute("INSERT INTO replies (ticket_id) VALUES (%s) RETURNING ticket_id", (tickets[0],))
assert cursor.fetchone() == (tickets[0],)
cursor.execute("SELECT id FROM tickets WHERE id = ANY(%s) ORDER BY id", (tickets,))
assert [row[0] for row in cursor] == tickets
cursor.execute("UPDATE tickets SET near = %s WHERE id = %s RETURNING near", ([tickets[1], None], tickets[0]))
assert cursor.fetchone() == ([tickets[1], None],)
cursor.execute("SELECT id FROM tickets WHERE id = flake_sealed_or_null(%s)", ("favicon.ico",))
assert cursor.fetchone() is None
cursor.copy_expert("COPY replies (ticket_id) FROM STDIN", io.StringIO(tickets[1] + "\n"))
cursor.execute("SELECT array_agg(ticket_id ORDER BY id) FROM replies")
assert cursor.fetchone()[0] == tickets

# PREPARE with each type that a parameter can have
for name in ("bigint", "text", "unknown", "flake"):
    cast = "::flake" if name == "text" else ""
    cursor.execute(f"PREPARE by_{name} ({name}) AS SELECT item FROM orders WHERE id = $1{cast}")
    cursor.execute(f"EXECUTE by_{name} (%s)", (str(new) if name == "text" else new,))
    assert cursor.fetchone() == ("tea",), name
