// Sealed ids as text: an enciphered id in 13 digits of base32hex, as the public Randflake libraries
// write it but for leading zeros, which they leave out; and the file that holds its keys.
#pragma once

#include "plain.hpp"

#include <cstddef>
#include <cstdint>

namespace flakeid {

// Keys have numbers from 0 to 15. One more digit in front of a text is the number of its key; a
// text of key 0 has none.
constexpr int max_keys = 16;

constexpr size_t sealed_digits = 13;
constexpr size_t max_sealed_text = sealed_digits + 1;

// An id as it is outside.
struct Sealed {
    int key;
    uint64_t word; // enciphered under it
};

enum class SealedStatus {
    ok,
    bad_length,        // neither 13 digits nor 14
    foreign_character, // not one of 0-9, a-v and A-V
    overflow,          // 13 digits that 64 bits do not hold
    bad_key,           // there is no such number, or it is a 0, which is not written
};

// Writes at most max_sealed_text bytes, without a terminating zero; returns how many.
size_t write_sealed(Sealed sealed, char* out);

// Reads that, in either case. `sealed` is written only when the status is ok; `offset` is the place
// of the first foreign character.
SealedStatus read_sealed(const char* text, size_t length, Sealed* sealed, size_t* offset);

// A prefix says what an id is of, as in ord_cn6aqdp67ctk1: [a-z][a-z0-9_]{0,30}.
constexpr size_t max_prefix = 31;
constexpr size_t max_prefixed_text = max_prefix + 1 + max_sealed_text;

bool is_prefix(const char* text, size_t length);

// Writes the prefix, _ and write_sealed() of the rest into max_prefixed_text bytes, without a
// terminating zero; returns how many.
size_t write_prefixed(const char* prefix, size_t length, Sealed sealed, char* out);

// Returns the length of the prefix and _ where a text begins with them, else 0. What follows is for
// read_sealed().
size_t after_prefix(const char* text, size_t length, const char* prefix, size_t prefix_length);

// A line of a file of several keys: NUMBER SECRET. The secret is a part of the file's text.
struct KeyLine {
    int key;
    const char* secret;
    size_t length;
};

enum class KeyFileStatus {
    ok,
    bad_line, // does not begin with a number from 0 to 15 and one blank
    repeated, // has the number of a line before
};

struct KeyFile {
    KeyFileStatus status;
    int count;  // of lines; the one with the error where there is one
    bool named; // the keys have numbers; a file without any is the secret of key 0
    KeyLine lines[max_keys];
};

// Splits the text of a secret file, without a newline at its end.
KeyFile split_key_file(const char* text, size_t length);

static_assert(is_plain<Sealed, KeyLine, KeyFile>);

} // namespace flakeid
