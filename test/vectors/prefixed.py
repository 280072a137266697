"""Writes prefixed.csv: public ids with a prefix, by Python's hmac and the cipher of doc/clients/flake_public_id.py, which the rows of
randflake.csv hold to the public libraries."""
import hashlib, hmac, pathlib, random, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "doc/clients"))
from flake_public_id import PublicIds

chance = random.Random(58)
print("secret_hex,number,prefix,id,public_id")
for secret in [bytes(16), bytes.fromhex("00112233445566778899aabbccddeeff"), chance.randbytes(16)]:
    for number in (0, 1, 9, 15):
        sealed = hmac.new(secret, b"flakeid sealed %d" % number, hashlib.sha256).digest()[:16]
        for prefix in ("ord", "cus", "a", "line_item_2", "a123456789_123456789_123456789_"):
            key = hmac.new(sealed, b"flakeid prefix " + prefix.encode(), hashlib.sha256).digest()[:16]
            for id in (0, -1, 2124409268290453504, chance.randrange(-(2**63), 2**63), chance.randrange(2**63)):
                print(secret.hex(), number, prefix, id, PublicIds(prefix, {number: key}).seal(id), sep=",")
