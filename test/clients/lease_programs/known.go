// Known answers of others (test/vectors): prints how many ids are as they say.
package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"time"

	"flakelease"
)

var count int

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func rows(name string) (rows []func(string) int64, texts []map[string]string) {
	file, err := os.Open("../../vectors/" + name + ".csv")
	check(err)
	lines, err := csv.NewReader(file).ReadAll()
	check(err)
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, column := range lines[0] {
			row[column] = line[i]
		}
		texts = append(texts, row)
		rows = append(rows, func(column string) int64 {
			value, err := strconv.ParseInt(row[column], 10, 64)
			check(err)
			return value
		})
	}
	return rows, texts
}

// tick: of the time field, in its units since the epoch
func is(id int64, text string, tick, node, sequence int64, secret string) {
	if made := flakelease.MustLayout(text, secret).ID(tick, sequence, node); made != id {
		panic(fmt.Sprintf("%s: %d is not %d", text, made, id))
	}
	count++
}

func refuses(text string) {
	defer func() {
		if recover() == nil {
			panic(text)
		}
	}()
	flakelease.MustLayout(text, "")
}

func main() {
	refuses("time:48:10us node:15 epoch=2015-01-01T00:00:00Z")
	refuses("time:41:2s node:10 sequence:12 epoch=2015-01-01T00:00:00Z")
	of, _ := rows("bwmarrin")
	for _, row := range of {
		is(row("id"), "time:41:1ms node:10 sequence:12 epoch=2010-11-04T01:42:54.657Z", row("unix_ms")-1288834974657, row("node"), row("step"), "")
	}
	of, _ = rows("sonyflake_v1")
	for _, row := range of {
		is(row("id"), "time:39:10ms sequence:8 machine:16 epoch=2014-09-01T00:00:00Z", row("time_10ms_since_2014-09-01"), row("machine"), row("sequence"), "")
	}
	of, _ = rows("sonyflake_v2")
	for _, row := range of {
		start, unit := row("start_unix_ms"), row("time_unit_ms")
		is(row("id"), fmt.Sprintf("time:%d:%dms sequence:%d machine:%d epoch=%s", 63-row("bits_sequence")-row("bits_machine"), unit, row("bits_sequence"),
			row("bits_machine"), time.UnixMilli(start).UTC().Format(time.RFC3339Nano)), (row("unix_ms")-start)/unit, row("machine"), row("sequence"), "")
	}
	of, _ = rows("uidgenerator")
	for _, row := range of {
		is(row("id"), fmt.Sprintf("time:%d:1s worker:%d sequence:%d epoch=2016-05-19T16:00:00Z", row("time_bits"), row("worker_bits"), row("seq_bits")),
			row("unix_seconds")-1463673600, row("worker"), row("sequence"), "")
	}
	of, texts := rows("randflake")
	for i, row := range of {
		is(row("encrypted_id"), "time:30:1s node:17 sequence:17 epoch=2024-10-27T03:33:20Z cipher=sparx64",
			row("unix_seconds")-1730000000, row("node"), row("sequence"), texts[i]["secret_hex"])
	}
	fmt.Println(count)
}
