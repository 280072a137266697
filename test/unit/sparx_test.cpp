#include "../../src/core/sparx.hpp"

#include "csv.hpp"
#include "layouts.hpp"

#include <cstring>

using namespace flakeid;

namespace {

// Bytes of words, first byte high.
template <size_t count>
std::vector<unsigned char> bytes_of(const uint16_t (&words)[count])
{
    std::vector<unsigned char> bytes;
    for (const uint16_t word : words) {
        bytes.push_back(static_cast<unsigned char>(word >> 8));
        bytes.push_back(static_cast<unsigned char>(word & 0xff));
    }
    return bytes;
}

// The number of 8 bytes, least significant first.
uint64_t number_of(const std::vector<unsigned char>& bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < 8; i++) {
        number |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    }
    return number;
}

SparxKey key_of_hex(const std::string& hex)
{
    EXPECT_EQ(hex.size(), 32u);
    std::vector<unsigned char> bytes;
    for (size_t i = 0; i < hex.size(); i += 2) {
        bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    SparxKey key;
    sparx_expand(bytes.data(), &key);
    return key;
}

SparxKey random_key(Random& random)
{
    unsigned char bytes[sparx_key_bytes];
    for (unsigned char& byte : bytes) {
        byte = static_cast<unsigned char>(random());
    }
    SparxKey key;
    sparx_expand(bytes, &key);
    return key;
}

} // namespace

TEST(Sparx, PublishedVector)
{
    const uint16_t key_words[] = {0x0011, 0x2233, 0x4455, 0x6677, 0x8899, 0xaabb, 0xccdd, 0xeeff};
    const uint16_t plain_words[] = {0x0123, 0x4567, 0x89ab, 0xcdef};
    const uint16_t cipher_words[] = {0x2bbe, 0xf152, 0x01f5, 0x5f98};
    SparxKey key;
    sparx_expand(bytes_of(key_words).data(), &key);
    const uint64_t plain = number_of(bytes_of(plain_words));
    const uint64_t cipher = number_of(bytes_of(cipher_words));
    EXPECT_EQ(sparx_encrypt(key, plain), cipher);
    EXPECT_EQ(sparx_decrypt(key, cipher), plain);
}

TEST(Sparx, EveryRandflakeRow)
{
    const Layout layout = preset("randflake");
    const int64_t year_2041 = 2240611200; // 2041-01-01T00:00:00Z
    int after_2041 = 0;
    for (const CsvRow& row : read_csv("randflake.csv")) {
        const SparxKey key = key_of_hex(row.text("secret_hex"));
        const uint64_t raw = row.word("raw_id");
        const uint64_t id = row.word("encrypted_id");
        EXPECT_EQ(sparx_encrypt(key, raw), id);
        EXPECT_EQ(sparx_decrypt(key, id), raw);

        const int64_t us = row.number("unix_seconds") * us_per_s;
        const Parts parts = split(layout, raw);
        int64_t start;
        ASSERT_TRUE(tick_start_us(layout, parts.tick, &start));
        EXPECT_EQ(start, us);
        EXPECT_EQ(parts.node, row.word("node"));
        EXPECT_EQ(parts.sequence, row.word("sequence"));

        const Parts made = {static_cast<Tick>(tick_of_us(layout, us)),
                            static_cast<uint32_t>(row.number("node")),
                            static_cast<uint32_t>(row.number("sequence")), 0};
        EXPECT_EQ(compose(layout, made), raw);
        after_2041 += row.number("unix_seconds") > year_2041;
        EXPECT_EQ(row.number("raw_id") < 0, tick_number(parts.tick) >> (layout.time_bits - 1) == 1);
    }
    EXPECT_GT(after_2041, 0);
}

TEST(Sparx, DecryptUndoesEncrypt)
{
    Random random(1);
    for (int i = 0; i < 1000; i++) {
        const SparxKey key = random_key(random);
        const uint64_t raw = random();
        EXPECT_EQ(sparx_decrypt(key, sparx_encrypt(key, raw)), raw);
        EXPECT_EQ(sparx_encrypt(key, sparx_decrypt(key, raw)), raw);
    }
}

TEST(Sparx, ManyAreLikeOneByOne)
{
    Random random(13);
    for (size_t count = 0; count <= 40; count++) {
        for (int round = 0; round < 20; round++) {
            const SparxKey key = random_key(random);
            std::vector<uint64_t> words(count + 2);
            for (uint64_t& word : words) {
                word = random();
            }
            std::vector<uint64_t> expected = words;
            for (size_t i = 1; i <= count; i++) {
                expected[i] = sparx_encrypt(key, words[i]);
            }
            sparx_encrypt_many(key, words.data() + 1, count);
            ASSERT_EQ(words, expected) << count; // and the words before and after are untouched
        }
    }
}

TEST(Sparx, ManyOfTheRandflakeRows)
{
    for (const CsvRow& row : read_csv("randflake.csv")) {
        std::vector<uint64_t> words(9, row.word("raw_id"));
        sparx_encrypt_many(key_of_hex(row.text("secret_hex")), words.data(), words.size());
        EXPECT_EQ(words, std::vector<uint64_t>(9, row.word("encrypted_id")));
    }
}

TEST(Sparx, WipeOverwritesNoMoreThanAsked)
{
    unsigned char memory[64];
    memset(memory, 0xa5, sizeof memory);
    wipe(memory + 8, 48);
    for (size_t i = 0; i < sizeof memory; i++) {
        EXPECT_EQ(memory[i], i >= 8 && i < 56 ? 0 : 0xa5) << i;
    }
    wipe(memory, 0);
    EXPECT_EQ(memory[0], 0xa5);
}
