// How sessions ask for settled marks.
#pragma once

#include <cstdint>

namespace sim {

void polls_begin(); // of a life
// In some lives polls begin late.
bool may_poll();

void poll(bool on_errand, bool (*nobody_else_works)());
void poll_is_refused();
// Somebody holds a snapshot for some time, perhaps.
bool snapshot_is_held();

// A transaction of the process in that seat has ended, and drew so many ids.
void pins_may_be_kept(int seat, int64_t most);

} // namespace sim
