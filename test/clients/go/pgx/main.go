// Types flake and flake_sealed in pgx: an id is an int64, in binary, a sealed id a string, in text; arrays are slices of them.
package main

import (
	"context"
	"fmt"
	"log"
	"reflect"
	"strings"

	"github.com/jackc/pgtype"
	"github.com/jackc/pgx/v4"
)

// RegisterFlake is for pgxpool.Config.AfterConnect, or for a single connection.
func RegisterFlake(ctx context.Context, conn *pgx.Conn) error {
	var oid, arrayOID, sealedOID, sealedArrayOID uint32
	err := conn.QueryRow(ctx, `SELECT 'flake'::regtype::oid, 'flake[]'::regtype::oid,
		'flake_sealed'::regtype::oid, 'flake_sealed[]'::regtype::oid`).Scan(&oid, &arrayOID, &sealedOID, &sealedArrayOID)
	if err != nil {
		return err
	}
	info := conn.ConnInfo()
	info.RegisterDataType(pgtype.DataType{Value: &pgtype.Int8{}, Name: "flake", OID: oid})
	info.RegisterDataType(pgtype.DataType{
		Value: pgtype.NewArrayType("_flake", oid, func() pgtype.ValueTranscoder { return &pgtype.Int8{} }),
		Name:  "_flake", OID: arrayOID,
	})
	info.RegisterDataType(pgtype.DataType{Value: &pgtype.GenericText{}, Name: "flake_sealed", OID: sealedOID})
	info.RegisterDataType(pgtype.DataType{Value: &pgtype.EnumArray{}, Name: "_flake_sealed", OID: sealedArrayOID})
	return nil
}

func list(conn *pgx.Conn, query string, args ...interface{}) (ids []int64) {
	rows, err := conn.Query(context.Background(), query, args...)
	check(err)
	defer rows.Close()
	for rows.Next() {
		var id int64
		check(rows.Scan(&id))
		ids = append(ids, id)
	}
	check(rows.Err())
	return ids
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}

func equal(found, expected interface{}) {
	if !reflect.DeepEqual(found, expected) {
		log.Panicf("%v is not %v", found, expected)
	}
}

func main() {
	ctx := context.Background()
	for _, simple := range []bool{false, true} {
		config, err := pgx.ParseConfig("")
		check(err)
		config.PreferSimpleProtocol = simple
		conn, err := pgx.ConnectConfig(ctx, config)
		check(err)
		for _, statement := range []string{
			"CREATE EXTENSION IF NOT EXISTS flakeid",
			"DROP TABLE IF EXISTS orders, replies, tickets",
			"CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])",
			"CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text, near flake_sealed[])",
			"CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)",
		} {
			_, err = conn.Exec(ctx, statement)
			check(err)
		}
		var id int64
		err = conn.QueryRow(ctx, "SELECT flake_next()").Scan(&id)
		equal(err != nil, true) // until it is registered
		check(RegisterFlake(ctx, conn))
		use(ctx, conn)
		check(conn.Close(ctx))
	}
}

func use(ctx context.Context, conn *pgx.Conn) {
	var one int64
	check(conn.QueryRow(ctx, "INSERT INTO orders (item) VALUES ($1) RETURNING id", "tea").Scan(&one))
	equal(one > 1<<53, true)
	ids := list(conn, "INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING id", make([]string, 80))
	equal(len(ids), 80)
	block := list(conn, "SELECT flake_next_many($1)", 50)
	equal(len(block), 50)

	// Each kind of parameter
	for _, cast := range []string{"", "::bigint", "::flake"} {
		equal(list(conn, "SELECT id FROM orders WHERE id = $1"+cast, one), []int64{one})
	}
	equal(list(conn, "SELECT id FROM orders WHERE id = $1::text::flake", fmt.Sprint(one)), []int64{one})

	// A batch
	batch := &pgx.Batch{}
	for _, id := range ids {
		batch.Queue("SELECT id FROM orders WHERE id = $1", id)
	}
	results := conn.SendBatch(ctx, batch)
	for _, id := range ids {
		var found int64
		check(results.QueryRow().Scan(&found))
		equal(found, id)
	}
	check(results.Close())

	// Arrays
	equal(len(list(conn, "SELECT id FROM orders WHERE id = ANY ($1)", ids)), 80)
	number := func(n int64) *int64 { return &n }
	odd := []*int64{number(1<<53 + 1), nil, number(-1 << 63), number(1<<63 - 1)}
	var parameter pgtype.Int8Array
	check(parameter.Set(odd))
	var near []*int64
	check(conn.QueryRow(ctx, "UPDATE orders SET near = $1 WHERE id = $2 RETURNING near", &parameter, one).Scan(&near))
	equal(near, odd)

	// Pages by the last id seen
	var seen []int64
	for last := one; len(seen) < 80; last = seen[len(seen)-1] {
		seen = append(seen, list(conn, "SELECT id FROM orders WHERE id > $1 ORDER BY id LIMIT 10", last)...)
	}
	equal(seen, ids)

	// JSON of the server
	var made map[string]interface{}
	check(conn.QueryRow(ctx, "SELECT json_build_object('id', id) FROM orders WHERE id = $1", one).Scan(&made))
	equal(made["id"], fmt.Sprint(one))

	sealed(ctx, conn)

	// COPY, which pgx always does in binary
	rows := [][]interface{}{}
	for _, id := range block {
		rows = append(rows, []interface{}{id, "copied"})
	}
	n, err := conn.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"id", "item"}, pgx.CopyFromRows(rows))
	check(err)
	equal(n, int64(50))
	equal(list(conn, "SELECT id FROM orders WHERE item = 'copied' ORDER BY id"), block)
}

func sealed(ctx context.Context, conn *pgx.Conn) {
	var one, other, reply string
	check(conn.QueryRow(ctx, "INSERT INTO tickets (item) VALUES ($1) RETURNING id", "tea").Scan(&one))
	check(conn.QueryRow(ctx, "INSERT INTO tickets (item) VALUES ($1) RETURNING id", "pen").Scan(&other))
	equal(len(one), 13)
	check(conn.QueryRow(ctx, "INSERT INTO replies (ticket_id) VALUES ($1) RETURNING ticket_id", one).Scan(&reply))
	equal(reply, one)
	var found []string
	check(conn.QueryRow(ctx, "SELECT array_agg(id ORDER BY id) FROM tickets WHERE id = ANY ($1)", []string{one, other}).Scan(&found))
	equal(found, []string{one, other})
	var near []*string
	check(conn.QueryRow(ctx, "UPDATE tickets SET near = ARRAY[$1, NULL]::flake_sealed[] WHERE id = $2 RETURNING near", other, one).Scan(&near))
	equal([]interface{}{*near[0], near[1]}, []interface{}{other, (*string)(nil)})

	// A text that is no sealed id is no row.
	err := conn.QueryRow(ctx, "SELECT id FROM tickets WHERE id = flake_sealed_or_null($1)", "favicon.ico").Scan(&reply)
	equal(err, pgx.ErrNoRows)

	// COPY in text
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader(other+"\n"), "COPY replies (ticket_id) FROM STDIN")
	check(err)
	check(conn.QueryRow(ctx, "SELECT array_agg(ticket_id ORDER BY id) FROM replies").Scan(&found))
	equal(found, []string{one, other})
}
