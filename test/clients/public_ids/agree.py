# Held against the rows of prefixed.csv: agree.py FILE
import csv
import hashlib
import hmac
import sys

from flake_public_id import PublicIds


def subkey(key, purpose):
    return hmac.new(key, purpose.encode(), hashlib.sha256).digest()[:16]


rows = 0
for row in csv.DictReader(open(sys.argv[1])):
    number, prefix, id, text = int(row["number"]), row["prefix"], int(row["id"]), row["public_id"]
    sealed = subkey(bytes.fromhex(row["secret_hex"]), f"flakeid sealed {number}")
    ids = PublicIds(prefix, {number: subkey(sealed, f"flakeid prefix {prefix}")})
    assert ids.seal(id) == text, (ids.seal(id), text)
    assert ids.unseal(text) == id
    digits = text[len(prefix) + 1 :]
    assert ids.unseal(f"{prefix}_{digits.upper()}") == id
    assert PublicIds("other", {number: subkey(sealed, "flakeid prefix other")}).unseal(f"other_{digits}") != id
    bad = ["", prefix, digits, f"other_{digits}", text.upper(), text + " ", text + "\n", " " + text, f"{prefix}_z{digits[1:]}"]
    bad += [f"{prefix}_0{digits}"[: len(prefix) + 15], f"{prefix}_g000000000000", f"{prefix}_7{digits[-13:]}"]
    for wrong in bad:
        assert ids.unseal(wrong) is None, wrong
    rows += 1
print(rows)
