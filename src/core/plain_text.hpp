// Foreign text, for messages. Pure.
#pragma once

#include <cstddef>

namespace flakeid {

// Makes a text safe for every session, whatever its encoding: one line of printable ASCII, cut to
// `size` with the zero at its end. A foreign character becomes a question mark; points and spaces
// at the end go. Returns the length.
size_t plain_text(const char* text, size_t length, char* plain, size_t size);

} // namespace flakeid
