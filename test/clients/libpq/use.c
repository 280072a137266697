#include <assert.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "flake.h"

static PGconn *conn;

static PGresult *expect(PGresult *result, ExecStatusType status)
{
	if (PQresultStatus(result) != status)
	{
		fprintf(stderr, "%s%s", PQresStatus(PQresultStatus(result)), PQerrorMessage(conn));
		exit(1);
	}
	return result;
}

static void run(const char *sql)
{
	PQclear(expect(PQexec(conn, sql), PGRES_COMMAND_OK));
}

/* A query with one id as its parameter, in binary, and a result in binary. */
static PGresult *query(const char *sql, Oid type, int64_t id)
{
	uint64_t wire = flake_to_wire(id);

	return expect(PQexecParams(conn, sql, 1, &type, (const char *[]) {(const char *) &wire},
							   (int[]) {sizeof wire}, (int[]) {1}, 1), PGRES_TUPLES_OK);
}

static Oid type_oid(const char *name)
{
	PGresult   *result = expect(PQexecParams(conn, "SELECT $1::regtype::oid", 1, NULL, &name, NULL, NULL, 0), PGRES_TUPLES_OK);
	Oid			oid = (Oid) strtoul(PQgetvalue(result, 0, 0), NULL, 10);

	PQclear(result);
	return oid;
}

/* One new row; its id comes back with it. */
static int64_t insert(const char *item)
{
	PGresult   *result = expect(PQexecParams(conn, "INSERT INTO orders (item) VALUES ($1) RETURNING id", 1, NULL, &item,
											 NULL, NULL, 1), PGRES_TUPLES_OK);
	int64_t		id = flake_from_wire(PQgetvalue(result, 0, 0));

	PQclear(result);
	return id;
}

/* Sealed ids in binary are the texts that the server writes; their text is a parameter. */
static void use_sealed(void)
{
	char		made[FLAKE_SEALED_SIZE], again[FLAKE_SEALED_SIZE];
	const char *parameter = made, *stranger = "favicon.ico";
	PGresult   *result;

	run("CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text)");
	run("CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)");
	result = expect(PQexecParams(conn, "INSERT INTO tickets (item) SELECT 'tea' FROM generate_series(1, 50) RETURNING id, id::text", 0, NULL, NULL,
								 NULL, NULL, 1), PGRES_TUPLES_OK);
	for (int i = 0; i < PQntuples(result); i++)
	{
		flake_sealed_from_wire(PQgetvalue(result, i, 0), PQgetlength(result, i, 0), made);
		assert(strcmp(made, PQgetvalue(result, i, 1)) == 0);
		assert(strlen(made) == (size_t) atoi(getenv("FLAKEID_DIGITS")));
	}
	PQclear(result);
	result = expect(PQexecParams(conn, "INSERT INTO replies (ticket_id) VALUES ($1) RETURNING ticket_id", 1, NULL, &parameter,
								 NULL, NULL, 1), PGRES_TUPLES_OK);
	flake_sealed_from_wire(PQgetvalue(result, 0, 0), PQgetlength(result, 0, 0), again);
	assert(strcmp(made, again) == 0);
	PQclear(result);
	result = expect(PQexecParams(conn, "SELECT item FROM tickets WHERE id = flake_sealed_or_null($1)", 1, NULL, &stranger,
								 NULL, NULL, 1), PGRES_TUPLES_OK);
	assert(PQntuples(result) == 0);
	PQclear(result);
}

/* A bigint[] or flake[] in binary: dimensions, whether there are NULLs, type; length and lower bound; the elements. */
static size_t array_to_wire(char *out, Oid element, const int64_t *ids, int n)
{
	uint32_t	head[] = {htobe32(1), 0, htobe32(element), htobe32(n), htobe32(1)};
	char	   *end = out + sizeof head;

	memcpy(out, head, sizeof head);
	for (int i = 0; i < n; i++, end += 12)
	{
		memcpy(end, &(uint32_t) {htobe32(8)}, 4);
		memcpy(end + 4, &(uint64_t) {flake_to_wire(ids[i])}, 8);
	}
	return end - out;
}

int main(void)
{
	static int64_t ids[80], block[50], seen[80];
	static char wire[20 + 12 * 80];
	PGresult   *result;
	int			n = 0;
	char		text[32];

	conn = PQconnectdb("");
	printf("version: libpq %d.%d\n", PQlibVersion() / 10000, PQlibVersion() % 10000);
	PQsetNoticeProcessor(conn, NULL, NULL);
	run("CREATE EXTENSION flakeid");
	run("CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])");
	Oid			flake = type_oid("flake"), flakes = type_oid("flake[]");

	int64_t		one = insert("tea");

	assert(one > (INT64_C(1) << 53));
	for (int i = 0; i < 80; i++)
	{
		snprintf(text, sizeof text, "item %d", i);
		ids[i] = insert(text);
		assert(i == 0 || ids[i] > ids[i - 1]);
	}

	/* Ids before there are rows */
	result = query("SELECT flake_next_many($1::bigint::int)", 0, 50);
	assert(PQntuples(result) == 50 && PQftype(result, 0) == flake && PQfsize(result, 0) == 8);
	for (int i = 0; i < 50; i++)
		block[i] = flake_from_wire(PQgetvalue(result, i, 0));
	PQclear(result);

	/* Each type of a parameter, in binary and as text; a statement that is prepared */
	Oid			types[] = {0, INT8OID, flake};

	for (int i = 0; i < 3; i++)
	{
		result = query("SELECT id, item FROM orders WHERE id = $1", types[i], one);
		assert(PQntuples(result) == 1 && flake_from_wire(PQgetvalue(result, 0, 0)) == one);
		PQclear(result);
		snprintf(text, sizeof text, "%" PRId64, one);
		result = expect(PQexecParams(conn, "SELECT id FROM orders WHERE id = $1", 1, &types[i],
									 (const char *[]) {text}, NULL, NULL, 0), PGRES_TUPLES_OK);
		assert(PQntuples(result) == 1 && strcmp(PQgetvalue(result, 0, 0), text) == 0);
		PQclear(result);
		PQclear(expect(PQprepare(conn, "", "INSERT INTO orders (id) VALUES ($1)", 1, &types[i]), PGRES_COMMAND_OK));
		PQclear(expect(PQexecPrepared(conn, "", 1, (const char *[]) {(const char *) &(uint64_t) {flake_to_wire(block[i])}},
									  (int[]) {8}, (int[]) {1}, 1), PGRES_COMMAND_OK));
	}

	/* Arrays in binary, as what the query says, as bigint[] and as flake[] */
	for (int i = 0; i < 2; i++)
	{
		Oid			array = i == 0 ? type_oid("bigint[]") : flakes;
		int			length = (int) array_to_wire(wire, i == 0 ? INT8OID : flake, ids, 80);

		result = expect(PQexecParams(conn, i == 0 ? "SELECT id FROM orders WHERE id = ANY ($1)" :
									 "SELECT id FROM orders WHERE id = ANY ($1::flake[])", 1, &array,
									 (const char *[]) {wire}, &length, (int[]) {1}, 1), PGRES_TUPLES_OK);
		assert(PQntuples(result) == 80);
		PQclear(result);
	}
	result = query("SELECT array_agg(id ORDER BY id) FROM orders WHERE id > $1 AND item LIKE 'item%'", 0, one);
	assert(PQftype(result, 0) == flakes && (size_t) PQgetlength(result, 0, 0) == array_to_wire(wire, flake, ids, 80));
	assert(memcmp(PQgetvalue(result, 0, 0), wire, PQgetlength(result, 0, 0)) == 0);
	PQclear(result);

	/* Pages by the last id seen */
	for (int64_t last = one; n < 80; last = seen[n - 1])
	{
		result = query("SELECT id FROM orders WHERE id > $1 AND item IS NOT NULL ORDER BY id LIMIT 10", INT8OID, last);
		for (int i = 0; i < PQntuples(result); i++)
			seen[n++] = flake_from_wire(PQgetvalue(result, i, 0));
		PQclear(result);
	}
	assert(memcmp(seen, ids, sizeof ids) == 0);

	/* COPY BINARY: each field is its length and its bytes. */
	PQclear(expect(PQexec(conn, "COPY orders (id) FROM STDIN (FORMAT binary)"), PGRES_COPY_IN));
	PQputCopyData(conn, "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
	for (int i = 3; i < 50; i++)
	{
		char		row[14] = {0, 1, 0, 0, 0, 8};

		memcpy(row + 6, &(uint64_t) {flake_to_wire(block[i])}, 8);
		PQputCopyData(conn, row, sizeof row);
	}
	PQputCopyData(conn, "\377\377", 2);
	PQputCopyEnd(conn, NULL);
	PQclear(expect(PQgetResult(conn), PGRES_COMMAND_OK));
	while ((result = PQgetResult(conn)))
		PQclear(result);
	result = query("SELECT id FROM orders WHERE id > $1 ORDER BY id", 0, ids[79]);
	assert(PQntuples(result) == 50);
	for (int i = 0; i < 50; i++)
		assert(flake_from_wire(PQgetvalue(result, i, 0)) == block[i]);
	PQclear(result);
	use_sealed();
	PQfinish(conn);
	return 0;
}
