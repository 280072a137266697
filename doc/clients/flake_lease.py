"""Ids that a program makes itself, on a node that it leases from a coordinator of flakeid.
A file to copy; it needs psycopg2 alone. doc/clients/lease_programs.md says what it promises.

    ids = FlakeIds(holder="shop", layout="snowflake")
    new = ids.next()      # an int, in any thread
    ids.close()
"""

import datetime
import os
import queue
import random
import re
import select
import socket
import struct
import threading
import time
import uuid
import weakref

import psycopg2
import psycopg2.extensions

SECOND = 1_000_000  # in microseconds, as all times here whose names end in _us
AHEAD_US = 5 * SECOND  # ids may lie so far ahead of the clock, as those of a server
SLEW_US = SECOND  # by so much one answer moves the clock
UNITS_US = {"us": 1, "ms": 1000, "s": SECOND}


class Layout:
    """How 64 bits are cut. The text is what column layout_text of flakeid.describe() has. A word is the tick and the sequence of an id."""

    def __init__(self, text, secret=None):
        words = text.split()
        options = dict(word.split("=") for word in words if "=" in word)
        fields = [word.split(":") for word in words if "=" not in word]
        # A plain layout of 64 bits ends before the sign bit.
        if "cipher" not in options and sum(int(field[1]) for field in fields) == 64:
            fields[0][1] = int(fields[0][1]) - 1
        self.parts = []  # of the node, the lowest first
        self.node_bits = shift = 0
        for name, bits, *unit in reversed(fields):
            bits = int(bits)
            if name == "time":
                count, of = re.fullmatch(r"(\d+)(\D+)", unit[0]).groups()
                self.time_shift, self.time_bits, self.unit_us = shift, bits, int(count) * UNITS_US.get(of, SECOND + 1)
            elif name == "sequence":
                self.sequence_shift, self.sequence_bits = shift, bits
            elif name != "back":  # how often a clock was set back: a lease needs no such count
                self.parts.append((shift, self.node_bits, (1 << bits) - 1))
                self.node_bits += bits
            shift += bits
        if self.unit_us > SECOND or "sequence" not in (field[0] for field in fields):
            raise ValueError(f'ids of layout "{text}" can only be read')
        whole, _, fraction = options["epoch"].rstrip("Z").partition(".")
        moment = datetime.datetime.fromisoformat(whole + "+00:00")
        self.epoch_us = int(moment.timestamp()) * SECOND + int(fraction.ljust(6, "0"))
        self.last_word = (1 << self.time_bits + self.sequence_bits) - 1
        self.encrypt = sparx64(secret) if "cipher" in options else lambda id: id

    def word_at(self, us):
        """The first word of the tick of a moment."""
        return (us - self.epoch_us) // self.unit_us << self.sequence_bits

    def word_from(self, us):
        """The first word of the first tick that begins at a moment or after it."""
        return -((self.epoch_us - us) // self.unit_us) << self.sequence_bits

    def id(self, word, node):
        id = word >> self.sequence_bits << self.time_shift
        id |= (word & (1 << self.sequence_bits) - 1) << self.sequence_shift
        for shift, start, mask in self.parts:
            id |= (node >> start & mask) << shift
        id = self.encrypt(id)
        return id - (1 << 64) if id >> 63 else id


def sparx64(secret):
    """SPARX-64/128 as Randflake uses it: a function that enciphers 64 bits under 32 hexadecimal digits or 16 characters."""
    key = bytes.fromhex(secret) if len(secret or "") == 32 else (secret or "").encode("latin1")
    if len(key) != 16:
        raise ValueError("an enciphered layout needs a secret: 32 hexadecimal digits or 16 characters")

    def mix(left, right):
        left = (left << 9 | left >> 7) + right & 0xFFFF
        return left, (right << 2 | right >> 14) & 0xFFFF ^ left

    k = list(struct.unpack(">8H", key))
    keys = []
    for c in range(17):
        keys.append(k[:6])
        k[0], k[1] = mix(k[0], k[1])
        k[2], k[3], k[7] = k[2] + k[0] & 0xFFFF, k[3] + k[1] & 0xFFFF, k[7] + c + 1 & 0xFFFF
        k = k[6:] + k[:6]

    def rounds(left, right, of):
        for i in 0, 2, 4:
            left, right = mix(left ^ of[i], right ^ of[i + 1])
        return left, right

    def encrypt(number):
        a, b, c, d = struct.unpack(">4H", struct.pack("<Q", number))
        for step in range(8):
            a, b = rounds(a, b, keys[2 * step])
            c, d = rounds(c, d, keys[2 * step + 1])
            spread = ((a ^ b) << 8 | (a ^ b) >> 8) & 0xFFFF
            a, b, c, d = c ^ a ^ spread, d ^ b ^ spread, a, b
        last = keys[16]
        return struct.unpack("<Q", struct.pack(">4H", a ^ last[0], b ^ last[1], c ^ last[2], d ^ last[3]))[0]

    return encrypt


class Lease:
    """Words from first to last of a node are this program's; word was the last id."""

    def __init__(self, layout, node, token, first):
        self.layout, self.node, self.token, self.first, self.word = layout, node, token, first, first - 1

    def set_end(self, end):
        self.end_us = end * SECOND  # the keeper alone asks for it; draws ask for last
        self.last = min(self.layout.word_at(self.end_us) - 1, self.layout.last_word)


class FlakeIds:
    """A generator of ids. Each is larger than the one before, and lies in a lease. No wall clock is read here: the time is that of
    the coordinator's answers, carried on by a clock that nobody sets. So a process that was stopped finds that its lease is over.

    coordinators: connection strings, tried in turn; the default is that of PGHOST and the like. layout: a preset or a layout text.
    ttl: seconds of a lease. timeout: seconds for a connection, and for an answer. secret: of an enciphered layout.

    The keeper takes no lock, and what it changes it puts into one attribute: so a signal handler may close the generator, whatever
    it interrupts."""

    def __init__(self, coordinators=("",), realm="default", holder="a program", layout="snowflake", ttl=60, timeout=10, secret=None):
        for name, length in ("ttl", ttl), ("timeout", timeout):
            if not (isinstance(length, (int, float)) and 0 < length <= 86400):
                raise ValueError(f"{name} is {length!r}: it is a number of seconds, up to a day")
        self._coordinators, self._realm, self._holder, self._text = coordinators, realm, holder, layout
        self._ttl, self._timeout, self._secret = ttl, timeout, secret
        self._turn = 0  # of which coordinator: the next one's, where one gives no answer
        self._layout = None
        self._begin()
        # A child has nothing of its parent's lease.
        begin = weakref.WeakMethod(self._begin)
        os.register_at_fork(after_in_child=lambda: begin() and begin()())

    def _begin(self):
        self._lock = threading.Lock()  # of who draws
        self._lease = self._keeper = self.last_error = None
        self._token = uuid.uuid4()  # of the next question for a lease: asked again, it gives the same lease
        self._closed = False
        self._wake = queue.SimpleQueue()  # of the keeper, before its pause is over
        self._clock = 0, 0  # the time, and at which moment of time.monotonic_ns()

    @property
    def node(self):
        return getattr(self._lease, "node", None)

    def try_next(self):
        """The next id, or None where there is none at this moment."""
        with self._lock:
            if self._keeper is None and not self._closed:
                keeper = threading.Thread(target=self._keep, daemon=True, name="flake_lease")
                keeper.start()
                self._keeper = keeper
            if (lease := self._lease) is None:
                return None
            now_us = self._now_us()
            word = max(self._layout.word_at(now_us), lease.word + 1)
            if word > lease.last or word > self._layout.word_at(now_us + AHEAD_US):
                return None
            lease.word = word
            # Whoever took the lease away meanwhile may have read the word before.
            return self._layout.id(word, lease.node) if self._lease is lease else None

    def next(self, patience=10):
        """The next id. Where there is none for `patience` seconds, the error says why."""
        waits = patience * 200
        while not self._closed:
            if (id := self.try_next()) is not None:
                return id
            if waits <= 0:
                break
            waits -= 1
            time.sleep(0.005)
        raise RuntimeError(self._why()) from self.last_error

    def close(self):
        """Makes no more ids, and gives the node back. Where the coordinator does not hear of it, the lease runs out."""
        self._closed = True
        self._wake.put(None)
        if self._keeper is not None:
            self._keeper.join()

    def _why(self):
        lease = self._lease
        reason = ("the generator is closed" if self._closed
                  else "no node is leased" if lease is None
                  else f"the lease of node {lease.node} has ended" if self._now_us() >= lease.end_us
                  else f'layout "{self._text}" allows no more ids at this time')
        return f"{reason}: {self.last_error}" if self.last_error else reason

    def _now_us(self):
        us, at = self._clock
        return us + (time.monotonic_ns() - at) // 1000

    def _keep(self):
        """Renews at a third of the lease, up to a quarter of that earlier, and a second or two after a failure."""
        while not self._closed:
            pause = self._ttl / 3 * random.uniform(0.75, 1)
            try:
                if not self._renew():
                    self._acquire()
                self.last_error = None
            except Exception as error:  # whatever it is, the next question may have an answer
                self.last_error = error
                pause = random.uniform(1, 2)
            try:
                self._wake.get(timeout=pause)
            except queue.Empty:
                pass
        lease, self._lease = self._lease, None
        if lease is not None:
            layout = lease.layout
            last_us = (lease.word >> layout.sequence_bits) * layout.unit_us + layout.epoch_us if lease.word >= lease.first else 0
            try:
                self._ask("SELECT flakeid.lease_release(%s, to_timestamp(%s::float8 / 1000000))", str(lease.token), last_us)
            except Exception as error:
                self.last_error = error

    def _renew(self):
        """Whether the lease goes on. One that the coordinator refuses serves until its end, unless there is another before."""
        if (lease := self._lease) is None:
            return False
        try:
            end, now_us = self._ask(
                "SELECT extract(epoch FROM r)::int8, (extract(epoch FROM clock_timestamp()) * 1000000)::int8"
                " FROM flakeid.lease_renew(%s, %s::float8 * interval '1 s', to_timestamp(%s::float8)) AS r",
                str(lease.token), self._ttl, lease.end_us // SECOND)
        except psycopg2.errors.ObjectNotInPrerequisiteState:
            return False
        lease.set_end(end)
        # A coordinator whose clock is wrong does not carry the time off.
        own_us = self._now_us()
        self._clock = own_us + max(-SLEW_US, min(SLEW_US, now_us - own_us)), time.monotonic_ns()
        return True

    def _acquire(self):
        if self._layout is None:
            self._layout = Layout(self._ask("SELECT layout_text FROM flakeid.describe(%s)", self._text)[0], self._secret)
        layout, token = self._layout, self._token
        try:
            node, start, end, now_us = self._ask(
                "SELECT node, extract(epoch FROM lease_start)::int8, extract(epoch FROM lease_end)::int8,"
                " (extract(epoch FROM clock_timestamp()) * 1000000)::int8"
                " FROM flakeid.lease_acquire(%s, %s, %s::float8 * interval '1 s', max_node => %s, token => %s)",
                self._realm, f"{self._holder} on {socket.gethostname()}:{os.getpid()}", self._ttl,
                (1 << layout.node_bits) - 1, str(token))
        except psycopg2.errors.DuplicateObject:  # that lease has ended
            self._token = uuid.uuid4()
            raise
        self._token = uuid.uuid4()
        if start * SECOND > now_us + AHEAD_US:
            self._ask("SELECT flakeid.lease_release(%s, to_timestamp(0))", str(token))
            raise RuntimeError(f"the lease of node {node} begins ahead of the coordinator's clock")
        first = max(layout.word_from(start * SECOND), 0)
        # Ids go on rising from one lease to the next, unless a clock that was wrong is right again.
        last, self._lease = self._lease, None
        if last is not None:
            after = ((last.word >> layout.sequence_bits) + 1) << layout.sequence_bits
            if first < after <= layout.word_at(now_us + AHEAD_US):
                first = after
        lease = Lease(layout, node, token, first)
        lease.set_end(end)
        self._clock = now_us, time.monotonic_ns()
        self._lease = lease

    def _ask(self, sql, *values):
        """Asks one question over a connection of its own, and returns the row of the answer. No answer in time is none, and so is
        one with a warning: it was cut short while it waited for a standby."""
        connection = None
        try:
            connection = psycopg2.connect(self._coordinators[self._turn % len(self._coordinators)], async_=True)
            self._wait(connection)
            connection.notices.clear()
            cursor = connection.cursor()
            cursor.execute(sql, values)
            self._wait(connection)
            if connection.notices:
                raise RuntimeError(connection.notices[0].strip())
            return cursor.fetchone()
        except Exception as error:
            self._turn += getattr(error, "pgcode", None) not in ("55000", "42710")  # a refusal is an answer
            raise
        finally:
            if connection is not None:
                connection.close()

    def _wait(self, connection):
        until = time.monotonic() + self._timeout
        while (state := connection.poll()) != psycopg2.extensions.POLL_OK:
            poll = select.poll()
            poll.register(connection, select.POLLIN if state == psycopg2.extensions.POLL_READ else select.POLLOUT)
            if not poll.poll(max(0, until - time.monotonic()) * 1000):
                raise TimeoutError("no answer in time")
