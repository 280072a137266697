// A draw gives ids that the layout has, no more than were wanted, and those of a block in one tick.
#include "checkers.hpp"

namespace sim {

void inside_layout(const Id& id)
{
    const flakeid::Generator& g = id.generator;
    if (word_tick(g.shape, id.word) > g.shape.max_tick ||
        id.word > last_of_tick(g.shape, g.shape.max_back, g.shape.max_tick)) {
        tell("word %llx", static_cast<unsigned long long>(word_number(id.word)));
        broken("an id past the last one of its layout");
    }
}

void as_wanted(const flakeid::Generator& generator, const flakeid::Draw& draw, flakeid::Want want)
{
    tell("%u of %u ids", draw.count, want.count);
    if (draw.count > want.count) {
        broken("more ids than were asked for");
    }
    if (want.in_one_tick && (draw.count != want.count ||
                             word_tick(generator.shape, draw.word) !=
                                 word_tick(generator.shape, draw.word + (draw.count - 1)))) {
        broken("a block that is not in one tick");
    }
    forget_told();
}

} // namespace sim
