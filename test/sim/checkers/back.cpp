// A back field counts clocks that were set back, and nothing else. When the layout is about to end,
// a horizon past its last tick begins the next count, after which nothing comes.
#include "checkers.hpp"

namespace sim {

void back_explained(const Id& id)
{
    const uint64_t count = word_back(id.generator.shape, id.word);
    const bool ends =
        word_start_us(id.generator, id.word) > end_us(id.generator.layout) - 10 * second;
    if (count > set_backs && !ends) {
        tell("count %llu, the clock was set back %llu times",
             static_cast<unsigned long long>(count), static_cast<unsigned long long>(set_backs));
        broken("6: a count of back that no clock explains");
    }
}

} // namespace sim
