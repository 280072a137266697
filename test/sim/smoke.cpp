#include "server.hpp"
namespace sim { void tell(const char*,...){} void broken(const char*,...){} void broken_for_good(const char*,...){abort();} }
int main(){}
