// G5: an error says what is so.
#include "checkers.hpp"
#include "sessions.hpp"

#include <algorithm>
#include <set>

namespace sim {

namespace {

// No floor lies further ahead of what any clock showed, but for one that was raised by mistake.
constexpr int64_t furthest_floor = 30 * second;

// Less than that after a start is waited for, whatever the layout.
constexpr double longest_waited_for_s = 12;

// Another layout may have counted further back than this one can.
bool has_ids_left(const flakeid::Layout& layout)
{
    return !world.has('f') && (layout.back_bits == 0 || set_backs <= layout.max_back) &&
           right_wall() + furthest_floor < end_us(layout);
}

// Of what is refused; 0: it is something else.
double ahead_of_clock_s()
{
    double ahead_s = 0;
    char unit = ' ';
    const char* lies = strstr(my_message, " lies ");
    const bool ahead = lies != nullptr && sscanf(lies, " lies %lf %c", &ahead_s, &unit) == 2;
    return ahead && unit == 's' ? ahead_s : 0; // not 'm' of ms
}

// What lay ahead by mistake is forgotten by all sessions at once.
void knows_of_repair()
{
    // Dumps bring mistakes.
    const bool sure = world.chosen.find_first_of("wVpM") == std::string::npos;
    if (sure && ahead_of_clock_s() > far_ahead / second && is_repaired(my_database())) {
        tell("%s", my_message);
        broken("a session refuses ids for a mistake that was repaired");
    }
}

// A layout that counts set-backs waits for none that is long, while it has counts left.
void counts_what_it_can()
{
    const double ahead_s = ahead_of_clock_s();
    const bool sure =
        world.chosen.find_first_not_of("BKDXFTWAUGQENYs") == std::string::npos &&
        std::none_of(lives.begin() + 1, lives.end(), [](const Life& life) { return life.unsure; });
    if (ahead_s > longest_waited_for_s && sure && all_count(here()) &&
        set_backs < static_cast<uint64_t>(layouts[layout_of_database[0]].layout.max_back)) {
        tell("%s, after %llu set-backs", my_message, static_cast<unsigned long long>(set_backs));
        broken("G5: a set-back is waited for that is to be counted");
    }
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
           strstr(my_message, "comes to ids that another layout made") != nullptr ||
           strstr(my_message, "no ids left") != nullptr;
}

void refused()
{
    static std::set<std::string> texts;
    note(texts.insert("error: " + refusal_text()).first->c_str());
    const bool early = strstr(my_message, "the clock lies before the epoch") != nullptr;
    if (strstr(my_message, "could not write file") != nullptr && !world.has('I')) {
        broken("G6: a file is not written, and no disk fails");
    }
    counts_what_it_can();
    knows_of_repair();
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
