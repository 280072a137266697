// G5: an error says what is so.
#include "checkers.hpp"
#include "sessions.hpp"

#include <set>

namespace sim {

std::string refusal_text()
{
    std::string text;
    for (const char* c = my_message; *c != '\0'; c++) {
        text += *c >= '0' && *c <= '9' ? '#' : *c == '%' ? ' ' : *c;
    }
    return text;
}

bool is_deserved()
{
    return my_error == ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED ||
           strstr(my_message, "can make the same ids") != nullptr ||
           strstr(my_message, "no ids left") != nullptr;
}

void refused()
{
    static std::set<std::string> texts;
    note(texts.insert("error: " + refusal_text()).first->c_str());
    const bool early = strstr(my_message, "the clock lies before the epoch") != nullptr;
    for (const SimLayout& layout : layouts) {
        if (early && !world.has('K') && strstr(my_message, layout.text) != nullptr &&
            wall_clock(here()) > layout.layout.epoch_us + 100 * ms) {
            broken("G5: the clock does not lie before the epoch");
        }
    }
}

} // namespace sim
