from django.contrib.postgres.fields import ArrayField
from django.db import models

from flake import FlakeField, FlakeSealedAutoField, MadeByFlakeNext


class BigintAutoField(MadeByFlakeNext, models.BigAutoField):
    def db_type(self, connection):
        return "bigint"


class Order(models.Model):
    item = models.TextField()
    near = ArrayField(FlakeField(null=True), null=True)


class Line(models.Model):
    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")


class Ticket(models.Model):
    id = FlakeSealedAutoField(primary_key=True)
    text = models.TextField()


class Reply(models.Model):
    id = FlakeSealedAutoField(primary_key=True)
    ticket = models.ForeignKey(Ticket, models.CASCADE, related_name="replies")


class Invoice(models.Model):
    id = BigintAutoField(primary_key=True)


class Payment(models.Model):
    id = BigintAutoField(primary_key=True)
    invoice = models.ForeignKey(Invoice, models.CASCADE)
