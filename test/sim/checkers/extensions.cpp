// A horizon reaches no further ahead of the clock than sessions may stamp, and is extended once a
// second at most, so that a standby whose replay lags by less misses one extension. After a start
// the row may catch up once.
#include "checkers.hpp"
#include "world.hpp"

#include <algorithm>

namespace sim {

namespace {

// The largest flakeid.max_ahead of any role
int64_t furthest_ahead()
{
    return has_far_sessions() ? minute : world.max_ahead;
}

struct Moved {
    int64_t latest;      // true time
    size_t caught_up_in; // the number of lives then
};
Moved moved[most_databases][flakeid::horizon_kinds];

bool looked_moved()
{
    return std::any_of(lives.begin(), lives.end(), [](const Life& life) { return life.unsure; });
}

} // namespace

void extensions_begin()
{
    for (int database = 0; database < most_databases; database++) {
        extensions_are_dropped(database);
    }
}

void extensions_are_dropped(int database)
{
    std::fill(moved[database], moved[database] + flakeid::horizon_kinds, Moved{-second, 0});
}

void seldom_extended(Server&, int database, const StateFile& before, const StateFile& after)
{
    // There a row may say anything; and a repair writes what others lead the server to.
    if (world.chosen.find_first_of("rVo") != std::string::npos || erred(database) ||
        repair_goes_on(database)) {
        return;
    }
    for (int kind = 0; kind < flakeid::horizon_kinds; kind++) {
        const auto from = flakeid::stamp_of_number(durable_of(before).stamped.stamp[kind]);
        const auto to = flakeid::stamp_of_number(durable_of(after).stamped.stamp[kind]);
        if (to <= from) {
            continue;
        }
        if (stamp_us(to) > right_wall() + furthest_ahead() && !looked_moved()) {
            tell("%.6f s ahead", static_cast<double>(stamp_us(to) - right_wall()) / 1e6);
            broken("a horizon further ahead of the clock than any session stamps");
        }
        if (stamp_back(to) > stamp_back(from) || world.has('t')) { // one slow flush has several
            continue;
        }
        Moved& of = moved[database][kind];
        if (true_us - of.latest < second) {
            if (of.caught_up_in == lives.size()) {
                tell("two within %.6f s", static_cast<double>(true_us - of.latest) / 1e6);
                broken("a horizon is extended more than once a second");
            }
            of.caught_up_in = lives.size();
        }
        of.latest = true_us;
    }
}

} // namespace sim
