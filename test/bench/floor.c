/* Functions that do nothing: the floor of every comparison, and a mark in an instruction count. */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_floor);
PG_FUNCTION_INFO_V1(bench_count);
PG_FUNCTION_INFO_V1(bench_mark);

Datum bench_floor(PG_FUNCTION_ARGS) { PG_RETURN_INT64(1); }

/* The cheapest default that a primary key can have. */
Datum bench_count(PG_FUNCTION_ARGS)
{
	static int64 count;
	PG_RETURN_INT64(++count);
}

Datum bench_mark(PG_FUNCTION_ARGS) { PG_RETURN_VOID(); }
