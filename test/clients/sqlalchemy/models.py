from sqlalchemy import BigInteger, Column, ForeignKey, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import declarative_base, relationship

from flake import Flake, FlakeSealed, id_column

Base = declarative_base()


class Order(Base):
    __tablename__ = "orders"
    id = id_column()
    item = Column(Text)
    near = Column(ARRAY(Flake))
    lines = relationship("Line", order_by="Line.id")


class Line(Base):
    __tablename__ = "lines"
    id = id_column()
    order_id = Column(Flake, ForeignKey("orders.id"), nullable=False, index=True)


class Ticket(Base):
    __tablename__ = "tickets"
    id = id_column(FlakeSealed)
    text = Column(Text)
    near = Column(ARRAY(FlakeSealed))
    replies = relationship("Reply", order_by="Reply.id")


class Reply(Base):
    __tablename__ = "replies"
    __table_args__ = {"schema": "help"}
    id = id_column(FlakeSealed)
    ticket_id = Column(FlakeSealed, ForeignKey("tickets.id"), nullable=False)


class Invoice(Base):
    __tablename__ = "invoices"
    id = id_column(BigInteger)
    payments = relationship("Payment")


class Payment(Base):
    __tablename__ = "payments"
    id = id_column(BigInteger)
    invoice_id = Column(BigInteger, ForeignKey("invoices.id"), nullable=False)
