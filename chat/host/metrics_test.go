package host

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// get asks a host how it is.
func (r *running) get(path string) (status int, text string) {
	r.t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: waitLimit}
	resp, err := c.Get("http://" + r.addrs["metrics"][0] + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// values are the metrics by name and labels.
func (r *running) values() map[string]float64 {
	r.t.Helper()
	status, text := r.get("/metrics")
	if status != http.StatusOK {
		r.t.Fatalf("GET /metrics: got status %d and %s, want 200", status, text)
	}
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && line[0] != '#' {
			all[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return all
}

func TestMetricsCountTheChat(t *testing.T) {
	r := start(t, Config{Metrics: Metrics{Listen: "127.0.0.1:0"}, Web: Web{Listen: []string{"127.0.0.1:0"}}})
	ann := r.user("ann", "JOIN #a", "PRIVMSG #a :one", "PRIVMSG #a :two", "PING :stored")
	ann.until(" :stored")
	v := r.values()
	for name, want := range map[string]float64{
		"weir_chat_sessions": 1, "weir_chat_users": 1, "weir_chat_rooms": 1, "weir_chat_messages_total": 2, "weir_chat_connections_total": 1,
		`weir_chat_entrance_accepted_total{entrance="irc"}`: 1, `weir_chat_entrance_open{entrance="irc"}`: 1, `weir_chat_entrance_open{entrance="web"}`: 0,
		"weir_chat_commit_failures_total": 0, `weir_chat_reloads_total{result="refused"}`: 0, `weir_chat_retention_removed_bytes_total{of="rooms"}`: 0, "weir_chat_files": 0, "weir_chat_file_bytes": 0,
	} {
		if got, there := v[name]; !there || got != want {
			t.Errorf("metric %s: got %v (present: %v), want %v", name, got, there, want)
		}
	}
	for _, name := range []string{"weir_chat_commit_seconds_count", "go_goroutines", `weir_chat_entrance_read_bytes_total{entrance="irc"}`} {
		if v[name] <= 0 {
			t.Errorf("metric %s: got %v, want more than 0", name, v[name])
		}
	}
	ours := regexp.MustCompile(`^weir_chat_[a-z_]*(_total|_seconds_(bucket|sum|count)|sessions|users|rooms|directs|open|files|file_bytes)(\{.*\})?$`)
	for name := range v {
		if strings.HasPrefix(name, "weir_") && !ours.MatchString(name) {
			t.Errorf("metric %s: want a unit in its name", name)
		}
	}
}

func TestHealthReportsARefusingDisk(t *testing.T) {
	data := t.TempDir()
	r := start(t, Config{Data: data, Metrics: Metrics{Listen: "127.0.0.1:0"}})
	waitFor(t, "it is ready", func() bool { status, _ := r.get("/readyz"); return status == http.StatusOK })
	if status, text := r.get("/healthz"); status != http.StatusOK || text != "ok\n" {
		t.Errorf("/healthz: got %d %q, want 200", status, text)
	}
	if _, err := os.Stat(filepath.Join(data, ".probe")); err == nil {
		t.Error("the probe's file exists, want it removed")
	}
	r.health.onCommit(io.ErrShortWrite) // as a full disk has it
	if status, text := r.get("/healthz"); status != http.StatusServiceUnavailable || text != "the disk refused messages: short write\n" {
		t.Errorf("/healthz after a refused batch: got %d %q, want 503", status, text)
	}
	r.health.onCommit(nil)
	if status, text := r.get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz after a stored batch: got %d %q, want 200", status, text)
	}
	if status, _ := r.get("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: got %d, want 200", status)
	}
}

func TestAFailingDiskIsUnhealthy(t *testing.T) {
	var h health
	err := h.check(filepath.Join(t.TempDir(), "gone"))
	if err == nil || !strings.HasPrefix(err.Error(), "the disk cannot create a file: ") {
		t.Errorf("check with a failing disk: got %v, want an error", err)
	}
	h.probedAt = time.Time{} // as if it were long ago
	if err := h.check(t.TempDir()); err != nil {
		t.Errorf("check with a refused batch: got %v, want its error", err)
	}
}

func TestAServerThatStopsIsNotReady(t *testing.T) {
	h, err := Open(Config{Data: t.TempDir(), Listen: []string{}}, Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.readyError(); err != errStarting {
		t.Errorf("readyError before Run: got %v, want errStarting", err)
	}
	h.serving.Store(true)
	h.stopping.Store(true)
	if err := h.healthError(); err != errStopping {
		t.Errorf("readyError during a stop: got %v, want errStopping", err)
	}
}

func TestRetentionIsDoneAtTheStartAndWhenItChanges(t *testing.T) {
	none := 0
	r := start(t, Config{Limits: Limits{Flood: &none}, Metrics: Metrics{Listen: "127.0.0.1:0"}})
	ann := r.user("ann", "JOIN #a")
	for range 25 { // 100 KB
		for range 10 {
			ann.send("PRIVMSG #a :" + strings.Repeat("x", 400))
		}
		ann.send("PING :stored")
		ann.until(" :stored")
	}
	c := *r.Config()
	c.Retention.RoomBytes = leastBytes
	waitFor(t, "old messages are removed", func() bool { // the first time has a new segment begun
		if _, err := r.Reload(c); err != nil {
			t.Fatal(err)
		}
		return r.values()[`weir_chat_retention_removed_bytes_total{of="rooms"}`] > 0
	})
	r.log.wait(t, `msg="old messages were removed" log=rooms/#a bytes=`)
}
