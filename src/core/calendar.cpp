#include "calendar.hpp"

#include <cassert>

namespace flakeid {

namespace {

constexpr int64_t us_per_second = 1000000;
constexpr int64_t seconds_per_day = 86400;

// Days since 1970-01-01; years are counted from March so that the leap day ends them.
int64_t days_from_civil(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    const int64_t era = (year >= 0 ? year : year - 399) / 400;
    const auto year_of_era = static_cast<unsigned>(year - era * 400);
    const unsigned day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    const unsigned day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + static_cast<int64_t>(day_of_era) - 719468;
}

void civil_from_days(int64_t days, int64_t* year, unsigned* month, unsigned* day)
{
    days += 719468;
    const int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const auto day_of_era = static_cast<unsigned>(days - era * 146097);
    const unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const unsigned day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const unsigned shifted = (5 * day_of_year + 2) / 153;
    *day = day_of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted < 10 ? shifted + 3 : shifted - 9;
    *year = static_cast<int64_t>(year_of_era) + era * 400 + (*month <= 2);
}

unsigned days_in_month(int64_t year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

struct Cursor {
    const char* at;
    const char* end;

    bool literal(char c)
    {
        if (at == end || *at != c) {
            return false;
        }
        at++;
        return true;
    }

    bool digits(int count, unsigned* value)
    {
        unsigned result = 0;
        for (int i = 0; i < count; i++) {
            if (at == end || *at < '0' || *at > '9') {
                return false;
            }
            result = result * 10 + static_cast<unsigned>(*at++ - '0');
        }
        *value = result;
        return true;
    }
};

char* write_digits(char* at, unsigned value, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        at[i] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
    return at + count;
}

} // namespace

bool parse_moment(const char* text, size_t length, int64_t* us)
{
    Cursor cursor{text, text + length};
    unsigned year, month, day, hour = 0, minute = 0, second = 0, fraction = 0;
    if (!cursor.digits(4, &year) || !cursor.literal('-') || !cursor.digits(2, &month) ||
        !cursor.literal('-') || !cursor.digits(2, &day)) {
        return false;
    }
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) {
        return false;
    }
    if (cursor.at != cursor.end) {
        if (!cursor.literal('T') || !cursor.digits(2, &hour) || !cursor.literal(':') ||
            !cursor.digits(2, &minute)) {
            return false;
        }
        if (cursor.literal(':')) {
            if (!cursor.digits(2, &second)) {
                return false;
            }
            if (cursor.literal('.')) {
                unsigned digit;
                int count = 0;
                while (count < 6 && cursor.digits(1, &digit)) {
                    fraction = fraction * 10 + digit;
                    count++;
                }
                if (count == 0) {
                    return false;
                }
                for (; count < 6; count++) {
                    fraction *= 10;
                }
            }
        }
        if (hour > 23 || minute > 59 || second > 59 || !cursor.literal('Z') ||
            cursor.at != cursor.end) {
            return false;
        }
    }
    const int64_t seconds =
        days_from_civil(year, month, day) * seconds_per_day + hour * 3600 + minute * 60 + second;
    *us = seconds * us_per_second + fraction;
    return true;
}

size_t format_moment(int64_t us, char* text)
{
    int64_t seconds = us / us_per_second;
    auto fraction = us % us_per_second;
    if (fraction < 0) {
        fraction += us_per_second;
        seconds--;
    }
    int64_t days = seconds / seconds_per_day;
    int64_t rest = seconds % seconds_per_day;
    if (rest < 0) {
        rest += seconds_per_day;
        days--;
    }
    int64_t year;
    unsigned month, day;
    civil_from_days(days, &year, &month, &day);
    assert(year >= 1 && year <= 9999);
    const auto of_day = static_cast<unsigned>(rest);
    char* at = write_digits(text, static_cast<unsigned>(year), 4);
    *at++ = '-';
    at = write_digits(at, month, 2);
    *at++ = '-';
    at = write_digits(at, day, 2);
    *at++ = 'T';
    at = write_digits(at, of_day / 3600, 2);
    *at++ = ':';
    at = write_digits(at, of_day / 60 % 60, 2);
    *at++ = ':';
    at = write_digits(at, of_day % 60, 2);
    if (fraction != 0) {
        *at++ = '.';
        at = write_digits(at, static_cast<unsigned>(fraction), 6);
        while (at[-1] == '0') {
            at--;
        }
    }
    *at++ = 'Z';
    *at = '\0';
    return static_cast<size_t>(at - text);
}

} // namespace flakeid
