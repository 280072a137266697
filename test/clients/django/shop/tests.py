from django.test import TestCase

from shop.models import Order


class InATestDatabase(TestCase):
    """manage.py test makes a database, migrates it and drops it."""

    def test_id(self):
        self.assertGreater(Order.objects.create(item="tea").pk, 2**53)
