// The lease worker: a background worker, attached to no database, that takes the leases that
// sessions want from the coordinator, renews them at a third of their length, and gives them back
// at a clean stop. It connects, asks what is due and leaves, so that one coordinator serves
// thousands. It holds no lock while it waits; all its waits end when its latch is set.
//
// Whatever the coordinator answers, and whatever goes wrong in the lease worker itself, is a failed
// attempt: it is told to the sessions and tried again later. The lease worker never ends because of
// it.
#include "server/clock.hpp"
#include "server/messages.hpp"
#include "leases/holder/lease_file.hpp"
#include "leases/holder/report.hpp"
#include "leases/holder/worker_ask.hpp"
#include "settings/lease_settings.hpp"
#include "server/shared.hpp"

extern "C" {
#include "libpq/pqsignal.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "utils/memutils.h"
}

namespace flakeid {

namespace {

constexpr int64_t longest_sleep_us = 60 * us_per_s;
constexpr int64_t idle_limit_us = 3600 * us_per_s; // an unused lease is given back
constexpr int64_t linger_us = us_per_s; // a connection is kept while something is due that soon

struct Main {
    bool serving; // leases are in force
    bool read;    // what lease_file.hpp kept of the realm
    char* conninfo;
    char* realm; // asking.realm
};
static_assert(is_plain<Main>);
Main self;

// True when no session asked for the lease or drew under it for long. Sessions that draw all the
// time ask only when its end has moved, so the words are looked at too.
bool is_idle(Lease* lease, Care& care)
{
    if (const uint64_t words = lease_words(lease); words != care.words) {
        care.words = words;
        lease_touch(lease);
    }
    const auto used_at = static_cast<Steady>(pg_atomic_read_u64(&lease->used_at));
    return steady_now() - used_at > idle_limit_us; // same with >=: a microsecond
}

// Leases that were granted one after the other come to be renewed on one connection.
bool renewal_due(const Care& care, Steady now)
{
    const int64_t wait_us = care.attempts.due - now;
    return wait_us <= 0 || // same with <: the next turn is at once
           (asking.coordinator.connection != nullptr && care.attempts.backoff_us == 0 &&
            renews_early(lease_settings.ttl_s * us_per_s, wait_us));
}

// Tells whether a failed attempt is not to be repeated yet. Sessions that wait wake the lease
// worker all the time.
bool backs_off(const Care& care, Steady now)
{
    return care.attempts.backoff_us != 0 && now < care.attempts.due; // same with <=: a microsecond
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
        if (now >= care.attempts.due) { // same with >: the next turn is at once
            acquire(lease, care);
        }
        // same with >: the next turn is at once
    } else if (wall_us() >= end_us || idle || begins_too_late(lease->start_us)) {
        const int64_t last_us = lease_close(lease);
        care.words = lease_words(lease); // nobody draws by that
        if (wall_us() >= end_us) {       // same with >: only the log
            ereport(LOG,
                    errmsg("the lease of %s ended at %s", nodes_text(lease->node, lease->nodes),
                           moment_text(end_us)),
                    errdetail("%s.", tenure_failing(lease)
                                         ? coordinator_text_of(lease)
                                         : "This server was stopped, or its clock "
                                           "was set"));
        }
        release(lease, last_us);
        care.refused = false;
        care.attempts.due = steady_past;
        return steady_past;
    } else if (!backs_off(care, now) && tenure_left_ahead(lease, wall_us()) && leave_node(lease)) {
        care.words = lease_words(lease);
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

// Goes on in the leases that the server had when it stopped, unless they have ended. They are
// renewed at the first look: a server that is started again and again would never come to another.
void go_on()
{
    Lease* leases = shared_leases()->leases;
    lease_file_read(self.realm, &asking.coordinator.known);
    for (int i = 0; i < max_leases; i++) {
        const FiledLease& filed = lease_file_found(i);
        const Grant grant = grant_of(filed);
        // same with >=: it ends at 0 then
        const bool held = filed.length_s > 0 && grant.end_us > wall_us();
        Lease* lease = held ? tenure_want(filed.wanted, filed.max_node, true) : nullptr;
        if (lease != nullptr && pg_atomic_read_u64(&lease->end_us) == 0) {
            lease_resume(lease, grant, lease_file_stamped_us());
            ereport(LOG,
                    errmsg("this server goes on in its lease of %s",
                           nodes_text(grant.node, grant.nodes)),
                    errdetail("It had the lease before it was started, until %s.",
                              moment_text(grant.end_us)));
        }
    }
    for (int i = 0; i < max_leases; i++) {
        if (leases[i].in_use && pg_atomic_read_u64(&leases[i].end_us) != 0) {
            lease_file_put(i, &leases[i]);
        }
    }
    lease_file_put_given_back();
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
        self.read = false;
    }
    self.serving = false;
    if (!wanted) {
        lease_end_force();
        return;
    }
    // Leases stay when the coordinator is reached in another way. Another coordinator, which does
    // not know them, lets them run out.
    if (self.conninfo != nullptr && strcmp(self.conninfo, lease_settings.coordinator) != 0) {
        leave_coordinator();
    }
    replace(&self.realm, lease_settings.realm);
    asking.realm = self.realm;
    replace(&self.conninfo, lease_settings.coordinator);
    asking.coordinator.conninfo = self.conninfo;
    locked(LW_EXCLUSIVE, [&] {
        strlcpy(table->coordinator, lease_settings.coordinator_text->name,
                sizeof table->coordinator);
    });
    lease_begin_force();
    self.serving = true;
    if (!self.read) {
        go_on();
        self.read = true;
    }
}

// Looks at all leases once. Returns when the next look is due.
Steady attend_each()
{
    Steady next = steady_now() + (self.serving ? longest_sleep_us : us_per_s);
    for (int i = 0; i < max_leases && self.serving && !worker_interrupted(); i++) {
        Lease* lease = &shared_leases()->leases[i];
        Care& care = asking.cares[i];
        Steady due = steady_past;
        if (!lease->in_use) {
            continue;
        }
        if (!survives([&] { due = attend(lease, care); })) {
            disconnect(asking.coordinator);
            lease_set_trouble(lease, Trouble::failed, "an error, see the server's log");
            try_later(care.attempts);
            due = care.attempts.due;
        }
        next = std::min(next, due);
    }
    if (self.serving && !worker_interrupted()) {
        Steady due = steady_now() + last_backoff_us;
        if (!survives([&] { due = tell_again(); })) {
            disconnect(asking.coordinator);
        }
        next = std::min(next, due);
    }
    return next;
}

// Looks at all leases, and leaves the coordinator. Returns the same.
Steady attend_all()
{
    const bool was_connected = asking.coordinator.connection != nullptr;
    Steady next = attend_each();
    if (!was_connected && asking.coordinator.connection != nullptr) {
        next = attend_each(); // now that there is a connection, earlier ones may be renewed too
    }
    if (next - steady_now() > linger_us) { // same with >=: a microsecond
        disconnect(asking.coordinator);
    }
    return next;
}

// Returns when what could not be kept now is to be kept.
Steady keep_leases()
{
    bool kept = false;
    (void)survives([&] { kept = lease_file_write(); });
    return kept ? steady_never : steady_now() + us_per_s;
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
    // The resolver waits for name servers that hang as long as it is told, and nothing interrupts
    // it: not for half a minute, while a server is to stop.
    (void)setenv("RES_OPTIONS", "timeout:1 attempts:1", 0);
    asking.coordinator.waiter = &worker_waiter;
    asking.coordinator.stop = steady_never;
    be_patient(); // what a lease worker before this one gave back
    MemoryContext loop =
        AllocSetContextCreate(TopMemoryContext, "flakeid lease worker", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(loop);
    bool good = survives(take_settings);
    while ((self.serving || !good) && !ShutdownRequestPending) {
        const Steady attended = attend_all();
        const Steady next = std::min(attended, keep_leases());
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
