"""Known answers of others (test/vectors): prints how many ids are as they say."""

import csv
import datetime

from flake_lease import Layout

count = 0


def rows(name):
    with open(f"../../vectors/{name}.csv") as file:
        yield from csv.DictReader(file)


def check(id, text, tick, node, sequence, secret=None):
    """tick: of the time field, in its units since the epoch"""
    global count
    layout = Layout(text, secret)
    assert layout.id(int(tick) << layout.sequence_bits | int(sequence), int(node)) == int(id), text
    count += 1


for row in rows("bwmarrin"):
    check(row["id"], "time:41:1ms node:10 sequence:12 epoch=2010-11-04T01:42:54.657Z", int(row["unix_ms"]) - 1288834974657, row["node"], row["step"])
for row in rows("sonyflake_v1"):
    check(row["id"], "time:39:10ms sequence:8 machine:16 epoch=2014-09-01T00:00:00Z", row["time_10ms_since_2014-09-01"], row["machine"], row["sequence"])
for row in rows("sonyflake_v2"):
    start, unit = int(row["start_unix_ms"]), int(row["time_unit_ms"])
    bits = 63 - int(row["bits_sequence"]) - int(row["bits_machine"])
    epoch = datetime.datetime.fromtimestamp(start / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    check(row["id"], f"time:{bits}:{unit}ms sequence:{row['bits_sequence']} machine:{row['bits_machine']} epoch={epoch}",
          (int(row["unix_ms"]) - start) // unit, row["machine"], row["sequence"])
for row in rows("uidgenerator"):
    check(row["id"], f"time:{row['time_bits']}:1s worker:{row['worker_bits']} sequence:{row['seq_bits']} epoch=2016-05-19T16:00:00Z",
          int(row["unix_seconds"]) - 1463673600, row["worker"], row["sequence"])
for row in rows("randflake"):
    check(row["encrypted_id"], "time:30:1s node:17 sequence:17 epoch=2024-10-27T03:33:20Z cipher=sparx64",
          int(row["unix_seconds"]) - 1730000000, row["node"], row["sequence"], row["secret_hex"])
for read_only in ("time:48:10us node:15 epoch=2015-01-01T00:00:00Z", "time:41:2s node:10 sequence:12 epoch=2015-01-01T00:00:00Z"):
    try:
        Layout(read_only)
    except ValueError:
        continue
    raise AssertionError(read_only)
print(count)
