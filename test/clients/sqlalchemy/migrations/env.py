from alembic import context
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from models import Base

several = context.get_x_argument(as_dictionary=True).get("schemas") != "one"


# With several schemas, that of the extension is not yours to migrate.
def include_name(name, kind, parents):
    return kind != "schema" or name != "flakeid"


# Of one schema, only the tables there.
def include_object(item, name, kind, reflected, compare_to):
    return several or kind != "table" or item.schema is None


with create_engine("postgresql+psycopg2://", poolclass=NullPool).connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        user_module_prefix="flake.",
        compare_type=True,
        compare_server_default=True,
        include_schemas=several,
        include_name=include_name,
        include_object=include_object,
    )
    with context.begin_transaction():
        context.run_migrations()
