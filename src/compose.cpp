#include "compose.hpp"

namespace flakeid {

void ids_of_words(const Generator& g, uint64_t word, uint32_t count, uint64_t* ids)
{
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = raw_of_word(g.layout, g.shape, word + i) | g.node_bits;
    }
    if (g.layout.enciphered) {
        sparx_encrypt_many(configured_key(), ids, count);
    }
}

} // namespace flakeid
