#include "generator/compose.hpp"

namespace flakeid {

void ids_of_words(const Generator& g, Word word, uint32_t count, uint64_t* ids)
{
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = raw_id(g, word + i);
    }
    if (g.layout.enciphered) {
        sparx_encrypt_many(configured_key(), ids, count);
    }
}

} // namespace flakeid
