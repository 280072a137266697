#include "../../src/core/text.hpp"

#include "csv.hpp"
#include "layouts.hpp"

#include <cstring>
#include <memory>

using namespace flakeid;

namespace {

std::vector<TextFormat> all_formats()
{
    std::vector<TextFormat> formats;
    for (int i = 0; i < text_format_count; i++) {
        formats.push_back(static_cast<TextFormat>(i));
    }
    return formats;
}

std::string text_of(TextFormat format, uint64_t id)
{
    char text[max_text_size + 8];
    memset(text, '#', sizeof text);
    const size_t length = to_text(format, id, text);
    EXPECT_LE(length, max_text_size);
    for (size_t i = length; i < sizeof text; i++) {
        EXPECT_EQ(text[i], '#') << "written past the end";
    }
    return std::string(text, length);
}

struct Read {
    TextStatus status;
    uint64_t id;
    size_t offset;
};

constexpr uint64_t untouched = 0x5a5a5a5a5a5a5a5a;

// Reads a copy without a terminating zero, so that the sanitizer sees a read past the end.
Read read(TextFormat format, const std::string& text)
{
    const std::unique_ptr<char[]> copy(new char[text.size()]);
    memcpy(copy.get(), text.data(), text.size());
    Read result = {TextStatus::ok, untouched, SIZE_MAX};
    result.status = from_text(format, copy.get(), text.size(), &result.id, &result.offset);
    return result;
}

void expect_both_ways(TextFormat format, uint64_t id, const std::string& text)
{
    EXPECT_EQ(text_of(format, id), text) << text_format_name(format) << " of " << id;
    const Read back = read(format, text);
    EXPECT_EQ(back.status, TextStatus::ok) << text_format_name(format) << " " << text;
    EXPECT_EQ(back.id, id) << text_format_name(format) << " " << text;
}

std::vector<uint64_t> edges()
{
    std::vector<uint64_t> ids = {0, UINT64_MAX, UINT64_C(1) << 63, INT64_MAX};
    for (const unsigned base : {2u, 10u, 16u, 32u, 36u, 58u, 62u, 64u}) {
        for (uint64_t power = 1;; power *= base) {
            ids.insert(ids.end(), {power - 1, power, power + 1, 0 - power});
            if (power > UINT64_MAX / base) {
                break;
            }
        }
    }
    return ids;
}

} // namespace

TEST(Text, Names)
{
    for (const TextFormat format : all_formats()) {
        const char* name = text_format_name(format);
        TextFormat found;
        ASSERT_TRUE(find_text_format(name, strlen(name), &found)) << name;
        EXPECT_EQ(found, format) << name;
        ASSERT_FALSE(find_text_format(name, strlen(name) - 1, &found) && found == format) << name;
    }
    TextFormat found;
    EXPECT_STREQ(text_format_name(TextFormat::base32crockford), "base32crockford");
    for (const char* name : {"", "base", "base3", "base322", "BASE32", "hex", "base64url "}) {
        EXPECT_FALSE(find_text_format(name, strlen(name), &found)) << name;
    }
}

TEST(Text, EveryBwmarrinRow)
{
    for (const CsvRow& row : read_csv("bwmarrin.csv")) {
        const uint64_t id = row.word("id");
        expect_both_ways(TextFormat::base2, id, row.text("base2"));
        expect_both_ways(TextFormat::base32, id, row.text("base32"));
        expect_both_ways(TextFormat::base36, id, row.text("base36"));
        expect_both_ways(TextFormat::base58, id, row.text("base58"));
        expect_both_ways(TextFormat::base64, id, row.text("base64"));
    }
}

TEST(Text, EveryRandflakeRow)
{
    for (const CsvRow& row : read_csv("randflake.csv")) {
        expect_both_ways(TextFormat::base32hex, row.word("encrypted_id"), row.text("base32hex"));
    }
}

TEST(Text, EveryFormOfEveryRow)
{
    for (const CsvRow& row : read_csv("text.csv")) {
        for (const TextFormat format : all_formats()) {
            expect_both_ways(format, row.word("id"), row.text(text_format_name(format)));
        }
    }
}

TEST(Text, RoundTrips)
{
    std::vector<uint64_t> ids = edges();
    Random random(8);
    for (int i = 0; i < 20000; i++) {
        ids.push_back(random() >> up_to(random, 63));
        ids.push_back(random());
    }
    for (const TextFormat format : all_formats()) {
        for (const uint64_t id : ids) {
            const std::string text = text_of(format, id);
            uint64_t back;
            size_t offset;
            ASSERT_EQ(from_text(format, text.data(), text.size(), &back, &offset), TextStatus::ok)
                << text_format_name(format) << " " << text;
            ASSERT_EQ(back, id) << text_format_name(format) << " " << text;
        }
    }
}

// What is accepted is what would be written: every text one character away from a good one is
// either refused or the spelling of another id.
TEST(Text, OneSpellingForEachId)
{
    Random random(9);
    for (const TextFormat format : all_formats()) {
        for (int i = 0; i < 30; i++) {
            const uint64_t id = i % 2 == 0 ? random() : random() >> up_to(random, 63);
            const std::string good = text_of(format, id);
            auto check = [&](const std::string& text) {
                const Read back = read(format, text);
                if (back.status == TextStatus::ok) {
                    ASSERT_EQ(text_of(format, back.id), text) << text_format_name(format);
                    ASSERT_TRUE(text == good || back.id != id) << text;
                } else {
                    ASSERT_EQ(back.id, untouched) << text_format_name(format) << " " << text;
                    ASSERT_LE(back.offset, text.size()) << text_format_name(format) << " " << text;
                }
            };
            for (size_t at = 0; at <= good.size(); at++) {
                for (int c = 0; c < 256; c++) {
                    std::string text = good;
                    text.insert(at, 1, static_cast<char>(c));
                    check(text);
                    if (at < good.size()) {
                        text = good;
                        text[at] = static_cast<char>(c);
                        check(text);
                    }
                }
                if (at < good.size()) {
                    std::string text = good;
                    text.erase(at, 1);
                    check(text);
                }
            }
        }
    }
}

TEST(Text, FixedWidthsSortLikeTheNumbers)
{
    Random random(10);
    std::vector<uint64_t> ids = edges();
    for (int i = 0; i < 2000; i++) {
        ids.push_back(random() >> up_to(random, 63));
    }
    std::sort(ids.begin(), ids.end());
    for (const TextFormat format : {TextFormat::base16, TextFormat::base32crockford}) {
        const size_t width = format == TextFormat::base16 ? 16 : 13;
        for (size_t i = 0; i < ids.size(); i++) {
            const std::string text = text_of(format, ids[i]);
            ASSERT_EQ(text.size(), width);
            if (i > 0 && ids[i - 1] != ids[i]) {
                ASSERT_LT(text_of(format, ids[i - 1]), text);
            }
        }
    }
}

// The others that count up in the order of ASCII sort among ids of one length.
TEST(Text, EqualLengthsSortLikeTheNumbers)
{
    Random random(11);
    for (const TextFormat format :
         {TextFormat::base2, TextFormat::base32hex, TextFormat::base36, TextFormat::base62}) {
        for (int i = 0; i < 20000; i++) {
            const uint64_t a = random(), b = random();
            const std::string text_a = text_of(format, a), text_b = text_of(format, b);
            if (text_a.size() == text_b.size()) {
                ASSERT_EQ(text_a < text_b, a < b) << text_format_name(format);
            }
        }
    }
}

TEST(Text, Widths)
{
    const struct {
        TextFormat format;
        size_t least, most;
    } widths[] = {
        {TextFormat::base2, 1, 64},      {TextFormat::base16, 16, 16},
        {TextFormat::base32, 1, 13},     {TextFormat::base32crockford, 13, 13},
        {TextFormat::base32hex, 1, 13},  {TextFormat::base36, 1, 13},
        {TextFormat::base58, 1, 11},     {TextFormat::base62, 1, 11},
        {TextFormat::base64url, 11, 11},
    };
    for (const auto& width : widths) {
        EXPECT_EQ(text_of(width.format, 0).size(), width.least) << text_format_name(width.format);
        EXPECT_EQ(text_of(width.format, UINT64_MAX).size(), width.most)
            << text_format_name(width.format);
    }
    EXPECT_EQ(text_of(TextFormat::base64, 0).size(), 4u);
    EXPECT_EQ(text_of(TextFormat::base64, UINT64_C(1) << 63).size(), 28u);
}

TEST(Text, EveryRefusal)
{
    using F = TextFormat;
    using S = TextStatus;
    const std::string zeros(100, '0');
    const struct {
        F format;
        std::string text;
        S status;
        size_t offset;
    } cases[] = {
        {F::base2, "", S::empty, 0},
        {F::base2, "102", S::foreign_character, 2},
        {F::base2, "-1", S::foreign_character, 0},
        {F::base2, " 1", S::foreign_character, 0},
        {F::base2, std::string("1\0", 2), S::foreign_character, 1},
        {F::base2, "01", S::not_canonical, 0},
        {F::base2, zeros, S::not_canonical, 0},
        {F::base2, "1" + std::string(64, '0'), S::overflow, 0},
        {F::base16, "", S::empty, 0},
        {F::base16, "00000000000000ag", S::foreign_character, 15},
        {F::base16, "000000000000000A", S::not_canonical, 15},
        {F::base16, "000000000000000G", S::foreign_character, 15},
        {F::base16, "a", S::bad_length, 0},
        {F::base16, "00000000000000000", S::bad_length, 0},
        {F::base16, "0x00000000000000", S::foreign_character, 1},
        {F::base32, "", S::empty, 0},
        {F::base32, "bl", S::foreign_character, 1},
        {F::base32, "bB", S::not_canonical, 1},
        {F::base32, "b\xff", S::foreign_character, 1},
        {F::base32, "yb", S::not_canonical, 0},
        {F::base32, "yy", S::not_canonical, 0},
        {F::base32, "oyyyyyyyyyyyy", S::overflow, 0}, // 2^64
        {F::base32, "byyyyyyyyyyyyy", S::overflow, 0},
        {F::base32crockford, "", S::empty, 0},
        {F::base32crockford, "000000000000", S::bad_length, 0},
        {F::base32crockford, "00000000000000", S::bad_length, 0},
        {F::base32crockford, "000000000000a", S::not_canonical, 12},
        {F::base32crockford, "000000000000U", S::foreign_character, 12},
        {F::base32crockford, "000000000000u", S::foreign_character, 12},
        {F::base32crockford, "00000000O0000", S::foreign_character, 8},
        {F::base32crockford, "I000000000000", S::foreign_character, 0},
        {F::base32crockford, "000000-000000", S::foreign_character, 6},
        {F::base32crockford, "G000000000000", S::overflow, 0}, // 2^64
        {F::base32hex, "", S::empty, 0},
        {F::base32hex, "1w", S::foreign_character, 1},
        {F::base32hex, "1W", S::foreign_character, 1},
        {F::base32hex, "1V", S::not_canonical, 1},
        {F::base32hex, "01", S::not_canonical, 0},
        {F::base32hex, "g000000000000", S::overflow, 0}, // 2^64
        {F::base32hex, "vvvvvvvvvvvvvvvvvvvv", S::overflow, 0},
        {F::base36, "", S::empty, 0},
        {F::base36, "a.", S::foreign_character, 1},
        {F::base36, "aZ", S::not_canonical, 1},
        {F::base36, "-a", S::foreign_character, 0},
        {F::base36, "0a", S::not_canonical, 0},
        {F::base36, "3w5e11264sgsg", S::overflow, 0}, // 2^64
        {F::base36, "zzzzzzzzzzzzz", S::overflow, 0},
        {F::base58, "", S::empty, 0},
        {F::base58, "20", S::foreign_character, 1},
        {F::base58, "2O", S::foreign_character, 1},
        {F::base58, "2I", S::foreign_character, 1},
        {F::base58, "2l", S::foreign_character, 1},
        {F::base58, "12", S::not_canonical, 0},
        {F::base58, "JPwcyDCgEuq", S::overflow, 0}, // 2^64
        {F::base58, "ZZZZZZZZZZZ", S::overflow, 0},
        {F::base62, "", S::empty, 0},
        {F::base62, "A_", S::foreign_character, 1},
        {F::base62, "0A", S::not_canonical, 0},
        {F::base62, "LygHa16AHYG", S::overflow, 0}, // 2^64
        {F::base62, "zzzzzzzzzzz", S::overflow, 0},
        {F::base64url, "", S::empty, 0},
        {F::base64url, "AAAAAAAAAA", S::bad_length, 0},
        {F::base64url, "AAAAAAAAAAA=", S::bad_length, 0},
        {F::base64url, "AAAAAAAAA+A", S::foreign_character, 9},
        {F::base64url, "AAAAAAAAAA/", S::foreign_character, 10},
        {F::base64url, "AAAAAAAAAA=", S::foreign_character, 10},
        {F::base64url, "AAAAAAAAAAB", S::not_canonical, 10},
        {F::base64url, "AAAAAAAAAAC", S::not_canonical, 10},
        {F::base64, "", S::empty, 0},
        {F::base64, "MQ", S::bad_length, 0}, // "1" without its padding
        {F::base64, "MQ=", S::bad_length, 0},
        {F::base64, "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAw", S::bad_length, 0}, // 24 zeros
        {F::base64, "M-==", S::foreign_character, 1},
        {F::base64, "M===", S::foreign_character, 1},
        {F::base64, "====", S::foreign_character, 0},
        {F::base64, "MQ==MQ==", S::foreign_character, 2},
        {F::base64, "MR==", S::not_canonical, 1}, // "1" and stray bits
        {F::base64, "MTJ=", S::not_canonical, 2},
        {F::base64, "MDE=", S::not_canonical, 0},                    // "01"
        {F::base64, "MTIzNEE=", S::foreign_character, 5},            // "1234A"
        {F::base64, "KzE=", S::foreign_character, 0},                // "+1"
        {F::base64, "MSAx", S::foreign_character, 1},                // "1 1"
        {F::base64, "LQ==", S::bad_length, 0},                       // "-"
        {F::base64, "LTA=", S::not_canonical, 1},                    // "-0"
        {F::base64, "LTAx", S::not_canonical, 1},                    // "-01"
        {F::base64, "MS0x", S::foreign_character, 1},                // "1-1"
        {F::base64, "OTIyMzM3MjAzNjg1NDc3NTgwOA==", S::overflow, 0}, // 9223372036854775808
        {F::base64, "LTkyMjMzNzIwMzY4NTQ3NzU4MDk=", S::overflow, 0}, // -9223372036854775809
        {F::base64, "MTg0NDY3NDQwNzM3MDk1NTE2MTY=", S::overflow, 0}, // 18446744073709551616
    };
    for (const auto& c : cases) {
        const Read result = read(c.format, c.text);
        EXPECT_EQ(result.status, c.status) << text_format_name(c.format) << " " << c.text;
        EXPECT_EQ(result.offset, c.offset) << text_format_name(c.format) << " " << c.text;
        EXPECT_EQ(result.id, untouched) << text_format_name(c.format) << " " << c.text;
    }
}

TEST(Text, EndsOfTheRange)
{
    expect_both_ways(TextFormat::base36, UINT64_MAX, "3w5e11264sgsf");
    expect_both_ways(TextFormat::base62, UINT64_MAX, "LygHa16AHYF");
    expect_both_ways(TextFormat::base32hex, UINT64_MAX, "fvvvvvvvvvvvv");
    expect_both_ways(TextFormat::base64, UINT64_C(1) << 63, "LTkyMjMzNzIwMzY4NTQ3NzU4MDg=");
    expect_both_ways(TextFormat::base64, INT64_MAX, "OTIyMzM3MjAzNjg1NDc3NTgwNw==");
    expect_both_ways(TextFormat::base64url, UINT64_MAX, "__________8");
    expect_both_ways(TextFormat::base64url, 0, "AAAAAAAAAAA");
}
