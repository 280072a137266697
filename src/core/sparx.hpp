// SPARX-64/128 (Dinu et al., "Design Strategies for ARX with Provable Bounds", ASIACRYPT 2016),
// with the byte order of the public Randflake libraries.
//
// Byte order: a block is a number of 64 bits. Its 8 bytes, least significant first, are four 16-bit
// words, first byte high; the result becomes a number in the same way. So the number is the same on
// machines of either byte order.
//
// Time: all functions but wipe() add, rotate and xor. No branch, no address and no length depends
// on key or block, so the time they take tells of neither. No tables.
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

// Expands `key`, sparx_key_bytes bytes: eight 16-bit words, first byte high. The caller wipes both.
void sparx_expand(const unsigned char* key, SparxKey* expanded);

// Enciphers one block. Every number is one, and every key is as good as any other.
uint64_t sparx_encrypt(const SparxKey& key, uint64_t raw);
// Replaces each word by its sparx_encrypt(), which costs less than half as much for many.
void sparx_encrypt_many(const SparxKey& key, uint64_t* words, size_t count);

// Returns the block that sparx_encrypt() made `id` of.
uint64_t sparx_decrypt(const SparxKey& key, uint64_t id);

// Overwrites memory in a way that the compiler keeps.
void wipe(void* memory, unsigned long size);

static_assert(is_plain<SparxKey>);

} // namespace flakeid
