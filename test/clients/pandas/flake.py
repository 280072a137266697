"""Types flake and flake_sealed in pandas: a column of whole 64-bit numbers that may be missing, and one of texts."""

import pandas
from sqlalchemy.types import UserDefinedType


class Flake(UserDefinedType):
    """For to_sql(dtype={"id": Flake})."""

    cache_ok = True

    def get_col_spec(self, **_):
        return "flake"


class FlakeSealed(Flake):
    """A str: pandas reads such a column as it is."""

    def get_col_spec(self, **_):
        return "flake_sealed"


def read_ids(sql, connection, ids=("id",), **options):
    """A flake comes as text, and Int64 keeps it whole. A bigint beside a NULL would come as float64, rounded."""
    return pandas.read_sql_query(sql, connection, dtype={column: "Int64" for column in ids}, **options)
