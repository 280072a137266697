import signal

from flake_outbox import FlakeOutbox


def work(cursor, rows):
    for row in rows:
        cursor.execute("INSERT INTO mail (outbox_id, body) VALUES (%s, %s)", (row["id"], row["body"]))


outbox = FlakeOutbox(work, consumer="mail")
signal.signal(signal.SIGTERM, lambda *_: outbox.stop())
outbox.run()
