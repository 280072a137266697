// Appends ids to a file, as many as each line of the input says; "ok NODE" or the error follows.
// At an empty line or the end the node is given back.
//
//	go run ids.go FILE ['{"holder": "shop"}']
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"flakelease"
)

// Options are those of the other programs: lengths of time are seconds.
type Options struct {
	Coordinators                  []string
	Realm, Holder, Layout, Secret string
	TTL, Timeout                  float64
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	var options Options
	if len(os.Args) > 2 {
		check(json.Unmarshal([]byte(os.Args[2]), &options))
	}
	seconds := func(length float64) time.Duration { return time.Duration(length * float64(time.Second)) }
	ids := &flakelease.FlakeIDs{Coordinators: options.Coordinators, Realm: options.Realm, Holder: options.Holder, Layout: options.Layout,
		Secret: options.Secret, TTL: seconds(options.TTL), Timeout: seconds(options.Timeout)}
	file, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	made := bufio.NewWriter(file)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan() && lines.Text() != ""; {
		var count int
		_, err := fmt.Sscan(lines.Text(), &count)
		check(err)
		var id int64
		for ; err == nil && count > 0; count-- {
			if id, err = ids.Next(context.Background()); err == nil {
				fmt.Fprintln(made, id)
			}
		}
		check(made.Flush())
		said := fmt.Sprint("ok ", id>>12&1023) // the node, in layout snowflake
		if err != nil {
			said = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println(said)
	}
	ids.Close()
}
