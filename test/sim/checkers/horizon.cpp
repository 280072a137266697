// G1, how it is kept: an id is stamped up to the flushed horizon of its database only, and up to
// the latest moment there whatever its count, and for a node that is remembered to make ids. Up to
// what the flushed file of the server says, too. Both say how far ahead of the clock ids lie.
#include "checkers.hpp"
#include "world.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

namespace {

// A repair forgets what is drawn while it is under way.
bool is_past(const Id& id, int64_t stamp, int64_t horizon)
{
    const int database = my_database();
    return stamp > horizon && id.repairs_before == repairs_of(database) &&
           !repair_goes_on(database);
}

// Whoever takes the server's place begins past what he knows of that.
void ahead_is_remembered(const Id& id, const char* where, const flakeid::Stamped& said)
{
    // What was drawn by a clock that was set back since lies further ahead.
    const int64_t ahead_us = word_start_us(id.generator, id.word) - my_highest_wall;
    if (set_backs == 0 && ahead_us > std::max(said.most_ahead_us, flakeid::assumed_ahead_us)) {
        tell("%.6f s ahead, the %s says %.6f", static_cast<double>(ahead_us) / 1e6, where,
             static_cast<double>(said.most_ahead_us) / 1e6);
        broken("an id further ahead of the clock than the %s remembers", where);
    }
}

} // namespace

const flakeid::Body& flushed_file(Server& server)
{
    static std::string bytes;
    static flakeid::Body said;
    const auto file = server.now.files.find("flakeid/horizon");
    const std::string now = file == server.now.files.end() ? "" : file->second.flushed;
    if (now == bytes) {
        return said;
    }
    bytes = now;
    flakeid::Record records[flakeid::record_count] = {};
    memcpy(records, bytes.data(), std::min(bytes.size(), sizeof records));
    said = {};
    for (const flakeid::Record& record : records) {
        if (is_sealed(record) && record.head.fence == fence_of_records(records)) {
            flakeid::Body body;
            memcpy(&body, record.body, sizeof body);
            body.stamped = merged(said.stamped, body.stamped);
            if (said.counter != 0 && said.counter != body.counter) {
                body.counter = body.counter == 0 ? said.counter : flakeid::several_counters;
            }
            said = body;
        }
    }
    return said;
}

void within_horizon(const Id& id)
{
    const flakeid::Durable durable = durable_of(here().flushed_rows[my_database()]);
    const int64_t stamp = stamp_number(stamp_of_word(id.generator, id.word));
    if (is_past(id, stamp, durable.stamped.stamp[id.generator.kind])) {
        tell("stamp %llx, horizon %llx", static_cast<long long>(stamp),
             static_cast<long long>(durable.stamped.stamp[id.generator.kind]));
        broken("an id past the flushed horizon");
    }
    const int64_t in_file = flushed_file(here()).stamped.stamp[id.generator.kind];
    if (is_past(id, stamp, in_file)) {
        tell("stamp %llx, the file says %llx", static_cast<long long>(stamp),
             static_cast<long long>(in_file));
        broken("an id past the horizon of the server");
    }
    const int64_t us = word_start_us(id.generator, id.word);
    if (us > durable.stamped.latest_us) {
        tell("moment %.6f, latest %.6f", static_cast<double>(us) / 1e6,
             static_cast<double>(durable.stamped.latest_us) / 1e6);
        broken("an id past the latest moment that is flushed, whatever its count");
    }
    const auto bit = static_cast<int64_t>(flakeid::bit_of_node(id.generator.node));
    if ((durable.stamped.nodes & bit) == 0) {
        tell("node %u", id.generator.node);
        broken("an id of a node that is not remembered");
    }
    ahead_is_remembered(id, "row", durable.stamped);
    ahead_is_remembered(id, "file", flushed_file(here()).stamped);
}

} // namespace sim
