#include "layout.hpp"

#include "calendar.hpp"
#include "text.hpp"

#include <cstring>

namespace flakeid {

namespace {

constexpr int64_t max_epoch_us = 253402300799999999; // 9999-12-31T23:59:59.999999Z
constexpr int64_t min_epoch_us = -62135596800000000; // 0001-01-01T00:00:00Z

// A number below this is no sensible count of milliseconds: it would be a moment before 1973-03-03.
constexpr int64_t least_bare_epoch_ms = 100000000000;

struct Unit {
    const char* name;
    int64_t us;
};

// From the longest to the shortest, as format_layout wants them.
constexpr Unit units[] = {{"d", us_per_day}, {"h", 3600 * us_per_s}, {"min", 60 * us_per_s},
                          {"s", us_per_s},   {"ms", us_per_ms},      {"us", 1}};

struct Piece {
    const char* text;
    size_t length;

    bool is(const char* other) const
    {
        return length == strlen(other) && memcmp(text, other, length) == 0;
    }
};

bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Reads a decimal number of 1 to 18 digits, without a leading zero; returns the digits read, 0 when
// there is no such number.
size_t read_number(Piece word, int64_t* value)
{
    size_t digits = 0;
    int64_t result = 0;
    while (digits < word.length && is_digit(word.text[digits])) {
        if (digits == 18) {
            return 0;
        }
        result = result * 10 + (word.text[digits++] - '0');
    }
    if (digits > 1 && word.text[0] == '0') {
        return 0;
    }
    *value = result;
    return digits;
}

const Unit* find_unit(Piece word)
{
    for (const Unit& unit : units) {
        if (word.is(unit.name)) {
            return &unit;
        }
    }
    return nullptr;
}

bool is_name(Piece word)
{
    if (word.length == 0 || word.length > static_cast<size_t>(max_field_name) ||
        is_digit(word.text[0])) {
        return false;
    }
    for (size_t i = 0; i < word.length; i++) {
        const char c = word.text[i];
        if (!(c >= 'a' && c <= 'z') && !is_digit(c) && c != '_') {
            return false;
        }
    }
    return true;
}

class Parser {
public:
    Parser(const char* text, size_t length) : text_(text), length_(length) { layout_ = Layout{}; }

    LayoutError parse(Layout* layout)
    {
        if (length_ >= static_cast<size_t>(max_layout_text)) {
            return {LayoutStatus::too_long, 0, length_};
        }
        size_t at = 0;
        while (true) {
            while (at < length_ && is_space(text_[at])) {
                at++;
            }
            if (at == length_) {
                break;
            }
            const size_t start = at;
            while (at < length_ && !is_space(text_[at])) {
                at++;
            }
            const LayoutError error = word({text_ + start, at - start});
            if (error.status != LayoutStatus::ok) {
                return error;
            }
        }
        const LayoutError error = finish();
        if (error.status == LayoutStatus::ok) {
            *layout = layout_;
        }
        return error;
    }

private:
    LayoutError fail(LayoutStatus status, Piece where) const
    {
        return {status, static_cast<size_t>(where.text - text_), where.length};
    }

    LayoutError word(Piece word)
    {
        const auto* equals = static_cast<const char*>(memchr(word.text, '=', word.length));
        if (equals != nullptr) {
            const auto left = static_cast<size_t>(equals - word.text);
            return option(word, {word.text, left}, {equals + 1, word.length - left - 1});
        }
        const auto* colon = static_cast<const char*>(memchr(word.text, ':', word.length));
        if (colon == nullptr) {
            return fail(LayoutStatus::bad_word, word);
        }
        const auto left = static_cast<size_t>(colon - word.text);
        return field(word, {word.text, left}, {colon + 1, word.length - left - 1});
    }

    LayoutError field(Piece word, Piece name, Piece rest)
    {
        if (epoch_seen_ || layout_.enciphered) {
            return fail(LayoutStatus::late_field, word);
        }
        if (!is_name(name)) {
            return fail(LayoutStatus::bad_name, name.length == 0 ? word : name);
        }
        for (int i = 0; i < layout_.field_count; i++) {
            if (name.is(layout_.fields[i].name)) {
                return fail(LayoutStatus::duplicate, name);
            }
        }
        if (layout_.field_count == max_fields) {
            return fail(LayoutStatus::too_many_fields, word);
        }
        int64_t bits;
        const size_t digits = read_number(rest, &bits);
        if (digits == 0 || bits < 1 || bits > word_bits) {
            return fail(LayoutStatus::bad_bits, word);
        }
        const Piece unit{rest.text + digits, rest.length - digits};
        Field& field = layout_.fields[layout_.field_count];
        field.kind = name.is("time")       ? FieldKind::time
                     : name.is("sequence") ? FieldKind::sequence
                     : name.is("back")     ? FieldKind::back
                                           : FieldKind::node;
        if (unit.length > 0 && unit.text[0] != ':') {
            return fail(LayoutStatus::bad_bits, word);
        }
        if (field.kind == FieldKind::time) {
            const LayoutError error = tick(word, unit);
            if (error.status != LayoutStatus::ok) {
                return error;
            }
        } else if (unit.length > 0) {
            return fail(LayoutStatus::unexpected_unit, word);
        }
        memcpy(field.name, name.text, name.length);
        field.name[name.length] = '\0';
        field.bits = static_cast<uint8_t>(bits);
        layout_.field_count++;
        total_bits_ += static_cast<int>(bits);
        if (total_bits_ > word_bits) {
            return fail(LayoutStatus::too_many_bits, word);
        }
        switch (field.kind) {
        case FieldKind::time:
            layout_.time_bits = field.bits;
            break;
        case FieldKind::sequence:
            layout_.sequence_bits = field.bits;
            break;
        case FieldKind::back:
            layout_.back_bits = field.bits;
            break;
        case FieldKind::node:
            layout_.node_bits = static_cast<uint8_t>(layout_.node_bits + field.bits);
            break;
        }
        if (layout_.sequence_bits > max_sequence_bits || layout_.node_bits > max_node_bits ||
            layout_.back_bits > max_back_bits) {
            return fail(LayoutStatus::too_wide, word);
        }
        return fail(LayoutStatus::ok, word);
    }

    LayoutError tick(Piece word, Piece unit)
    {
        if (unit.length == 0) {
            return fail(LayoutStatus::no_unit, word);
        }
        const Piece length{unit.text + 1, unit.length - 1};
        int64_t count;
        const size_t digits = read_number(length, &count);
        const Unit* found = find_unit({length.text + digits, length.length - digits});
        if (digits == 0 || count < 1 || found == nullptr || count > us_per_day / found->us) {
            return fail(LayoutStatus::bad_unit, word);
        }
        layout_.tick_us = count * found->us;
        return fail(LayoutStatus::ok, word);
    }

    LayoutError option(Piece word, Piece name, Piece value)
    {
        if (name.is("epoch")) {
            if (epoch_seen_) {
                return fail(LayoutStatus::duplicate, name);
            }
            epoch_seen_ = true;
            return epoch(word, value);
        }
        if (name.is("cipher")) {
            if (layout_.enciphered) {
                return fail(LayoutStatus::duplicate, name);
            }
            layout_.enciphered = true;
            return fail(value.is("sparx64") ? LayoutStatus::ok : LayoutStatus::bad_cipher, word);
        }
        return fail(LayoutStatus::unknown_option, word);
    }

    LayoutError epoch(Piece word, Piece value)
    {
        if (parse_moment(value.text, value.length, &layout_.epoch_us)) {
            return fail(LayoutStatus::ok, word);
        }
        const bool negative = value.length > 0 && value.text[0] == '-';
        const Piece digits_word{value.text + negative, value.length - negative};
        int64_t count;
        const size_t digits = read_number(digits_word, &count);
        if (digits == 0) {
            return fail(LayoutStatus::bad_epoch, word);
        }
        int64_t unit_us = us_per_ms;
        const Piece unit{digits_word.text + digits, digits_word.length - digits};
        if (unit.length == 0) {
            if (count != 0 && count < least_bare_epoch_ms) {
                return fail(LayoutStatus::bare_epoch, word);
            }
        } else if (unit.is("s") || unit.is("ms") || unit.is("us")) {
            unit_us = find_unit(unit)->us;
        } else {
            return fail(LayoutStatus::bad_epoch, word);
        }
        const __int128 us = static_cast<__int128>(negative ? -count : count) * unit_us;
        if (us < min_epoch_us || us > max_epoch_us) {
            return fail(LayoutStatus::bad_epoch, word);
        }
        layout_.epoch_us = static_cast<int64_t>(us);
        return fail(LayoutStatus::ok, word);
    }

    LayoutError finish()
    {
        const Piece all{text_, length_};
        if (layout_.field_count == 0 && !epoch_seen_ && !layout_.enciphered) {
            return fail(LayoutStatus::empty, all);
        }
        if (layout_.time_bits == 0) {
            return fail(LayoutStatus::no_time, all);
        }
        layout_.bits = static_cast<uint8_t>(total_bits_);
        int shift = total_bits_;
        for (int i = 0; i < layout_.field_count; i++) {
            Field& field = layout_.fields[i];
            shift -= field.bits;
            field.shift = static_cast<uint8_t>(shift);
            switch (field.kind) {
            case FieldKind::time:
                layout_.time_shift = field.shift;
                break;
            case FieldKind::sequence:
                layout_.sequence_shift = field.shift;
                break;
            case FieldKind::back:
                layout_.back_shift = field.shift;
                break;
            case FieldKind::node:
                break;
            }
        }
        // The sign bit of a plain 64-bit layout belongs to its highest field and stays zero.
        const bool signed_word = total_bits_ == word_bits && !layout_.enciphered;
        layout_.unused = ~low_mask(total_bits_ - (signed_word ? 1 : 0));
        const FieldKind top = layout_.fields[0].kind;
        auto usable = [&](FieldKind kind, int bits) {
            return low_mask(bits - (signed_word && top == kind ? 1 : 0));
        };
        layout_.max_tick = Tick{usable(FieldKind::time, layout_.time_bits)};
        layout_.max_sequence =
            static_cast<uint32_t>(usable(FieldKind::sequence, layout_.sequence_bits));
        layout_.max_back = static_cast<uint32_t>(
            layout_.back_bits == 0 ? 0 : usable(FieldKind::back, layout_.back_bits));
        layout_.max_node = static_cast<uint32_t>(
            layout_.node_bits == 0 ? 0 : usable(FieldKind::node, layout_.node_bits));
        return fail(LayoutStatus::ok, all);
    }

    const char* text_;
    size_t length_;
    Layout layout_;
    int total_bits_ = 0;
    bool epoch_seen_ = false;
};

} // namespace

LayoutError parse_layout(const char* text, size_t length, Layout* layout)
{
    return Parser(text, length).parse(layout);
}

size_t format_layout(const Layout& layout, char* text)
{
    char* at = text;
    auto write = [&](const char* part) {
        const size_t size = strlen(part);
        memcpy(at, part, size + 1);
        at += size;
    };
    auto write_number = [&](int64_t value) {
        at += write_decimal(static_cast<uint64_t>(value), at);
    };
    for (int i = 0; i < layout.field_count; i++) {
        const Field& field = layout.fields[i];
        write(field.name);
        write(":");
        write_number(field.bits);
        if (field.kind == FieldKind::time) {
            const Unit* unit = units;
            while (layout.tick_us % unit->us != 0) {
                unit++;
            }
            write(":");
            write_number(layout.tick_us / unit->us);
            write(unit->name);
        }
        write(" ");
    }
    write("epoch=");
    at += format_moment(layout.epoch_us, at);
    write(layout.enciphered ? " cipher=sparx64" : "");
    return static_cast<size_t>(at - text);
}

} // namespace flakeid
