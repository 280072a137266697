#include "../../src/core/guess.hpp"

#include "csv.hpp"
#include "layouts.hpp"

#include <map>
#include <set>
#include <sstream>

using namespace flakeid;

namespace {

constexpr int64_t max_ahead_us = 5 * us_per_s;

std::vector<std::string> guesses_of(const CsvRow& row)
{
    const std::string& secret = row.text("secret_hex");
    unsigned char bytes[sparx_key_bytes] = {};
    for (size_t i = 0; i < secret.size(); i += 2) {
        bytes[i / 2] = static_cast<unsigned char>(std::stoi(secret.substr(i, 2), nullptr, 16));
    }
    SparxKey key;
    sparx_expand(bytes, &key);
    const int64_t now_us = row.number("now_ms") * us_per_ms;
    Guess found[preset_count];
    const int count = guess_presets(row.word("id"), secret.empty() ? nullptr : &key, now_us,
                                    now_us + max_ahead_us, found);
    std::vector<std::string> names;
    for (int i = 0; i < count; i++) {
        names.emplace_back(presets[found[i].preset].name);
    }
    return names;
}

std::string joined(const std::vector<std::string>& words)
{
    std::string all;
    for (const std::string& word : words) {
        all += (all.empty() ? "" : " ") + word;
    }
    return all;
}

// What cuts the bits alike: the same step of time at the same place.
std::string cut_of(const std::string& name)
{
    const Layout layout = preset(name);
    return std::to_string(layout.tick_us) + "<<" + std::to_string(layout.time_shift) +
           (layout.enciphered ? " enciphered" : "");
}

} // namespace

TEST(Guess, PossibleFromTheEpochToAMoment)
{
    const Layout layout = parsed("time:41:10ms sequence:12 epoch=2020-01-01");
    const uint64_t third = UINT64_C(2) << 12;
    EXPECT_TRUE(possible_id(layout, third, layout.epoch_us + 20000));
    EXPECT_FALSE(possible_id(layout, third, layout.epoch_us + 19999));
    EXPECT_TRUE(possible_id(layout, 0, layout.epoch_us));
    EXPECT_FALSE(possible_id(layout, UINT64_C(1) << 53, INT64_MAX));
    EXPECT_FALSE(
        possible_id(parsed("time:48:1d sequence:16"), low_mask(63), INT64_MAX)); // no such time
}

TEST(Guess, HabitsAreInTheOrderOfPresets)
{
    for (int i = 0; i < preset_count; i++) {
        EXPECT_STREQ(habits[i].preset, presets[i].name);
    }
}

TEST(Guess, IsWhatTheRuleSaysOnEveryRow)
{
    for (const CsvRow& row : read_csv("guess.csv")) {
        EXPECT_EQ(joined(guesses_of(row)), row.text("guesses")) << row.text("id");
    }
}

// Presets that cut alike count as one. The shares of each stand in test/vectors/README.md.
TEST(Guess, RightCutIsAmongTheFirstThree)
{
    struct Count {
        int all, first, three;
    };
    std::map<std::string, Count> counts;
    for (const CsvRow& row : read_csv("guess.csv")) {
        const std::string& right = row.text("preset");
        if (right.empty()) {
            continue;
        }
        std::vector<std::string> cuts;
        for (const std::string& name : guesses_of(row)) {
            const std::string cut = cut_of(name);
            if (std::find(cuts.begin(), cuts.end(), cut) == cuts.end()) {
                cuts.push_back(cut);
            }
        }
        const auto rank = std::find(cuts.begin(), cuts.end(), cut_of(right)) - cuts.begin();
        Count& count = counts[right];
        count.all++;
        count.first += rank < 1;
        count.three += rank < 3;
        EXPECT_TRUE(rank < 3 || row.text("source") == "made" || right == "randflake")
            << row.text("id");
    }
    EXPECT_EQ(counts.size(), static_cast<size_t>(preset_count));
    int first = 0, three = 0, all = 0;
    for (const auto& [name, count] : counts) {
        EXPECT_GE(count.three * 100, count.all * 95) << name;
        first += count.first;
        three += count.three;
        all += count.all;
    }
    // Ids of CockroachDB and Twitter are alike but for three bits.
    EXPECT_GE(first * 100, all * 89);
    EXPECT_GE(three * 100, all * 99);
}

TEST(Guess, SaysNothingOfNumbersThatAreNoIds)
{
    Guess found[preset_count];
    std::set<uint64_t> negative = {~UINT64_C(0), UINT64_C(1) << 63, 0 - UINT64_C(99)};
    for (const uint64_t id : negative) {
        EXPECT_EQ(guess_presets(id, nullptr, INT64_MAX, INT64_MAX, found), 0);
    }
    EXPECT_EQ(guess_presets(5, nullptr, -us_per_s, -us_per_s, found), 0);
}
