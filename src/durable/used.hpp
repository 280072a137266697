// Which numbers layouts have used on this server (core/used.hpp), over its starts. The file of the
// server keeps it (server_horizon.hpp): each record has a part of it, each part stands in two
// places, and what it says of a layout that is in use is good until the next start, which knows
// where that ended.
//
// Two layouts whose numbers come to each other's keep out of the way. Whoever makes limits claims
// what his layout may use from then on, and under the same lock sees how far others have come: what
// they may use by limits that were made before lies below the horizon of the server. Those who make
// theirs later see his.
//
// Locking: AddinShmemInitLock for all but `filed`, which is atomic and only rises.
#pragma once

#include "core/record.hpp"
#include "core/used.hpp"
#include "server/postgres.hpp"

namespace flakeid {

constexpr int used_in_part = 7;
constexpr int used_parts = record_count / 2;
constexpr int max_used = used_parts * used_in_part;

void used_init();

// Takes in what a start found. `until_us`: what was in use is not used later than that. The lock
// must be held.
void used_load(const Used (&found)[max_used], int64_t until_us);

struct UsedClaim {
    uint64_t version; // ids may be made once that is in the file; 0: there is no place for it
    Ticks clear;      // round `from`, or after it; empty: there are none
};

// Claims what `wanted` may use from its first moment on. `latest_us` is where the horizon of the
// server is.
UsedClaim used_claim(const Used& wanted, Tick from, pg_atomic_uint64* latest_us);

// Returns the last moment of the ticks, of all layouts in step with this one, in which the moment
// lies.
int64_t used_through(const Used& layout, int64_t us);

// Forgets those of earlier runs of the server that have used what `layout` would. False: there are
// none. The lock must be held.
bool used_forget(const Used& layout, Ticks soon);

bool used_is_filed(uint64_t version);
bool used_all_filed();

// Copies what the record at a place says. Returns its version.
uint64_t used_fill(int place, Used (&part)[used_in_part]);
// Takes in that records were written, those places with versions[place] != 0.
void used_written(const uint64_t (&versions)[record_count]);

static_assert(is_plain<UsedClaim>);

} // namespace flakeid
