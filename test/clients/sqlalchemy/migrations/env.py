from alembic import context
from sqlalchemy import create_engine

from models import Base


# With several schemas, that of the extension is not yours to migrate.
def include_name(name, kind, parents):
    return kind != "schema" or name != "flakeid"


with create_engine("postgresql+psycopg2://").connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        user_module_prefix="flake.",
        compare_type=True,
        compare_server_default=True,
        include_schemas=True,
        include_name=include_name,
    )
    with context.begin_transaction():
        context.run_migrations()
