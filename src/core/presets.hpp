// The layouts that are known by name.
#pragma once

#include "plain.hpp"

#include <cstddef>

namespace flakeid {

struct Preset {
    const char* name;
    const char* text;
    const char* successor; // a preset of the same kind to move to at the end, or nullptr
};
static_assert(is_plain<Preset>);

// The constants are those of bwmarrin/snowflake, twitter-archive/snowflake, Discord's developer
// documentation, "Sharding & IDs at Instagram" (2012), Mastodon, sony/sonyflake v1 and v2, Baidu's
// UidGenerator with the two that its README recommends for long life, hypersistence TSID, pgEdge
// snowflake, CockroachDB's unique_rowid() and gosuda/randflake, in this order. The last three
// presets are flakeid's own.
inline constexpr Preset presets[] = {
    {"snowflake", "time:41:1ms node:10 sequence:12 epoch=2010-11-04T01:42:54.657Z", "pgedge"},
    {"twitter", "time:41:1ms datacenter:5 worker:5 sequence:12 epoch=2010-11-04T01:42:54.657Z",
     "tsid"},
    {"discord", "time:42:1ms worker:5 process:5 sequence:12 epoch=2015-01-01T00:00:00Z", nullptr},
    {"instagram", "time:41:1ms shard:13 sequence:10 epoch=2011-08-24T21:07:01.721Z", "tsid"},
    {"mastodon", "time:48:1ms sequence:16 epoch=1970-01-01T00:00:00Z", nullptr},
    {"sonyflake", "time:39:10ms sequence:8 machine:16 epoch=2014-09-01T00:00:00Z", "sonyflake2"},
    {"sonyflake2", "time:39:10ms sequence:8 machine:16 epoch=2025-01-01T00:00:00Z", nullptr},
    {"uidgenerator", "time:28:1s worker:22 sequence:13 epoch=2016-05-19T16:00:00Z",
     "uidgenerator31"},
    {"uidgenerator31", "time:31:1s worker:23 sequence:9 epoch=2016-05-19T16:00:00Z", nullptr},
    {"uidgenerator30", "time:30:1s worker:27 sequence:6 epoch=2016-05-19T16:00:00Z",
     "uidgenerator31"},
    {"tsid", "time:42:1ms node:10 sequence:12 epoch=2020-01-01T00:00:00Z", nullptr},
    {"pgedge", "time:41:1ms node:10 sequence:12 epoch=2023-01-01T00:00:00Z", nullptr},
    {"cockroachdb", "time:48:10us node:15 epoch=2015-01-01T00:00:00Z", nullptr}, // read only
    {"randflake", "time:30:1s node:17 sequence:17 epoch=2024-10-27T03:33:20Z cipher=sparx64",
     nullptr},
    {"js53", "time:40:1ms node:6 sequence:7 epoch=2026-01-01T00:00:00Z", nullptr},
    {"rollback2", "time:41:1ms node:8 back:2 sequence:12 epoch=2025-01-01T00:00:00Z", nullptr},
    {"rollback3", "back:3 time:38:10ms node:10 sequence:12 epoch=2026-01-01T00:00:00Z", nullptr},
};

constexpr int preset_count = sizeof presets / sizeof presets[0];

// Returns the preset of that name, or nullptr.
const Preset* find_preset(const char* name, size_t length);

} // namespace flakeid
