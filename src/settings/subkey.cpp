#include "settings/subkey.hpp"

extern "C" {
#include "common/hmac.h"
#include "common/sha2.h"
}

namespace flakeid {

void make_subkey(const unsigned char (&key)[sparx_key_bytes], const char* purpose,
                 unsigned char (&subkey)[sparx_key_bytes])
{
    unsigned char hash[PG_SHA256_DIGEST_LENGTH];
    pg_hmac_ctx* context = pg_hmac_create(PG_SHA256);
    if (context == nullptr || pg_hmac_init(context, key, sizeof key) < 0 ||
        pg_hmac_update(context, reinterpret_cast<const uint8*>(purpose), strlen(purpose)) < 0 ||
        pg_hmac_final(context, hash, sizeof hash) < 0) {
        elog(ERROR, "could not make a key: %s", pg_hmac_error(context));
    }
    pg_hmac_free(context);
    memcpy(subkey, hash, sizeof subkey);
    wipe(hash, sizeof hash);
}

} // namespace flakeid
