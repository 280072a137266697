// Small files of flakeid's own in the data directory, which WAL does not carry. Nothing here raises
// an error or looks for interrupts: every function returns 0 or an errno. The simulation has
// functions of its own in their place.
#pragma once

#include "core/record.hpp"

#include <cstddef>

namespace flakeid {

// Makes a file of that size where there is none, so that it outlives a crash. What is there stays.
int disk_make(const char* file, size_t size);

// Tells whether the folder of these files is there, which the first of them makes.
bool disk_used();

// Makes that folder without the file, whatever there was, so that it outlives a crash.
int disk_lose(const char* file);

// Tells whether pg_upgrade is at work in the data directory, or kept its log there: it writes that
// into the new server's.
bool disk_is_upgraded();

// Reads `size` bytes from the beginning of the file, and what the file system says of it. What it
// lacks is zero. ENOENT: there is none.
int disk_read(const char* file, void* to, size_t size, FileFacts* facts);

// Reads only what the file system says of the file.
int disk_facts(const char* file, FileFacts* facts);

// Where a file is: the machine since it was switched on, and the device. A clone of a whole disk,
// whose files look the same, is on another device or belongs to another start of a machine.
struct DiskPlace {
    char boot[40]; // a uuid; empty: nobody says
    uint64_t device;
};

static_assert(is_plain<DiskPlace>);

// Reads where the file is.
int disk_place(const char* file, DiskPlace* place);

// Reads the clock of the file system: the folder is dated to this moment, no file is.
int disk_clock(int64_t* now_ns);

// Writes `size` bytes from byte `at` of the file on, all of them or an errno. It does not flush.
int disk_write(const char* file, size_t at, const void* from, size_t size);

// Returns when all that was written, and the date, outlive a crash.
int disk_flush(const char* file);

} // namespace flakeid
