// Which numbers layouts have used: checked against every id of small layouts.
#include "../../src/core/used.hpp"

#include "layouts.hpp"

#include <set>

using namespace flakeid;

namespace {

Layout small_layout(Random& random)
{
    const char* texts[] = {"time:6:1s sequence:2",        "time:5:2s node:1 sequence:1",
                           "time:6:1s node:1 sequence:3", "node:1 time:4:1s sequence:2",
                           "back:1 time:5:1s sequence:1", "time:5:3s sequence:3",
                           "time:4:1s back:1 sequence:2"};
    const std::string text = texts[up_to(random, 6)];
    return parsed(text + " epoch=" + std::to_string(1000 * up_to(random, 20)) + "ms");
}

std::set<uint64_t> ids_of(const Layout& layout, uint32_t node, int64_t first, int64_t last)
{
    std::set<uint64_t> ids;
    for (int64_t tick = std::max<int64_t>(first, 0);
         tick <= std::min<int64_t>(last, static_cast<int64_t>(tick_number(layout.max_tick)));
         tick++) {
        for (uint32_t sequence = 0; sequence <= layout.max_sequence; sequence++) {
            for (uint32_t back = 0; back <= layout.max_back; back++) {
                ids.insert(
                    compose(layout, {Tick{static_cast<uint64_t>(tick)}, node, sequence, back}));
            }
        }
    }
    return ids;
}

Used used_between(const Layout& layout, uint32_t node, int64_t first_s, int64_t last_s)
{
    Used used = used_by(layout, id_bits(layout, node));
    used.first_us = first_s * us_per_s;
    used.last_us = last_s * us_per_s;
    return used;
}

bool meet(const std::set<uint64_t>& a, const std::set<uint64_t>& b)
{
    return std::any_of(a.begin(), a.end(), [&](uint64_t id) { return b.count(id) != 0; });
}

std::set<uint64_t> ids_between(const Layout& layout, uint32_t node, int64_t first_s, int64_t last_s)
{
    return ids_of(layout, node, tick_of_us(layout, first_s * us_per_s),
                  tick_of_us(layout, last_s * us_per_s));
}

} // namespace

TEST(Used, NoIdOfAnotherLayoutInClearTicks)
{
    Random random(41);
    int passed = 0, bounded = 0, none = 0;
    for (int i = 0; i < 20000; i++) {
        const Layout a = small_layout(random), b = small_layout(random);
        const auto node_a = static_cast<uint32_t>(up_to(random, a.max_node));
        const auto node_b = static_cast<uint32_t>(up_to(random, b.max_node));
        const auto first = static_cast<int64_t>(up_to(random, 60));
        const int64_t last = first + static_cast<int64_t>(up_to(random, 30));
        const Used used = used_between(a, node_a, first, last);
        const Used own = used_between(b, node_b, 0, 0);
        if (in_step(own, used)) {
            continue; // only at the same moment
        }
        const Tick from = Tick{up_to(random, tick_number(b.max_tick))};
        Ticks clear{Tick{0}, no_tick};
        const Tick next = keep_clear(own, used, from, &clear);
        none += next == no_tick ? 1 : 0;
        passed += next != from && next != no_tick ? 1 : 0;
        if (next != from) {
            ASSERT_GT(next, from);
            continue;
        }
        ASSERT_LE(clear.first, from);
        ASSERT_GE(clear.last, from);
        bounded += clear.last != no_tick ? 1 : 0;
        const auto end = std::min(clear.last, b.max_tick);
        ASSERT_FALSE(meet(ids_between(a, node_a, first, last),
                          ids_of(b, node_b, static_cast<int64_t>(tick_number(clear.first)),
                                 static_cast<int64_t>(tick_number(end)))))
            << formatted(a) << " from " << first << " to " << last << ", " << formatted(b) << " at "
            << tick_number(from);
    }
    EXPECT_GT(passed, 100);
    EXPECT_GT(bounded, 100);
    EXPECT_GT(none, 10);
}

// Layouts in step: past the longer tick in which a moment lies, one makes no id that the other made
// by then.
TEST(Used, NoIdOfALayoutInStepPastTheLongerTick)
{
    const Layout of[] = {parsed("time:6:1s sequence:2 epoch=1970-01-01T00:00:01Z"),
                         parsed("time:5:2s sequence:3 epoch=1970-01-01T00:00:01Z")};
    const Used used[] = {used_by(of[0], id_bits(of[0], 0)), used_by(of[1], id_bits(of[1], 0))};
    ASSERT_TRUE(in_step(used[0], used[1]));
    EXPECT_EQ(last_of_tick_us(used[0], 0), 0) << "before the epoch";
    for (int64_t us = us_per_s; us < 20 * us_per_s; us += us_per_s / 2) {
        const int64_t after_us =
            std::max(last_of_tick_us(used[0], us), last_of_tick_us(used[1], us)) + 1;
        for (const int i : {0, 1}) {
            const auto made = ids_of(of[i], 0, 0, tick_of_us(of[i], us));
            const auto next = ids_of(of[1 - i], 0, tick_of_us(of[1 - i], after_us), 40);
            ASSERT_FALSE(meet(made, next)) << us;
            ASSERT_EQ(tick_of_us(of[1 - i], after_us - 1) + 1, tick_of_us(of[1 - i], after_us));
        }
    }
}

// What was used for a moment is passed as soon as it ends, and is in nobody's way before it begins.
TEST(Used, NothingIsLostBesideIt)
{
    const Layout layout = parsed("time:41:1ms node:10 sequence:12 epoch=1000s");
    const Layout later = parsed("time:41:1ms node:10 sequence:12 epoch=1012s");
    const Used used = used_between(layout, 0, 5000, 5060);
    const Used own = used_by(later, id_bits(later, 0));
    const auto at = [&](int64_t s) {
        return Tick{static_cast<uint64_t>(tick_of_us(later, s * us_per_s))};
    };
    Ticks clear{Tick{0}, no_tick};
    EXPECT_EQ(keep_clear(own, used, at(5000), &clear), at(5000)) << "12 s before that";
    EXPECT_EQ(clear.last + 1, at(5012));
    EXPECT_EQ(keep_clear(own, used, at(5030), &clear), at(5072) + 1);
    clear = {Tick{0}, no_tick};
    EXPECT_EQ(keep_clear(own, used, at(5073), &clear), at(5073));
    EXPECT_EQ(clear.first, at(5072) + 1);
    const Used other_node = used_by(later, id_bits(later, 1));
    EXPECT_EQ(keep_clear(other_node, used, at(5030), &clear), at(5030));
}

TEST(Used, UnitedHasAllOfBoth)
{
    Random random(42);
    for (int i = 0; i < 3000; i++) {
        const Layout a = small_layout(random), b = small_layout(random), c = small_layout(random);
        const auto of = [&](const Layout& layout) {
            const auto first = static_cast<int64_t>(20 + up_to(random, 20));
            return used_between(layout, 0, first, first + static_cast<int64_t>(up_to(random, 9)));
        };
        const Used used_a = of(a), used_b = of(b), both = united(used_a, used_b);
        const Used own = used_by(c, id_bits(c, 0));
        const Tick from = Tick{up_to(random, tick_number(c.max_tick))};
        if (in_step(own, used_a) || in_step(own, used_b)) {
            continue;
        }
        Ticks clear{Tick{0}, no_tick}, of_both{Tick{0}, no_tick};
        const bool used = keep_clear(own, used_a, from, &clear) != from ||
                          keep_clear(own, used_b, from, &clear) != from;
        const bool united_used = keep_clear(own, both, from, &of_both) != from;
        ASSERT_TRUE(united_used || !used) << formatted(a) << ", " << formatted(b);
        ASSERT_TRUE(united_used || (of_both.first >= clear.first && of_both.last <= clear.last));
    }
}
