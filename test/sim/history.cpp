// What happened so far, for the checkers.
#include "checkers.hpp"
#include "sessions.hpp"
#include "settings/settings.hpp"

namespace sim {

const char* const start_names[] = {"the first start",
                                   "a crash",
                                   "a fast restart",
                                   "a copy put back, files that did not change stay",
                                   "a copy that goes on elsewhere",
                                   "a promotion",
                                   "a dump that goes on elsewhere",
                                   "pg_upgrade"};

std::vector<Life> lives;
std::vector<Transaction> transactions;
uint64_t set_backs, polls;

namespace {

uint64_t handed_out;

} // namespace

void history_begins()
{
    lives.clear();
    transactions.assign(1, Transaction{});
    set_backs = polls = handed_out = 0;
    never_twice_begins();
    repaired_begins();
    rising_begins();
    settled_begins();
    counters_begin();
}

void life_begins(Start how, int64_t behind, bool older_back)
{
    lives.push_back({how, behind, older_back, false});
    lives.back().right_us = right_wall();
    rising_life_begins();
    settled_life_begins();
    raised_life_begins(how);
    other_server_life_begins(how);
    extensions_begin();
    span_life_begins();
    counters_life_begins();
    writes_life_begins();
    repaired_life_begins(how);
}

void database_is_dropped(int database)
{
    horizon_is_raised(database, 0);
    mistake_is_dropped(database);
    settled_is_dropped(database);
    extensions_are_dropped(database);
}

uint64_t ids_handed_out()
{
    return handed_out;
}

void id_is_handed_out(const Id& id)
{
    handed_out++;
    lives.back().made_ids = true;
    note_run("ids %llx to %llx of database %lld, layout %lld", static_cast<int64_t>(id.raw),
             my_database(), id.layout);
    stamped(id);
    inside_layout(id);
    remembered(id.generator);
    nodes_in_step(id);
    never_twice(id);
    within_horizon(id);
    past_other_server(id);
    rising(id);
    close_to_clock(id);
    back_explained(id);
    counter_is_known(id);
    settled_drawn(id);
    past_raised(id);
}

} // namespace sim
