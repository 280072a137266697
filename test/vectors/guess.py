#!/usr/bin/env python3
"""Prints guess.csv: ids, and the presets under which each is a possible id, the most plausible first.

The rule of doc/reference/functions.md ("Is it an id?"), written a second time. Public ids come with their source; the others are made
here as their makers make them: see MADE."""
import csv
import pathlib
import random

S = 1000000  # microseconds
# Preset: rarity, epoch, tick, fields from the highest bit; * marks those that are spread evenly, + those that count from 1.
PRESETS = {
    "snowflake": (2, 1288834974657000, 1000, "time:41 node:10 sequence:12"),
    "twitter": (0, 1288834974657000, 1000, "time:41 datacenter:5* worker:5* sequence:12"),
    "discord": (0, 1420070400000000, 1000, "time:42 worker:5 process:5 sequence:12"),
    "instagram": (1, 1314220021721000, 1000, "time:41 shard:13* sequence:10*"),
    "mastodon": (2, 0, 1000, "time:48 sequence:16*"),
    "sonyflake": (4, 1409529600 * S, 10000, "time:39 sequence:8 machine:16*"),
    "sonyflake2": (4, 1735689600 * S, 10000, "time:39 sequence:8 machine:16*"),
    "uidgenerator": (6, 1463673600 * S, S, "time:28 worker:22 sequence:13"),
    "uidgenerator31": (8, 1463673600 * S, S, "time:31 worker:23 sequence:9"),
    "uidgenerator30": (8, 1463673600 * S, S, "time:30 worker:27 sequence:6"),
    "tsid": (3, 1577836800 * S, 1000, "time:42 node:10* sequence:12*"),
    "pgedge": (5, 1672531200 * S, 1000, "time:41 node:10 sequence:12"),
    "cockroachdb": (4, 1420070400 * S, 10, "time:48 node:15+"),
    "randflake": (0, 1730000000 * S, S, "time:30 node:17 sequence:17"),
    "js53": (5, 1767225600 * S, 1000, "time:40 node:6 sequence:7"),
    "rollback2": (7, 1735689600 * S, 1000, "time:41 node:8 back:2 sequence:12"),
    "rollback3": (7, 1767225600 * S, 10000, "back:3 time:38 node:10 sequence:12"),
}
YOUNG = 7889400 * S  # a quarter of a year
MAX_AHEAD = 5 * S


def fields(preset):
    """Name, bits, place of the lowest bit, how they are spread."""
    parts = [part.split(":") for part in PRESETS[preset][3].split()]
    place = sum(int(bits.rstrip("*+")) for _, bits in parts)
    for name, bits in parts:
        width = int(bits.rstrip("*+"))
        place -= width
        yield name, width, place, bits.lstrip("0123456789")


def weight(preset, raw, now):
    """None where the raw id is no possible id of the preset."""
    rarity, epoch, tick, _ = PRESETS[preset]
    width = sum(bits for _, bits, _, _ in fields(preset))
    if raw >> min(width, 64 if preset == "randflake" else 63):
        return None
    total = rarity
    for name, bits, place, spread in fields(preset):
        value = raw >> place & (1 << bits) - 1
        if name == "time":
            made = epoch + value * tick
            if made > now + MAX_AHEAD:
                return None
            total += ((max(0, now - made) + YOUNG) // tick).bit_length()
        elif spread == "*":
            total += bits
        else:
            value = value - (spread == "+") & (1 << bits) - 1
            total += 1 if value == 0 else min(value.bit_length() + 3, bits + 2)
    return total


def guesses(number, now, randflake_raw):
    """The raw id under preset randflake is known where its secret is."""
    found = []
    for preset in PRESETS:
        raw = number % 2**64 if preset != "randflake" else randflake_raw
        points = None if raw is None else weight(preset, raw, now)
        if points is not None:
            found.append((points, preset))
    return " ".join(preset for _, preset in sorted(found, key=lambda each: each[0]))


chance = random.Random(58)
NOW = 1795824000 * S  # 2026-11-28
LATER = 2000000000 * S  # 2033-05-18


def low(bits, zero):
    """A number that is 0 in that share, and small else."""
    return 0 if chance.random() < zero else chance.randrange(1 << chance.randint(1, bits))


# How each maker fills a field: an address, a hash, a counter that is rarely above 0, a number that a table gave.
MADE = {
    ("snowflake", "node"): lambda bits: low(bits, 0.3),
    ("discord", "sequence"): lambda bits: chance.choice([0, low(6, 0), low(bits, 0), chance.randrange(1 << bits)]),
    ("pgedge", "node"): lambda bits: chance.randint(1, 9),
    ("cockroachdb", "node"): lambda bits: chance.randint(1, chance.choice([1, 3, 9])),
    **{(preset, "worker"): lambda bits: low(14, 0) for preset in PRESETS if preset.startswith("uid")},
    **{("discord", name): lambda bits: low(bits, 0.4) for name in ("worker", "process")},
    **{(preset, "back"): lambda bits: chance.choice([0] * 8 + [1, 2, 3]) for preset in PRESETS},
}
FIRST = {"mastodon": 1479686400 * S}  # version 1.0
LAST = {"uidgenerator": (1463673600 + 2**28) * S}


def made(preset, now):
    """An id of the preset: any time, or a young one."""
    _, epoch, tick, _ = PRESETS[preset]
    first, last = FIRST.get(preset, epoch), min(now, LAST.get(preset, now))
    moment = chance.randrange(first, last) if chance.random() < 0.5 else last - int((last - first) * 10 ** (-3 * chance.random()))
    raw = 0
    for name, bits, place, spread in fields(preset):
        if name == "time":
            value = (moment - epoch) // tick
        elif (preset, name) in MADE:
            value = MADE[preset, name](bits)
        elif spread == "*":
            value = chance.randrange(1 << bits)
        else:
            value = low(bits, 0.3 if name == "node" else 0.7)
        raw |= value << place
    return raw


PUBLIC = [
    ("twitter", 1541815603606036480, "en.wikipedia.org/wiki/Snowflake_ID"),
    ("twitter", 1050118621198921728, "developer.x.com: Tweet object"),
    ("discord", 175928847299117063, "discord.com/developers/docs/reference#snowflakes"),
    ("discord", 334385199974967042, "discord.com/developers/docs/resources/message"),
    ("discord", 290926798999357250, "discord.com/developers/docs/resources/message"),
    ("discord", 53908099506183680, "discord.com/developers/docs/resources/message"),
    ("discord", 437602121152462869, "pastebin.com/tGSLRcXJ"),
    ("discord", 437315077239078912, "pastebin.com/tGSLRcXJ"),
    ("discord", 229461200025550848, "pastebin.com/tGSLRcXJ"),
    ("discord", 282819886198030336, "pastebin.com/tGSLRcXJ"),
    ("discord", 439108416045056000, "pastebin.com/tGSLRcXJ"),
    ("discord", 395990537955573771, "pastebin.com/tGSLRcXJ"),
    ("instagram", 2501040375429168306, "techconverter.me/instagram-short-code-number"),
    ("instagram", 2715604631366879010, "askmeplz.com: MediaId of CWvxAY7B0ci"),
    ("mastodon", 103270115826048975, "docs.joinmastodon.org/entities/Status"),
    ("tsid", 38352658567418872, "README of hypersistence TSID"),
    ("pgedge", 136169504773242881, "docs.pgedge.com/snowflake/snowflake_functions"),
    ("cockroachdb", 148656994422095873, "cockroachlabs.com/docs/v1.1/serial"),
    ("cockroachdb", 148656994422161409, "cockroachlabs.com/docs/v1.1/serial"),
    ("cockroachdb", 148656994422194177, "cockroachlabs.com/docs/v1.1/serial"),
    ("cockroachdb", 235191684988928001, "cockroachdb/cockroach/issues/15721"),
    ("cockroachdb", 568469873039769601, "cockroachdb/docs/issues/9811"),
    ("cockroachdb", 568470828140756993, "cockroachdb/docs/issues/9811"),
    ("cockroachdb", 568474131622756353, "cockroachdb/docs/issues/9811"),
    ("cockroachdb", 1134663890672549889, "Donkie/Spoolman/pull/1017"),
]
MANY = 40  # of each preset

print("id,now_ms,preset,secret_hex,source,guesses")


def row(number, now, preset, secret, source, randflake_raw=None):
    print(number, now // 1000, preset, secret, source, guesses(number, now, randflake_raw), sep=",")


for preset, number, source in PUBLIC:
    row(number, NOW, preset, "", source)
for preset in sorted(PRESETS, key=lambda preset: preset == "cockroachdb"):  # the last that was added
    if preset != "randflake":
        for i in range(MANY):
            now = NOW if i % 4 else LATER
            row(made(preset, now), now, preset, "", "made")
with open(pathlib.Path(__file__).with_name("randflake.csv")) as file:
    for known in list(csv.DictReader(file))[:MANY]:
        now = int(known["unix_seconds"]) * S + 86400 * S
        row(int(known["encrypted_id"]), now, "randflake", known["secret_hex"], "randflake.csv", int(known["raw_id"]) % 2**64)
for number in (0, 1, -1, -99, 2**63 - 1, -(2**63), 2**53, 2**62):
    row(number, NOW, "", "", "edge")
for ahead in (MAX_AHEAD, MAX_AHEAD + 1000):
    row((NOW + ahead - PRESETS["pgedge"][1]) // 1000 << 22, NOW, "", "", "edge")
