import json
import warnings

import pandas
import sqlalchemy
from sqlalchemy import text

from flake import Flake, FlakeSealed, read_ids

print("version: pandas", pandas.__version__)
engine = sqlalchemy.create_engine("postgresql+psycopg2://")
with engine.begin() as connection:
    connection.execute(text("CREATE EXTENSION flakeid"))
    connection.execute(text("CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), before flake, item text)"))
    # New rows: leave the column of the id out and the server fills it.
    items = pandas.DataFrame({"item": [f"item {n}" for n in range(80)]})
    items.to_sql("orders", connection, if_exists="append", index=False, method="multi")
    connection.execute(text("UPDATE orders o SET before = (SELECT id FROM orders WHERE id < o.id ORDER BY id DESC LIMIT 1)"))

    # A missing value makes no float of the rest.
    orders = read_ids("SELECT * FROM orders ORDER BY id", connection, ["id", "before"])
    assert list(orders.dtypes[["id", "before"]]) == ["Int64", "Int64"]
    assert orders["before"].isna().sum() == 1
    assert list(orders["before"][1:]) == list(orders["id"][:-1])
    as_bigint = pandas.read_sql_query("SELECT before::bigint FROM orders ORDER BY id", connection)
    assert as_bigint["before"].dtype == "float64"  # what read_ids and flake avoid

    # Ids of a block, into a table of our own
    block = read_ids("SELECT id FROM flake_next_many(50) AS id", connection)
    block["item"] = "block"
    block.loc[50] = [2**53 + 1, "odd"]
    block.to_sql("orders", connection, if_exists="append", index=False)
    again = read_ids("SELECT id, item FROM orders WHERE before IS NULL AND item IN ('block', 'odd') ORDER BY item, id", connection)
    assert list(again["id"]) == list(block["id"])
    block.to_sql("blocks", connection, index=False, dtype={"id": Flake})
    assert connection.execute(text("SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = 'blocks'::regclass AND attname = 'id'")).scalar() == "flake"

    # Sealed ids are texts; a table that points at them, and back by a join of pandas
    connection.execute(text("CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text)"))
    items[:5].to_sql("tickets", connection, if_exists="append", index=False, method="multi")
    tickets = pandas.read_sql_query("SELECT * FROM tickets ORDER BY id", connection)
    assert tickets["id"].str.fullmatch("[0-9a-v]{13}").all() and list(tickets["item"]) == list(items["item"][:5])
    replies = tickets[["id"]].rename(columns={"id": "ticket_id"})
    replies.to_sql("replies", connection, index=False, dtype={"ticket_id": FlakeSealed})
    connection.execute(text("ALTER TABLE replies ADD FOREIGN KEY (ticket_id) REFERENCES tickets"))
    replies = pandas.read_sql_query("SELECT * FROM replies", connection)
    assert list(replies.merge(tickets, left_on="ticket_id", right_on="id")["item"]) == list(tickets["item"])
    stranger = pandas.read_sql_query(text("SELECT * FROM tickets WHERE id = flake_sealed_or_null(:text)"), connection, params={"text": "favicon.ico"})
    assert stranger.empty

    # max() is a bigint, and beside a NULL a float as well.
    by_item = "SELECT item, max(id) FILTER (WHERE item = 'odd')%s AS last FROM blocks GROUP BY item ORDER BY item"
    assert list(read_ids(by_item % "", connection, ["last"])["last"].dropna()) == [2**53]
    assert list(read_ids(by_item % "::flake", connection, ["last"])["last"].dropna()) == [2**53 + 1]

    # A join in pandas, pages, one parameter
    assert len(block.merge(again, on="id")) == 51
    last, pages = 0, []
    for _ in range(8):
        page = read_ids(text("SELECT id FROM orders WHERE item LIKE 'item%' AND id > :last ORDER BY id LIMIT 10"), connection, params={"last": last})
        last = int(page["id"].iloc[-1])
        pages.append(page)
    assert list(pandas.concat(pages)["id"]) == list(orders["id"])

    # CSV and JSON: text is whole, and is read as Int64 again.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = json.loads(orders.astype({"id": "string", "before": "string"}).to_json(orient="records"))
    assert made[1]["before"] == str(orders["id"][0])
    orders.to_csv("orders.csv", index=False)
    again = pandas.read_csv("orders.csv", dtype={"id": "Int64", "before": "Int64"})
    pandas.testing.assert_frame_equal(again, orders)
