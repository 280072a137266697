#include "record.hpp"

#include <algorithm>
#include <cstring>

namespace flakeid {

namespace {

uint64_t hash_of(const Record& record)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t words[offsetof(Record, check) / sizeof(uint64_t)];
    static_assert(sizeof words == offsetof(Record, check), "a record is whole words");
    memcpy(words, &record, sizeof words);
    for (const uint64_t word : words) {
        hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 29;
    }
    return hash;
}

bool within_lag(int64_t a_ns, int64_t b_ns)
{
    // same with <: such a date counts either way
    return a_ns - b_ns <= record_lag_ns && b_ns - a_ns <= record_lag_ns;
}

} // namespace

void seal_record(Record* record, const FileFacts& facts)
{
    record->head.file_number = facts.number;
    record->head.file_born_ns = facts.born_ns;
    record->head.written_ns = facts.modified_ns;
    record->check = hash_of(*record);
}

bool is_sealed(const Record& record)
{
    return record.head.fence != 0 && record.check == hash_of(record);
}

uint64_t fence_of_records(const Record (&records)[record_count])
{
    uint64_t fence = 0;
    for (const Record& record : records) {
        fence = is_sealed(record) ? std::max(fence, record.head.fence) : fence;
    }
    return fence;
}

bool own_records(const Record (&records)[record_count], const FileFacts& facts)
{
    const uint64_t fence = fence_of_records(records);
    bool dated = false;
    for (const Record& record : records) {
        if (!is_sealed(record)) {
            return false;
        }
        if (record.head.fence == fence) {
            if (record.head.file_number != facts.number ||
                record.head.file_born_ns != facts.born_ns) {
                return false;
            }
            dated = dated || within_lag(record.head.written_ns, facts.modified_ns);
        }
    }
    return dated && facts.modified_ns == facts.changed_ns;
}

} // namespace flakeid
