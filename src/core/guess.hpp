// Which presets a number can be an id of, the most plausible first. Pure.
#pragma once

#include "layout.hpp"
#include "presets.hpp"
#include "sparx.hpp"

#include <cstdint>

namespace flakeid {

// How the ids of a preset look. Weights are bits: one more stands for half as plausible.
struct Habit {
    const char* preset;
    int rarity;         // how seldom the preset is met
    bool even_node;     // nodes are spread evenly, as hashes and the ends of addresses are
    bool even_sequence; // sequences are, as random numbers and hashes are
    bool node_from_one; // nodes count from 1
};

// In the order of `presets`. Others count from 0: most nodes and sequences are low.
inline constexpr Habit habits[] = {
    {"snowflake", 2, false, false, false},
    {"twitter", 0, true, false, false},
    {"discord", 0, false, false, false},
    {"instagram", 1, true, true, false},
    {"mastodon", 2, false, true, false},
    {"sonyflake", 4, true, false, false},
    {"sonyflake2", 4, true, false, false},
    {"uidgenerator", 6, false, false, false},
    {"uidgenerator31", 8, false, false, false},
    {"uidgenerator30", 8, false, false, false},
    {"tsid", 3, true, true, false},
    {"pgedge", 5, false, false, false},
    {"cockroachdb", 4, false, false, true},
    {"randflake", 0, false, false, false},
    {"js53", 5, false, false, false},
    {"rollback2", 7, false, false, false},
    {"rollback3", 7, false, false, false},
};
static_assert(sizeof habits / sizeof habits[0] == preset_count, "a preset has its habits");

struct Guess {
    int preset; // its place in `presets`
    int weight; // the lower, the more plausible
    Layout layout;
    uint64_t raw;
};

// Writes the presets under which `id` is a possible id, by rising weight, and those of one weight
// in the order of `presets`; returns how many. Enciphered presets only where there is a key.
int guess_presets(uint64_t id, const SparxKey* key, int64_t now_us, int64_t until_us,
                  Guess (&guesses)[preset_count]);

static_assert(is_plain<Habit, Guess>);

} // namespace flakeid
