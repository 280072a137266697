// Ids as text: to_text and from_text are exact inverses, and every id has one spelling in each
// form.
//
// A negative (enciphered) id stands for the unsigned number of its 64 bits in every form but
// base64, which spells the signed decimal number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flakeid {

// Where a form has known users, it is written as they write it: base2, base32, base36, base58 and
// base64 as bwmarrin/snowflake, base32hex as Randflake. Those have no leading zeros, so their texts
// sort like the ids only among ids of one length. The forms that are ours to choose have a fixed
// width. "Sorts" below means bytewise, as COLLATE "C", and like the unsigned number.
enum class TextFormat : uint8_t {
    base2,           // 1 to 64 digits
    base16,          // 16 digits 0-9a-f; sorts
    base32,          // 1 to 13 digits of z-base-32, ybndrfg8ejkmcpqxot1uwisza345h769
    base32crockford, // 13 digits 0-9A-Z without I, L, O and U; sorts
    base32hex,       // 1 to 13 digits 0-9a-v
    base36,          // 1 to 13 digits 0-9a-z
    base58,          // 1 to 11 digits 1-9a-zA-Z without l, I and O
    base62,          // 1 to 11 digits 0-9A-Za-z
    base64,          // of the decimal number's text: 4 to 28 characters, padded
    base64url,       // of the 8 bytes, the highest first: 11 characters A-Za-z0-9-_, not padded
};

constexpr int text_format_count = 10;

constexpr size_t max_text_size = 64;

enum class TextStatus {
    ok,
    empty,             // no character at all
    foreign_character, // not of the form's alphabet; in base64: not of a decimal number
    not_canonical,     // another spelling of an id, such as a leading zero or a letter's other case
    bad_length,        // no text of this form has so many characters
    overflow,          // more than 64 bits hold
};

const char* text_format_name(TextFormat format);

// Finds a form by its exact name.
bool find_text_format(const char* name, size_t length, TextFormat* format);

// Writes at most max_text_size bytes, without a terminating zero; returns how many.
size_t to_text(TextFormat format, uint64_t id, char* out);

// Reads what to_text writes and nothing else. `id` is written only when the status is ok; `offset`
// is the place of the first wrong character where the status is about one, otherwise 0.
TextStatus from_text(TextFormat format, const char* text, size_t length, uint64_t* id,
                     size_t* offset);

constexpr size_t max_decimal = 20;

// Writes a decimal number of at most max_decimal digits, without a terminating zero; returns how
// many.
size_t write_decimal(uint64_t number, char* out);

} // namespace flakeid
