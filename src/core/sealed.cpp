#include "sealed.hpp"

#include "text.hpp"

#include <cstring>

namespace flakeid {

namespace {

// Reads digits of base32hex of either case, with leading zeros, of a number of 64 bits.
TextStatus read_digits(const char* text, size_t length, uint64_t* number, size_t* offset)
{
    char lower[sealed_digits];
    for (size_t i = 0; i < length; i++) {
        lower[i] = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] | 0x20) : text[i];
    }
    size_t zeros = 0;
    while (zeros + 1 < length && lower[zeros] == '0') {
        zeros++;
    }
    const TextStatus status =
        from_text(TextFormat::base32hex, lower + zeros, length - zeros, number, offset);
    *offset += status == TextStatus::foreign_character ? zeros : 0;
    return status;
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
    char digits[max_text_size];
    const size_t prefix =
        sealed.key == 0 ? 0
                        : to_text(TextFormat::base32hex, static_cast<uint64_t>(sealed.key), out);
    const size_t length = to_text(TextFormat::base32hex, sealed.word, digits);
    memset(out + prefix, '0', sealed_digits - length);
    memcpy(out + prefix + sealed_digits - length, digits, length);
    return prefix + sealed_digits;
}

SealedStatus read_sealed(const char* text, size_t length, Sealed* sealed, size_t* offset)
{
    *offset = 0;
    const size_t prefix = length == max_sealed_text;
    if (length != sealed_digits + prefix) {
        return SealedStatus::bad_length;
    }
    uint64_t key = 0;
    if (prefix != 0 && read_digits(text, prefix, &key, offset) != TextStatus::ok) {
        return SealedStatus::foreign_character;
    }
    uint64_t word;
    const TextStatus status = read_digits(text + prefix, sealed_digits, &word, offset);
    if (status == TextStatus::overflow) {
        return SealedStatus::overflow;
    }
    if (status != TextStatus::ok) {
        *offset += prefix;
        return SealedStatus::foreign_character;
    }
    if (prefix != 0 && (key == 0 || key >= max_keys)) {
        return SealedStatus::bad_key;
    }
    *sealed = {static_cast<int>(key), word};
    return SealedStatus::ok;
}

bool is_prefix(const char* text, size_t length)
{
    if (length == 0 || length > max_prefix || text[0] < 'a' || text[0] > 'z') {
        return false;
    }
    for (size_t i = 1; i < length; i++) {
        const char c = text[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_') {
            return false;
        }
    }
    return true;
}

size_t write_prefixed(const char* prefix, size_t length, Sealed sealed, char* out)
{
    memcpy(out, prefix, length);
    out[length] = '_';
    return length + 1 + write_sealed(sealed, out + length + 1);
}

size_t after_prefix(const char* text, size_t length, const char* prefix, size_t prefix_length)
{
    const bool there = length > prefix_length && text[prefix_length] == '_' &&
                       memcmp(text, prefix, prefix_length) == 0;
    return there ? prefix_length + 1 : 0;
}

KeyFile split_key_file(const char* text, size_t length)
{
    KeyFile file{};
    int number = 0;
    // A secret has 16 characters or 32. A number and a secret together have neither.
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
