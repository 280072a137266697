// The keys of sealed ids: those of the secret (secret.hpp), once they were found to be the same as
// those that sealed ids of this database were made with before. Under another secret a sealed text
// would be the text of another id, and nothing in it would show that.
//
// The database remembers a fingerprint of each key number in flakeid.state (durable.hpp), so that
// copies and standbys have it, and dumps carry it. It is set when a session first has the key.
#pragma once

#include "settings/secret.hpp"

extern "C" {
#include "utils/timestamp.h"
}

namespace flakeid {

// True when ids of this database were sealed, here or before a restore.
bool sealed_before();

// Loads the keys, or throws an error that says what is wrong with them.
void prepare_sealing();

// Returns the keys of sealed ids. They are read again after a reload of the configuration.
inline const ExpandedSecret& sealing_keys()
{
    if (unlikely(expanded_secret.sealing != settings.generation ||
                 expanded_secret.read_at != PgReloadTime)) {
        prepare_sealing();
    }
    return expanded_secret;
}

struct Durable;

// Returns the fingerprint of a key number; 0: none is known.
uint32_t durable_key_fingerprint(const Durable& durable, int number);

// Takes over what a dump carries: it counts from now on. An error where this database knew another
// key under that number, as it does when the dump is restored beside another secret.
void sealing_restore(int number, uint32_t fingerprint);

} // namespace flakeid
