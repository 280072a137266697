// What the leases' model is made of: its setups, its states, its moves.
#pragma once

#include "../../src/core/layout.hpp"
#include "../../src/core/step.hpp"

#include <cstdint>

namespace leases {

using namespace flakeid;

// A tick is a second, and leases are whole seconds.
constexpr char layout_text[] = "time:4:1s sequence:1 epoch=1970-01-01";

constexpr int holders = 2;
constexpr int most_ttl = 2;
constexpr int max_skew = 1;
constexpr int max_ahead = 1;

enum class Mutation {
    none,
    no_rest,              // a new coordinator hands out at once
    short_rest,           // it rests for max_ttl only
    rest_of_realm,        // it rests as long as a lease may count now, not as it ever might
    renew_while_resting,  // it renews whatever it knows of
    no_lease_check,       // ids are drawn whatever the lease says
    lease_by_clock,       // the clock has to lie in the lease, not the id's tick
    early_grant,          // a lease begins before the end of the one before
    release_of_any,       // a release counts whoever's lease it is now
    stamp_before_closing, // the last stamp is read, then the words are closed
    reopened,             // after a release without a reply the lease is used again
    same_lease_again,     // a holder that asks again gets the lease that it has
    commit_not_durable,   // the coordinator answers, and a crash of it undoes the commit
    not_fenced,           // the old coordinator goes on beside the new one
    claim_of_any,         // what a holder says it knows counts whoever's lease it is now
    opened_at_lease,      // words begin where the lease does, whatever was drawn without one
};

struct Setup {
    int last_clock; // clocks lie in [0, last_clock]
    int leases;     // handed out at most
    bool draws;     // otherwise whoever was given a lease may ask anything at any time
    int crashes;    // of holders
    int failovers;
    bool any_skew; // of the new coordinator against the old one, otherwise at most max_skew
    Mutation mutation;
    bool unleased = false;   // one holder, which draws without a lease until leases come in force
    bool dumped = false;     // the coordinator is lost once, and a dump restored
    int max_ttl = most_ttl;  // of the realm at first
    int next_ttl = most_ttl; // that a superuser changes it to
};

// What the coordinator's table says of the node.
struct Table {
    uint8_t lease, holder; // 0: none so far
    uint8_t open;          // neither released nor given to another one
    uint8_t end;           // nobody else gets the node before
    uint8_t start;
    uint8_t clock; // the latest that was seen
    uint8_t rests; // since rest_from, and hands out nothing
    uint8_t rest_from;
    uint8_t max_ttl;
    uint8_t hold;     // the longest that a lease may have counted, ever; 0: none was asked for
    uint8_t timeline; // that it was written on
};

// What a dump carries of it.
struct Dump {
    uint8_t max_ttl;
    uint8_t hold; // 0: there is no dump
};

enum Request : uint8_t { no_request, acquire, renew, release };

struct Holder {
    uint8_t lease; // 0: none
    uint8_t start, end;
    uint8_t closed;
    uint8_t unleased;
    uint8_t word;    // issued last
    uint8_t pending; // to be swapped in
    uint8_t waiting; // for a reply
    Request request; // on its way, or arrived late
    uint8_t request_lease, request_last;
    Request reply;
    uint8_t reply_lease, reply_start, reply_end;
    uint8_t stamp; // stamp_before_closing only: read already, + 1
};

struct State {
    uint8_t watched; // the word; 0: to be chosen
    uint8_t issued;
    uint8_t claimed; // the lease that holds the watched tick
    Table table[2];  // of the coordinator; of the one before it, while it is not fenced
    Table standby;
    Dump dump;
    uint8_t restored;
    uint8_t timeline;
    uint8_t least_clock; // of the coordinator's readings
    uint8_t leases, crashes, failovers;
    uint8_t released; // a bit a lease: never asked for again
    uint8_t known[4]; // a lease: the latest end that its holder was told
    Holder holder[holders];
};

enum Event : uint8_t {
    ev_watch,
    ev_send,
    ev_serve,
    ev_receive,
    ev_time_out,
    ev_expire,
    ev_draw,
    ev_swap,
    ev_close,
    ev_stamp,
    ev_crash,
    ev_replicate,
    ev_coordinator_crash,
    ev_fail_over,
    ev_set_ttl,
    ev_dump,
    ev_restore,
    ev_force,
};

struct Move {
    Event event;
    uint8_t holder;
    uint8_t value;
    uint8_t coordinator;
    Request request;
    uint8_t lease;
    uint8_t claim;
};

} // namespace leases
