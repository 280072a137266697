// A small file of records that are written in place, and what tells whether it is still this
// server's own. Pure: what the file says, and what the file system says of it, are arguments.
//
// Every record has the number and birth of the file that it was written to, and the moment, by the
// clock of the file system. Whatever copies a file, or puts an earlier one in its place, changes
// one of the two, or leaves a date that no record has, or sets the date, which then differs from
// that of the last change. A file that was merely touched or given to somebody looks the same as
// one that was put back, and counts as that.
#pragma once

#include "plain.hpp"

#include <cstddef>
#include <cstdint>

namespace flakeid {

constexpr size_t record_size = 512; // what a disk writes whole
constexpr int record_count = 16;
constexpr size_t records_size = record_size * record_count;

// A record is written within this time of the moment that it names.
constexpr int64_t record_lag_ns = INT64_C(50) * 1000 * 1000;

// What the file system says of a file; 0: it does not say.
struct FileFacts {
    uint64_t number; // inode
    int64_t born_ns;
    int64_t modified_ns;
    int64_t changed_ns;
};

struct RecordHead {
    uint64_t format; // of the body
    uint64_t fence;  // a record of a smaller one counts for nothing
    uint64_t file_number;
    int64_t file_born_ns;
    int64_t written_ns;
};

constexpr size_t record_body_size = record_size - sizeof(RecordHead) - sizeof(uint64_t);

struct Record {
    RecordHead head;
    unsigned char body[record_body_size];
    uint64_t check; // hash of all of these
};
static_assert(sizeof(Record) == record_size);

// Completes a record that is to be written to the file that `facts` tells of, just now.
void seal_record(Record* record, const FileFacts& facts);

bool is_sealed(const Record& record);

// Returns the largest fence of those that are whole; 0: none is.
uint64_t fence_of_records(const Record (&records)[record_count]);

// Tells whether the file is the very one that its records were written to, and holds the last of
// them. Where it is not, its records may be of an earlier time, or of another server.
bool own_records(const Record (&records)[record_count], const FileFacts& facts);

static_assert(is_plain<FileFacts, RecordHead, Record>);

} // namespace flakeid
