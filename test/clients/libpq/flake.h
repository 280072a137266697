/* Type flake in libpq, in binary: eight bytes, the highest first, as bigint. An id is an int64_t. */
#ifndef FLAKE_H
#define FLAKE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* OID of bigint, in every server. As the type of a parameter it serves wherever a flake is wanted. */
#define INT8OID 20

/* What to pass in paramValues, with paramLengths 8 and paramFormats 1. */
static inline uint64_t flake_to_wire(int64_t id)
{
	return htobe64((uint64_t) id);
}

/* What PQgetvalue() points at in a result in binary. */
static inline int64_t flake_from_wire(const char *value)
{
	uint64_t bits;

	memcpy(&bits, value, sizeof bits);
	return (int64_t) be64toh(bits);
}

#endif
