#include "server/messages.hpp"

#include "server/clock.hpp"
#include "core/overlap.hpp"

namespace flakeid {

namespace {

constexpr char example_hint[] =
    "Write a preset such as snowflake, or fields from the highest bit to the lowest and then "
    "options, "
    "such as \"time:41:1ms node:10 sequence:12 epoch=2024-01-01T00:00:00Z\".";

constexpr int64_t warned_before_end_us = 3 * 365 * us_per_day;

} // namespace

LayoutMessage describe(const LayoutError& error, const char* text, size_t length)
{
    const char* word = pnstrdup(text + error.offset, std::min(error.length, length - error.offset));
    auto at_word = [&](const char* what) {
        return psprintf("%s: \"%s\" at character %d.", what, word,
                        pg_mbstrlen_with_len(text, static_cast<int>(error.offset)) + 1);
    };
    switch (error.status) {
    case LayoutStatus::ok:
        break;
    case LayoutStatus::empty:
        return {"The layout is empty.", example_hint};
    case LayoutStatus::too_long:
        return {psprintf("The layout is longer than %d bytes.", max_layout_text - 1), example_hint};
    case LayoutStatus::bad_word:
        return {at_word("This is neither a preset, nor name:bits, nor an option"), example_hint};
    case LayoutStatus::bad_name:
        return {
            at_word("This is no name for a field"),
            psprintf("A name is at most %d lower-case letters, digits and underscores, and does "
                     "not begin with a digit.",
                     max_field_name)};
    case LayoutStatus::bad_bits:
        return {at_word("This field has no number of bits from 1 to 64"), example_hint};
    case LayoutStatus::too_wide:
        return {
            at_word("This field makes its kind too wide"),
            psprintf("All parts of the node have at most %d bits together, sequence %d, back %d.",
                     max_node_bits, max_sequence_bits, max_back_bits)};
    case LayoutStatus::duplicate:
        return {at_word("This name stands twice"), "Every field and option may stand once."};
    case LayoutStatus::too_many_fields:
        return {at_word("This field is one too many"),
                psprintf("A layout has at most %d fields.", max_fields)};
    case LayoutStatus::too_many_bits:
        return {at_word("From this field on there are more than 64 bits"),
                "Fields add up to at most 63 bits, or to exactly 64."};
    case LayoutStatus::no_time:
        return {"The field time is missing.", "Add a field such as time:41:1ms."};
    case LayoutStatus::no_unit:
        return {at_word("This field has no unit"),
                "Write the length of a tick, as in time:41:1ms."};
    case LayoutStatus::unexpected_unit:
        return {at_word("Only the field time has a unit"),
                "Write name:bits, as in node:10, or time:bits:tick for the time."};
    case LayoutStatus::bad_unit:
        return {at_word("This is no length of a tick"),
                "Write a number and one of us, ms, s, min, h, d; from 1us to 1d. A space ends each "
                "field."};
    case LayoutStatus::unknown_option:
        return {at_word("There is no such option"),
                "The options are epoch=... and cipher=sparx64."};
    case LayoutStatus::bad_epoch:
        return {
            at_word("This is no epoch"),
            "Write a date in UTC such as epoch=2024-01-01 or epoch=2024-01-01T00:00:00.000Z, or "
            "a number since 1970 with its unit such as epoch=1704067200s or "
            "epoch=1704067200000ms."};
    case LayoutStatus::bare_epoch:
        return {
            at_word(
                "A number without a unit counts milliseconds, and this one lies before 1973-03-03"),
            psprintf("For seconds write %ss, for milliseconds %sms.", word, word)};
    case LayoutStatus::bad_cipher:
        return {at_word("There is no such cipher"), "The only cipher is cipher=sparx64."};
    case LayoutStatus::late_field:
        return {at_word("This field stands after an option"),
                "Write the fields first, then the options."};
    }
    return {"", ""};
}

LayoutError parse_layout_or_preset(const char* text, size_t length, Layout* layout,
                                   const Preset** preset)
{
    const Preset* found = find_preset(text, length);
    if (preset != nullptr) {
        *preset = found;
    }
    if (found != nullptr) {
        return parse_layout(found->text, strlen(found->text), layout);
    }
    return parse_layout(text, length, layout);
}

void throw_bad_layout(const LayoutError& error, const char* text, size_t length)
{
    const LayoutMessage message = describe(error, text, length);
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("invalid layout \"%s\"", pnstrdup(text, length)),
            errdetail("%s", message.detail), errhint("%s", message.hint));
}

void throw_node_out_of_range(uint32_t node, const Layout& layout, const char* name)
{
    ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
            errmsg("node %u is out of range for layout \"%s\"", node, name),
            layout.node_bits == 0
                ? errdetail("The layout has no node field, so its only node is 0.")
                : errdetail("Its nodes are 0 to %u.", layout.max_node),
            errhint("Set flakeid.node to a node of the layout, or use a layout with a wider node "
                    "field."));
}

void throw_outside_layout(const Layout& layout, int64_t id, const char* name)
{
    ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
            errmsg("" INT64_FORMAT " is not an id of layout \"%s\"", id, name),
            layout.bits < word_bits ? errdetail("It has bits above the layout's highest field.")
                                    : errdetail("Ids of a plain layout are not negative."),
            errhint("Name the layout that the id was made with, as in flake_inspect(id, '%s').",
                    id < 0 ? "randflake" : "twitter"));
}

void throw_exhausted(const Layout& layout, const char* name, const Preset* preset)
{
    const int64_t end = end_us(layout);
    const int64_t now_us = wall_us();
    if (now_us < end) {
        ereport(
            ERROR, errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
            errmsg("layout \"%s\" has no ids left after the horizon of database \"%s\"", name,
                   get_database_name(MyDatabaseId)),
            errdetail("The layout ends at %s.", moment_text(end)),
            errhint("If the horizon is wrong, see SELECT flakeid.repair_horizon(); otherwise use a "
                    "layout with a later end."));
    }
    const char* successor = preset != nullptr ? preset->successor : nullptr;
    Layout next{};
    const bool repeats =
        successor != nullptr &&
        parse_layout_or_preset(successor, strlen(successor), &next).status == LayoutStatus::ok &&
        may_repeat(next, layout, now_us);
    ereport(
        ERROR, errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
        errmsg("layout \"%s\" has been full since %s", name, moment_text(end)),
        repeats ? errdetail("Its ids can still be read. The preset %s makes ids again that this "
                            "layout made.",
                            successor)
                : errdetail("Its ids can still be read."),
        repeats ? errhint("Use another layout for new tables, such as the preset %s; see column "
                          "repeats of view flakeid.layouts.",
                          successor)
        : successor != nullptr
            ? errhint("Use another layout, such as the preset %s.", successor)
            : errhint(
                  "Use a layout with a later epoch or a wider time; see view flakeid.layouts."));
}

void warn_near_end(const Layout& layout, const char* name)
{
    static bool warned;
    const int64_t end = end_us(layout);
    const int64_t now_us = wall_us();
    if (!warned && now_us < end && end - now_us < warned_before_end_us) {
        warned = true;
        ereport(WARNING, errmsg("layout \"%s\" will be full on %s", name, moment_text(end)),
                errhint("Plan the move to another layout; see view flakeid.layouts."));
    }
}

char* layout_text(const Layout& layout)
{
    auto* text = static_cast<char*>(palloc(max_layout_text));
    format_layout(layout, text);
    return text;
}

char* duration_text(int64_t us)
{
    if (us < us_per_ms) {
        return psprintf("%d us", static_cast<int>(us));
    }
    if (us < us_per_s) {
        return psprintf("%.3f ms", static_cast<double>(us) / us_per_ms);
    }
    return psprintf("%.3f s", static_cast<double>(us) / us_per_s);
}

char* moment_text(int64_t us)
{
    TimestampTz timestamp;
    if (!to_timestamptz(us, &timestamp)) {
        return pstrdup("infinity");
    }
    return DatumGetCString(DirectFunctionCall1(timestamptz_out, TimestampTzGetDatum(timestamp)));
}

const char* shell_word(const char* text)
{
    StringInfoData word;
    initStringInfo(&word);
    appendStringInfoChar(&word, '\'');
    for (const char* c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            appendStringInfoString(&word, "'\\'");
        }
        appendStringInfoChar(&word, *c);
    }
    appendStringInfoChar(&word, '\'');
    return word.data;
}

} // namespace flakeid
