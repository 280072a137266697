// How sessions draw ids.
#pragma once

#include "machine.hpp"

namespace sim {

extern int my_layout;      // flakeid.layout of the session
extern int my_transaction; // as the checkers count them
void new_transaction();    // it is another one from now on
extern int64_t my_ids;     // that its transaction has drawn

Random& mine(); // of the running process

void draw_one();
// Some of them as flake_next_many() and flake_block() draw them.
void draw_many(int64_t n);
void draw_all();
void leave_open();
void draw_named(int layout);
void set_layout(int layout);
void draw_yielding();
void draw_of_node();

} // namespace sim
