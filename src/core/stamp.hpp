// The rules of the durable horizon: where ids begin after a start, when and how far the horizon is
// extended, what a restore and a repair make of it. Pure: what the page says, what the server is,
// and the time are arguments.
//
// A stamp is a back count above microseconds since 1970. Larger is later. It is a type of its own,
// so that no word, tick or moment takes its place.
#pragma once

#include "layout.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace flakeid {

enum class Stamp : uint64_t {};

constexpr Stamp no_stamp{0};    // nothing is known
constexpr Stamp least_stamp{1}; // allows no id, and is known all the same

constexpr int stamp_us_bits = 56;
constexpr int64_t last_stamp_us = (INT64_C(1) << stamp_us_bits) - 1; // in the year 4253
static_assert(stamp_us_bits + max_back_bits < 64, "a stamp is a positive bigint");

constexpr Stamp stamp_of(uint64_t back, int64_t us)
{
    assert(back <= low_mask(max_back_bits));
    const int64_t within = std::clamp(us, INT64_C(0), last_stamp_us);
    return Stamp{back << stamp_us_bits | static_cast<uint64_t>(within)};
}

// As flakeid.state keeps it.
constexpr int64_t stamp_number(Stamp stamp)
{
    return static_cast<int64_t>(stamp);
}

constexpr Stamp stamp_of_number(int64_t number)
{
    return Stamp{static_cast<uint64_t>(number)};
}

constexpr int64_t stamp_us(Stamp stamp)
{
    return static_cast<int64_t>(static_cast<uint64_t>(stamp) &
                                static_cast<uint64_t>(last_stamp_us));
}

constexpr uint64_t stamp_back(Stamp stamp)
{
    return static_cast<uint64_t>(stamp) >> stamp_us_bits;
}

// Layouts with a back field have a horizon of their own, since it may go back in time.
enum HorizonKind : int { plain_horizon, back_horizon, horizon_kinds };

// An extension reaches extension_us past the id that asks for it. It is asked for when less than
// early_extension_us is left.
constexpr int64_t extension_us = 2 * us_per_s;
constexpr int64_t early_extension_us = us_per_s;

// A draw waits for flakeid.max_ahead and one extension at most; past that there is an error.
constexpr int64_t longest_wait_us(int64_t max_ahead_us)
{
    return max_ahead_us + extension_us;
}

// At most one extension falls into this time, counted from its flush, so that a standby whose
// replay lags by less misses at most one.
constexpr int64_t extension_interval_us = us_per_s;

// What the horizon leaves to those who draw one id at a time, until it can be extended again.
constexpr int64_t headroom_us = extension_interval_us / 2;

// What tells one incarnation of a data directory from another: a promotion changes the timeline, a
// copy gets another incarnation.
struct Origin {
    int64_t timeline;
    int64_t incarnation;
};

inline bool same_origin(const Origin& a, const Origin& b)
{
    return a.timeline == b.timeline && a.incarnation == b.incarnation;
}

// What is remembered of what was stamped: of one database in its row, of all in the server's file.
struct Stamped {
    int64_t stamp[horizon_kinds]; // stamp_number(): no id was ever stamped after it
    int64_t latest_us;            // nor after this moment, whatever its back count
    int64_t least_us;             // no back count may be used for moments before it
    int64_t most_ahead_us;        // how far ahead of the clock sessions may stamp
    int64_t nodes;                // bit n: node n modulo 64 may have made ids
};

// Returns the union of what both say.
Stamped merged(const Stamped& a, const Stamped& b);

// Raises what is remembered to `stamp` and its moment.
void take_stamp(Stamped* stamped, int kind, Stamp stamp);

constexpr uint64_t bit_of_node(uint32_t node)
{
    return UINT64_C(1) << (node & 63);
}

// The default of flakeid.max_ahead: a lost server stamped as far ahead of the clock at least.
constexpr int64_t assumed_ahead_us = 5 * us_per_s;

// How far the clock of a copy or a promoted standby may be behind that of the server which it
// follows.
constexpr int64_t allowed_behind_us = 3 * us_per_s;

// Returns the moment past which a lost server cannot have stamped, when another one takes its place
// at the moment `now_us`.
constexpr int64_t takeover_us(int64_t now_us, int64_t most_ahead_us)
{
    return now_us + std::max(most_ahead_us, assumed_ahead_us) + allowed_behind_us;
}

// Returns the stamp, but no further ahead of the clock than ids are stamped. Whoever takes a lost
// server's place begins past takeover_us() and so past the result, however far that server's
// horizon reached.
constexpr Stamp within_most_ahead(Stamp stamp, int64_t now_us, int64_t max_ahead_us)
{
    return std::min(stamp, stamp_of(stamp_back(stamp), now_us + max_ahead_us));
}

// Where ids begin after a start: past `stamp` of their kind (never 0), and never before `least_us`
// whatever their back count.
struct Floors {
    Stamp stamp[horizon_kinds];
    int64_t least_us;
};

// Returns where ids begin. `lost_until_us`: 0 when the server goes on that wrote `stamped`;
// otherwise the moment past which the lost one cannot have stamped.
//
// Any layout may have become another one since, so each kind begins past the moments of the other.
// Whoever goes on elsewhere may have missed one extension, and any back count that was used since:
// ids begin past one extension and a tick, or, when the last one was long ago, past whatever was
// as far ahead of the lost server's clock as it stamped.
Floors floors_at_start(const Stamped& stamped, int64_t lost_until_us);

// Returns the later of each.
Floors later(const Floors& a, const Floors& b);

// Returns how far the horizon is to be extended for an id of stamp `needed`. Where ids begin past
// what a lost server may have stamped, the horizon may be extended to `head_start_until_us` at
// once, so that they do not stop again after the first tick.
Stamp wanted_stamp(Stamp needed, int64_t now_us, int64_t max_ahead_us,
                   int64_t head_start_until_us = 0);

// Returns the moment that the horizon of the server reaches when that of a database is extended to
// the moment `us`: a later one, so that other databases and the next extension find it there.
int64_t file_target_us(int64_t us, int64_t now_us, int64_t max_ahead_us);

struct Extension {
    Stamp stamp;     // to be written; the one that stands there when nothing is
    int64_t wait_us; // how long until an extension is possible; 0: the bound moves now
};

// Decides on an extension. `page` is the durable stamp, `bound` the published one, `since_us` the
// time since the last flush of an extension, negative when there was none. One that waits for the
// file of the server until it has passed is followed by another: otherwise databases that take
// turns with the file could keep one of them from ids.
Extension extension(Stamp page, Stamp bound, Stamp needed, Stamp wanted, int64_t since_us);

// Returns the stamp of a horizon that lies ahead of `right_us` by mistake. A count of set-backs
// that came with it is as wrong as its moment.
Stamp repaired_stamp(Stamp stamp, int64_t right_us);

static_assert(is_plain<Origin, Stamped, Floors, Extension>);

} // namespace flakeid
