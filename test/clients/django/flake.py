"""Type flake in Django with psycopg2."""

import psycopg2.extensions as pg
from django.contrib.postgres.operations import CreateExtension
from django.db import models
from django.db.backends.signals import connection_created


class FlakeField(models.BigIntegerField):
    """A column of ids that others made, or that flake_next_many() made beforehand."""

    def db_type(self, connection):
        return "flake" if connection.vendor == "postgresql" else super().db_type(connection)

    rel_db_type = db_type


class FlakeAutoField(models.BigAutoField):
    """A primary key that the server fills. default_auto_field = "flake.FlakeAutoField" in an AppConfig makes it that of
    an app. As DEFAULT_AUTO_FIELD it would also be that of django_migrations, a table that comes before the extension."""

    def db_type(self, connection):
        return "flake" if connection.vendor == "postgresql" else super().db_type(connection)

    def db_type_suffix(self, connection):
        return "DEFAULT flake_next()" if connection.vendor == "postgresql" else super().db_type_suffix(connection)

    def rel_db_type(self, connection):
        return "flake" if connection.vendor == "postgresql" else super().rel_db_type(connection)


def register_flake(connection, **_):
    """Ids come back as int, flake[] as lists."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regtype('flake')::oid, to_regtype('flake[]')::oid")
        oid, array_oid = cursor.fetchone()
    if oid:
        flake = pg.new_type((oid,), "flake", pg.INTEGER)
        pg.register_type(flake, connection.connection)
        pg.register_type(pg.new_array_type((array_oid,), "flake[]", flake), connection.connection)


connection_created.connect(register_flake)


class FlakeExtension(CreateExtension):
    """The first operation of the first migration."""

    def __init__(self):
        super().__init__("flakeid")

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        register_flake(schema_editor.connection)
