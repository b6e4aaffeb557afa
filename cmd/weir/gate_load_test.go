package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/lab/workload/http"
)

func TestAGateMayOpenAConnectionForEachRequest(t *testing.T) {
	e, err := (&gateCmd{Get: "/hello", NoKeepAlive: true}).load()
	if err != nil {
		t.Fatal(err)
	}
	l, ok := e.Loads[0].(*http.Load)
	if !ok || l.Path != "/hello" || !l.NoKeepAlive {
		t.Errorf("got the load %+v, want requests of /hello without keep-alive", e.Loads[0])
	}
	if _, err := (&gateCmd{Load: "echo", NoKeepAlive: true}).load(); err == nil || !strings.Contains(err.Error(), "no_keep_alive") {
		t.Errorf("echo without keep-alive: got error %v, want one that names the key", err)
	}
}

func TestFlagsOfAGateReplaceWhatTheLoadSays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.toml")
	text := "workload = \"echo\"\nconnections = [2]\n[[load]]\nname = \"m\"\nrate = 10\nsize = 10\nconnections = [3]\nduration = \"2s\"\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	e, err := (&gateCmd{Load: file, Connections: 8, Duration: 600 * time.Millisecond}).load()
	if err != nil {
		t.Fatal(err)
	}
	l := e.Loads[0].Shared()
	if len(e.Connections) != 1 || e.Connections[0] != 8 || len(l.Connections) != 0 || time.Duration(e.Duration) != 600*time.Millisecond || l.Duration != 0 {
		t.Errorf("got %v connections and windows of %v, and %v and %v of the load, want 8 and 600ms, and none of its own", e.Connections, time.Duration(e.Duration), l.Connections, time.Duration(l.Duration))
	}
}
