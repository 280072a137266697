// What of a coordinator's answer is believed, and how its words are kept.
#include "../../src/leases/rules/answer.hpp"
#include "../../src/core/plain_text.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

using namespace flakeid;

namespace {

constexpr char token[] = "6f9619ff-8b86-D011-b42d-00cf4fc964ff";
constexpr unsigned char bytes[] = {0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0xd0, 0x11,
                                   0xb4, 0x2d, 0x00, 0xcf, 0x4f, 0xc9, 0x64, 0xff};

Wish wish_of(bool any, bool again = false)
{
    Wish wish = {any, 7, 60, {}, again, 0};
    memcpy(wish.token, bytes, sizeof wish.token);
    return wish;
}
const Wish node_7 = wish_of(false);
const Wish up_to_7 = wish_of(true);

constexpr char realm[] = "00000000-0000-4000-8000-000000000001";

AnswerStatus grant_status(std::vector<std::string> texts, const Wish& wish, Grant* grant = nullptr,
                          std::vector<std::string> here = {realm, "5", "1"}, Term* known = nullptr)
{
    std::vector<AnswerField> fields;
    if (texts.size() == 4) {
        texts.push_back("1");
    }
    if (texts.size() == 5) {
        texts.insert(texts.end(), here.begin(), here.end());
    }
    Term nothing{};
    for (const std::string& text : texts) {
        fields.push_back({text.data(), text.size(), true});
    }
    Grant unread;
    return read_grant({1, static_cast<int>(fields.size()), fields.data()}, wish,
                      known != nullptr ? known : &nothing, grant != nullptr ? grant : &unread);
}

std::string plain(const std::string& text, size_t size = 240)
{
    std::string kept(size, 'x');
    kept.resize(plain_text(text.data(), text.size(), kept.data(), size));
    return kept;
}

} // namespace

TEST(Answer, GrantIsReadWhole)
{
    Grant grant;
    ASSERT_EQ(grant_status({"7", token, "1700000000", "1700000060"}, node_7, &grant),
              AnswerStatus::ok);
    EXPECT_EQ(grant.node, 7u);
    EXPECT_EQ(grant.nodes, 1u);
    EXPECT_EQ(grant.start_us, 1700000000000000);
    EXPECT_EQ(grant.end_us, 1700000060000000);
    char text[token_text_size];
    write_token(grant.token, text);
    EXPECT_STREQ(text, "6f9619ff-8b86-d011-b42d-00cf4fc964ff");
}

TEST(Answer, GrantIsWhatWasAskedFor)
{
    const std::string start = "1700000000", end = "1700000060";
    EXPECT_EQ(grant_status({"6", token, start, end}, up_to_7), AnswerStatus::ok);
    EXPECT_EQ(grant_status({"6", token, start, end}, node_7), AnswerStatus::other_node);
    EXPECT_EQ(grant_status({"8", token, start, end}, up_to_7), AnswerStatus::other_node);
    EXPECT_EQ(grant_status({"7", token, end, start}, node_7), AnswerStatus::bad_span);
    EXPECT_EQ(grant_status({"7", token, start, start}, node_7), AnswerStatus::bad_span);
    EXPECT_EQ(grant_status({"7", token, start, "1700000062"}, node_7), AnswerStatus::bad_span);
    EXPECT_EQ(grant_status({"7", token, start, "1700000062"}, wish_of(false, true)),
              AnswerStatus::ok);
    EXPECT_EQ(grant_status({"7", token, start, start}, wish_of(false, true)),
              AnswerStatus::bad_span);
    // The file of leases has 32 bits for the seconds of a lease.
    EXPECT_EQ(grant_status({"7", token, "0", "2147483647"}, wish_of(false, true)),
              AnswerStatus::ok);
    EXPECT_EQ(grant_status({"7", token, "0", "2147483648"}, wish_of(false, true)),
              AnswerStatus::bad_span);
    std::string other = token;
    other.back() = '0';
    EXPECT_EQ(grant_status({"7", other, start, end}, node_7), AnswerStatus::other_token);
}

TEST(Answer, ARangeIsThereAsAWhole)
{
    Grant grant;
    auto status = [&](const char* node, const char* nodes, const Wish& wish) {
        return grant_status({node, token, "1700000000", "1700000060", nodes}, wish, &grant);
    };
    EXPECT_EQ(status("4", "4", up_to_7), AnswerStatus::ok);
    EXPECT_EQ(grant.node, 4u);
    EXPECT_EQ(grant.nodes, 4u);
    EXPECT_EQ(status("4", "5", up_to_7), AnswerStatus::other_node);
    EXPECT_EQ(status("7", "4096", node_7), AnswerStatus::ok);
    Wish up_to_10 = node_7;
    up_to_10.max_node = 10;
    EXPECT_EQ(status("7", "4", up_to_10), AnswerStatus::ok);
    EXPECT_EQ(status("7", "5", up_to_10), AnswerStatus::other_node);
    for (const char* nodes : {"", "0", "-1", "2147483642", "18446744073709551615"}) {
        EXPECT_EQ(status("7", nodes, node_7), AnswerStatus::bad_number) << nodes;
    }
    EXPECT_EQ(status("7", "2147483641", node_7), AnswerStatus::ok);
}

TEST(Answer, NumbersAndTokensHaveOneForm)
{
    const std::string start = "1700000000", end = "1700000060";
    for (const char* node : {"", "-7", "+7", " 7", "7 ", "7.0", "0x7", "99999999999999999999"}) {
        EXPECT_EQ(grant_status({node, token, start, end}, node_7), AnswerStatus::bad_number)
            << node;
    }
    for (const char* moment : {"", "Infinity", "-1", "253402300800", "1e9"}) {
        EXPECT_EQ(grant_status({"7", token, start, moment}, node_7), AnswerStatus::bad_number)
            << moment;
    }
    for (std::string wrong : {std::string(), std::string(token, 35), token + std::string("0"),
                              std::string(36, '-'), std::string(36, 'g')}) {
        EXPECT_EQ(grant_status({"7", wrong, start, end}, node_7), AnswerStatus::bad_token) << wrong;
    }
}

TEST(Answer, NoCoordinatorIsBelievedThatWasReplaced)
{
    const std::vector<std::string> lease = {"7", token, "1700000000", "1700000060"};
    const std::string other = "00000000-0000-4000-8000-000000000002";
    Term known{};
    Grant grant{};
    auto ask = [&](std::vector<std::string> here) {
        return grant_status(lease, node_7, &grant, here, &known);
    };
    EXPECT_EQ(ask({realm, "0", "1"}), AnswerStatus::bad_number);
    EXPECT_EQ(ask({"realm", "5", "1"}), AnswerStatus::bad_token);
    EXPECT_EQ(ask({realm, "5", "1"}), AnswerStatus::ok);
    EXPECT_EQ(ask({realm, "5", "1"}), AnswerStatus::ok);
    grant.node = 0;
    EXPECT_EQ(ask({realm, "4", "1"}), AnswerStatus::not_believed);
    EXPECT_EQ(ask({realm, "5", "2"}), AnswerStatus::not_believed);
    EXPECT_EQ(ask({other, "6", "1"}), AnswerStatus::not_believed);
    EXPECT_EQ(grant.node, 0u);
    EXPECT_EQ(ask({realm, "6", "2"}), AnswerStatus::ok);
    EXPECT_EQ(ask({realm, "5", "1"}), AnswerStatus::not_believed);
    EXPECT_EQ(ask({realm, "9223372036854775807", "9223372036854775807"}), AnswerStatus::ok);
    EXPECT_EQ(ask({realm, "9223372036854775808", "1"}), AnswerStatus::bad_number);
    EXPECT_EQ(next_term(5, 4), 6);
    EXPECT_EQ(next_term(5, 7), 7);
}

TEST(Answer, ShapeIsLookedAtFirst)
{
    Grant grant;
    int64_t end_us;
    const AnswerField field = {"7", 1, true};
    const AnswerField null = {"", 0, false};
    EXPECT_EQ(grant_status({"7"}, node_7), AnswerStatus::bad_shape);
    Term known{};
    const AnswerField id = {realm, sizeof realm - 1, true};
    const AnswerField end[] = {field, id, field, field};
    Grant lease{};
    lease.start_us = 0;
    lease.end_us = 1000000;
    Grant later = lease;
    later.start_us = 7000000;
    const AnswerField no_end[] = {null, id, field, field};
    EXPECT_EQ(read_grant({0, 8, nullptr}, node_7, &known, &grant), AnswerStatus::bad_shape);
    EXPECT_EQ(read_end({2, 4, end}, lease, &known, &end_us), AnswerStatus::bad_shape);
    EXPECT_EQ(read_end({1, 1, end}, lease, &known, &end_us), AnswerStatus::bad_shape);
    EXPECT_EQ(read_end({1, 4, no_end}, lease, &known, &end_us), AnswerStatus::bad_field);
    EXPECT_EQ(read_end({1, 4, end}, later, &known, &end_us), AnswerStatus::bad_span);
    // A renewal moves the end by two days at most.
    const AnswerField soon[] = {{"172801", 6, true}, id, field, field};
    const AnswerField late[] = {{"172802", 6, true}, id, field, field};
    Term other{};
    EXPECT_EQ(read_end({1, 4, soon}, lease, &other, &end_us), AnswerStatus::ok);
    EXPECT_EQ(read_end({1, 4, late}, lease, &known, &end_us), AnswerStatus::bad_span);
    EXPECT_EQ(known.number, 0);
    EXPECT_EQ(read_end({1, 4, end}, lease, &known, &end_us), AnswerStatus::ok);
    EXPECT_EQ(known.number, 7);
    EXPECT_EQ(read_nothing({1, 1, &null}), AnswerStatus::ok);
    EXPECT_EQ(read_nothing({1, 2, &null}), AnswerStatus::bad_shape);
}

TEST(Answer, TextIsPlainAndWhole)
{
    EXPECT_EQ(plain("it is so.\n"), "it is so");
    EXPECT_EQ(plain("two\nlines\tand \x01"), "two lines and");
    EXPECT_EQ(plain("h\xc3\xb6lzern \xe2\x82\xac"), "h?lzern ?");
    EXPECT_EQ(plain("\xff\xfe\x80 \xe4"), "?? ?");
    EXPECT_EQ(plain("abc\xc3\xa9", 4), "abc");
    EXPECT_EQ(plain("..."), "");
}
