package chat

import (
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"weir/chat/account"
	"weir/serve"
)

// notes is a log that can be read while it is written.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// A password may be typed into the field of the name.
func TestTheLogContainsOnlyNamesOfAccounts(t *testing.T) {
	var log notes
	s := startServer(t, serve.Goroutine, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}).run()
	s.account("alice", "correct-horse", account.Member)
	for _, name := range []string{"alice", "Secret-of-alice"} {
		if _, err := s.chat.AccountByPassword(t.Context(), netip.MustParseAddr("192.0.2.1"), name, "wrong"); err == nil {
			t.Fatalf("AccountByPassword(%s) with a wrong password: got nil, want an error", name)
		}
	}
	if text := log.String(); strings.Contains(strings.ToLower(text), "secret") || !strings.Contains(text, "account=alice") || !strings.Contains(text, "account=unknown") {
		t.Error("the log names an unknown account, want only alice and unknown:\n" + text)
	}
}
