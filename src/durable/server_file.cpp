#include "durable/server_file.hpp"

#include <algorithm>

namespace flakeid {

Contents contents_of(const Record (&records)[record_count], const FileFacts& facts)
{
    Contents found{};
    found.fence = fence_of_records(records);
    found.own = own_records(records, facts);
    for (int place = 0; place < record_count; place++) {
        const Record& record = records[place];
        if (!is_sealed(record)) {
            continue;
        }
        Body body;
        memcpy(&body, record.body, sizeof body);
        for (int i = 0; i < used_in_part && record.head.format == body_format; i++) {
            Used& used = found.used[place % used_parts * used_in_part + i];
            used = united(used, body.used[i]);
        }
        if (record.head.fence != found.fence) {
            continue;
        }
        if (record.head.format != body_format) {
            ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("file \"%s\" is of format " UINT64_FORMAT, shown_server_file,
                           record.head.format),
                    errdetail("This library knows format " UINT64_FORMAT ".", body_format),
                    errhint("Install the later version of flakeid that this server had."));
        }
        const Body before = found.body;
        found.body = body; // whose incarnation it is, is the same in all of them
        found.body.stamped = merged(before.stamped, body.stamped);
        found.body.roles_known = std::max(before.roles_known, body.roles_known);
        found.body.counter = before.counter == 0 || before.counter == body.counter ? body.counter
                             : body.counter == 0                                   ? before.counter
                                                 : several_counters;
    }
    found.own = found.own && found.body.system == GetSystemIdentifier() &&
                found.body.origin.timeline == GetWALInsertionTimeLine();
    return found;
}

// So long after initdb a server without a file may be one that made no ids yet.
constexpr int64_t new_for_us = 600 * us_per_s;

bool is_new_server(int64_t now_us)
{
    const auto made_us = static_cast<int64_t>(GetSystemIdentifier() >> 32) * us_per_s; // by initdb
    // same with <=: a microsecond
    return GetWALInsertionTimeLine() == 1 && made_us <= now_us && now_us - made_us < new_for_us;
}

int64_t new_incarnation()
{
    uint64_t incarnation = 0;
    if (!pg_strong_random(&incarnation, sizeof incarnation)) {
        ereport(ERROR, errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not make a random number"));
    }
    return static_cast<int64_t>(incarnation >> 1 | 1);
}

void tell_of_copy(const Contents& found, bool missing)
{
    if (missing) {
        ereport(LOG, errmsg("file \"%s\" is missing", shown_server_file),
                errdetail("Ids begin past all that this server can have stamped."));
    } else if (found.fence == 0 || found.body.origin.timeline == GetWALInsertionTimeLine()) {
        ereport(
            LOG,
            errmsg("the files of this server were copied, put back or changed since it made ids"),
            errdetail("Ids begin past all that the server which they come from can have "
                      "stamped."),
            errhint("If that server goes on making ids, give this one another flakeid.node."));
    }
}

void throw_file(int error, const char* what)
{
    errno = error;
    ereport(ERROR, errcode_for_file_access(),
            errmsg("could not %s file \"%s\": %m", what, shown_server_file),
            errdetail("It keeps how far ids of this server were stamped. No ids are made without "
                      "it, and they go on as soon as it can be used."));
}

} // namespace flakeid
