// Generator, horizon and restart: every interleaving of two sessions, with a crash at any step and
// a clock that says anything at any reading. The step is src/core/step.cpp itself; the sessions
// below follow src/generator.cpp, src/draw.cpp and src/horizon.cpp move by move (README.md says what is left
// out).
//
//     horizon_model                every run; a line each
//     horizon_model NAME...        these runs, and the way to what they find
#include "search.hpp"

#include "../../src/core/layout.hpp"
#include "../../src/core/step.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

namespace {

using namespace flakeid;

// Time in the model is a small number of these; a stamp has the back count above it.
constexpr int64_t unit_us = 500 * us_per_ms;
constexpr int units_per_s = us_per_s / unit_us;
constexpr int stamp_units_bits = 5;

// As in horizon.hpp.
constexpr int extension = 2 * units_per_s;
constexpr int early_extension = 1 * units_per_s;
constexpr int longest_tick = 1 * units_per_s; // max_generated_tick_us

enum Kind : uint8_t { plain, back, kinds };

constexpr int max_sessions = 2;
constexpr int max_databases = 2;
constexpr int max_slots = 2;
constexpr int max_records = 3;

int stamp_of(int back_count, int units)
{
    return back_count << stamp_units_bits | units;
}

int stamp_units(int stamp)
{
    return stamp & ((1 << stamp_units_bits) - 1);
}

int stamp_back(int stamp)
{
    return stamp >> stamp_units_bits;
}

int larger(int a, int b)
{
    return a > b ? a : b;
}

int smaller(int a, int b)
{
    return a < b ? a : b;
}

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
};

struct SessionSetup {
    int database;
    int layout; // and slot
    Want want;
    bool raises; // runs horizon_raise() once instead of drawing
};

struct Setup {
    const char* layouts[max_slots];
    SessionSetup sessions[max_sessions];
    int session_count;
    int max_ahead;  // units
    int last_clock; // readings lie in [1, last_clock]
    int crashes;
    Mutation mutation = Mutation::none;
    bool exact =
        false; // remember every id that was returned, rather than the highest that was drawn

    int begun = 0;              // stamp of the bound that the first start finds in every database
    int restored = 0;           // stamp of the copy that a restore put beside it
    bool restore_marked = true; // a restored copy is known by its timeline 0, not by its size
    bool restore_of_all = true; // the first extension carries it over to layouts of both kinds

    int raise = 0;                 // units that a session raises the horizon to
    bool raise_floor_first = true; // published before the pages are written
    bool raise_moves_bound = true; // in any case, so that every session looks at the floor again

    // A promotion of a standby that lags by less than a second. With it the wall clock is a part of
    // the state: it says the same to everybody and goes on; the standby's is behind by `skew`.
    int promotions = 0;
    int skew = 0;
    int margin = extension + longest_tick; // the floor lies this far past the page's bound
    int clock_margin = 0;                  // and past the clock
    bool margin_of_empty = true;           // also where the page knows no bound yet
    bool limit = true;                     // at most one extension a second
    bool limit_from_flush = true;          // that second begins when the extension is published
};

// What a database's pages say. copy is what an extension or a restore wrote beside the stamps.
struct Page {
    uint8_t stamp[kinds];
    uint8_t copy;
    uint8_t timeline;
};

// Shared memory of one database. 0: not loaded; otherwise a stamp + 1.
struct Entry {
    uint8_t bound[kinds];
    uint8_t floor[kinds];
    uint8_t extended[kinds]; // less than a second ago
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
    uint8_t lsn;
    uint8_t new_floor[kinds], new_bound[kinds]; // as in Entry; 0: none
    uint8_t after_raise;                        // the draw began after the horizon was raised
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
    uint8_t crashes, promotions; // so far
    uint8_t timeline;
    uint8_t clock; // with promotions only
    uint8_t raised;
};

enum Event : uint8_t {
    ev_session,
    ev_crash,
    ev_promote,
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

class Model {
public:
    using State = ::State;
    using Move = ::Move;

    explicit Model(const Setup& setup) : setup_(setup)
    {
        const SessionSetup& a = setup.sessions[0];
        const SessionSetup& b = setup.sessions[1];
        symmetric_ = !setup.exact && setup.session_count == 2 && a.database == b.database &&
                     a.layout == b.layout && a.want.count == b.want.count &&
                     a.want.in_one_tick == b.want.in_one_tick && a.raises == b.raises;
        for (int i = 0; i < max_slots; i++) {
            if (setup.layouts[i] == nullptr) {
                continue;
            }
            const LayoutError error =
                parse_layout(setup.layouts[i], strlen(setup.layouts[i]), &layout_[i]);
            if (error.status != LayoutStatus::ok) {
                fprintf(stderr, "bad layout: %s\n", setup.layouts[i]);
                exit(2);
            }
            shape_[i] = word_shape(layout_[i]);
        }
    }

    State first() const
    {
        State state;
        memset(&state, 0, sizeof state);
        state.timeline = 1;
        state.clock = setup_.promotions > 0 ? 1 : 0;
        if (setup_.begun > 0) {
            for (int database = 0; database < max_databases; database++) {
                Page& page = state.page[database];
                page.stamp[plain] = static_cast<uint8_t>(stamp_units(setup_.begun));
                page.stamp[back] = static_cast<uint8_t>(setup_.begun);
                page.copy = static_cast<uint8_t>(copy_of(page));
                page.timeline = 1;
            }
        }
        if (setup_.restored > 0) {
            for (Page& page : state.page) {
                page.copy = static_cast<uint8_t>(setup_.restored);
                page.timeline = 0; // as setval() leaves it
            }
            // The dump carries ids up to its horizon.
            for (int i = 0; i < setup_.session_count; i++) {
                note_up_to(state, i, setup_.begun);
                note_up_to(state, i, setup_.restored);
            }
        }
        memcpy(state.flushed, state.page, sizeof state.page);
        memcpy(state.lagging, state.page, sizeof state.page);
        return state;
    }

    // Two sessions that run the same program may be exchanged: one state stands for both.
    State canonical(State state) const
    {
        if (symmetric_ && memcmp(&state.session[0], &state.session[1], sizeof(Session)) > 0) {
            std::swap(state.session[0], state.session[1]);
        }
        return state;
    }

    template <class Emit>
    void next(const State& state, Emit emit) const
    {
        for (int i = 0; i < setup_.session_count; i++) {
            session_moves(state, i, emit);
        }
        if (state.crashes < setup_.crashes) {
            for (int survived = 0; survived <= state.record_count; survived++) {
                State after = state;
                flush(after, survived);
                forget(after);
                after.crashes++;
                emit(after, Move{ev_crash, 0, static_cast<uint8_t>(survived), false}, nullptr);
            }
        }
        if (setup_.promotions > 0) {
            promotion_moves(state, emit);
        } else if (any_extended(state)) {
            State after = state;
            second_passes(after);
            emit(after, Move{ev_second, 0, 0, false}, nullptr);
        }
    }

    void print(const State& before, const Move& move, const State& after, FILE* out) const
    {
        switch (move.event) {
        case ev_crash:
            fprintf(out, "crash: shared memory is lost, %d of %d unflushed records survive; ",
                    move.value, before.record_count);
            print_pages(after, out);
            return;
        case ev_promote:
            fprintf(out, "the server dies, and a standby that %s is promoted; ",
                    move.extra ? "lags by less than a second" : "has everything");
            print_pages(after, out);
            return;
        case ev_half_second:
        case ev_second:
            fprintf(out, "%s",
                    move.event == ev_second ? "a second passes" : "half a second passes");
            if (setup_.promotions > 0) {
                fprintf(out, ": the clock says %s", time_text(clock_of(after)).c_str());
            }
            fprintf(out, "\n");
            return;
        case ev_recovery_load:
            fprintf(out,
                    "the server dies, and a standby that has everything is promoted; a session had "
                    "cached an earlier bound during recovery\n");
            return;
        case ev_session:
            break;
        }
        const int i = move.session;
        const Session& was = before.session[i];
        const Session& is = after.session[i];
        fprintf(out, "%c%s: ", 'A' + i,
                setup_.sessions[0].database == setup_.sessions[1].database ? ""
                : setup_.sessions[i].database == 0                         ? " in database 1"
                                                                           : " in database 2");
        switch (was.at) {
        case at_idle:
            if (is.at == at_load) {
                fprintf(out, "finds the horizon not loaded\n");
            } else if (is.at == at_floor || is.at == at_word) {
                fprintf(out, "begins, and reads the bound: %s\n", entry_text(is.bound).c_str());
            } else {
                fprintf(out, "begins\n");
            }
            break;
        case at_load:
            fprintf(out, "reads the pages: bound %s%s\n",
                    stamp_text(before.page[setup_.sessions[i].database].stamp[kind(i)]).c_str(),
                    is.at == at_load_flush ? ", not flushed yet" : "");
            break;
        case at_load_flush:
            fprintf(out, "flushes them\n");
            break;
        case at_load_floor:
        case at_load_bound:
            fprintf(out, "publishes the %s%s: %s\n",
                    (was.at == at_load_floor) == (setup_.mutation != Mutation::bound_before_floor)
                        ? "floor"
                        : "bound",
                    was.step == kind(i) ? "" : " of the other kind of layouts",
                    entry_text(was.new_floor[was.step]).c_str());
            break;
        case at_clock:
            fprintf(out, "reads the clock: %s\n", time_text(is.now).c_str());
            break;
        case at_bound:
            fprintf(out, "reads the bound: %s\n", entry_text(is.bound).c_str());
            break;
        case at_floor:
            fprintf(out, "reads the floor: %s\n", entry_text(is.floor).c_str());
            break;
        case at_word:
            fprintf(out, "reads the word: %s", word_text(i, before.word[word_slot(i)]).c_str());
            if (setup_.promotions == 0) {
                fprintf(out, ", the clock says %s", time_text(move.value).c_str());
            }
            fprintf(out, "; ");
            if (is.at == at_swap) {
                fprintf(out, "may issue %s\n", word_text(i, is.next).c_str());
            } else if (is.at == at_change) {
                fprintf(out, "must extend the horizon to %s\n", stamp_text(is.wanted).c_str());
            } else {
                fprintf(out, "has to wait\n");
            }
            break;
        case at_swap:
            if (before.word[word_slot(i)] != was.word) {
                fprintf(out, "fails to swap the word in: it has changed\n");
            } else {
                fprintf(out, "swaps it in: %s%s\n", word_text(i, was.next).c_str(),
                        is.at == at_change ? ", and extends the horizon early" : "");
            }
            break;
        case at_change:
        case at_write:
            if (is.at == at_write) {
                fprintf(out, "reads the page\n");
                break;
            }
            fprintf(out, "%s: page %s, timeline %d\n",
                    same_page(before.page[setup_.sessions[i].database],
                              after.page[setup_.sessions[i].database])
                        ? "leaves the page as it is"
                        : "writes the page and a WAL record",
                    stamp_text(after.page[setup_.sessions[i].database].stamp[kind(i)]).c_str(),
                    after.page[setup_.sessions[i].database].timeline);
            break;
        case at_flush:
            fprintf(out, "flushes the WAL\n");
            break;
        case at_publish:
            fprintf(out, "publishes the %s%s %s\n", was.step % 2 == 0 ? "floor" : "bound",
                    was.step / 2 == kind(i) ? "" : " of the other kind of layouts",
                    entry_text(was.step % 2 == 0 ? was.new_floor[was.step / 2]
                                                 : was.new_bound[was.step / 2])
                        .c_str());
            break;
        case at_return:
            fprintf(out, "returns %s to its client\n", word_text(i, was.next).c_str());
            break;
        default:
            fprintf(out, "?\n");
        }
    }

private:
    // ---- What the glue computes, without the glue's calls.

    int slot(int i) const { return setup_.sessions[i].layout; }

    // The place of the session's word: its slot, unless each session has its own by mistake.
    int word_slot(int i) const { return setup_.mutation == Mutation::two_words ? i : slot(i); }

    Kind kind(int i) const { return shape_[slot(i)].has_back ? back : plain; }

    int tick_of(int layout, int units) const
    {
        return static_cast<int>(tick_of_us(layout_[layout], units * unit_us));
    }

    // The last word of the tick that holds a moment.
    uint64_t last_word(int i, int back_count, int units) const
    {
        const int tick = larger(tick_of(slot(i), units), 0);
        return word_of(shape_[slot(i)], static_cast<uint64_t>(back_count),
                       static_cast<uint64_t>(tick), max_sequence(shape_[slot(i)]));
    }

    // generator.cpp, set_limits() and set_clock().
    Limits limits(const Session& session, int i) const
    {
        const int floor = session.floor == 0 ? 0 : session.floor - 1;
        const int bound = session.bound == 0 ? 0 : session.bound - 1;
        Limits limits;
        limits.now = static_cast<uint64_t>(tick_of(slot(i), session.now));
        limits.ahead = static_cast<uint64_t>(setup_.max_ahead * unit_us / layout_[slot(i)].tick_us);
        limits.first = last_word(i, stamp_back(floor), stamp_units(floor)) + 1;
        if (setup_.mutation == Mutation::first_tick_not_rounded_up) {
            limits.first -= max_sequence(shape_[slot(i)]) + 1;
        }
        limits.last = last_word(i, stamp_back(bound), stamp_units(bound));
        if (setup_.mutation == Mutation::no_bound) {
            limits.last = UINT64_MAX;
        }
        return limits;
    }

    // Past this word, the horizon is to be extended early.
    uint64_t early_word(const Session& session, int i) const
    {
        const int bound = session.bound == 0 ? 0 : session.bound - 1;
        return last_word(i, stamp_back(bound), stamp_units(bound) - early_extension);
    }

    // generator.hpp, draw_one(): the common case must do what the step does.
    bool common_case_agrees(Limits limits, uint64_t early, const Draw& draw, uint64_t last,
                            int i) const
    {
        if (limits.last > early) {
            limits.last = early;
        }
        const bool common = setup_.sessions[i].want.count == 1 &&
                            in_stretch(stretch_of(shape_[slot(i)], limits), last);
        return !common || (draw.verdict == Verdict::issue && draw.word == last + 1);
    }

    int stamp_of_word(int layout, uint64_t word) const
    {
        int64_t us = 0;
        tick_start_us(layout_[layout], word_tick(shape_[layout], word), &us);
        return stamp_of(static_cast<int>(word_back(shape_[layout], word)),
                        static_cast<int>(us / unit_us));
    }

    static int copy_of(const Page& page)
    {
        return stamp_of(stamp_back(page.stamp[back]),
                        larger(stamp_units(page.stamp[plain]), stamp_units(page.stamp[back])));
    }

    bool restored(const Page& page) const
    {
        return setup_.restore_marked ? page.timeline == 0 && page.copy > 0
                                     : page.copy > copy_of(page);
    }

    static int restored_stamp(const Page& page, int kind)
    {
        return kind == plain ? stamp_of(0, stamp_units(page.copy)) : page.copy;
    }

    // horizon.cpp, load(): what it makes of the pages. As in Entry.
    int loaded_floor(const State& state, const Page& page, int kind) const
    {
        int floor = page.stamp[kind];
        if (restored(page)) {
            floor = larger(floor, restored_stamp(page, kind));
        }
        if (page.timeline != state.timeline && setup_.promotions > 0 &&
            (floor > 0 || setup_.margin_of_empty)) {
            floor += setup_.margin;
            floor = larger(floor,
                           stamp_of(stamp_back(floor), setup_.clock_margin > 0
                                                           ? clock_of(state) + setup_.clock_margin
                                                           : 0));
        }
        return floor + 1;
    }

    // horizon.cpp, horizon_extend(): how far.
    int wanted_stamp(int needed, int now) const
    {
        return larger(needed, stamp_of(stamp_back(needed), smaller(stamp_units(needed) + extension,
                                                                   now + setup_.max_ahead)));
    }

    // horizon.cpp, horizon_extend() up to the writing of the pages. True when they are written.
    bool change(State& state, int i) const
    {
        Session& session = state.session[i];
        const int database = setup_.sessions[i].database;
        Entry& entry = state.entry[database];
        const Page before = state.page[database];
        Page page = before;
        for (int k = 0; k < kinds; k++) {
            session.new_floor[k] = 0;
            if (!setup_.restore_of_all && k != kind(i)) {
                continue;
            }
            if (restored(before)) {
                session.new_floor[k] = static_cast<uint8_t>(restored_stamp(before, k) + 1);
            }
            page.stamp[k] = static_cast<uint8_t>(
                larger(page.stamp[k], larger(session.new_floor[k], entry.bound[k]) - 1));
        }
        if (setup_.sessions[i].raises) {
            for (int k = 0; k < kinds; k++) {
                const int floor = stamp_of(stamp_back(page.stamp[k]), setup_.raise);
                page.stamp[k] = static_cast<uint8_t>(
                    larger(page.stamp[k] + (setup_.raise_moves_bound ? 1 : 0), floor));
            }
        } else {
            const int k = kind(i);
            const int wanted = session.wanted;
            if (page.stamp[k] < wanted &&
                (stamp_back(wanted) > stamp_back(page.stamp[k]) ||
                 (!entry.extended[k] && !(setup_.limit_from_flush && in_flight(state, i))))) {
                page.stamp[k] = static_cast<uint8_t>(wanted);
                entry.extended[k] = setup_.limit && !setup_.limit_from_flush;
            }
        }
        for (int k = 0; k < kinds; k++) {
            session.new_bound[k] = static_cast<uint8_t>(page.stamp[k] + 1);
        }
        session.lsn = state.page_lsn[database];
        if (memcmp(page.stamp, before.stamp, sizeof page.stamp) == 0) {
            return false;
        }
        page.copy = static_cast<uint8_t>(copy_of(page));
        page.timeline = state.timeline;
        write(state, database, page);
        session.lsn = state.page_lsn[database];
        return true;
    }

    // Somebody wrote the page and has not published it yet.
    bool in_flight(const State& state, int i) const
    {
        const int database = setup_.sessions[i].database;
        const int k = kind(i);
        return state.page[database].stamp[k] + 1 > state.entry[database].bound[k];
    }

    // ---- WAL, crash, promotion.

    static void write(State& state, int database, const Page& page)
    {
        if (state.record_count == max_records) {
            flush(state, 1); // as the WAL writer does now and then
        }
        state.page[database] = page;
        state.record[state.record_count].database = static_cast<uint8_t>(database);
        state.record[state.record_count].page = page;
        state.record_count++;
        state.page_lsn[database] = state.record_count;
    }

    static void flush(State& state, int lsn)
    {
        auto shift = [&](uint8_t& at) { at = static_cast<uint8_t>(larger(at - lsn, 0)); };
        for (int i = 0; i < lsn; i++) {
            state.flushed[state.record[i].database] = state.record[i].page;
        }
        for (int i = 0; i < max_records; i++) {
            if (i + lsn < state.record_count) {
                state.record[i] = state.record[i + lsn];
            } else {
                memset(&state.record[i], 0, sizeof state.record[i]);
            }
        }
        shift(state.record_count);
        for (uint8_t& at : state.page_lsn) {
            shift(at);
        }
        for (Session& session : state.session) {
            shift(session.lsn);
        }
    }

    // What a start finds: the flushed pages and nothing in memory.
    static void forget(State& state)
    {
        memset(state.word, 0, sizeof state.word);
        memset(state.entry, 0, sizeof state.entry);
        memset(state.session, 0, sizeof state.session);
        memset(state.record, 0, sizeof state.record);
        memset(state.page_lsn, 0, sizeof state.page_lsn);
        state.record_count = 0;
        memcpy(state.page, state.flushed, sizeof state.page);
    }

    static bool any_extended(const State& state)
    {
        for (const Entry& entry : state.entry) {
            if (entry.extended[plain] || entry.extended[back]) {
                return true;
            }
        }
        return false;
    }

    // All that was flushed has reached the standby by then.
    void second_passes(State& state) const
    {
        for (Entry& entry : state.entry) {
            memset(entry.extended, 0, sizeof entry.extended);
        }
        if (setup_.promotions > 0) {
            memcpy(state.lagging, state.flushed, sizeof state.lagging);
        }
    }

    int clock_of(const State& state) const
    {
        return state.promotions > 0 ? larger(state.clock - setup_.skew, 0) : state.clock;
    }

    template <class Emit>
    void promotion_moves(const State& state, Emit emit) const
    {
        if (state.clock + units_per_s <= setup_.last_clock) {
            State after = state;
            after.clock = static_cast<uint8_t>(after.clock + units_per_s);
            second_passes(after);
            emit(after, Move{ev_second, 0, 0, false}, nullptr);
        }
        if (state.clock < setup_.last_clock) {
            State after = state;
            after.clock++;
            emit(after, Move{ev_half_second, 0, 0, false}, nullptr);
        }
        if (state.promotions == setup_.promotions) {
            return;
        }
        const bool lags = memcmp(state.lagging, state.flushed, sizeof state.lagging) != 0;
        for (int missed = 0; missed <= (lags ? 1 : 0); missed++) {
            State after = state;
            if (missed == 1) {
                memcpy(after.flushed, after.lagging, sizeof after.flushed);
            }
            forget(after);
            memcpy(after.lagging, after.flushed, sizeof after.lagging);
            after.promotions++;
            after.timeline++;
            emit(after, Move{ev_promote, 0, 0, missed == 1}, nullptr);
            if (setup_.mutation == Mutation::load_during_recovery) {
                // It had cached an earlier state of the pages when the last records were replayed.
                State cached = state;
                forget(cached);
                memcpy(cached.lagging, cached.flushed, sizeof cached.lagging);
                cached.promotions++;
                cached.timeline++;
                for (int database = 0; database < max_databases; database++) {
                    for (int k = 0; k < kinds; k++) {
                        cached.entry[database].floor[k] = cached.entry[database].bound[k] =
                            static_cast<uint8_t>(state.lagging[database].stamp[k] + 1);
                    }
                }
                emit(cached, Move{ev_recovery_load, 0, 0, false}, nullptr);
            }
        }
    }

    // ---- What was issued.

    // Sessions of one database that draw the same ids share what is noted.
    int noted(int i) const
    {
        return i > 0 && setup_.sessions[i].database == setup_.sessions[0].database &&
                       slot(i) == slot(0)
                   ? 0
                   : i;
    }

    void note_up_to(State& state, int i, int stamp) const
    {
        if (setup_.exact) {
            fprintf(stderr, "a restore is not modelled with exact ids\n");
            exit(2);
        }
        const int own = kind(i) == plain ? stamp_of(0, stamp_units(stamp)) : stamp;
        const WordShape& shape = shape_[slot(i)];
        const auto word = static_cast<int>(word_of(
            shape, static_cast<uint64_t>(stamp_back(own)),
            static_cast<uint64_t>(tick_of(slot(i), stamp_units(own))), max_sequence(shape)));
        uint8_t& highest = state.issued[noted(i)][0];
        highest = static_cast<uint8_t>(larger(highest, word));
    }

    // Notes the ids [word, word + count); returns the rule that they break.
    const char* note(State& state, int i, int word, int count) const
    {
        uint8_t* issued = state.issued[noted(i)];
        if (!setup_.exact) {
            const bool higher = word > issued[0];
            issued[0] = static_cast<uint8_t>(word + count - 1);
            return higher ? nullptr : "an id does not lie above all earlier ones of its database";
        }
        for (int id = word; id < word + count; id++) {
            uint8_t& byte = issued[id / 8];
            const auto bit = static_cast<uint8_t>(1 << id % 8);
            if (byte & bit) {
                return "an id is returned twice";
            }
            byte |= bit;
        }
        return nullptr;
    }

    const char* check_swap(const State& before, const State& after, int i) const
    {
        const Session& session = before.session[i];
        const int stamp = stamp_of_word(slot(i), session.next + session.count - 1u);
        if (after.word[slot(i)] <= before.word[slot(i)] && !setup_.exact) {
            return "ids of the server do not increase";
        }
        if (!setup_.exact && stamp > after.flushed[setup_.sessions[i].database].stamp[kind(i)]) {
            return "an id lies past the durable horizon";
        }
        if (session.after_raise &&
            stamp_units(stamp_of_word(slot(i), session.next)) <= setup_.raise) {
            return "an id lies below the moment that the horizon was raised to";
        }
        return nullptr;
    }

    // ---- Sessions.

    // Skips what would change nothing now, and so never will.
    void next_publication(const State& state, int i, Session& session) const
    {
        const Entry& entry = state.entry[setup_.sessions[i].database];
        while (session.step < 2 * kinds) {
            const int k = session.step / 2;
            if (session.step % 2 == 0 ? entry.floor[k] < session.new_floor[k]
                                      : entry.bound[k] < session.new_bound[k]) {
                return;
            }
            session.step++;
        }
        if (setup_.mutation == Mutation::publish_before_flush && session.lsn > 0) {
            session.at = at_flush;
            session.step = 0;
            memset(session.new_floor, 0, sizeof session.new_floor);
            memset(session.new_bound, 0, sizeof session.new_bound);
            return;
        }
        after_change(session, i);
    }

    void begin_publication(const State& state, int i, Session& session) const
    {
        session.at = at_publish;
        session.step = 0;
        next_publication(state, i, session);
    }

    static void change_pages(Session& session)
    {
        session.at = at_change;
        session.step = 0;
        memset(session.new_floor, 0, sizeof session.new_floor);
        memset(session.new_bound, 0, sizeof session.new_bound);
    }

    void publish_floors(Session& session) const
    {
        session.at = at_publish;
        session.step = 0;
        memset(session.new_bound, 0, sizeof session.new_bound);
        for (uint8_t& floor : session.new_floor) {
            floor = static_cast<uint8_t>(setup_.raise + 1);
        }
    }

    // horizon.cpp, horizon_raise(): its two parts in one order or the other.
    void begin_raise(const State& state, int i, Session& session) const
    {
        if (!setup_.raise_floor_first) {
            change_pages(session);
            return;
        }
        publish_floors(session);
        next_publication(state, i, session);
    }

    // Where a draw begins, or begins again.
    At at_draw() const
    {
        // Where the clock may say anything at any time, it does not matter when it is read.
        return setup_.promotions > 0 ? at_clock : at_bound;
    }

    // Only these move the floor after a start; otherwise what a session keeps of it makes no
    // difference, and is dropped.
    bool keeps_limits() const { return setup_.restored > 0 || setup_.raise > 0; }

    void after_change(Session& session, int i) const
    {
        if (setup_.sessions[i].raises) {
            if (!session.drawn) {
                session.drawn = 1;
                setup_.raise_floor_first ? change_pages(session) : publish_floors(session);
                return;
            }
            finish(session, at_end);
            return;
        }
        finish(session, session.drawn ? (setup_.exact ? at_return : at_idle) : at_draw());
    }

    // Drops what is not needed any more, so that states that mean the same are the same.
    void finish(Session& session, At at) const
    {
        Session kept;
        memset(&kept, 0, sizeof kept);
        kept.at = at;
        if (keeps_limits()) {
            kept.bound = session.bound;
            kept.floor = session.floor;
        }
        if (at == at_return) {
            kept.next = session.next;
            kept.count = session.count;
        }
        if (at != at_idle) {
            kept.after_raise = session.after_raise;
        }
        session = kept;
    }

    template <class Emit>
    void session_moves(const State& state, int i, Emit emit) const
    {
        const SessionSetup& own = setup_.sessions[i];
        const Session& was = state.session[i];
        State after = state;
        Session& session = after.session[i];
        Entry& entry = after.entry[own.database];
        Move move{ev_session, static_cast<uint8_t>(i), 0, false};
        auto done = [&](const char* broken = nullptr) { emit(after, move, broken); };
        auto read_bound = [&] {
            session.at = entry.bound[kind(i)] != was.bound ? at_floor : at_word;
            session.bound = entry.bound[kind(i)];
        };

        switch (was.at) {
        case at_idle:
            session.after_raise = state.raised && !own.raises;
            if (entry.bound[back] == 0 && setup_.mutation != Mutation::no_load) {
                session.at = at_load;
            } else if (own.raises) {
                begin_raise(after, i, session);
            } else if (setup_.promotions > 0) {
                session.at = at_clock;
            } else {
                read_bound();
            }
            return done();
        case at_load:
            for (int k = 0; k < kinds; k++) {
                session.new_floor[k] =
                    static_cast<uint8_t>(loaded_floor(state, state.page[own.database], k));
            }
            session.lsn = state.page_lsn[own.database];
            if (setup_.mutation == Mutation::trust_unflushed_page) {
                session.lsn = 0;
            }
            session.at = session.lsn > 0 ? at_load_flush : at_load_floor;
            return done();
        case at_load_flush:
            flush(after, was.lsn);
            session.at = at_load_floor;
            return done();
        case at_load_floor:
        case at_load_bound: {
            const bool floor_now =
                (was.at == at_load_floor) == (setup_.mutation != Mutation::bound_before_floor);
            if (floor_now && entry.floor[was.step] == 0) {
                entry.floor[was.step] = was.new_floor[was.step];
            } else if (!floor_now && entry.bound[was.step] == 0) {
                entry.bound[was.step] = setup_.mutation == Mutation::bound_before_floor
                                            ? was.new_floor[was.step]
                                            : entry.floor[was.step];
            }
            if (was.at == at_load_floor) {
                session.at = at_load_bound;
            } else if (++session.step == kinds) {
                finish(session, at_draw());
                if (own.raises) {
                    begin_raise(after, i, session);
                }
            } else {
                session.at = at_load_floor;
            }
            return done();
        }
        case at_clock:
            session.at = at_bound;
            session.now = static_cast<uint8_t>(clock_of(state));
            return done();
        case at_bound:
            read_bound();
            return done();
        case at_floor:
            session.at = at_word;
            session.floor = entry.floor[kind(i)];
            return done();
        case at_word:
            if (setup_.promotions > 0) {
                return take_step(after, i, done);
            }
            for (int now = 1; now <= setup_.last_clock; now++) {
                after = state;
                session.now = move.value = static_cast<uint8_t>(now);
                take_step(after, i, done);
            }
            return;
        case at_swap:
            if (state.word[word_slot(i)] != was.word) {
                finish(session, at_draw());
                return done();
            }
            after.word[word_slot(i)] = static_cast<uint8_t>(was.next + was.count - 1);
            {
                const char* broken = check_swap(state, after, i);
                if (broken == nullptr && !setup_.exact) {
                    broken = note(after, i, was.next, was.count);
                }
                // draw.cpp, extend_early(). Not always: at most every quarter of a second.
                if (was.wanted > 0) {
                    session.at = at_change;
                    session.drawn = 1;
                    session.word = 0;
                    if (!setup_.exact) {
                        session.next = session.count = 0;
                    }
                    done(broken);
                    session = was;
                }
                finish(session, setup_.exact ? at_return : at_idle);
                return done(broken);
            }
        case at_change:
            if (setup_.mutation == Mutation::page_not_locked) {
                State written = state;
                change(written, i);
                memcpy(session.new_bound, written.session[i].new_bound, sizeof session.new_bound);
                memcpy(session.new_floor, written.session[i].new_floor, sizeof session.new_floor);
                session.at = at_write;
                return done();
            }
            changed(after, i, change(after, i));
            return done();
        case at_write: {
            Page page = state.page[own.database];
            for (int k = 0; k < kinds; k++) {
                page.stamp[k] = static_cast<uint8_t>(was.new_bound[k] - 1);
            }
            page.copy = static_cast<uint8_t>(copy_of(page));
            page.timeline = state.timeline;
            write(after, own.database, page);
            session.lsn = after.page_lsn[own.database];
            changed(after, i, true);
            return done();
        }
        case at_flush:
            flush(after, was.lsn);
            if (setup_.mutation == Mutation::publish_before_flush) {
                after_change(session, i);
            } else {
                begin_publication(after, i, session);
            }
            return done();
        case at_publish: {
            const int k = was.step / 2;
            uint8_t& shared = was.step % 2 == 0 ? entry.floor[k] : entry.bound[k];
            shared = was.step % 2 == 0 ? was.new_floor[k] : was.new_bound[k];
            if (was.step % 2 == 1 && setup_.limit_from_flush) {
                entry.extended[k] = setup_.limit;
            }
            session.step++;
            next_publication(after, i, session);
            after.raised |= session.at == at_end;
            return done();
        }
        case at_return: {
            const char* broken = note(after, i, was.next, was.count);
            finish(session, at_idle);
            return done(broken);
        }
        case at_end:
            return;
        }
    }

    // The pages are unlocked.
    void changed(State& state, int i, bool wrote) const
    {
        Session& session = state.session[i];
        session.wanted = 0;
        if (setup_.mutation == Mutation::no_flush ||
            (setup_.mutation == Mutation::trust_unflushed_page && !wrote)) {
            session.lsn = 0;
        }
        if (session.lsn > 0 && setup_.mutation != Mutation::publish_before_flush) {
            session.at = at_flush;
        } else {
            begin_publication(state, i, session);
            state.raised |= session.at == at_end;
        }
    }

    template <class Done>
    void take_step(State& state, int i, Done done) const
    {
        Session& session = state.session[i];
        const Limits bounds = limits(session, i);
        const uint64_t last = state.word[word_slot(i)];
        const Draw draw = step(last, shape_[slot(i)], bounds, setup_.sessions[i].want);
        const uint64_t early_limit = early_word(session, i);
        const char* broken = nullptr;
        if (!common_case_agrees(bounds, early_limit, draw, last, i)) {
            broken = "the common case does not do what the step does";
        }
        const int needed = stamp_of_word(slot(i), draw.word);
        const int wanted = wanted_stamp(needed, session.now);
        switch (draw.verdict) {
        case Verdict::issue: {
            const bool early = setup_.mutation != Mutation::no_bound && draw.word > early_limit;
            finish(session, at_swap);
            session.word = static_cast<uint8_t>(last);
            session.next = static_cast<uint8_t>(draw.word);
            session.count = static_cast<uint8_t>(draw.count);
            session.wanted = static_cast<uint8_t>(early ? wanted : 0);
            if (word_tick(shape_[slot(i)], draw.word + draw.count - 1) >
                bounds.now + bounds.ahead) {
                broken = "an id lies more than max_ahead past the clock";
            }
            break;
        }
        case Verdict::extend:
            finish(session, at_change);
            session.wanted = static_cast<uint8_t>(wanted);
            break;
        case Verdict::wait:
        case Verdict::exhausted:
            finish(session, at_idle);
            break;
        }
        done(broken);
    }

    // ---- Text.

    static bool same_page(const Page& a, const Page& b) { return memcmp(&a, &b, sizeof a) == 0; }

    static std::string time_text(int units)
    {
        char text[16];
        snprintf(text, sizeof text, "%.1fs", static_cast<double>(units) / units_per_s);
        return text;
    }

    static std::string stamp_text(int stamp)
    {
        std::string text = time_text(stamp_units(stamp));
        if (stamp_back(stamp) > 0) {
            text += " back " + std::to_string(stamp_back(stamp));
        }
        return text;
    }

    static std::string entry_text(int value) { return value == 0 ? "none" : stamp_text(value - 1); }

    std::string word_text(int i, uint64_t word) const
    {
        const WordShape& shape = shape_[slot(i)];
        std::string text = "id " + stamp_text(stamp_of_word(slot(i), word)) + "/" +
                           std::to_string(word_sequence(shape, word));
        return word == 0 ? "none" : text;
    }

    void print_pages(const State& state, FILE* out) const
    {
        fprintf(out, "durable bound");
        for (int database = 0; database < max_databases; database++) {
            bool used = false;
            for (int i = 0; i < setup_.session_count; i++) {
                if (setup_.sessions[i].database == database) {
                    used = true;
                    fprintf(out, " %s", stamp_text(state.flushed[database].stamp[kind(i)]).c_str());
                    if (i + 1 < setup_.session_count && kind(i) == kind(i + 1)) {
                        break;
                    }
                }
            }
            if (used && setup_.sessions[0].database != setup_.sessions[1].database) {
                fprintf(out, " (database %d)", database + 1);
            }
        }
        fprintf(out, "\n");
    }

    const Setup setup_;
    bool symmetric_;
    Layout layout_[max_slots];
    WordShape shape_[max_slots];
};

// ---- The runs.

constexpr char seconds[] = "time:4:1s sequence:1 epoch=1970-01-01";
constexpr char halves[] = "time:4:500ms sequence:1 epoch=1970-01-01";
constexpr char with_back[] = "back:1 time:4:1s sequence:1 epoch=1970-01-01";

Setup pair(const char* layout, int databases)
{
    Setup setup{};
    setup.layouts[0] = layout;
    setup.session_count = 2;
    for (int i = 0; i < 2; i++) {
        setup.sessions[i] = {databases == 2 ? i : 0, 0, {1, false}, false};
    }
    setup.max_ahead = 2 * units_per_s;
    setup.last_clock = 6;
    setup.crashes = 2;
    return setup;
}

Setup mutated(Mutation mutation)
{
    Setup setup = pair(seconds, 1);
    setup.mutation = mutation;
    setup.exact = true;
    setup.crashes = mutation == Mutation::two_words ? 0 : 1;
    return setup;
}

// One session on a server with a standby; the first start finds a bound of half a second.
Setup promotion(int max_ahead, int skew)
{
    Setup setup = pair(seconds, 1);
    setup.session_count = 1;
    setup.begun = 1;
    setup.crashes = 0;
    setup.promotions = 1;
    setup.exact = true;
    setup.max_ahead = setup.clock_margin = max_ahead;
    setup.skew = skew;
    setup.last_clock = 10;
    return setup;
}

std::vector<Run<Setup>> all_runs()
{
    std::vector<Run<Setup>> runs;
    auto proof = [&](const char* name, const char* what, const Setup& setup) {
        runs.push_back({name, Expect::proof, what, setup});
    };
    auto found = [&](const char* name, const char* what, const Setup& setup) {
        runs.push_back({name, Expect::found, what, setup});
    };
    Setup setup;

    proof("one-database", "two sessions of one database", pair(seconds, 1));
    setup = pair(seconds, 2);
    setup.last_clock = 4;
    setup.crashes = 1;
    proof("two-databases", "a session in each of two databases, one word", setup);
    setup = pair(seconds, 1);
    setup.layouts[1] = halves;
    setup.sessions[1].layout = 1;
    setup.last_clock = 4;
    setup.crashes = 1;
    proof("two-ticks", "layouts of 1s and 500ms in one database", setup);
    setup = pair(with_back, 1);
    setup.last_clock = 5;
    setup.crashes = 1;
    proof("back", "a layout with back", setup);
    setup = pair(seconds, 1);
    setup.layouts[1] = with_back;
    setup.sessions[1].layout = 1;
    setup.last_clock = 2;
    setup.max_ahead = 1 * units_per_s;
    setup.crashes = 1;
    proof("plain-and-back", "a layout with back and one without", setup);
    setup = pair(seconds, 1);
    setup.sessions[1].want = {2, true};
    proof("block", "ids one by one, and two in one tick", setup);
    setup.sessions[1].want = {3, false};
    proof("many", "ids one by one, and three at once", setup);

    found("no-flush", "the flush left out", mutated(Mutation::no_flush));
    found("publish-before-flush", "the bound published before the flush",
          mutated(Mutation::publish_before_flush));
    found("no-load", "nothing read at the start", mutated(Mutation::no_load));
    found("no-bound", "no bound", mutated(Mutation::no_bound));
    found("not-rounded-up", "the first tick not rounded up",
          mutated(Mutation::first_tick_not_rounded_up));
    found("unflushed-page", "a reader trusts an unflushed page",
          mutated(Mutation::trust_unflushed_page));
    found("two-words", "two words for one node", mutated(Mutation::two_words));
    found("page-not-locked", "the page read and written without its lock",
          mutated(Mutation::page_not_locked));
    setup = mutated(Mutation::bound_before_floor);
    setup.layouts[0] = with_back;
    found("bound-before-floor", "after a start, the bound published before the floor", setup);

    setup = pair(seconds, 1);
    setup.layouts[1] = with_back;
    setup.sessions[1].layout = 1;
    setup.last_clock = 2;
    setup.max_ahead = 1 * units_per_s;
    setup.crashes = 1;
    setup.begun = 1;
    setup.restored = stamp_of(1, 2);
    proof("restore", "a dump restored, both kinds of layouts", setup);
    setup.restore_of_all = false;
    found("restore-of-one-kind", "a restore carried over to the kind that extends first only",
          setup);
    setup.restore_of_all = true;
    setup.begun = stamp_of(1, 1);
    setup.restored = stamp_of(0, 2);
    proof("restore-lower-back", "a dump with a lower back count and a later time", setup);
    setup.restore_marked = false;
    found("restore-by-size", "a restore known by its size only", setup);

    setup = pair(seconds, 1);
    setup.last_clock = 4;
    setup.sessions[1].raises = true;
    setup.raise = 4;
    proof("raise", "the horizon raised by hand", setup);
    setup.raise_floor_first = false;
    found("raise-floor-last", "the horizon raised by hand, the bound published before the floor",
          setup);
    setup.raise_floor_first = true;
    setup.raise_moves_bound = false;
    found("raise-unseen", "the horizon raised by hand, a bound above it left as it is", setup);

    // The clocks may differ by as much as max_ahead is more than an extension.
    proof("promotion", "a standby lags, its clock is behind", promotion(6, 2));
    setup = promotion(6, 2);
    setup.layouts[0] = with_back;
    setup.last_clock = 8;
    proof("promotion-back", "the same with a layout with back", setup);
    setup = promotion(6, 2);
    setup.session_count = 2;
    setup.last_clock = 5;
    proof("promotion-pair", "the same with two sessions", setup);
    setup = promotion(6, 0);
    setup.crashes = 1;
    setup.last_clock = 8;
    proof("promotion-crash", "a crash before it, its clock is right", setup);
    setup = promotion(6, 2);
    setup.margin = 0;
    found("no-margin", "the margin past the bound left out", setup);
    setup = promotion(6, 2);
    setup.margin = extension;
    found("margin-without-tick", "a margin without the longest tick", setup);
    setup = promotion(6, 0);
    setup.clock_margin = 0;
    found("no-clock-margin", "the margin past the clock left out, and an idle second", setup);
    setup = promotion(6, 0);
    setup.begun = 0;
    setup.margin_of_empty = false;
    found("no-margin-at-first", "no margin where no bound was written yet", setup);
    setup = promotion(6, 2);
    setup.limit = false;
    found("no-limit", "more than one extension a second", setup);
    setup = promotion(6, 2);
    setup.limit_from_flush = false;
    found("limit-from-write", "that second counted from the write, not the flush", setup);
    setup = promotion(6, 2);
    setup.crashes = 1;
    found("crash-and-skew", "a crash in the last second, and a clock that is behind", setup);
    setup = promotion(6, 3);
    found("more-skew", "a clock that is further behind", setup);
    setup = promotion(6, 0);
    setup.mutation = Mutation::load_during_recovery;
    found("load-during-recovery", "a standby caches its horizon", setup);
    return runs;
}

} // namespace

int main(int argc, char** argv)
{
    return check_runs<Model>(all_runs(), argc, argv);
}
