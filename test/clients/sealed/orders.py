import re

import psycopg
import psycopg2


def orders(connection):
    cursor = connection.cursor()

    def one(sql, *values):
        cursor.execute(sql, values)
        return cursor.fetchone()[0]

    new = one("INSERT INTO orders (item) VALUES (%s) RETURNING id", "pen")
    assert one("SELECT item FROM orders WHERE id = %s", new) == "pen"
    assert one("SELECT id FROM orders WHERE id = ANY (%s)", [new, "0000000000000"]) == new
    assert one("SELECT item FROM orders WHERE id = %s", new.upper()) == "pen"
    assert isinstance(new, str) and re.fullmatch("[0-9a-v]{13}", new), new
    assert one("SELECT count(*) FROM orders WHERE id = flake_sealed_or_null(%s)", "favicon.ico") == 0
    cursor.execute("INSERT INTO line VALUES (%s, 1)", (new,))
    assert one("SELECT order_id FROM line WHERE order_id = %s", new) == new
    assert one("SELECT to_json(orders) FROM orders WHERE id = %s", new) == {"id": new, "item": "pen"}
    connection.commit()


with psycopg.connect("") as connection:
    orders(connection)
    print("version: psycopg", psycopg.__version__)
with psycopg2.connect("") as connection:
    orders(connection)
    print("version: psycopg2", psycopg2.__version__.split()[0])
