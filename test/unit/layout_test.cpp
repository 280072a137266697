#include "../../src/core/layout.hpp"
#include "../../src/core/calendar.hpp"
#include "../../src/core/sparx.hpp"

#include "csv.hpp"
#include "layouts.hpp"

#include <set>

using namespace flakeid;

namespace {

// Parses a copy without a terminating zero, so that the sanitizer sees a read past the end.
LayoutError parse_copy(const std::string& text, Layout* layout)
{
    const std::vector<char> bytes(text.begin(), text.end());
    return parse_layout(bytes.data(), bytes.size(), layout);
}

uint64_t ones(int bits)
{
    return bits == 0 ? 0 : ~UINT64_C(0) >> (64 - bits);
}

uint64_t field_of(const Layout& layout, const std::string& name, uint64_t raw)
{
    for (int i = 0; i < layout.field_count; i++) {
        if (name == layout.fields[i].name) {
            return field_value(layout.fields[i], raw);
        }
    }
    ADD_FAILURE() << "no field " << name;
    return 0;
}

int64_t start_of_tick(const Layout& layout, Tick tick)
{
    int64_t us = INT64_MIN;
    EXPECT_TRUE(tick_start_us(layout, tick, &us));
    return us;
}

std::string moment(int64_t us)
{
    char text[moment_text_size];
    return std::string(text, format_moment(us, text));
}

Parts parts_of(int64_t tick, int64_t node, int64_t sequence)
{
    return {static_cast<Tick>(tick), static_cast<uint32_t>(node), static_cast<uint32_t>(sequence),
            0};
}

} // namespace

TEST(Layout, EveryPresetIsItsNormalText)
{
    std::set<std::string> names;
    for (int i = 0; i < preset_count; i++) {
        const Preset& p = presets[i];
        EXPECT_TRUE(names.insert(p.name).second) << p.name;
        EXPECT_EQ(find_preset(p.name, strlen(p.name)), &p);
        EXPECT_EQ(formatted(parsed(p.text)), p.text) << p.name;
        if (p.successor != nullptr) {
            EXPECT_NE(find_preset(p.successor, strlen(p.successor)), nullptr) << p.successor;
        }
    }
    for (const char* name :
         {"snowflake", "twitter", "discord", "instagram", "mastodon", "sonyflake", "sonyflake2",
          "uidgenerator", "uidgenerator31", "uidgenerator30", "tsid", "pgedge", "cockroachdb",
          "randflake", "js53", "rollback2", "rollback3"}) {
        EXPECT_EQ(names.count(name), 1u) << name;
    }
}

TEST(Layout, FindPresetTakesTheWholeName)
{
    EXPECT_EQ(find_preset("snowflak", 8), nullptr);
    EXPECT_EQ(find_preset("snowflake2", 10), nullptr);
    EXPECT_EQ(find_preset("SNOWFLAKE", 9), nullptr);
    EXPECT_EQ(find_preset("", 0), nullptr);
    EXPECT_NE(find_preset("snowflakes", 9), nullptr);
}

TEST(Layout, PresetsKeepWhatTheyPromise)
{
    EXPECT_LE(preset("js53").bits, 53);
    const int64_t thirty_years_us = int64_t{30} * 365 * us_per_day;
    EXPECT_GT(end_us(preset("js53")) - preset("js53").epoch_us, thirty_years_us);
    EXPECT_EQ(preset("rollback2").back_bits, 2);
    EXPECT_EQ(preset("rollback3").back_bits, 3);
    EXPECT_EQ(preset("rollback3").fields[0].kind, FieldKind::back);
    EXPECT_EQ(moment(end_us(preset("uidgenerator"))).substr(0, 10), "2024-11-20");
    EXPECT_TRUE(preset("randflake").enciphered);
}

TEST(Layout, FieldsOfSnowflake)
{
    const Layout layout =
        parsed("time:41:1ms datacenter:5 worker:5 sequence:12 epoch=1288834974657");
    EXPECT_EQ(layout.field_count, 4);
    EXPECT_EQ(layout.bits, 63);
    EXPECT_EQ(layout.tick_us, us_per_ms);
    EXPECT_EQ(layout.epoch_us, 1288834974657000);
    EXPECT_FALSE(layout.enciphered);
    EXPECT_EQ(layout.time_bits, 41);
    EXPECT_EQ(layout.time_shift, 22);
    EXPECT_EQ(layout.sequence_bits, 12);
    EXPECT_EQ(layout.sequence_shift, 0);
    EXPECT_EQ(layout.node_bits, 10);
    EXPECT_EQ(layout.back_bits, 0);
    EXPECT_EQ(layout.max_tick, Tick{ones(41)});
    EXPECT_EQ(layout.max_sequence, 4095u);
    EXPECT_EQ(layout.max_node, 1023u);
    EXPECT_EQ(layout.max_back, 0u);
}

TEST(Layout, PublicIds)
{
    const Layout discord = preset("discord");
    const uint64_t message = 175928847299117063;
    const Parts parts = split(discord, message);
    EXPECT_EQ(moment(start_of_tick(discord, parts.tick)), "2016-04-30T11:18:25.796Z");
    EXPECT_EQ(field_of(discord, "worker", message), 1u);
    EXPECT_EQ(field_of(discord, "process", message), 0u);
    EXPECT_EQ(parts.sequence, 7u);
    const Layout twitter = preset("twitter");
    EXPECT_EQ(moment(start_of_tick(twitter, split(twitter, 1541815603606036480).tick)),
              "2022-06-28T16:07:40.105Z");
}

TEST(Layout, NormalTextOfOtherSpellings)
{
    const struct {
        const char* text;
        const char* normal;
    } cases[] = {
        {"time:41:1ms sequence:12", "time:41:1ms sequence:12 epoch=1970-01-01T00:00:00Z"},
        {" \t\r\n time:41:1ms\tsequence:12\n",
         "time:41:1ms sequence:12 epoch=1970-01-01T00:00:00Z"},
        {"time:41:1000us sequence:12", "time:41:1ms sequence:12 epoch=1970-01-01T00:00:00Z"},
        {"time:41:1500us sequence:12", "time:41:1500us sequence:12 epoch=1970-01-01T00:00:00Z"},
        {"time:30:60s sequence:12", "time:30:1min sequence:12 epoch=1970-01-01T00:00:00Z"},
        {"time:30:1440min sequence:12", "time:30:1d sequence:12 epoch=1970-01-01T00:00:00Z"},
        {"time:30:24h sequence:12", "time:30:1d sequence:12 epoch=1970-01-01T00:00:00Z"},
        {"time:30:90min sequence:12", "time:30:90min sequence:12 epoch=1970-01-01T00:00:00Z"},
        {"time:41:1ms sequence:12 epoch=0", "time:41:1ms sequence:12 epoch=1970-01-01T00:00:00Z"},
        {"time:41:1ms sequence:12 epoch=1288834974657",
         "time:41:1ms sequence:12 epoch=2010-11-04T01:42:54.657Z"},
        {"time:41:1ms sequence:12 epoch=1463673600s",
         "time:41:1ms sequence:12 epoch=2016-05-19T16:00:00Z"},
        {"time:41:1ms sequence:12 epoch=-1us",
         "time:41:1ms sequence:12 epoch=1969-12-31T23:59:59.999999Z"},
        {"time:41:1ms sequence:12 epoch=253402300799999999us",
         "time:41:1ms sequence:12 epoch=9999-12-31T23:59:59.999999Z"},
        {"time:41:1ms sequence:12 epoch=1ms",
         "time:41:1ms sequence:12 epoch=1970-01-01T00:00:00.001Z"},
        {"time:41:1ms sequence:12 epoch=100000000000",
         "time:41:1ms sequence:12 epoch=1973-03-03T09:46:40Z"},
        {"time:41:1ms sequence:12 epoch=2016-05-20",
         "time:41:1ms sequence:12 epoch=2016-05-20T00:00:00Z"},
        {"time:41:1ms sequence:12 cipher=sparx64 epoch=2016-05-20T01:02Z",
         "time:41:1ms sequence:12 epoch=2016-05-20T01:02:00Z cipher=sparx64"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(formatted(parsed(c.text)), c.normal) << c.text;
        EXPECT_TRUE(same_layout(parsed(c.text), parsed(c.normal))) << c.text;
    }
}

TEST(Layout, LongestNormalTextFits)
{
    std::string text = "time:16:86399999999us sequence:31";
    for (int i = 0; i < max_fields - 2; i++) {
        std::string name = "field_" + std::to_string(i) + "_";
        name.resize(max_field_name, 'x');
        text += " " + name + ":1";
    }
    text += " epoch=9999-12-31T23:59:59.999999Z cipher=sparx64";
    EXPECT_EQ(formatted(parsed(text)), text);
}

TEST(Layout, EveryRefusalPointsAtItsPlace)
{
    using S = LayoutStatus;
    const std::string long_name(max_field_name + 1, 'n');
    std::string many = "time:10:1s sequence:10";
    for (int i = 2; i < max_fields; i++) {
        many += " part" + std::to_string(i) + ":1";
    }
    const std::string base = "time:41:1ms sequence:12 ";
    struct Case {
        std::string before;
        std::string wrong; // what the error points at
        std::string after;
        S status;
    };
    const std::vector<Case> cases = {
        {"", "", "", S::empty},
        {"", " \t\n", "", S::empty},
        {"", std::string(max_layout_text, ' '), "", S::too_long},
        {"", base + std::string(max_layout_text - base.size(), ' '), "", S::too_long},
        {"", "snowflake", "", S::bad_word},
        {"time:41:1ms ", "sequence", " node:4", S::bad_word},
        {"", ":41", " sequence:12", S::bad_name},
        {"time:41:1ms ", "Node", ":4 sequence:12", S::bad_name},
        {"time:41:1ms ", "4node", ":4 sequence:12", S::bad_name},
        {"time:41:1ms ", "no-de", ":4 sequence:12", S::bad_name},
        {"time:41:1ms ",
         "n\xc3\xb6"
         "de",
         ":4 sequence:12", S::bad_name},
        {"time:41:1ms ", std::string("no\0de", 5), ":4 sequence:12", S::bad_name},
        {"time:41:1ms ", long_name, ":4 sequence:12", S::bad_name},
        {"time:41:1ms ", "node:", " sequence:12", S::bad_bits},
        {"time:41:1ms ", "node:0", " sequence:12", S::bad_bits},
        {"time:41:1ms ", "node:65", " sequence:12", S::bad_bits},
        {"time:41:1ms ", "node:-1", " sequence:12", S::bad_bits},
        {"time:41:1ms ", "node:+1", " sequence:12", S::bad_bits},
        {"time:41:1ms ", "node:04", " sequence:12", S::bad_bits},
        {"time:41:1ms ", "node:4x", " sequence:12", S::bad_bits},
        {"time:41:1ms ", "node:4.5", " sequence:12", S::bad_bits},
        {"time:41:1ms ", "node:99999999999999999999999", " sequence:12", S::bad_bits},
        {"", "time:x:1ms", " sequence:12", S::bad_bits},
        {"time:20:1ms ", "sequence:32", "", S::too_wide},
        {"time:20:1ms ", "node:32", " sequence:1", S::too_wide},
        {"time:20:1ms datacenter:16 ", "worker:16", " sequence:1", S::too_wide},
        {"time:20:1ms ", "back:8", " sequence:1", S::too_wide},
        {"time:41:1ms ", "time", ":5:1ms sequence:12", S::duplicate},
        {"time:41:1ms sequence:12 ", "sequence", ":2", S::duplicate},
        {"time:41:1ms back:1 ", "back", ":1 sequence:12", S::duplicate},
        {"time:41:1ms node:4 ", "node", ":4 sequence:12", S::duplicate},
        {base + "epoch=0 ", "epoch", "=0", S::duplicate},
        {base + "cipher=sparx64 ", "cipher", "=sparx64", S::duplicate},
        {many + " ", "one_too_many:1", "", S::too_many_fields},
        {"time:41:1ms sequence:12 ", "node:12", "", S::too_many_bits},
        {"", "sequence:12 node:10", "", S::no_time},
        {"", "epoch=0", "", S::no_time},
        {"", "cipher=sparx64", "", S::no_time},
        {"", "time:41", " sequence:12", S::no_unit},
        {"time:41:1ms ", "sequence:12:1ms", "", S::unexpected_unit},
        {"time:41:1ms ", "node:4:", " sequence:12", S::unexpected_unit},
        {"", "time:41:", " sequence:12", S::bad_unit},
        {"", "time:41:ms", " sequence:12", S::bad_unit},
        {"", "time:41:0ms", " sequence:12", S::bad_unit},
        {"", "time:41:01ms", " sequence:12", S::bad_unit},
        {"", "time:41:-1ms", " sequence:12", S::bad_unit},
        {"", "time:41:1", " sequence:12", S::bad_unit},
        {"", "time:41:1ns", " sequence:12", S::bad_unit},
        {"", "time:41:1msx", " sequence:12", S::bad_unit},
        {"", "time:41:1ms:1", " sequence:12", S::bad_unit},
        {"", "time:41:2d", " sequence:12", S::bad_unit},
        {"", "time:41:25h", " sequence:12", S::bad_unit},
        {"", "time:41:86400001ms", " sequence:12", S::bad_unit},
        {"", "time:41:999999999999999999d", " sequence:12", S::bad_unit},
        {"", "time:41:9999999999999999999d", " sequence:12", S::bad_unit},
        {base, "name=x", "", S::unknown_option},
        {base, "=x", "", S::unknown_option},
        {base, "Epoch=0", "", S::unknown_option},
        {base, "epoch=", "", S::bad_epoch},
        {base, "epoch=-", "", S::bad_epoch},
        {base, "epoch=yesterday", "", S::bad_epoch},
        {base, "epoch=2016-02-30", "", S::bad_epoch},
        {base, "epoch=2016-02-20T00:00:00", "", S::bad_epoch},
        {base, "epoch=1h", "", S::bad_epoch},
        {base, "epoch=01s", "", S::bad_epoch},
        {base, "epoch=253402300800s", "", S::bad_epoch},
        {base, "epoch=-62135596800001ms", "", S::bad_epoch},
        {base, "epoch=999999999999999999s", "", S::bad_epoch},
        {base, "epoch=1463673600", " cipher=sparx64", S::bare_epoch},
        {base, "epoch=99999999999", "", S::bare_epoch},
        {base, "epoch=-1", "", S::bare_epoch},
        {base, "cipher=", "", S::bad_cipher},
        {base, "cipher=aes", " epoch=0", S::bad_cipher},
        {base, "cipher=sparx640", "", S::bad_cipher},
        {base + "epoch=0 ", "node:4", "", S::late_field},
        {"time:41:1ms cipher=sparx64 ", "sequence:12", "", S::late_field},
    };
    std::set<S> reached;
    for (const Case& c : cases) {
        const std::string text = c.before + c.wrong + c.after;
        Layout layout = preset("twitter");
        const LayoutError error = parse_copy(text, &layout);
        EXPECT_EQ(error.status, c.status) << text;
        EXPECT_EQ(error.offset, c.before.size()) << text;
        EXPECT_EQ(error.length, c.wrong.size()) << text;
        EXPECT_TRUE(same_layout(layout, preset("twitter")))
            << "written in spite of the error: " << text;
        reached.insert(error.status);
    }
    for (int status = static_cast<int>(S::ok) + 1; status <= static_cast<int>(S::late_field);
         status++) {
        EXPECT_EQ(reached.count(static_cast<S>(status)), 1u) << "no test reaches status " << status;
    }
}

TEST(Layout, WidestFieldsAreTaken)
{
    EXPECT_EQ(parsed("time:63:1us sequence:1").bits, 64);
    EXPECT_EQ(parsed("time:1:1d sequence:31 node:31 back:1").bits, 64);
    EXPECT_EQ(parsed("time:1:1d sequence:31 a:15 b:16 back:1").max_node, ones(31));
    EXPECT_EQ(parsed("time:1:1d sequence:1 back:7").max_back, 127u);
    EXPECT_EQ(parsed("time:1:1us sequence:1").bits, 2);
}

TEST(Layout, SameLayout)
{
    const char* const all_different[] = {
        "time:41:1ms node:10 sequence:12",
        "time:41:1ms nod:10 sequence:12",
        "time:41:1ms sequence:12 node:10",
        "time:41:1ms node:10 sequence:11",
        "time:41:1ms node:10 sequence:12 back:1",
        "time:41:2ms node:10 sequence:12",
        "time:41:1ms node:10 sequence:12 epoch=1us",
        "time:41:1ms node:10 sequence:12 cipher=sparx64",
    };
    for (const char* a : all_different) {
        for (const char* b : all_different) {
            EXPECT_EQ(same_layout(parsed(a), parsed(b)), a == b) << a << " and " << b;
        }
    }
}

TEST(Layout, PlainWordStopsBeforeTheSignBit)
{
    struct Case {
        const char* text;
        int tick, sequence, back, node; // usable bits
    };
    const Case cases[] = {
        {"time:42:1ms node:10 sequence:12", 41, 12, 0, 10},
        {"node:10 time:42:1ms sequence:12", 42, 12, 0, 9},
        {"high:1 low:9 time:42:1ms sequence:12", 42, 12, 0, 9},
        {"sequence:12 time:42:1ms node:10", 42, 11, 0, 10},
        {"sequence:1 time:42:1ms node:21", 42, 0, 0, 21},
        {"back:3 time:41:1ms node:10 sequence:10", 41, 10, 2, 10},
        {"back:1 time:41:1ms node:10 sequence:12", 41, 12, 0, 10},
        {"time:1:1s back:1 sequence:31 node:31", 0, 31, 1, 31},
        // Neither 63 bits nor an enciphered word have a sign bit to spare.
        {"time:41:1ms node:10 sequence:12", 41, 12, 0, 10},
        {"time:42:1ms node:10 sequence:12 cipher=sparx64", 42, 12, 0, 10},
        {"node:10 time:42:1ms sequence:12 cipher=sparx64", 42, 12, 0, 10},
        {"back:3 time:41:1ms node:10 sequence:10 cipher=sparx64", 41, 10, 3, 10},
    };
    for (const Case& c : cases) {
        const Layout layout = parsed(c.text);
        EXPECT_EQ(layout.max_tick, Tick{ones(c.tick)}) << c.text;
        EXPECT_EQ(layout.max_sequence, ones(c.sequence)) << c.text;
        EXPECT_EQ(layout.max_back, ones(c.back)) << c.text;
        EXPECT_EQ(layout.max_node, ones(c.node)) << c.text;
        const uint64_t largest = compose(
            layout, {layout.max_tick, layout.max_node, layout.max_sequence, layout.max_back});
        EXPECT_EQ(largest, layout.bits == 64 && !layout.enciphered ? ones(63) : ones(layout.bits))
            << c.text;
    }
}

TEST(Layout, TimeOrderedWhereTimeIsOnTopAndReadable)
{
    EXPECT_TRUE(time_ordered(preset("snowflake")));
    EXPECT_TRUE(time_ordered(preset("sonyflake")));
    EXPECT_TRUE(time_ordered(preset("rollback2")));
    EXPECT_FALSE(time_ordered(preset("rollback3")));
    EXPECT_FALSE(time_ordered(preset("randflake")));
    EXPECT_FALSE(time_ordered(parsed("node:10 time:41:1ms sequence:12")));
}

TEST(Layout, OutsideLayout)
{
    const Layout js53 = preset("js53");
    EXPECT_FALSE(outside_layout(js53, ones(53)));
    EXPECT_TRUE(outside_layout(js53, ones(53) + 1));
    EXPECT_TRUE(outside_layout(js53, UINT64_C(1) << 63));
    EXPECT_FALSE(outside_layout(preset("discord"), ones(63)));
    EXPECT_TRUE(outside_layout(preset("discord"), ~UINT64_C(0)));
    EXPECT_TRUE(outside_layout(parsed("node:10 time:42:1ms sequence:12"), UINT64_C(1) << 63));
    EXPECT_FALSE(outside_layout(preset("randflake"), ~UINT64_C(0)));
    EXPECT_TRUE(outside_layout(preset("snowflake"), UINT64_C(1) << 63));
}

TEST(Layout, TickOfMoment)
{
    const Layout layout = parsed("time:41:10ms sequence:12 epoch=2020-01-01");
    const int64_t epoch = layout.epoch_us;
    EXPECT_EQ(tick_of_us(layout, epoch), 0);
    EXPECT_EQ(tick_of_us(layout, epoch + 9999), 0);
    EXPECT_EQ(tick_of_us(layout, epoch + 10000), 1);
    EXPECT_EQ(tick_of_us(layout, epoch - 1), -1);
    EXPECT_EQ(tick_of_us(layout, epoch - 10000), -1);
    EXPECT_EQ(tick_of_us(layout, epoch - 10001), -2);
}

TEST(Layout, TickOfMomentAtTheLimits)
{
    const Layout early = parsed("time:41:1us sequence:12 epoch=0001-01-01");
    EXPECT_EQ(tick_of_us(early, INT64_MAX), INT64_MAX); // does not fit
    EXPECT_EQ(tick_of_us(early, INT64_MIN), INT64_MIN - early.epoch_us);
    const Layout late = parsed("time:41:1us sequence:12 epoch=9999-12-31");
    EXPECT_EQ(tick_of_us(late, INT64_MIN), INT64_MIN); // does not fit
    EXPECT_EQ(tick_of_us(late, INT64_MAX), INT64_MAX - late.epoch_us);
    const Layout days = parsed("time:41:1d sequence:12");
    EXPECT_EQ(tick_of_us(days, INT64_MAX), INT64_MAX / us_per_day);
    EXPECT_EQ(tick_of_us(days, INT64_MIN), INT64_MIN / us_per_day - 1);
}

TEST(Layout, StartOfTick)
{
    const Layout layout = parsed("time:41:10ms sequence:12 epoch=2020-01-01");
    EXPECT_EQ(start_of_tick(layout, Tick{0}), layout.epoch_us);
    EXPECT_EQ(start_of_tick(layout, Tick{7}), layout.epoch_us + 70000);

    const Layout unix_us = parsed("time:63:1us sequence:1");
    EXPECT_EQ(start_of_tick(unix_us, Tick{INT64_MAX}), INT64_MAX);
    int64_t us = 42;
    EXPECT_FALSE(tick_start_us(unix_us, Tick{UINT64_C(1) << 63}, &us));
    EXPECT_FALSE(tick_start_us(unix_us, no_tick, &us));
    EXPECT_EQ(us, 42);
    const Layout early = parsed("time:63:1us sequence:1 epoch=-1us");
    EXPECT_EQ(start_of_tick(early, Tick{UINT64_C(1) << 63}), INT64_MAX);
    EXPECT_FALSE(tick_start_us(early, Tick{(UINT64_C(1) << 63) + 1}, &us));
    const Layout days = parsed("time:63:1d sequence:1");
    EXPECT_FALSE(tick_start_us(days, Tick{ones(63)}, &us));
}

TEST(Layout, EndOfLife)
{
    EXPECT_EQ(end_us(parsed("time:1:1s sequence:1")), 2 * us_per_s);
    EXPECT_EQ(end_us(parsed("time:1:1s sequence:1 epoch=-3s")), -us_per_s);
    EXPECT_EQ(end_us(parsed("time:63:1us sequence:1")), INT64_C(1) << 62); // the sign bit
    EXPECT_EQ(end_us(parsed("time:63:1us sequence:1 cipher=sparx64")), INT64_MAX);
    EXPECT_EQ(end_us(parsed("time:62:1us sequence:1 epoch=1us")), (INT64_C(1) << 62) + 1);
    EXPECT_EQ(end_us(parsed("time:63:1d sequence:1")), INT64_MAX);
    EXPECT_EQ(end_us(parsed("time:64:1us cipher=sparx64")), INT64_MAX);
    EXPECT_EQ(end_us(parsed("time:64:1us epoch=-9us")), INT64_MAX - 8);
    EXPECT_EQ(end_us(preset("mastodon")), INT64_C(140737488355328) * us_per_ms);
}

TEST(Layout, EveryBwmarrinRow)
{
    const Layout layout = preset("snowflake");
    for (const CsvRow& row : read_csv("bwmarrin.csv")) {
        const uint64_t id = row.word("id");
        const Parts parts = split(layout, id);
        EXPECT_EQ(start_of_tick(layout, parts.tick), row.number("unix_ms") * us_per_ms);
        EXPECT_EQ(parts.node, row.word("node"));
        EXPECT_EQ(parts.sequence, row.word("step"));
        EXPECT_EQ(compose(layout, parts_of(tick_of_us(layout, row.number("unix_ms") * us_per_ms),
                                           row.number("node"), row.number("step"))),
                  id);
    }
}

TEST(Layout, EverySonyflake1Row)
{
    const Layout layout = preset("sonyflake");
    for (const CsvRow& row : read_csv("sonyflake_v1.csv")) {
        const uint64_t id = row.word("id");
        const Parts parts = split(layout, id);
        EXPECT_EQ(parts.tick, Tick{row.word("time_10ms_since_2014-09-01")});
        EXPECT_EQ(parts.sequence, row.word("sequence"));
        EXPECT_EQ(parts.node, row.word("machine"));
        EXPECT_EQ(field_of(layout, "machine", id), row.word("machine"));
        EXPECT_EQ(compose(layout, parts_of(row.number("time_10ms_since_2014-09-01"),
                                           row.number("machine"), row.number("sequence"))),
                  id);
    }
}

TEST(Layout, EverySonyflake2Row)
{
    std::set<std::string> settings;
    for (const CsvRow& row : read_csv("sonyflake_v2.csv")) {
        const int64_t time_bits = 63 - row.number("bits_sequence") - row.number("bits_machine");
        const std::string text =
            "time:" + std::to_string(time_bits) + ":" + row.text("time_unit_ms") +
            "ms sequence:" + row.text("bits_sequence") + " machine:" + row.text("bits_machine") +
            " epoch=" + row.text("start_unix_ms") + "ms";
        settings.insert(text);
        const Layout layout = parsed(text);
        const uint64_t id = row.word("id");
        const int64_t us = row.number("unix_ms") * us_per_ms;
        const Parts parts = split(layout, id);
        EXPECT_EQ(start_of_tick(layout, parts.tick), us);
        EXPECT_EQ(parts.sequence, row.word("sequence"));
        EXPECT_EQ(parts.node, row.word("machine"));
        EXPECT_EQ(compose(layout, parts_of(tick_of_us(layout, us), row.number("machine"),
                                           row.number("sequence"))),
                  id);
    }
    EXPECT_EQ(settings.size(), 4u);
}

TEST(Layout, EveryUidGeneratorRow)
{
    std::set<std::string> settings;
    for (const CsvRow& row : read_csv("uidgenerator.csv")) {
        const std::string text = "time:" + row.text("time_bits") +
                                 ":1s worker:" + row.text("worker_bits") +
                                 " sequence:" + row.text("seq_bits") + " epoch=1463673600s";
        settings.insert(text);
        const Layout layout = parsed(text);
        const uint64_t id = row.word("id");
        const int64_t us = row.number("unix_seconds") * us_per_s;
        const Parts parts = split(layout, id);
        EXPECT_EQ(start_of_tick(layout, parts.tick), us);
        EXPECT_EQ(parts.node, row.word("worker"));
        EXPECT_EQ(parts.sequence, row.word("sequence"));
        EXPECT_EQ(compose(layout, parts_of(tick_of_us(layout, us), row.number("worker"),
                                           row.number("sequence"))),
                  id);
    }
    EXPECT_EQ(settings.size(), 4u);
}

// Random layouts and random field values, put together bit by bit as the reference.
TEST(Layout, RandomLayoutsRoundTrip)
{
    Random random(3);
    unsigned char key_bytes[sparx_key_bytes];
    for (unsigned char& byte : key_bytes) {
        byte = static_cast<unsigned char>(random());
    }
    SparxKey key;
    sparx_expand(key_bytes, &key);
    for (int round = 0; round < 10000; round++) {
        const std::string text = random_layout_text(random);
        const Layout layout = parsed(text);
        ASSERT_FALSE(::testing::Test::HasFailure()) << text;

        const std::string normal = formatted(layout);
        ASSERT_TRUE(same_layout(parsed(normal), layout)) << text;
        ASSERT_EQ(formatted(parsed(normal)), normal) << text;

        for (int i = 0; i < 10; i++) {
            uint64_t values[max_fields];
            uint64_t raw = 0, node = 0;
            Parts parts{};
            for (int f = 0; f < layout.field_count; f++) {
                const Field& field = layout.fields[f];
                const uint64_t value = i == 0   ? 0
                                       : i == 1 ? ones(field.bits)
                                                : random_bits(random, field.bits);
                values[f] = value;
                raw = (field.bits == word_bits ? 0 : raw << field.bits) | value;
                switch (field.kind) {
                case FieldKind::time:
                    parts.tick = Tick{value};
                    break;
                case FieldKind::sequence:
                    parts.sequence = static_cast<uint32_t>(value);
                    break;
                case FieldKind::back:
                    parts.back = static_cast<uint32_t>(value);
                    break;
                case FieldKind::node:
                    node = node << field.bits | value;
                    break;
                }
            }
            parts.node = static_cast<uint32_t>(node);
            ASSERT_EQ(compose(layout, parts), raw) << text;
            ASSERT_EQ(outside_layout(layout, raw), raw >> 63 != 0 && !layout.enciphered) << text;
            const Parts back = split(layout, raw);
            ASSERT_EQ(back.tick, parts.tick) << text;
            ASSERT_EQ(back.node, parts.node) << text;
            ASSERT_EQ(back.sequence, parts.sequence) << text;
            ASSERT_EQ(back.back, parts.back) << text;
            for (int f = 0; f < layout.field_count; f++) {
                ASSERT_EQ(field_value(layout.fields[f], raw), values[f]) << text;
            }
            ASSERT_EQ(place_node(layout, parts.node), compose(layout, {Tick{0}, parts.node, 0, 0}))
                << text;
            ASSERT_EQ(sparx_decrypt(key, sparx_encrypt(key, raw)), raw) << text;

            int64_t us;
            if (tick_start_us(layout, parts.tick, &us)) {
                ASSERT_EQ(tick_of_us(layout, us), static_cast<int64_t>(parts.tick)) << text;
                ASSERT_EQ(tick_of_us(layout, us - 1), static_cast<int64_t>(parts.tick) - 1) << text;
            }
        }
    }
}

TEST(Layout, MaximaMakeTheLargestId)
{
    Random random(4);
    for (int round = 0; round < 5000; round++) {
        const std::string text = random_layout_text(random);
        const Layout layout = parsed(text);
        const uint64_t largest = compose(
            layout, {layout.max_tick, layout.max_node, layout.max_sequence, layout.max_back});
        const int usable = layout.enciphered || layout.bits < 64 ? layout.bits : 63;
        ASSERT_EQ(largest, ones(usable)) << text;
        ASSERT_GT(layout.tick_us, 0);
        ASSERT_LE(layout.tick_us, us_per_day);
    }
}
