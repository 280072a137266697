// Generator, horizon and restart: every interleaving of two sessions, with a crash at any step and
// a clock that says anything at any reading. The step and the horizon's arithmetic are
// src/core/step.cpp and src/core/stamp.cpp themselves; README.md says what is left out.
//
//     horizon_model                every run; a line each
//     horizon_model NAME...        these runs, and the way to what they find
#include "horizon_text.hpp"
#include "search.hpp"

#include <vector>

namespace {

using namespace horizon;

constexpr char seconds[] = "time:4:1s sequence:1 epoch=1970-01-01";
constexpr char halves[] = "time:4:500ms sequence:1 epoch=1970-01-01";
constexpr char with_back[] = "back:1 time:4:1s sequence:1 epoch=1970-01-01";

Setup pair(const char* layout, int databases)
{
    Setup setup{};
    setup.layouts[0] = layout;
    setup.session_count = 2;
    for (int i = 0; i < 2; i++) {
        setup.sessions[i] = {databases == 2 ? i : 0, 0, {1, false}, Program::draws};
    }
    setup.max_ahead = 2 * units_per_s;
    setup.last_clock = 6;
    setup.crashes = 2;
    return setup;
}

// A layout with back and one without.
Setup both_kinds()
{
    Setup setup = pair(seconds, 1);
    setup.layouts[1] = with_back;
    setup.sessions[1].layout = 1;
    setup.last_clock = 2;
    setup.max_ahead = 1 * units_per_s;
    setup.crashes = 1;
    return setup;
}

Setup mutated(Setup setup, Mutation mutation)
{
    setup.mutation = mutation;
    return setup;
}

Setup drawn(Mutation mutation)
{
    Setup setup = mutated(pair(seconds, 1), mutation);
    setup.exact = true;
    setup.crashes = mutation == Mutation::two_words ? 0 : 1;
    return setup;
}

// A session draws while another one does something else.
Setup beside(Program program)
{
    Setup setup = pair(seconds, 1);
    setup.last_clock = 4;
    setup.sessions[1].program = program;
    return setup;
}

Setup raised()
{
    Setup setup = beside(Program::raises);
    setup.raise = 4;
    return setup;
}

// Of a database whose ids have a back count of 1.
Setup restored(const char* layout)
{
    Setup setup = beside(Program::restores);
    setup.layouts[0] = layout;
    setup.last_clock = 3;
    setup.begun = 1;
    setup.restored[plain_horizon] = 4;
    setup.restored[back_horizon] = small_stamp(1, 4);
    return setup;
}

Setup replaced(Program program)
{
    Setup setup = beside(program);
    setup.last_clock = 3;
    setup.replacements = program == Program::replaces_and_raises ? 2 : 1;
    setup.raise = program == Program::replaces_and_raises ? 4 : 0;
    return setup;
}

// One session on a server with a standby; the first start finds a bound of half a second.
Setup promotion(int skew, Mutation mutation = Mutation::none)
{
    Setup setup = mutated(pair(seconds, 1), mutation);
    setup.session_count = 1;
    setup.begun = 1;
    setup.crashes = 0;
    setup.promotions = 1;
    setup.exact = true;
    setup.max_ahead = 3 * units_per_s;
    setup.skew = skew;
    setup.last_clock = 10;
    return setup;
}

Setup copied(int skew, Mutation mutation = Mutation::none)
{
    Setup setup = promotion(skew, mutation);
    setup.copy = true;
    return setup;
}

// The clocks may differ by as much as max_ahead is more than an extension.
constexpr int most_skew = 1 * units_per_s;

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
    proof("plain-and-back", "a layout with back and one without", both_kinds());
    setup = pair(seconds, 1);
    setup.sessions[1].want = {2, true};
    proof("block", "ids one by one, and two in one tick", setup);
    setup.sessions[1].want = {3, false};
    proof("many", "ids one by one, and three at once", setup);

    found("no-flush", "the flush left out", drawn(Mutation::no_flush));
    found("publish-before-flush", "the bound published before the flush",
          drawn(Mutation::publish_before_flush));
    found("no-load", "nothing read at the start", drawn(Mutation::no_load));
    found("no-bound", "no bound", drawn(Mutation::no_bound));
    found("not-rounded-up", "the first tick not rounded up",
          drawn(Mutation::first_tick_not_rounded_up));
    found("unflushed-page", "a reader trusts an unflushed page",
          drawn(Mutation::trust_unflushed_page));
    found("two-words", "two words for one node", drawn(Mutation::two_words));
    found("page-not-locked", "the page read and written without its lock",
          drawn(Mutation::page_not_locked));
    setup = drawn(Mutation::bound_before_floor);
    setup.layouts[0] = with_back;
    found("bound-before-floor", "after a start, the bound published before the floor", setup);

    proof("restore", "a dump restored beside a session that draws", restored(seconds));
    proof("restore-back", "the same with a layout with back", restored(with_back));
    setup = restored(with_back);
    setup.begun = small_stamp(1, 1);
    setup.restored[back_horizon] = small_stamp(0, 4);
    proof("restore-lower-back", "a dump with a lower back count and a later time", setup);
    found("restore-of-one-kind", "the rows of a dump but the first left out",
          mutated(restored(with_back), Mutation::first_row_only));

    proof("raise", "the horizon raised by hand", raised());
    found("raise-floor-last", "the horizon raised by hand, the floor published after the page",
          mutated(raised(), Mutation::floor_last));
    found("raise-unseen", "the horizon raised by hand, a bound above it left as it is",
          mutated(raised(), Mutation::floor_unseen));

    proof("replaced", "the extension dropped and created in a transaction",
          replaced(Program::replaces));
    proof("replaced-and-raised", "and the horizon raised in it",
          replaced(Program::replaces_and_raises));
    setup = mutated(replaced(Program::replaces), Mutation::publish_while_replacing);
    setup.exact = true;
    found("publish-while-replacing", "that transaction publishes what it wrote to its new file",
          setup);
    setup = mutated(replaced(Program::replaces), Mutation::relation_released_early);
    setup.exact = true;
    found("released-early", "the relation unlocked before the bound is published", setup);
    found("bounds-stay", "a raise in that transaction leaves the bounds as they are",
          mutated(replaced(Program::replaces_and_raises), Mutation::bounds_stay));
    found("known-floor", "a raise to what is published already changes nothing",
          mutated(replaced(Program::replaces_and_raises), Mutation::known_floor));

    proof("promotion", "a standby lags, its clock is behind", promotion(most_skew));
    setup = promotion(most_skew);
    setup.layouts[0] = with_back;
    setup.last_clock = 8;
    proof("promotion-back", "the same with a layout with back", setup);
    setup = promotion(most_skew);
    setup.session_count = 2;
    setup.last_clock = 5;
    proof("promotion-pair", "the same with two sessions", setup);
    setup = promotion(0);
    setup.crashes = 1;
    setup.last_clock = 8;
    proof("promotion-crash", "a crash before it, its clock is right", setup);
    found("no-margin", "the margin past the bound left out",
          promotion(most_skew, Mutation::no_margin));
    found("margin-without-tick", "a margin without the longest tick",
          promotion(most_skew, Mutation::margin_without_tick));
    found("no-clock-margin", "the margin past the clock left out, and an idle second",
          promotion(0, Mutation::no_clock_margin));
    setup = promotion(0, Mutation::no_margin_at_first);
    setup.begun = 0;
    found("no-margin-at-first", "no margin where no bound was written yet", setup);
    found("no-limit", "more than one extension a second", promotion(most_skew, Mutation::no_limit));
    found("limit-from-write", "that second counted from the write, not the flush",
          promotion(most_skew, Mutation::limit_from_write));
    setup = promotion(most_skew);
    setup.crashes = 1;
    found("crash-and-skew", "a crash in the last second, and a clock that is behind", setup);
    found("more-skew", "a clock that is further behind", promotion(most_skew + 1));
    found("load-during-recovery", "a standby caches its horizon",
          promotion(0, Mutation::load_during_recovery));

    proof("copy", "an earlier copy of the files is started, its clock is right", copied(0));
    found("copy-unseen", "the start of a copy taken for a restart",
          copied(0, Mutation::copy_unseen));
    found("copy-and-skew", "a copy whose clock is behind", copied(most_skew));
    return runs;
}

} // namespace

int main(int argc, char** argv)
{
    return check_runs<Model>(all_runs(), argc, argv);
}
