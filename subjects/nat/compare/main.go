//go:build linux

// Command compare measures user-mode networks in turns: weir stack nat, passt's pasta and
// slirp4netns, as an ordinary user runs them for the network namespace of a process.
//
//	go run ./subjects/nat/compare build/weir 5      five rounds: medians of each network
//
// It makes a namespace of its own, in which iperf3 and nginx run, and in that one a guest for each
// trial. It needs ip, unshare and nsenter (iproute2, util-linux), iperf3, nginx, curl, and what it
// compares: passt and slirp4netns. A network that is not installed is left out.
package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// inNamespace is the environment variable by which the program knows that it is in its namespace.
const inNamespace = "COMPARE_IN_NAMESPACE"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
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
	if os.Getenv(inNamespace) == "" {
		return enterNamespace(args)
	}
	return compareAll(weir, rounds)
}

// enterNamespace runs the program again in a user and a network namespace of its own.
func enterNamespace(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command("unshare", append([]string{"--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", self}, args...)...)
	c.Env = append(os.Environ(), inNamespace+"=1")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c.Run()
}

// compareAll runs the rounds, each in the opposite order of the one before, and prints the medians.
func compareAll(weir string, rounds int) error {
	services, err := startServices()
	if err != nil {
		return err
	}
	defer services.stop()
	var networks []network
	for _, n := range allNetworks(weir) {
		if _, err := exec.LookPath(n.command[0]); err != nil {
			fmt.Fprintf(os.Stderr, "compare: continuing without %s: %v\n", n.name, err)
			continue
		}
		networks = append(networks, n)
	}
	results := map[string][]result{}
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
			results[n.name] = append(results[n.name], r)
			fmt.Fprintf(os.Stderr, "round %d: %-12s %v\n", round+1, n.name, r)
		}
	}
	printMedians(networks, results)
	return nil
}

// printMedians prints a row for each measurement, and a column for each network.
func printMedians(networks []network, results map[string][]result) {
	fmt.Printf("%-40s", "medians")
	for _, n := range networks {
		fmt.Printf(" %18s", n.name)
	}
	fmt.Println()
	for i, row := range rows {
		fmt.Printf("%-40s", row)
		for _, n := range networks {
			fmt.Printf(" %18s", fmt.Sprintf("%.4g; %.3g", median(results[n.name], i, false), median(results[n.name], i, true)))
		}
		fmt.Println()
	}
}

// median returns the median of a measurement: of its figure, or of its CPU time.
func median(results []result, row int, cpu bool) float64 {
	values := make([]float64, len(results))
	for i, r := range results {
		if values[i] = r[row].figure; cpu {
			values[i] = r[row].cpu
		}
	}
	slices.SortFunc(values, cmp.Compare[float64])
	return values[len(values)/2]
}
