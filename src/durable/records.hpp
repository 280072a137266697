// A file of records (core/record.hpp) that sessions write without waiting for each other.
//
// Each write takes a place of its own and gives it back when it is done: whoever is stopped in
// between holds back nobody, and overwrites nothing when he goes on. So the records that count are
// all of the largest fence together, and whoever reads them merges them.
//
// Locking: none. A bit of `taken` is the right to write one place; whoever set it clears it.
//
// What a crash or a full disk leaves, wherever it comes:
//   1. In the middle of a record: its seal does not fit, and it counts for nothing. Later records
//      stand elsewhere, whole, since places are taken in turn; and a start that finds such a record
//      takes the file for a changed one (own_records()) and begins past all of this server's ids.
//   2. After the record, before the flush: it may be there or not. Nobody relied on it.
//   3. While the records of a smaller fence are replaced: once one of the larger is there, those
//   that
//      are left count for nothing; before, all of them still count.
//   4. While a session is stopped here with its bit set: others take the places that are left.
//      Where none is, EBUSY: who needs the file waits.
//   5. After a record of a smaller fence, before its writer writes again: no record that counts may
//      have the file's date. A start takes the file for a copy, as in 1.
#pragma once

#include "core/record.hpp"
#include "durable/disk.hpp"
#include "server/postgres.hpp"

namespace flakeid {

// What sessions share of such a file. All of it is atomic, and 0 in the beginning.
struct Records {
    pg_atomic_uint64 fence; // of the records that are written
    pg_atomic_uint32 taken; // bit n: place n is being written
    pg_atomic_uint32 fresh; // bit n: place n was written since the start of the server
    pg_atomic_uint32 next;  // a counter: where to look for a place
};

// Of Records::fresh: all places were.
constexpr uint32_t all_fresh = (1u << record_count) - 1;

void records_create(Records* shared);

// Takes a place that nobody else writes. Returns its number, or -1.
int records_take(Records* shared);
void records_give_back(Records* shared, int place);

// Seals `count` records and writes them to `place` and the next ones, without a flush. Returns 0 or
// an errno.
int records_put(const char* file, int place, Record* records, int count = 1);

// Writes a record of the current fence that `fill` fills with the body for a place, and flushes it.
// Returns 0 or an errno. Where the file was not this server's own, or there was none, all other
// records are replaced first. Whoever began a larger fence meanwhile may have made it count for
// nothing.
template <typename Fill>
int records_write(const char* file, Records* shared, Fill fill)
{
    Record record{};
    auto put = [&](int place) {
        record.head.fence = pg_atomic_read_u64(&shared->fence);
        fill(&record, place);
        const int result = records_put(file, place, &record);
        if (result == 0) {
            pg_atomic_fetch_or_u32(&shared->fresh, 1u << place); // same without: only slower
        }
        return result;
    };
    int result = 0;
    for (int place = 0; place < record_count && result == 0; place++) {
        const uint32_t bit = 1u << place;
        if ((pg_atomic_read_u32(&shared->fresh) & bit) == 0 &&
            (pg_atomic_fetch_or_u32(&shared->taken, bit) & bit) == 0) {
            // Nobody else writes here, and whoever did so since the start is seen.
            pg_memory_barrier();
            if ((pg_atomic_read_u32(&shared->fresh) & bit) == 0) {
                result = put(place);
            }
            records_give_back(shared, place);
        }
    }
    const int place = result == 0 ? records_take(shared) : -1;
    if (place < 0) {
        return result != 0 ? result : EBUSY;
    }
    result = put(place);
    result = result != 0 ? result : disk_flush(file);
    records_give_back(shared, place);
    return result;
}

static_assert(is_plain<Records>);

} // namespace flakeid
