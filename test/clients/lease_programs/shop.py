from flake_lease import FlakeIds

ids = FlakeIds(holder="shop", layout="snowflake")
print(ids.next())
ids.close()
