#include "durable/assigned.hpp"

#include "durable/durable.hpp"
#include "durable/horizon.hpp"
#include "settings/lease_settings.hpp"
#include "settings/node.hpp"
#include "settings/settings.hpp"

namespace flakeid {

namespace {

// Durable::assigned is 0 where node 0 was right, otherwise, from the lowest bit: whether there was
// a coordinator, 1 + the source of the node, its first number, how many follow.
constexpr int source_shift = 1;
constexpr int64_t source_mask = 15;
constexpr int first_shift = 5;
constexpr int more_shift = 36;
constexpr int64_t with_coordinator = 1;

int64_t assigned_now()
{
    const bool coordinator = has_coordinator();
    const bool by_default = node_setting.by_default ||
                            (node_setting.source == NodeSource::number && node_setting.last == 0);
    const int64_t more =
        std::min<int64_t>(node_setting.last - node_setting.first, PG_INT32_MAX >> 4);
    return (coordinator ? with_coordinator : 0) |
           (by_default
                ? 0
                : (1 + static_cast<int64_t>(node_setting.source)) << source_shift |
                      static_cast<int64_t>(node_setting.first) << first_shift | more << more_shift);
}

// The source of the node that was assigned; below 0: none was.
int64_t assigned_source(int64_t assigned)
{
    return (assigned >> source_shift & source_mask) - 1;
}

// The node that was assigned, as flakeid.node is written; nullptr: none was.
const char* assigned_node(int64_t assigned)
{
    const int64_t source = assigned_source(assigned);
    const auto first = static_cast<uint32_t>(assigned >> first_shift & PG_INT32_MAX);
    return source < 0 ? nullptr
                      : node_text(static_cast<NodeSource>(source), first,
                                  first + static_cast<uint32_t>(assigned >> more_shift));
}

[[noreturn]] void throw_assigned(int64_t assigned)
{
    constexpr char detail[] = "A dump and pg_upgrade do not carry what ALTER SYSTEM or a "
                              "configuration file set. Servers with the same node make the same "
                              "ids, and a server that was never given one has node 0.";
    if (const char* node = assigned_node(assigned)) {
        // A number that was restored here may have been restored elsewhere, too.
        const bool number = assigned_source(assigned) == static_cast<int64_t>(NodeSource::number);
        const bool leased = (assigned & with_coordinator) != 0;
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("flakeid.node is not set, and was %s when ids were made here", node),
                errdetail("%s", detail),
                assigned_source(assigned) == static_cast<int64_t>(NodeSource::file)
                    ? errhint("If no other server has the number of that file now, set "
                              "flakeid.node to the file again.")
                    : errhint("%s%s LOAD 'flakeid'; ALTER SYSTEM SET flakeid.node = %s; SELECT "
                              "pg_reload_conf();",
                              leased ? "Set flakeid.coordinator as it was, and then"
                                     : "If no other server has that node now",
                              number ? ", with it for N:" : ":",
                              number ? "N" : quote_literal_cstr(node)));
    }
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("flakeid.coordinator is not set, and nodes were leased when ids were made here"),
            errdetail("%s", detail),
            errhint("Set flakeid.coordinator as it was. To do without one, set flakeid.node to a "
                    "number that no other server has."));
}

// Horizon::assigned is twice a number of changes where nobody has read the row since that change
// began, and odd where somebody has: 1 and twice the row's number. To read the row a session must
// open its relation, which costs as much as all the rest of an INSERT.
//
// Who alters the row forgets what is known under the exclusive lock of its page. Who has read it
// swaps the number in for the change that stood there before, under the lock of the relation, so
// that neither an alteration nor another row came between. A row that a rollback takes away again
// is not remembered.
constexpr uint64_t known_bit = 1;

void forget(Horizon* horizon)
{
    const uint64_t change =
        1 + pg_atomic_fetch_add_u64(&horizon->assigned_changes, 1); // seldom: a node is set
    pg_atomic_write_u64(&horizon->assigned, change << 1);
}

// Reads the number, and returns when it is durable. False where durable_look() is.
bool look(Horizon* horizon, int64_t* assigned)
{
    uint64_t seen = pg_atomic_read_u64(&horizon->assigned);
    if ((seen & known_bit) != 0) {
        *assigned = static_cast<int64_t>(seen >> 1);
        return true;
    }
    Durable durable;
    const bool known = durable_look(&durable, [&](const DurablePage& page) {
        if (!durable_may_go_back(page)) {
            Assert(durable_is_flushed(page));
            const uint64_t number = static_cast<uint64_t>(durable.assigned) << 1 | known_bit;
            (void)pg_atomic_compare_exchange_u64(&horizon->assigned, &seen, number);
        }
    });
    *assigned = durable.assigned;
    return known;
}

// The settings that were looked at last.
uint64_t version_seen;

void look_at_assigned()
{
    const bool by_default = node_setting.by_default && !has_coordinator();
    if (!by_default && !node_setting.by_default && !node_setting.of_all) {
        return; // of a role or a session
    }
    Horizon* horizon = shared_horizon();
    int64_t before;
    if (!look(horizon, &before)) {
        return;
    }
    if (by_default) {
        if (before != 0) {
            throw_assigned(before);
        }
        return;
    }
    const int64_t assigned = assigned_now();
    if (before != assigned) {
        (void)durable_alter([&](Durable& durable) {
            forget(horizon);
            durable.assigned = assigned;
        });
    }
}

} // namespace

void remember_assigned()
{
    const uint64_t version = settings.version; // looking into catalogs may raise it
    if (version_seen != version) {
        look_at_assigned();
        version_seen = version;
    }
}

void restore_assigned(int64_t assigned)
{
    if (assigned < 0 || assigned_source(assigned) > static_cast<int64_t>(NodeSource::file)) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("" INT64_FORMAT " is no node that was assigned", assigned));
    }
    Horizon* horizon = shared_horizon();
    (void)durable_alter([&](Durable& durable) {
        forget(horizon);
        durable.assigned = durable.assigned != 0 ? durable.assigned : assigned;
    });
}

void forget_assigned()
{
    forget(shared_horizon());
}

} // namespace flakeid
