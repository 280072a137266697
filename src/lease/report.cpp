// What is told of leases: the lease worker notes here why one is missing and how the coordinator
// does, sessions and the log say it.
#include "server/clock.hpp"
#include "lease/report.hpp"
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
    case Trouble::failed:
    case Trouble::interrupted:
        return "The lease worker failed";
    }
    return "There was no answer yet";
}

// The two forms of what failed: `text` is for those who see settings alone.
LeaseReasons reasons_of(Trouble trouble, const char* text)
{
    const char* full = psprintf("%s: %s", lease_coordinator().for_log, text);
    return {client_sees_settings() ? full : kind_of(trouble), full};
}

bool is_answer(Trouble trouble)
{
    return trouble == Trouble::in_use || trouble == Trouble::busy || trouble == Trouble::refused ||
           trouble == Trouble::not_believed || trouble == Trouble::ended ||
           trouble == Trouble::ahead || trouble == Trouble::used_token;
}

} // namespace

LeaseReasons lease_coordinator()
{
    char name[coordinator_name_size];
    const LeaseTable* table = shared_leases();
    locked(LW_SHARED, [&] { return strlcpy(name, table->coordinator, sizeof name); });
    const char* full = psprintf("Coordinator \"%s\"", name);
    return {client_sees_settings() ? full : "The coordinator", full};
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

LeaseReasons lease_reasons(const Lease* lease)
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
        } else if (table->silent_us == 0 && trouble != Trouble::failed) {
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
    ereport(
        LOG,
        errmsg("coordinator of leases \"%s\" cannot be reached", lease_settings.coordinator_name),
        errdetail("%s.", why));
}

void log_back()
{
    ereport(LOG, errmsg("coordinator of leases \"%s\" is back", lease_settings.coordinator_name));
}

void log_no_lease(const char* why)
{
    ereport(LOG,
            errmsg("coordinator of leases \"%s\" gives no lease", lease_settings.coordinator_name),
            errdetail("%s.", why));
}

void throw_coordinator_refused()
{
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("flakeid.coordinator was refused"),
            errdetail("%s", lease_settings.coordinator_problem), errhint("%s", coordinator_hint));
}

void throw_leased_node_out_of_range(uint32_t node, const Layout& layout, const char* name)
{
    ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
            errmsg("node %u is out of range for layout \"%s\"", node, name),
            errdetail("Its nodes are 0 to %u. The coordinator gave the node for flakeid.layout, "
                      "which is \"%s\".",
                      layout.max_node, settings.layout_text),
            errhint("Set flakeid.layout to the other layout for the databases or roles that use "
                    "it, or give the realm no more nodes than that."));
}

void throw_lease_too_small(uint32_t wanted, uint32_t nodes)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("flakeid.node is auto(%u), and a lease has %s", wanted,
                   nodes == 1 ? "one node" : psprintf("%u nodes", nodes)),
            errdetail("How many it has is a setting of its realm on the coordinator."),
            errhint("Set flakeid.node to auto(%u), or on the coordinator, as a superuser: SELECT "
                    "flakeid.lease_realm_set(%s, lease_nodes => %u);",
                    nodes, quote_literal_cstr(lease_settings.realm), wanted));
}

const char* nodes_text(uint32_t node, uint32_t nodes)
{
    return nodes == 1 ? psprintf("node %u", node)
                      : psprintf("nodes %u to %u", node, node + nodes - 1);
}

bool nodes_in_use(const Layout& layout, NodeSpan* span)
{
    if (node_setting.source == NodeSource::any) {
        Lease* lease = lease_want(any_node, layout.max_node, true);
        const LeaseView view =
            lease == nullptr ? LeaseView{} : lease_view(lease, any_node, layout.max_node);
        const uint32_t further = span->last - span->first;
        span->first = view.node;
        span->last = view.node + further;
        return view.held && further < view.nodes;
    }
    return true;
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
    report->reasons = in_use ? lease_reasons(lease).for_user : nullptr;
    return in_use;
}

} // namespace flakeid
