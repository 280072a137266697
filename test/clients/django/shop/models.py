from django.contrib.postgres.fields import ArrayField
from django.db import models

from flake import FlakeField


class Order(models.Model):
    item = models.TextField()
    near = ArrayField(FlakeField(null=True), null=True)


class Line(models.Model):
    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")
