// What the database remembers of the secret (secret.hpp): that ids were made with it at all, so
// that nobody is told to make another one, and which keys sealed ids were made with.
//
// The keys of sealed ids are those of the secret, once they were found to be the same as
// those that sealed ids of this database were made with before. Under another secret a sealed text
// would be the text of another id, and nothing in it would show that.
//
// The database remembers a fingerprint of each key number in flakeid.state (durable.hpp), so that
// copies and standbys have it, and dumps carry it. It is set when a session first has the key.
#pragma once

#include "settings/secret.hpp"

extern "C" {
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
}

namespace flakeid {

// True when ids of this database were sealed or enciphered, here or before a restore.
bool secret_used();

// Returns key 0 of the settings in effect. Valid until the settings change.
inline const SparxKey& configured_key()
{
    if (unlikely(expanded_secret.settings_version != settings.version)) {
        load_key(secret_used);
    }
    return expanded_secret.key[0];
}

// Remembers that ids of an enciphered layout are made here, for secret_used().
void remember_enciphering();

// Loads the keys, and lets the database remember those that it does not know. Raises an error when
// they cannot be loaded, or the database knows another one. In logical decoding nobody asks the
// database: what is decoded was sealed here.
void prepare_sealing();

// Loads the keys, and raises an error where sealed ids of this database were made with another one.
// Remembers nothing.
void require_known_keys();

// Returns the keys of sealed ids. They are read again after a reload of the configuration.
inline const ExpandedSecret& sealing_keys()
{
    if (unlikely(expanded_secret.sealing_version != settings.version ||
                 expanded_secret.read_at != PgReloadTime ||
                 (!expanded_secret.compared && !HistoricSnapshotActive()))) {
        prepare_sealing();
    }
    return expanded_secret;
}

struct Durable;

// Returns the fingerprint of a key number; 0: none is known.
uint32_t durable_key_fingerprint(const Durable& durable, int number);

// Takes over what a dump carries: it counts from now on. Raises an error, and it counts all the
// same, where this database knew another key under that number, as it does when the dump is
// restored beside another secret.
void sealing_restore(int number, uint32_t fingerprint);

} // namespace flakeid
