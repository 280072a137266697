"""Types flake and flake_sealed in asyncpg: an id is a Python int, a sealed id a str, an array a list of them."""


async def register_flake(connection):
    schema = await connection.fetchval(
        "SELECT typnamespace::regnamespace::text FROM pg_type WHERE oid = 'flake'::regtype"
    )
    await connection.set_builtin_type_codec("flake", schema=schema, codec_name="int8")
    await connection.set_type_codec("flake_sealed", schema=schema, encoder=str, decoder=str, format="text")


# asyncpg.create_pool(..., init=register_flake) does it for each connection of a pool.
