"""Consumes the outbox into table done. With DIES=SIGKILL or DIES=SIGSTOP that happens to the process in its first round with rows.

    python3 use.py CONSUMER ['{"batch": 10}']
"""

import json
import os
import signal
import sys

from flake_outbox import FlakeOutbox

consumer = sys.argv[1]


def work(cursor, rows):
    for row in rows:
        cursor.execute("INSERT INTO done (consumer, process, id, body) VALUES (%s, %s, %s, %s)",
                       (consumer, os.getpid(), row["id"], row["body"]))
    dies = os.environ.pop("DIES", None)
    if dies:
        os.kill(os.getpid(), signal.Signals[dies])


outbox = FlakeOutbox(work, consumer, **json.loads(sys.argv[2] if len(sys.argv) > 2 else "{}"))
signal.signal(signal.SIGTERM, lambda *_: outbox.stop())
outbox.run()
