// There is no coordinator.
#include "checker.hpp"
#include "slots/tenure.hpp"

namespace flakeid {

void tenure_start() {}

void tenure_call()
{
    sim::broken_for_good("leases began without a coordinator");
}

} // namespace flakeid
