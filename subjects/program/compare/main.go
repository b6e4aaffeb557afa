//go:build linux

// Command compare measures what a program pays for running on a stack: on the kernel's loopback,
// and under weir stack exec on the loopback of its stack, in turns.
//
//	go run ./subjects/program/compare build/weir 5      five rounds: medians
//
// The program that is measured is this one, as a client and a server in one process, with blocking
// calls. It needs no privilege.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// measure is the argument by which the program is the one that is measured.
const measure = "measure"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == measure {
		return measureHere()
	}
	if len(args) != 2 {
		return fmt.Errorf("got %d arguments: write the path of weir and the number of rounds, such as build/weir 5", len(args))
	}
	weir, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	rounds, err := strconv.Atoi(args[1])
	if err != nil || rounds < 1 {
		return fmt.Errorf("the number of rounds is %q: write a number, such as 5", args[1])
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return compare([]network{
		{"kernel", []string{self, measure}},
		{"weir stack exec", []string{weir, "stack", "exec", "--", self, measure}},
	}, rounds)
}

// network is a way to run the program that is measured.
type network struct {
	name    string
	command []string
}

// compare runs the rounds, each in the opposite order of the one before, and prints the medians.
func compare(networks []network, rounds int) error {
	all := map[string][]result{}
	for round := range rounds {
		order := slices.Clone(networks)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, n := range order {
			r, err := n.trial()
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", n.name, round+1, err)
			}
			fmt.Fprintf(os.Stderr, "round %d: %-16s %v\n", round+1, n.name, r)
			all[n.name] = append(all[n.name], r)
		}
	}
	fmt.Printf("%-44s", "medians")
	for _, n := range networks {
		fmt.Printf(" %16s", n.name)
	}
	fmt.Println()
	for i, row := range rows {
		fmt.Printf("%-44s", row)
		for _, n := range networks {
			fmt.Printf(" %16.4g", median(all[n.name], i))
		}
		fmt.Println()
	}
	return nil
}

// trial runs the program once.
func (n *network) trial() (r result, err error) {
	c := exec.Command(n.command[0], n.command[1:]...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err == nil && len(r) != len(rows) {
		err = errors.New("it has printed another number of figures")
	}
	return r, err
}

func median(results []result, row int) float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = r[row]
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
