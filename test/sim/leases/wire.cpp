#include "leases/wire.hpp"

#include "checker.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sim {

namespace {

std::string text_of(const Token& token)
{
    std::string text;
    for (size_t i = 0; i < token.size(); i++) {
        char digits[4];
        snprintf(digits, sizeof digits, "%02x", token[i]);
        text += i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        text += digits;
    }
    return text;
}

Token token_of(const std::string& text)
{
    Token token{};
    size_t at = 0;
    for (size_t i = 0; i + 1 < text.size() && at < token.size(); i++) {
        if (text[i] != '-') {
            token[at++] =
                static_cast<unsigned char>(strtol(text.substr(i, 2).c_str(), nullptr, 16));
            i++;
        }
    }
    return token;
}

// What each question of a server begins with.
void read_server(const std::vector<Value>& values, Question* q)
{
    q->version = atoi(values[0].text.c_str());
    q->realm = values[1].text;
    if (!values[2].null) {
        const Token id = token_of(values[2].text);
        std::copy(id.begin(), id.end(), q->known.realm);
        q->known.number = strtoll(values[3].text.c_str(), nullptr, 10);
        q->known.place = strtoll(values[4].text.c_str(), nullptr, 10);
    }
}

std::string seconds_text(int64_t us)
{
    return std::to_string(us / second);
}

const char* reason_of(LeaseRefusal refusal)
{
    switch (refusal) {
    case LeaseRefusal::rests:
        return "the coordinator hands out no leases yet";
    case LeaseRefusal::in_use:
        return "the node is not free";
    case LeaseRefusal::all_leased:
        return "all nodes are leased";
    case LeaseRefusal::busy:
    case LeaseRefusal::last_busy:
        return "another transaction is changing the node";
    case LeaseRefusal::unknown:
        return "the coordinator does not know this lease";
    case LeaseRefusal::other_lease:
    case LeaseRefusal::ended:
        return "the lease has ended";
    case LeaseRefusal::used_token:
        return "the token is that of another lease";
    case LeaseRefusal::not_believed:
        return "the server knows a later coordinator, or another realm";
    case LeaseRefusal::bad_version:
        return "the server asks in another version";
    case LeaseRefusal::too_soon:
        return "the coordinator rests, and the lease ends too soon";
    default:
        return "refused";
    }
}

} // namespace

int64_t us_of(const std::string& seconds)
{
    const size_t point = seconds.find('.');
    const int64_t whole = strtoll(seconds.c_str(), nullptr, 10) * second;
    return point == std::string::npos ? whole
                                      : whole + strtoll(seconds.c_str() + point + 1, nullptr, 10);
}

bool says(const std::string& sql, const char* word)
{
    return sql.find(word) != std::string::npos;
}

Question question_of(const std::string& sql, const std::vector<Value>& values)
{
    Question q;
    if (says(sql, "FROM flakeid.lease_coordinator(")) {
        read_server(values, &q);
    }
    if (says(sql, "LATERAL flakeid.lease_acquire(c.realm, ")) {
        q.kind = Question::acquire;
        q.holder = values[5].text;
        q.wish.named = !q.holder.empty();
        q.wish.ttl_us = us_of(values[6].text);
        q.wish.any = values[7].null;
        q.wish.node = atoi(values[7].text.c_str());
        q.wish.has_max_node = !values[8].null;
        q.wish.max_node = atoi(values[8].text.c_str());
        q.chosen = !values[9].null;
        q.token = q.chosen ? token_of(values[9].text) : Token{};
    } else if (says(sql, "flakeid.lease_renew(")) {
        q.kind = Question::renew;
        q.token = token_of(values[5].text);
        q.wish.ttl_us = us_of(values[6].text);
        q.has_moment = !values[7].null;
        q.moment_us = us_of(values[7].text);
    } else if (says(sql, "SELECT flakeid.lease_release(")) {
        q.kind = Question::release;
        q.token = token_of(values[5].text);
        q.has_moment = !values[6].null;
        q.moment_us = us_of(values[6].text);
    } else if (!says(sql, "FROM pg_catalog.pg_extension")) {
        tell("%s", sql.c_str());
        broken_for_good("a coordinator is asked what the simulation does not know");
    }
    return q;
}

Answer answer_of(const Host& host, const Backend& backend, const Reply& reply)
{
    Answer answer;
    answer.origin = host.database.here;
    answer.row = reply.refusal == LeaseRefusal::none;
    if (!answer.row) {
        answer.state = lease_sqlstate(reply.refusal);
        answer.message = reason_of(reply.refusal);
        return answer;
    }
    switch (backend.question.kind) {
    case Question::acquire:
        answer.fields = {std::to_string(reply.node), text_of(reply.token),
                         seconds_text(reply.start_us), seconds_text(reply.end_us),
                         std::to_string(reply.nodes)};
        break;
    case Question::functions:
        answer.fields = {"flakeid.lease_"};
        break;
    default:
        answer.fields = {seconds_text(reply.end_us)};
        break;
    }
    if (backend.question.kind == Question::acquire || backend.question.kind == Question::renew) {
        Token id;
        std::copy(std::begin(reply.here.realm), std::end(reply.here.realm), id.begin());
        answer.fields.insert(answer.fields.end(), {text_of(id), std::to_string(reply.here.number),
                                                   std::to_string(reply.here.place)});
    }
    return answer;
}

} // namespace sim
