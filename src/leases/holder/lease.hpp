// Leases, as generators see them: with a coordinator, ids of a node are stamped inside its lease
// only.
//
// The lease worker (worker_main.cpp) takes and renews leases; sessions say which nodes they want,
// and read from when until when they may stamp. AddinShmemInitLock guards all of a table and of its
// leases except the atomics.
//
// Order of a grant: start, nodes and token, and then the end. Order of a release: end 0; close the
// slots of the nodes, so that a swap in flight fails; read the last stamp; then tell the
// coordinator.
//
// A closed slot is opened for a lease that is held, under the lock, at the first word of the lease
// or the one after the last word, whichever is larger. So no word comes again, not even one that
// was drawn without a lease or under one of another realm, and a swap from before the release fails
// for ever.
#pragma once

#include "leases/rules/answer.hpp"
#include "core/steady.hpp"
#include "settings/lease_settings.hpp"
#include "settings/node.hpp"
#include "slots/tenure.hpp"

namespace flakeid {

constexpr int max_leases = 64;
constexpr int lease_text_count = 8;

struct Lease {
    pg_atomic_uint64 end_us;  // exclusive; 0: not held. A renewal raises it
    pg_atomic_uint64 used_at; // Steady: when a session last asked for it
    int64_t start_us;
    int64_t last_end_us; // of the lease held last; when it was given back, if that was earlier
    int64_t stamped_us;  // before its start, the server stamped no id after it
    uint32_t wanted;     // node, or any_node
    uint32_t max_node;   // that any_node may become
    uint32_t node;       // that is or was held, the first one
    uint32_t nodes;      // how many, from that one on
    uint32_t previous;   // the node that any_node was last, or any_node
    bool in_use;
    Trouble trouble; // of the last attempt to take or renew it
    unsigned char token[token_size];
};

// What the coordinator had to say about a lease. There are fewer of them than leases: the latest
// ones are kept.
struct LeaseText {
    int lease; // its place in the table, or -1
    char text[trouble_text_size];
};

struct LeaseTable {
    int worker_pid; // 0: there is none
    Latch* worker_latch;
    Steady worker_asked_at; // when a session began to start one; steady_past: none does
    char coordinator[coordinator_name_size];
    int next_text; // that is written next
    LeaseText texts[lease_text_count];
    // What the lease worker met, on the wall clock. 0: nothing yet.
    int64_t answered_us; // when the coordinator answered last
    int64_t silent_us;   // since when it does not; 0: it does
    int64_t failed_us;   // the last attempt that failed, and why
    Trouble failed;
    char failed_text[trouble_text_size];
    int file_error; // errno: why lease_file.hpp does not keep the leases; 0: it does
    Lease leases[max_leases];
};

LeaseTable* shared_leases();

// Does `action` under the lock that guards the table, and returns what it returns. `action` must
// not wait or raise an error.
template <typename Action>
auto locked(LWLockMode mode, Action action)
{
    LWLockAcquire(AddinShmemInitLock, mode);
    if constexpr (std::is_void_v<decltype(action())>) {
        action();
        LWLockRelease(AddinShmemInitLock);
    } else {
        auto result = action();
        LWLockRelease(AddinShmemInitLock);
        return result;
    }
}

// Notes that a session asks for the lease.
void lease_touch(Lease* lease);

// The lease worker's part.

// Closes all slots. From now on they are opened for leases only.
void lease_begin_force();
// Opens all slots to everyone again.
void lease_end_force();
// `stamped_us`: before its start, the server stamped no id after it.
void lease_grant(Lease* lease, const Grant& grant, int64_t stamped_us);
// The same of one that the server had before its start.
void lease_resume(Lease* lease, const Grant& grant, int64_t stamped_us);
void lease_extend(Lease* lease, int64_t end_us);
// Ends a lease here: no id is stamped any more. Returns the last moment that one was stamped in, or
// one before the start.
int64_t lease_close(Lease* lease);
// Frees the entry of a lease that nobody wants any more.
void lease_forget(Lease* lease);
// Remembers why it is not held or not renewed, until it is. `text` is plain (plain_text()).
void lease_set_trouble(Lease* lease, Trouble trouble, const char* text);
// Notes that the coordinator answered.
void lease_note_answer();
// Tells whether ids of one of the nodes may have been made since the start of the server.
bool lease_drew(uint32_t node, uint32_t nodes);
// Returns the words of its nodes, added up: another number when one was issued since.
uint64_t lease_words(const Lease* lease);

static_assert(is_plain<Lease, LeaseText, LeaseTable>);

} // namespace flakeid
