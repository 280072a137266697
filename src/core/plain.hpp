// What a longjmp may skip, memcpy may copy and zeroed memory may hold.
#pragma once

#include <type_traits>

namespace flakeid {

// A frame that can reach ereport() holds plain values only: a jump out of it runs no destructor.
template <typename... T>
constexpr bool is_plain = ((std::is_trivially_copyable_v<T> &&
                            std::is_trivially_destructible_v<T>)&&...);

} // namespace flakeid
