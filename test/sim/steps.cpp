// Which step comes next, what the steps reached, and lists of steps as text.
#include "run.hpp"
#include "world.hpp"

#include <cstdlib>

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

// ---- Lists

bool is_list(const std::string& steps)
{
    return steps.find_first_of(",-") != std::string::npos;
}

Steps read_steps(const std::string& text)
{
    Steps steps;
    if (!is_list(text)) {
        for (uint64_t i = 0; i < strtoull(text.c_str(), nullptr, 10); i++) {
            steps.push_back(i);
        }
        return steps;
    }
    const char* at = text.c_str();
    while (*at != '\0') {
        char* end;
        const uint64_t first = strtoull(at, &end, 10);
        const uint64_t last = *end == '-' ? strtoull(end + 1, &end, 10) : first;
        for (uint64_t i = first; i <= last; i++) {
            steps.push_back(i);
        }
        at = *end == ',' ? end + 1 : end;
        if (*at != '\0' && end == at) {
            exit(2);
        }
    }
    return steps;
}

std::string write_steps(const Steps& steps)
{
    std::string text;
    for (size_t i = 0; i < steps.size();) {
        size_t last = i;
        while (last + 1 < steps.size() && steps[last + 1] == steps[last] + 1) {
            last++;
        }
        text += (text.empty() ? "" : ",") + std::to_string(steps[i]) +
                (last > i ? "-" + std::to_string(steps[last]) : "");
        i = last + 1;
    }
    return is_list(text) ? text : text + ",";
}

} // namespace sim
