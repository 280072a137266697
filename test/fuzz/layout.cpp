// Layout texts: whatever parses has a normal text, which parses to the same layout.
#include "../../src/core/explain.hpp"
#include "../../src/core/layout.hpp"

#include "check.hpp"

#include <cstring>

using namespace flakeid;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    const auto* text = reinterpret_cast<const char*>(data);
    Layout layout;
    const LayoutError error = parse_layout(text, size, &layout);
    FUZZ_CHECK(error.offset <= size && error.length <= size - error.offset);
    if (error.status != LayoutStatus::ok) {
        return 0;
    }

    char normal[max_layout_text];
    const size_t length = format_layout(layout, normal);
    FUZZ_CHECK(length < sizeof normal && strlen(normal) == length);
    Layout again;
    FUZZ_CHECK(parse_layout(normal, length, &again).status == LayoutStatus::ok);
    FUZZ_CHECK(same_layout(layout, again));
    char normal_again[max_layout_text];
    FUZZ_CHECK(format_layout(again, normal_again) == length && strcmp(normal, normal_again) == 0);

    const Parts most = {layout.max_tick, layout.max_node, layout.max_sequence, layout.max_back};
    const uint64_t largest = compose(layout, most);
    FUZZ_CHECK(!outside_layout(layout, largest));
    FUZZ_CHECK(layout.enciphered || static_cast<int64_t>(largest) >= 0);
    const Parts parts = split(layout, largest);
    FUZZ_CHECK(parts.tick == most.tick && parts.node == most.node &&
               parts.sequence == most.sequence && parts.back == most.back);
    FUZZ_CHECK(end_us(layout) >= layout.epoch_us);

    char drawing[max_drawing];
    FUZZ_CHECK(explain_id(layout, largest, largest, drawing) < sizeof drawing);
    return 0;
}
