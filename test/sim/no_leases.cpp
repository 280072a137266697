// There is no coordinator.
#include "checker.hpp"
#include "lease/worker.hpp"

namespace flakeid {

void worker_init() {}

void worker_call()
{
    sim::broken_for_good("leases began without a coordinator");
}

} // namespace flakeid
