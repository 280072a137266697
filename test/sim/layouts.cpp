// The layouts of databases and sessions.
#include "sessions.hpp"

#include "checkers.hpp"
#include "core/settled.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

using flakeid::can_settle;

// Sequences are short, so that ids run ahead; one is long enough for the short way of draw_one().
SimLayout layouts[layout_count] = {
    {"10 ms", "time:39:10ms sequence:2 machine:16 epoch=2026-01-01", 0, {}},
    {"1 ms", "time:41:1ms node:4 sequence:3 epoch=2026-01-01", 0, {}},
    {"back below, bits of 10 ms",
     "time:39:10ms sequence:2 back:2 machine:14 epoch=2026-01-01",
     'B',
     {}},
    {"back on top", "back:3 time:38:10ms node:10 sequence:2 epoch=2026-01-01", 'B', {}},
    {"one count of back below, the second of those",
     "time:39:10ms sequence:2 back:1 machine:15 epoch=2026-01-01",
     'B',
     {}},
    {"2 ms, scaled to 1 ms", "time:40:2ms node:4 sequence:4 epoch=2026-01-01", 'S', {}},
    {"1 s", "time:31:1s node:4 sequence:4 epoch=2026-01-01", 'O', {}},
    {"1 ms, enciphered", "time:41:1ms node:4 sequence:3 epoch=2026-01-01 cipher=sparx64", 'c', {}},
    {"1 s, short life", "time:8:1s node:8 sequence:4 epoch=2027-01-15T08:00:01Z", 'e', {}},
    {"back on top, short life",
     "back:1 time:9:700ms node:8 sequence:4 epoch=2027-01-15T08:00:01Z",
     'b',
     {}},
    {"1 ms, 3 s later", "time:41:1ms node:4 sequence:3 epoch=2026-01-01T00:00:03Z", 'h', {}},
    {"2 ms, of numbers that 1 ms has too",
     "time:41:2ms node:4 sequence:3 epoch=2024-12-17T15:59:50Z",
     'h',
     {}},
    {"20 ms, a bit of its sequence is one of the time of 10 ms",
     "time:38:20ms sequence:3 machine:16 epoch=2026-01-01",
     'S',
     {}},
};

int layout_of_database[most_databases];

void parse_layouts()
{
    for (SimLayout& layout : layouts) {
        const auto error = flakeid::parse_layout(layout.text, strlen(layout.text), &layout.layout);
        if (error.status != flakeid::LayoutStatus::ok) {
            broken_for_good("layout \"%s\" is wrong", layout.text);
        }
    }
}

int some_layout(Random& random)
{
    int layout;
    do {
        layout = static_cast<int>(random.below(layout_count));
    } while (layouts[layout].feature != 0 && !world.has(layouts[layout].feature));
    return layout;
}

bool all_count(const Server& server)
{
    const int first = layout_of_database[0];
    return world.chosen.find_first_of("LebhJH") == std::string::npos &&
           layouts[first].layout.back_bits > 0 &&
           std::all_of(layout_of_database, layout_of_database + server.database_count,
                       [first](int layout) { return layout == first; });
}

void choose_layout(Server& server, int database)
{
    const bool first = lives.size() == 1;
    const bool first_of_all = first && database == 0;
    int layout;
    const int twin = 6 - layout_of_database[0]; // of the two whose counts share a bit
    const bool has_twin = database > 0 && (twin == 2 || twin == 4);
    const int in_step = 12 - layout_of_database[database]; // of two whose ticks differ
    const bool has_in_step = !first && world.has('S') && (in_step == 0 || in_step == 12);
    // Of several databases one alone may make ids, for as long as nothing starts again.
    do {
        layout = database > 0 && chance.one_in(3)  ? layout_of_database[0]
                 : has_twin && chance.one_in(2)    ? twin
                 : has_in_step && chance.one_in(2) ? in_step
                                                   : some_layout(chance);
    } while ((first && world.has('Q') && !can_settle(layouts[layout].layout)) ||
             (first_of_all &&
              ((world.has('v') && layouts[layout].feature == 'O') || // too few ids a second
               (world.chosen.find_first_of("eb") != std::string::npos &&
                layouts[layout].feature != 'e' && layouts[layout].feature != 'b'))));
    layout_of_database[database] = layout;
    server.of_database[database]["flakeid.layout"] = layouts[layout].text;
    note("layout of database %lld is %lld", database, layout);
}

} // namespace sim
