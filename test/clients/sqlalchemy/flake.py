"""Type flake in SQLAlchemy and Alembic."""

import psycopg2.extensions as pg
from sqlalchemy import BigInteger, Column, event, text
from sqlalchemy.dialects.postgresql import base
from sqlalchemy.types import TypeDecorator, UserDefinedType


class FlakeColumn(UserDefinedType):
    cache_ok = True

    def get_col_spec(self, **_):
        return "flake"


class Flake(TypeDecorator):
    """An int in Python, a flake in PostgreSQL, a bigint elsewhere."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect):
        return dialect.type_descriptor(FlakeColumn() if dialect.name == "postgresql" else BigInteger())

    def process_result_value(self, value, dialect):
        return None if value is None else int(value)


base.ischema_names["flake"] = Flake  # reflection and autogenerate know it by this


def id_column():
    return Column(Flake, primary_key=True, server_default=text("flake_next()"))


def register_arrays(engine):
    """psycopg2 gives a flake[] as a text that nobody has parsed, until it is told what it is."""

    @event.listens_for(engine, "connect")
    def register(connection, _):
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT to_regtype('flake[]')::oid")
            (oid,) = cursor.fetchone()
        if oid:
            pg.register_type(pg.new_array_type((oid,), "flake[]", pg.INTEGER), connection)
