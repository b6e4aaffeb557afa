package flow_test

import (
	"fmt"
	"log"
	"strings"

	"weir/flow"
)

// Example runs three stages by a concurrency model: clean trims each word, route sends it to a
// stage by its length, and print receives the short ones. Long words leave the net.
func Example() {
	clean := flow.Each(func(word string, out *flow.Out[string]) { out.Send(0, strings.TrimSpace(word)) })
	route := flow.Branch(func(word string) int {
		if len(word) > 5 {
			return -1 // no port: the word leaves the net
		}
		return 0
	})
	print := flow.Each(func(word string, _ *flow.Out[string]) { fmt.Println(word) })

	net, err := flow.New(
		[]flow.Stage[string]{{Name: "clean", Do: clean}, {Name: "route", Do: route}, {Name: "print", Do: print}},
		[]flow.Edge{{To: "clean"}, {From: "clean", To: "route"}, {From: "route", To: "print", Cap: 4}},
		func(word string, why error) { log.Println("lost:", word, why) }, 0)
	if err != nil {
		log.Fatal(err)
	}
	if err := net.Start(flow.Network); err != nil { // flow.Chain runs the same net as nested calls
		log.Fatal(err)
	}
	net.Put([]string{" river", "weir ", "estuary"})
	if err := net.Stop(); err != nil { // everything that Put took passes through first
		log.Fatal(err)
	}
	for _, stage := range net.Snapshot().Stages {
		fmt.Println(stage.Name, stage.Items, "items")
	}
	// Output:
	// river
	// weir
	// clean 3 items
	// route 3 items
	// print 2 items
}
