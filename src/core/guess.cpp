#include "guess.hpp"

#include <cstring>

namespace flakeid {

namespace {

// Ids that are younger than this are equally plausible.
constexpr int64_t young_us = 7889400 * us_per_s; // a quarter of a year

int bits_of(uint64_t value)
{
    return value == 0 ? 0 : word_bits - __builtin_clzll(value);
}

// A field that counts from 0 is as long as its value, plus what says how long that is. None needs
// much more than all its bits.
int weight_of_field(const Field& field, uint64_t value, bool even)
{
    if (even) {
        return field.bits;
    }
    if (value == 0) {
        return 1;
    }
    const int counted = bits_of(value) + 3;
    return counted < field.bits + 2 ? counted : field.bits + 2;
}

int weight_of(const Habit& habit, const Layout& layout, uint64_t raw, int64_t now_us)
{
    int64_t made_us = now_us;
    (void)tick_start_us(layout, split(layout, raw).tick, &made_us);
    const int64_t age_us = made_us < now_us ? now_us - made_us : 0;
    int weight =
        habit.rarity + bits_of(static_cast<uint64_t>((age_us + young_us) / layout.tick_us));
    for (int i = 0; i < layout.field_count; i++) {
        const Field& field = layout.fields[i];
        if (field.kind != FieldKind::time) {
            const bool even = field.kind == FieldKind::node       ? habit.even_node
                              : field.kind == FieldKind::sequence ? habit.even_sequence
                                                                  : false;
            const uint64_t first = field.kind == FieldKind::node && habit.node_from_one ? 1 : 0;
            weight += weight_of_field(
                field, (field_value(field, raw) - first) & low_mask(field.bits), even);
        }
    }
    return weight;
}

} // namespace

int guess_presets(uint64_t id, const SparxKey* key, int64_t now_us, int64_t until_us,
                  Guess (&guesses)[preset_count])
{
    int count = 0;
    for (int i = 0; i < preset_count; i++) {
        Guess guess{};
        guess.preset = i;
        (void)parse_layout(presets[i].text, strlen(presets[i].text), &guess.layout);
        if (guess.layout.enciphered && key == nullptr) {
            continue;
        }
        guess.raw = guess.layout.enciphered ? sparx_decrypt(*key, id) : id;
        if (!possible_id(guess.layout, guess.raw, until_us)) {
            continue;
        }
        guess.weight = weight_of(habits[i], guess.layout, guess.raw, now_us);
        int at = count++;
        for (; at > 0 && guesses[at - 1].weight > guess.weight; at--) {
            guesses[at] = guesses[at - 1];
        }
        guesses[at] = guess;
    }
    return count;
}

} // namespace flakeid
