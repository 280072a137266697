"""Type flake in psycopg 3: an id is a Python int, a flake[] a list of them."""

from psycopg.types import TypeInfo
from psycopg.types.numeric import Int8BinaryLoader, IntLoader


def register_flake(connection):
    info = TypeInfo.fetch(connection, "flake")
    info.register(connection)
    connection.adapters.register_loader(info.oid, IntLoader)
    connection.adapters.register_loader(info.oid, Int8BinaryLoader)


async def register_flake_async(connection):
    info = await TypeInfo.fetch(connection, "flake")
    info.register(connection)
    connection.adapters.register_loader(info.oid, IntLoader)
    connection.adapters.register_loader(info.oid, Int8BinaryLoader)
