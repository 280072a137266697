// Life: when all is well, each server makes ids soon; and what is looked at now and then.
#pragma once

#include "world.hpp"

namespace sim {

constexpr int64_t calm_bound_us = 30 * second; // then each server makes ids

void expect_no_renewals(); // leases are too long for them

extern int64_t next_look; // true time
void look();

} // namespace sim
