// All nodes of a span fill a tick before one of them goes on: none runs ahead while another is left
// out.
#include "checkers.hpp"
#include "sessions.hpp"
#include "world.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <utility>

namespace sim {

namespace {

using flakeid::Generator;

// Sessions look at other nodes when a tick of theirs is used up.
constexpr int64_t longest_lead = 2 * second;

// Count of set-backs and moment of the lowest id of a database, in this life: no node begins before
// it, though those of other databases may.
std::map<Oid, std::pair<uint64_t, int64_t>> first[layout_count];
bool may_be_raised; // in this life

// The moment of the last word that was drawn of a node, or that a mark skipped. Its id may be lost,
// by an error after the draw, or still to come: no user knows how far the node is used up.
int64_t drawn_us(const Generator& g, uint32_t node)
{
    const flakeid::SlotKey key = flakeid::slot_key(g.layout, node);
    const long yields_left = std::exchange(sim_yields_left, LONG_MAX); // nobody goes on meanwhile
    uint32_t count;
    const flakeid::Slot* slots = flakeid::taken_slots(&count);
    sim_yields_left = yields_left;
    flakeid::Word last = flakeid::no_word;
    for (const flakeid::Slot* slot = slots; slot < slots + count; slot++) {
        if (same_layout(slot->key, key)) {
            const flakeid::Word word{slot->node == node ? slot->word.value : 0};
            last = std::max({last, slot->settled, word});
        }
    }
    return word_start_us(g, last);
}

} // namespace

void span_life_begins()
{
    std::for_each(first, first + layout_count, [](auto& of) { of.clear(); });
    may_be_raised = false;
}

void nodes_may_be_raised()
{
    may_be_raised = true;
}

void nodes_in_step(const Id& id)
{
    const Generator& g = id.generator;
    const int64_t us = word_start_us(g, id.word);
    const std::pair counted{word_back(g.shape, id.word), us};
    auto& lowest = first[id.layout].try_emplace(MyDatabaseId, counted).first->second;
    lowest = std::min(lowest, counted);
    // A raise lets nodes begin later than they ended, as does a file of the state that says more
    // than is known, reserved ids are used up first, and named layouts may be in the way of a node.
    if (!is_span(g) || id.cached || may_be_raised ||
        world.chosen.find_first_of("rfHVJ") != std::string::npos) {
        return;
    }
    // What several layouts that count set-backs begin after, whatever the node.
    const int64_t least =
        word_start_us(g, word_of(g.shape, 0, clamp_tick(g.shape, tick_number(g.limits.least)), 0));
    const int64_t latest = us - longest_lead - g.layout.tick_us;
    if (latest <= std::max({my_highest_wall, least, lowest.second})) {
        return;
    }
    for (uint32_t node = g.span.first; node <= g.span.last; node++) {
        if (drawn_us(g, node) < latest) {
            tell("node %u at %.6f s ahead, node %u was last drawn from %.6f s earlier", g.node,
                 static_cast<double>(us - my_highest_wall) / 1e6, node,
                 static_cast<double>(us - drawn_us(g, node)) / 1e6);
            broken("a node of the span is left out");
        }
    }
}

} // namespace sim
