// The rules of the durable horizon: where ids begin after a start, when and how far the horizon is
// extended, what a restore and a repair make of it. Pure: what the page says, what the server is,
// and the time are arguments.
//
// A stamp is a back count above microseconds since 1970. Larger is later.
#pragma once

#include "layout.hpp"

#include <cassert>
#include <cstdint>

namespace flakeid {

constexpr int stamp_us_bits = 56;
constexpr int64_t last_stamp_us = (INT64_C(1) << stamp_us_bits) - 1; // in the year 4253
static_assert(stamp_us_bits + max_back_bits < 64, "a stamp is a positive bigint");

constexpr uint64_t stamp_of(uint64_t back, int64_t us)
{
    assert(back <= low_mask(max_back_bits));
    return back << stamp_us_bits | static_cast<uint64_t>(us < 0               ? 0
                                                         : us > last_stamp_us ? last_stamp_us
                                                                              : us);
}

constexpr int64_t stamp_us(uint64_t stamp)
{
    return static_cast<int64_t>(stamp & static_cast<uint64_t>(last_stamp_us));
}

constexpr uint64_t stamp_back(uint64_t stamp)
{
    return stamp >> stamp_us_bits;
}

// Layouts with a back field have a horizon of their own, since it may go back in time.
enum HorizonKind : int { plain_horizon, back_horizon, horizon_kinds };

// An extension reaches this far past the id that asks for it, and is asked for when less than the
// early part of it is left.
constexpr int64_t extension_us = 2 * us_per_s;
constexpr int64_t early_extension_us = us_per_s;

// At most one extension falls into this time, counted from its flush, so that a standby whose
// replay lags by less misses at most one.
constexpr int64_t extension_interval_us = us_per_s;

// What tells one life of a data directory from another: a promotion changes the timeline, a copy
// the place.
struct Origin {
    int64_t timeline;
    int64_t place;
};

inline bool same_origin(const Origin& a, const Origin& b)
{
    return a.timeline == b.timeline && a.place == b.place;
}

// Where ids begin after a start: past this stamp. `kept` is the durable stamp and `wrote` who wrote
// it; `here` is this server, `reach_us` how far ids may lie ahead of the clock. Never 0.
//
// Whoever goes on elsewhere may have missed one extension. Ids begin past all that it can have
// allowed: one extension and a tick past the stamp, or, when the last one was long ago, whatever
// was within reach of the lost server's clock.
uint64_t floor_at_start(uint64_t kept, const Origin& wrote, const Origin& here, int64_t now_us,
                        int64_t reach_us);

// How far the horizon is to be extended for an id of stamp `needed`.
uint64_t wanted_stamp(uint64_t needed, int64_t now_us, int64_t max_ahead_us);

struct Extension {
    uint64_t stamp;  // to be written; the one that stands there when nothing is
    int64_t wait_us; // how long until an extension is possible; 0: the bound moves now
};

// `page` is the durable stamp, `bound` the published one, `since_us` the time since the last flush
// of an extension, negative when there was none.
Extension extension(uint64_t page, uint64_t bound, uint64_t needed, uint64_t wanted,
                    int64_t since_us);

// The stamp to be written so that ids begin past `floor`: sessions look at the floor only when the
// bound has moved, so it does in any case.
uint64_t raised_stamp(uint64_t page, uint64_t bound, uint64_t floor);

// The stamp of a horizon that lies ahead of `right_us` by mistake. A count of set-backs that came
// with it is as wrong as its moment.
uint64_t repaired_stamp(uint64_t stamp, int64_t right_us);

static_assert(is_plain<Origin, Extension>);

} // namespace flakeid
