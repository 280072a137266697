import argparse
import os
import re

import alembic
import sqlalchemy
from alembic import command
from alembic.config import Config
from sqlalchemy import MetaData, Text, create_engine, event, func, inspect, select
from sqlalchemy.orm import Session

from flake import Flake, FlakeSealed, register_arrays
from models import Base, Invoice, Line, Order, Payment, Reply, Ticket

print("version: SQLAlchemy", sqlalchemy.__version__ + ", Alembic", alembic.__version__)
config = Config("alembic.ini")
config.cmd_opts = argparse.Namespace(x=[])
engine = create_engine("postgresql+psycopg2://")
register_arrays(engine)


def autogenerate(name):
    script = command.revision(config, name, autogenerate=True)
    with open(script.path) as file:
        return file.read()


def shown(what):
    print("shown:", os.environ["FLAKEID_SCHEMA"], what)


def reflected():
    metadata = MetaData()
    metadata.reflect(engine)
    metadata.reflect(engine, schema="help")
    return metadata


def tables():
    return sorted(reflected().tables)


def run(*statements):
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


models = ["invoices", "lines", "orders", "payments", "tickets"]


def nothing_more(name):
    script = autogenerate(name)
    assert "op." not in re.sub(r"from alembic import op", "", script), script


# The first migration creates, the second has nothing to do.
command.upgrade(config, "0001")
first = autogenerate("first")
assert sorted(re.findall(r"create_table\('(\w+)'", first)) == sorted([*models, "replies"]), first
assert "drop_table" not in first.split("def downgrade")[0], first
command.upgrade(config, "head")
shown("create")
nothing_more("several schemas")
command.upgrade(config, "head")
config.cmd_opts.x = ["schemas=one"]
nothing_more("one schema")
config.cmd_opts.x = []
command.upgrade(config, "head")
shown("second run")
assert tables() == ["alembic_version", "help.replies", *models], tables()
for table, type_ in ("orders", Flake), ("tickets", FlakeSealed):
    column = inspect(engine).get_columns(table)[0]
    assert isinstance(column["type"], type_) and column["default"] == "flake_next()", column
    assert isinstance(inspect(engine).get_columns(table)[2]["type"].item_type, type_)

# Everything goes, the extension too, and comes again.
command.downgrade(config, "base")
assert tables() == ["alembic_version"], tables()
if os.environ["FLAKEID_SCHEMA"] == "own":
    run("CREATE EXTENSION flakeid SCHEMA extensions")
command.upgrade(config, "head")
engine.dispose()

# All tables that reflection finds go, and come again.
reflected().drop_all(engine)
assert tables() == [], tables()
command.upgrade(config, "head")
run("DROP SCHEMA public CASCADE", "DROP SCHEMA help CASCADE", "CREATE SCHEMA public")
command.upgrade(config, "head")
assert tables() == ["alembic_version", "help.replies", *models], tables()
nothing_more("again")
command.upgrade(config, "head")
engine.dispose()  # what was registered belongs to the type that is gone
shown("drop and reload")

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

    # Sealed ids are texts, and a text that is none is no row.
    tickets = [Ticket(text=f"text {n}", replies=[Reply(), Reply()]) for n in range(5)]
    session.add_all(tickets)
    session.commit()
    ids = [ticket.id for ticket in tickets]
    assert all(len(id) == 13 for id in ids)
    assert session.scalars(select(Ticket.id).order_by(Ticket.id)).all() == ids
    session.expunge_all()
    ticket = session.get(Ticket, ids[0])
    assert ticket.text == "text 0" and [reply.ticket_id for reply in ticket.replies] == [ids[0]] * 2
    assert session.scalars(select(Ticket.id).where(Ticket.id.in_(ids))).all() == ids
    assert session.scalars(select(Ticket.id).where(Ticket.id > ids[0]).order_by(Ticket.id)).all() == ids[1:]
    assert len(session.scalars(select(Reply).join(Ticket, Ticket.id == Reply.ticket_id)).all()) == 10
    for text in ("favicon.ico", "", "0000000000000"):
        assert session.get(Ticket, text) is None
        assert session.scalars(select(Ticket).where(Ticket.id == text)).all() == []
    ticket.near = [ids[1], None]
    session.commit()
    assert session.scalars(select(Ticket.near).where(Ticket.id == ids[0])).one() == [ids[1], None]

    # The third kind of key
    invoice = Invoice(payments=[Payment()])
    session.add(invoice)
    session.commit()
    assert invoice.payments[0].invoice_id == invoice.id > 2**53

# What tests make for themselves
with create_engine("postgresql+psycopg2://", isolation_level="AUTOCOMMIT").connect() as connection:
    connection.exec_driver_sql(f"CREATE DATABASE test_sqlalchemy TEMPLATE {os.environ['FLAKEID_TEMPLATE']}")
    first, os.environ["PGDATABASE"] = os.environ["PGDATABASE"], "test_sqlalchemy"
    command.upgrade(config, "head")
    other = create_engine("postgresql+psycopg2://")
    with Session(other) as session:
        session.add(Ticket(text="text", replies=[Reply()]))
        session.commit()
    other.dispose()
    os.environ["PGDATABASE"] = first
    connection.exec_driver_sql("DROP DATABASE test_sqlalchemy")
shown("test database")

# In SQLite, where tests may run
lite = create_engine("sqlite://")
Ticket.__table__.c.near.type = Text()
Ticket.__table__.c.id.server_default = None
Ticket.__table__.create(lite)
with Session(lite) as session:
    session.add(Ticket(id="cn6aqdp67ctk1", text="text"))
    session.commit()
    assert session.scalars(select(Ticket.text).where(Ticket.id == "cn6aqdp67ctk1")).one() == "text"
