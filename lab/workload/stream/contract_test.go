package stream

import (
	"slices"
	"strings"
	"testing"

	"weir/lab/contract"
	"weir/lab/internal/contracttest"
	"weir/lab/subject"
)

// faultySubject returns the test server with a fault (empty: none).
func faultySubject(t *testing.T, fault string, workloads ...string) *subject.Subject {
	t.Helper()
	return contracttest.Subject(t, `paradigm="goroutine per connection"
workloads=["`+strings.Join(workloads, `", "`)+`"]`, "as", "--fault", fault, "--listen", "{addr}", "--workload", "{workload}", "--size", "{size}", "--work-us", "{work_us}",
		"--wait-ms", "{wait_ms}")
}

func TestCorrectServerPasses(t *testing.T) {
	t.Parallel()
	contracttest.Passes(t, Contract, faultySubject(t, "", "sink", "echo"), contract.Options{})
}

// TestEveryFaultIsCaught: every fault is caught by its check, and the error says what was seen. The
// last part tests that every check catches a fault.
func TestEveryFaultIsCaught(t *testing.T) {
	contracttest.Catches(t, Contract, faultySubject, []contracttest.Fault{
		{"loses a read", "sink", "integrity", "lost"},
		{"loses a read", "echo", "integrity", "lost"},
		{"loses a byte", "sink", "single bytes", "connection 0: bytes 0 to 0 of 3000 are lost"},
		{"doubles a read", "sink", "integrity", "doubled"},
		{"doubles a read", "echo", "integrity", "doubled"},
		{"swaps halves", "sink", "integrity", "out of order"},
		{"swaps halves", "echo", "integrity", "out of order"},
		{"changes a byte", "sink", "single bytes", "changed"},
		{"ends at NUL", "sink", "integrity", "standard output: connection 0"},
		{"mixes connections", "echo", "integrity", "connection"},
		{"chatters", "sink", "integrity", `standard output: connection`},
		{"chatters", "echo", "integrity", `were not sent, such as`},
		{"stops after 20000", "sink", "half-close", "expected 100000 bytes"},
		{"never closes", "sink", "half-close", "expected the end of the stream"},
		{"one at a time", "echo", "slow reader", "with a connection that does not read"},
		{"takes 100", "sink", "200 connections", "the server"},
		{"loses a read", "sink", "200 connections", "expected 20000 bytes, saw"},
		{"dies of a reset", "sink", "reset", "exited early"},
		{"one slow reader stops all", "echo", "slow reader", "with a connection that does not read"},
		{"queues without end", "echo", "slow reader", "to stop reading"},
		{"does not work", "sink", "work", "expected 100ms at least"},
		{"does not work", "echo", "work", "expected 100ms at least"},
		{"does not wait", "echo", "waiting", "to be served after 2s of waiting, saw one served after"},
		{"waits for all", "sink", "waiting", "delayed one"},
		{"waits for all", "echo", "waiting", "delayed one"},
		{"drops at SIGTERM", "sink", "SIGTERM while busy", "the rest is lost"},
		{"drops at SIGTERM", "echo", "SIGTERM while busy", "the rest is lost"},
		{"dies of SIGTERM", "sink", "SIGTERM while busy", "expected exit status 0, saw signal: terminated"},
		{"ignores SIGTERM", "sink", "SIGTERM while busy", "was killed"},
		{"exits with 3", "sink", "SIGTERM while busy", "exit status 3"},
		{"leaves a child", "sink", "SIGTERM while busy", "left 1 processes behind"},
		{"leaves a child", "sink", "half-close", "left 1 processes behind"},
		{"waits on at SIGTERM", "sink", "SIGTERM while waiting", "was killed"},
		{"waits on at SIGTERM", "echo", "SIGTERM while waiting", "was killed"},
		{"drops what waits at SIGTERM", "sink", "SIGTERM while waiting", "the rest is lost"},
		{"drops what waits at SIGTERM", "echo", "SIGTERM while waiting", "the rest is lost"},
		{"dies of SIGINT", "sink", "SIGINT", "expected exit status 0, saw signal: interrupt"},
		{"takes any flag", "sink", "bad flags", "an unknown flag: expected exit status 2, saw exit status 0"},
		{"says too much", "sink", "bad flags", "expected one line on standard error"},
		{"silent about its port", "sink", "port in use", "expected one line on standard error"},
	})
}

func TestServerThatDoesNotStartFailsOnce(t *testing.T) {
	s := faultySubject(t, "", "sink")
	s.RunCmd = []string{"false", "{addr}"}
	found := contract.Run(t.Context(), s, []contract.Kind{Contract}, contract.Options{Hosts: []string{"127.0.0.1"}})
	if len(found) != 1 || found[0].Name != "start" || found[0].Err == nil {
		t.Errorf("a server that exits: got %+v, want only the failed check start", found)
	}
}

func TestInapplicableChecksAreSkippedWithTheReason(t *testing.T) {
	s := faultySubject(t, "", "sink")
	s.RunCmd = slices.DeleteFunc(s.RunCmd, func(w string) bool { return w == "--wait-ms" || w == "{wait_ms}" })
	found := contract.Run(t.Context(), s, []contract.Kind{Contract}, contract.Options{Hosts: []string{"127.0.0.1"}, Only: []string{"waiting"}})
	if len(found) != 1 || !strings.Contains(found[0].Skipped, "{wait_ms}") {
		t.Errorf("a server without {wait_ms}: got %+v, want one check, skipped for that", found)
	}
	s.RunCmd = []string{"server", "{port}"}
	found = contract.Run(t.Context(), s, []contract.Kind{Contract}, contract.Options{Hosts: []string{"::1"}})
	if len(found) != 1 || found[0].Skipped == "" {
		t.Errorf("a server without {host}: got %+v, want one skipped check", found)
	}
	s.Contract = "published"
	found = contract.Run(t.Context(), s, []contract.Kind{Contract}, contract.Options{Hosts: []string{"127.0.0.1"}, Only: []string{"SIGTERM while busy"}})
	if len(found) != 1 || !strings.Contains(found[0].Skipped, "published") {
		t.Errorf("a published server: got %+v, want one check, skipped for that", found)
	}
}
