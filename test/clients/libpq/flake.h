/* Types flake and flake_sealed in libpq, in binary. An id is an int64_t: eight bytes, the highest first, as bigint. A sealed id is a text. */
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

/* Thirteen digits, one before them where the key has a number, and a zero */
#define FLAKE_SEALED_SIZE 15

/* Writes the text of a sealed id that PQgetvalue() points at in a result in binary; PQgetlength() says of how many bytes.
 * Pass that text as it is, with paramFormats 0. */
static inline void flake_sealed_from_wire(const char *value, int length, char text[FLAKE_SEALED_SIZE])
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
	uint64_t word = (uint64_t) flake_from_wire(value + length - 8);

	if (length == 9)
		*text++ = digits[(unsigned char) value[0]];
	for (int i = 0; i < 13; i++)
		text[i] = digits[word >> (60 - 5 * i) & 31];
	text[13] = '\0';
}

#endif
