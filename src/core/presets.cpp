#include "presets.hpp"

#include <cstring>

namespace flakeid {

const Preset* find_preset(const char* name, size_t length)
{
    for (const Preset& preset : presets) {
        if (length == strlen(preset.name) && memcmp(name, preset.name, length) == 0) {
            return &preset;
        }
    }
    return nullptr;
}

} // namespace flakeid
