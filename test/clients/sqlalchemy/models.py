from sqlalchemy import Column, ForeignKey, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import declarative_base, relationship

from flake import Flake, id_column

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
