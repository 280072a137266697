// What the file of the server's horizon says.
#pragma once

#include "core/stamp.hpp"
#include "durable/records.hpp"
#include "durable/used.hpp"

namespace flakeid {

constexpr char server_file[] = "horizon";
constexpr char shown_server_file[] = "flakeid/horizon";
constexpr uint64_t body_format = 1;

// Layouts of several kinds count set-backs in the same incarnation of the server.
constexpr int64_t several_counters = -1;

// What a record says.
struct Body {
    uint64_t system; // identifier
    Origin origin;
    int64_t incarnated_us; // when this incarnation of the data directory began
    Stamped stamped;
    int64_t counter; // server_counted_by(): the layout that counts set-backs, or several; 0: none
    Used used[used_in_part]; // which part of what used.hpp keeps, the record's place says
    int64_t roles_known;     // 0: it took a place, and nobody has looked how far roles let ids run
                             // ahead there, so that ids may have to begin later than the file says
};
static_assert(sizeof(Body) <= record_body_size);

struct Contents {
    bool own;
    uint64_t fence;
    Body body;           // all records of that fence merged
    Used used[max_used]; // all that some record says
};

// Tells whether no ids are lost where there is no file, nor a folder for it: the server is so new,
// and has taken no other's place. An older one may be what a backup or a snapshot from before its
// first id was put back as. `now_us` is the wall clock.
// Rejected: trust none. Each new server would wait 3 s for its first id.
bool is_new_server(int64_t now_us);

// Returns a random number, not 0, for Body.origin.
int64_t new_incarnation();

// Merges the records that count. An error where a later library wrote them.
Contents contents_of(const Record (&records)[record_count], const FileFacts& facts);

// Tells the log that ids begin past all that the file's server can have stamped, unless a promotion
// made this server. `missing`: the file was lost.
void tell_of_copy(const Contents& found, bool missing);

// Raises an error: it was not possible to `what` ("read", "write", "remove") the file.
[[noreturn]] void throw_file(int error, const char* what);

static_assert(is_plain<Body, Contents>);

} // namespace flakeid
