// flake_next and its kin: the SQL functions that make ids.
#include "generator/compose.hpp"
#include "generator/draw.hpp"
#include "server/messages.hpp"
#include "functions/generator_of.hpp"

using namespace flakeid;

namespace {

// Ids made at once where many are wanted: the cipher takes eight side by side.
constexpr uint32_t made_at_once = 64;

// As many ids are reserved at once as were returned before, so that a caller who asks for millions
// and takes one costs others one. There are never more than these, nor than a tick holds.
constexpr uint32_t most_reserved = 4096;

uint32_t positive_count(FunctionCallInfo fcinfo, int32 least)
{
    if (PG_ARGISNULL(0)) {
        ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                errmsg("number of ids must not be null"));
    }
    const int32 n = PG_GETARG_INT32(0);
    if (n < least) {
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("number of ids must be at least %d, not %d", least, n));
    }
    return static_cast<uint32_t>(n);
}

// Words that were drawn belong to the node they were drawn for, so the generator is a copy that
// outlives a change of the settings.
struct Progress {
    Generator generator;
    Draw drawn;
    uint32_t wanted, reserved; // ids still to be drawn; drawn so far, up to most_reserved
    uint32_t made, returned;   // of `ids`
    uint64_t ids[made_at_once];
};
static_assert(is_plain<Progress>);

uint32_t next_batch(const Progress& progress)
{
    const uint64_t tick = max_sequence(progress.generator.shape) + 1;
    return static_cast<uint32_t>(
        std::min<uint64_t>({progress.wanted, tick, std::max(progress.reserved, 1U)}));
}

} // namespace

FLAKEID_FUNCTION(flakeid_next)
{
    Generator& g = generator_of(fcinfo, 0);
    return Int64GetDatum(id_of_word(g, next_word(g)));
}

FLAKEID_FUNCTION(flakeid_next_of_node)
{
    auto& named = named_argument<Generator>(fcinfo, 0);
    Generator& g = named.value;
    const int32 node = PG_GETARG_INT32(1);
    if (unlikely(!still_good(g))) {
        make_of_node(g, named.name, named.length, node);
    } else if (unlikely(g.node != static_cast<uint32_t>(node))) {
        change_node(g, node);
    }
    return Int64GetDatum(id_of_word(g, next_word(g)));
}

FLAKEID_FUNCTION(flakeid_next_many)
{
    if (SRF_IS_FIRSTCALL()) {
        FuncCallContext* first = SRF_FIRSTCALL_INIT();
        auto* progress = static_cast<Progress*>(
            MemoryContextAllocZero(first->multi_call_memory_ctx, sizeof(Progress)));
        progress->wanted = positive_count(fcinfo, 0);
        if (PG_ARGISNULL(1)) {
            progress->generator = configured_generator();
            progress->generator.name =
                MemoryContextStrdup(first->multi_call_memory_ctx, progress->generator.name);
        } else {
            MemoryContext caller = MemoryContextSwitchTo(first->multi_call_memory_ctx);
            char* name = text_to_cstring(PG_GETARG_TEXT_PP(1));
            MemoryContextSwitchTo(caller);
            make_named(progress->generator, name, strlen(name));
        }
        first->user_fctx = progress;
    }
    FuncCallContext* context = SRF_PERCALL_SETUP();
    auto* progress = static_cast<Progress*>(context->user_fctx);
    if (progress->returned == progress->made) {
        if (progress->wanted == 0) {
            SRF_RETURN_DONE(context);
        }
        Draw& drawn = progress->drawn;
        if (drawn.count == 0) {
            drawn = draw(progress->generator, {next_batch(*progress), false});
            progress->reserved = std::min(progress->reserved + drawn.count, most_reserved);
        }
        progress->made = std::min(drawn.count, made_at_once);
        progress->returned = 0;
        ids_of_words(progress->generator, drawn.word, progress->made, progress->ids);
        drawn.word = drawn.word + progress->made;
        drawn.count -= progress->made;
        progress->wanted -= progress->made;
    }
    SRF_RETURN_NEXT(context,
                    Int64GetDatum(static_cast<int64_t>(progress->ids[progress->returned++])));
}

FLAKEID_FUNCTION(flakeid_block)
{
    const uint32_t n = positive_count(fcinfo, 1);
    Generator& g = generator_of(fcinfo, 1);
    if (n - 1 > max_sequence(g.shape)) {
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("a block of %u ids does not fit into one tick", n),
                errdetail("A tick of layout \"%s\" holds " UINT64_FORMAT " ids.", g.name,
                          max_sequence(g.shape) + 1),
                errhint("Ask for fewer ids, or use flake_next_many()."));
    }
    return Int64GetDatum(id_of_word(g, draw(g, {n, true}).word));
}
