// Which step comes next, and what the steps reached.
#include "world.hpp"

namespace sim {

World world;

namespace {

std::vector<StepKind> kinds;
std::vector<Reached*>& reaches()
{
    static std::vector<Reached*> all;
    return all;
}

} // namespace

void steps_begin(const std::vector<StepKind>& all)
{
    kinds.clear();
    for (const StepKind& kind : all) {
        if (kind.feature == 0 || world.has(kind.feature)) {
            kinds.push_back(kind);
        }
    }
}

const StepKind& choose_step(uint64_t number)
{
    chance = Random(mix(world.seed, number + 100));
    int64_t weights = 0;
    for (const StepKind& kind : kinds) {
        weights += kind.weight;
    }
    int64_t at = chance.below(weights);
    const StepKind* chosen = kinds.data();
    while (at >= chosen->weight) {
        at -= chosen->weight;
        chosen++;
    }
    trace_number(number);
    return *chosen;
}

// ---- What was reached

Reached::Reached(char of, const char* text) : feature(of), what(text)
{
    reaches().push_back(this);
}

const Reached* not_reached()
{
    for (const Reached* reached : reaches()) {
        if (reached->count == 0 && (reached->feature == 0 || world.has(reached->feature))) {
            return reached;
        }
    }
    return nullptr;
}

const std::vector<Reached*>& all_reached()
{
    return reaches();
}

} // namespace sim
