// The keys of sealed ids: what HMAC-SHA-256 makes of a secret, so that they tell nothing of it, and
// whoever may use the cipher under the secret cannot compute them.
#pragma once

#include "core/sparx.hpp"
#include "server/postgres.hpp"

namespace flakeid {

// Makes `subkey` the first 16 bytes of HMAC-SHA-256(key, purpose): of "flakeid sealed n" under key
// n of a secret for sealed ids, and of "flakeid prefix ord" under that subkey for ids with prefix
// ord. The caller wipes it.
void make_subkey(const unsigned char (&key)[sparx_key_bytes], const char* purpose,
                 unsigned char (&subkey)[sparx_key_bytes]);

} // namespace flakeid
