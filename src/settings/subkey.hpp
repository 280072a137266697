// The keys of sealed ids: what HMAC-SHA-256 makes of a secret, so that they tell nothing of it, and
// whoever may use the cipher under the secret cannot compute them.
#pragma once

#include "core/sparx.hpp"
#include "server/postgres.hpp"

namespace flakeid {

// Makes `subkey` the first 16 bytes of HMAC-SHA-256(key, "flakeid sealed " and `number`, that of
// the key in decimal digits). The caller wipes it.
void make_subkey(const unsigned char (&key)[sparx_key_bytes], int number,
                 unsigned char (&subkey)[sparx_key_bytes]);

} // namespace flakeid
