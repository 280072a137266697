// How 64 bits are cut into fields: the layout language, and composing and splitting raw ids.
#pragma once

#include "plain.hpp"

#include <cstddef>
#include <cstdint>

namespace flakeid {

constexpr int64_t us_per_ms = 1000;
constexpr int64_t us_per_s = 1000 * us_per_ms;
constexpr int64_t us_per_day = 86400 * us_per_s;

constexpr int word_bits = 64;
constexpr int max_fields = 16;
constexpr int max_field_name = 31;                  // bytes, without the terminating zero
constexpr int max_layout_text = 1024;               // bytes, with the terminating zero
constexpr int64_t max_generated_tick_us = us_per_s; // longer ticks are read only

// flake_node and flake_sequence return int4, which holds 31 bits without a sign.
constexpr int max_node_bits = 31;
constexpr int max_sequence_bits = 31;
constexpr int max_back_bits = 7; // what a stamp of the horizon has room for (stamp.hpp)

enum class FieldKind : uint8_t { time, sequence, back, node };

struct Field {
    char name[max_field_name + 1];
    FieldKind kind;
    uint8_t bits;
    uint8_t shift; // of the lowest bit
};

// The time of an id: how often its layout's tick has passed since the epoch. A type of its own, so
// that no number of ticks takes its place.
enum class Tick : uint64_t {};

constexpr Tick no_tick{UINT64_MAX}; // later than all

constexpr uint64_t tick_number(Tick tick)
{
    return static_cast<uint64_t>(tick);
}

constexpr Tick operator+(Tick tick, uint64_t count)
{
    return Tick{tick_number(tick) + count};
}

constexpr uint64_t operator-(Tick later, Tick earlier)
{
    return tick_number(later) - tick_number(earlier);
}

// A layout that was parsed: always valid. Plain data; two layouts are the same when every field,
// the tick, the epoch and the cipher are.
struct Layout {
    Field fields[max_fields]; // from the highest bit to the lowest
    int field_count;
    bool enciphered;
    int64_t tick_us;
    int64_t epoch_us; // since 1970-01-01 UTC

    // Derived from the above.
    uint8_t bits; // of all fields
    uint8_t time_bits, time_shift;
    uint8_t sequence_bits, sequence_shift; // 0 bits: the layout has no such field
    uint8_t back_bits, back_shift;         // the same
    uint8_t node_bits;                     // of all parts together
    uint64_t unused; // the bits that no id has: those above the fields, and a sign

    // Largest values that may be generated: a plain 64-bit layout stops short of the sign bit.
    Tick max_tick;
    uint32_t max_sequence;
    uint32_t max_back;
    uint32_t max_node;
};

struct Parts {
    Tick tick;
    uint32_t node;
    uint32_t sequence;
    uint32_t back;
};

enum class LayoutStatus {
    ok,
    empty,           // no word at all
    too_long,        // longer than max_layout_text
    bad_word,        // neither name:bits nor option=value
    bad_name,        // not [a-z_][a-z0-9_]*, at most max_field_name bytes
    bad_bits,        // not a number from 1 to 64
    too_wide,        // more bits than a field of this kind may have
    duplicate,       // a field or an option stands twice
    too_many_fields, // more than max_fields
    too_many_bits,   // more than 64 in all, at this word
    no_time,         // the time field is missing
    no_unit,         // time without its unit
    unexpected_unit, // a unit on another field than time
    bad_unit,        // not a number and one of us, ms, s, min, h, d; or not from 1us to 1d
    unknown_option,  // neither epoch nor cipher
    bad_epoch,       // neither a date nor a number with its unit
    bare_epoch,      // a number without a unit that looks like seconds
    bad_cipher,      // not sparx64
    late_field,      // a field after an option
};

// Where the text is wrong: bytes [offset, offset + length) of it.
struct LayoutError {
    LayoutStatus status;
    size_t offset;
    size_t length;
};

// Parses a layout text (not a preset name). `layout` is written only when the status is ok.
LayoutError parse_layout(const char* text, size_t length, Layout* layout);

// Writes the normal text, zero-terminated, into max_layout_text bytes; returns its length.
size_t format_layout(const Layout& layout, char* text);

bool same_layout(const Layout& a, const Layout& b);

// The values must be within the field's bits.
uint64_t compose(const Layout& layout, const Parts& parts);

constexpr uint64_t low_mask(int bits)
{
    return bits >= word_bits ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

inline uint64_t field_value(const Field& field, uint64_t raw)
{
    return raw >> field.shift & low_mask(field.bits);
}

inline Parts split(const Layout& layout, uint64_t raw)
{
    Parts parts{};
    parts.tick = Tick{raw >> layout.time_shift & low_mask(layout.time_bits)};
    parts.sequence =
        static_cast<uint32_t>(raw >> layout.sequence_shift & low_mask(layout.sequence_bits));
    parts.back = static_cast<uint32_t>(raw >> layout.back_shift & low_mask(layout.back_bits));
    for (int i = 0; i < layout.field_count; i++) {
        const Field& field = layout.fields[i];
        if (field.kind == FieldKind::node) {
            parts.node = static_cast<uint32_t>(static_cast<uint64_t>(parts.node) << field.bits |
                                               field_value(field, raw));
        }
    }
    return parts;
}

// Returns the node number scattered to its parts' places, all other bits zero.
uint64_t place_node(const Layout& layout, uint32_t node);

// Tells whether a number is no raw id of the layout: it has bits above the highest field, or is
// negative where the layout is plain.
inline bool outside_layout(const Layout& layout, uint64_t raw)
{
    return (raw & layout.unused) != 0;
}

// Tells whether a larger id was never stamped earlier, so that ids can be searched by time.
bool time_ordered(const Layout& layout);

// Computes the start of a tick in microseconds since 1970; false when 64 bits cannot hold it.
inline bool tick_start_us(const Layout& layout, Tick tick, int64_t* us)
{
    const __int128 start =
        static_cast<__int128>(tick_number(tick)) * layout.tick_us + layout.epoch_us;
    if (start > INT64_MAX) {
        return false;
    }
    *us = static_cast<int64_t>(start);
    return true;
}

// Tells whether a raw id can have been made by `until_us`, since 1970: it is not outside the
// layout, and its time lies between the epoch and then.
bool possible_id(const Layout& layout, uint64_t raw, int64_t until_us);

// Returns the tick that holds a moment: negative before the epoch, unbounded above.
int64_t tick_of_us(const Layout& layout, int64_t us);

// Returns the first moment for which no id can be generated any more; INT64_MAX when 64 bits cannot
// hold it.
int64_t end_us(const Layout& layout);

// Tells whether ids of the layout are made here. Others are read only.
bool makes_ids(const Layout& layout);

// Returns how many ids one node can make in a second in the long run: none where they are read
// only.
int64_t ids_per_second(const Layout& layout);

static_assert(is_plain<Field, Layout, Parts, LayoutError>);

} // namespace flakeid
