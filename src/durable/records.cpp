#include "durable/records.hpp"

#include <cstdlib>

namespace flakeid {

namespace {

constexpr int most_attempts = 5;

} // namespace

void records_create(Records* shared)
{
    pg_atomic_init_u64(&shared->fence, 0);
    for (pg_atomic_uint32* word : {&shared->taken, &shared->fresh, &shared->next}) {
        pg_atomic_init_u32(word, 0);
    }
}

int records_take(Records* shared)
{
    for (int attempt = 0; attempt < record_count; attempt++) {
        const auto place =
            static_cast<int>(pg_atomic_fetch_add_u32(&shared->next, 1) % // seldom: by who writes
                             record_count);
        const uint32_t bit = 1u << place;
        if ((pg_atomic_fetch_or_u32(&shared->taken, bit) & bit) == 0) {
            return place;
        }
    }
    return -1;
}

void records_give_back(Records* shared, int place)
{
    pg_write_barrier();
    pg_atomic_fetch_and_u32(&shared->taken, ~(1u << place));
}

// The file's date changes with the record and not before, so that whoever dies here leaves one that
// a record has. A session that is interrupted between the two dates writes again. Where that
// happens most_attempts times, the record stays as it is: until the next one is written, a start of
// the server takes the file for a copy.
int records_put(const char* file, int place, Record* records, int count)
{
    FileFacts before{}, after{};
    int result = 0;
    for (int attempt = 0; attempt < most_attempts; attempt++) {
        result = disk_facts(file, &before);
        result = result != 0 ? result : disk_clock(&before.modified_ns);
        if (result != 0) {
            return result;
        }
        for (int i = 0; i < count; i++) {
            seal_record(&records[i], before);
        }
        result = disk_write(file, static_cast<size_t>(place) * record_size, records,
                            static_cast<size_t>(count) * record_size);
        result = result != 0 ? result : disk_facts(file, &after);
        if (result != 0 || std::abs(after.modified_ns - before.modified_ns) <= record_lag_ns / 2) {
            return result;
        }
    }
    return result;
}

} // namespace flakeid
