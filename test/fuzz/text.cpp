// Text forms: the first byte chooses one, the rest is the text. What is read is what would be
// written.
#include "../../src/core/text.hpp"

#include "check.hpp"

#include <cstring>

using namespace flakeid;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    // '0' to '9', so that the corpus can be read.
    const auto format = static_cast<TextFormat>(
        (data[0] + text_format_count - '0' % text_format_count) % text_format_count);
    const auto* text = reinterpret_cast<const char*>(data + 1);
    const size_t length = size - 1;

    constexpr uint64_t untouched = 0x5a5a5a5a5a5a5a5a;
    uint64_t id = untouched;
    size_t offset = SIZE_MAX;
    const TextStatus status = from_text(format, text, length, &id, &offset);
    char written[max_text_size];
    if (status == TextStatus::ok) {
        FUZZ_CHECK(to_text(format, id, written) == length && memcmp(written, text, length) == 0);
    } else {
        FUZZ_CHECK(id == untouched && offset <= length);
        FUZZ_CHECK((status == TextStatus::empty) == (length == 0));
        const bool of_a_character =
            status == TextStatus::foreign_character || status == TextStatus::not_canonical;
        FUZZ_CHECK(of_a_character ? offset < length : offset == 0);
    }

    // The bytes as ids, in every form.
    uint64_t word = 0;
    memcpy(&word, text, length < sizeof word ? length : sizeof word);
    for (int i = 0; i < text_format_count; i++) {
        const auto any = static_cast<TextFormat>(i);
        const size_t any_length = to_text(any, word, written);
        FUZZ_CHECK(any_length <= sizeof written);
        FUZZ_CHECK(from_text(any, written, any_length, &id, &offset) == TextStatus::ok);
        FUZZ_CHECK(id == word);
    }
    return 0;
}
