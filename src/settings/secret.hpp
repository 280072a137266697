// The configured secret: where it comes from, and who may use it.
#pragma once

#include "core/sealed.hpp"
#include "core/sparx.hpp"
#include "server/postgres.hpp"
#include "settings/settings.hpp"

namespace flakeid {

void secret_init();

enum class SecretSource { none, file, setting, not_honoured };
SecretSource secret_source();

// The key of ids with a prefix, made of a key of sealed ids.
struct PrefixKey {
    char prefix[max_prefix + 1]; // empty: there is none
    int number;
    SparxKey key;
};

constexpr int max_prefix_keys = 8;

// The keys of the secret. Enciphered layouts and flake_encrypt() use key 0. Sealed ids use a subkey
// of each, so that who may use the one cipher learns nothing of the other's ids.
struct ExpandedSecret {
    SparxKey key[max_keys];
    SparxKey sealed[max_keys];
    unsigned char subkey[max_keys][sparx_key_bytes]; // `sealed`, before it was expanded
    uint32_t present;                                // a bit for each number
    int current;                                     // the key of new sealed texts
    PrefixKey prefix[max_prefix_keys];               // those that were used last
    int next_prefix;                                 // the place of the next one
    uint64_t loaded;           // the version of the settings whose secret it is; 0: none is loaded
    uint64_t settings_version; // the same where key 0 is present

    // Set by fingerprints.cpp, when what is loaded was found to be right for sealed ids of this
    // database.
    uint64_t sealing_version; // that of the settings then; 0: it was not
    TimestampTz read_at;      // the last reload of the configuration by then
    bool compared;            // false: it was loaded in logical decoding, and compared with nothing
};
extern ExpandedSecret expanded_secret;

inline bool has_key(int number)
{
    return (expanded_secret.present >> number & 1) != 0;
}

// Expands the secret of the settings in effect, or raises an error that says what is wrong with it.
// `used` is asked then: where ids were made with a secret before, no new one is offered.
void load_secret(bool (*used)());

// Does the same unless it was done, and raises an error unless there is a key 0.
void load_key(bool (*used)());

// Returns what to do where there is no secret. A new one is offered where none was used before.
const char* no_secret_hint(bool used);

// Returns a number that tells one key from another, and shows neither.
uint64_t fingerprint_of_key(const SparxKey& key);

// Wipes what load_secret() made of all keys. Whoever needs one loads them again.
void forget_secret();

static_assert(is_plain<PrefixKey, ExpandedSecret>);

} // namespace flakeid
