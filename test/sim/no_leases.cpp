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

void* load_external_function(const char*, const char*, bool, void**)
{
    sim::broken_for_good("a coordinator is looked for, and none was named");
}
