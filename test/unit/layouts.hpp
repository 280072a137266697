// Layouts for the tests.
#pragma once

#include "../../src/core/layout.hpp"
#include "../../src/core/presets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

// A layout that must parse.
inline flakeid::Layout parsed(const std::string& text)
{
    flakeid::Layout layout{};
    const flakeid::LayoutError error = flakeid::parse_layout(text.data(), text.size(), &layout);
    EXPECT_EQ(error.status, flakeid::LayoutStatus::ok) << text;
    return layout;
}

inline flakeid::Layout preset(const std::string& name)
{
    const flakeid::Preset* found = flakeid::find_preset(name.data(), name.size());
    EXPECT_NE(found, nullptr) << name;
    return parsed(found == nullptr ? "time:41:1ms sequence:12" : found->text);
}

inline std::string formatted(const flakeid::Layout& layout)
{
    char text[flakeid::max_layout_text];
    const size_t length = flakeid::format_layout(layout, text);
    return std::string(text, length);
}

using Random = std::mt19937_64;

inline uint64_t up_to(Random& random, uint64_t most)
{
    return std::uniform_int_distribution<uint64_t>(0, most)(random);
}

inline flakeid::Tick tick_up_to(Random& random, flakeid::Tick last)
{
    return flakeid::Tick{up_to(random, tick_number(last))};
}

inline uint64_t random_bits(Random& random, int bits)
{
    return bits == 0 ? 0 : random() >> (64 - bits);
}

// The text of a random layout: any order of fields, any unit, with and without back, node parts and
// cipher, often exactly 64 bits wide. `generated` leaves out what can only be read: ticks above one
// second, and layouts without a sequence.
inline std::string random_layout_text(Random& random, bool generated = false)
{
    using namespace flakeid;
    struct Part {
        std::string name;
        int bits;
    };
    int left = up_to(random, 2) == 0 ? 64 : static_cast<int>(8 + up_to(random, 56));
    std::vector<Part> parts;
    auto take = [&](const char* name, int most) {
        const int bits =
            1 + static_cast<int>(up_to(random, static_cast<uint64_t>(std::min(most, left) - 1)));
        left -= bits;
        parts.push_back({name, bits});
        return bits;
    };
    left--; // for the time
    if (generated || up_to(random, 4) > 0) {
        take("sequence", max_sequence_bits);
    }
    if (left > 0 && up_to(random, 2) == 0) {
        take("back", max_back_bits);
    }
    static const char* const names[] = {"node",    "datacenter", "worker",
                                        "shard_2", "_machine",   "a_name_of_exactly_31_bytes_____"};
    const auto node_parts = up_to(random, 6);
    int node_left = max_node_bits;
    for (uint64_t i = 0; i < node_parts && left > 0 && node_left > 0; i++) {
        node_left -= take(names[i], node_left);
    }
    left++;
    const bool all = up_to(random, 1) == 0; // what is left over: all of it, or part of it
    parts.push_back(
        {"time",
         all ? left : 1 + static_cast<int>(up_to(random, static_cast<uint64_t>(left - 1)))});
    std::shuffle(parts.begin(), parts.end(), random);

    struct Unit {
        const char* name;
        int64_t us;
    };
    static const Unit units[] = {{"us", 1},
                                 {"ms", us_per_ms},
                                 {"s", us_per_s},
                                 {"min", 60 * us_per_s},
                                 {"h", 3600 * us_per_s},
                                 {"d", us_per_day}};
    const Unit& unit = units[up_to(random, generated ? 2 : 5)];
    const int64_t most = (generated ? max_generated_tick_us : us_per_day) / unit.us;
    const uint64_t count =
        1 + (up_to(random, 1) == 0 ? 0 : up_to(random, static_cast<uint64_t>(most - 1)));

    std::string text;
    for (const Part& part : parts) {
        text += part.name + ":" + std::to_string(part.bits);
        if (part.name == "time") {
            text += ":" + std::to_string(count) + unit.name;
        }
        text += " ";
    }
    switch (up_to(random, 2)) {
    case 0:
        text += "epoch=" + std::to_string(100000000000 + up_to(random, 2000000000000));
        break;
    case 1:
        text += "epoch=2016-05-20T00:00Z";
        break;
    default:
        text += "epoch=" +
                std::to_string(static_cast<int64_t>(up_to(random, 4000000000000000)) -
                               2000000000000000) +
                "us";
    }
    if (up_to(random, 2) == 0) {
        text += " cipher=sparx64";
    }
    return text;
}
