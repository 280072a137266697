// Finds the client of coordinators where one is named: in the library flakeid_libpq, which stands
// beside this one and is loaded as the server loads libpqwalreceiver.
#include "leases/holder/worker.hpp"
#include "settings/read_coordinator.hpp"

namespace flakeid {

const Client* client;

const char client_hint[] =
    "Install the library flakeid_libpq, which comes with flakeid " FLAKEID_VERSION
    ", and restart the server.";

namespace {

// Loads the library, and returns what it has. An error that says why not.
const Client* load()
{
    using Library = const Client* (*)();
    const auto library = reinterpret_cast<Library>(
        load_external_function("$libdir/flakeid_libpq", "flakeid_client", true, nullptr));
    return library();
}

// False with a reason when there is no client.
bool find(char* reason, size_t size)
{
    MemoryContext context = CurrentMemoryContext;
    PG_TRY();
    {
        client = load();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        ErrorData* error = CopyErrorData();
        FlushErrorState();
        snprintf(reason, size, "Library flakeid_libpq cannot be loaded: %s.", error->message);
        FreeErrorData(error);
    }
    PG_END_TRY();
    if (client != nullptr &&
        (strcmp(client->version, FLAKEID_VERSION) != 0 || client->size != sizeof(Client))) {
        snprintf(reason, size,
                 "Library flakeid_libpq is of version %s (%zu), and flakeid of version %s (%zu).",
                 client->version, client->size, FLAKEID_VERSION, sizeof(Client));
        client = nullptr;
    }
    return client != nullptr;
}

} // namespace

bool read_coordinator(const char* conninfo, CoordinatorText* text)
{
    text->no_client = client == nullptr && !find(text->problem, sizeof text->problem);
    if (text->no_client) {
        return false;
    }
    const char* reason;
    const bool good = client->read(conninfo, text->name, sizeof text->name, &reason);
    if (!good) {
        strlcpy(text->problem, reason, sizeof text->problem);
    }
    return good;
}

} // namespace flakeid
