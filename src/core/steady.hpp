// Moments of a clock that is never set back, in microseconds; its zero is arbitrary. A type of its
// own, so that no moment of the wall clock takes its place.
#pragma once

#include <cstdint>

namespace flakeid {

enum class Steady : int64_t {};

constexpr Steady steady_past{0}; // has passed, whatever the clock says
constexpr Steady steady_never{INT64_MAX};

constexpr Steady operator+(Steady moment, int64_t us)
{
    return Steady{static_cast<int64_t>(moment) + us};
}

// In microseconds
constexpr int64_t operator-(Steady later, Steady earlier)
{
    return static_cast<int64_t>(later) - static_cast<int64_t>(earlier);
}

} // namespace flakeid
