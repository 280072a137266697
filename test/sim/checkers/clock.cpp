// G5: no id has the time of a clock that leapt further than max_leap.
// G3: an id lies no further ahead than max_ahead of the latest wall clock that its draw has read.
#include "checkers.hpp"
#include "settings/settings.hpp"

namespace sim {

void close_to_clock(const Id& id)
{
    if (word_start_us(id.generator, id.word) > right_wall() + flakeid::settings.max_ahead_us) {
        broken("G5: an id of a clock that leapt past max_leap");
    }
    const int64_t ahead = word_start_us(id.generator, id.word) - my_highest_wall;
    if (ahead > flakeid::settings.max_ahead_us) {
        tell("%.6f s ahead", static_cast<double>(ahead) / 1e6);
        broken("G3: an id too far ahead of the clock");
    }
    // One that was reserved was drawn earlier.
    const int64_t end_us = word_start_us(id.generator, id.word) + id.generator.layout.tick_us;
    if (!id.cached && end_us <= my_lowest_wall) {
        tell("%.6f s before", static_cast<double>(my_lowest_wall - end_us) / 1e6);
        broken("an id is stamped before its draw began");
    }
}

} // namespace sim
