// What happens to the wall clock of the server.
#pragma once

#include "machine.hpp"

namespace sim {

void clocks_begin();

// How far the clock is behind the latest moment that any showed which was right.
int64_t behind();

void set_back(int64_t us);
void put_clock_right();

void step_set_back();
void step_leap();
void step_stand_still();
// A session looks while the clock is an hour ahead: horizons follow, and no id does.
void extend_by_mistake();
// The clock leaps by days; later it is put right, or accepted.
void step_wrong_clock();

} // namespace sim
