// What a coordinator of leases answers, checked before anything of it is believed. It is another
// server at the end of a wire: nothing that it says may be more than an error here.
#pragma once

#include "term.hpp"
#include "core/plain.hpp"

#include <cstddef>
#include <cstdint>

namespace flakeid {

constexpr size_t token_size = uuid_size;
constexpr size_t token_text_size = 37; // with the zero at the end

// Why there is no lease. Sessions of ordinary roles are told this much and no more.
enum class Trouble : unsigned char {
    none,
    away,         // the coordinator cannot be reached, or does not answer
    in_use,       // another holder has the node
    refused,      // the coordinator says no
    nonsense,     // its answer is no answer to the question
    ended,        // it gave a lease that had ended by this server's clock
    ahead,        // it gave a lease that begins too far ahead of this server's clock
    used_token,   // the token was used for a lease that has ended
    failed,       // an error in the lease worker itself
    later_file,   // its file is one that a later library wrote
    interrupted,  // by new settings or a stop
    busy,         // the coordinator could not answer, and is to be asked again
    not_believed, // a later coordinator is known, or another realm; or it is of another version
};

constexpr size_t trouble_text_size = 512;

// One field of a row as it came. A binary or null one has no text.
struct AnswerField {
    const char* text; // need not end in a zero
    size_t length;
    bool is_text;
};

constexpr int most_answer_fields = 8; // that is read of any answer

struct Answer {
    int rows;
    int columns;
    const AnswerField* fields; // of the first row; `columns` of them, or as many as are read
};

// What was asked for.
struct Wish {
    bool any; // any nodes up to `node`, otherwise that one
    uint32_t node;
    int seconds;
    unsigned char token[token_size]; // that the holder chose
    bool again;                      // the token was asked with before
    uint32_t max_node; // of a wish for one node: those after it go up to here; 0: or further
};

struct Grant {
    uint32_t node;  // the first one
    uint32_t nodes; // how many, from that one on
    unsigned char token[token_size];
    int64_t start_us, end_us; // since 1970, whole seconds
};

enum class AnswerStatus {
    ok,
    bad_shape,    // not one row of so many fields
    bad_field,    // null or in binary form
    bad_number,   // no node, count or moment in decimal digits, or none that there can be
    other_node,   // not what was asked for
    bad_token,    // no uuid
    other_token,  // not the one that was asked with
    bad_span,     // the lease ends before it begins, or a new one is longer than was asked for
    not_believed, // the coordinator is not to be believed, and should have said so
};

// Returns what is wrong, for a message.
const char* describe(AnswerStatus status);

// Reads node, token, start and end of a new lease, both in seconds since 1970, how many nodes it
// has, and which coordinator gives it. Sets `grant` and `known` when all of them are what `wish`
// asked for, of a coordinator that is to be believed.
AnswerStatus read_grant(const Answer& answer, const Wish& wish, Term* known, Grant* grant);

// Reads the new end of a lease, in seconds since 1970, and the same.
AnswerStatus read_end(const Answer& answer, const Grant& lease, Term* known, int64_t* end_us);

// Reads one row of one field, whose value does not matter.
AnswerStatus read_nothing(const Answer& answer);

// Writes a token or the id of a realm as a uuid, token_text_size bytes with the zero at its end.
void write_token(const unsigned char* token, char* text);

static_assert(is_plain<AnswerField, Answer, Wish, Grant>);

} // namespace flakeid
