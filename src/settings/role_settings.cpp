#include "server/extension.hpp"
#include "settings/settings.hpp"

extern "C" {
#include "catalog/pg_db_role_setting.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
}

namespace flakeid {

int64_t max_ahead_of_roles_us()
{
    int most_ms = 0;
    each_row(DbRoleSettingRelationId, [&](HeapTuple row, TupleDesc columns) {
        bool null;
        const Datum lines = heap_getattr(row, Anum_pg_db_role_setting_setconfig, columns, &null);
        Datum* line = nullptr;
        int count = 0;
        if (!null) {
            deconstruct_array(DatumGetArrayTypeP(lines), TEXTOID, -1, false, TYPALIGN_INT, &line,
                              nullptr, &count);
        }
        for (int i = 0; i < count; i++) {
            char *name, *value;
            ParseLongOption(TextDatumGetCString(line[i]), &name, &value);
            if (value != nullptr && pg_strcasecmp(name, max_ahead_name) == 0) {
                most_ms = std::max(most_ms, parsed_max_ahead_ms(value));
            }
        }
        return false;
    });
    return most_ms * us_per_ms;
}

} // namespace flakeid
