// Which layouts can make the same ids: checked against every id of small layouts.
#include "../../src/core/overlap.hpp"

#include "layouts.hpp"

#include <set>

using namespace flakeid;

namespace {

constexpr uint32_t any_node = UINT32_MAX;

// A layout of at most 10 bits, in any order, with every kind of field or without.
std::string small_text(Random& random)
{
    std::vector<std::string> parts;
    int left = 10;
    auto take = [&](const std::string& name, int most, const char* unit = "") {
        const int bits = 1 + static_cast<int>(up_to(random, static_cast<uint64_t>(most - 1)));
        left -= bits;
        parts.push_back(name + ":" + std::to_string(bits) + unit);
    };
    take("time", 3, ":1s");
    if (up_to(random, 3) > 0) {
        take("sequence", 2);
    }
    for (const char* name : {"back", "node", "shard"}) {
        if (left > 1 && up_to(random, 1) == 0) {
            take(name, std::min(left - 1, 2));
        }
    }
    std::shuffle(parts.begin(), parts.end(), random);
    std::string text;
    for (const std::string& part : parts) {
        text += part + " ";
    }
    return text + "epoch=0";
}

// Every raw id of the nodes and ticks.
std::set<uint64_t> all_ids(const Layout& layout, uint32_t first_node, uint32_t last_node,
                           Ticks ticks)
{
    std::set<uint64_t> ids;
    for (uint32_t node = first_node; node <= last_node; node++) {
        for (Tick tick = ticks.first; tick <= ticks.last; tick = tick + 1) {
            for (uint32_t sequence = 0; sequence <= layout.max_sequence; sequence++) {
                for (uint32_t back = 0; back <= layout.max_back; back++) {
                    ids.insert(compose(layout, {tick, node, sequence, back}));
                }
            }
        }
    }
    return ids;
}

bool have_one_in_common(const std::set<uint64_t>& a, const std::set<uint64_t>& b)
{
    return std::any_of(a.begin(), a.end(), [&](uint64_t id) { return b.count(id) != 0; });
}

bool same_words(const Layout& a, const Layout& b)
{
    return a.time_shift == b.time_shift && a.sequence_shift == b.sequence_shift &&
           a.max_sequence == b.max_sequence && a.max_tick == b.max_tick &&
           a.max_back == b.max_back && a.back_shift == b.back_shift && a.max_node == b.max_node &&
           a.tick_us == b.tick_us && a.epoch_us == b.epoch_us;
}

} // namespace

TEST(Meet, RandomPairsAgainstEveryId)
{
    Random random(31);
    int met = 0, apart = 0;
    while (met < 2000 || apart < 2000) {
        const std::string text_a = small_text(random), text_b = small_text(random);
        const Layout a = parsed(text_a), b = parsed(text_b);
        if (a.time_shift != b.time_shift) {
            EXPECT_FALSE(can_overlap(id_bits(a, 0), id_bits(b, 0)));
            continue;
        }
        const auto node_a = static_cast<uint32_t>(up_to(random, a.max_node));
        const auto node_b = static_cast<uint32_t>(up_to(random, b.max_node));
        const bool meet = can_overlap(id_bits(a, node_a), id_bits(b, node_b));
        ASSERT_EQ(meet, have_one_in_common(all_ids(a, node_a, node_a, {Tick{0}, a.max_tick}),
                                           all_ids(b, node_b, node_b, {Tick{0}, b.max_tick})))
            << text_a << " on " << node_a << ", " << text_b << " on " << node_b;
        // In the life of both, they do so within one tick.
        if (meet && a.time_bits == b.time_bits) {
            const Tick tick = tick_up_to(random, a.max_tick);
            ASSERT_TRUE(have_one_in_common(all_ids(a, node_a, node_a, {tick, tick}),
                                           all_ids(b, node_b, node_b, {tick, tick})))
                << text_a << " on " << node_a << ", " << text_b << " on " << node_b;
        }
        (meet ? met : apart)++;
    }
}

// A span may be taken for a wider one, but never for a narrower one.
TEST(Meet, SpansOfNodesAreNeverMissed)
{
    Random random(32);
    int met = 0;
    while (met < 1000) {
        const std::string text_a = small_text(random), text_b = small_text(random);
        const Layout a = parsed(text_a), b = parsed(text_b);
        if (a.time_shift != b.time_shift) {
            continue;
        }
        const auto first = static_cast<uint32_t>(up_to(random, a.max_node));
        const auto last = first + static_cast<uint32_t>(up_to(random, a.max_node - first));
        const auto node_b = static_cast<uint32_t>(up_to(random, b.max_node));
        const bool meet = have_one_in_common(all_ids(a, first, last, {Tick{0}, a.max_tick}),
                                             all_ids(b, node_b, node_b, {Tick{0}, b.max_tick}));
        const bool found =
            can_overlap(id_bits(a, first, bits_of_span(first, last)), id_bits(b, node_b));
        ASSERT_TRUE(found || !meet)
            << text_a << " on " << first << "-" << last << ", " << text_b << " on " << node_b;
        met += meet;
    }
    EXPECT_EQ(bits_of_span(8, 15), 7u);
    EXPECT_EQ(bits_of_span(5, 5), 0u);
    EXPECT_EQ(bits_of_span(0, 0x80000000u), UINT32_MAX);
}

TEST(Meet, NoTwoPresetsButThoseOfTheSameBits)
{
    for (int i = 0; i < preset_count; i++) {
        for (int j = 0; j < preset_count; j++) {
            const Layout a = parsed(presets[i].text), b = parsed(presets[j].text);
            EXPECT_EQ(can_overlap(id_bits(a, 0, any_node), id_bits(b, 0, any_node)),
                      same_words(a, b))
                << presets[i].name << " and " << presets[j].name;
        }
    }
}

TEST(Meet, EpochsThatLieApart)
{
    const IdBits early = id_bits(parsed("time:41:1ms node:10 sequence:12 epoch=2025-01-01"), 0);
    const IdBits soon = id_bits(parsed("time:41:1ms node:10 sequence:12 epoch=2025-12-31"), 0);
    const IdBits late = id_bits(parsed("time:41:1ms node:10 sequence:12 epoch=2026-01-01"), 0);
    EXPECT_TRUE(can_overlap(early, soon));
    EXPECT_TRUE(can_overlap(soon, early));
    EXPECT_FALSE(can_overlap(early, late));
    EXPECT_FALSE(can_overlap(late, early));
    IdBits least = early, most = early;
    least.epoch_us = INT64_MIN;
    most.epoch_us = INT64_MAX;
    EXPECT_FALSE(can_overlap(least, most));
}

TEST(Meet, SharedIdsOfRandomPairsAgainstEveryId)
{
    Random random(33);
    int shared = 0, apart = 0;
    while (shared < 1000 || apart < 1000) {
        const std::string text_a = small_text(random), text_b = small_text(random);
        const Layout a = parsed(text_a), b = parsed(text_b);
        auto some_ticks = [&](const Layout& layout) {
            return Ticks{tick_up_to(random, layout.max_tick), tick_up_to(random, layout.max_tick)};
        };
        const Ticks of_a = some_ticks(a), of_b = some_ticks(b);
        const bool share = share_id(a, of_a, b, of_b);
        ASSERT_EQ(share, have_one_in_common(all_ids(a, 0, a.max_node, of_a),
                                            all_ids(b, 0, b.max_node, of_b)))
            << text_a << " in " << tick_number(of_a.first) << "-" << tick_number(of_a.last) << ", "
            << text_b << " in " << tick_number(of_b.first) << "-" << tick_number(of_b.last);
        (share ? shared : apart)++;
    }
}

// Only ids that still come are compared with ids that can be there.
TEST(Meet, WhatASuccessorRepeats)
{
    int64_t now_us;
    const std::string moment = "2026-11-01T00:00:00Z";
    Layout at = parsed("time:41:1ms sequence:12 epoch=" + moment);
    now_us = at.epoch_us;
    EXPECT_TRUE(may_repeat(preset("uidgenerator31"), preset("uidgenerator"), now_us));
    EXPECT_TRUE(may_repeat(preset("uidgenerator30"), preset("uidgenerator"), now_us));
    EXPECT_TRUE(may_repeat(preset("tsid"), preset("snowflake"), now_us));
    EXPECT_TRUE(may_repeat(preset("snowflake"), preset("twitter"), now_us));
    EXPECT_FALSE(may_repeat(preset("uidgenerator"), preset("uidgenerator31"), now_us)) << "full";
    EXPECT_FALSE(may_repeat(preset("snowflake"), preset("tsid"), now_us)) << "far from it";
    EXPECT_FALSE(may_repeat(preset("randflake"), preset("snowflake"), now_us)) << "enciphered";
}
