package contract

import (
	"strings"
	"testing"
	"time"

	"weir/lab/internal/rooms"
	"weir/lab/subject"
)

// faultyChat returns the tests' chat server with a fault (empty: none).
func faultyChat(t *testing.T, fault string) *subject.Subject {
	t.Helper()
	return ownSubject(t, `paradigm="goroutine per connection"
workloads=["chat"]`, "chat", "--fault", fault, "--listen", "{addr}")
}

func TestCorrectChatServerPasses(t *testing.T) {
	t.Parallel()
	all := Check(t.Context(), faultyChat(t, ""), Options{Hosts: []string{"127.0.0.1"}})
	for _, o := range append(all, Check(t.Context(), faultyChat(t, ""), Options{Hosts: []string{"::1"}, Only: []string{"fan-out"}})...) {
		if o.Err != nil {
			t.Errorf("%s, %s: got error %v, want a correct server to pass", o.Name, o.Host, o.Err)
		}
		if o.Skipped != "" {
			t.Logf("%s, %s: skipped: %s", o.Name, o.Host, o.Skipped)
		}
	}
}

// TestEveryChatFaultIsCaught: every fault is caught by its check, and every check catches a fault.
func TestEveryChatFaultIsCaught(t *testing.T) {
	faults := []struct{ fault, check, want string }{
		{"no pong", "registration", "expected the answer to PING"},
		{"takes a nick twice", "nick in use", "expected 433, saw"},
		{"no names", "fan-out", "the end of the names"},
		{"sends to all clients", "fan-out", "expected no message"},
		{"loses", "order", "expected message 27 of 400"},
		{"doubles", "order", "expected message 28 of 400"},
		{"changes text", "order", "expected message"},
		{"wrong nick", "order", ":other!"},
		{"wrong room", "order", "expected message"},
		{"swaps", "order", "expected message 30 of 400"},
		{"loses", "64 members", "expected message"},
		{"hangs up", "64 members", "expected"},
		{"keeps the tail", "burst", "bytes in one write"},
		{"leaks after NUL", "NUL", "expected of a text with a NUL what was said"},
		{"reads once", "split lines", "in single bytes"},
		{"dies of a reset", "broken connections", "exited early"},
		{"says nothing of leaving", "broken connections", "whose connections were reset"},
		{"waits for the slow", "slow member", "with a member that does not read"},
		{"exits with 3", "SIGTERM while talking", "exit status 3"},
		{"ignores SIGTERM", "SIGTERM while talking", "killed"},
	}
	covered, caught := map[string]bool{}, map[string]bool{}
	for _, f := range faults {
		covered[f.check], caught[f.fault] = true, true
		t.Run(f.fault+"/"+f.check, func(t *testing.T) {
			t.Parallel()
			found := Check(t.Context(), faultyChat(t, f.fault), Options{Hosts: []string{"127.0.0.1"}, Only: []string{f.check}, Timeout: 4 * time.Second})
			if len(found) != 1 || found[0].Err == nil {
				t.Fatalf("got %+v, want one failure", found)
			}
			if text := found[0].Err.Error(); !strings.Contains(text, f.want) {
				t.Errorf("got error %[2]s, want one with %[1]q", f.want, text)
			}
		})
	}
	for _, c := range chatChecks {
		if !covered[c.name] {
			t.Errorf("got no fault that is caught by %q, want one", c.name)
		}
	}
	for _, fault := range rooms.Faults {
		if !caught[fault] {
			t.Errorf("got no test of a server that %s, want one", fault)
		}
	}
}
