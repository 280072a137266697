// G1, how it is kept: an id is stamped up to the flushed horizon of its database only, and up to
// the latest moment there whatever its count, and for a node that is remembered to make ids.
#include "checkers.hpp"

namespace sim {

void within_horizon(const Id& id)
{
    const auto database = MyDatabaseId - first_database;
    const flakeid::Durable durable = durable_of(here().flushed_rows[database]);
    const int64_t stamp = stamp_number(stamp_of_word(id.generator, id.word));
    if (stamp > durable.stamped.stamp[id.generator.kind]) {
        tell("stamp %llx, horizon %llx", static_cast<long long>(stamp),
             static_cast<long long>(durable.stamped.stamp[id.generator.kind]));
        broken("an id past the flushed horizon");
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
}

} // namespace sim
