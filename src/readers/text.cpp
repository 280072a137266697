// flake_to_text and flake_from_text: ids in the forms of other programs.
#include "core/text.hpp"
#include "server/postgres.hpp"

using namespace flakeid;

namespace {

TextFormat format_of_argument(FunctionCallInfo fcinfo, int arg)
{
    text* argument = PG_GETARG_TEXT_PP(arg);
    const char* name = VARDATA_ANY(argument);
    const auto length = static_cast<int>(VARSIZE_ANY_EXHDR(argument));
    TextFormat format;
    if (!find_text_format(name, static_cast<size_t>(length), &format)) {
        StringInfoData known;
        initStringInfo(&known);
        for (int i = 0; i < text_format_count; i++) {
            appendStringInfo(&known, "%s%s", i == 0 ? "" : ", ",
                             text_format_name(static_cast<TextFormat>(i)));
        }
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("there is no text form \"%.*s\"", length, name),
                errhint("The forms are %s.", known.data));
    }
    return format;
}

[[noreturn]] void throw_bad_text(TextStatus status, TextFormat format, const char* text,
                                 size_t length, size_t offset)
{
    const char* name = text_format_name(format);
    const int bytes =
        offset < length ? std::min(pg_mblen(text + offset), static_cast<int>(length - offset)) : 0;
    const char* reason = "";
    char zero[max_text_size];
    switch (status) {
    case TextStatus::ok:
        break;
    case TextStatus::empty:
        reason = "The text is empty.";
        break;
    case TextStatus::foreign_character:
        reason = psprintf("Character %d, \"%.*s\", does not belong there.",
                          pg_mbstrlen_with_len(text, static_cast<int>(offset)) + 1, bytes,
                          text + offset);
        break;
    case TextStatus::not_canonical:
        reason = "This is another spelling of an id than flake_to_text() writes.";
        break;
    case TextStatus::bad_length:
        reason = format == TextFormat::base64
                     ? "Such a text has 4 to 28 characters, a multiple of 4."
                     : psprintf("Such a text has %d characters, and this one has %d.",
                                static_cast<int>(to_text(format, 0, zero)),
                                pg_mbstrlen_with_len(text, static_cast<int>(length)));
        break;
    case TextStatus::overflow:
        reason = "It stands for a number that 64 bits do not hold.";
        break;
    }
    ereport(ERROR,
            errcode(status == TextStatus::overflow ? ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE
                                                   : ERRCODE_INVALID_TEXT_REPRESENTATION),
            errmsg("invalid %s text of a flake: \"%s\"", name, pnstrdup(text, length)),
            errdetail("%s", reason));
}

} // namespace

FLAKEID_FUNCTION(flakeid_to_text)
{
    char out[max_text_size];
    const size_t length =
        to_text(format_of_argument(fcinfo, 1), static_cast<uint64_t>(PG_GETARG_INT64(0)), out);
    return PointerGetDatum(cstring_to_text_with_len(out, static_cast<int>(length)));
}

FLAKEID_FUNCTION(flakeid_from_text)
{
    text* argument = PG_GETARG_TEXT_PP(0);
    const char* text = VARDATA_ANY(argument);
    const auto length = static_cast<size_t>(VARSIZE_ANY_EXHDR(argument));
    const TextFormat format = format_of_argument(fcinfo, 1);
    uint64_t id = 0;
    size_t offset = 0;
    const TextStatus status = from_text(format, text, length, &id, &offset);
    if (status != TextStatus::ok) {
        throw_bad_text(status, format, text, length, offset);
    }
    return Int64GetDatum(static_cast<int64_t>(id));
}
