// A back field counts clocks that were set back, and nothing else. A repair does the same to what
// was ahead by mistake. The file of the server knows whose counts they are: where a layout counts
// that it does not know, or several do, no later start believes them.
#include "checkers.hpp"
#include "sessions.hpp"

#include <algorithm>
#include <map>

namespace sim {

namespace {

std::map<int64_t, int> layout_of_counter; // as the file says it
bool counts[layout_count];                // made ids in this life

} // namespace

void counters_begin()
{
    layout_of_counter.clear();
}

void counters_life_begins()
{
    std::fill(counts, counts + layout_count, false);
}

void counter_is_known(const Id& id)
{
    if (!id.generator.shape.has_back) {
        return;
    }
    counts[id.layout] = true;
    const int64_t counter = flushed_file(here()).counter;
    if (counter == flakeid::several_counters) {
        return;
    }
    const bool alone = std::count(counts, counts + layout_count, true) == 1;
    if (!alone || layout_of_counter.try_emplace(counter, id.layout).first->second != id.layout) {
        tell("layout %d, the file says %llx", id.layout, static_cast<long long>(counter));
        broken("a layout that counts set-backs is not known to do so");
    }
}

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
