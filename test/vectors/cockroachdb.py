#!/usr/bin/env python3
"""Prints cockroachdb.csv: ids as unique_rowid() of CockroachDB puts them together (GenerateUniqueInt in its source): 10 us since 2015 in
48 bits, the highest of which stays zero in a signed number, and the node XORed into the 15 below."""
import random

EPOCH_US = 1420070400 * 1000000
chance = random.Random(15)


def row(tick, node):
    print(tick << 15 ^ node, EPOCH_US + 10 * tick, node, sep=",")


print("id,unix_us,node")
for tick in (0, 1, 1 << 32, (1 << 48) - 1):
    for node in (0, 1, 32767):
        row(tick, node)
for _ in range(200):
    row(chance.randrange(1 << 46), chance.randrange(1 << chance.randint(1, 15)))
