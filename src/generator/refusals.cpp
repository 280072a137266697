#include "generator/refusals.hpp"

#include "server/clock.hpp"
#include "durable/server_horizon.hpp"
#include "server/messages.hpp"
#include "settings/lease_settings.hpp"
#include "settings/settings.hpp"

#include <algorithm>

namespace flakeid {

void throw_no_lease(const Generator& g, int64_t now_us)
{
    const Tenure view = tenure_view(g.tenure.entry, g.tenure.wanted_node, g.tenure.max_node);
    const int64_t end_us = view.last_end_us;
    const TenureReasons reasons = tenure_reasons(g.tenure.entry);
    const char* clock = moment_text(now_us);
    const char* detail = psprintf("%s; the clock says %s.", reasons.for_user, clock);
    const char* log = psprintf("%s; the clock says %s.", reasons.for_log, clock);
    const bool given_back = !view.held && now_us < end_us;
    if (end_us == 0 || given_back) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                g.tenure.wanted_node == any_node
                    ? errmsg("no node is leased to this server")
                    : errmsg("node %u is not leased to this server", g.tenure.wanted_node),
                errdetail("%s", detail), errdetail_log("%s", log),
                errhint("%s", reasons.hint != nullptr
                                  ? reasons.hint
                                  : "Ids go on by themselves as soon as the coordinator gives a "
                                    "lease."));
    }
    ereport(
        ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
        now_us >= end_us
            ? errmsg("the lease of node %u ended at %s", view.node, moment_text(end_us))
            : errmsg("the lease of node %u ends at %s, before the next id", view.node,
                     moment_text(end_us)),
        errdetail("%s", detail), errdetail_log("%s", log),
        errhint(
            "Ids go on by themselves as soon as the lease is renewed. Correct the clock if it is "
            "wrong."));
}

namespace {

// What to do about a word or a horizon of a time that the clock has left. The repair refuses a node
// that may have stamped then, and says how to go on.
constexpr char ahead_hint[] =
    "Correct the clock if it was set back, or wait until it has caught up. If it was wrong before "
    "and is right now, as a superuser: SELECT flakeid.repair_horizon();";

} // namespace

void throw_ahead(const Generator& g, Word word, int64_t now_us)
{
    const int64_t start_us = word_start_us(g, word);
    const char* ahead = duration_text(start_us - now_us);
    const char* max_ahead = duration_text(settings.max_ahead_us);
    if (g.tenure.entry != nullptr && g.tenure.end_us != 0 &&
        word_tick(g.shape, word) <= g.tenure.first_tick) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the lease of node %u begins %s ahead of the clock", g.node, ahead),
                errdetail("%s says that it began at %s, and the clock says %s; "
                          "flakeid.max_ahead is %s.",
                          tenure_grantor().for_user, moment_text(start_us), moment_text(now_us),
                          max_ahead),
                errhint("Correct the clock of this server or of the coordinator."));
    }
    if (word <= g.limits.first) {
        ereport(
            ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("the horizon of database \"%s\" lies %s ahead of the clock",
                   get_database_name(MyDatabaseId), ahead),
            errdetail("Ids up to %s may have been issued, and the clock says %s; flakeid.max_ahead "
                      "is %s.",
                      moment_text(start_us), moment_text(now_us), max_ahead),
            errhint("%s", ahead_hint));
    }
    // Draws alone lead no further than this, of whatever session.
    const int64_t most_ahead_us = server_most_ahead_us();
    const bool set_back = start_us - now_us > 2 * most_ahead_us + extension_us;
    ereport(
        ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
        errmsg("the next id of node %u lies %s ahead of the clock", g.node, ahead),
        errdetail("Ids were drawn faster than layout \"%s\" allows, or the clock was set back; the "
                  "clock says %s; flakeid.max_ahead is %s.",
                  g.name, moment_text(now_us), max_ahead),
        g.shape.has_back
            ? errhint("Wait or correct the clock. The back field has %u of its values left.",
                      static_cast<unsigned>(g.shape.max_back - word_back(g.shape, word)))
        : set_back
            ? errhint("%s If that was done, settled marks or ids of this run of the server lie "
                      "ahead too: restart it.",
                      ahead_hint)
            : errhint("Wait, correct the clock, or use a layout with a wider sequence or a "
                      "span of nodes."));
}

void throw_used(Generator& g, Word word, int64_t now_us)
{
    g.version = 0; // the next attempt looks anew
    const bool some = g.limits.least != no_tick;
    ereport(
        ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
        errmsg("layout \"%s\" comes to ids that another layout made on this server", g.name),
        some ? errdetail("Its ids are new from %s on, and the clock says %s; flakeid.max_ahead "
                         "is %s.",
                         moment_text(word_start_us(g, word)), moment_text(now_us),
                         duration_text(settings.max_ahead_us))
             : errdetail("None of its later ids is surely new."),
        errhint("Give it another node or epoch%s. If nobody has kept ids of other layouts, as a "
                "superuser: SELECT flakeid.repair_horizon(none_kept => true);",
                some ? ", or wait until then" : ""));
}

void throw_leases_began()
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("ids are made with leases only from now on"),
            errdetail("flakeid.coordinator was set while this statement ran."),
            errhint("Run the statement again."));
}

void throw_coordinator_refused()
{
    const CoordinatorText& text = *lease_settings.coordinator_text;
    if (text.no_client) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("flakeid.coordinator needs the library flakeid_libpq"),
                errdetail("%s", text.problem), errhint("%s", client_hint));
    }
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("flakeid.coordinator was refused"), errdetail("%s", text.problem),
            errhint("%s", coordinator_hint));
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

} // namespace flakeid
