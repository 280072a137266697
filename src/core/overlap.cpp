#include "overlap.hpp"

#include <cassert>

namespace flakeid {

namespace {

// The oldest epoch of any preset's kind of ids: nobody made such ids before it.
constexpr int64_t first_ids_us = 1288834974657 * us_per_ms;

bool are_close(int64_t a_us, int64_t b_us)
{
    const __int128 apart = static_cast<__int128>(a_us) - b_us;
    return apart < epochs_apart_us && -apart < epochs_apart_us;
}

// What a step of time is worth in the id.
struct StepOfTime {
    int64_t odd_us; // the tick without its factors of 2
    int shift;
};

bool operator==(const StepOfTime& a, const StepOfTime& b)
{
    return a.odd_us == b.odd_us && a.shift == b.shift;
}

// The step is 2^time_shift for each tick, which is 2^shift for each odd_us.
StepOfTime step_of_time(const IdBits& bits)
{
    StepOfTime step{bits.tick_us, bits.time_shift};
    while (step.odd_us % 2 == 0) {
        step.odd_us /= 2;
        step.shift--;
    }
    return step;
}

// The ticks of a layout between two moments, as far as it has any.
Ticks ticks_between(const Layout& layout, int64_t first_us, int64_t last_us)
{
    const int64_t first = tick_of_us(layout, first_us);
    const int64_t last = tick_of_us(layout, last_us);
    if (last < 0) {
        return {Tick{1}, Tick{0}};
    }
    const auto end = static_cast<Tick>(last);
    return {first < 0 ? Tick{0} : static_cast<Tick>(first),
            end < layout.max_tick ? end : layout.max_tick};
}

// Goes down an id from its highest bit, and tells whether its tick can still lie in a stretch.
class Descent {
public:
    Descent(const Layout& layout, Ticks ticks)
        : ticks_(ticks), shift_(layout.time_shift), time_bits_(layout.time_bits)
    {
        const bool signed_word = layout.bits == word_bits && !layout.enciphered;
        usable_ = low_mask(layout.bits - (signed_word ? 1 : 0));
    }

    // So far the tick is the beginning of the first one, of the last one, or of both.
    struct At {
        bool first, last;
    };

    bool take(int place, bool bit, At& at) const
    {
        if (bit && (usable_ >> place & 1) == 0) {
            return false;
        }
        if (place < shift_ || place >= shift_ + time_bits_) {
            return true;
        }
        const bool first = tick_number(ticks_.first) >> (place - shift_) & 1;
        const bool last = tick_number(ticks_.last) >> (place - shift_) & 1;
        if ((at.first && bit < first) || (at.last && bit > last)) {
            return false;
        }
        at.first = at.first && bit == first;
        at.last = at.last && bit == last;
        return true;
    }

private:
    Ticks ticks_;
    uint64_t usable_;
    int shift_, time_bits_;
};

} // namespace

uint32_t bits_of_span(uint32_t first_node, uint32_t last_node)
{
    assert(first_node <= last_node);
    uint32_t differ = first_node ^ last_node;
    for (int shift = 1; shift < 32; shift *= 2) {
        differ |= differ >> shift;
    }
    return differ;
}

IdBits id_bits(const Layout& layout, uint32_t node, uint32_t any_of)
{
    IdBits bits{};
    bits.tick_us = layout.tick_us;
    bits.epoch_us = layout.epoch_us;
    bits.time_shift = layout.time_shift;
    bits.varying = tick_number(layout.max_tick) << layout.time_shift |
                   static_cast<uint64_t>(layout.max_sequence) << layout.sequence_shift |
                   static_cast<uint64_t>(layout.max_back) << layout.back_shift |
                   place_node(layout, any_of & layout.max_node);
    bits.fixed = place_node(layout, node & ~any_of);
    return bits;
}

bool same_step(const IdBits& a, const IdBits& b)
{
    return step_of_time(a) == step_of_time(b);
}

bool can_overlap(const IdBits& a, const IdBits& b)
{
    assert((a.varying & a.fixed) == 0 && (b.varying & b.fixed) == 0);
    return same_step(a, b) && are_close(a.epoch_us, b.epoch_us) &&
           ((a.fixed ^ b.fixed) & ~a.varying & ~b.varying) == 0;
}

bool share_id(const Layout& a, Ticks of_a, const Layout& b, Ticks of_b)
{
    if (of_a.first > of_a.last || of_b.first > of_b.last) {
        return false;
    }
    const Descent descent_a(a, of_a), descent_b(b, of_b);
    // All states that some id leads to.
    auto number = [](Descent::At at_a, Descent::At at_b) {
        return at_a.first | at_a.last << 1 | at_b.first << 2 | at_b.last << 3;
    };
    unsigned reached = 1u << number({true, true}, {true, true});
    for (int place = word_bits - 1; place >= 0; place--) {
        unsigned next = 0;
        for (int state = 0; state < 16; state++) {
            for (int bit = 0; bit <= 1; bit++) {
                Descent::At at_a{(state & 1) != 0, (state & 2) != 0};
                Descent::At at_b{(state & 4) != 0, (state & 8) != 0};
                if ((reached >> state & 1) != 0 && descent_a.take(place, bit != 0, at_a) &&
                    descent_b.take(place, bit != 0, at_b)) {
                    next |= 1u << number(at_a, at_b);
                }
            }
        }
        reached = next;
    }
    return reached != 0;
}

bool may_repeat(const Layout& maker, const Layout& earlier, int64_t now_us)
{
    return maker.enciphered == earlier.enciphered &&
           share_id(maker, ticks_between(maker, now_us, INT64_MAX), earlier,
                    ticks_between(earlier, first_ids_us, now_us));
}

} // namespace flakeid
