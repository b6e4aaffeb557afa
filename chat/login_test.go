package chat

import (
	"strings"
	"testing"

	"weir/serve"
)

func TestASecondServerOnTheSameDataIsRefused(t *testing.T) {
	s := startServer(t, serve.Goroutine, Options{}).run()
	if _, err := Open(s.dir, Options{}); err == nil || !strings.Contains(err.Error(), "in use by another server") {
		t.Errorf("Open of a data directory in use: got %v, want an error", err)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	for want, o := range map[string]Options{
		"one word":    {Name: "a b"},
		"needs a dot": {Name: "localhost"},
		"65536":       {MaxConnections: 1 << 20},
		"is negative": {MaxReplay: -1},
	} {
		if _, err := Open(t.TempDir(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open with %+v: got %v, want an error with %q", o, err, want)
		}
	}
}
