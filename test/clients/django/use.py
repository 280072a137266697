import io
import json
import os

import django
from django.core.management import call_command
from django.db import connection
from django.db.models import Max
from django.db.models.functions import Coalesce, JSONObject

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
django.setup()

from shop.models import Line, Order

print("version: Django", django.__version__)


def manage(*command, **options):
    out = io.StringIO()
    call_command(*command, stdout=out, **options)
    return out.getvalue()


def tables():
    with connection.cursor() as cursor:
        return sorted(connection.introspection.table_names(cursor))


# The first migration creates, the second has nothing to do.
manage("migrate", "shop", "0001")
assert tables() == ["django_migrations"], tables()
manage("makemigrations", "shop")
manage("migrate")
assert "No changes detected" in manage("makemigrations", check_changes=True, dry_run=True)
assert tables() == ["django_migrations", "shop_line", "shop_order"], tables()
inspected = manage("inspectdb")
assert inspected.count("class ") == 2 * 3, inspected  # a model and its Meta for each table
with connection.cursor() as cursor:
    cursor.execute("SELECT string_agg(format('%s.%s %s', attrelid::regclass, attname, atttypid::regtype), ', ' ORDER BY 1)"
                   " FROM pg_attribute WHERE attname IN ('id', 'order_id') AND attrelid::regclass::text IN ('shop_order', 'shop_line')")
    assert cursor.fetchone()[0].count(" flake") == 3

# Everything goes and comes again.
manage("migrate", "shop", "zero")
assert tables() == ["django_migrations"], tables()
manage("migrate")
with connection.cursor() as cursor:
    cursor.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
connection.close()  # what was registered belongs to the type that is gone
manage("migrate")
assert tables() == ["django_migrations", "shop_line", "shop_order"], tables()

# Rows of one statement come back with their ids.
orders = Order.objects.bulk_create(Order(item=f"item {n}") for n in range(80))
ids = [order.pk for order in orders]
assert ids == sorted(set(ids)) and ids[0] > 2**53
one = Order.objects.create(item="tea")
assert isinstance(one.pk, int) and one.pk > ids[-1]
assert Order.objects.get(pk=one.pk).item == "tea"
assert Order.objects.get(pk=str(one.pk)).item == "tea"
line = Line.objects.create(order=one)
assert Line.objects.get(pk=line.pk).order_id == one.pk
assert [line.order.item for line in Line.objects.select_related("order")] == ["tea"]

# A block of ids before there are rows
with connection.cursor() as cursor:
    cursor.execute("SELECT flake_next_many(%s)", [50])
    block = [row[0] for row in cursor]
Order.objects.bulk_create(Order(pk=id, item="block") for id in block)
assert list(Order.objects.filter(item="block").order_by("pk").values_list("pk", flat=True)) == block

# Arrays with NULL, parameters of each size, aggregates
one.near = [2**53 + 1, None, -(2**63), 2**63 - 1]
one.save()
assert Order.objects.get(pk=one.pk).near == one.near
assert Order.objects.filter(near__contains=[2**53 + 1]).get() == one
assert Order.objects.filter(pk__in=ids).count() == 80
assert Order.objects.aggregate(last=Max("pk"))["last"] == block[-1]
assert Order.objects.filter(pk__lt=5).aggregate(last=Coalesce(Max("pk"), 0))["last"] == 0

# Pages by the last id seen
seen, last = [], 0
for _ in range(8):
    page = list(Order.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:10])
    seen, last = seen + page, page[-1]
assert seen == ids

# JSON made by the server has strings.
made = Order.objects.filter(pk=one.pk).annotate(json=JSONObject(id="id")).get().json
assert made == {"id": str(one.pk)}, made

# A dump of the data and back
dump = manage("dumpdata", "shop")
assert len(json.loads(dump)) == 132
manage("flush", interactive=False)
assert Order.objects.count() == 0
with open("dump.json", "w") as file:
    file.write(dump)
manage("loaddata", "dump.json")
assert Order.objects.get(pk=one.pk).near == one.near

call_command("test", "shop", verbosity=0)
