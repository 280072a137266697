// Layouts that make no ids: long ticks, and no sequence.
#include "csv.hpp"
#include "layouts.hpp"

using namespace flakeid;

TEST(ReadOnly, LongTicksAndNoSequence)
{
    EXPECT_TRUE(makes_ids(preset("uidgenerator"))); // though not any more
    EXPECT_TRUE(makes_ids(parsed("sequence:1 time:42:1ms node:21")));
    EXPECT_TRUE(makes_ids(parsed("time:31:1s sequence:1")));
    for (const char* text :
         {"time:31:1000001us sequence:1", "time:41:2s node:10 sequence:12", "time:64:1us",
          "time:1:1s", "node:3 back:2 time:41:1ms", "time:41:1ms cipher=sparx64"}) {
        EXPECT_FALSE(makes_ids(parsed(text))) << text;
        EXPECT_EQ(ids_per_second(parsed(text)), 0) << text;
    }
}

TEST(ReadOnly, EveryCockroachRow)
{
    const Layout layout = preset("cockroachdb");
    EXPECT_FALSE(makes_ids(layout));
    EXPECT_TRUE(time_ordered(layout));
    for (const CsvRow& row : read_csv("cockroachdb.csv")) {
        const uint64_t id = row.word("id");
        const int64_t us = row.number("unix_us");
        const Parts parts = split(layout, id);
        int64_t start_us = 0;
        EXPECT_TRUE(tick_start_us(layout, parts.tick, &start_us));
        EXPECT_EQ(start_us, us);
        EXPECT_EQ(parts.node, row.word("node"));
        EXPECT_EQ(parts.sequence, 0u);
        const auto tick = static_cast<Tick>(tick_of_us(layout, us));
        EXPECT_EQ(compose(layout, {tick, parts.node, 0, 0}), id);
    }
}
