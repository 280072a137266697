// What ALTER ROLE and ALTER DATABASE have set, for all roles and databases of the server.
#pragma once

#include "server/extension.hpp"

extern "C" {
#include "catalog/pg_db_role_setting.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
}

namespace flakeid {

// Gives `action` each value of a setting, with the database and the role that it is for, as they
// are now; InvalidOid: for all.
template <typename Action>
void each_role_setting(const char* setting, Action action)
{
    each_row(DbRoleSettingRelationId, [&](HeapTuple row, TupleDesc columns) {
        const auto* whose = reinterpret_cast<Form_pg_db_role_setting>(GETSTRUCT(row));
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
            if (value != nullptr && pg_strcasecmp(name, setting) == 0) {
                action(whose->setdatabase, whose->setrole, value);
            }
        }
        return false;
    });
}

} // namespace flakeid
