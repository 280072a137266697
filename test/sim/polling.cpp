// How sessions ask for settled marks.
#include "polling.hpp"

#include "checkers.hpp"
#include "core/settled.hpp"
#include "drawing.hpp"
#include "generator/settled.hpp"
#include "world.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

using flakeid::can_settle;
using flakeid::configured_generator;
using flakeid::Generator;

namespace {

Reached was_polled('Q', "a settled mark was answered");
Reached was_evicted('.', "a snapshot was too old for a settled mark");
Reached was_late('.', "the first poll came when transactions had ended");
Reached was_uncertain('.', "nobody knew what ended since the snapshot of a first poll was taken");

// What sessions have handed out in transactions that committed with an xid, by the place of their
// process: at most so many pins went into the ring of the process.
int64_t ended[most_backends];
bool marks_answered;   // in this life
int64_t polls_from_us; // until then nobody asks for a mark
int64_t snapshot_held; // since then, perhaps
PROCESS_LOCAL int64_t ended_at_snapshot[most_backends] = {};
constexpr int64_t surely_kept = 900;

void snapshot_will_be_taken()
{
    std::copy(ended, ended + most_backends, ended_at_snapshot);
}

} // namespace

void polls_begin()
{
    marks_answered = false;
    polls_from_us = world.has('Q') && chance.one_in(2) ? true_us + chance.below(10 * second) : 0;
}

bool may_poll()
{
    return true_us >= polls_from_us;
}

bool snapshot_is_held()
{
    return true_us - snapshot_held < second;
}

void pins_may_be_kept(int seat, int64_t most)
{
    ended[seat] += most;
}

// Nobody's transactions push out what others ended.
void poll_is_refused()
{
    if (strstr(my_message, "the snapshot is too old for a settled mark") == nullptr) {
        return;
    }
    was_evicted();
    for (int i = 0; i < most_backends; i++) {
        if (ended[i] - ended_at_snapshot[i] > surely_kept) {
            return;
        }
    }
    broken("a snapshot is too old, and no session ended so much since");
}

void poll(bool on_errand, bool (*nobody_else_works)())
{
    Generator& g = configured_generator();
    if (!can_settle(g.layout)) {
        return;
    }
    const size_t begun = transactions.size();
    const bool alone = my_ids == 0 && nobody_else_works();
    const uint64_t ended_before = here().ended_xids;
    const bool were_kept = marks_answered;
    const BestMark before = best_mark(my_database(), my_layout);
    snapshot_will_be_taken();
    const SnapshotData& snapshot = take_snapshot();
    const bool long_one = world.has('v') && !on_errand;
    if (mine().one_in(long_one ? 2 : 6)) {
        // One of a transaction that is REPEATABLE READ. Often for so short a time that few end; on
        // an errand, which has a second, for half of that at most.
        snapshot_held = true_us;
        const int64_t longest = long_one ? 5 * second : on_errand ? second / 2 : second;
        sleep_us(mine().below(long_one || mine().one_in(2) ? longest : 5 * ms));
    }
    do { // a transaction that is REPEATABLE READ may ask again
        if (!lives.back().polled && here().ended_xids > 0) {
            was_late();
        }
        lives.back().polled = true;
        const int64_t mark = settled_id(g, snapshot);
        polls++;
        was_polled();
        note("mark %llx of database %lld, layout %lld", mark, my_database(), my_layout);
        const bool kept = were_kept || here().ended_xids == ended_before;
        if (!kept && mark == 0) {
            was_uncertain();
        }
        settled_answered(my_database(), my_layout, mark, snapshot,
                         {before, alone && begun == transactions.size(), kept});
    } while (!on_errand && mine().one_in(3));
    marks_answered = true;
}

} // namespace sim
