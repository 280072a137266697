// Node numbers that the host itself tells.
#pragma once

#include <cstdint>

namespace flakeid {

// The number that ends the host name, as in a StatefulSet; false where there is none.
bool hostname_node(uint32_t* node);

// The low bits of the host's first private IPv4 address, as Sonyflake takes them; false where there
// is none. `mask` is the largest node of the layout.
bool address_node(uint32_t mask, uint32_t* node);

} // namespace flakeid
