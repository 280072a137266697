// Whether a number can be an id: flake_valid and flake_guess.
#include "core/guess.hpp"
#include "readers/reader.hpp"

using namespace flakeid;

namespace {

// No id was made later by now.
int64_t latest_us(int64_t now_us)
{
    return now_us + settings.max_ahead_us;
}

// Returns the key of enciphered layouts, or nullptr where there is none or it cannot be loaded.
const SparxKey* key_if_any()
{
    if (secret_source() == SecretSource::none) {
        return nullptr;
    }
    // What can fail here reads a file and holds nothing, so a caught error leaves nothing behind.
    MemoryContext context = CurrentMemoryContext;
    PG_TRY();
    {
        load_key([] { return true; });
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        if (ERRCODE_TO_CATEGORY(geterrcode()) == ERRCODE_OPERATOR_INTERVENTION) {
            PG_RE_THROW();
        }
        FlushErrorState();
        return nullptr;
    }
    PG_END_TRY();
    return &expanded_secret.key[0];
}

} // namespace

FLAKEID_FUNCTION(flakeid_valid)
{
    const Reader& reader = reader_of(fcinfo, 1);
    const uint64_t raw = deciphered(reader, PG_GETARG_INT64(0));
    return BoolGetDatum(possible_id(reader.layout, raw, latest_us(wall_us())));
}

// One row for each preset that guess_presets() finds, in its order.
FLAKEID_FUNCTION(flakeid_guess)
{
    InitMaterializedSRF(fcinfo, 0);
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    const SparxKey* key = may_look(fcinfo->flinfo->fn_oid) ? key_if_any() : nullptr;
    const int64_t now_us = wall_us();
    Guess guesses[preset_count];
    const int count = guess_presets(static_cast<uint64_t>(PG_GETARG_INT64(0)), key, now_us,
                                    latest_us(now_us), guesses);
    for (int i = 0; i < count; i++) {
        const Parts parts = split(guesses[i].layout, guesses[i].raw);
        int64_t us = 0;
        TimestampTz timestamp = DT_NOEND; // never: a possible id was made by now
        if (tick_start_us(guesses[i].layout, parts.tick, &us)) {
            (void)to_timestamptz(us, &timestamp);
        }
        Datum values[] = {CStringGetTextDatum(presets[guesses[i].preset].name),
                          TimestampTzGetDatum(timestamp), UInt32GetDatum(parts.node),
                          UInt32GetDatum(parts.sequence)};
        bool nulls[lengthof(values)] = {};
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
    return static_cast<Datum>(0);
}
