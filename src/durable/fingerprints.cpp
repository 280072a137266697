#include "durable/fingerprints.hpp"

#include "durable/durable.hpp"
#include "server/extension.hpp"
#include "settings/prefix_key.hpp"

namespace flakeid {

namespace {

constexpr int fingerprints_per_cell = 2;
static_assert(key_fingerprint_cells * fingerprints_per_cell == max_keys);

// Stands for the fingerprint of key 0 where enciphered layouts used the secret and sealed ids did
// not.
constexpr uint32_t enciphered_mark = 2;

// Never 0, which stands for no fingerprint, nor the mark.
uint32_t short_fingerprint(const SparxKey& key)
{
    return static_cast<uint32_t>(fingerprint_of_key(key)) | 1;
}

void set_fingerprint(Durable& durable, int number, uint32_t fingerprint)
{
    int64_t& cell = durable.key_fingerprints[number / fingerprints_per_cell];
    const int shift = number % fingerprints_per_cell * 32;
    const auto others = static_cast<uint64_t>(cell) & ~(UINT64_C(0xffffffff) << shift);
    cell = static_cast<int64_t>(others | static_cast<uint64_t>(fingerprint) << shift);
}

bool knows_any(const Durable& durable)
{
    bool any = false;
    for (const int64_t cell : durable.key_fingerprints) {
        any = any || cell != 0;
    }
    return any;
}

// Returns the number of the first loaded key for which the database knows another one, or -1.
// `complete` is then whether the database knows all of them.
int other_key(const Durable& durable, bool* complete)
{
    *complete = true;
    for (int number = 0; number < max_keys; number++) {
        const uint32_t known = durable_key_fingerprint(durable, number);
        if (has_key(number) && known != short_fingerprint(expanded_secret.sealed[number])) {
            if (known != 0 && known != enciphered_mark) {
                return number;
            }
            *complete = false;
        }
    }
    return -1;
}

constexpr char changed[] = "The secret was changed, or this server is a copy or a standby that has "
                           "another one.";

[[noreturn]] void throw_other_key(int number, const char* detail)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("key %d is not the one that sealed ids of this database were made with", number),
            errdetail("%s", detail),
            errhint("Put the old secret back. Add a new one to the secret file under a number of "
                    "its own. Where no text of the old one is in use any more, a superuser runs "
                    "SELECT flakeid.accept_secret()."));
}

// Raises an error when the database knows another key. Otherwise it knows all loaded ones when this
// returns, but where it is a standby or its numbers are lost.
void compare_and_remember()
{
    Durable durable;
    const bool known =
        durable_look(&durable); // fingerprints only tell of a mistake: go on without them
    bool complete = true;
    int other = known ? other_key(durable, &complete) : -1;
    if (other < 0 && !complete && !RecoveryInProgress()) {
        (void)durable_alter([&](Durable& now) {
            other = other_key(now, &complete); // another session may have been here meanwhile
            for (int number = 0; number < max_keys && other < 0; number++) {
                if (has_key(number)) {
                    set_fingerprint(now, number, short_fingerprint(expanded_secret.sealed[number]));
                }
            }
        });
    }
    if (other >= 0) {
        forget_secret();
        throw_other_key(other, changed);
    }
}

} // namespace

uint32_t durable_key_fingerprint(const Durable& durable, int number)
{
    const auto cell =
        static_cast<uint64_t>(durable.key_fingerprints[number / fingerprints_per_cell]);
    return static_cast<uint32_t>(cell >> (number % fingerprints_per_cell * 32));
}

bool secret_used()
{
    Durable durable;
    return HistoricSnapshotActive() || (durable_look(&durable) && knows_any(durable));
}

void remember_enciphering()
{
    Durable durable;
    if (durable_look(&durable) && !knows_any(durable)) {
        (void)durable_alter([](Durable& now) {
            if (!knows_any(now)) {
                set_fingerprint(now, 0, enciphered_mark);
            }
        });
    }
}

void require_known_keys()
{
    load_secret(secret_used);
    Durable durable;
    bool complete;
    const int other = durable_look(&durable) ? other_key(durable, &complete) : -1;
    if (other >= 0) {
        throw_other_key(other, changed);
    }
}

void prepare_sealing()
{
    load_secret(secret_used);
    expanded_secret.compared = !HistoricSnapshotActive();
    if (expanded_secret.compared) {
        compare_and_remember();
    }
    expanded_secret.sealing_version = settings.version;
    expanded_secret.read_at = PgReloadTime;
}

void sealing_restore(int number, uint32_t fingerprint)
{
    uint32_t known = 0;
    (void)durable_alter([&](Durable& durable) {
        known = durable_key_fingerprint(durable, number);
        if (known == 0 || fingerprint != enciphered_mark) {
            set_fingerprint(durable, number, fingerprint);
        }
    });
    forget_secret(); // so that the rest of the dump is read with the right key or not at all
    if (known != 0 && known != enciphered_mark && fingerprint != enciphered_mark &&
        known != fingerprint) {
        throw_other_key(number, "The dump that is restored comes from another secret.");
    }
}

} // namespace flakeid

using namespace flakeid;

// Declares the keys of the secret right for the sealed ids of this database: they are remembered
// when they are next used. That a secret was used at all stays known.
FLAKEID_FUNCTION(flakeid_accept_secret)
{
    require_superuser(fcinfo);
    if (RecoveryInProgress()) {
        ereport(ERROR, errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
                errmsg("cannot accept a secret during recovery"),
                errhint("Accept it on the primary, or promote this server."));
    }
    (void)durable_alter([](Durable& durable) {
        const bool used = knows_any(durable);
        memset(durable.key_fingerprints, 0, sizeof durable.key_fingerprints);
        set_fingerprint(durable, 0, used ? enciphered_mark : 0);
    });
    forget_secret();
    PG_RETURN_VOID();
}

// Returns the key of sealed ids that goes to programs outside.
FLAKEID_FUNCTION(flakeid_sealed_key)
{
    require_superuser(fcinfo);
    if (PG_ARGISNULL(0)) {
        PG_RETURN_NULL();
    }
    const int32_t number = PG_GETARG_INT32(0);
    if (number < 0 || number >= max_keys) {
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("there is no key %d", number),
                errhint("Keys have numbers from 0 to %d.", max_keys - 1));
    }
    const ExpandedSecret& secret = sealing_keys();
    if (!has_key(number)) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the secret has no key %d", number));
    }
    auto* bytes = static_cast<bytea*>(palloc(VARHDRSZ + sparx_key_bytes));
    SET_VARSIZE(bytes, VARHDRSZ + sparx_key_bytes);
    if (PG_ARGISNULL(1)) {
        memcpy(VARDATA(bytes), secret.subkey[number], sparx_key_bytes);
    } else {
        unsigned char key[sparx_key_bytes];
        make_prefix_key(number, require_prefix(PG_GETARG_TEXT_PP(1)), key);
        memcpy(VARDATA(bytes), key, sparx_key_bytes);
        wipe(key, sizeof key);
    }
    PG_RETURN_BYTEA_P(bytes);
}
