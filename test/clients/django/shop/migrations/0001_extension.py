from django.db import migrations

from flake import FlakeExtension


class Migration(migrations.Migration):
    initial = True
    operations = [FlakeExtension()]
