// A back field counts clocks that were set back, and nothing else.
#include "checkers.hpp"

namespace sim {

void back_explained(const Id& id)
{
    const uint64_t count = word_back(id.generator.shape, id.word);
    if (count > set_backs) {
        tell("count %llu, the clock was set back %llu times",
             static_cast<unsigned long long>(count), static_cast<unsigned long long>(set_backs));
        broken("6: a count of back that no clock explains");
    }
}

} // namespace sim
