"""A consumer of an outbox: hands on every committed row once, in the order of the ids.
A file to copy; it needs psycopg2 alone. doc/clients/outbox.md has the tables, and says what it promises.

    outbox = FlakeOutbox(consumer="mail", work=lambda cursor, rows: ...)
    outbox.run()      # until outbox.stop()
"""

import select
import sys
import threading

import psycopg2
import psycopg2.extras


class FlakeOutbox:
    """work: does what is to be done with the rows, by statements of the cursor; they and the place are one transaction. Where it
    raises, nothing of that round has happened, and the rows come again.

    dsn: of the connection. table, channel: as they stand in SQL. batch: rows in a round. wait: seconds until the next look where
    nobody notifies. limit: seconds that the work may leave the server without a statement, before another process takes over."""

    def __init__(self, work, consumer, dsn="", table="outbox", channel="outbox", batch=1000, wait=1, limit=60,
                 on_error=lambda error: print(error, file=sys.stderr)):
        self._work, self._consumer, self._dsn, self._table, self._channel = work, consumer, dsn, table, channel
        self._batch, self._wait, self._limit, self._on_error = batch, wait, limit, on_error
        self._stopped = threading.Event()

    def run(self):
        """Goes on after whatever happens to a connection, until stop()."""
        while not self._stopped.is_set():
            try:
                self._run()
            except Exception as error:  # what was begun is rolled back
                self._on_error(error)
                self._stopped.wait(1)

    def stop(self):
        """Ends run() after the round that is under way."""
        self._stopped.set()

    def _run(self):
        connection = psycopg2.connect(self._dsn, connect_timeout=10, keepalives_idle=10, keepalives_interval=5, keepalives_count=3,
                                      tcp_user_timeout=30000, cursor_factory=psycopg2.extras.RealDictCursor)
        try:
            connection.set_session(isolation_level="READ COMMITTED", readonly=False)
            with connection, connection.cursor() as cursor:
                cursor.execute("SET idle_in_transaction_session_timeout = %s", (f"{self._limit}s",))
                cursor.execute(f"LISTEN {self._channel}")
                cursor.execute("INSERT INTO consumer (name) VALUES (%s) ON CONFLICT DO NOTHING", (self._consumer,))
            while not self._stopped.is_set():
                connection.notifies.clear()
                if self._round(connection) < self._batch and not connection.notifies:
                    # Until somebody notifies, or the connection ends
                    poll = select.poll()
                    poll.register(connection, select.POLLIN)
                    poll.poll(self._wait * 1000)
                    connection.poll()
        finally:
            connection.close()

    def _round(self, connection):
        """Works on the next rows, and returns how many there were. Processes of one consumer take turns."""
        name = (self._consumer,)
        # Whoever finds no row writes nothing. The mark is that of the statement which reads the rows.
        settled = f"FROM {self._table} AS o WHERE o.id > c.last_seen AND o.id < flake_settled()"
        with connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT FROM consumer AS c WHERE c.name = %s AND EXISTS (SELECT {settled})", name)
            if cursor.rowcount == 0:
                return 0
            cursor.execute("SELECT FROM consumer WHERE name = %s FOR UPDATE", name)
            # The id is an int, whatever the type of the column.
            cursor.execute(f"SELECT r.*, r.id::int8 AS id FROM consumer AS c,"
                           f" LATERAL (SELECT o.* {settled} ORDER BY o.id LIMIT %s) AS r WHERE c.name = %s ORDER BY r.id",
                           (self._batch, self._consumer))
            rows = cursor.fetchall()
            if rows:
                self._work(cursor, rows)
                cursor.execute("UPDATE consumer SET last_seen = %s WHERE name = %s", (rows[-1]["id"], self._consumer))
            return len(rows)
