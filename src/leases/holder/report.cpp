// What is told of leases: the lease worker notes here why one is missing and how the coordinator
// does, sessions and the log say it.
#include "server/clock.hpp"
#include "leases/holder/report.hpp"
#include "settings/lease_settings.hpp"
#include "server/messages.hpp"
#include "settings/settings.hpp"
#include "server/stats.hpp"

namespace flakeid {

namespace {

int index_of(const Lease* lease)
{
    return static_cast<int>(lease - shared_leases()->leases);
}

const char* kind_of(Trouble trouble)
{
    switch (trouble) {
    case Trouble::none:
        break;
    case Trouble::away:
        return "The coordinator cannot be reached";
    case Trouble::in_use:
        return "Another holder has the node";
    case Trouble::busy:
        return "The coordinator could not answer";
    case Trouble::refused:
    case Trouble::used_token:
        return "The coordinator refused";
    case Trouble::not_believed:
        return "The coordinator is not the one that this server knows, or of another version";
    case Trouble::nonsense:
        return "The coordinator gave an answer that is none";
    case Trouble::ended:
        return "The coordinator gave a lease that has ended by this server's clock";
    case Trouble::ahead:
        return "The coordinator gave a lease that begins too far ahead of this server's clock";
    case Trouble::later_file:
        return "A later version of flakeid wrote file \"flakeid/leases\"";
    case Trouble::failed:
    case Trouble::interrupted:
        return "The lease worker failed";
    }
    return "There was no answer yet";
}

// The two forms of what failed: `text` is for those who see settings alone.
TenureReasons reasons_of(Trouble trouble, const char* text)
{
    const bool ours = trouble == Trouble::later_file; // not the coordinator's
    const char* full = ours ? text : psprintf("%s: %s", tenure_grantor().for_log, text);
    return {client_sees_settings() ? full : kind_of(trouble), full,
            ours ? "Install the later version of flakeid that this server had." : nullptr};
}

bool is_answer(Trouble trouble)
{
    return trouble == Trouble::in_use || trouble == Trouble::busy || trouble == Trouble::refused ||
           trouble == Trouble::not_believed || trouble == Trouble::ended ||
           trouble == Trouble::ahead || trouble == Trouble::used_token;
}

} // namespace

TenureReasons tenure_grantor()
{
    char name[coordinator_name_size];
    const LeaseTable* table = shared_leases();
    locked(LW_SHARED, [&] { return strlcpy(name, table->coordinator, sizeof name); });
    const char* full = psprintf("Coordinator \"%s\"", name);
    return {client_sees_settings() ? full : "The coordinator", full, nullptr};
}

const char* coordinator_text_of(const Lease* lease)
{
    auto* text = static_cast<char*>(palloc0(trouble_text_size));
    const LeaseTable* table = shared_leases();
    const Trouble trouble = locked(LW_SHARED, [&] {
        for (const LeaseText& kept : table->texts) {
            if (kept.lease == index_of(lease)) {
                strlcpy(text, kept.text, trouble_text_size);
            }
        }
        return lease->trouble;
    });
    return trouble == Trouble::none ? "no answer yet" : text[0] != '\0' ? text : kind_of(trouble);
}

TenureReasons tenure_reasons(const Lease* lease)
{
    const Trouble trouble = locked(LW_SHARED, [&] { return lease->trouble; });
    return reasons_of(trouble, coordinator_text_of(lease));
}

void lease_set_trouble(Lease* lease, Trouble trouble, const char* text)
{
    LeaseTable* table = shared_leases();
    const int index = index_of(lease);
    const int64_t now_us = wall_us();
    locked(LW_EXCLUSIVE, [&] {
        lease->trouble = trouble;
        table->failed = trouble;
        table->failed_us = now_us;
        strlcpy(table->failed_text, text, sizeof table->failed_text);
        if (is_answer(trouble)) {
            table->answered_us = now_us;
            table->silent_us = 0;
        } else if (table->silent_us == 0 && trouble != Trouble::failed &&
                   trouble != Trouble::later_file) {
            table->silent_us = now_us;
        }
        LeaseText* kept = nullptr;
        for (LeaseText& other : table->texts) {
            kept = other.lease == index ? &other : kept;
        }
        if (kept == nullptr) {
            kept = &table->texts[table->next_text];
            table->next_text = (table->next_text + 1) % lease_text_count;
        }
        kept->lease = index;
        return strlcpy(kept->text, text, sizeof kept->text);
    });
    count(Counter::lease_failures);
}

void lease_note_answer()
{
    LeaseTable* table = shared_leases();
    locked(LW_EXCLUSIVE, [&] {
        table->answered_us = wall_us();
        table->silent_us = 0;
    });
}

void log_away(const char* why)
{
    ereport(LOG,
            errmsg("coordinator of leases \"%s\" cannot be reached",
                   lease_settings.coordinator_text->name),
            errdetail("%s.", why));
}

void log_back()
{
    ereport(LOG,
            errmsg("coordinator of leases \"%s\" is back", lease_settings.coordinator_text->name));
}

void log_no_lease(const char* why)
{
    ereport(LOG,
            errmsg("coordinator of leases \"%s\" gives no lease",
                   lease_settings.coordinator_text->name),
            errdetail("%s.", why));
}

const char* nodes_text(uint32_t node, uint32_t nodes)
{
    return nodes == 1 ? psprintf("node %u", node)
                      : psprintf("nodes %u to %u", node, node + nodes - 1);
}

CoordinatorReport report_coordinator()
{
    auto* text = static_cast<char*>(palloc0(trouble_text_size));
    const LeaseTable* table = shared_leases();
    CoordinatorReport report{};
    const Trouble failed = locked(LW_SHARED, [&] {
        report.answered_us = table->answered_us;
        report.silent_us = table->silent_us;
        report.failed_us = table->failed_us;
        report.file_error = table->file_error;
        strlcpy(text, table->failed_text, trouble_text_size);
        return table->failed;
    });
    report.failed = reasons_of(failed, text).for_user;
    return report;
}

bool report_lease(int place, LeaseReport* report)
{
    Lease* lease = &shared_leases()->leases[place];
    const bool in_use = locked(LW_SHARED, [&] {
        const uint64_t end_us = pg_atomic_read_u64(&lease->end_us);
        *report =
            LeaseReport{lease->wanted,      lease->node, lease->nodes, static_cast<int64_t>(end_us),
                        lease->last_end_us, nullptr};
        return lease->in_use;
    });
    report->reasons = in_use ? tenure_reasons(lease).for_user : nullptr;
    return in_use;
}

namespace {

const char* how_it_answers(const CoordinatorReport& report)
{
    const char* last = report.answered_us == 0
                           ? "it never answered"
                           : psprintf("it answered last at %s", moment_text(report.answered_us));
    return report.silent_us != 0
               ? psprintf("does not answer since %s; %s", moment_text(report.silent_us), last)
           : report.answered_us != 0
               ? psprintf("answered last at %s", moment_text(report.answered_us))
               : "was not asked yet";
}

const char* how_it_is_held(const LeaseReport& lease)
{
    return lease.end_us != 0 ? psprintf("until %s", moment_text(lease.end_us))
           : lease.last_end_us != 0
               ? psprintf("ended at %s. %s", moment_text(lease.last_end_us), lease.reasons)
               : psprintf("not held. %s", lease.reasons);
}

} // namespace

void tenure_tell(TenureRow row, void* to)
{
    const CoordinatorReport report = report_coordinator();
    row(to, "coordinator", how_it_answers(report), 0);
    if (report.failed_us != 0) {
        row(to, "last error of leases",
            psprintf("%s: %s", moment_text(report.failed_us), report.failed), 0);
    }
    if (report.file_error != 0) {
        errno = report.file_error;
        row(to, "file of leases",
            psprintf("cannot be written: %m; after a crash the server takes new leases"), 0);
    }
    for (int place = 0; place < max_leases; place++) {
        LeaseReport lease;
        if (report_lease(place, &lease)) {
            const bool numbered = lease.end_us != 0 || lease.wanted != any_node;
            row(to,
                numbered ? psprintf("lease of %s", nodes_text(lease.node, lease.nodes))
                         : "lease of any node",
                how_it_is_held(lease), lease.end_us != 0 ? lease.end_us : lease.last_end_us);
        }
    }
}

} // namespace flakeid
