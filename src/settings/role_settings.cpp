#include "settings/role_settings.hpp"

#include "settings/settings.hpp"

namespace flakeid {

int64_t max_ahead_of_roles_us()
{
    int most_ms = 0;
    each_role_setting(max_ahead_name, [&](Oid, Oid, const char* value) {
        most_ms = std::max(most_ms, parsed_max_ahead_ms(value));
    });
    return most_ms * us_per_ms;
}

} // namespace flakeid
