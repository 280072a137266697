// G5: an error says what is so.
#include "checkers.hpp"
#include "sessions.hpp"

#include <set>

namespace sim {

namespace {

// No floor lies further ahead of what any clock showed, but for one that was raised by mistake.
constexpr int64_t furthest_floor = 30 * second;

// Another layout may have counted further back than this one can.
bool has_ids_left(const flakeid::Layout& layout)
{
    return !world.has('f') && (layout.back_bits == 0 || set_backs <= layout.max_back) &&
           right_wall() + furthest_floor < end_us(layout);
}

} // namespace

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
        if (my_error == ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED &&
            strstr(my_message, layout.text) != nullptr && has_ids_left(layout.layout)) {
            tell("%s", my_message);
            broken("G5: the layout has ids left");
        }
    }
}

} // namespace sim
