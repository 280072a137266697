// The generator that a function's layout argument names.
#pragma once

#include "server/named.hpp"
#include "generator/generator.hpp"

namespace flakeid {

// Returns the generator of argument `arg`, or of the settings where there is none or it is null.
inline Generator& generator_of(FunctionCallInfo fcinfo, int arg)
{
    if (arg >= PG_NARGS() || PG_ARGISNULL(arg)) {
        return configured_generator();
    }
    auto& named = named_argument<Generator>(fcinfo, arg);
    if (unlikely(!still_good(named.value))) {
        make_named(named.value, named.name, named.length);
    }
    return named.value;
}

} // namespace flakeid
