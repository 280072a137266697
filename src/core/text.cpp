#include "text.hpp"

#include <cassert>
#include <cstring>

namespace flakeid {

namespace {

constexpr int id_bits = 64;
constexpr unsigned char foreign = 0xff;

// The digits of a number system, and the value of every byte as one of them.
struct Alphabet {
    char digits[65];
    unsigned char values[256];
    bool one_case; // of each letter, only one case is a digit
};

template <size_t size>
constexpr Alphabet make_alphabet(const char (&digits)[size])
{
    Alphabet alphabet{};
    for (unsigned char& value : alphabet.values) {
        value = foreign;
    }
    alphabet.one_case = true;
    for (size_t i = 0; i + 1 < size; i++) {
        const char digit = digits[i];
        alphabet.digits[i] = digit;
        alphabet.values[static_cast<unsigned char>(digit)] = static_cast<unsigned char>(i);
        const bool letter = (digit >= 'a' && digit <= 'z') || (digit >= 'A' && digit <= 'Z');
        if (letter && alphabet.values[static_cast<unsigned char>(digit ^ 0x20)] != foreign) {
            alphabet.one_case = false;
        }
    }
    return alphabet;
}

constexpr Alphabet digits2 = make_alphabet("01");
constexpr Alphabet digits16 = make_alphabet("0123456789abcdef");
constexpr Alphabet digits_zbase32 = make_alphabet("ybndrfg8ejkmcpqxot1uwisza345h769");
constexpr Alphabet digits_crockford = make_alphabet("0123456789ABCDEFGHJKMNPQRSTVWXYZ");
constexpr Alphabet digits32 = make_alphabet("0123456789abcdefghijklmnopqrstuv");
constexpr Alphabet digits36 = make_alphabet("0123456789abcdefghijklmnopqrstuvwxyz");
constexpr Alphabet digits58 =
    make_alphabet("123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ");
constexpr Alphabet digits62 =
    make_alphabet("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
constexpr Alphabet digits64 =
    make_alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
constexpr Alphabet digits64url =
    make_alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

TextStatus fail(TextStatus status, size_t at, size_t* offset)
{
    *offset = at;
    return status;
}

unsigned char digit_value(const Alphabet& alphabet, char c)
{
    return alphabet.values[static_cast<unsigned char>(c)];
}

TextStatus refuse_character(const Alphabet& alphabet, char c, size_t at, size_t* offset)
{
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool other_case = letter && alphabet.one_case &&
                            digit_value(alphabet, static_cast<char>(c ^ 0x20)) != foreign;
    return fail(other_case ? TextStatus::not_canonical : TextStatus::foreign_character, at, offset);
}

// Number systems of any base, shortest spelling.

template <unsigned base, const Alphabet& alphabet>
size_t write_shortest(uint64_t id, char* out)
{
    constexpr size_t most = id_bits; // of base 2
    char digits[most];
    size_t at = most;
    do {
        digits[--at] = alphabet.digits[id % base];
        id /= base;
    } while (id != 0);
    memcpy(out, digits + at, most - at);
    return most - at;
}

template <unsigned base, const Alphabet& alphabet>
TextStatus read_digits(const char* text, size_t length, uint64_t* id, size_t* offset)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char digit = digit_value(alphabet, text[i]);
        if (digit == foreign) {
            return refuse_character(alphabet, text[i], i, offset);
        }
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            return fail(TextStatus::overflow, 0, offset);
        }
    }
    *id = value;
    return TextStatus::ok;
}

template <unsigned base, const Alphabet& alphabet>
TextStatus read_shortest(const char* text, size_t length, uint64_t* id, size_t* offset)
{
    if (length > 1 && text[0] == alphabet.digits[0]) {
        return fail(TextStatus::not_canonical, 0, offset);
    }
    return read_digits<base, alphabet>(text, length, id, offset);
}

// Number systems whose digit holds a whole number of bits, all digits written.

template <int bits>
constexpr int most_digits = (id_bits + bits - 1) / bits;

template <int bits, const Alphabet& alphabet>
size_t write_bits(uint64_t id, int count, char* out)
{
    for (int i = count - 1; i >= 0; i--) {
        out[i] = alphabet.digits[id & ((1u << bits) - 1)];
        id >>= bits;
    }
    return static_cast<size_t>(count);
}

template <int bits, const Alphabet& alphabet>
size_t write_fixed(uint64_t id, char* out)
{
    return write_bits<bits, alphabet>(id, most_digits<bits>, out);
}

template <int bits, const Alphabet& alphabet>
TextStatus read_fixed(const char* text, size_t length, uint64_t* id, size_t* offset)
{
    if (length != most_digits<bits>) {
        return fail(TextStatus::bad_length, 0, offset);
    }
    return read_digits<1u << bits, alphabet>(text, length, id, offset);
}

// base64url: 64 bits and two zero bits make 11 digits.

constexpr int url_digits = 11;
constexpr int url_spare_bits = 6 * url_digits - id_bits;

size_t write_url(uint64_t id, char* out)
{
    out[url_digits - 1] = digits64url.digits[id << url_spare_bits & 63];
    write_bits<6, digits64url>(id >> (6 - url_spare_bits), url_digits - 1, out);
    return url_digits;
}

TextStatus read_url(const char* text, size_t length, uint64_t* id, size_t* offset)
{
    if (length != url_digits) {
        return fail(TextStatus::bad_length, 0, offset);
    }
    uint64_t value = 0;
    const TextStatus status = read_digits<64, digits64url>(text, url_digits - 1, &value, offset);
    if (status != TextStatus::ok) {
        return status;
    }
    const unsigned char digit = digit_value(digits64url, text[url_digits - 1]);
    if (digit == foreign) {
        return fail(TextStatus::foreign_character, url_digits - 1, offset);
    }
    if ((digit & ((1u << url_spare_bits) - 1)) != 0) {
        return fail(TextStatus::not_canonical, url_digits - 1, offset);
    }
    *id = value << (6 - url_spare_bits) | static_cast<uint64_t>(digit >> url_spare_bits);
    return TextStatus::ok;
}

// base64 of the decimal text, of an int64: its sign takes the place of a digit.

constexpr size_t max_base64 = (max_decimal + 2) / 3 * 4;

TextStatus read_decimal(const char* text, size_t length, uint64_t* id, size_t* offset)
{
    const bool negative = length > 0 && text[0] == '-';
    const uint64_t most = static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0);
    uint64_t value = 0;
    for (size_t i = negative; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return fail(TextStatus::foreign_character, i, offset);
        }
        const auto digit = static_cast<unsigned>(text[i] - '0');
        if (value > (most - digit) / 10) {
            return fail(TextStatus::overflow, 0, offset);
        }
        value = value * 10 + digit;
        if (value == 0 && length > 1) {
            return fail(TextStatus::not_canonical, i, offset);
        }
    }
    if (length == static_cast<size_t>(negative)) {
        return fail(TextStatus::bad_length, 0, offset);
    }
    *id = negative ? 0 - value : value;
    return TextStatus::ok;
}

size_t write_base64(uint64_t id, char* out)
{
    const bool negative = static_cast<int64_t>(id) < 0;
    char decimal[max_decimal] = {'-'};
    const size_t length = negative + write_decimal(negative ? 0 - id : id, decimal + negative);
    char* at = out;
    for (size_t i = 0; i < length; i += 3) {
        uint64_t group = 0;
        for (size_t j = i; j < i + 3; j++) {
            group = group << 8 | (j < length ? static_cast<unsigned char>(decimal[j]) : 0u);
        }
        at += write_bits<6, digits64>(group, 4, at);
    }
    for (size_t i = 1; i <= (3 - length % 3) % 3; i++) {
        at[-static_cast<ptrdiff_t>(i)] = '=';
    }
    return static_cast<size_t>(at - out);
}

TextStatus read_base64(const char* text, size_t length, uint64_t* id, size_t* offset)
{
    if (length % 4 != 0 || length > max_base64) {
        return fail(TextStatus::bad_length, 0, offset);
    }
    size_t padding = 0;
    while (padding < 2 && text[length - 1 - padding] == '=') {
        padding++;
    }
    char decimal[max_base64 / 4 * 3];
    size_t decoded = 0;
    unsigned held = 0, held_bits = 0; // not yet a byte
    for (size_t i = 0; i < length - padding; i++) {
        const unsigned char digit = digit_value(digits64, text[i]);
        if (digit == foreign) {
            return fail(TextStatus::foreign_character, i, offset);
        }
        held = held << 6 | digit;
        held_bits += 6;
        if (held_bits >= 8) {
            held_bits -= 8;
            decimal[decoded++] = static_cast<char>(held >> held_bits);
            held &= (1u << held_bits) - 1;
        }
    }
    if (held != 0) {
        return fail(TextStatus::not_canonical, length - padding - 1, offset);
    }
    const TextStatus status = read_decimal(decimal, decoded, id, offset);
    if (status != TextStatus::ok) {
        *offset = *offset / 3 * 4 + *offset % 3; // the first character with bits of that byte
    }
    return status;
}

struct Form {
    const char* name;
    size_t (*write)(uint64_t id, char* out);
    TextStatus (*read)(const char* text, size_t length, uint64_t* id, size_t* offset);
};

// In the order of TextFormat.
constexpr Form forms[] = {
    {"base2", write_shortest<2, digits2>, read_shortest<2, digits2>},
    {"base16", write_fixed<4, digits16>, read_fixed<4, digits16>},
    {"base32", write_shortest<32, digits_zbase32>, read_shortest<32, digits_zbase32>},
    {"base32crockford", write_fixed<5, digits_crockford>, read_fixed<5, digits_crockford>},
    {"base32hex", write_shortest<32, digits32>, read_shortest<32, digits32>},
    {"base36", write_shortest<36, digits36>, read_shortest<36, digits36>},
    {"base58", write_shortest<58, digits58>, read_shortest<58, digits58>},
    {"base62", write_shortest<62, digits62>, read_shortest<62, digits62>},
    {"base64", write_base64, read_base64},
    {"base64url", write_url, read_url},
};

static_assert(sizeof forms / sizeof forms[0] == text_format_count);
static_assert(static_cast<int>(TextFormat::base64url) == text_format_count - 1);

} // namespace

const char* text_format_name(TextFormat format)
{
    return forms[static_cast<int>(format)].name;
}

bool find_text_format(const char* name, size_t length, TextFormat* format)
{
    for (int i = 0; i < text_format_count; i++) {
        if (strlen(forms[i].name) == length && memcmp(forms[i].name, name, length) == 0) {
            *format = static_cast<TextFormat>(i);
            return true;
        }
    }
    return false;
}

size_t to_text(TextFormat format, uint64_t id, char* out)
{
    const size_t size = forms[static_cast<int>(format)].write(id, out);
    assert(size > 0 && size <= max_text_size);
    return size;
}

size_t write_decimal(uint64_t number, char* out)
{
    return write_shortest<10, digits16>(number, out);
}

TextStatus from_text(TextFormat format, const char* text, size_t length, uint64_t* id,
                     size_t* offset)
{
    *offset = 0;
    if (length == 0) {
        return TextStatus::empty;
    }
    return forms[static_cast<int>(format)].read(text, length, id, offset);
}

} // namespace flakeid
