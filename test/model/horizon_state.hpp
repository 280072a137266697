// What the horizon's model is made of: its setups, its states, its moves.
#pragma once

#include "../../src/core/layout.hpp"
#include "../../src/core/stamp.hpp"
#include "../../src/core/step.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace horizon {

using namespace flakeid;

// Time in the model is a small number of these, and its stamps have the back count above it. Every
// rule of src/core/stamp.hpp is called with real stamps.
constexpr int64_t unit_us = 500 * us_per_ms;
constexpr int units_per_s = us_per_s / unit_us;
constexpr int unit_bits = 5;

constexpr int small_stamp(int back_count, int units)
{
    return back_count << unit_bits | units;
}

constexpr int units_of(int small)
{
    return small & ((1 << unit_bits) - 1);
}

constexpr int back_of(int small)
{
    return small >> unit_bits;
}

inline Stamp real(int small)
{
    return stamp_of(static_cast<uint64_t>(back_of(small)), units_of(small) * unit_us);
}

// A stamp between two units counts as the later one; 1, the least that is published, as none.
inline uint8_t small_of(Stamp stamp)
{
    const int64_t units = stamp == least_stamp ? 0 : (stamp_us(stamp) + unit_us - 1) / unit_us;
    if (units >> unit_bits != 0) {
        fprintf(stderr, "a stamp lies past the times of the model\n");
        exit(2);
    }
    return static_cast<uint8_t>(
        small_stamp(static_cast<int>(stamp_back(stamp)), static_cast<int>(units)));
}

// Shared memory of one database. 0: not loaded; otherwise a small stamp + 1.
inline Stamp published(int value)
{
    const Stamp stamp = value == 0 ? no_stamp : real(value - 1);
    return value != 0 && stamp == no_stamp ? least_stamp : stamp;
}

inline uint8_t to_publish(Stamp stamp)
{
    return static_cast<uint8_t>(small_of(stamp) + 1);
}

constexpr int max_sessions = 2;
constexpr int max_databases = 2;
constexpr int max_slots = 2;
constexpr int max_records = 3;

// What is left out or done wrong on purpose.
enum class Mutation {
    none,
    no_flush,                  // the extension's record is not flushed
    publish_before_flush,      // the shared bound is raised, then the record flushed
    no_load,                   // after a start nothing is read from the page
    no_bound,                  // ids are issued whatever the bound says
    first_tick_not_rounded_up, // after a start, the tick that holds the floor is used again
    trust_unflushed_page,      // a bound that another session wrote is taken over unflushed
    two_words,                 // each session has a word of its own for the node
    page_not_locked,           // the page is read and written in two moves
    bound_before_floor,        // after a start the bound is published first
    load_during_recovery,      // a standby caches the page it has then
    floor_last,                // a raise publishes the floor after the page is written
    known_floor,               // a raise to a floor that is published changes nothing
    floor_unseen,              // a raise leaves a bound above its floor where it is
    first_row_only,            // of what a dump carries
    publish_while_replacing,   // a transaction publishes what it wrote to its new file
    relation_released_early,   // before what follows from the page is published
    bounds_stay,               // who replaces the file and raises does not withdraw them
    no_margin,                 // past the page's bound, after a promotion
    margin_without_tick,       //
    no_clock_margin,           // past the clock
    no_margin_at_first,        // where the page knows no bound yet
    no_limit,                  // more than one extension a second
    limit_from_write,          // that second begins when the page is written
    copy_unseen,               // only a promotion is another origin
};

enum class Program : uint8_t {
    draws,
    raises,   // horizon_raise() once
    restores, // the rows of a dump, once
    replaces, // draws, and replaces the file of the state in a transaction
    replaces_and_raises,
};

struct SessionSetup {
    int database;
    int layout; // and slot
    Want want;
    Program program;
};

struct Setup {
    const char* layouts[max_slots];
    SessionSetup sessions[max_sessions];
    int session_count;
    int max_ahead;  // units
    int last_clock; // readings lie in [1, last_clock]
    int crashes;
    Mutation mutation = Mutation::none;
    // Remember every id that was returned, rather than the highest that was drawn.
    bool exact = false;

    int begun = 0; // stamp of the bound that the first start finds in every database

    int raise = 0;                    // units that a session raises the horizon to
    int restored[horizon_kinds] = {}; // stamps that a dump carries

    int replacements = 0; // of the state's file, by DROP and CREATE EXTENSION

    // A promotion of a standby that lags by less than a second, or the start of a copy of the
    // files. With it the wall clock is a part of the state: it says the same to everybody and goes
    // on; that of the server that takes over is behind by `skew`.
    int promotions = 0;
    bool copy = false; // of the files as the first start found them, on the same timeline
    int skew = 0;

    bool is(Mutation left_out) const { return mutation == left_out; }
};

// What a database's page says, and in which file.
struct Page {
    uint8_t stamp[horizon_kinds];
    uint8_t timeline, place; // that wrote it
    uint8_t file;
};

struct Entry {
    uint8_t bound[horizon_kinds];
    uint8_t floor[horizon_kinds];
    uint8_t extended[horizon_kinds]; // less than a second ago
    uint8_t file;                    // that the bound is from
};

struct Record {
    uint8_t database;
    Page page;
};

enum At : uint8_t {
    at_idle,
    at_load,
    at_load_flush,
    at_load_floor,
    at_load_bound,
    at_clock,
    at_bound,
    at_floor,
    at_word,
    at_swap,
    at_change,
    at_write, // page_not_locked only
    at_flush,
    at_publish,
    at_return,
    at_commit,
    at_end,
};

struct Session {
    uint8_t at;
    uint8_t bound, floor; // that its limits were made from, as in Entry; kept between draws
    uint8_t now;
    uint8_t word, next, count; // read; drawn
    uint8_t drawn;             // what it does, it does after its draw
    uint8_t wanted;            // stamp to extend to, 0: none
    uint8_t step;              // of a load or a publication
    uint8_t row;               // of a dump
    uint8_t lsn;
    uint8_t refused;                                            // to publish what it wrote
    uint8_t new_floor[horizon_kinds], new_bound[horizon_kinds]; // as in Entry; 0: none
    uint8_t after_raise; // the draw began after the horizon was raised
};

struct State {
    uint8_t issued[max_sessions][8]; // a set of words, or the highest word
    uint8_t word[max_slots];
    Entry entry[max_databases];
    Page page[max_databases];
    uint8_t page_lsn[max_databases]; // records up to this one must be flushed before it is durable
    Page flushed[max_databases];
    Page lagging[max_databases]; // what a standby has for certain
    uint8_t record_count;
    Record record[max_records]; // of the WAL, not flushed yet
    Session session[max_sessions];
    uint8_t replacer; // session whose transaction replaces the file, + 1
    Page fresh;       // what it has put in its place
    uint8_t crashes, promotions;
    uint8_t timeline, place;
    uint8_t clock; // with promotions only
    uint8_t raised;
};

enum Event : uint8_t {
    ev_session,
    ev_replace,
    ev_commit,
    ev_roll_back,
    ev_crash,
    ev_promote,
    ev_copy,
    ev_half_second,
    ev_second,
    ev_recovery_load,
};

struct Move {
    Event event;
    uint8_t session;
    uint8_t value;
    bool extra;
};

} // namespace horizon
