// What the tables are asked, as SQL.
#pragma once

#include "leases/coordinator.hpp"

#include <string>

namespace sim {

// The statement; `token`: of the lease, as the server has it.
std::string sql_of(const Question& q, const std::string& token);

// Words that the server's message of a refusal has.
const char* words_of(flakeid::LeaseRefusal refusal);

// A moment in microseconds.
std::string in_us(const std::string& expression);

} // namespace sim
