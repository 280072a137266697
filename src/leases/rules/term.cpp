#include "term.hpp"

#include <cstring>

namespace flakeid {

Standing stands(const Term& known, const Term& here)
{
    if (known.number == 0) {
        return Standing::believed;
    }
    if (memcmp(known.realm, here.realm, sizeof here.realm) != 0) {
        return Standing::other_realm;
    }
    if (here.number != known.number) {
        return here.number > known.number ? Standing::believed : Standing::older;
    }
    return here.place == known.place ? Standing::believed : Standing::elsewhere;
}

int64_t next_term(int64_t before, int64_t now_us)
{
    return now_us > before ? now_us : before + 1;
}

} // namespace flakeid
