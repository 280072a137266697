// Public ids with a prefix: sealed text that says what the id is of, and is an id of nothing else.
#include "core/sealed.hpp"
#include "durable/fingerprints.hpp"
#include "settings/prefix_key.hpp"

using namespace flakeid;

namespace {

struct Opened {
    SealedStatus status;
    bool foreign_prefix;
    int64_t id; // where the status is ok and the secret has the key
    int key;
};
static_assert(is_plain<Opened>);

// Opens the text of the first argument with the prefix of the second.
Opened open_prefixed(FunctionCallInfo fcinfo)
{
    text* outside = PG_GETARG_TEXT_PP(0);
    const char* prefix = require_prefix(PG_GETARG_TEXT_PP(1));
    const char* at = VARDATA_ANY(outside);
    const auto length = static_cast<size_t>(VARSIZE_ANY_EXHDR(outside));
    const size_t start = after_prefix(at, length, prefix, strlen(prefix));
    Opened opened{SealedStatus::bad_length, start == 0, 0, 0};
    Sealed sealed;
    size_t offset;
    if (start == 0 || (opened.status = read_sealed(at + start, length - start, &sealed, &offset)) !=
                          SealedStatus::ok) {
        return opened;
    }
    (void)sealing_keys();
    opened.key = sealed.key;
    if (has_key(sealed.key)) {
        opened.id =
            static_cast<int64_t>(sparx_decrypt(prefix_key(sealed.key, prefix), sealed.word));
    }
    return opened;
}

} // namespace

FLAKEID_FUNCTION(flakeid_seal_with_prefix)
{
    const char* prefix = require_prefix(PG_GETARG_TEXT_PP(1));
    const int number = sealing_keys().current;
    const uint64_t word =
        sparx_encrypt(prefix_key(number, prefix), static_cast<uint64_t>(PG_GETARG_INT64(0)));
    char text[max_prefixed_text];
    const size_t length = write_prefixed(prefix, strlen(prefix), {number, word}, text);
    return PointerGetDatum(cstring_to_text_with_len(text, static_cast<int>(length)));
}

FLAKEID_FUNCTION(flakeid_unseal_with_prefix)
{
    const Opened opened = open_prefixed(fcinfo);
    if (opened.status != SealedStatus::ok) {
        const char* prefix = text_to_cstring(PG_GETARG_TEXT_PP(1));
        ereport(
            ERROR, errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
            errmsg("\"%s\" is not an id with prefix \"%s\"", text_to_cstring(PG_GETARG_TEXT_PP(0)),
                   prefix),
            opened.foreign_prefix ? errdetail("It does not begin with \"%s_\".", prefix)
                                  : errdetail("What follows the prefix is no sealed id."),
            errhint("It has %s_ and 13 digits 0-9 and a-v, with one more in front of those where "
                    "the key has a number. flake_unseal_or_null() makes NULL of any other text.",
                    prefix));
    }
    if (!has_key(opened.key)) {
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("the secret has no key %d", opened.key),
                errdetail("The sealed id was made with that key."),
                errhint("Put the key back into the file that flakeid.secret_file names."));
    }
    return Int64GetDatum(opened.id);
}

// What names no row of this database for certain is NULL, as by flake_sealed_or_null().
FLAKEID_FUNCTION(flakeid_unseal_or_null)
{
    const Opened opened = open_prefixed(fcinfo);
    if (opened.status != SealedStatus::ok || !has_key(opened.key)) {
        PG_RETURN_NULL();
    }
    return Int64GetDatum(opened.id);
}
