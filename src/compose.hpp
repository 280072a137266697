// What a word that was drawn becomes: the id that the user gets.
#pragma once

#include "generator.hpp"
#include "secret.hpp"

namespace flakeid {

inline int64_t id_of_word(const Generator& g, uint64_t word)
{
    Assert((raw_of_word(g.layout, g.shape, word) & g.node_bits) == 0);
    const uint64_t raw = raw_of_word(g.layout, g.shape, word) | g.node_bits;
    Assert(split(g.layout, raw).node == g.node && (g.layout.enciphered || raw <= PG_INT64_MAX));
    return static_cast<int64_t>(g.layout.enciphered ? sparx_encrypt(configured_key(), raw) : raw);
}

// The ids of `count` words, from `word` on: the cipher takes several side by side.
void ids_of_words(const Generator& generator, uint64_t word, uint32_t count, uint64_t* ids);

} // namespace flakeid
