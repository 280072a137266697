/* Functions that do nothing: the floor of every comparison, and a mark in an instruction count. */
#include "postgres.h"

#include <time.h>

#include "fmgr.h"
#include "miscadmin.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_floor);
PG_FUNCTION_INFO_V1(bench_count);
PG_FUNCTION_INFO_V1(bench_rising);
PG_FUNCTION_INFO_V1(bench_random);
PG_FUNCTION_INFO_V1(bench_mark);

Datum bench_floor(PG_FUNCTION_ARGS) { PG_RETURN_INT64(1); }

/* The cheapest default that a primary key can have. */
Datum bench_count(PG_FUNCTION_ARGS)
{
	static int64 count;
	PG_RETURN_INT64(++count);
}

/*
 * The cheapest default of many sessions whose values rise over all of them, as those of sequences
 * and flakes do: a clock, and who reads it. Sessions share nothing.
 */
Datum bench_rising(PG_FUNCTION_ARGS)
{
#ifdef __x86_64__
	uint64 ticks = __builtin_ia32_rdtsc() >> 4;
#else
	struct timespec now;
	uint64 ticks;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ticks = now.tv_sec * UINT64CONST(1000000000) + now.tv_nsec;
#endif
	PG_RETURN_INT64(ticks << 8 | (MyProcPid & 255));
}

/* The cheapest default whose values come in no order (splitmix64). */
Datum bench_random(PG_FUNCTION_ARGS)
{
	static uint64 state;
	uint64 x = (state += UINT64CONST(0x9e3779b97f4a7c15));
	x = (x ^ x >> 30) * UINT64CONST(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64CONST(0x94d049bb133111eb);
	PG_RETURN_INT64(x ^ x >> 31);
}

Datum bench_mark(PG_FUNCTION_ARGS) { PG_RETURN_VOID(); }
