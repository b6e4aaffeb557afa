// Command compare measures wireguard-go with the stacks of tcpip/wgtun and of its own package
// tun/netstack, which is gVisor's, in turns.
//
//	go run . 5        five rounds: medians of each stack, by IPv4 and by IPv6
//	go run . weir 6   one trial, as JSON
//
// A trial is a process with two hosts, whose WireGuards meet over loopback.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
)

// kinds are the trials of a round: a stack and the version of IP.
var kinds = [][]string{{"weir", "4"}, {"gvisor", "4"}, {"gvisor", "6"}, {"weir", "6"}}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 2 {
		r, err := trial(args[0], args[1])
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	rounds := 5
	if len(args) == 1 {
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return fmt.Errorf("the number of rounds is %q: write a number, such as 5", args[0])
		}
		rounds = n
	}
	results := map[string][]result{}
	for round := range rounds {
		order := slices.Clone(kinds)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, kind := range order {
			r, err := runTrial(kind)
			if err != nil {
				return err
			}
			results[kind[0]+" IPv"+kind[1]] = append(results[kind[0]+" IPv"+kind[1]], r)
		}
	}
	print(results)
	return nil
}

// runTrial runs a trial in a process of its own.
func runTrial(kind []string) (r result, err error) {
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	c := exec.Command(self, kind...)
	c.Stderr = os.Stderr
	text, err := c.Output()
	if err != nil {
		return r, fmt.Errorf("the trial %v: %w", kind, err)
	}
	return r, json.Unmarshal(text, &r)
}

func print(results map[string][]result) {
	fmt.Println("stack        round trip  CPU of it       bulk    CPU of it    peak memory")
	for _, kind := range kinds {
		name := kind[0] + " IPv" + kind[1]
		m := func(value func(result) float64) float64 { return median(results[name], value) }
		fmt.Printf("%-11s %8.1f us %7.1f us %5.2f Gbit/s %6.2f s/GB %11.0f MB\n", name,
			m(func(r result) float64 { return r.RoundTrip }), m(func(r result) float64 { return r.RoundTripCPU }),
			m(func(r result) float64 { return r.Bulk }), m(func(r result) float64 { return r.BulkCPU }), m(func(r result) float64 { return r.Peak }))
	}
}

// median returns the median of a value.
func median(results []result, value func(result) float64) float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = value(r)
	}
	slices.SortFunc(values, cmp.Compare[float64])
	return values[len(values)/2]
}
