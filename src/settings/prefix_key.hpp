// Prefixes of public ids, such as ord in ord_cn6aqdp67ctk1, and the key of each.
#pragma once

#include "settings/secret.hpp"

namespace flakeid {

// Returns a prefix of ids as a string; an error where the text is none.
const char* require_prefix(text* prefix);

// Makes `key` what opens ids with that prefix, of the key of sealed ids of that number, which
// is loaded. The caller wipes it.
void make_prefix_key(int number, const char* prefix, unsigned char (&key)[sparx_key_bytes]);

// Returns the same expanded. Valid until the next call, or until the settings change.
const SparxKey& prefix_key(int number, const char* prefix);

} // namespace flakeid
