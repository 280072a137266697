import io
import json
import os
import subprocess
import sys

import django
from django.core.management import call_command
from django.db import connection
from django.db.models import Max
from django.db.models.functions import Coalesce, JSONObject

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
django.setup()

from django.http import Http404
from django.shortcuts import get_object_or_404
from shop.models import Invoice, Line, Order, Payment, Reply, Ticket

print("version: Django", django.__version__)


def manage(*command, **options):
    out = io.StringIO()
    call_command(*command, stdout=out, **options)
    return out.getvalue()


def shown(what):
    print("shown:", os.environ["FLAKEID_SCHEMA"], what)


models = [f"shop_{name}" for name in ("invoice", "line", "order", "payment", "reply", "ticket")]


def tables():
    with connection.cursor() as cursor:
        return sorted(connection.introspection.table_names(cursor))


# The first migration creates, the second has nothing to do.
manage("migrate", "shop", "0001")
assert tables() == ["django_migrations"], tables()
manage("makemigrations", "shop")
manage("migrate")
assert "No changes detected" in manage("makemigrations", check_changes=True, dry_run=True)
assert tables() == ["django_migrations", *models], tables()
with connection.cursor() as cursor:
    cursor.execute("SELECT count(*) FILTER (WHERE atttypid = 'flake'::regtype), count(*) FILTER (WHERE atttypid = 'flake_sealed'::regtype),"
                   " count(*) FILTER (WHERE atttypid = 'bigint'::regtype) FROM pg_attribute"
                   " WHERE attrelid::regclass::text LIKE 'shop_%' AND attname ~ 'id$' AND attnum > 0 AND (SELECT relkind FROM pg_class WHERE oid = attrelid) = 'r'")
    assert cursor.fetchone() == (3, 3, 3)
shown("create")
shown("second run")

# inspectdb names the fields, and the models that it writes make ids.
inspected = manage("inspectdb")
assert inspected.count("class ") == 2 * 7, inspected  # a model and its Meta for each table
for line in ("id = flake.FlakeAutoField(primary_key=True)", "id = flake.FlakeSealedAutoField(primary_key=True)",
             "order = models.ForeignKey('ShopOrder', models.DO_NOTHING)", "ticket = models.ForeignKey('ShopTicket', models.DO_NOTHING)"):
    assert line in inspected, f"{line} is not in {inspected}"
with open("shop/inspected.py", "w") as file:
    file.write("import flake\n" + inspected)
use = "import django; django.setup(); from shop.inspected import ShopTicket; print(ShopTicket.objects.create(text='a').pk)"
assert len(subprocess.run([sys.executable, "-c", use], check=True, capture_output=True, text=True).stdout.strip()) == 13

# Everything goes and comes again.
with connection.cursor() as cursor:
    cursor.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
connection.close()  # what was registered belongs to the type that is gone
manage("migrate")
assert tables() == ["django_migrations", *models], tables()

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

# Sealed ids are texts, and a text that is none is no row: 404.
tickets = Ticket.objects.bulk_create(Ticket(text=f"text {n}") for n in range(5))
ticket = tickets[0]
assert len(ticket.pk) == 13 and list(Ticket.objects.filter(text__startswith="text").order_by("pk")) == tickets
reply = Reply.objects.create(ticket=ticket)
assert Reply.objects.select_related("ticket").get(pk=reply.pk).ticket.text == "text 0"
assert list(ticket.replies.all()) == [reply] and Reply.objects.get(ticket=ticket.pk) == reply
assert Ticket.objects.filter(pk__in=[t.pk for t in tickets]).count() == 5
assert Ticket.objects.filter(pk__gt=ticket.pk).count() == 4
for text in ("favicon.ico", "", "0000000000000", "%s"):
    try:
        get_object_or_404(Ticket, pk=text)
    except Http404:
        continue
    raise AssertionError(text)

# The third kind of key
payment = Payment.objects.create(invoice=Invoice.objects.create())
assert Payment.objects.get(invoice=payment.invoice).pk > payment.invoice.pk > 2**53

# A dump of the data and back
dump = manage("dumpdata", "shop")
assert len(json.loads(dump)) == 132 + 8
manage("flush", interactive=False)
assert Order.objects.count() == 0
with open("dump.json", "w") as file:
    file.write(dump)
manage("loaddata", "dump.json")
assert Order.objects.get(pk=one.pk).near == one.near
assert Reply.objects.get(pk=reply.pk).ticket == ticket
shown("drop and reload")

call_command("test", "shop", verbosity=0)
shown("test database")

manage("migrate", "shop", "zero")
assert tables() == ["django_migrations"], tables()
