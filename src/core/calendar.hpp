// ISO 8601 moments in UTC (proleptic Gregorian) and microseconds since 1970.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flakeid {

constexpr size_t moment_text_size = 32; // bytes that format_moment needs

// Reads YYYY-MM-DD or YYYY-MM-DDTHH:MM[:SS[.ffffff]]Z, years 1 to 9999.
bool parse_moment(const char* text, size_t length, int64_t* us);

// Writes the shortest form that parse_moment reads back, zero-terminated; returns its length. The
// moment is one that parse_moment can read.
size_t format_moment(int64_t us, char* text);

} // namespace flakeid
