// Settled marks: each id below one belongs to a transaction that has ended, the snapshot sees it,
// and none follows, in whatever life. When all is well, none stays above one.
#include "checkers.hpp"
#include "core/settled.hpp"
#include "sessions.hpp"
#include "world.hpp"

#include <algorithm>
#include <map>

namespace sim {

namespace {

constexpr char while_raised[] = "7b: a mark passed an id while the horizon was raised";

struct Drawn {
    int database, transaction;
    size_t life;
};
std::map<uint64_t, Drawn> unsettled[layout_count]; // of this life
BestMark best[most_databases][layout_count];       // that was ever answered
struct Highest {
    uint64_t id = 0;
    size_t life = 0;
};
Highest highest[most_databases][layout_count]; // that was ever drawn
bool must_pass;

template <typename Gone>
void forget_unsettled(Gone gone)
{
    for (auto& ids : unsettled) {
        for (auto at = ids.begin(); at != ids.end();) {
            at = gone(at->second) ? ids.erase(at) : std::next(at);
        }
    }
}

// A count of set-backs stands above the time in such ids. A copy or a standby that does not know of
// a set-back yet goes on with a lower count: what it makes lies below marks from after the
// set-back, and nothing can tell it. doc/polling.md says that such a mark ends there.
bool counts_fewer(const Id& id, size_t life_of_mark)
{
    return id.generator.layout.back_bits > 0 &&
           std::any_of(lives.begin() + static_cast<ptrdiff_t>(life_of_mark) + 1, lives.end(),
                       [](const Life& life) { return life.older_back; });
}

// What may hold a mark back lasts no longer than this.
constexpr int64_t longest_held = 60 * minute;

bool goes_far_back(int number, int64_t mark, int64_t before)
{
    const flakeid::Layout& layout = layouts[number].layout;
    auto us = [&](int64_t id) {
        return static_cast<int64_t>(static_cast<uint64_t>(id) >> layout.time_shift) *
               layout.tick_us;
    };
    return layout.back_bits == 0 && us(mark) + longest_held < us(before);
}

// In one life nothing but a repair lowers a mark, nor does a fast restart. After other starts the
// server may not know its file, and what it gave, until the first draw; nor after one where it
// could not write all of it.
bool keeps_marks(size_t life)
{
    return !repaired_since(life) && (life == lives.size() - 1 || !world.has('I')) &&
           std::all_of(lives.begin() + static_cast<ptrdiff_t>(life) + 1, lives.end(),
                       [](const Life& l) { return l.how == Start::fast; });
}

// No mark lies past the last id of a layout.
bool is_last(int64_t mark, int number)
{
    const flakeid::Layout& layout = layouts[number].layout;
    const auto shape = flakeid::word_shape(layout);
    const flakeid::Word last = flakeid::within_layout(shape, flakeid::highest_word);
    return static_cast<uint64_t>(mark) >= raw_of_word(layout, shape, last);
}

// What took another server's place may be older than the id, and so may what was repaired. The last
// id of a layout has none after it.
bool need_not_pass(const Highest& drawn, int layout)
{
    return drawn.id == 0 || wall_clock(here()) >= end_us(layouts[layout].layout) ||
           repaired_since(drawn.life) ||
           std::any_of(lives.begin() + static_cast<ptrdiff_t>(drawn.life) + 1, lives.end(),
                       [](const Life& life) { return took_a_place(life.how); });
}

} // namespace

void marks_must_pass(bool from_now_on)
{
    must_pass = from_now_on;
}

void settled_begins()
{
    must_pass = false;
    settled_life_begins();
    for (int i = 0; i < most_databases; i++) {
        settled_is_dropped(i);
    }
}

void settled_life_begins()
{
    forget_unsettled([](const Drawn& drawn) {
        const auto number = static_cast<size_t>(drawn.transaction);
        return number >= transactions.size() || !transactions[number].prepared ||
               transactions[number].ended;
    });
}

void settled_is_dropped(int database)
{
    std::fill(best[database], best[database] + layout_count, BestMark{});
    std::fill(highest[database], highest[database] + layout_count, Highest{});
    forget_unsettled([&](const Drawn& drawn) { return drawn.database == database; });
}

void settled_drawn(const Id& id)
{
    const int database = my_database();
    if (!flakeid::can_settle(id.generator.layout)) {
        return;
    }
    BestMark& b = best[database][id.layout];
    if (static_cast<int64_t>(id.raw) < b.mark) {
        tell("id %llx, mark %llx, of life %zu", static_cast<unsigned long long>(id.raw),
             static_cast<unsigned long long>(b.mark), b.life);
        const char* kind = kind_of_lives(b.life, lives.size() - 1);
        if (b.life == lives.size() - 1 && raise_began(database)) {
            kind = while_raised;
        }
        if (kind == beyond_promise || counts_fewer(id, b.life) || repaired_since(b.life)) {
            forget_told();
        } else {
            tell(", %s", kind);
            broken(b.life < lives.size() - 1 ? "an id below a settled mark of another life"
                                             : "an id below a settled mark");
        }
        b.mark = static_cast<int64_t>(id.raw);
    }
    unsettled[id.layout][id.raw] = {database, id.transaction, lives.size() - 1};
    Highest& h = highest[database][id.layout];
    if (id.raw >= h.id || need_not_pass(h, id.layout)) {
        h = {id.raw, lives.size() - 1};
    }
}

BestMark best_mark(int database, int layout)
{
    return best[database][layout];
}

void settled_answered(int database, int layout, int64_t mark, const SnapshotData& snapshot,
                      const Met& met)
{
    auto& ids = unsettled[layout];
    for (auto at = ids.begin(); at != ids.end() && static_cast<int64_t>(at->first) < mark;) {
        if (at->second.database != database) {
            ++at;
            continue;
        }
        const Transaction& transaction = transactions[static_cast<size_t>(at->second.transaction)];
        if (!transaction.ended) {
            tell("id %llx, mark %llx, transaction %d with xid %llu%s",
                 static_cast<unsigned long long>(at->first), static_cast<unsigned long long>(mark),
                 at->second.transaction, static_cast<unsigned long long>(transaction.xid),
                 transaction.prepared ? ", prepared" : "");
            broken("%s", raise_began(database)
                             ? while_raised
                             : "settled: an id below the mark belongs to a transaction that runs");
        }
        const auto xid = static_cast<TransactionId>(transaction.xid);
        const bool unseen =
            xid >= snapshot.xmax || std::count(snapshot.xip, snapshot.xip + snapshot.xcnt, xid) > 0;
        if (transaction.committed && unseen) {
            broken("%s", raise_began(database)
                             ? while_raised
                             : "settled: the snapshot does not see an id below the mark");
        }
        at = ids.erase(at);
    }
    // A repair may take back the count of set-backs that an id before it has.
    const bool taken_back =
        layouts[layout].layout.back_bits > 0 && repaired_since(lives.size() - 1);
    // Of one node and life the next id lies past all others, whatever the clock says.
    const bool nobody_holds = met.alone && !is_last(mark, layout) &&
                              world.chosen.find_first_of("NJVfr") == std::string::npos;
    for (const auto& [id, drawn] : ids) {
        if (taken_back || snapshot.xcnt != 0 || drawn.database != database) {
            continue;
        }
        if (nobody_holds && drawn.life == lives.size() - 1) {
            tell("id %llx, mark %llx, transaction %d with xid %llu, snapshot up to %u",
                 static_cast<unsigned long long>(id), static_cast<unsigned long long>(mark),
                 drawn.transaction,
                 static_cast<unsigned long long>(
                     transactions[static_cast<size_t>(drawn.transaction)].xid),
                 snapshot.xmax);
            broken("a settled mark does not pass an id, and no other transaction is open");
        }
        if (must_pass && !is_last(mark, layout)) {
            tell("id %llx, mark %llx", static_cast<unsigned long long>(id),
                 static_cast<unsigned long long>(mark));
            broken("life: all is well, and a settled mark does not pass an id");
        }
    }
    const Highest& h = highest[database][layout];
    if (must_pass && snapshot.xcnt == 0 && mark <= static_cast<int64_t>(h.id) &&
        !need_not_pass(h, layout)) {
        tell("id %llx of life %zu, mark %llx", static_cast<unsigned long long>(h.id), h.life,
             static_cast<unsigned long long>(mark));
        broken("life: all is well, and a settled mark does not pass an id of before a start");
    }
    BestMark& b = best[database][layout];
    if (met.kept && snapshot.xcnt == 0 && goes_far_back(layout, mark, met.best_before.mark) &&
        keeps_marks(met.best_before.life)) {
        tell("mark %llx after %llx", static_cast<unsigned long long>(mark),
             static_cast<unsigned long long>(met.best_before.mark));
        broken("a settled mark goes far back, and no transaction is open that wrote");
    }
    if (mark >= b.mark) {
        b = {mark, lives.size() - 1};
    }
}

} // namespace sim
