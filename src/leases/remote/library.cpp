// The library flakeid_libpq, as the server loads it.
#include "leases/remote/coordinator.hpp"
#include "server/postgres.hpp"

FLAKEID_EXPORT(PG_MODULE_MAGIC; const flakeid::Client* flakeid_client();)

using namespace flakeid;

const Client* flakeid_client()
{
    static constexpr Client client = {
        FLAKEID_VERSION,        sizeof(Client),      coordinator_read,  coordinator_connect,
        coordinator_disconnect, coordinator_acquire, coordinator_renew, coordinator_release};
    return &client;
}
