"""Types flake and flake_sealed in psycopg 3: an id is a Python int, a sealed id a str, an array a list of them."""

from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo
from psycopg.types.numeric import Int8BinaryLoader, IntLoader
from psycopg.types.string import TextLoader


class FlakeSealedBinaryLoader(Loader):
    """Eight bytes, and before them the number of the key where it has one."""

    format = Format.BINARY

    def load(self, data):
        key, word = bytes(data[:-8]), int.from_bytes(data[-8:], "big")
        digits = ["0123456789abcdefghijklmnopqrstuv"[word >> shift & 31] for shift in range(60, -1, -5)]
        return key.hex().lstrip("0") + "".join(digits)


def register(connection, flake, sealed):
    for info, loaders in (flake, (IntLoader, Int8BinaryLoader)), (sealed, (TextLoader, FlakeSealedBinaryLoader)):
        info.register(connection)
        for loader in loaders:
            connection.adapters.register_loader(info.oid, loader)


def register_flake(connection):
    register(connection, *(TypeInfo.fetch(connection, name) for name in ("flake", "flake_sealed")))


async def register_flake_async(connection):
    register(connection, *[await TypeInfo.fetch(connection, name) for name in ("flake", "flake_sealed")])
