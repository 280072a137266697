// Compiled in front of the sources that test/sim/mutants has broken. All faults stand in one
// program, and MUTANT in the environment says which of them counts.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

__attribute__((weak, section("mutant"))) int mutant_number = -1;

__attribute__((weak, constructor)) void mutant_choose()
{
    const char* number = getenv("MUTANT");
    mutant_number = number != nullptr ? atoi(number) : -1;
}

constexpr bool mutant_is(int number)
{
    if (__builtin_is_constant_evaluated()) {
        return false;
    }
    return mutant_number == number;
}

// `a < MutantShift<7>() < b` is `a < b`, but `a <= b` where fault 7 counts; so are the other three.
template <int number>
struct MutantShift {
};
template <int number, typename T>
struct MutantLeft {
    T value;
};
#define MUTANT_SHIFTS(operator_, other)                                                            \
    template <int number, typename T>                                                              \
    constexpr MutantLeft<number, T> operator operator_(T value, MutantShift<number>)               \
    {                                                                                              \
        return {value};                                                                            \
    }                                                                                              \
    template <int number, typename T, typename U>                                                  \
    constexpr bool operator operator_(MutantLeft<number, T> left, U right)                         \
    {                                                                                              \
        return mutant_is(number) ? left.value other right : left.value operator_ right;            \
    }
MUTANT_SHIFTS(<, <=)
MUTANT_SHIFTS(<=, <)
MUTANT_SHIFTS(>, >=)
MUTANT_SHIFTS(>=, >)

// `MutantMax<7>::max(a, b)` is std::max, but std::min where fault 7 counts.
template <int number>
struct MutantMax {
    template <typename T>
    static constexpr T max(T a, T b)
    {
        return mutant_is(number) ? std::min(a, b) : std::max(a, b);
    }
    template <typename T>
    static constexpr T min(T a, T b)
    {
        return mutant_is(number) ? std::max(a, b) : std::min(a, b);
    }
    template <typename T>
    static constexpr T max(std::initializer_list<T> all)
    {
        return mutant_is(number) ? std::min(all) : std::max(all);
    }
    template <typename T>
    static constexpr T min(std::initializer_list<T> all)
    {
        return mutant_is(number) ? std::max(all) : std::min(all);
    }
};
