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

// The next id of the span lies at `us`.
void look_at_others(const flakeid::Generator& g, int64_t us)
{
    const Spent& of = spent_here();
    // What several layouts that count set-backs begin after, whatever the node.
    const int64_t least =
        word_start_us(g, word_of(g.shape, 0, clamp_tick(g.shape, tick_number(g.limits.least)), 0));
    const int64_t begins =
        std::max({my_highest_wall, std::min(of.first, us), of.skipped, least});
    for (uint32_t node = g.span.first; node <= g.span.last; node++) {
        const auto at = of.last.find(node);
        const int64_t from_us = leased_from(node, us + g.layout.tick_us, known_after_us);
        const int64_t last = at == of.last.end() ? begins : at->second;
        const int64_t next = std::max({begins, from_us, last});
        // Reserved ids may still come.
        if (us - g.layout.tick_us - longest_lead > next && !world.has('a')) {
            tell("server %d, node %u at %.6f s ahead, node %u could be %.6f s earlier",
                 here().number, g.node, static_cast<double>(us - my_highest_wall) / 1e6, node,
                 static_cast<double>(us - next) / 1e6);
            broken("a node of the span is left out");
        }
    }
}

bool is_leased_span(const flakeid::Generator& g)
{
    return g.tenure.entry != nullptr && g.granted.first != g.granted.last;
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
    if (!is_leased_span(g)) {
        return;
    }
    Spent& of = spent_here();
    const int64_t us = word_start_us(g, word);
    int64_t& last = of.last.try_emplace(g.node, INT64_MIN).first->second;
    if (us > last) { // a tick that is begun is used up before others are looked at
        look_at_others(g, us);
    }
    of.first = std::min(of.first, us);
    last = std::max(last, us);
}

void leased_nodes_are_refused(const flakeid::Generator& g)
{
    const flakeid::Word last{g.slot->word.value};
    // A further count of set-backs may lead all nodes to earlier ticks.
    if (is_leased_span(g) && last != flakeid::closed_word && !g.shape.has_back) {
        look_at_others(g, word_start_us(g, last + 1));
    }
}

} // namespace sim
