#include "answer.hpp"

#include <cassert>
#include <cstring>

namespace flakeid {

namespace {

constexpr int64_t second_us = 1000000;
constexpr uint64_t max_node_number = INT32_MAX;
constexpr uint64_t max_moment_s = UINT64_C(253402300799); // the year 9999
constexpr int64_t rounding_us = second_us;                // a coordinator may round a length up
constexpr int64_t longest_us = INT32_MAX * second_us;     // of a lease that was asked for again
// A renewal moves the end by a lease, which lasts a day at most, and perhaps by those before it
// whose answers were lost.
constexpr int64_t most_moved_us = 2 * 86400 * second_us;

bool read_number(const AnswerField& field, uint64_t max, uint64_t* number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < field.length; i++) {
        const char c = field.text[i];
        if (c < '0' || c > '9') {
            return false;
        }
        const auto digit = static_cast<uint64_t>(c - '0');
        if (value > max / 10 || value * 10 > max - digit) {
            return false;
        }
        value = value * 10 + digit;
    }
    *number = value;
    return field.length > 0;
}

bool read_moment(const AnswerField& field, int64_t* us)
{
    uint64_t seconds;
    if (!read_number(field, max_moment_s, &seconds)) {
        return false;
    }
    *us = static_cast<int64_t>(seconds) * second_us;
    return true;
}

int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool has_hyphen(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

bool read_token(const AnswerField& field, unsigned char* token)
{
    if (field.length != token_text_size - 1) {
        return false;
    }
    size_t digits = 0;
    for (size_t at = 0; at < field.length; at++) {
        if (has_hyphen(at)) {
            if (field.text[at] != '-') {
                return false;
            }
            continue;
        }
        const int digit = hex_digit(field.text[at]);
        if (digit < 0) {
            return false;
        }
        unsigned char& byte = token[digits / 2];
        byte = static_cast<unsigned char>(digits % 2 == 0 ? digit << 4 : byte | digit);
        digits++;
    }
    return true;
}

constexpr int term_columns = 3;

// Reads realm, number and place of a coordinator, the last fields of its answer.
AnswerStatus read_term(const Answer& answer, const Term& known, Term* here)
{
    const AnswerField* fields = answer.fields + answer.columns - term_columns;
    uint64_t number;
    uint64_t place;
    if (!read_number(fields[1], INT64_MAX, &number) || !read_number(fields[2], INT64_MAX, &place) ||
        number == 0) {
        return AnswerStatus::bad_number;
    }
    if (!read_token(fields[0], here->realm)) {
        return AnswerStatus::bad_token;
    }
    here->number = static_cast<int64_t>(number);
    here->place = static_cast<int64_t>(place);
    return stands(known, *here) == Standing::believed ? AnswerStatus::ok
                                                      : AnswerStatus::not_believed;
}

// One row of that many fields in text form.
AnswerStatus check_shape(const Answer& answer, int columns)
{
    if (answer.rows != 1 || answer.columns != columns) {
        return AnswerStatus::bad_shape;
    }
    for (int i = 0; i < columns; i++) {
        if (!answer.fields[i].is_text) {
            return AnswerStatus::bad_field;
        }
    }
    return AnswerStatus::ok;
}

} // namespace

const char* describe(AnswerStatus status)
{
    switch (status) {
    case AnswerStatus::ok:
        break;
    case AnswerStatus::bad_shape:
        return "the answer is not one row of the expected fields";
    case AnswerStatus::bad_field:
        return "a field of the answer is null or binary";
    case AnswerStatus::bad_number:
        return "a number in the answer is out of range or none";
    case AnswerStatus::other_node:
        return "the answer names a node that was not asked for";
    case AnswerStatus::bad_token:
        return "a token or realm in the answer is no uuid";
    case AnswerStatus::other_token:
        return "the answer names a token that was not asked with";
    case AnswerStatus::bad_span:
        return "the lease in the answer ends before it begins, or is longer than asked for";
    case AnswerStatus::not_believed:
        return "the answer is of another realm, or of a coordinator that was replaced";
    }
    return "";
}

AnswerStatus read_grant(const Answer& answer, const Wish& wish, Term* known, Grant* grant)
{
    static_assert(5 + term_columns == most_answer_fields);
    const AnswerStatus shape = check_shape(answer, most_answer_fields);
    if (shape != AnswerStatus::ok) {
        return shape;
    }
    Grant read;
    uint64_t node;
    uint64_t nodes;
    if (!read_number(answer.fields[0], max_node_number, &node) ||
        !read_moment(answer.fields[2], &read.start_us) ||
        !read_moment(answer.fields[3], &read.end_us) ||
        !read_number(answer.fields[4], max_node_number + 1 - node, &nodes) || nodes == 0) {
        return AnswerStatus::bad_number;
    }
    const uint64_t most = wish.any ? wish.node : wish.max_node != 0 ? wish.max_node : UINT64_MAX;
    if (node + nodes - 1 > most || (!wish.any && node != wish.node)) {
        return AnswerStatus::other_node;
    }
    if (!read_token(answer.fields[1], read.token)) {
        return AnswerStatus::bad_token;
    }
    if (memcmp(read.token, wish.token, token_size) != 0) {
        return AnswerStatus::other_token;
    }
    // One that was asked for before may have begun long ago.
    if (read.start_us >= read.end_us || read.end_us - read.start_us > longest_us ||
        (!wish.again && read.end_us - read.start_us > wish.seconds * second_us + rounding_us)) {
        return AnswerStatus::bad_span;
    }
    read.node = static_cast<uint32_t>(node);
    read.nodes = static_cast<uint32_t>(nodes);
    Term here;
    const AnswerStatus status = read_term(answer, *known, &here);
    if (status == AnswerStatus::ok) {
        *grant = read;
        *known = here;
    }
    return status;
}

AnswerStatus read_end(const Answer& answer, const Grant& lease, Term* known, int64_t* end_us)
{
    const AnswerStatus shape = check_shape(answer, 1 + term_columns);
    if (shape != AnswerStatus::ok) {
        return shape;
    }
    int64_t end;
    if (!read_moment(answer.fields[0], &end)) {
        return AnswerStatus::bad_number;
    }
    if (end <= lease.start_us || end - lease.end_us > most_moved_us) {
        return AnswerStatus::bad_span;
    }
    Term here;
    const AnswerStatus status = read_term(answer, *known, &here);
    if (status == AnswerStatus::ok) {
        *end_us = end;
        *known = here;
    }
    return status;
}

AnswerStatus read_nothing(const Answer& answer)
{
    return answer.rows == 1 && answer.columns == 1 ? AnswerStatus::ok : AnswerStatus::bad_shape;
}

void write_token(const unsigned char* token, char* text)
{
    constexpr char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < token_size; i++) {
        if (has_hyphen(at)) {
            text[at++] = '-';
        }
        text[at++] = digits[token[i] >> 4];
        text[at++] = digits[token[i] & 15];
    }
    assert(at == token_text_size - 1);
    text[at] = '\0';
}

} // namespace flakeid
