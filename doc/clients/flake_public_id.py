"""Public ids with a prefix, such as ord_cn6aqdp67ctk1, without the database. See doc/clients/public_ids.md.

    orders = PublicIds("ord", {0: bytes.fromhex("...")})     # SELECT encode(flakeid.sealed_key(0, 'ord'), 'hex')
    orders.seal(2124409268290453504)                          # 'ord_cn6aqdp67ctk1'
    orders.unseal("ord_cn6aqdp67ctk1")                        # 2124409268290453504, or None for a text that is none

A dictionary of several keys has those of old texts too; the first one seals. Tested with Python 3.11."""

import re

DIGITS = "0123456789abcdefghijklmnopqrstuv"


def _rotate(word, bits):
    return (word << bits | word >> 16 - bits) & 0xFFFF


def _round_keys(key):
    k = [int.from_bytes(key[i : i + 2], "big") for i in range(0, 16, 2)]
    rounds = []
    for count in range(1, 18):
        rounds += k[:6]
        k[0] = _rotate(k[0], 9) + k[1] & 0xFFFF
        k[1] = _rotate(k[1], 2) ^ k[0]
        k[2] = k[2] + k[0] & 0xFFFF
        k[3] = k[3] + k[1] & 0xFFFF
        k[7] = k[7] + count & 0xFFFF
        k = k[6:] + k[:6]
    return rounds


def _words(number):
    data = number.to_bytes(8, "little")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, 8, 2)]


def _number(words):
    return int.from_bytes(b"".join(word.to_bytes(2, "big") for word in words), "little")


def encrypt(number, rounds):
    """SPARX-64/128 of an unsigned number of 64 bits."""
    a, b, c, d = _words(number)
    for at in range(0, 96, 12):
        a, b, c, d = c, d, a, b
        for key in range(at, at + 6, 2):
            c = _rotate(c ^ rounds[key], 9) + (d ^ rounds[key + 1]) & 0xFFFF
            d = _rotate(d ^ rounds[key + 1], 2) ^ c
            a = _rotate(a ^ rounds[key + 6], 9) + (b ^ rounds[key + 7]) & 0xFFFF
            b = _rotate(b ^ rounds[key + 7], 2) ^ a
        mix = _rotate(c ^ d, 8)
        a ^= c ^ mix
        b ^= d ^ mix
    return _number([word ^ key for word, key in zip((a, b, c, d), rounds[96:100])])


def decrypt(number, rounds):
    a, b, c, d = [word ^ key for word, key in zip(_words(number), rounds[96:100])]
    for at in range(84, -1, -12):
        mix = _rotate(c ^ d, 8)
        a ^= c ^ mix
        b ^= d ^ mix
        for key in range(at + 4, at - 1, -2):
            d = _rotate(c ^ d, 14)
            c = _rotate(c - d & 0xFFFF, 7) ^ rounds[key]
            d ^= rounds[key + 1]
            b = _rotate(a ^ b, 14)
            a = _rotate(a - b & 0xFFFF, 7) ^ rounds[key + 6]
            b ^= rounds[key + 7]
        a, b, c, d = c, d, a, b
    return _number([a, b, c, d])


class PublicIds:
    def __init__(self, prefix, keys):
        if not re.fullmatch("[a-z][a-z0-9_]{0,30}", prefix):
            raise ValueError(f"invalid prefix {prefix!r}")
        self.prefix = prefix
        self.keys = {number: _round_keys(key) for number, key in keys.items()}
        self.current = next(iter(keys))

    def seal(self, id):
        word = encrypt(id % 2**64, self.keys[self.current])
        digits = "".join(DIGITS[word >> place & 31] for place in range(60, -1, -5))
        return f"{self.prefix}_{DIGITS[self.current] if self.current else ''}{digits}"

    def unseal(self, text):
        match = re.fullmatch(f"{self.prefix}_([1-9A-Fa-f]?)([0-9A-Fa-f][0-9A-Va-v]{{12}})", text)
        rounds = match and self.keys.get(int(match[1] or "0", 32))
        if not rounds:
            return None
        id = decrypt(int(match[2], 32), rounds)
        return id - 2**64 if id >> 63 else id
