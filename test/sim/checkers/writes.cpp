// What many processors meet in: an id costs one write to a cache line that other sessions write, a
// reserved id none, and the end of a transaction none. Until somebody asks for a settled mark, an
// end writes two lines of its own: its pins go, and its ids are counted.
#include "checkers.hpp"
#include "sessions.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace sim {

namespace {

constexpr uintptr_t line_size = 64;
constexpr int most_at_end = 2;

// The bits are of places of processes; a worker counts as its leader, whose pins it sets.
struct Line {
    uint32_t writers = 0;
    uint32_t enders = 0; // who wrote it at the end of a transaction
};
std::unordered_map<uintptr_t, Line> lines; // of this life

// What was written in this life. What is written once in a life is seldom met by others, so its
// first writer stands still before it now and then.
std::unordered_set<const volatile void*> ever_written;

// No world has this feature: it need not happen.
Reached ids_counted('.', "an id, with nothing but its draw");
Reached id_lines('.', "a cache line that others write, for such an id");
Reached reserved_counted('.', "a reserved id");
Reached reserved_lines('.', "a cache line that others write, for a reserved id");
Reached ends_counted('.', "an end of a transaction");
Reached end_lines('.', "a cache line that others write, at an end");
Reached unpolled_ends('.', "an end before anybody asked for a settled mark");
Reached own_lines('.', "a cache line that such an end writes");

PROCESS_LOCAL uint64_t my_waits_before = 0;
PROCESS_LOCAL int my_line_count = 0; // that others write, since draw_is_counted()
PROCESS_LOCAL uintptr_t my_last_line = 0;
PROCESS_LOCAL uintptr_t my_end_lines[most_at_end] = {};
PROCESS_LOCAL int my_end_line_count = 0;

bool many(uint32_t writers)
{
    return (writers & (writers - 1)) != 0;
}

// This end of a transaction writes a line.
void count_at_end(uintptr_t number)
{
    if (std::count(my_end_lines, my_end_lines + my_end_line_count, number) > 0) {
        return;
    }
    if (my_end_line_count == most_at_end) {
        broken("nobody asked for a mark, and the end of a transaction writes more than it must");
        return;
    }
    my_end_lines[my_end_line_count++] = number;
    own_lines();
}

} // namespace

void written(const volatile void* address)
{
    if (running == nullptr || my_place < 0) {
        return;
    }
    if (ever_written.insert(address).second && !plan.on && chance.one_in(8)) {
        sleep_us(chance.below(3 * ms));
    }
    const uintptr_t number = reinterpret_cast<uintptr_t>(address) / line_size;
    Line& line = lines[number];
    const uint32_t me = 1u << my_place;
    line.writers |= me;
    line.enders |= my_ending ? me : 0;
    if (my_ending && !lives.back().polled) {
        count_at_end(number);
    }
    if (!many(line.writers)) {
        return;
    }
    if (my_ending) {
        end_lines();
    }
    if (line.enders != 0) {
        broken("the end of a transaction writes what other sessions write");
    }
    if (my_line_count == 0 || my_last_line != number) {
        my_line_count++;
        my_last_line = number;
    }
}

void writes_life_begins()
{
    lines.clear();
    ever_written.clear();
}

void end_is_counted()
{
    my_end_line_count = 0;
    if (!lives.back().polled) {
        unpolled_ends();
    }
    ends_counted();
}

void draw_is_counted()
{
    my_line_count = 0;
    my_waits_before = my_waits;
}

// `most`: how many such lines the id may cost. One that had to wait, or took a lock, may cost more,
// and so may one that lies further ahead of the clock than any before, or that sees a clock set
// back.
void id_is_counted(const flakeid::Generator& g, flakeid::Word word, int most)
{
    if (my_waits != my_waits_before || word_tick(g.shape, word) > g.limits.now ||
        world.chosen.find_first_of("Kfw") != std::string::npos) {
        return;
    }
    (most > 0 ? ids_counted : reserved_counted)();
    for (int i = 0; i < my_line_count; i++) {
        (most > 0 ? id_lines : reserved_lines)();
    }
    if (my_line_count > most) {
        tell("%d lines", my_line_count);
        broken("an id writes more of what other sessions write than it must");
    }
}

} // namespace sim
