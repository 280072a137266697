from django.test import TestCase

from shop.models import Order, Reply, Ticket


class InATestDatabase(TestCase):
    """manage.py test makes a database, migrates it and drops it."""

    def test_id(self):
        self.assertGreater(Order.objects.create(item="tea").pk, 2**53)
        self.assertEqual(len(Reply.objects.create(ticket=Ticket.objects.create(text="tea")).ticket_id), 13)
