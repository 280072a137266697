#include "stamp.hpp"

#include <algorithm>

namespace flakeid {

Stamp floor_at_start(Stamp kept, const Origin& wrote, const Origin& here, int64_t now_us,
                     int64_t reach_us)
{
    Stamp floor = kept;
    if (!same_origin(wrote, here)) {
        const int64_t missed = stamp_us(kept) + extension_us + max_generated_tick_us;
        floor = stamp_of(stamp_back(kept), std::max(missed, now_us + reach_us));
    }
    assert(floor >= kept);
    return std::max(floor, least_stamp);
}

Stamp wanted_stamp(Stamp needed, int64_t now_us, int64_t max_ahead_us)
{
    const int64_t us = std::min(stamp_us(needed) + extension_us, now_us + max_ahead_us);
    return std::max(needed, stamp_of(stamp_back(needed), us));
}

Extension extension(Stamp page, Stamp bound, Stamp needed, Stamp wanted, int64_t since_us)
{
    assert(wanted >= needed);
    if (page > bound || bound >= wanted) {
        return {page, 0}; // another session's extension is on its way, or has arrived
    }
    if (since_us < 0 || since_us >= extension_interval_us ||
        stamp_back(wanted) > stamp_back(bound)) {
        assert(wanted > page);
        return {wanted, 0};
    }
    return {page, bound < needed ? extension_interval_us - since_us : 0};
}

Stamp raised_stamp(Stamp page, Stamp bound, Stamp floor)
{
    const Stamp moved{static_cast<uint64_t>(bound) + 1};
    return std::max(page, std::max(floor, moved));
}

Stamp repaired_stamp(Stamp stamp, int64_t right_us)
{
    return stamp_us(stamp) > right_us ? stamp_of(0, right_us) : stamp;
}

} // namespace flakeid
