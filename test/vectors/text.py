#!/usr/bin/env python3
"""Prints text.csv: ids in every text form, by Python's own integers and base64."""
import base64
import random
import struct


def digits(number, alphabet, width=1):
    text = ""
    while number or len(text) < width:
        number, digit = divmod(number, len(alphabet))
        text = alphabet[digit] + text
    return text


LOWER = "abcdefghijklmnopqrstuvwxyz"
ALNUM = "0123456789" + LOWER
FORMS = {
    "base2": lambda n: format(n, "b"),
    "base16": lambda n: format(n, "016x"),
    "base32": lambda n: digits(n, "ybndrfg8ejkmcpqxot1uwisza345h769"),
    "base32crockford": lambda n: digits(n, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 13),
    "base32hex": lambda n: digits(n, ALNUM[:32]),
    "base36": lambda n: digits(n, ALNUM),
    "base58": lambda n: digits(n, "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"),
    "base62": lambda n: digits(n, "0123456789" + LOWER.upper() + LOWER),
    "base64url": lambda n: base64.urlsafe_b64encode(struct.pack(">Q", n)).rstrip(b"=").decode(),
}

random.seed(1)
ids = {0, 1, -1, 9, 10, 2**63 - 1, -(2**63), -(2**63) + 1}
for base in (2, 16, 32, 36, 58, 62, 64):
    power = base
    while power < 2**64:
        ids |= {(n + 2**63) % 2**64 - 2**63 for n in (power - 1, power)}
        power *= base**3
ids |= {random.randrange(-(2**63), 2**63) for _ in range(40)}
ids |= {random.randrange(2 ** random.randrange(1, 63)) for _ in range(40)}

print("id," + ",".join(FORMS) + ",base64")
for i in sorted(ids):
    row = [form(i % 2**64) for form in FORMS.values()]
    print(i, *row, base64.b64encode(str(i).encode()).decode(), sep=",")
