// What the checkers are told, and what they ask each other. They see what a user sees (ids that
// were handed out, marks that were answered, clocks) and the flushed pages; nothing of the memory
// of the glue, but for those of writes and of spans. Each has a file in checkers/.
#pragma once

#include "checker.hpp"
#include "durable/server_file.hpp"
#include "generator/generator.hpp"
#include "server.hpp"

namespace sim {

// The latest moment that a clock showed which was right, or was accepted.
int64_t right_wall();

// How a server began a life.
enum class Start { first, crash, fast, put_back, copied, promoted, restored, upgraded, starts };
extern const char* const start_names[];

struct Life {
    Start how;
    int64_t behind;  // how far its clock was behind the latest moment it ever showed, at most,
                     // until it made its first id
    bool older_back; // its row counts fewer set-backs than the one before it
    bool made_ids;
    bool polled = false; // somebody has asked for a settled mark
    int64_t began_us = true_us;
    int64_t right_us = 0; // right_wall() then
    bool unsure = false;  // its files may look like those of another server
};

// Another server may have gone on from the same files.
constexpr bool took_a_place(Start how)
{
    return how == Start::put_back || how == Start::copied || how == Start::promoted ||
           how == Start::restored || how == Start::upgraded;
}

// What a copy's or standby's clock may be behind (doc/guarantees.md).
constexpr int64_t clock_may_lag = flakeid::allowed_behind_us;
extern std::vector<Life> lives;

// A transaction.
struct Transaction {
    uint64_t xid = 0;
    bool ended = false;
    bool committed = false;
    bool prepared = false;
};
extern std::vector<Transaction> transactions;

// An id that a session got.
struct Id {
    uint64_t raw;
    const flakeid::Generator& generator;
    flakeid::Word word;
    int layout;
    int transaction;
    uint64_t highest_before; // of this layout, when its draw began
    int64_t raised_before;   // what the horizon was raised to then
    int repairs_before;      // repairs_of() its database then
    bool cached;
};

void history_begins();
void life_begins(Start how, int64_t behind, bool older_back);
void id_is_handed_out(const Id& id);

uint64_t ids_handed_out();
uint64_t highest_id(int layout); // of this life
extern uint64_t set_backs;       // of clocks, ever
extern uint64_t polls;
extern int64_t wrong_us; // by which the clock leapt, and is not accepted

// What lies between two lives, as far as it explains why ids of the first come again in the last.
// Kinds that are known have a number.
const char* kind_of_lives(size_t first, size_t last);
inline bool is_numbered(const char* kind)
{
    return kind[0] >= '0' && kind[0] <= '9';
}
inline constexpr char beyond_promise[] = "beyond what is promised";

// ---- One a file
void repaired_begins();
void stamped(const Id& id);
void never_twice(const Id& id);
void never_twice_begins();
void within_horizon(const Id& id);
void past_other_server(const Id& id);
// A dump of another server was restored, which stamped up to that moment: ids of all databases begin
// past it. A repair of the same life, or of one that took a server's place, keeps that; another one
// may forget it.
void other_server_is_restored(int64_t us);
void other_server_is_forgotten(int64_t us); // what lies past that moment
void other_server_life_begins(Start how);
int64_t other_server_us();
void other_server_is_said(Server& server); // when no restore is under way
int64_t spared_from_repairs_us();
// What the file of the server says that a crash leaves.
const flakeid::Body& flushed_file(Server& server);
void rising(const Id& id);
void rising_life_begins();
void rising_begins();
void close_to_clock(const Id& id);
void back_explained(const Id& id);
void counter_is_known(const Id& id);
void counters_begin();
void counters_life_begins();

// The horizon of a database is being raised, and was in this life; it was raised to that moment.
void raise_begins(int database);
bool raise_began(int database);
void horizon_is_raised(int database, int64_t us);  // 0: nobody remembers it
void horizon_is_lowered(int database, int64_t us); // but not below that moment
int64_t raised_to(int database);
void past_raised(const Id& id);
void raised_life_begins(Start how);

// Another database has its place now.
void database_is_dropped(int database);

// True where some sessions may stamp further ahead than others wait: where only they explain an id
// that lies ahead, and no server takes the place of another, for which all wait as long.
bool has_far_sessions();
// How far ahead of a right clock ids may be stamped, which no repair forgets.
int64_t repaired_to();

// The horizon of a database is being lowered: what was stamped after that moment may be forgotten.
void repair_begins(int database, int64_t us);
void repair_ends(int database);
bool repair_goes_on(int database); // in this life
size_t repairs_ever();
// Bit n: ids of node n were handed out, which this server or its predecessors remember.
int64_t nodes_with_ids();
int repairs_of(int database);      // begins and ends so far
void repaired_life_begins(Start how);
bool forgotten(const Id& id, size_t life); // of that life or since
// Somebody raises the horizon of a database by an hour, or extends it with a clock that is wrong by
// that: `relied`.
void mistake_begins(int database, bool relied);
constexpr int64_t far_ahead = 10 * minute; // less than a mistake, and more than sessions stamp
bool says_mistake(const flakeid::Stamped& stamped, int64_t now_us);
bool erred(int database); // ever
bool is_repaired(int database); // a second ago, and nobody has erred since
int mistakes_ever();
bool somebody_errs(); // in another transaction, which has not ended
void mistakes_end();  // this transaction does
void mistake_is_dropped(int database);
void repaired(Server& server, int database);
bool repaired_since(size_t life);
int64_t highest_stamped_us(); // of any id

// A session got an error; its text, without the numbers in it.
void refused();
std::string refusal_text();
// Whether it is no fault of flakeid's, even when all is well.
bool is_deserved();

// What a draw gave.
void inside_layout(const Id& id);
void remembered(const flakeid::Generator& g);
void as_wanted(const flakeid::Generator& generator, const flakeid::Draw& draw, flakeid::Want want);

void nodes_in_step(const Id& id);
void span_life_begins();
// From now on in this life: a dump of another server lets all nodes begin later.
void nodes_may_be_raised();

// The row of a database was flushed.
void seldom_extended(Server& server, int database, const StateFile& before, const StateFile& after);
void extensions_begin();
void extensions_are_dropped(int database);

// True where files were copied, or a server may take them for that.
bool may_look_moved(const Server& server);

// An atomic was written; transactions end, and draws begin and end, between whose writes are
// counted.
void written(const volatile void* address);
void end_is_counted();
void draw_is_counted();
void id_is_counted(const flakeid::Generator& g, flakeid::Word word, int most);
void writes_life_begins();

// A server logged something.
void no_false_alarm(Server& server, const char* message);

// An id was drawn; a mark was answered for the layout from a snapshot.
void settled_drawn(const Id& id);
// The highest mark that was answered, and when.
struct BestMark {
    int64_t mark = 0;
    size_t life = 0;
};
BestMark best_mark(int database, int layout);
// What a poll met. `alone`: no other transaction was open meanwhile, and this one drew nothing.
// `kept`: the server knows what ended since the snapshot was taken, since that is nothing or somebody
// had asked before.
struct Met {
    BestMark best_before;
    bool alone, kept;
};
void settled_answered(int database, int layout, int64_t mark, const SnapshotData& snapshot,
                      const Met& met);
// All transactions that drew ids have ended, and the clock has passed them: marks pass them too.
void marks_must_pass(bool from_now_on);
void settled_life_begins();
void settled_begins();
void settled_is_dropped(int database);

} // namespace sim
