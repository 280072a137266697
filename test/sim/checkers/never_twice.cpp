// G1: no raw id is handed out twice, over all databases, layouts and lives.
#include "checkers.hpp"
#include "map.hpp"
#include "sessions.hpp"
#include "world.hpp"

#include <algorithm>

namespace sim {

const char* kind_of_lives(size_t first, size_t last)
{
    int64_t behind = 0;
    bool put_back = false, moved = false, older_back = false, waits = false;
    for (size_t i = first + 1; i <= last; i++) {
        put_back = put_back || lives[i].how == Start::put_back;
        moved = moved || (took_a_place(lives[i].how) && lives[i].how != Start::put_back);
        // Until it makes its first id, a server that took another's place may be corrected.
        waits = took_a_place(lives[i].how) || (waits && !lives[i - 1].made_ids);
        behind = std::max(behind, waits ? lives[i].behind : 0);
        older_back = older_back || lives[i].older_back;
    }
    return first == last             ? "one life"
           : !moved && !put_back     ? "a restart"
           : behind >= clock_may_lag ? beyond_promise
           : put_back                ? "3: a copy was put back, identity unchanged"
           : older_back              ? "8b: a copy is older than a raised back"
           : behind > 0 ? "8a: a copy or standby, its clock behind by less than allowed"
                        : "a copy or standby, right clock";
}

namespace {

struct Owner {
    uint8_t database, layout;
    uint32_t life;
    int32_t transaction;
    int64_t at; // wall clock
};

IdMap<Owner> owners;

// The kind of a repeat, from what lies between the two ids: the most special circumstance first.
const char* kind_of(const Owner& a, const Owner& b)
{
    const char* kind = kind_of_lives(a.life, b.life);
    if (kind == beyond_promise) {
        return kind;
    }
    const flakeid::Layout& of_a = layouts[a.layout].layout;
    const flakeid::Layout& of_b = layouts[b.layout].layout;
    // What a layout has made stands in the file of the server, which another server may not have.
    const auto used = [](const flakeid::Layout& layout) {
        return flakeid::used_by(layout, flakeid::id_bits(layout, 0));
    };
    const bool moved = std::any_of(lives.begin() + a.life + 1, lives.begin() + b.life + 1,
                                   [](const Life& life) { return took_a_place(life.how); });
    if (moved && !flakeid::in_step(used(of_a), used(of_b))) {
        return beyond_promise;
    }
    if (of_a.tick_us != of_b.tick_us) {
        return "4: scaled layouts";
    }
    if ((of_a.back_bits > 0) != (of_b.back_bits > 0)) {
        return "2: a plain layout and one with back";
    }
    if (a.life != b.life && a.database != b.database && !is_numbered(kind)) {
        return "1: two databases and a restart";
    }
    return kind;
}

} // namespace

void never_twice_begins()
{
    owners.clear();
}

void never_twice(const Id& id)
{
    const Owner now{static_cast<uint8_t>(my_database()), static_cast<uint8_t>(id.layout),
                    static_cast<uint32_t>(lives.size() - 1), id.transaction, wall_clock(here())};
    Owner* before = owners.add(id.raw, now);
    if (before == nullptr) {
        return;
    }
    if (forgotten(id, before->life)) {
        *before = now;
        return;
    }
    tell("id %llx was drawn in database %d, layout \"%s\", life %u; then in database %d, layout "
         "\"%s\", life %u, %.3f s later by the wall clock",
         static_cast<unsigned long long>(id.raw), before->database, layouts[before->layout].name,
         before->life, now.database, layouts[now.layout].name, now.life,
         static_cast<double>(now.at - before->at) / 1e6);
    for (uint32_t i = before->life + 1; i <= now.life; i++) {
        tell("\nlife %u: %s, clock behind by %.3f s at most", i,
             start_names[static_cast<int>(lives[i].how)],
             static_cast<double>(lives[i].behind) / 1e6);
    }
    const char* kind = kind_of(*before, now);
    if (kind == beyond_promise) {
        forget_told();
    } else {
        broken("%s%s", is_numbered(kind) ? "" : "an id twice, ", kind);
    }
    *before = now;
}

} // namespace sim
