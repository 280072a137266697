// SPARX-64/128 (Dinu et al., "Design Strategies for ARX with Provable Bounds", ASIACRYPT 2016),
// with the byte order of the public Randflake libraries.
#pragma once

#include "plain.hpp"

#include <cstddef>
#include <cstdint>

namespace flakeid {

constexpr int sparx_key_bytes = 16;
constexpr int sparx_branches = 2;
constexpr int sparx_steps = 8;
constexpr int sparx_rounds = 3; // of each branch in each step

// The expanded key: secret, to be wiped with wipe() by whoever holds it.
struct SparxKey {
    uint16_t round[sparx_branches * sparx_steps + 1][2 * sparx_rounds];
    uint16_t sum[sparx_branches * sparx_steps][sparx_rounds]; // of the two words of a round
};

// `key` holds sparx_key_bytes bytes: eight 16-bit words, first byte high.
void sparx_expand(const unsigned char* key, SparxKey* expanded);

uint64_t sparx_encrypt(const SparxKey& key, uint64_t raw);
// Replaces each word by its sparx_encrypt(), which costs less than half as much for many.
void sparx_encrypt_many(const SparxKey& key, uint64_t* words, size_t count);

uint64_t sparx_decrypt(const SparxKey& key, uint64_t id);

// Overwrites memory in a way that the compiler keeps.
void wipe(void* memory, unsigned long size);

static_assert(is_plain<SparxKey>);

} // namespace flakeid
