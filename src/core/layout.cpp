#include "layout.hpp"

#include <cassert>
#include <cstring>

namespace flakeid {

bool same_layout(const Layout& a, const Layout& b)
{
    if (a.field_count != b.field_count || a.tick_us != b.tick_us || a.epoch_us != b.epoch_us ||
        a.enciphered != b.enciphered) {
        return false;
    }
    for (int i = 0; i < a.field_count; i++) {
        if (a.fields[i].bits != b.fields[i].bits ||
            strcmp(a.fields[i].name, b.fields[i].name) != 0) {
            return false;
        }
    }
    return true;
}

uint64_t place_node(const Layout& layout, uint32_t node)
{
    assert((node & ~low_mask(layout.node_bits)) == 0);
    uint64_t raw = 0;
    for (int i = layout.field_count - 1; i >= 0; i--) {
        const Field& field = layout.fields[i];
        if (field.kind == FieldKind::node) {
            raw |= (node & low_mask(field.bits)) << field.shift;
            node = static_cast<uint32_t>(static_cast<uint64_t>(node) >> field.bits);
        }
    }
    return raw;
}

uint64_t compose(const Layout& layout, const Parts& parts)
{
    assert((tick_number(parts.tick) & ~low_mask(layout.time_bits)) == 0);
    assert((parts.sequence & ~low_mask(layout.sequence_bits)) == 0);
    assert((parts.back & ~low_mask(layout.back_bits)) == 0);
    return tick_number(parts.tick) << layout.time_shift |
           static_cast<uint64_t>(parts.sequence) << layout.sequence_shift |
           (layout.back_bits == 0 ? 0 : static_cast<uint64_t>(parts.back) << layout.back_shift) |
           place_node(layout, parts.node);
}

bool time_ordered(const Layout& layout)
{
    return !layout.enciphered && layout.fields[0].kind == FieldKind::time;
}

bool possible_id(const Layout& layout, uint64_t raw, int64_t until_us)
{
    int64_t made_us;
    return !outside_layout(layout, raw) &&
           tick_start_us(layout, split(layout, raw).tick, &made_us) && made_us <= until_us;
}

int64_t tick_of_us(const Layout& layout, int64_t us)
{
    const __int128 since = static_cast<__int128>(us) - layout.epoch_us;
    const __int128 tick = since / layout.tick_us - (since % layout.tick_us < 0 ? 1 : 0);
    return tick > INT64_MAX ? INT64_MAX : tick < INT64_MIN ? INT64_MIN : static_cast<int64_t>(tick);
}

int64_t end_us(const Layout& layout)
{
    int64_t us;
    return tick_start_us(layout, layout.max_tick, &us) && us <= INT64_MAX - layout.tick_us
               ? us + layout.tick_us
               : INT64_MAX;
}

bool makes_ids(const Layout& layout)
{
    return layout.sequence_bits > 0 && layout.tick_us <= max_generated_tick_us;
}

int64_t ids_per_second(const Layout& layout)
{
    return makes_ids(layout)
               ? static_cast<int64_t>((static_cast<uint64_t>(layout.max_sequence) + 1) * us_per_s /
                                      static_cast<uint64_t>(layout.tick_us))
               : 0;
}

} // namespace flakeid
