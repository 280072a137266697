# Writes sealed_key.csv: keys of sealed ids, by Python's hmac.
import hashlib, hmac, random

chance = random.Random(25)
print("secret_hex,number,key_hex")
for secret in [bytes(16), bytes.fromhex("00112233445566778899aabbccddeeff"), chance.randbytes(16)]:
    for number in range(16):
        key = hmac.new(secret, b"flakeid sealed %d" % number, hashlib.sha256).digest()[:16]
        print(f"{secret.hex()},{number},{key.hex()}")
