"""Types flake and flake_sealed in SQLAlchemy and Alembic."""

import psycopg2.extensions as pg
from sqlalchemy import BigInteger, Column, String, event, text
from sqlalchemy.dialects.postgresql import base
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import BindParameter, FunctionElement
from sqlalchemy.types import TypeDecorator, UserDefinedType


class FlakeColumn(UserDefinedType):
    cache_ok = True
    name = "flake"

    def get_col_spec(self, **_):
        return self.name


class FlakeSealedColumn(FlakeColumn):
    name = "flake_sealed"


class Flake(TypeDecorator):
    """An int in Python, a flake in PostgreSQL, a bigint elsewhere."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect):
        return dialect.type_descriptor(FlakeColumn() if dialect.name == "postgresql" else BigInteger())

    def process_result_value(self, value, dialect):
        return None if value is None else int(value)


class or_null(FunctionElement):
    inherit_cache = True


@compiles(or_null)
def elsewhere(element, compiler, **options):
    return compiler.process(element.clauses, **options)


@compiles(or_null, "postgresql")
def in_postgresql(element, compiler, **options):
    return "flake_sealed_or_null(" + compiler.process(element.clauses, **options) + ")"


class FlakeSealed(TypeDecorator):
    """A str in Python, a flake_sealed in PostgreSQL, a varchar elsewhere. A text that is no sealed id finds no row."""

    impl = FlakeSealedColumn  # a String would have its default in quotes
    cache_ok = True

    def load_dialect_impl(self, dialect):
        return dialect.type_descriptor(FlakeSealedColumn() if dialect.name == "postgresql" else String(14))

    class comparator_factory(TypeDecorator.Comparator):
        def __eq__(self, other):
            return super().__eq__(or_null(other) if isinstance(other, (str, BindParameter)) else other)


base.ischema_names.update(flake=Flake, flake_sealed=FlakeSealed)  # reflection and autogenerate know them by this


def id_column(type_=Flake):
    return Column(type_, primary_key=True, server_default=text("flake_next()"))


def register_arrays(engine):
    """psycopg2 gives a flake[] as a text that nobody has parsed, until it is told what it is."""

    @event.listens_for(engine, "connect")
    def register(connection, _):
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT to_regtype('flake[]')::oid, to_regtype('flake_sealed[]')::oid")
            (oid, sealed) = cursor.fetchone()
        if oid:
            pg.register_type(pg.new_array_type((oid,), "flake[]", pg.INTEGER), connection)
            pg.register_type(pg.new_array_type((sealed,), "flake_sealed[]", pg.UNICODE), connection)
