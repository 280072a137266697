#include "stamp.hpp"

#include <algorithm>

namespace flakeid {

Stamped merged(const Stamped& a, const Stamped& b)
{
    Stamped both = a;
    for (int kind = 0; kind < horizon_kinds; kind++) {
        both.stamp[kind] = std::max(a.stamp[kind], b.stamp[kind]);
    }
    both.latest_us = std::max(a.latest_us, b.latest_us);
    // same with min: it lies before the plain stamp
    both.least_us = std::max(a.least_us, b.least_us);
    both.most_ahead_us = std::max(a.most_ahead_us, b.most_ahead_us);
    both.nodes |= b.nodes;
    return both;
}

void take_stamp(Stamped* stamped, int kind, Stamp stamp)
{
    stamped->stamp[kind] = std::max(stamped->stamp[kind], stamp_number(stamp));
    stamped->latest_us = std::max(stamped->latest_us, stamp_us(stamp));
}

Floors floors_at_start(const Stamped& stamped, int64_t lost_until_us)
{
    const Stamp plain = stamp_of_number(stamped.stamp[plain_horizon]);
    const Stamp back = stamp_of_number(stamped.stamp[back_horizon]);
    // same with second min: stamped.latest_us is past both
    int64_t latest_us = std::max(stamped.latest_us, std::max(stamp_us(plain), stamp_us(back)));
    Floors floors{{no_stamp, back}, std::max(stamped.least_us, stamp_us(plain))};
    if (lost_until_us != 0) {
        const int64_t missed = latest_us + extension_us + max_generated_tick_us;
        latest_us = std::max(lost_until_us, latest_us == 0 ? 0 : missed);
        floors.stamp[back_horizon] = stamp_of(stamp_back(back), latest_us);
        floors.least_us = latest_us;
    }
    floors.stamp[plain_horizon] = stamp_of(0, latest_us);
    for (Stamp& stamp : floors.stamp) {
        stamp = std::max(stamp, least_stamp);
    }
    assert(floors.stamp[plain_horizon] >= plain && floors.stamp[back_horizon] >= back);
    return floors;
}

Floors later(const Floors& a, const Floors& b)
{
    return {{std::max(a.stamp[plain_horizon], b.stamp[plain_horizon]),
             std::max(a.stamp[back_horizon], b.stamp[back_horizon])},
            std::max(a.least_us, b.least_us)}; // same with min: the first extension takes it too
}

Stamp wanted_stamp(Stamp needed, int64_t now_us, int64_t max_ahead_us, int64_t head_start_until_us)
{
    const int64_t furthest = std::max(now_us + max_ahead_us, head_start_until_us);
    const int64_t us = std::min(stamp_us(needed) + extension_us, furthest);
    return std::max(needed, stamp_of(stamp_back(needed), us));
}

int64_t file_target_us(int64_t us, int64_t now_us, int64_t max_ahead_us)
{
    // same with min: another database waits a second
    return std::max(us, std::min(us + extension_interval_us, now_us + max_ahead_us));
}

Extension extension(Stamp page, Stamp bound, Stamp needed, Stamp wanted, int64_t since_us)
{
    assert(wanted >= needed);
    // same with <=, >: one more extension
    const bool outdated = page < needed && since_us >= extension_interval_us;
    if ((page > bound && !outdated) || bound >= wanted) { // same with >: it stands there already
        return {page, 0}; // another session's extension is on its way, or has arrived
    }
    if (since_us < 0 || since_us >= extension_interval_us || // same with >: asked again at once
        stamp_back(wanted) > stamp_back(bound)) {
        assert(wanted > page);
        return {wanted, 0};
    }
    // same with <=: nobody waits then
    return {page, bound < needed ? extension_interval_us - since_us : 0};
}

Stamp repaired_stamp(Stamp stamp, int64_t right_us)
{
    // same with >=: the moment stays
    return stamp_us(stamp) > right_us ? stamp_of(0, right_us) : stamp;
}

} // namespace flakeid
