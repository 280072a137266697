#include "durable/given.hpp"

#include "durable/durable.hpp"
#include "settings/lease_settings.hpp"
#include "settings/node.hpp"
#include "settings/settings.hpp"

namespace flakeid {

namespace {

// Durable::given is 0 where node 0 was right, otherwise, from the lowest bit: whether there was a
// coordinator, 1 + the source of the node, its first number, how many follow.
constexpr int source_shift = 1;
constexpr int64_t source_mask = 15;
constexpr int first_shift = 5;
constexpr int more_shift = 36;
constexpr int64_t with_coordinator = 1;

int64_t given_now()
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

// The source of the node that was given; below 0: none was.
int64_t given_source(int64_t given)
{
    return (given >> source_shift & source_mask) - 1;
}

// The node that was given, as flakeid.node is written; nullptr: none was.
const char* given_node(int64_t given)
{
    const int64_t source = given_source(given);
    const auto first = static_cast<uint32_t>(given >> first_shift & PG_INT32_MAX);
    return source < 0 ? nullptr
                      : node_text(static_cast<NodeSource>(source), first,
                                  first + static_cast<uint32_t>(given >> more_shift));
}

[[noreturn]] void throw_given(int64_t given)
{
    constexpr char detail[] = "A dump and pg_upgrade do not carry what ALTER SYSTEM or a "
                              "configuration file set. Servers with the same node make the same "
                              "ids, and a server that was never given one has node 0.";
    if (const char* node = given_node(given)) {
        // A number that was restored here may have been restored elsewhere, too.
        const bool number = given_source(given) == static_cast<int64_t>(NodeSource::number);
        const bool leased = (given & with_coordinator) != 0;
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("flakeid.node is not set, and was %s when ids were made here", node),
                errdetail("%s", detail),
                given_source(given) == static_cast<int64_t>(NodeSource::file)
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

// The settings that were looked at last.
uint64_t generation_seen;

void look_at_given()
{
    const bool by_default = node_setting.by_default && !has_coordinator();
    if (!by_default && !node_setting.by_default && !node_setting.of_all) {
        return; // of a role or a session
    }
    Durable durable;
    if (!durable_look(&durable)) {
        return;
    }
    if (by_default) {
        if (durable.given != 0) {
            throw_given(durable.given);
        }
        return;
    }
    const int64_t given = given_now();
    if (durable.given != given) {
        (void)durable_alter([&](Durable& now) { now.given = given; });
    }
}

} // namespace

void remember_given()
{
    const uint64_t generation = settings.generation; // looking into catalogs may raise it
    if (generation_seen != generation) {
        look_at_given();
        generation_seen = generation;
    }
}

void restore_given(int64_t given)
{
    if (given < 0 || given_source(given) > static_cast<int64_t>(NodeSource::file)) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("" INT64_FORMAT " is no node that was given", given));
    }
    (void)durable_alter(
        [&](Durable& durable) { durable.given = durable.given != 0 ? durable.given : given; });
}

} // namespace flakeid
