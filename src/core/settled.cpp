#include "settled.hpp"

#include <algorithm>

namespace flakeid {

bool can_settle(const Layout& layout)
{
    if (layout.enciphered) {
        return false;
    }
    for (int i = 0; i < layout.field_count; i++) {
        if (layout.fields[i].kind == FieldKind::time) {
            // same with >=: no two fields begin at one bit
            return layout.back_bits == 0 || layout.back_shift > layout.time_shift;
        }
        if (layout.fields[i].kind != FieldKind::back) {
            return false;
        }
    }
    return false;
}

uint64_t full_transaction(uint32_t low, uint64_t near)
{
    const auto distance = static_cast<int32_t>(low - static_cast<uint32_t>(near));
    return near + static_cast<uint64_t>(static_cast<int64_t>(distance));
}

bool unfinished(const SnapshotView& view, uint64_t transaction)
{
    if (transaction < view.oldest || transaction >= view.next) {
        return transaction >= view.next;
    }
    for (size_t i = 0; i < view.running_count; i++) {
        if (view.running[i] == static_cast<uint32_t>(transaction)) {
            return true;
        }
    }
    return false;
}

Word skipped_word(const WordShape& shape, Word furthest, Tick now)
{
    if (now > word_tick(shape, furthest)) { // same with >=: a gap
        return last_of_tick(shape, furthest);
    }
    const Word first = word_of(shape, word_back(shape, furthest), now, 0);
    return first == no_word ? no_word : first - 1;
}

Word used_up(const WordShape& shape, Word mark)
{
    const bool begins_count =
        mark != no_word && word_back(shape, mark) != word_back(shape, mark - 1);
    return begins_count ? mark - 1 : last_of_tick(shape, mark);
}

Word within_layout(const WordShape& shape, Word word)
{
    return std::min(word, last_of_tick(shape, shape.has_back ? shape.max_back : 0, shape.max_tick));
}

} // namespace flakeid
