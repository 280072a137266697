// Type flake: a bigint with another name, so that JSON prints it as a string.
#include "server/postgres.hpp"

namespace {

bool is_space(char c)
{
    return isspace(static_cast<unsigned char>(c)) != 0;
}

enum class Decimal { good, malformed, too_large };

// A decimal number with white space around it, as bigint reads it.
Decimal read_decimal(const char* text, int64_t* value)
{
    while (is_space(*text)) {
        text++;
    }
    const bool negative = *text == '-';
    if (*text == '-' || *text == '+') {
        text++;
    }
    bool digits = false;
    bool overflow = false;
    int64_t result = 0; // negative: its range is the larger one
    for (; *text >= '0' && *text <= '9'; text++) {
        digits = true;
        overflow = overflow || __builtin_mul_overflow(result, 10, &result) ||
                   __builtin_sub_overflow(result, *text - '0', &result);
    }
    while (is_space(*text)) {
        text++;
    }
    if (!digits || *text != '\0') {
        return Decimal::malformed;
    }
    if (overflow || (!negative && result == PG_INT64_MIN)) {
        return Decimal::too_large;
    }
    *value = negative ? result : -result;
    return Decimal::good;
}

} // namespace

FLAKEID_FUNCTION(flakeid_in)
{
    char* text = PG_GETARG_CSTRING(0);
    int64_t value = 0;
    switch (read_decimal(text, &value)) {
    case Decimal::good:
        break;
    case Decimal::malformed:
        ereturn(
            fcinfo->context, static_cast<Datum>(0),
            (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
             errmsg("invalid input syntax for type %s: \"%s\"", "flake", text),
             errhint("A flake is a decimal number; other forms are read by flake_from_text().")));
    case Decimal::too_large:
        ereturn(fcinfo->context, static_cast<Datum>(0),
                (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                 errmsg("value \"%s\" is out of range for type %s", text, "flake"),
                 errhint("A flake is a signed number of 64 bits.")));
    }
    return Int64GetDatum(value);
}

FLAKEID_FUNCTION(flakeid_out)
{
    char* text = static_cast<char*>(palloc(MAXINT8LEN + 1));
    pg_lltoa(PG_GETARG_INT64(0), text);
    return CStringGetDatum(text);
}

FLAKEID_FUNCTION(flakeid_recv)
{
    return Int64GetDatum(pq_getmsgint64(reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0))));
}

FLAKEID_FUNCTION(flakeid_send)
{
    StringInfoData message;
    pq_begintypsend(&message);
    pq_sendint64(&message, static_cast<uint64>(PG_GETARG_INT64(0)));
    return PointerGetDatum(pq_endtypsend(&message));
}
