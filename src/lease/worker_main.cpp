// The lease worker: a background worker, attached to no database, that takes the leases that
// sessions want from the coordinator, renews them at a third of their length, and gives them back
// at a clean stop. It connects, asks what is due and leaves, so that one coordinator serves
// thousands. It holds no lock while it waits; all its waits end when its latch is set.
//
// Whatever the coordinator answers, and whatever goes wrong in the lease worker itself, is a failed
// attempt: it is told to the sessions and tried again later. The lease worker never ends because of
// it.
#include "server/clock.hpp"
#include "core/backoff.hpp"
#include "server/messages.hpp"
#include "settings/node.hpp"
#include "lease/report.hpp"
#include "settings/lease_settings.hpp"
#include "server/shared.hpp"
#include "lease/worker.hpp"

extern "C" {
#include "common/pg_prng.h"
#include "libpq/pqsignal.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "utils/memutils.h"
}

namespace flakeid {

namespace {

constexpr int64_t release_limit_us = 3 * us_per_s; // of all releases at a stop, together
constexpr int64_t longest_sleep_us = 60 * us_per_s;
constexpr int64_t idle_limit_us = 3600 * us_per_s; // an unused lease is given back
constexpr int64_t patience_us = 3 * us_per_s;      // a node that was given back is free by then
constexpr int64_t linger_us = us_per_s; // a connection is kept while something is due that soon

// What the lease worker remembers of one lease.
struct Care {
    Attempts attempts;
    bool refused;   // the coordinator said that it is not to be renewed
    uint64_t words; // lease_words() at the last look
};
static_assert(is_plain<Care>);

struct Main {
    Coordinator coordinator;
    Attempts connecting;
    bool away;    // the log says so already
    bool serving; // leases are in force
    char* conninfo;
    char* realm;          // that the leases are of
    Steady patient_until; // till then a node in use is one just given back
    Care cares[max_leases];
};
static_assert(is_plain<Main>);
Main self;

double chance()
{
    return pg_prng_double(&pg_global_prng_state);
}

void plan_renewal(Care& care, int64_t end_us)
{
    const int64_t wait_us =
        renewal_wait_us(lease_settings.ttl_s * us_per_s, end_us - wall_us(), chance());
    care.attempts = {steady_now() + wait_us, 0};
}

// The log says it once.
void note_away()
{
    if (!self.away && !worker_stopping) {
        self.away = true;
        log_away(self.coordinator.text);
    }
}

// True with a connection. One line in the log for each change.
bool connected()
{
    Coordinator& c = self.coordinator;
    if (c.connection == nullptr && !worker_stopping && steady_now() < self.connecting.due) {
        return false;
    }
    if (coordinator_connect(c)) {
        self.connecting = Attempts{};
        if (self.away) {
            self.away = false;
            log_back();
        }
        return true;
    }
    if (!worker_interrupted()) {
        postpone(self.connecting, steady_now(), chance());
        note_away();
    }
    return false;
}

// An attempt for a lease failed, as self.coordinator tells.
void fail(Lease* lease, Care& care)
{
    const Coordinator& c = self.coordinator;
    if (worker_interrupted()) {
        care.attempts.due = steady_past;
        return;
    }
    if (c.trouble == Trouble::in_use && steady_now() < self.patient_until) {
        care.attempts.due = steady_now() + first_backoff_us;
        return;
    }
    if (c.trouble == Trouble::away) {
        note_away();
    } else if (!lease_failing(lease)) {
        log_no_lease(c.text);
    }
    lease_set_trouble(lease, c.trouble, c.text);
    postpone_with(self.connecting, care.attempts, steady_now(), chance());
}

// Tells the coordinator the last moment of a lease that is closed; if that fails, the lease runs
// out.
bool release(const Lease* lease, int64_t last_us)
{
    return connected() && coordinator_release(self.coordinator, lease->token, last_us);
}

// A lease of any node asks first for the node that it had, so that a server keeps its generators.
bool ask_for_grant(const Lease* lease, Grant* grant)
{
    Coordinator& c = self.coordinator;
    const char* holder = server_name();
    auto ask = [&](bool any, uint32_t node) {
        return coordinator_acquire(c, lease_settings.realm, holder,
                                   Wish{any, node, lease_settings.ttl_s}, grant);
    };
    if (lease->wanted != any_node) {
        return ask(false, lease->wanted);
    }
    if (lease->previous != any_node) {
        if (ask(false, lease->previous)) {
            return true;
        }
        const bool soon = c.trouble == Trouble::in_use && steady_now() < self.patient_until;
        if (soon || c.connection == nullptr) {
            return false;
        }
    }
    return ask(true, lease->max_node);
}

void acquire(Lease* lease, Care& care)
{
    Coordinator& c = self.coordinator;
    Grant grant;
    if (!connected() || !ask_for_grant(lease, &grant)) {
        fail(lease, care);
        return;
    }
    lease_grant(lease, grant);
    care.refused = false;
    if (wall_us() >= grant.end_us) {
        (void)release(lease, lease_close(lease));
        c.trouble = Trouble::ended;
        snprintf(c.text, sizeof c.text, "it gave a lease until %s, and this server's clock says %s",
                 moment_text(grant.end_us), moment_text(wall_us()));
        fail(lease, care);
        return;
    }
    plan_renewal(care, grant.end_us);
    ereport(LOG, errmsg("node %u is leased to this server", grant.node),
            errdetail("Coordinator \"%s\" gave it from %s on.", lease_settings.coordinator_name,
                      moment_text(grant.start_us)));
}

void renew(Lease* lease, Care& care)
{
    Grant known;
    known.node = lease->node;
    known.start_us = lease->start_us;
    known.end_us = static_cast<int64_t>(pg_atomic_read_u64(&lease->end_us));
    memcpy(known.token, lease->token, sizeof known.token);
    int64_t end_us;
    if (!connected() ||
        !coordinator_renew(self.coordinator, known, lease_settings.ttl_s, &end_us)) {
        care.refused = self.coordinator.trouble == Trouble::refused;
        fail(lease, care);
        return;
    }
    end_us = std::max(known.end_us, end_us);
    lease_extend(lease, end_us);
    plan_renewal(care, end_us);
}

void release_all()
{
    int64_t last_us[max_leases];
    Lease* leases = shared_leases()->leases;
    worker_stopping = true;
    self.coordinator.stop = steady_now() + release_limit_us;
    // First of all no id is made any more.
    for (int i = 0; i < max_leases; i++) {
        const bool held = leases[i].in_use && pg_atomic_read_u64(&leases[i].end_us) != 0;
        last_us[i] = held ? lease_close(&leases[i]) : 0;
        self.cares[i] = Care{};
    }
    // After an error the others run out.
    (void)survives([&] {
        bool reached = true;
        for (int i = 0; i < max_leases && reached; i++) {
            reached = last_us[i] == 0 || release(&leases[i], last_us[i]) ||
                      self.coordinator.connection != nullptr;
        }
    });
    self.patient_until = steady_now() + patience_us;
    coordinator_disconnect(self.coordinator);
    self.coordinator.stop = steady_never;
    worker_stopping = false;
}

// True when no session asked for the lease or drew under it for long. Sessions that draw all the
// time ask only when its end has moved, so the words are looked at too.
bool is_idle(Lease* lease, Care& care)
{
    if (const uint64_t words = lease_words(lease); words != care.words) {
        care.words = words;
        lease_touch(lease);
    }
    const auto used_at = static_cast<Steady>(pg_atomic_read_u64(&lease->used_at));
    return steady_now() - used_at > idle_limit_us;
}

// Leases that were granted one after the other come to be renewed on one connection.
bool renewal_due(const Care& care, Steady now)
{
    const int64_t wait_us = care.attempts.due - now;
    return wait_us <= 0 ||
           (self.coordinator.connection != nullptr && care.attempts.backoff_us == 0 &&
            renews_early(lease_settings.ttl_s * us_per_s, wait_us));
}

// One look at a lease. Returns when the next is due.
Steady attend(Lease* lease, Care& care)
{
    const Steady now = steady_now();
    const auto end_us = static_cast<int64_t>(pg_atomic_read_u64(&lease->end_us));
    const bool idle = is_idle(lease, care);
    if (end_us == 0) {
        if (idle) {
            lease_forget(lease);
            return now + longest_sleep_us;
        }
        if (now >= care.attempts.due) {
            acquire(lease, care);
        }
    } else if (wall_us() >= end_us || idle) {
        const int64_t last_us = lease_close(lease);
        care.words = lease_words(lease); // nobody draws by that
        if (!idle) {
            ereport(LOG,
                    errmsg("the lease of node %u ended at %s", lease->node, moment_text(end_us)),
                    errdetail("%s.", lease_failing(lease) ? coordinator_text_of(lease)
                                                          : "This server was stopped, or its clock "
                                                            "was set"));
        }
        (void)release(lease, last_us);
        care.refused = false;
        care.attempts.due = steady_past;
        return steady_past;
    } else if (!care.refused && renewal_due(care, now)) {
        renew(lease, care);
    }
    const auto new_end_us = static_cast<int64_t>(pg_atomic_read_u64(&lease->end_us));
    if (new_end_us == 0) {
        return care.attempts.due;
    }
    const int64_t left_us = std::max<int64_t>(new_end_us - wall_us(), 0);
    return care.refused ? steady_now() + left_us
                        : std::min(care.attempts.due, steady_now() + left_us);
}

void replace(char** kept, const char* text)
{
    char* copy = MemoryContextStrdup(TopMemoryContext, text);
    if (*kept != nullptr) {
        pfree(*kept);
    }
    *kept = copy;
}

// Takes over the settings.
void take_settings()
{
    LeaseTable* table = shared_leases();
    const bool wanted = has_coordinator();
    if (self.serving && (!wanted || strcmp(self.realm, lease_settings.realm) != 0)) {
        release_all();
    }
    self.serving = false;
    if (!wanted) {
        lease_end_force();
        return;
    }
    // Leases stay when the coordinator is reached in another way. Another coordinator, which does
    // not know them, lets them run out.
    if (self.conninfo != nullptr && strcmp(self.conninfo, lease_settings.coordinator) != 0) {
        coordinator_disconnect(self.coordinator);
        self.coordinator.has_address = false;
        self.connecting = Attempts{};
        self.away = false;
    }
    replace(&self.realm, lease_settings.realm);
    replace(&self.conninfo, lease_settings.coordinator);
    self.coordinator.conninfo = self.conninfo;
    locked(LW_EXCLUSIVE, [&] {
        strlcpy(table->coordinator, lease_settings.coordinator_name, sizeof table->coordinator);
    });
    lease_begin_force();
    self.serving = true;
}

// Looks at all leases once. Returns when the next look is due.
Steady attend_each()
{
    Steady next = steady_now() + (self.serving ? longest_sleep_us : us_per_s);
    for (int i = 0; i < max_leases && self.serving && !worker_interrupted(); i++) {
        Lease* lease = &shared_leases()->leases[i];
        Care& care = self.cares[i];
        Steady due = steady_past;
        if (!lease->in_use) {
            continue;
        }
        if (!survives([&] { due = attend(lease, care); })) {
            coordinator_disconnect(self.coordinator);
            lease_set_trouble(lease, Trouble::failed, "an error, see the server's log");
            postpone(care.attempts, steady_now(), chance());
            due = care.attempts.due;
        }
        next = std::min(next, due);
    }
    return next;
}

// Looks at all leases, and leaves the coordinator. Returns the same.
Steady attend_all()
{
    const bool was_connected = self.coordinator.connection != nullptr;
    Steady next = attend_each();
    if (!was_connected && self.coordinator.connection != nullptr) {
        next = attend_each(); // now that there is a connection, earlier ones may be renewed too
    }
    if (next - steady_now() > linger_us) {
        coordinator_disconnect(self.coordinator);
    }
    return next;
}

} // namespace

} // namespace flakeid

using namespace flakeid;

FLAKEID_EXPORT(void flakeid_lease_worker_main(Datum);)

void flakeid_lease_worker_main(Datum)
{
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
    BackgroundWorkerUnblockSignals();
    if (!worker_attach()) {
        proc_exit(0);
    }
    self.coordinator.waiter = &worker_waiter;
    self.coordinator.stop = steady_never;
    self.patient_until =
        steady_now() + patience_us; // what a lease worker before this one gave back
    MemoryContext loop =
        AllocSetContextCreate(TopMemoryContext, "flakeid lease worker", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(loop);
    bool good = survives(take_settings);
    while ((self.serving || !good) && !ShutdownRequestPending) {
        const Steady next = attend_all();
        if (!worker_interrupted()) {
            worker_sleep(next);
        }
        if (ConfigReloadPending || !good) {
            ConfigReloadPending = false;
            good = survives([] {
                ProcessConfigFile(PGC_SIGHUP);
                take_settings();
            });
        }
        MemoryContextReset(loop);
    }
    if (ShutdownRequestPending) {
        release_all();
    }
    proc_exit(0);
}
