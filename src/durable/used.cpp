#include "durable/used.hpp"

#include "server/shared.hpp"

#include <algorithm>

namespace flakeid {

namespace {

struct Entry {
    Used used;       // `open`: a record may say so
    bool now;        // in use since the start
    uint64_t change; // the version that has it
};

// Of what a start has found.
constexpr uint64_t first_version = 1;

struct UsedNumbers {
    pg_atomic_uint64 version; // of `entries`
    pg_atomic_uint64 filed;   // that the file says
    uint64_t written[record_count];
    Entry entries[max_used];
};
static_assert(is_plain<Entry, UsedNumbers>);

void create(UsedNumbers* numbers)
{
    pg_atomic_init_u64(&numbers->version, first_version);
    pg_atomic_init_u64(&numbers->filed, first_version);
}

Shared<UsedNumbers, create> shared;

bool may_be_united(const Entry& entry)
{
    return is_used(entry.used) && !entry.now;
}

// Returns an entry that is free, for which it unites two that are near each other; nullptr when all
// are in use.
Entry* free_entry(UsedNumbers& numbers)
{
    Entry *a = nullptr, *b = nullptr;
    uint64_t least = UINT64_MAX;
    for (Entry& entry : numbers.entries) {
        if (!is_used(entry.used)) {
            return &entry;
        }
        for (Entry* other = numbers.entries; may_be_united(entry) && other < &entry; other++) {
            const uint64_t between = numbers_between(entry.used, other->used);
            if (may_be_united(*other) && (a == nullptr || between < least)) {
                a = other;
                b = &entry;
                least = between;
            }
        }
    }
    if (a != nullptr) {
        a->used = united(a->used, b->used);
        *b = {};
    }
    return b;
}

// The records are to say all that is so now: what was in use before the start ended with it.
uint64_t next_version(UsedNumbers& numbers)
{
    for (Entry& entry : numbers.entries) {
        entry.used.open = entry.now;
    }
    return pg_atomic_fetch_add_u64(&numbers.version, 1) + 1; // seldom: another layout
}

Entry* claim(UsedNumbers& numbers, const Used& wanted)
{
    Entry* entry = std::find_if(numbers.entries, numbers.entries + max_used, [&](const Entry& e) {
        return is_used(e.used) && same_numbers(e.used, wanted);
    });
    const bool found = entry < numbers.entries + max_used;
    if (found && entry->used.open && contains(entry->used, wanted)) {
        entry->now = true;
        return entry;
    }
    entry = found ? entry : free_entry(numbers);
    if (entry != nullptr) {
        entry->used = united(entry->used, wanted);
        entry->now = true;
        entry->change = next_version(numbers);
    }
    return entry;
}

// Keeps clear of what the others have used.
Ticks clear_of_others(const UsedNumbers& numbers, const Used& layout, Tick from, int64_t latest_us)
{
    Ticks clear{Tick{0}, no_tick};
    int left = 2 * max_used; // each is passed once, or twice where numbers stand in a circle
    for (int i = 0; i < max_used; i++) {
        const Entry& entry = numbers.entries[i];
        if (!is_used(entry.used)) {
            continue;
        }
        Used used = entry.used;
        used.last_us = entry.now ? std::max(used.last_us, latest_us) : used.last_us;
        const Tick next = keep_clear(layout, used, from, &clear);
        if (next != from) {
            if (next < from || next == no_tick || left-- == 0) {
                return {Tick{1}, Tick{0}};
            }
            from = next;
            clear = {Tick{0}, no_tick};
            i = -1;
        }
    }
    return clear;
}

} // namespace

void used_init()
{
    shared.add();
}

void used_load(const Used (&found)[max_used], int64_t until_us)
{
    UsedNumbers& numbers = *shared.get();
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    for (int i = 0; i < max_used; i++) {
        Used& used = numbers.entries[i].used;
        used = found[i];
        used.last_us = used.open ? std::max(used.last_us, until_us) : used.last_us;
    }
}

UsedClaim used_claim(const Used& wanted, Tick from, pg_atomic_uint64* latest_us)
{
    UsedNumbers& numbers = *shared.get();
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    const Entry* entry = claim(numbers, wanted);
    UsedClaim made{entry == nullptr ? 0 : std::max(entry->change, first_version), {}};
    const auto latest = static_cast<int64_t>(pg_atomic_read_u64(latest_us));
    made.clear = clear_of_others(numbers, wanted, from, latest);
    LWLockRelease(AddinShmemInitLock);
    return made;
}

int64_t used_through(const Used& layout, int64_t us)
{
    UsedNumbers& numbers = *shared.get();
    int64_t through_us = us;
    LWLockAcquire(AddinShmemInitLock, LW_SHARED);
    for (const Entry& entry : numbers.entries) {
        if (is_used(entry.used) && in_step(layout, entry.used)) {
            through_us = std::max(through_us, last_of_tick_us(entry.used, us));
        }
    }
    LWLockRelease(AddinShmemInitLock);
    return through_us;
}

bool used_forget(const Used& layout, Ticks soon)
{
    UsedNumbers& numbers = *shared.get();
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    bool forgotten = false;
    for (Entry& entry : numbers.entries) {
        Ticks clear{Tick{0}, no_tick};
        if (may_be_united(entry) &&
            (keep_clear(layout, entry.used, soon.first, &clear) != soon.first ||
             clear.last < soon.last)) {
            entry = {};
            forgotten = true;
        }
    }
    if (forgotten) {
        (void)next_version(numbers);
    }
    return forgotten;
}

bool used_is_filed(uint64_t version)
{
    return pg_atomic_read_u64(&shared.get()->filed) >= version;
}

bool used_all_filed()
{
    UsedNumbers* numbers = shared.get();
    return pg_atomic_read_u64(&numbers->filed) >= pg_atomic_read_u64(&numbers->version);
}

uint64_t used_fill(int place, Used (&part)[used_in_part])
{
    UsedNumbers& numbers = *shared.get();
    LWLockAcquire(AddinShmemInitLock, LW_SHARED);
    for (int i = 0; i < used_in_part; i++) {
        part[i] = numbers.entries[place % used_parts * used_in_part + i].used;
    }
    const uint64_t version = pg_atomic_read_u64(&numbers.version);
    LWLockRelease(AddinShmemInitLock);
    return version;
}

void used_written(const uint64_t (&versions)[record_count])
{
    UsedNumbers& numbers = *shared.get();
    Assert(LWLockHeldByMeInMode(AddinShmemInitLock, LW_EXCLUSIVE));
    uint64_t filed = UINT64_MAX;
    for (int place = 0; place < record_count; place++) {
        uint64_t& written = numbers.written[place];
        written = std::max(written, versions[place]);
        if (place >= used_parts) {
            filed = std::min(filed, std::max(written, numbers.written[place - used_parts]));
        }
    }
    raise_to(&numbers.filed, filed);
}

} // namespace flakeid
