// flake_encrypt and flake_decrypt: the block cipher alone.
#include "durable/fingerprints.hpp"

using namespace flakeid;

namespace {

// The expanded key of argument `arg`, or an error; to be wiped.
void key_of_argument(FunctionCallInfo fcinfo, int arg, SparxKey* key)
{
    bytea* bytes = PG_GETARG_BYTEA_PP(arg);
    const auto length = static_cast<int>(VARSIZE_ANY_EXHDR(bytes));
    if (length != sparx_key_bytes) {
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid key length"),
                errdetail("The key has %d bytes.", length),
                errhint("A key of SPARX-64/128 has %d bytes, as in decode('...', 'hex').",
                        sparx_key_bytes));
    }
    sparx_expand(reinterpret_cast<const unsigned char*>(VARDATA_ANY(bytes)), key);
}

} // namespace

FLAKEID_FUNCTION(flakeid_encrypt)
{
    const auto word = static_cast<uint64_t>(PG_GETARG_INT64(0));
    return Int64GetDatum(static_cast<int64_t>(sparx_encrypt(configured_key(), word)));
}

FLAKEID_FUNCTION(flakeid_decrypt)
{
    const auto word = static_cast<uint64_t>(PG_GETARG_INT64(0));
    return Int64GetDatum(static_cast<int64_t>(sparx_decrypt(configured_key(), word)));
}

FLAKEID_FUNCTION(flakeid_encrypt_with_key)
{
    SparxKey key;
    key_of_argument(fcinfo, 1, &key);
    const uint64_t id = sparx_encrypt(key, static_cast<uint64_t>(PG_GETARG_INT64(0)));
    wipe(&key, sizeof key);
    return Int64GetDatum(static_cast<int64_t>(id));
}

FLAKEID_FUNCTION(flakeid_decrypt_with_key)
{
    SparxKey key;
    key_of_argument(fcinfo, 1, &key);
    const uint64_t word = sparx_decrypt(key, static_cast<uint64_t>(PG_GETARG_INT64(0)));
    wipe(&key, sizeof key);
    return Int64GetDatum(static_cast<int64_t>(word));
}
