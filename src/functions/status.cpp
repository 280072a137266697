// The settings in effect, and what follows from them: what stands behind the view flakeid.status.
#include "server/clock.hpp"
#include "server/messages.hpp"
#include "durable/durable.hpp"
#include "durable/fingerprints.hpp"
#include "server/row.hpp"
#include "functions/settled.hpp"
#include "generator/draw.hpp"
#include "settings/node.hpp"
#include "generator/leased.hpp"
#include "settings/lease_settings.hpp"
#include "settings/secret.hpp"
#include "settings/settings.hpp"
#include "server/shared.hpp"
#include "slots/slots.hpp"

extern "C" {
#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "utils/resowner.h"
}

using namespace flakeid;

namespace {

const char* words_of(SecretSource source)
{
    switch (source) {
    case SecretSource::none:
        break;
    case SecretSource::file:
        return "from flakeid.secret_file";
    case SecretSource::setting:
        return "from flakeid.secret";
    case SecretSource::not_honoured:
        return "not honoured: flakeid is not preloaded";
    }
    return "none";
}

// How many nodes of a span this server can use: those whose slots, or whose leases, are there or
// have room.
uint32_t usable_nodes(const Layout& layout, const NodeSpan& span)
{
    const uint32_t all = span.last - span.first + 1;
    const bool singly = has_coordinator() && node_setting.source != NodeSource::any;
    return std::min(all, singly ? tenure_nodes(span.first, span.last)
                                : slots_for_span(layout, span.first, span.last));
}

constexpr char follows[] = "follows from the settings";

// `until_us`: the moment that ends what the row tells of; 0: none does.
void add_row(ReturnSetInfo* result, const char* name, const char* value,
             const char* source = follows, int64_t until_us = 0)
{
    TimestampTz until = DT_NOEND;
    const bool ends = until_us != 0;
    if (ends && !to_timestamptz(until_us, &until)) {
        until = DT_NOEND;
    }
    Datum values[] = {CStringGetTextDatum(name), CStringGetTextDatum(value),
                      CStringGetTextDatum(source), TimestampTzGetDatum(until)};
    bool nulls[lengthof(values)] = {false, false, false, !ends};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

// What `run` says, or `prefix` and the message of the error that it raises, which is undone. A
// cancel is not an answer.
template <typename Run>
const char* said_or_error(const char* prefix, Run run)
{
    MemoryContext context = CurrentMemoryContext;
    ResourceOwner owner = CurrentResourceOwner;
    const char* volatile said = nullptr;
    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(context);
    PG_TRY();
    {
        said = run();
        ReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        ErrorData* error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
        MemoryContextSwitchTo(context);
        CurrentResourceOwner = owner;
        if (error->sqlerrcode == ERRCODE_QUERY_CANCELED) {
            ReThrowError(error);
        }
        said = psprintf("%s: %s", prefix, error->message);
    }
    PG_END_TRY();
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = owner;
    return said;
}

// Does what flake_next() does, except that it issues no id.
const char* can_generate()
{
    Generator& g = configured_generator();
    if (settings.cache == 1 || !cached_word_serves(g)) {
        draw_could(g);
    }
    return "yes";
}

// How often the clock may still be set back before ids of the layout wait for it.
const char* set_backs_left()
{
    Generator& g = configured_generator();
    refresh_limits(g, wall_us());
    const Word word{pg_atomic_read_u64(&g.slot->word)};
    const Word last = std::max(word == closed_word ? g.slot->word_before : word, g.limits.first);
    const uint64_t counted = std::min(word_back(g.shape, last), g.shape.max_back);
    return psprintf(UINT64_FORMAT, g.shape.max_back - counted);
}

// The moment after which no id of this database was ever stamped.
int64_t horizon_us()
{
    Durable durable;
    if (!durable_look(&durable) || durable.lost != 0) {
        throw_state_lost(durable.format);
    }
    const Stamp back = stamp_of_number(durable.stamped.stamp[back_horizon]);
    return std::max(durable.stamped.latest_us, stamp_us(back));
}

void add_horizon(ReturnSetInfo* result)
{
    int64_t us = 0;
    const char* said = said_or_error("unknown", [&] {
        us = horizon_us();
        const int64_t ahead_us = us - wall_us();
        return ahead_us > 0
                   ? psprintf("%s, %s ahead of the clock", moment_text(us), duration_text(ahead_us))
                   : psprintf("%s, which is past", moment_text(us));
    });
    add_row(result, "horizon", said, "follows from ids", us);
}

void add_end_of_layout(ReturnSetInfo* result, const Layout& layout)
{
    const int64_t end = end_us(layout);
    const int64_t days = (end - wall_us()) / us_per_day;
    add_row(result, "end of the layout",
            days < 0 ? moment_text(end)
                     : psprintf("%s, in " INT64_FORMAT " days", moment_text(end), days),
            follows, end);
}

// Where the secret comes from, or why a new session could not use it. What this one has read, it
// keeps.
const char* secret_or_error()
{
    const SecretSource source = secret_source();
    if (source == SecretSource::none || source == SecretSource::not_honoured) {
        return words_of(source);
    }
    ExpandedSecret before = expanded_secret;
    bool read = false;
    auto use = [&] {
        load_secret(secret_used);
        read = true;
        require_known_keys();
        return words_of(source);
    };
    const char* said = said_or_error("cannot be read", use);
    if (read && said != words_of(source)) {
        said = said_or_error("another one", use);
    }
    expanded_secret = before;
    wipe(&before, sizeof before);
    return said;
}

// Adds the settings flakeid.* as pg_settings shows them, which makes texts of all the others too.
void add_settings(ReturnSetInfo* result)
{
    constexpr char prefix[] = "flakeid.";
    const bool sees_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_SETTINGS);
    int count;
    config_generic** all = get_guc_variables(&count);
    for (int i = 0; i < count; i++) {
        const config_generic* setting = all[i];
        if (strncmp(setting->name, prefix, strlen(prefix)) != 0 ||
            (setting->flags & GUC_NO_SHOW_ALL) != 0 ||
            ((setting->flags & GUC_SUPERUSER_ONLY) != 0 && !sees_all)) {
            continue;
        }
        const char* source = GucSource_Names[setting->source];
        add_row(result, setting->name, GetConfigOptionByName(setting->name, nullptr, false),
                setting->source == PGC_S_FILE && setting->sourcefile != nullptr && sees_all
                    ? psprintf("%s %s:%d", source, setting->sourcefile, setting->sourceline)
                    : source);
    }
}

void add_tenure(void* result, const char* name, const char* value, int64_t until_us)
{
    add_row(static_cast<ReturnSetInfo*>(result), name, value, follows, until_us);
}

} // namespace

FLAKEID_FUNCTION(flakeid_status_now)
{
    InitMaterializedSRF(fcinfo, 0);
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    auto row = [&](const char* name, const char* value) { add_row(result, name, value); };
    row("can generate", said_or_error("no", can_generate));
    const Layout& layout = settings.layout;
    NodeSpan span = configured_span(layout);
    const int64_t rate = ids_per_second(layout);
    row("layout", layout_text(layout));
    add_end_of_layout(result, layout);
    row("ids per second and node", psprintf(INT64_FORMAT, rate));
    if (span.problem != nullptr) {
        row("node", span.problem);
    } else if (!nodes_in_use(layout, &span)) {
        row("node", "none is leased yet");
        row("ids per second", psprintf(INT64_FORMAT, rate * (span.last - span.first + 1)));
    } else if (span.last > layout.max_node) {
        row("node", psprintf("out of range: the layout has nodes 0 to %u", layout.max_node));
    } else {
        add_row(result, "node", node_text(NodeSource::number, span.first, span.last),
                node_setting.source == NodeSource::file ? "the file that flakeid.node names"
                                                        : follows);
        const uint32_t usable = usable_nodes(layout, span);
        if (span.first != span.last) {
            row("usable nodes", psprintf("%u", usable));
        }
        row("ids per second", psprintf(INT64_FORMAT, rate * usable));
    }
    if (layout.back_bits > 0) {
        row("set-backs left", said_or_error("unknown", set_backs_left));
    }
    if (has_coordinator()) {
        tenure_tell(add_tenure, result);
    }
    add_horizon(result);
    row("secret", secret_or_error());
    row("preloaded", shared_preloaded() ? "yes" : "no");
    add_row(
        result, "settled mark",
        said_or_error("none",
                      [] { return psprintf(INT64_FORMAT, settled_mark(configured_generator())); }),
        "follows from the transactions");
    add_settings(result);
    return static_cast<Datum>(0);
}
