#include "leases/believed.hpp"

#include "checker.hpp"
#include "leases/faults.hpp"
#include "leases/members.hpp"

#include <algorithm>

namespace sim {

namespace {

// Whom a server believed last, of its directory.
struct Believed {
    int directory = 0;
    int64_t origin = 0, at_us = 0; // true time
    std::string realm_id;
};
Believed believed[most_servers];
Believed sure[most_servers]; // the file says so by now
constexpr int64_t longest_until_sure_us = 5 * second;

} // namespace

void believed_begins()
{
    std::fill(std::begin(believed), std::end(believed), Believed{});
    std::fill(std::begin(sure), std::end(sure), Believed{});
}

void believed_crash(int server)
{
    if (true_us - believed[server].at_us < longest_until_sure_us) {
        believed[server] = sure[server];
    }
}

void check_believed(int64_t origin, const std::string& realm_id)
{
    Believed& before = believed[here().number];
    const Member& member = members[here().number];
    const bool kept = before.directory == member.directory && !member.misdated && !member.moved &&
                      !world.has('E') && !faults.unheard;
    if (kept && origin < before.origin) {
        tell("server %d: coordinator %d, and before %d", here().number, static_cast<int>(origin),
             static_cast<int>(before.origin));
        broken("a server believes a coordinator that was replaced");
    }
    if (kept && !before.realm_id.empty() && realm_id != before.realm_id) {
        tell("server %d: %s, and before %s", here().number, realm_id.c_str(),
             before.realm_id.c_str());
        broken("a server takes a lease of another realm");
    }
    if (true_us - before.at_us >= longest_until_sure_us) {
        sure[here().number] = before;
    }
    before = {member.directory, origin, true_us, realm_id};
}

std::string realm_of(int server)
{
    const Believed& last = believed[server];
    return last.directory == members[server].directory ? last.realm_id : "";
}

} // namespace sim
