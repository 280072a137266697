"""Ids of a program that takes its node from a coordinator.

    python3 lease.py REALM HOLDER TTL IDS    prints that many ids; PGHOST and the like say where
"""

import datetime
import socket
import sys
import time

import psycopg2

EPOCH_MS = 1288834974657  # of layout snowflake: time:41:1ms node:10 sequence:12


def to_ms(moment):
    return round(moment.timestamp() * 1000)


def to_moment(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)


class Lease:
    """A node for a while. It counts after COMMIT only, hence autocommit."""

    def __init__(self, connection, ttl):
        connection.autocommit = True
        self.cursor = connection.cursor()
        self.ttl = datetime.timedelta(seconds=ttl)

    def take(self, realm, holder):
        self.cursor.execute(
            "SELECT node, token, lease_start, lease_end"
            " FROM flakeid.lease_acquire(%s, %s, %s, max_node => 1023)",
            (realm, holder, self.ttl),
        )
        self.node, self.token, start, end = self.cursor.fetchone()
        self.start, self.end = to_ms(start), to_ms(end)
        self._plan()

    def renew(self):
        """Until the end ids go on when this fails."""
        self.cursor.execute(
            "SELECT flakeid.lease_renew(%s, %s, %s)", (self.token, self.ttl, to_moment(self.end))
        )
        self.end = to_ms(self.cursor.fetchone()[0])
        self._plan()

    def release(self, last_stamp):
        self.cursor.execute(
            "SELECT flakeid.lease_release(%s, %s)", (self.token, to_moment(last_stamp))
        )

    def _plan(self):
        self.renew_at = time.monotonic() + self.ttl.total_seconds() / 3


class Ids:
    """Ids of a lease, always larger than the one before. They never run ahead of the clock."""

    def __init__(self, lease):
        self.lease = lease
        self.tick = lease.start - 1
        self.sequence = 4095

    def next(self):
        """None when the tick is full: try again in a millisecond."""
        now = time.time_ns() // 1000000
        tick, sequence = self.tick, self.sequence + 1
        if now > tick:
            tick, sequence = now, 0
        elif sequence > 4095:
            return None
        if not self.lease.start <= tick < self.lease.end:
            raise RuntimeError(f"the clock lies outside the lease of node {self.lease.node}")
        self.tick, self.sequence = tick, sequence
        return (tick - EPOCH_MS) << 22 | self.lease.node << 12 | sequence


def main():
    realm, holder, ttl, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    lease = Lease(psycopg2.connect(""), ttl)
    lease.take(realm, f"{holder} on {socket.gethostname()}")
    ids = Ids(lease)
    made = 0
    while made < count:
        new = ids.next()
        if new is None:
            time.sleep(0.001)
        else:
            print(new)
            made += 1
        if time.monotonic() >= lease.renew_at:
            lease.renew()
    lease.release(ids.tick)


main()
