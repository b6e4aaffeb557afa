package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"weir/web/internal/webtest"
)

// TestCheckHasNoSideEffects checks that Check creates no file and contacts no upstream, which
// loading does at once.
func TestCheckHasNoSideEffects(t *testing.T) {
	var asked atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer up.Close()
	dir := t.TempDir()
	file, log := filepath.Join(dir, "site.hcl"), filepath.Join(dir, "access.log")
	text := fmt.Sprintf("log { file = %q }\nproxy {\n upstreams = [%q]\n health_path = \"/healthz\"\n}\n", log, up.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Check(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	if _, err := os.Stat(log); err == nil || asked.Load() != 0 {
		t.Errorf("the log file: %v, want none; the upstream got %d requests, want 0", err, asked.Load())
	}
	if s, err = Load(file, nil); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	webtest.Until(t, "the upstream is asked", func() bool { return asked.Load() > 0 })
	if _, err := os.Stat(log); err != nil {
		t.Errorf("the log file after Load: got %v, want it created", err)
	}
}
