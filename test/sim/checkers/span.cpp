// All nodes of a span fill a tick before one of them goes on: none runs ahead while another is left
// out.
#include "checkers.hpp"
#include "sessions.hpp"
#include "world.hpp"

#include <algorithm>
#include <map>

namespace sim {

namespace {

// Sessions look at other nodes when a tick of theirs is used up.
constexpr int64_t longest_lead = 2 * second;

struct Spent {
    // Count of set-backs and moment of the lowest id of a database, in this life: no node begins
    // before it, though those of other databases may.
    std::map<Oid, std::pair<uint64_t, int64_t>> first;
    int64_t skipped = INT64_MIN;      // a poll brought all nodes there
    std::map<uint32_t, int64_t> last; // of those of a node
};
Spent spent[layout_count];
bool may_be_raised; // in this life

} // namespace

void span_life_begins()
{
    std::fill(spent, spent + layout_count, Spent{});
    may_be_raised = false;
}

void nodes_may_be_raised()
{
    may_be_raised = true;
}

void nodes_are_skipped(int layout)
{
    for (const auto& [node, us] : spent[layout].last) {
        spent[layout].skipped = std::max(spent[layout].skipped, us);
    }
}

void nodes_in_step(const Id& id)
{
    const flakeid::Generator& g = id.generator;
    const int64_t us = word_start_us(g, id.word);
    Spent& of = spent[id.layout];
    const std::pair counted{word_back(g.shape, id.word), us};
    auto& first = of.first.try_emplace(MyDatabaseId, counted).first->second;
    first = std::min(first, counted);
    // A raise lets nodes begin later than they ended, as does a file of the state that says more than
    // is known, reserved ids may still come, and named layouts may be in the way of a node.
    if (is_span(g) && world.chosen.find_first_of("rfAHVJ") == std::string::npos &&
        !may_be_raised) {
        // What several layouts that count set-backs begin after, whatever the node.
        const int64_t least = word_start_us(
            g, word_of(g.shape, 0, clamp_tick(g.shape, tick_number(g.limits.least)), 0));
        const int64_t begins = std::max({my_highest_wall, of.skipped, least, first.second});
        for (uint32_t node = g.span.first; node <= g.span.last; node++) {
            const auto at = of.last.find(node);
            const int64_t next = std::max(begins, at == of.last.end() ? begins : at->second);
            if (us > next + longest_lead + g.layout.tick_us) {
                tell("node %u at %.6f s ahead, node %u could be %.6f s earlier", g.node,
                     static_cast<double>(us - my_highest_wall) / 1e6, node,
                     static_cast<double>(us - next) / 1e6);
                broken("a node of the span is left out");
            }
        }
    }
    int64_t& last = of.last[g.node];
    last = std::max(last, us);
}

} // namespace sim
