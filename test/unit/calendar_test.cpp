#include "../../src/core/calendar.hpp"

#include "layouts.hpp"

#include <cstring>

using namespace flakeid;

namespace {

constexpr int64_t first_us = -62135596800000000; // 0001-01-01T00:00:00Z
constexpr int64_t last_us = 253402300799999999;  // 9999-12-31T23:59:59.999999Z

bool reads(const std::string& text)
{
    int64_t us;
    // On the heap without a terminating zero, so that the sanitizer sees a read past the end.
    const std::vector<char> bytes(text.begin(), text.end());
    return parse_moment(bytes.data(), bytes.size(), &us);
}

int64_t us_of(const std::string& text)
{
    int64_t us = INT64_MIN;
    EXPECT_TRUE(parse_moment(text.data(), text.size(), &us)) << text;
    return us;
}

std::string text_of(int64_t us)
{
    char text[moment_text_size];
    memset(text, '#', sizeof text);
    const size_t length = format_moment(us, text);
    EXPECT_LT(length, sizeof text);
    EXPECT_EQ(text[length], '\0');
    return std::string(text, length);
}

} // namespace

TEST(Calendar, KnownMoments)
{
    EXPECT_EQ(us_of("1970-01-01T00:00:00Z"), 0);
    EXPECT_EQ(us_of("1970-01-01"), 0);
    EXPECT_EQ(us_of("1969-12-31T23:59:59.999999Z"), -1);
    EXPECT_EQ(us_of("2010-11-04T01:42:54.657Z"), 1288834974657000);
    EXPECT_EQ(us_of("2016-04-30T11:18:25.796Z"), 1462015105796000);
    EXPECT_EQ(us_of("2000-02-29T12:00Z"), 951825600000000);
    EXPECT_EQ(us_of("0001-01-01"), first_us);
    EXPECT_EQ(us_of("9999-12-31T23:59:59.999999Z"), last_us);
}

TEST(Calendar, ShortestText)
{
    EXPECT_EQ(text_of(0), "1970-01-01T00:00:00Z");
    EXPECT_EQ(text_of(-1), "1969-12-31T23:59:59.999999Z");
    EXPECT_EQ(text_of(100000), "1970-01-01T00:00:00.1Z");
    EXPECT_EQ(text_of(120), "1970-01-01T00:00:00.00012Z");
    EXPECT_EQ(text_of(first_us), "0001-01-01T00:00:00Z");
    EXPECT_EQ(text_of(last_us), "9999-12-31T23:59:59.999999Z");
}

TEST(Calendar, EveryDayFollowsTheOneBefore)
{
    const int days_in_month[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t us = first_us;
    for (int year = 1; year <= 9999; year++) {
        const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (int month = 1; month <= 12; month++) {
            const int days = days_in_month[month - 1] + (month == 2 && leap ? 1 : 0);
            for (int day = 1; day <= days; day++) {
                char date[40];
                snprintf(date, sizeof date, "%04d-%02d-%02d", year, month, day);
                int64_t read;
                ASSERT_TRUE(parse_moment(date, 10, &read)) << date;
                ASSERT_EQ(read, us) << date;
                ASSERT_EQ(text_of(us), std::string(date) + "T00:00:00Z");
                us += us_per_day;
            }
            char date[40];
            snprintf(date, sizeof date, "%04d-%02d-%02d", year, month, days + 1);
            ASSERT_FALSE(reads(date)) << date;
        }
    }
    EXPECT_EQ(us, last_us + 1);
}

TEST(Calendar, RandomMomentsRoundTrip)
{
    Random random(2);
    for (int i = 0; i < 100000; i++) {
        int64_t us = first_us +
                     static_cast<int64_t>(up_to(random, static_cast<uint64_t>(last_us - first_us)));
        if (i % 3 == 0) {
            us -= us % us_per_ms;
        }
        ASSERT_EQ(us_of(text_of(us)), us);
    }
}

TEST(Calendar, Refusals)
{
    for (const char* text : {"",
                             "2",
                             "2016",
                             "2016-04",
                             "2016-04-",
                             "2016-04-3",
                             "16-04-30",
                             "2016-4-30",
                             "02016-04-30",
                             "0000-01-01",
                             "-001-01-01",
                             "2016-00-10",
                             "2016-13-10",
                             "2016-04-00",
                             "2016-04-31",
                             "2016-02-30",
                             "2015-02-29",
                             "1900-02-29",
                             "2016-04-30Z",
                             "2016-04-30 11:18:25Z",
                             "2016-04-30T",
                             "2016-04-30T11",
                             "2016-04-30T11Z",
                             "2016-04-30T11:18",
                             "2016-04-30T11:18:25",
                             "2016-04-30T11:18:25z",
                             "2016-04-30t11:18:25Z",
                             "2016-04-30T24:00:00Z",
                             "2016-04-30T11:60:00Z",
                             "2016-04-30T11:18:60Z",
                             "2016-04-30T11:18:25.Z",
                             "2016-04-30T11:18:25.1234567Z",
                             "2016-04-30T11:18:25+00",
                             "2016-04-30T11:18:25Zx",
                             "2016-04-30x",
                             " 2016-04-30",
                             "2016-04-30 ",
                             "2016/04/30",
                             "2o16-04-30",
                             "epoch",
                             "now"}) {
        EXPECT_FALSE(reads(text)) << text;
    }
}
