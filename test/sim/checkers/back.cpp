// A back field counts clocks that were set back, and nothing else. A repair does the same to what
// was ahead by mistake.
#include "checkers.hpp"

namespace sim {

void back_explained(const Id& id)
{
    const uint64_t count = word_back(id.generator.shape, id.word);
    if (count > set_backs + repairs_ever()) {
        tell("count %llu, the clock was set back %llu times, repairs %zu",
             static_cast<unsigned long long>(count), static_cast<unsigned long long>(set_backs),
             repairs_ever());
        broken("6: a count of back that no clock explains");
    }
}

} // namespace sim
