#include "leases/holder/worker_ask.hpp"

#include "leases/holder/lease_file.hpp"
#include "leases/holder/report.hpp"
#include "server/clock.hpp"
#include "server/messages.hpp"
#include "settings/lease_settings.hpp"
#include "settings/node.hpp"
#include "settings/settings.hpp"

extern "C" {
#include "common/pg_prng.h"
}

namespace flakeid {

Asking asking;

namespace {

constexpr int64_t release_limit_us = 3 * us_per_s; // of all releases at a stop, together
constexpr int64_t patience_us = 3 * us_per_s;      // a node that was given back is free by then
// A lease that begins this much later than ids may be stamped is waited for. A server whose clock
// is behind the coordinator's gets no lease that begins earlier.
constexpr int64_t worth_waiting_us = 20 * us_per_s;
constexpr int64_t worth_having_us = us_per_s; // one that ends sooner counts as ended

double chance()
{
    return pg_prng_double(&pg_global_prng_state);
}

int place_of(const Lease* lease)
{
    return static_cast<int>(lease - shared_leases()->leases);
}

// The log says it once.
void note_away()
{
    if (!asking.away && !worker_stopping) {
        asking.away = true;
        log_away(asking.coordinator.text);
    }
}

// The name outlives this process, so that the next one ends what this one left at the coordinator.
void name_client(Coordinator& c)
{
    const uint64_t number = lease_file_writer();
    if (number != 0) {
        snprintf(c.name, sizeof c.name, "flakeid " UINT64_FORMAT, number);
    } else if (c.name[0] == '\0') {
        snprintf(c.name, sizeof c.name, "flakeid %.15f", chance());
    }
}

// True with a connection. One line in the log for each change.
bool connected()
{
    Coordinator& c = asking.coordinator;
    // same with <=: a microsecond
    if (c.connection == nullptr && !worker_stopping && steady_now() < asking.connecting.due) {
        return false;
    }
    if (c.connection == nullptr) {
        name_client(c);
    }
    if (client->connect(c)) {
        if (asking.away) {
            asking.away = false;
            log_back();
        }
        return true;
    }
    if (!worker_interrupted()) {
        try_later(asking.connecting); // same without: fail() postpones it too
        note_away();
    }
    return false;
}

// A node that was just given back is free soon, unless another holder has it.
bool is_soon_free(Trouble why)
{
    // same with <=: a microsecond
    return (why == Trouble::in_use || why == Trouble::busy) && steady_now() < asking.patient_until;
}

// An attempt for a lease failed, as asking.coordinator tells.
void fail(Lease* lease, Care& care)
{
    const Coordinator& c = asking.coordinator;
    if (worker_interrupted()) {
        care.attempts.due = steady_past;
        return;
    }
    if (is_soon_free(c.trouble)) {
        const int64_t wait_us = patient_wait_us(wall_us());
        care.attempts.due = steady_now() + wait_us;
        return;
    }
    if (c.trouble == Trouble::away) {
        note_away();
    } else if (!tenure_failing(lease)) {
        log_no_lease(c.text);
    }
    lease_set_trouble(lease, c.trouble, c.text);
    const Steady now = steady_now();
    if (c.connection != nullptr) {
        asking.connecting = Attempts{};
    } else if (now >= asking.connecting.due) { // same with >: a microsecond
        try_later(asking.connecting);          // what answered is no coordinator of this server
    }
    postpone_with(asking.connecting, care.attempts, now, chance());
}

// Returns the latest end of a lease that is believed when it is asked for now: its length later, by
// this server's own clock. A coordinator whose clock is ahead gives later ones, and what takes its
// place rests for the longest lease by a clock that is right.
int64_t latest_end_us()
{
    return (wall_us() / us_per_s + 1 + lease_settings.ttl_s) * us_per_s;
}

// A lease of any node asks first for the node that it had, so that a server keeps its generators.
bool ask_for_grant(const Lease* lease, Grant* grant)
{
    Coordinator& c = asking.coordinator;
    const char* holder = server_name();
    Wish wish{};
    memcpy(wish.token, lease_file_ask(place_of(lease), lease, &wish.again), sizeof wish.token);
    wish.seconds = lease_settings.ttl_s;
    auto ask = [&](bool any, uint32_t node, uint32_t max_node = 0) {
        wish.any = any;
        wish.node = node;
        wish.max_node = max_node;
        const int64_t latest_us = latest_end_us();
        if (!client->acquire(c, asking.realm, holder, wish, grant)) {
            return false;
        }
        // One that begins later is renewed before it begins.
        grant->end_us = std::max(grant->start_us + us_per_s, std::min(grant->end_us, latest_us));
        return true;
    };
    if (lease->wanted != any_node) {
        return ask(false, lease->wanted);
    }
    if (lease->previous != any_node) {
        if (ask(false, lease->previous, lease->max_node)) {
            return true;
        }
        if (is_soon_free(c.trouble) || c.connection == nullptr) {
            return false;
        }
    }
    return ask(true, lease->max_node);
}

// Where the lease of a question that was never answered has ended, asks once more.
bool is_granted(const Lease* lease, Grant* grant)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        if (ask_for_grant(lease, grant)) {
            return true;
        }
        const Trouble why = asking.coordinator.trouble;
        if (why == Trouble::used_token || why == Trouble::nonsense) {
            lease_file_forget(place_of(lease));
        }
        if (why != Trouble::used_token) {
            return false;
        }
    }
    return false;
}

// Tells the coordinator of all that was given back. True when it has answered that, and there is a
// connection.
bool tell_given_back()
{
    for (int i = 0; i < max_leases; i++) {
        const FiledLease* back = lease_file_given_back(i);
        if (back == nullptr) {
            continue;
        }
        const bool told =
            client->release(asking.coordinator, asking.realm, back->token, back->start_us);
        const Trouble why = asking.coordinator.trouble;
        if (!told && (why == Trouble::away || why == Trouble::busy || why == Trouble::interrupted ||
                      why == Trouble::not_believed)) {
            return false;
        }
        lease_file_forget(i);
        if (asking.coordinator.connection == nullptr) {
            return false;
        }
    }
    return true;
}

// Tells what was given back, before a lease is asked for. What somebody has locked there can wait.
bool may_be_asked_for(const Lease* lease)
{
    (void)tell_given_back();
    return asking.coordinator.connection != nullptr &&
           lease_file_make_room(place_of(lease), lease->wanted);
}

void keep(const Lease* lease)
{
    lease_file_put(place_of(lease), lease);
    (void)lease_file_write();
}

// A lease that was granted is none for this server's clock. So would the others be: none is asked
// for until this one is.
void give_back(Lease* lease, Care& care, Trouble why, const Grant& grant)
{
    Coordinator& c = asking.coordinator;
    release(lease, lease_close(lease));
    c.trouble = why;
    const int64_t now_us = wall_us();
    snprintf(c.text, sizeof c.text,
             "it gave a lease from %s until %s, and this server's clock says %s",
             moment_text(grant.start_us), moment_text(grant.end_us), moment_text(now_us));
    fail(lease, care);
    for (int i = 0; i < max_leases; i++) {
        Lease& other = shared_leases()->leases[i];
        if (&other != lease && other.in_use && pg_atomic_read_u64(&other.end_us) == 0) {
            lease_set_trouble(&other, why, c.text);
            asking.cares[i].attempts.due = care.attempts.due;
        }
    }
}

void plan_renewal(Care& care, int64_t end_us)
{
    asking.connecting = Attempts{};
    const int64_t left_us = end_us - wall_us();
    const int64_t wait_us = renewal_wait_us(lease_settings.ttl_s * us_per_s, left_us, chance());
    care.attempts = {steady_now() + wait_us, 0};
}

} // namespace

void try_later(Attempts& attempts)
{
    const Steady now = steady_now();
    postpone(attempts, now, chance());
}

void be_patient()
{
    asking.patient_until = steady_now() + patience_us;
}

void leave_coordinator()
{
    disconnect(asking.coordinator);
    asking.coordinator.has_address = false;
    asking.connecting = Attempts{};
    asking.away = false;
}

bool begins_too_late(int64_t start_us)
{
    // same with >=: a microsecond
    return start_us - wall_us() > settings.max_ahead_us + worth_waiting_us;
}

void release(const Lease* lease, int64_t last_us)
{
    int64_t given_back[max_leases] = {};
    given_back[place_of(lease)] = last_us;
    if (lease_file_give_back(given_back)) {
        asking.telling = Attempts{};
        (void)(connected() && tell_given_back());
    }
}

bool leave_node(Lease* lease)
{
    if (!connected()) {
        return false;
    }
    const uint32_t node = lease->node;
    const uint32_t nodes = lease->nodes;
    const int64_t last_us = lease_close(lease);
    const int64_t now_us = wall_us();
    ereport(LOG,
            nodes == 1
                ? errmsg("node %u is given back, for another one", node)
                : errmsg("nodes %u to %u are given back, for others", node, node + nodes - 1),
            errdetail("Its ids go up to %s, and the clock, which was ahead, says %s.",
                      moment_text(last_us), moment_text(now_us)));
    release(lease, last_us);
    return true;
}

Steady tell_again()
{
    bool left = false;
    for (int i = 0; i < max_leases; i++) {
        left = left || lease_file_given_back(i) != nullptr;
    }
    if (!left) {
        return steady_never;
    }
    if (steady_now() < asking.telling.due) { // same with <=: a microsecond
        return asking.telling.due;
    }
    if (connected() && tell_given_back()) {
        return steady_never;
    }
    if (!worker_interrupted()) {
        try_later(asking.telling);
    }
    return asking.telling.due;
}

void acquire(Lease* lease, Care& care)
{
    Grant grant;
    if (const char* problem = lease_file_problem(); problem != nullptr) {
        asking.coordinator.trouble = Trouble::later_file;
        strlcpy(asking.coordinator.text, problem, sizeof asking.coordinator.text);
        fail(lease, care);
        return;
    }
    if (!connected() || !may_be_asked_for(lease) || !is_granted(lease, &grant)) {
        fail(lease, care);
        return;
    }
    lease_file_know(asking.coordinator.known);
    lease_grant(lease, grant, lease_file_stamped_us());
    care.refused = false;
    if (grant.end_us - wall_us() < worth_having_us) { // same with <=: a microsecond
        give_back(lease, care, Trouble::ended, grant);
        return;
    }
    if (begins_too_late(grant.start_us)) {
        give_back(lease, care, Trouble::ahead, grant);
        return;
    }
    plan_renewal(care, grant.end_us);
    keep(lease);
    ereport(LOG,
            grant.nodes == 1 ? errmsg("node %u is leased to this server", grant.node)
                             : errmsg("nodes %u to %u are leased to this server", grant.node,
                                      grant.node + grant.nodes - 1),
            errdetail("Coordinator \"%s\" gave it from %s on.",
                      lease_settings.coordinator_text->name, moment_text(grant.start_us)));
}

void renew(Lease* lease, Care& care)
{
    Grant known;
    known.node = lease->node;
    known.nodes = lease->nodes;
    known.start_us = lease->start_us;
    known.end_us = static_cast<int64_t>(pg_atomic_read_u64(&lease->end_us));
    memcpy(known.token, lease->token, sizeof known.token);
    int64_t end_us;
    int64_t latest_us = 0;
    auto ask = [&] {
        latest_us = latest_end_us();
        return client->renew(asking.coordinator, asking.realm, known, lease_settings.ttl_s,
                             &end_us);
    };
    if (!connected() || !ask()) {
        care.refused = asking.coordinator.trouble == Trouble::refused;
        fail(lease, care);
        return;
    }
    lease_file_know(asking.coordinator.known);
    known.end_us = std::max(known.end_us, std::min(end_us, latest_us));
    lease_extend(lease, known.end_us);
    plan_renewal(care, known.end_us);
    keep(lease);
}

void release_all()
{
    int64_t last_us[max_leases] = {};
    bool some = false;
    Lease* leases = shared_leases()->leases;
    worker_stopping = true;
    asking.coordinator.stop = steady_now() + release_limit_us;
    // First of all no id is made any more.
    for (int i = 0; i < max_leases; i++) {
        if (leases[i].in_use && pg_atomic_read_u64(&leases[i].end_us) != 0) {
            last_us[i] = lease_close(&leases[i]);
            some = true;
        }
        asking.cares[i] = Care{};
    }
    // After an error the others run out.
    (void)survives([&] {
        // same if true: nothing is told then
        if (some && connected() && lease_file_give_back(last_us)) {
            (void)tell_given_back();
            // same without: told once more
            (void)lease_file_write(); // what was answered is not told again
        }
    });
    be_patient();
    disconnect(asking.coordinator);
    asking.coordinator.stop = steady_never;
    worker_stopping = false;
}

} // namespace flakeid
