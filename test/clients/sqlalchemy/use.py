import re

import alembic
import sqlalchemy
from alembic import command
from alembic.config import Config
from sqlalchemy import MetaData, event, func, inspect, select
from sqlalchemy.orm import Session

from flake import Flake, register_arrays
from models import Base, Line, Order

print("version: SQLAlchemy", sqlalchemy.__version__ + ", Alembic", alembic.__version__)
config = Config("alembic.ini")
engine = sqlalchemy.create_engine("postgresql+psycopg2://")
register_arrays(engine)


def autogenerate(name):
    script = command.revision(config, name, autogenerate=True)
    with open(script.path) as file:
        return file.read()


def tables():
    metadata = MetaData()
    metadata.reflect(engine)
    return sorted(metadata.tables)


# The first migration creates, the second has nothing to do.
command.upgrade(config, "0001")
first = autogenerate("first")
assert sorted(re.findall(r"create_table\('(\w+)'", first)) == ["lines", "orders"], first
assert "drop_table" not in first.split("def downgrade")[0], first
command.upgrade(config, "head")
second = autogenerate("second")
assert "op." not in re.sub(r"from alembic import op", "", second), second
command.upgrade(config, "head")
assert tables() == ["alembic_version", "lines", "orders"], tables()
reflected = Base.metadata.tables["orders"].c.id, inspect(engine).get_columns("orders")[0]
assert isinstance(reflected[1]["type"], Flake) and reflected[1]["default"] == "flake_next()", reflected

# Everything goes, the extension too, and comes again.
command.downgrade(config, "base")
assert tables() == ["alembic_version"], tables()
command.upgrade(config, "head")
engine.dispose()

# All tables that reflection finds go, and come again.
found = MetaData()
found.reflect(engine)
found.drop_all(engine)
assert tables() == [], tables()
command.upgrade(config, "head")
assert tables() == ["alembic_version", "lines", "orders"], tables()

with Session(engine) as session:
    # Rows of one flush come back with their ids in one statement a table.
    statements = []
    event.listen(engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    orders = [Order(item=f"item {n}", lines=[Line(), Line()]) for n in range(80)]
    session.add_all(orders)
    session.flush()
    assert len(statements) == 2, statements
    ids = [order.id for order in orders]
    assert ids == sorted(set(ids)) and ids[0] > 2**53
    session.commit()

    first = session.get(Order, ids[0])
    assert first.item == "item 0" and len(first.lines) == 2

    # Ids known before the flush: no statement has to bring them back.
    block = session.scalars(select(func.flake_next_many(50, type_=Flake))).all()
    session.add_all(Order(id=id, item="block") for id in block)
    session.commit()
    found = session.scalars(select(Order.id).where(Order.item == "block").order_by(Order.id)).all()
    assert found == block and block[0] > ids[-1]

    # Parameters of each size, arrays with NULL
    odd = [2**53 + 1, None, -(2**63), 2**63 - 1]
    first.near = odd
    session.commit()
    assert session.scalars(select(Order.near).where(Order.id == ids[0])).one() == odd
    assert len(session.scalars(select(Order).where(Order.id.in_(ids))).all()) == 80
    assert session.scalars(select(func.max(Order.id))).one() == block[-1]
    assert session.scalars(select(func.coalesce(func.max(Order.id), 0)).where(Order.id < 5)).one() == 0

    # Pages by the last id seen
    seen, last = [], 0
    for _ in range(8):
        page = session.scalars(select(Order.id).where(Order.id > last).order_by(Order.id).limit(10)).all()
        seen, last = seen + page, page[-1]
    assert seen == ids

    # JSON made by the server has strings; JSON made of these objects has numbers, until str(id).
    assert session.scalars(select(func.json_build_object("id", Order.id)).where(Order.id == ids[0])).one() == {
        "id": str(ids[0])
    }
