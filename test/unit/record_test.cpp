// When a file of records is this server's own.
#include "../../src/core/record.hpp"

#include <gtest/gtest.h>

#include <cstring>

using namespace flakeid;

namespace {

constexpr int64_t second_ns = INT64_C(1000) * 1000 * 1000;

// A file that was written record after record, a second apart.
struct File {
    Record records[record_count]{};
    FileFacts facts{77, 5 * second_ns, 100 * second_ns, 100 * second_ns};

    explicit File(uint64_t fence = 1)
    {
        for (int i = 0; i < record_count; i++) {
            write(i, fence);
        }
    }

    void write(int place, uint64_t fence = 1)
    {
        facts.modified_ns += second_ns;
        records[place].head.fence = fence;
        memset(records[place].body, place, sizeof records[place].body);
        seal_record(&records[place], facts);
        facts.changed_ns = facts.modified_ns;
    }

    bool own() const { return own_records(records, facts); }
};

} // namespace

TEST(Record, OfItsOwnServer)
{
    File file;
    EXPECT_TRUE(file.own());
    file.write(3);
    EXPECT_TRUE(file.own());
    file.facts.modified_ns += record_lag_ns; // the write came a little after its moment
    file.facts.changed_ns = file.facts.modified_ns;
    EXPECT_TRUE(file.own());
}

TEST(Record, CopiedToAnotherFile)
{
    File file;
    file.facts.number++;
    EXPECT_FALSE(file.own());
    file = File();
    file.facts.born_ns++;
    EXPECT_FALSE(file.own());
}

// rsync -a, cp -a and tar set the date to what it was; the moment of that change they cannot set.
TEST(Record, PutBackWithItsDate)
{
    File file;
    file.facts.changed_ns++;
    EXPECT_FALSE(file.own());
}

// cp -r leaves the date at the moment of the copy.
TEST(Record, PutBackWithoutItsDate)
{
    File file;
    file.facts.modified_ns += record_lag_ns + 1;
    file.facts.changed_ns = file.facts.modified_ns;
    EXPECT_FALSE(file.own());
}

TEST(Record, LastOneLost)
{
    File file;
    const Record before = file.records[3];
    file.write(3);
    file.records[3] = before;
    EXPECT_FALSE(file.own()) << "the date is of a record that is not there";
}

TEST(Record, EveryByteIsChecked)
{
    for (int place = 0; place < record_count; place++) {
        for (size_t i = 0; i < record_size; i++) {
            File file;
            reinterpret_cast<unsigned char*>(&file.records[place])[i] ^= 1;
            ASSERT_FALSE(file.own()) << place << " " << i;
            ASSERT_FALSE(is_sealed(file.records[place]));
        }
    }
}

TEST(Record, Nothing)
{
    const Record none[record_count]{};
    EXPECT_EQ(fence_of_records(none), 0u);
    EXPECT_FALSE(own_records(none, FileFacts{}));
    EXPECT_FALSE(is_sealed(Record{}));
}

TEST(Record, OfAnEarlierEraCountsForNothing)
{
    File file(1);
    file.facts.number++; // a copy
    EXPECT_FALSE(file.own());
    for (int i = 0; i < record_count; i++) {
        file.write(i, 2);
        EXPECT_EQ(fence_of_records(file.records), 2u);
        EXPECT_TRUE(file.own()) << "each record says all that its fence knows";
    }
}
