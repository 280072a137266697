#include "sealed.hpp"

#include <cstring>

namespace flakeid {

namespace {

constexpr char digits[] = "0123456789abcdefghijklmnopqrstuv";
constexpr int digit_bits = 5;
constexpr unsigned foreign = 0xff;

unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return static_cast<unsigned>(c - '0');
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'v' ? static_cast<unsigned>(lower - 'a' + 10) : foreign;
}

// The number at the start of a line and the blank behind it; returns their length, or 0.
size_t read_number(const char* text, size_t length, int* number)
{
    const size_t blank = length > 1 && text[1] == ' ' ? 1 : 2;
    if (length <= blank || text[blank] != ' ' || (blank == 2 && text[0] == '0')) {
        return 0;
    }
    *number = 0;
    for (size_t i = 0; i < blank; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return 0;
        }
        *number = 10 * *number + (text[i] - '0');
    }
    return *number < max_keys ? blank + 1 : 0;
}

} // namespace

size_t write_sealed(Sealed sealed, char* out)
{
    const size_t prefix = sealed.key != 0;
    if (prefix != 0) {
        out[0] = digits[sealed.key];
    }
    uint64_t word = sealed.word;
    for (size_t i = prefix + sealed_digits; i-- > prefix;) {
        out[i] = digits[word & ((1u << digit_bits) - 1)];
        word >>= digit_bits;
    }
    return prefix + sealed_digits;
}

SealedStatus read_sealed(const char* text, size_t length, Sealed* sealed, size_t* offset)
{
    *offset = 0;
    const size_t prefix = length == max_sealed_text;
    if (length != sealed_digits + prefix) {
        return SealedStatus::bad_length;
    }
    uint64_t word = 0;
    bool overflow = false;
    unsigned key = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned digit = digit_value(text[i]);
        if (digit == foreign) {
            *offset = i;
            return SealedStatus::foreign_character;
        }
        if (i < prefix) {
            key = digit;
        } else {
            overflow = overflow || word >> (64 - digit_bits) != 0;
            word = word << digit_bits | digit;
        }
    }
    if (overflow) {
        return SealedStatus::overflow;
    }
    if (prefix != 0 && (key == 0 || key >= max_keys)) {
        return SealedStatus::bad_key;
    }
    *sealed = {static_cast<int>(key), word};
    return SealedStatus::ok;
}

KeyFile split_key_file(const char* text, size_t length)
{
    KeyFile file{};
    int number = 0;
    // A secret has 16 characters or 32; with a number before it it has neither.
    file.named = length != 16 && length != 32 && read_number(text, length, &number) != 0;
    if (!file.named) {
        file.count = 1;
        file.lines[0] = {0, text, length};
        return file;
    }
    unsigned seen = 0;
    for (const char* end = text + length; text <= end;) {
        const void* newline = memchr(text, '\n', static_cast<size_t>(end - text));
        const char* line_end = newline == nullptr ? end : static_cast<const char*>(newline);
        const auto rest = static_cast<size_t>(line_end - text);
        const size_t start = read_number(text, rest, &number);
        file.count++;
        if (start == 0 || (seen >> number & 1) != 0) {
            file.status = start == 0 ? KeyFileStatus::bad_line : KeyFileStatus::repeated;
            return file;
        }
        seen |= 1u << number;
        file.lines[file.count - 1] = {number, text + start, rest - start};
        text = line_end + 1;
    }
    return file;
}

} // namespace flakeid
