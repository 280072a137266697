#include "readers/reader.hpp"

#include "server/named.hpp"

namespace flakeid {

Reader& find_reader(FunctionCallInfo fcinfo, int arg)
{
    if (arg < PG_NARGS()) {
        auto& named = named_argument<Reader>(fcinfo, arg);
        Reader& reader = named.value;
        if (reader.name == nullptr) {
            const LayoutError error =
                parse_layout_or_preset(named.name, named.length, &reader.layout);
            if (error.status != LayoutStatus::ok) {
                throw_bad_layout(error, named.name, named.length);
            }
            reader.name = named.name;
        }
        reader.settings_version = named.constant ? settings.version : 0;
        return reader;
    }
    auto* reader = static_cast<Reader*>(fcinfo->flinfo->fn_extra);
    if (reader == nullptr) {
        reader =
            static_cast<Reader*>(MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Reader)));
        fcinfo->flinfo->fn_extra = reader;
    }
    require_good_settings();
    reader->layout = settings.layout;
    reader->name = settings.layout_text;
    reader->settings_version = settings.version;
    return *reader;
}

int64_t id_of_raw(const Reader& reader, uint64_t raw)
{
    return static_cast<int64_t>(reader.layout.enciphered ? sparx_encrypt(configured_key(), raw)
                                                         : raw);
}

void throw_no_timestamp(const Reader& reader, Tick tick)
{
    ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("timestamp out of range"),
            errdetail("The time field of this id of layout \"%s\" is " UINT64_FORMAT ".",
                      reader.name, tick_number(tick)));
}

} // namespace flakeid
