"""Types flake and flake_sealed in Django with psycopg2."""

import psycopg2.extensions as pg
from django.contrib.postgres.operations import CreateExtension
from django.db import models
from django.db.backends.signals import connection_created
from django.db.models.lookups import Exact


class FlakeField(models.BigIntegerField):
    """A column of ids that others made, or that flake_next_many() made beforehand."""

    def db_type(self, connection):
        return "flake" if connection.vendor == "postgresql" else super().db_type(connection)

    rel_db_type = db_type


class MadeByFlakeNext:
    def db_type_suffix(self, connection):
        return "DEFAULT flake_next()" if connection.vendor == "postgresql" else super().db_type_suffix(connection)


class FlakeAutoField(MadeByFlakeNext, models.BigAutoField):
    """A primary key that the server fills. default_auto_field = "flake.FlakeAutoField" in an AppConfig makes it that of
    an app. As DEFAULT_AUTO_FIELD it would also be that of django_migrations, a table that comes before the extension."""

    def db_type(self, connection):
        return "flake" if connection.vendor == "postgresql" else super().db_type(connection)

    def rel_db_type(self, connection):
        return "flake" if connection.vendor == "postgresql" else super().rel_db_type(connection)


class FlakeSealedField(models.CharField):
    """A sealed id: a str. A text that is none finds no row, so that get_object_or_404() answers 404."""

    empty_strings_allowed = False

    def __init__(self, *args, **options):
        super().__init__(*args, **{**options, "max_length": 14})

    def db_type(self, connection):
        return "flake_sealed" if connection.vendor == "postgresql" else super().db_type(connection)

    rel_db_type = db_type


class ColumnDefault(models.Expression):
    def as_sql(self, compiler, connection):
        return "DEFAULT", []


class FlakeSealedAutoField(MadeByFlakeNext, FlakeSealedField):
    """A primary key that the server fills. Not an AutoField: Django would count on with 1 where that is empty."""

    db_returning = True

    def __init__(self, *args, **options):
        super().__init__(*args, **{**options, "blank": True})

    def pre_save(self, model_instance, add):
        return super().pre_save(model_instance, add) or ColumnDefault()

    def formfield(self, **_):
        return None


@FlakeSealedField.register_lookup
class ExactSealed(Exact):
    def get_rhs_op(self, connection, rhs):
        if connection.vendor == "postgresql" and self.rhs_is_direct_value():
            rhs = f"flake_sealed_or_null({rhs})"
        return super().get_rhs_op(connection, rhs)


def register_flake(connection, **_):
    """Ids come back as int, arrays as lists, and inspectdb names the fields above."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT t::regtype::oid, (t || '[]')::regtype::oid FROM unnest('{flake,flake_sealed}'::text[]) AS t"
                       " WHERE to_regtype(t) IS NOT NULL")
        found = cursor.fetchall()
    names = {}
    for (oid, array_oid), name, cast in zip(found, ("Flake", "FlakeSealed"), (pg.INTEGER, pg.UNICODE)):
        base = pg.new_type((oid,), name, cast)
        pg.register_type(base, connection.connection)
        pg.register_type(pg.new_array_type((array_oid,), name + "[]", base), connection.connection)
        names[oid] = name

    introspection = connection.introspection
    others = type(introspection).get_field_type

    def get_field_type(data_type, description):
        if data_type not in names:
            return others(introspection, data_type, description)
        made = "Auto" if "flake_next(" in (description.default or "") else ""
        return f"flake.{names[data_type]}{made}Field"

    introspection.get_field_type = get_field_type


connection_created.connect(register_flake)


class FlakeExtension(CreateExtension):
    """The first operation of the first migration."""

    def __init__(self):
        super().__init__("flakeid")

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        register_flake(schema_editor.connection)
