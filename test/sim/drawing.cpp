// How sessions draw ids.
#include "drawing.hpp"

#include "checkers.hpp"
#include "core/settled.hpp"
#include "generator/compose.hpp"
#include "generator/draw.hpp"
#include "generator/settled.hpp"
#include "sessions.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

using flakeid::configured_generator;
using flakeid::Draw;
using flakeid::Generator;
using flakeid::Span;
using flakeid::Want;
using flakeid::Word;

PROCESS_LOCAL int my_layout = 0;
PROCESS_LOCAL int my_transaction = 0;
PROCESS_LOCAL int64_t my_ids = 0;

void new_transaction()
{
    my_transaction = static_cast<int>(transactions.size());
    transactions.emplace_back();
}

Random& mine()
{
    return running->random;
}

namespace {

Reached ran_ahead(0, "an id ran ahead of the clock");
Reached was_cached('A', "a reserved id was handed out");
Reached was_kept_open('U', "a cursor was left open");
Reached was_named('J', "an id of a named layout");
Reached was_further('N', "a node of the span but the first");

// What the checkers want to know of the moment when a draw begins.
struct Before {
    uint64_t highest;
    int64_t raised;
    int repairs;
};

Before draw_begins(int layout)
{
    my_lowest_wall = INT64_MAX;
    my_highest_wall = INT64_MIN;
    return {highest_id(layout), raised_to(my_database()), repairs_of(my_database())};
}

void hand_out(const Generator& g, Word word, int layout, const Before& before, bool cached)
{
    if (static_cast<uint64_t>(flakeid::id_of_pin(g.slot->key, word)) != raw_id(g, word)) {
        broken("a pin is shown as another id");
    }
    my_ids++;
    id_is_handed_out({raw_id(g, word), g, word, layout, my_transaction, before.highest,
                      before.raised, before.repairs, cached});
    if (word_tick(g.shape, word) > g.limits.now) {
        ran_ahead();
    }
    if (g.node != g.granted.first) {
        was_further();
    }
}

} // namespace

void draw_one()
{
    const Before before = draw_begins(my_layout);
    const bool cached = flakeid::settings.cache != 1;
    Generator& g = configured_generator();
    draw_is_counted();
    const Word reserved = g.cache.next == g.cache.end ? flakeid::no_word : g.cache.next;
    const Word word = next_word(g);
    if (!is_span(g)) { // there it may lose words of several nodes before it draws one
        id_is_counted(g, word, word == reserved ? 0 : 1);
    }
    if (cached && g.cache.next != g.cache.end) {
        was_cached();
    }
    hand_out(g, word, my_layout, before, cached);
}

void draw_many(int64_t n)
{
    Generator& g = configured_generator();
    while (n > 0) {
        if (!mine().one_in(4)) {
            draw_one();
            n--;
            continue;
        }
        const Before before = draw_begins(my_layout);
        const bool block = mine().one_in(3);
        const auto most = static_cast<int64_t>(max_sequence(g.shape)) + 1;
        const int64_t wanted = block ? std::min<int64_t>(most, 4) : 6;
        const Want want{static_cast<uint32_t>(mine().between(1, wanted)), block};
        const Draw d = draw(g, want);
        as_wanted(g, d, want);
        for (uint32_t i = 0; i < d.count; i++) {
            hand_out(g, d.word + i, my_layout, before, false);
        }
        n -= d.count;
    }
}

// Up to the end of the horizon, or many.
void draw_all()
{
    const Generator& g = configured_generator();
    int64_t n = 4000;
    do {
        draw_one();
    } while (--n > 0 && Word{pg_atomic_read_u64(&g.slot->word)} < g.limits.last);
}

// A cursor on flake_next_many() gives its ids as they are fetched, with others in between.
void leave_open()
{
    Generator g = configured_generator();
    const Before before = draw_begins(my_layout);
    const Want want{static_cast<uint32_t>(mine().between(2, 8)), false};
    const Draw d = draw(g, want);
    as_wanted(g, d, want);
    const int64_t lowest = my_lowest_wall;
    const int64_t highest = my_highest_wall;
    was_kept_open();
    for (uint32_t i = 0; i < d.count; i++) {
        my_lowest_wall = lowest;
        my_highest_wall = highest;
        hand_out(g, d.word + i, my_layout, before, false);
        if (mine().one_in(3)) {
            draw_many(1);
        }
        if (mine().one_in(4)) {
            sleep_us(mine().below(second));
        }
    }
}

// flake_next('layout'); an error where flakeid.layout can make its ids.
void draw_named(int layout)
{
    alignas(Generator) static PROCESS_LOCAL char bytes[sizeof(Generator)] = {};
    static PROCESS_LOCAL int made_for = -1;
    Generator& g = *reinterpret_cast<Generator*>(bytes);
    const Before before = draw_begins(layout);
    if (made_for != layout || !still_good(g)) {
        made_for = -1;
        g = Generator{};
        make_named(g, layouts[layout].text, strlen(layouts[layout].text));
        made_for = layout;
    }
    const Draw d = draw(g, {mine().one_in(3) ? 8U : 1U, false}); // all of a tick, or one
    was_named();
    for (uint32_t i = 0; i < d.count; i++) {
        hand_out(g, d.word + i, layout, before, false);
    }
}

// SET flakeid.layout
void set_layout(int layout)
{
    if (set_setting("flakeid.layout", layouts[layout].text)) {
        my_layout = layout;
        note("sets layout %lld", layout);
    }
}

// A layout makes ids that another session's flakeid.layout can make too, until somebody draws of that.
void draw_yielding()
{
    const int before = my_layout;
    const bool several = mine().one_in(2); // of layout 1, two nodes make ids of one of layout 5
    set_layout(several ? 0 : 1);
    for (int64_t n = mine().between(1, several ? 100 : 6); n > 0; n--) {
        draw_named(several ? 5 : scaled_layout);
    }
    set_layout(before);
}

// flake_next('layout', node) of a node of the span.
void draw_of_node()
{
    alignas(Generator) static PROCESS_LOCAL char bytes[sizeof(Generator)] = {};
    Generator& g = *reinterpret_cast<Generator*>(bytes);
    const Span granted = configured_generator().granted;
    const auto node = static_cast<int32_t>(mine().between(granted.first, granted.last));
    const Before before = draw_begins(my_layout);
    if (!still_good(g)) {
        make_of_node(g, layouts[my_layout].text, strlen(layouts[my_layout].text), node);
    } else if (g.node != static_cast<uint32_t>(node)) {
        change_node(g, node);
    }
    const Word word = next_word(g);
    if (place_node(g.layout, static_cast<uint32_t>(node)) != g.node_bits) {
        broken("an id of another node than was asked for");
    }
    hand_out(g, word, my_layout, before, flakeid::settings.cache != 1);
}

} // namespace sim
