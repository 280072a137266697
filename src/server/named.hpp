// An argument that names a layout, and what was made of it, kept for the rest of the query.
#pragma once

#include "server/postgres.hpp"

namespace flakeid {

template <typename Value>
struct Named {
    Value value; // zero whenever the name is a new one
    size_t length;
    char* name;    // zero-terminated
    bool constant; // written as a constant, so that it is the same in every call
};

inline bool constant_argument(FunctionCallInfo fcinfo, int arg)
{
    Node* call = fcinfo->flinfo->fn_expr;
    const List* args =
        call != nullptr && IsA(call, FuncExpr) ? castNode(FuncExpr, call)->args : NIL;
    return arg < list_length(args) && IsA(list_nth(args, arg), Const);
}

template <typename Value>
Named<Value>& named_argument(FunctionCallInfo fcinfo, int arg)
{
    auto* named = static_cast<Named<Value>*>(fcinfo->flinfo->fn_extra);
    if (likely(named != nullptr && named->constant)) {
        return *named;
    }
    text* argument = PG_GETARG_TEXT_PP(arg);
    const char* name = VARDATA_ANY(argument);
    const auto length = static_cast<size_t>(VARSIZE_ANY_EXHDR(argument));
    if (unlikely(named == nullptr)) {
        named = static_cast<Named<Value>*>(
            MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Named<Value>)));
        fcinfo->flinfo->fn_extra = named;
    }
    if (unlikely(named->name == nullptr || named->length != length ||
                 memcmp(named->name, name, length) != 0)) {
        if (named->name != nullptr) {
            pfree(named->name);
        }
        memset(static_cast<void*>(named), 0, sizeof *named);
        auto* copy =
            static_cast<char*>(MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, length + 1));
        memcpy(copy, name, length);
        named->name = copy;
        named->length = length;
        named->constant = constant_argument(fcinfo, arg);
    }
    return *named;
}

} // namespace flakeid
