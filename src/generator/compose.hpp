// Makes the id that the user gets from a word that was drawn.
#pragma once

#include "generator/generator.hpp"
#include "durable/fingerprints.hpp"

namespace flakeid {

inline uint64_t raw_id(const Generator& g, Word word)
{
    const uint64_t raw = raw_of_word(g.layout, g.shape, word) | g.node_bits;
    Assert(raw == compose(g.layout, {word_tick(g.shape, word), g.node,
                                     static_cast<uint32_t>(word_sequence(g.shape, word)),
                                     static_cast<uint32_t>(word_back(g.shape, word))}));
    Assert(g.layout.enciphered || raw <= PG_INT64_MAX);
    return raw;
}

inline int64_t id_of_word(const Generator& g, Word word)
{
    const uint64_t raw = raw_id(g, word);
    return static_cast<int64_t>(g.layout.enciphered ? sparx_encrypt(configured_key(), raw) : raw);
}

// Returns the ids of `count` words, from `word` on: the cipher takes several side by side.
void ids_of_words(const Generator& generator, Word word, uint32_t count, uint64_t* ids);

} // namespace flakeid
