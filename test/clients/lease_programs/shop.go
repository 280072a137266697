package main

import (
	"context"
	"fmt"

	"flakelease"
)

func main() {
	ids := &flakelease.FlakeIDs{Holder: "shop", Layout: "snowflake"}
	defer ids.Close()
	id, err := ids.Next(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(id)
}
