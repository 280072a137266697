// Type flake_sealed: stored and compared (sealed_order.cpp) as the plain id; enciphered at
// every door (doc/sealed.md). Nothing here puts a plain id into a message.
#include "server/clock.hpp"
#include "core/sealed.hpp"
#include "server/extension.hpp"
#include "durable/fingerprints.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "parser/parse_type.h"
#include "replication/logicalworker.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/portal.h"
}

using namespace flakeid;

namespace {

constexpr int binary_bytes = 8;

// A worker of logical replication reads what another server has sealed. Under another secret almost
// every text is an id of no layout, or of a time to come.
bool may_be_replicated(uint64_t id)
{
    return settings.layout.enciphered ||
           possible_id(settings.layout, id, wall_us() + settings.max_ahead_us);
}

// Opens a sealed id into `id`; false with a soft error.
bool open_sealed(Sealed sealed, uint64_t* id, Node* context)
{
    if (unlikely(secret_source() == SecretSource::none)) {
        ereturn(context, false,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("no secret is configured"),
                 errdetail("Sealed ids need a secret of 16 bytes."),
                 errhint("%s", no_secret_hint(secret_used()))));
    }
    const ExpandedSecret& secret = sealing_keys();
    if (!has_key(sealed.key)) {
        ereturn(context, false,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("the secret has no key %d", sealed.key),
                 errdetail("The sealed id was made with that key."),
                 errhint("Put the key back into the file that flakeid.secret_file names.")));
    }
    *id = sparx_decrypt(secret.sealed[sealed.key], sealed.word);
    if (unlikely(IsLogicalWorker()) && !may_be_replicated(*id)) {
        ereturn(context, false,
                (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                 errmsg("a replicated sealed id is no id of flakeid.layout up to now"),
                 errdetail("The publisher has another secret, or another layout."),
                 errhint("Give both servers the same secret file, and this database the layout of "
                         "the publisher's ids.")));
    }
    return true;
}

// A plain id as it is outside.
Sealed seal(int64_t id)
{
    const ExpandedSecret& secret = sealing_keys();
    return {secret.current,
            sparx_encrypt(secret.sealed[secret.current], static_cast<uint64_t>(id))};
}

const char* reason_of(SealedStatus status, const char* text, size_t offset)
{
    switch (status) {
    case SealedStatus::ok:
        break;
    case SealedStatus::bad_length:
        return psprintf("It has %d characters.", pg_mbstrlen(text));
    case SealedStatus::foreign_character:
        return psprintf("Character %d, \"%.*s\", is no digit of base32hex.",
                        static_cast<int>(offset) + 1, pg_mblen(text + offset), text + offset);
    case SealedStatus::overflow:
        return "It stands for a number that 64 bits do not hold.";
    case SealedStatus::bad_key:
        return "Its first digit is no number of a key.";
    }
    return "";
}

// Who calls a function, as far as it was looked up.
struct Caller {
    Oid allowed;
    bool seals_new;
};
static_assert(is_plain<Caller>);

// True when the argument of the call is flake_next() itself. Nobody has seen that id, so its sealed
// text tells nothing. A text for an id of one's choice would show where that id lies among those of
// a table.
bool seals_new_id(FunctionCallInfo fcinfo)
{
    const Node* call = fcinfo->flinfo->fn_expr;
    if (call == nullptr || !IsA(call, FuncExpr)) {
        return false;
    }
    const auto* argument =
        static_cast<const Node*>(linitial(reinterpret_cast<const FuncExpr*>(call)->args));
    return IsA(argument, FuncExpr) && reinterpret_cast<const FuncExpr*>(argument)->funcid ==
                                          function_beside(fcinfo->flinfo->fn_oid, "flake_next");
}

Oid seal_function(Oid beside)
{
    return function_beside(beside, "flake_seal", INT8OID);
}

void require_seal_right(FunctionCallInfo fcinfo)
{
    auto* caller = static_cast<Caller*>(fcinfo->flinfo->fn_extra);
    if (caller == nullptr) {
        caller =
            static_cast<Caller*>(MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Caller)));
        caller->seals_new = seals_new_id(fcinfo);
        fcinfo->flinfo->fn_extra = caller;
    }
    const Oid user = GetUserId();
    if (caller->seals_new || caller->allowed == user) {
        return;
    }
    const Oid function = seal_function(fcinfo->flinfo->fn_oid);
    if (function_aclcheck(function, user, ACL_EXECUTE) != ACLCHECK_OK) {
        ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                errmsg("permission denied to seal an id"),
                errdetail("flake_next() itself is sealed for everyone; any other id needs EXECUTE "
                          "on flake_seal(bigint)."),
                errhint("%s", grant_line(function, user)));
    }
    caller->allowed = user;
}

// True while the statement that the client sent is an ALTER TABLE that gives columns other types,
// and brings no index and no column. None becomes `never`: indexes of such a column are made anew
// in it. (Elsewhere, as in a function, the table is rewritten, which is slower and no less right.)
bool alters_types(Oid never)
{
    if (ActivePortal == nullptr || list_length(ActivePortal->stmts) != 1) {
        return false;
    }
    Node* statement = linitial_node(PlannedStmt, ActivePortal->stmts)->utilityStmt;
    if (statement == nullptr || !IsA(statement, AlterTableStmt)) {
        return false;
    }
    ListCell* cell;
    foreach (cell, castNode(AlterTableStmt, statement)->cmds) {
        const auto* change = lfirst_node(AlterTableCmd, cell);
        switch (change->subtype) {
        case AT_AlterColumnType:
            if (typenameTypeId(nullptr, castNode(ColumnDef, change->def)->typeName) == never) {
                return false;
            }
            break;
        case AT_ColumnDefault:
        case AT_SetNotNull:
        case AT_DropNotNull:
            break;
        default:
            return false;
        }
    }
    return true;
}

} // namespace

FLAKEID_FUNCTION(flakeid_sealed_in)
{
    const char* text = PG_GETARG_CSTRING(0);
    Sealed sealed;
    size_t offset;
    const SealedStatus status = read_sealed(text, strlen(text), &sealed, &offset);
    if (unlikely(status != SealedStatus::ok)) {
        ereturn(fcinfo->context, static_cast<Datum>(0),
                (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                 errmsg("invalid input syntax for type %s: \"%s\"", "flake_sealed", text),
                 errdetail("%s", reason_of(status, text, offset)),
                 errhint("A sealed id has 13 digits 0-9 and a-v, with one more in front where its "
                         "key has a number.")));
    }
    uint64_t id = 0;
    if (!open_sealed(sealed, &id, fcinfo->context)) {
        return static_cast<Datum>(0);
    }
    return Int64GetDatum(static_cast<int64_t>(id));
}

// What names no row of this database for certain is NULL. What the server lacks is an error, as
// everywhere: without a secret, every link would seem to be gone.
FLAKEID_FUNCTION(flakeid_sealed_or_null)
{
    const char* outside = text_to_cstring(PG_GETARG_TEXT_PP(0));
    Sealed sealed;
    size_t offset;
    if (read_sealed(outside, strlen(outside), &sealed, &offset) != SealedStatus::ok) {
        PG_RETURN_NULL();
    }
    (void)sealing_keys();
    if (!has_key(sealed.key)) {
        PG_RETURN_NULL();
    }
    uint64_t id = 0;
    (void)open_sealed(sealed, &id, nullptr);
    return Int64GetDatum(static_cast<int64_t>(id));
}

FLAKEID_FUNCTION(flakeid_sealed_out)
{
    char* text = static_cast<char*>(palloc(max_sealed_text + 1));
    text[write_sealed(seal(PG_GETARG_INT64(0)), text)] = '\0';
    return CStringGetDatum(text);
}

// Eight bytes, high byte first, and before them one with the number of the key where it has one.
FLAKEID_FUNCTION(flakeid_sealed_recv)
{
    auto* buffer = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
    const int length = buffer->len - buffer->cursor;
    const int key = length == binary_bytes + 1 ? pq_getmsgbyte(buffer) : 0;
    if ((length != binary_bytes && key == 0) || key >= max_keys) {
        ereport(ERROR, errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
                errmsg("invalid binary form of type %s", "flake_sealed"),
                errhint("A sealed id has %d bytes, with one more in front where its key has a "
                        "number.",
                        binary_bytes));
    }
    uint64_t id = 0;
    (void)open_sealed({key, static_cast<uint64_t>(pq_getmsgint64(buffer))}, &id, nullptr);
    return Int64GetDatum(static_cast<int64_t>(id));
}

FLAKEID_FUNCTION(flakeid_sealed_send)
{
    const Sealed sealed = seal(PG_GETARG_INT64(0));
    StringInfoData buffer;
    pq_begintypsend(&buffer);
    if (sealed.key != 0) {
        pq_sendbyte(&buffer, static_cast<uint8>(sealed.key));
    }
    pq_sendint64(&buffer, sealed.word);
    return PointerGetDatum(pq_endtypsend(&buffer));
}

// flake_seal and flake_unseal: the type is another one, the eight bytes are the same. The server
// asks for the right when it prepares the call, and PL/pgSQL keeps a prepared cast for whoever
// comes next in the transaction. So the right is asked for here, too.
FLAKEID_FUNCTION(flakeid_relabel)
{
    Oid* allowed = static_cast<Oid*>(fcinfo->flinfo->fn_extra);
    if (allowed == nullptr) {
        allowed = static_cast<Oid*>(MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Oid)));
        fcinfo->flinfo->fn_extra = allowed;
    }
    const Oid function = fcinfo->flinfo->fn_oid;
    if (*allowed != GetUserId()) {
        const AclResult right = function_aclcheck(function, GetUserId(), ACL_EXECUTE);
        if (right != ACLCHECK_OK) {
            aclcheck_error(right, OBJECT_FUNCTION, get_func_name(function));
        }
        *allowed = GetUserId();
    }
    return PG_GETARG_DATUM(0);
}

// The cast from flake, for everyone as far as the id is a new one.
FLAKEID_FUNCTION(flakeid_seal_flake)
{
    require_seal_right(fcinfo);
    return PG_GETARG_DATUM(0);
}

// Where ALTER TABLE gives a column another type, the call is planned without a query around it.
// There the column is relabelled, so that the server sees that it has nothing to write. Elsewhere
// the call stays, and with it the check of the right at every execution. An expression of an index,
// or of a generated column, is planned so too: it must stay a STABLE call, or it would hold plain
// ids.
FLAKEID_FUNCTION(flakeid_seal_support)
{
    const auto* request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
    if (!IsA(request, SupportRequestSimplify)) {
        return static_cast<Datum>(0);
    }
    const auto* simplify = reinterpret_cast<const SupportRequestSimplify*>(request);
    const FuncExpr* call = simplify->fcall;
    const auto* argument = static_cast<const Node*>(linitial(call->args));
    const Node* column =
        IsA(argument, RelabelType)
            ? reinterpret_cast<Node*>(reinterpret_cast<const RelabelType*>(argument)->arg)
            : argument;
    if (simplify->root != nullptr || !IsA(column, Var)) {
        return static_cast<Datum>(0);
    }
    const Oid seals =
        seal_function(call->funcid); // whoever may not call it may call no cast instead
    const Oid function =
        get_func_rettype(call->funcid) == get_func_rettype(seals) ? seals : call->funcid;
    const Oid sealed = get_func_rettype(seals);
    if (!alters_types(call->funcresulttype == sealed ? InvalidOid : sealed) ||
        function_aclcheck(function, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK) {
        return static_cast<Datum>(0);
    }
    return PointerGetDatum(makeRelabelType(static_cast<Expr*>(copyObjectImpl(column)),
                                           call->funcresulttype, -1, InvalidOid,
                                           COERCE_EXPLICIT_CAST));
}
