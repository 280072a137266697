"""Types flake and flake_sealed in psycopg2: an id is a Python int, a sealed id a str, an array a list of them."""

import psycopg2.extensions as pg


def register_flake(connection):
    for name, loader in ("flake", pg.INTEGER), ("flake_sealed", pg.UNICODE):
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::regtype::oid, %s::regtype::oid", (name, name + "[]"))
            oid, array_oid = cursor.fetchone()
        type_ = pg.new_type((oid,), name, loader)
        pg.register_type(type_, connection)
        pg.register_type(pg.new_array_type((array_oid,), name + "[]", type_), connection)
