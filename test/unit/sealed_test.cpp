#include "../../src/core/sealed.hpp"

#include "csv.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

using namespace flakeid;

namespace {

std::string written(int key, uint64_t word)
{
    char out[max_sealed_text];
    return std::string(out, write_sealed({key, word}, out));
}

SealedStatus status_of(const std::string& text, size_t* offset = nullptr)
{
    Sealed sealed{-1, 0};
    size_t at = 99;
    const SealedStatus status = read_sealed(text.data(), text.size(), &sealed, &at);
    EXPECT_EQ(sealed.key == -1, status != SealedStatus::ok) << text;
    if (offset != nullptr) {
        *offset = at;
    }
    return status;
}

// A key file holds pointers into its text, which is to outlive it.
KeyFile split(const std::string& text)
{
    static std::deque<std::string> texts;
    texts.push_back(text);
    return split_key_file(texts.back().data(), texts.back().size());
}

std::string secret_of(const KeyFile& file, int line)
{
    return std::string(file.lines[line].secret, file.lines[line].length);
}

} // namespace

TEST(Sealed, is_what_the_public_libraries_print)
{
    for (const CsvRow& row : read_csv("randflake.csv")) {
        const uint64_t word = row.word("encrypted_id");
        const std::string text = row.text("base32hex");
        EXPECT_EQ(written(0, word), std::string(13 - text.size(), '0') + text);
    }
}

TEST(Sealed, there_and_back_under_every_key)
{
    std::mt19937_64 random(1);
    for (int i = 0; i < 100000; i++) {
        const int key = i % max_keys;
        const uint64_t word = i < 64 ? UINT64_C(1) << i : random();
        std::string text = written(key, word);
        ASSERT_EQ(text.size(), key == 0 ? 13u : 14u);
        for (int upper = 0; upper < 2; upper++) {
            Sealed sealed{};
            size_t offset;
            ASSERT_EQ(read_sealed(text.data(), text.size(), &sealed, &offset), SealedStatus::ok);
            ASSERT_EQ(sealed.key, key);
            ASSERT_EQ(sealed.word, word);
            for (char& c : text) {
                c = static_cast<char>(toupper(c));
            }
        }
    }
}

TEST(Sealed, refuses_everything_else)
{
    for (size_t length : {0, 1, 12, 15, 100}) {
        EXPECT_EQ(status_of(std::string(length, '0')), SealedStatus::bad_length);
    }
    for (int c = 0; c < 256; c++) {
        const bool digit =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'v') || (c >= 'A' && c <= 'V');
        for (size_t at = 1; at < 13; at++) {
            std::string text(13, '0');
            text[at] = static_cast<char>(c);
            size_t offset;
            EXPECT_EQ(status_of(text, &offset),
                      digit ? SealedStatus::ok : SealedStatus::foreign_character);
            EXPECT_EQ(offset, digit ? 0 : at);
        }
    }
    EXPECT_EQ(status_of("fvvvvvvvvvvvv"), SealedStatus::ok);
    EXPECT_EQ(status_of("g000000000000"), SealedStatus::overflow);
    EXPECT_EQ(status_of("1g000000000000"), SealedStatus::overflow);
    EXPECT_EQ(status_of("00000000000000"), SealedStatus::bad_key);
    EXPECT_EQ(status_of("f0000000000000"), SealedStatus::ok);
    EXPECT_EQ(status_of("g0000000000000"), SealedStatus::bad_key);
}

TEST(KeyFile, without_numbers_is_one_secret)
{
    for (const char* text :
         {"", "0123456789abcdef0123456789abcdef", "1 23456789abcdef", "\n", "x\n1 y",
          "16 sixteen letters", "01 sixteen letters", "1", "1x", "-1 x"}) {
        const KeyFile file = split(text);
        EXPECT_FALSE(file.named) << text;
        EXPECT_EQ(file.status, KeyFileStatus::ok);
        EXPECT_EQ(file.count, 1);
        EXPECT_EQ(file.lines[0].key, 0);
        EXPECT_EQ(secret_of(file, 0), text);
    }
}

TEST(KeyFile, with_numbers_is_a_key_a_line)
{
    const KeyFile file = split("15 a b\n0 \n3 01234");
    EXPECT_TRUE(file.named);
    EXPECT_EQ(file.status, KeyFileStatus::ok);
    ASSERT_EQ(file.count, 3);
    EXPECT_EQ(file.lines[0].key, 15);
    EXPECT_EQ(secret_of(file, 0), "a b");
    EXPECT_EQ(file.lines[1].key, 0);
    EXPECT_EQ(secret_of(file, 1), "");
    EXPECT_EQ(file.lines[2].key, 3);
    EXPECT_EQ(secret_of(file, 2), "01234");

    std::string all;
    for (int key = 0; key < max_keys; key++) {
        all += std::to_string(key) + " x\n";
    }
    EXPECT_EQ(split(all.substr(0, all.size() - 1)).count, max_keys);
    EXPECT_EQ(split(all).status, KeyFileStatus::bad_line);
    EXPECT_EQ(split(all).count, max_keys + 1);
}

TEST(KeyFile, says_which_line_is_wrong)
{
    for (const char* text :
         {"1 a\n", "1 a\nb", "1 a\n16 b", "1 a\n\n2 b", "1 a\n02 b", "1 a\n2b", "1 a\n2\tb"}) {
        EXPECT_EQ(split(text).status, KeyFileStatus::bad_line) << text;
        EXPECT_EQ(split(text).count, 2) << text;
    }
    EXPECT_EQ(split("1 a\n2 b\n1 c").status, KeyFileStatus::repeated);
    EXPECT_EQ(split("1 a\n2 b\n1 c").count, 3);
}
