// What servers ask coordinators, and what these answer, as it is sent.
#pragma once

#include "leases/hosts.hpp"

namespace sim {

bool says(const std::string& sql, const char* word);
int64_t us_of(const std::string& seconds); // with a point

Question question_of(const std::string& sql, const std::vector<Value>& values);
Answer answer_of(const Host& host, const Backend& backend, const Reply& reply);

} // namespace sim
