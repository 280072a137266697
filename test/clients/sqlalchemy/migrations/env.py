from alembic import context
from sqlalchemy import create_engine

from models import Base

with create_engine("postgresql+psycopg2://").connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        user_module_prefix="flake.",
        compare_type=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()
