package chat

import (
	"slices"
	"testing"

	"weir/lab/contract"
	"weir/lab/internal/contracttest"
	"weir/lab/internal/rooms"
	"weir/lab/subject"
)

// faultyChat returns the tests' chat server with a fault (empty: none).
func faultyChat(t *testing.T, fault string, _ ...string) *subject.Subject {
	t.Helper()
	return contracttest.Subject(t, `paradigm="goroutine per connection"
workloads=["chat"]`, "chat", "--fault", fault, "--listen", "{addr}")
}

func TestCorrectChatServerPasses(t *testing.T) {
	t.Parallel()
	contracttest.Passes(t, Contract, faultyChat(t, ""), contract.Options{Hosts: []string{"127.0.0.1"}})
	contracttest.Passes(t, Contract, faultyChat(t, ""), contract.Options{Hosts: []string{"::1"}, Only: []string{"fan-out"}})
}

// TestEveryChatFaultIsCaught: every fault is caught by its check, and every check catches a fault.
func TestEveryChatFaultIsCaught(t *testing.T) {
	faults := []contracttest.Fault{
		{"no pong", "chat", "registration", "expected the answer to PING"},
		{"takes a nick twice", "chat", "nick in use", "expected 433, saw"},
		{"no names", "chat", "fan-out", "the end of the names"},
		{"sends to all clients", "chat", "fan-out", "expected no message"},
		{"loses", "chat", "order", "expected message 27 of 400"},
		{"doubles", "chat", "order", "expected message 28 of 400"},
		{"changes text", "chat", "order", "expected message"},
		{"wrong nick", "chat", "order", ":other!"},
		{"wrong room", "chat", "order", "expected message"},
		{"swaps", "chat", "order", "expected message 30 of 400"},
		{"loses", "chat", "64 members", "expected message"},
		{"hangs up", "chat", "64 members", "expected"},
		{"keeps the tail", "chat", "burst", "bytes in one write"},
		{"leaks after NUL", "chat", "NUL", "expected of a text with a NUL what was said"},
		{"reads once", "chat", "split lines", "in single bytes"},
		{"dies of a reset", "chat", "broken connections", "exited early"},
		{"says nothing of leaving", "chat", "broken connections", "whose connections were reset"},
		{"waits for the slow", "chat", "slow member", "with a member that does not read"},
		{"exits with 3", "chat", "SIGTERM while talking", "exit status 3"},
		{"ignores SIGTERM", "chat", "SIGTERM while talking", "killed"},
	}
	contracttest.Catches(t, Contract, faultyChat, faults)
	for _, fault := range rooms.Faults {
		if !slices.ContainsFunc(faults, func(f contracttest.Fault) bool { return f.Fault == fault }) {
			t.Errorf("got no test of a server that %s, want one", fault)
		}
	}
}
