// The version of the library, which objects of another version ask for.
#include "server/postgres.hpp"

using namespace flakeid;

FLAKEID_FUNCTION(flakeid_version)
{
    (void)fcinfo;
    return CStringGetTextDatum(FLAKEID_VERSION);
}
