from alembic import op

revision = "0001"
down_revision = None


def upgrade():
    op.execute("CREATE EXTENSION IF NOT EXISTS flakeid")
    op.execute("CREATE SCHEMA IF NOT EXISTS help")


def downgrade():
    op.execute("DROP SCHEMA help")
    op.execute("DROP EXTENSION flakeid")
