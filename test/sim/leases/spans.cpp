// All nodes of a span fill a tick before one of them goes on, where the server has leases of them.
#include "leases/truth.hpp"

#include "checker.hpp"
#include "checkers.hpp"
#include "world.hpp"

#include <algorithm>
#include <map>

namespace sim {

namespace {

// Sessions look at other nodes when a tick of theirs is used up.
constexpr int64_t longest_lead = second;
// By then, all sessions know of a lease, and have looked at its nodes since.
constexpr int64_t known_after_us = 5 * second;

// Of each server, in this life.
struct Spent {
    uint64_t life;
    int64_t first;   // moment of its lowest id: no node begins before it
    int64_t skipped; // a settled mark brought all nodes there
    std::map<uint32_t, int64_t> last; // of those of a node
};
Spent spent[most_servers];

Spent& spent_here()
{
    Spent& of = spent[here().number];
    if (of.life != here().life) {
        of = {here().life, INT64_MAX, INT64_MIN, {}};
    }
    return of;
}

} // namespace

void spans_begin()
{
    std::fill(spent, spent + most_servers, Spent{});
}

void mark_skips_nodes()
{
    Spent& of = spent_here();
    of.skipped = std::max(of.skipped, wall_clock(here()));
    for (const auto& [node, us] : of.last) {
        of.skipped = std::max(of.skipped, us);
    }
}

void leased_nodes_in_step(const flakeid::Generator& g, flakeid::Word word)
{
    if (g.lease.entry == nullptr || g.granted.first == g.granted.last) {
        return;
    }
    Spent& of = spent_here();
    const int64_t us = word_start_us(g, word);
    of.first = std::min(of.first, us);
    // What several layouts that count set-backs begin after, whatever the node.
    const int64_t least =
        word_start_us(g, word_of(g.shape, 0, clamp_tick(g.shape, tick_number(g.limits.least)), 0));
    const int64_t begins = std::max({my_highest_wall, of.first, of.skipped, least});
    int64_t& last_here = of.last.try_emplace(g.node, INT64_MIN).first->second;
    const bool begun = us <= last_here; // a tick is used up before others are looked at
    for (uint32_t node = g.span.first; node <= g.span.last; node++) {
        const auto at = of.last.find(node);
        const int64_t from_us = leased_from(node, us + g.layout.tick_us, known_after_us);
        const int64_t last = at == of.last.end() ? begins : at->second;
        const int64_t next = std::max({begins, from_us, last});
        // Reserved ids may still come.
        if (us - g.layout.tick_us - longest_lead > next && !begun && !world.has('a')) {
            tell("server %d, node %u at %.6f s ahead, node %u could be %.6f s earlier",
                 here().number, g.node, static_cast<double>(us - my_highest_wall) / 1e6, node,
                 static_cast<double>(us - next) / 1e6);
            broken("a node of the span is left out");
        }
    }
    last_here = std::max(last_here, us);
}

} // namespace sim
