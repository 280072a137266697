#include "../../src/core/explain.hpp"

#include "layouts.hpp"

#include <gtest/gtest.h>

#include <bitset>
#include <sstream>
#include <string>

using namespace flakeid;

namespace {

std::string draw(const char* name, uint64_t id, uint64_t raw)
{
    const Preset* preset = find_preset(name, strlen(name));
    Layout layout;
    EXPECT_EQ(parse_layout(preset->text, strlen(preset->text), &layout).status, LayoutStatus::ok);
    char out[max_drawing];
    const size_t length = explain_id(layout, id, raw, out);
    EXPECT_EQ(strlen(out), length);
    return out;
}

} // namespace

TEST(Drawing, SeveralNodeFields)
{
    EXPECT_EQ(draw("discord", 175928847299117063, 175928847299117063), R"(id      175928847299117063
layout  time:42:1ms worker:5 process:5 sequence:12 epoch=2015-01-01T00:00:00Z

bits    000000100111000100000110010110101100000100 00001 00000 000000000111
        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbb ccccc dddddddddddd

      a time      42 bits   63..22  41944705796  2016-04-30T11:18:25.796Z
      b worker    5 bits    21..17  1
      c process   5 bits    16..12  0
      d sequence  12 bits   11..0   7
        node                        32
)");
}

TEST(Drawing, UnusedBits)
{
    EXPECT_EQ(draw("js53", 7196121378062336, 7196121378062336), R"(id      7196121378062336
layout  time:40:1ms node:6 sequence:7 epoch=2026-01-01T00:00:00Z

bits    00000000000 1100110010000110101011001001010000000000 000000 0000000
                    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbb ccccccc

      a time      40 bits   52..13  878432785408  2053-11-02T01:06:25.408Z
      b node      6 bits    12..7   0
      c sequence  7 bits    6..0    0
)");
}

TEST(Drawing, Enciphered)
{
    const auto id = static_cast<uint64_t>(-5080468220077471642);
    EXPECT_EQ(draw("randflake", id, 17179869184 * 7 + 131072 * 3 + 5),
              R"(id      -5080468220077471642
raw id  120259477509
layout  time:30:1s node:17 sequence:17 epoch=2024-10-27T03:33:20Z cipher=sparx64

bits    000000000000000000000000000111 00000000000000011 00000000000000101
        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbb ccccccccccccccccc

      a time      30 bits   63..34  7  2024-10-27T03:33:27Z
      b node      17 bits   33..17  3
      c sequence  17 bits   16..0   5
)");
}

// A moment after the year 9999 is left out; one bit is one bit.
TEST(Drawing, FarFuture)
{
    const Layout layout = parsed("flag:1 time:60:1us sequence:2");
    char out[max_drawing];
    explain_id(layout, (UINT64_C(1) << 62) - 1, (UINT64_C(1) << 62) - 1, out);
    EXPECT_STREQ(out, R"(id      4611686018427387903
layout  flag:1 time:60:1us sequence:2 epoch=1970-01-01T00:00:00Z

bits    0 0 111111111111111111111111111111111111111111111111111111111111 11
          a bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cc

      a flag      1 bit     62..62  0
      b time      60 bits   61..2   1152921504606846975
      c sequence  2 bits    1..0    3
)");
}

// The longest layout that there can be fits.
TEST(Drawing, Largest)
{
    std::string text = "time:49:1us";
    for (int i = 0; i < max_fields - 2; i++) {
        text += " " + std::string(max_field_name - 1, 'n') + static_cast<char>('a' + i) + ":1";
    }
    text += " sequence:1 epoch=9999-12-31T23:59:59.999999Z cipher=sparx64";
    Layout layout;
    ASSERT_EQ(parse_layout(text.data(), text.size(), &layout).status, LayoutStatus::ok);
    ASSERT_EQ(layout.bits, 64);
    char out[max_drawing];
    EXPECT_LT(explain_id(layout, ~UINT64_C(0), ~UINT64_C(0), out),
              static_cast<size_t>(max_drawing));
}

// Whatever the layout: all 64 bits in their order, and a letter under each that a field has.
TEST(Drawing, RandomLayouts)
{
    Random random(12);
    for (int round = 0; round < 3000; round++) {
        const std::string text = random_layout_text(random);
        const Layout layout = parsed(text);
        const uint64_t raw = random();
        char out[max_drawing];
        ASSERT_LT(explain_id(layout, raw, raw, out), sizeof out);
        std::istringstream lines(out);
        std::string line, bits, letters;
        bool long_names = false;
        for (int i = 0; i < layout.field_count; i++) {
            long_names |= strlen(layout.fields[i].name) > 20;
        }
        while (std::getline(lines, line)) {
            ASSERT_TRUE(line.empty() || line.back() != ' ') << out;
            if (line.compare(0, 6, "layout") == 0) {
                continue;
            }
            ASSERT_TRUE(line.size() <= 100 || long_names) << out;
            if (line.compare(0, 4, "bits") == 0) {
                bits = line;
                std::getline(lines, letters);
            }
        }
        ASSERT_EQ(bits.size(), letters.size()) << out;
        std::string digits, owners;
        for (size_t i = 8; i < bits.size(); i++) {
            if (bits[i] != ' ') {
                digits += bits[i];
                owners += letters[i];
            }
        }
        ASSERT_EQ(digits, std::bitset<64>(raw).to_string()) << out;
        std::string expected(static_cast<size_t>(64 - layout.bits), ' ');
        for (int i = 0; i < layout.field_count; i++) {
            expected += std::string(layout.fields[i].bits, static_cast<char>('a' + i));
        }
        ASSERT_EQ(owners, expected) << out;
    }
}
