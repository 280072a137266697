#include "durable/clone.hpp"

#include "durable/durable.hpp"
#include "durable/server_horizon.hpp"
#include "settings/cluster.hpp"
#include "settings/node.hpp"

namespace flakeid {

const char* clone_problem()
{
    constexpr TimeLineID first_timeline = 1; // which no promotion leads to
    if (node_setting.source != NodeSource::citus || RecoveryInProgress()) {
        return nullptr;
    }
    const Citus citus = citus_cluster();
    if (!citus.is_cloned || GetWALInsertionTimeLine() == first_timeline) {
        return nullptr;
    }
    Durable durable;
    if (durable_look(&durable) && same_origin(durable.origin, server_origin(true))) {
        return nullptr;
    }
    return psprintf("Citus knows a clone of the server of group %u, and this may be the clone: it "
                    "made no ids of this database since it was promoted.",
                    citus.group);
}

void refuse_clone()
{
    if (const char* problem = clone_problem()) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the group that Citus gave may be that of another server"),
                errdetail("%s", problem),
                errhint("If it is the clone, wait until citus_promote_clone_and_rebalance() has "
                        "ended. If it is not, set flakeid.node to the group until the clone is "
                        "promoted or removed."));
    }
}

} // namespace flakeid
