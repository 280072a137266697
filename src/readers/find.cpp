// Finding ids by time: flake_floor, flake_ceil and id <@ tstzrange, which the planner rewrites to
// comparisons with them, so that indexes and partition pruning serve.
#include "server/clock.hpp"
#include "server/extension.hpp"
#include "readers/right_to_look.hpp"
#include "readers/moments.hpp"
#include "readers/reader.hpp"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "access/stratnum.h"
#include "utils/multirangetypes.h"
#include "utils/typcache.h"
}

#include <utility>

using namespace flakeid;

namespace {

// Who may look into enciphered ids matters nowhere here: they have no time order, which is an error
// to everyone.

// Ids from `first` to `last`; none when first is larger.
struct IdRange {
    int64_t first;
    int64_t last;
};
static_assert(is_plain<IdRange>);

constexpr IdRange no_ids = {PG_INT64_MAX, PG_INT64_MIN};

void require_time_order(const Reader& reader)
{
    if (!time_ordered(reader.layout)) {
        ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                errmsg("ids of layout \"%s\" have no time order", reader.name),
                reader.layout.enciphered
                    ? errdetail("Enciphered ids are spread evenly over all numbers.")
                    : errdetail("Their highest field is not the time."),
                reader.layout.enciphered
                    ? errhint("Compare flake_timestamp(id, %s) instead, which needs EXECUTE on "
                              "flake_decrypt(bigint).",
                              quote_literal_cstr(reader.name))
                    : errhint("Compare flake_timestamp(id, %s) instead.",
                              quote_literal_cstr(reader.name)));
    }
}

// Time bounds as multiples of a tick, clamped to [-1, max_tick + 1], which stand for everything
// before and after the layout's life.
int64_t clamped(const Layout& layout, int64_t tick)
{
    const auto last = static_cast<int64_t>(layout.max_tick); // INT64_MAX where all is time
    return std::max<int64_t>(-1, tick > last ? last + 1 : tick);
}

int64_t first_tick_at_or_after(const Layout& layout, int64_t us)
{
    const int64_t tick = clamped(layout, tick_of_us(layout, us));
    int64_t start;
    const bool exact =
        tick >= 0 && tick_start_us(layout, static_cast<Tick>(tick), &start) && start == us;
    return clamped(layout, exact ? tick : tick + 1);
}

int64_t last_tick_at_or_before(const Layout& layout, int64_t us)
{
    return clamped(layout, tick_of_us(layout, us));
}

int64_t lowest_id(const Layout& layout, int64_t tick)
{
    return tick << layout.time_shift;
}

int64_t highest_id(const Layout& layout, int64_t tick)
{
    return lowest_id(layout, tick) | ((INT64CONST(1) << layout.time_shift) - 1);
}

// The tick of a moment, clamped to the layout's life.
int64_t tick_within_life(const Layout& layout, TimestampTz timestamp)
{
    if (TIMESTAMP_IS_NOBEGIN(timestamp)) {
        return 0;
    }
    const auto last = static_cast<int64_t>(layout.max_tick);
    if (TIMESTAMP_IS_NOEND(timestamp)) {
        return last;
    }
    return std::max<int64_t>(
        0, std::min(last_tick_at_or_before(layout, us_since_1970(timestamp)), last));
}

// The first tick of ids that are taken for ones with a time, where a range begins with all that is
// old: a day after the epoch. Below lie serial numbers and the like, which deleting what is old
// must not find. A layout that ends within two days has no such room.
int64_t first_tick_of_times(const Layout& layout)
{
    const int64_t tick = first_tick_at_or_after(layout, layout.epoch_us + us_per_day);
    return tick <= static_cast<int64_t>(layout.max_tick) / 2 ? tick : 0;
}

// The ids whose tick begins in the range.
IdRange ids_in_range(const Reader& reader, RangeType* range)
{
    require_time_order(reader);
    const Layout& layout = reader.layout;
    RangeBound lower, upper;
    bool empty;
    TypeCacheEntry* type = lookup_type_cache(RangeTypeGetOid(range), TYPECACHE_RANGE_INFO);
    range_deserialize(type, range, &lower, &upper, &empty);
    if (empty) {
        return no_ids;
    }
    const auto max_tick = static_cast<int64_t>(layout.max_tick);
    int64_t first = first_tick_of_times(layout);
    int64_t last = max_tick;
    const TimestampTz from = lower.infinite ? DT_NOBEGIN : DatumGetTimestampTz(lower.val);
    const TimestampTz to = upper.infinite ? DT_NOEND : DatumGetTimestampTz(upper.val);
    if (TIMESTAMP_IS_NOEND(from) || TIMESTAMP_IS_NOBEGIN(to)) {
        return no_ids;
    }
    if (!TIMESTAMP_IS_NOBEGIN(from) && us_since_1970(from) > layout.epoch_us) {
        const int64_t us = us_since_1970(from);
        first = lower.inclusive ? first_tick_at_or_after(layout, us)
                                : last_tick_at_or_before(layout, us) + 1;
    }
    if (!TIMESTAMP_IS_NOEND(to)) {
        const int64_t us = us_since_1970(to);
        last = std::min(max_tick, upper.inclusive ? last_tick_at_or_before(layout, us)
                                                  : first_tick_at_or_after(layout, us) - 1);
    }
    return first > last ? no_ids : IdRange{lowest_id(layout, first), highest_id(layout, last)};
}

// Returns `id`, of type bigint or flake_sealed, compared with `bound`, which is of the same type.
Expr* compare(Node* id, int strategy, Node* bound)
{
    const Oid type = exprType(id);
    const TypeCacheEntry* order = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
    const Oid op = get_opfamily_member(order->btree_opf, type, type, static_cast<int16>(strategy));
    return make_opclause(op, BOOLOID, false, static_cast<Expr*>(copyObjectImpl(id)),
                         reinterpret_cast<Expr*>(bound), InvalidOid, InvalidOid);
}

Node* between(Node* id, Node* floor, Node* ceil)
{
    return reinterpret_cast<Node*>(
        make_andclause(list_make2(compare(id, BTGreaterEqualStrategyNumber, floor),
                                  compare(id, BTLessEqualStrategyNumber, ceil))));
}

// Returns a call of `function` with a copy of `arguments`. One that no setting moves becomes a
// constant at once: later, the planner would not prune partitions by it.
Node* bound_call(PlannerInfo* root, Oid function, Oid type, List* arguments)
{
    auto* call = reinterpret_cast<Node*>(
        makeFuncExpr(function, type, static_cast<List*>(copyObjectImpl(arguments)), InvalidOid,
                     InvalidOid, COERCE_EXPLICIT_CALL));
    return eval_const_expressions(root, call);
}

Node* constant(int64_t id)
{
    return reinterpret_cast<Node*>(makeConst(INT8OID, -1, InvalidOid, sizeof(int64_t),
                                             Int64GetDatum(id), false, FLOAT8PASSBYVAL));
}

// True when evaluating an argument twice costs next to nothing. The bound is the planner's own, for
// a parameter that an inlined SQL function names twice.
bool cheap(PlannerInfo* root, Node* argument)
{
    QualCost cost;
    cost_qual_eval(&cost, list_make1(argument), root);
    return cost.startup + cost.per_tuple <= 10 * cpu_operator_cost;
}

bool repeatable(Node* argument)
{
    return !contain_volatile_functions(argument) && !contain_subplans(argument);
}

// Tells whether the plan that `root` is part of may hold what `function` makes of flakeid.layout:
// the plan is made anew when either changes.
bool plan_with_layout(PlannerInfo* root, Oid function)
{
    if (root == nullptr || root->glob == nullptr || !good_settings()) {
        return false;
    }
    auto* layout = makeNode(PlanInvalItem);
    layout->cacheId = PROCOID;
    layout->hashValue = layout_in_plans;
    root->glob->invalItems = lappend(root->glob->invalItems, layout);
    record_plan_function_dependency(root, function);
    return true;
}

// Returns the comparisons, and where ranges leave gaps between them, the call that knows these.
Node* with_filter(const FuncExpr* call, const List* filtered, Node* comparisons)
{
    if (filtered == nullptr) {
        return comparisons;
    }
    const Oid filter =
        function_beside(call->funcid, "flake_in_multirange", INT8OID, TSTZMULTIRANGEOID);
    auto* gaps = makeFuncExpr(filter, BOOLOID, static_cast<List*>(copyObjectImpl(filtered)),
                              InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
    return reinterpret_cast<Node*>(make_andclause(list_make2(comparisons, gaps)));
}

// Returns a range without the domain that the operators take.
Node* without_domain(Node* range)
{
    return applyRelabelType(range, getBaseType(exprType(range)), -1, InvalidOid,
                            COERCE_IMPLICIT_CAST, -1, false);
}

// The two comparisons; nullptr when an argument must not be evaluated twice, or costs too much. A
// range that is the same for all rows may cost anything: an index evaluates it once a scan.
Node* between_bounds(PlannerInfo* root, const FuncExpr* call)
{
    auto* id = static_cast<Node*>(linitial(call->args));
    auto* range = static_cast<Node*>(lsecond(call->args));
    if (getBaseType(exprType(id)) == TSTZRANGEOID) {
        std::swap(id, range);
    }
    range = without_domain(range);
    // Of other ranges the moments, which follow from TimeZone.
    const Oid given = exprType(range);
    List* filtered = nullptr;
    if (given != TSTZRANGEOID) {
        filtered = given == TSTZMULTIRANGEOID ? list_make2(id, range) : nullptr;
        range = bound_call(root, function_beside(call->funcid, "flake_moments", given),
                           TSTZRANGEOID, list_make1(range));
    }
    List* bounds = list_make1(range);
    if (list_length(call->args) == 3) {
        bounds = lappend(bounds, lthird(call->args));
    }
    auto* both = reinterpret_cast<Node*>(bounds);
    if (!repeatable(id) || !repeatable(both) || !cheap(root, id) ||
        (contain_var_clause(both) && !cheap(root, both))) {
        return nullptr;
    }
    const bool sealed = exprType(id) != INT8OID;
    if (!sealed && list_length(bounds) == 1 && IsA(range, Const) && time_ordered(settings.layout) &&
        plan_with_layout(root, call->funcid)) {
        const Reader reader = {settings.layout, settings.layout_text, 0, InvalidOid};
        const IdRange ids =
            ids_in_range(reader, DatumGetRangeTypeP(reinterpret_cast<Const*>(range)->constvalue));
        return with_filter(call, filtered, between(id, constant(ids.first), constant(ids.last)));
    }
    const Oid layout = list_length(bounds) == 2 ? TEXTOID : InvalidOid;
    const Oid floor =
        function_beside(call->funcid, sealed ? "flake_sealed_range_floor" : "flake_range_floor",
                        TSTZRANGEOID, layout);
    const Oid ceil =
        function_beside(call->funcid, sealed ? "flake_sealed_range_ceil" : "flake_range_ceil",
                        TSTZRANGEOID, layout);
    return with_filter(call, filtered,
                       between(id, bound_call(root, floor, exprType(id), bounds),
                               bound_call(root, ceil, exprType(id), bounds)));
}

bool contained(FunctionCallInfo fcinfo, int64_t id, RangeType* range)
{
    const IdRange ids = ids_in_range(any_reader_of(fcinfo, 2), range);
    return ids.first <= id && id <= ids.last;
}

// When sealed ids were made is for those who may find them by time.
void require_sealed_right(FunctionCallInfo fcinfo, int arg)
{
    require_right_to_look(fcinfo, &any_reader_of(fcinfo, arg).checked, Looking::sealed);
}

} // namespace

FLAKEID_FUNCTION(flakeid_floor)
{
    const Reader& reader = any_reader_of(fcinfo, 1);
    require_time_order(reader);
    return Int64GetDatum(
        lowest_id(reader.layout, tick_within_life(reader.layout, PG_GETARG_TIMESTAMPTZ(0))));
}

FLAKEID_FUNCTION(flakeid_ceil)
{
    const Reader& reader = any_reader_of(fcinfo, 1);
    require_time_order(reader);
    return Int64GetDatum(
        highest_id(reader.layout, tick_within_life(reader.layout, PG_GETARG_TIMESTAMPTZ(0))));
}

FLAKEID_FUNCTION(flakeid_range_floor)
{
    return Int64GetDatum(ids_in_range(any_reader_of(fcinfo, 1), PG_GETARG_RANGE_P(0)).first);
}

FLAKEID_FUNCTION(flakeid_range_ceil)
{
    return Int64GetDatum(ids_in_range(any_reader_of(fcinfo, 1), PG_GETARG_RANGE_P(0)).last);
}

FLAKEID_FUNCTION(flakeid_in_range)
{
    return BoolGetDatum(contained(fcinfo, PG_GETARG_INT64(0), PG_GETARG_RANGE_P(1)));
}

FLAKEID_FUNCTION(flakeid_range_contains)
{
    return BoolGetDatum(contained(fcinfo, PG_GETARG_INT64(1), PG_GETARG_RANGE_P(0)));
}

// id <@ daterange and id <@ tsrange, where they are not rewritten.
FLAKEID_FUNCTION(flakeid_within)
{
    return BoolGetDatum(contained(fcinfo, PG_GETARG_INT64(0), moments_of(PG_GETARG_RANGE_P(1))));
}

FLAKEID_FUNCTION(flakeid_in_multirange)
{
    const Reader& reader = any_reader_of(fcinfo, 2);
    require_time_order(reader);
    const auto raw = static_cast<uint64_t>(PG_GETARG_INT64(0));
    int64_t us;
    TimestampTz moment;
    return BoolGetDatum(
        !outside_layout(reader.layout, raw) &&
        PG_GETARG_INT64(0) >= ids_in_range(reader, moments_of(PG_GETARG_MULTIRANGE_P(1))).first &&
        tick_start_us(reader.layout, split(reader.layout, raw).tick, &us) &&
        to_timestamptz(us, &moment) &&
        multirange_contains_elem_internal(lookup_type_cache(TSTZRANGEOID, TYPECACHE_RANGE_INFO),
                                          PG_GETARG_MULTIRANGE_P(1), TimestampTzGetDatum(moment)));
}

FLAKEID_FUNCTION(flakeid_sealed_range_floor)
{
    require_sealed_right(fcinfo, 1);
    return flakeid_range_floor(fcinfo);
}

FLAKEID_FUNCTION(flakeid_sealed_range_ceil)
{
    require_sealed_right(fcinfo, 1);
    return flakeid_range_ceil(fcinfo);
}

FLAKEID_FUNCTION(flakeid_sealed_in_range)
{
    require_sealed_right(fcinfo, 2);
    return flakeid_in_range(fcinfo);
}

FLAKEID_FUNCTION(flakeid_sealed_range_contains)
{
    require_sealed_right(fcinfo, 2);
    return flakeid_range_contains(fcinfo);
}

// Rewrites id <@ range, and range @> id, to id >= flake_range_floor(range) AND
// id <= flake_range_ceil(range), and flake_in_range(id, range, layout) to the same with the layout.
// Without a layout, a constant range becomes two constants in plans that a change of flakeid.layout
// makes anew; anywhere else the calls stay calls of STABLE functions.
FLAKEID_FUNCTION(flakeid_in_range_support)
{
    auto* request = reinterpret_cast<Node*>(PG_GETARG_POINTER(0));
    Node* replacement = nullptr;
    if (IsA(request, SupportRequestSimplify)) {
        const auto* simplify = reinterpret_cast<SupportRequestSimplify*>(request);
        replacement = between_bounds(simplify->root, simplify->fcall);
    }
    return PointerGetDatum(replacement);
}
