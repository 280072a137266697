// Types flake and flake_sealed in database/sql with lib/pq: an id is an int64, a sealed id a string.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"reflect"

	"github.com/lib/pq"
)

// ID is an int64 in Go and a string in JSON, where others would round it.
type ID int64

func (id ID) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprint(int64(id))) }

func (id *ID) UnmarshalJSON(text []byte) error {
	var number json.Number
	if err := json.Unmarshal(text, &number); err != nil {
		return err
	}
	value, err := number.Int64()
	*id = ID(value)
	return err
}

func insert(db *sql.DB, item string) (id ID, err error) {
	err = db.QueryRow("INSERT INTO orders (item) VALUES ($1) RETURNING id", item).Scan(&id)
	return id, err
}

func list(db *sql.DB, query string, args ...interface{}) (ids []ID) {
	rows, err := db.Query(query, args...)
	check(err)
	defer rows.Close()
	for rows.Next() {
		var id ID
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
	for _, mode := range []string{"", "binary_parameters=yes"} {
		db, err := sql.Open("postgres", mode)
		check(err)
		for _, statement := range []string{
			"CREATE EXTENSION IF NOT EXISTS flakeid",
			"DROP TABLE IF EXISTS orders, replies, tickets",
			"CREATE TABLE orders (id flake PRIMARY KEY DEFAULT flake_next(), item text, near flake[])",
			"CREATE TABLE tickets (id flake_sealed PRIMARY KEY DEFAULT flake_next(), item text, near flake_sealed[])",
			"CREATE TABLE replies (id flake_sealed PRIMARY KEY DEFAULT flake_next(), ticket_id flake_sealed REFERENCES tickets)",
		} {
			_, err = db.Exec(statement)
			check(err)
		}
		use(db)
		sealed(db)
		check(db.Close())
	}
}

func use(db *sql.DB) {
	one, err := insert(db, "tea")
	check(err)
	equal(one > 1<<53, true)
	ids := list(db, "INSERT INTO orders (item) SELECT unnest($1::text[]) RETURNING id", pq.Array(make([]string, 80)))
	equal(len(ids), 80)
	block := list(db, "SELECT flake_next_many($1)", 50)
	equal(len(block), 50)

	// Each kind of parameter
	for _, value := range []interface{}{one, int64(one), fmt.Sprint(int64(one))} {
		for _, cast := range []string{"", "::bigint", "::flake"} {
			equal(list(db, "SELECT id FROM orders WHERE id = $1"+cast, value), []ID{one})
		}
	}
	byID, err := db.Prepare("SELECT item FROM orders WHERE id = $1")
	check(err)
	for i := 0; i < 10; i++ {
		var item string
		check(byID.QueryRow(one).Scan(&item))
		equal(item, "tea")
	}

	// Arrays
	equal(len(list(db, "SELECT id FROM orders WHERE id = ANY ($1)", pq.Array(ids))), 80)
	odd := []sql.NullInt64{{Int64: 1<<53 + 1, Valid: true}, {}, {Int64: -1 << 63, Valid: true}, {Int64: 1<<63 - 1, Valid: true}}
	var near []sql.NullInt64
	check(db.QueryRow("UPDATE orders SET near = $1 WHERE id = $2 RETURNING near", pq.Array(odd), one).Scan(pq.Array(&near)))
	equal(near, odd)

	// Pages by the last id seen
	var seen []ID
	for last := one; len(seen) < 80; last = seen[len(seen)-1] {
		seen = append(seen, list(db, "SELECT id FROM orders WHERE id > $1 ORDER BY id LIMIT 10", last)...)
	}
	equal(seen, ids)

	// JSON: of the server, and of Go
	var text string
	check(db.QueryRow("SELECT json_build_object('id', id)::text FROM orders WHERE id = $1", one).Scan(&text))
	equal(text, fmt.Sprintf(`{"id" : "%d"}`, one))
	made, err := json.Marshal(struct{ ID ID }{one})
	check(err)
	equal(string(made), fmt.Sprintf(`{"ID":"%d"}`, one))
	var read struct{ ID ID }
	check(json.Unmarshal(made, &read))
	equal(read.ID, one)

	// COPY
	transaction, err := db.Begin()
	check(err)
	copying, err := transaction.Prepare(pq.CopyIn("orders", "id", "item"))
	check(err)
	for _, id := range block {
		_, err = copying.Exec(int64(id), "copied")
		check(err)
	}
	_, err = copying.Exec()
	check(err)
	check(copying.Close())
	check(transaction.Commit())
	equal(list(db, "SELECT id FROM orders WHERE item = 'copied' ORDER BY id"), block)
}

func sealed(db *sql.DB) {
	var one, other, reply string
	check(db.QueryRow("INSERT INTO tickets (item) VALUES ('tea') RETURNING id").Scan(&one))
	check(db.QueryRow("INSERT INTO tickets (item) VALUES ('pen') RETURNING id").Scan(&other))
	equal(len(one), 13)
	check(db.QueryRow("INSERT INTO replies (ticket_id) VALUES ($1) RETURNING ticket_id", one).Scan(&reply))
	equal(reply, one)
	var found []string
	check(db.QueryRow("SELECT array_agg(id ORDER BY id) FROM tickets WHERE id = ANY ($1)", pq.Array([]string{one, other})).Scan(pq.Array(&found)))
	equal(found, []string{one, other})
	near := []sql.NullString{{String: other, Valid: true}, {}}
	var read []sql.NullString
	check(db.QueryRow("UPDATE tickets SET near = $1 WHERE id = $2 RETURNING near", pq.Array(near), one).Scan(pq.Array(&read)))
	equal(read, near)

	// A text that is no sealed id is no row.
	err := db.QueryRow("SELECT id FROM tickets WHERE id = flake_sealed_or_null($1)", "favicon.ico").Scan(&reply)
	equal(err, sql.ErrNoRows)

	// COPY
	transaction, err := db.Begin()
	check(err)
	copying, err := transaction.Prepare(pq.CopyIn("replies", "ticket_id"))
	check(err)
	_, err = copying.Exec(other)
	check(err)
	_, err = copying.Exec()
	check(err)
	check(copying.Close())
	check(transaction.Commit())
	check(db.QueryRow("SELECT array_agg(ticket_id ORDER BY id) FROM replies").Scan(pq.Array(&found)))
	equal(found, []string{one, other})
}
