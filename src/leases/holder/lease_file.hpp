// The leases that this server has, for whoever starts on its data directory next, and the
// coordinator that it believed last: the file flakeid/leases, beside that of the horizon.
//
// A lease belongs to a data directory, not to a process: after a crash the server goes on in it at
// once, past its own horizon, with the coordinator there or not. A copy, a promoted standby and a
// directory that was put back are told by the file (core/record.hpp), or by the incarnation of the
// server (server_horizon.hpp), and have no lease. Nor has a clone of the whole disk (DiskPlace), so
// that after its machine was switched off a server waits until its lease has ended. It knows its
// coordinator all the same.
//
// Order: a token is in the file before the coordinator is asked with it, and the file says that its
// lease is given back before the coordinator is told so. Between the two, the server and no other
// has the lease, until the end that the coordinator knows; the file may know an earlier one.
//
// Locking: none. The lease worker alone reads and writes; it is one at a time.
//
// What a crash leaves, wherever it comes:
//   1. After the token is kept, before the answer is: the same question is asked again, and the
//      coordinator answers with the same lease.
//   2. After a renewal, before its end is kept: the server goes on until the end that is kept, and
//      renews before that.
//   3. After the file says that a lease is given back, before the coordinator has answered: it is
//      told again.
//   4. Ids that were stamped in a lease, and that no slot remembers: the lease is given back with
//      the moment of the horizon at the start as its last stamp, if that is later.
//   5. In the middle of a page: the other page, which was flushed before, stands whole.
#pragma once

#include "leases/holder/lease.hpp"

namespace flakeid {

constexpr char lease_file[] = "leases";
constexpr char shown_lease_file[] = "flakeid/leases";

// What the file says of a lease.
struct FiledLease {
    unsigned char token[token_size];
    int64_t start_us;          // or, of one that is given back, the last stamp
    int32_t length_s;          // of a lease; 0: nothing is kept; or one of the following
    uint32_t wanted, max_node; // as in Lease
    uint32_t node, nodes;
};
constexpr int32_t asked_length = -1;      // no answer is kept
constexpr int32_t given_back_length = -2; // the coordinator has not answered that

Grant grant_of(const FiledLease& filed);

// Returns a number that no other server has, copies of this one included; 0 while there is none.
uint64_t lease_file_writer();

// Reads what the server had of a realm. There is nothing where the file is not this server's own.
// `known`: the last coordinator that was believed; the later one of what it was and what is read.
void lease_file_read(const char* realm, Term* known);
const FiledLease& lease_file_found(int number); // from 0 to max_leases
// Before its start, the server stamped no id after the moment that this returns. A lease that goes
// on may have such ids, which no slot knows any more.
int64_t lease_file_stamped_us();

// Says why no lease is to be asked for: a later library wrote the file. It stays as it is. nullptr:
// nothing is in the way.
const char* lease_file_problem();

// Makes the file say what is kept, unless it does. False when it does not, because of an error,
// which is told, or as long as the server has no horizon yet.
bool lease_file_write();

// Keeps which coordinator was believed last, for the next write.
void lease_file_know(const Term& known);

// Keeps a lease that is held, for the next write.
void lease_file_put(int place, const Lease* lease);

// Returns the token to ask with for a lease: that of the last question, also of one that was found,
// or a new one. `again`: it may have been asked with before.
const unsigned char* lease_file_ask(int place, const Lease* lease, bool* again);

// Keeps nothing of a lease, and asks with another token the next time.
void lease_file_forget(int place);

// Gives leases back, those with last_us[n] != 0, which is the last stamp. True when no crash brings
// them back, so that the coordinator may be told; otherwise they are still kept.
bool lease_file_give_back(const int64_t (&last_us)[max_leases]);

// Keeps what was found that the coordinator is to be told of, unless ids of the node were made
// since. To be called when all leases that are held are kept.
void lease_file_put_given_back();

// Lets a lease be asked for at a place, and keeps what was given back there at another one. False
// when all are taken, and for a node by number that was given back: its own lease is in the way.
bool lease_file_make_room(int place, uint32_t wanted);

// Returns a lease of which the coordinator is to be told that it is given back, or nullptr.
const FiledLease* lease_file_given_back(int place);

static_assert(is_plain<FiledLease>);

} // namespace flakeid
