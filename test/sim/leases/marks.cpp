// Settled marks of servers whose ids have leases.
#include "leases/truth.hpp"

#include "checker.hpp"

#include <algorithm>

namespace sim {

namespace {

// Of each server: the highest mark, and the highest id with its moment, of this life.
struct Settled {
    uint64_t life, mark, id;
    int64_t us;
} settled[most_servers];

Settled& settled_here()
{
    Settled& of = settled[here().number];
    if (of.life != here().life) {
        of = {here().life, of.mark, 0, 0};
    }
    return of;
}

} // namespace

void marks_begin()
{
    std::fill(settled, settled + most_servers, Settled{});
}

void marks_are_of(int copy, int original)
{
    settled[copy].mark = original < 0 ? 0 : settled[original].mark;
}

void mark_sees_id(const flakeid::Generator& g, uint64_t raw, int64_t from_us)
{
    Settled& marks = settled_here();
    if (g.of_settings && raw < marks.mark) {
        tell("id %llx, mark %llx", static_cast<unsigned long long>(raw),
             static_cast<unsigned long long>(marks.mark));
        broken("an id below a settled mark");
    }
    if (g.of_settings && raw > marks.id) {
        marks.id = raw;
        marks.us = from_us;
    }
}

void mark_is_answered(int64_t mark, bool all_ended)
{
    Settled& marks = settled_here();
    note("mark %llx", mark);
    mark_skips_nodes();
    // By then the clock has passed all nodes.
    const bool rests = all_ended && marks.id > 0 && marks.us < wall_clock(here()) - 10 * second;
    if (rests && static_cast<uint64_t>(mark) <= marks.id) {
        tell("id %llx, mark %llx", static_cast<unsigned long long>(marks.id),
             static_cast<unsigned long long>(mark));
        broken("life: a settled mark does not pass an id");
    }
    marks.mark = std::max(marks.mark, static_cast<uint64_t>(mark));
}

} // namespace sim
