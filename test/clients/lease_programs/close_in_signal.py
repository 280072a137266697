"""Closes a generator in a signal handler, wherever that comes, and prints the id that was made last; round after round.

    python3 close_in_signal.py ROUNDS '{"holder": "shop"}'
"""

import faulthandler
import json
import signal
import sys

from flake_lease import FlakeIds

faulthandler.dump_traceback_later(300, exit=True)  # what hangs says where
for round in range(int(sys.argv[1])):
    ids = FlakeIds(**json.loads(sys.argv[2]))
    last = ids.next()
    closed = False

    def close(*_):
        global closed
        ids.close()
        closed = True

    signal.signal(signal.SIGALRM, close)
    signal.setitimer(signal.ITIMER_REAL, 0.01 + round / 10000)
    while not closed:
        last = ids.try_next() or last
    assert ids.try_next() is None
    print(last, flush=True)
