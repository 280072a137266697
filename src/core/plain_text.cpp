#include "plain_text.hpp"

#include <cassert>

namespace flakeid {

namespace {

bool is_printable(unsigned char c)
{
    return c >= ' ' && c <= '~';
}

bool is_continuation(unsigned char c)
{
    return c >= 0x80 && c < 0xc0;
}

} // namespace

size_t plain_text(const char* text, size_t length, char* plain, size_t size)
{
    assert(size > 0);
    size_t used = 0;
    bool inside = false; // a character that is a question mark already
    for (size_t i = 0; i < length && used + 1 < size; i++) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (inside && is_continuation(c)) {
            continue;
        }
        inside = c >= 0x80;
        plain[used++] = is_printable(c) ? text[i] : inside ? '?' : ' ';
    }
    while (used > 0 && (plain[used - 1] == ' ' || plain[used - 1] == '.')) {
        used--;
    }
    plain[used] = '\0';
    return used;
}

} // namespace flakeid
