"""Type flake in psycopg2: an id is a Python int, a flake[] a list of them."""

import psycopg2.extensions as pg


def register_flake(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT 'flake'::regtype::oid, 'flake[]'::regtype::oid")
        oid, array_oid = cursor.fetchone()
    flake = pg.new_type((oid,), "flake", pg.INTEGER)
    pg.register_type(flake, connection)
    pg.register_type(pg.new_array_type((array_oid,), "flake[]", flake), connection)
