package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"weir/web/internal/webtest"
)

// status requests a path and returns the status of the response.
func (l *lived) status(t *testing.T, path string, header ...string) int {
	t.Helper()
	resp, _ := webtest.Get(t, l.url+path, header...)
	return resp.StatusCode
}

// change replaces the file and reloads it.
func (l *lived) change(t *testing.T, text string) {
	t.Helper()
	l.write(t, text)
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
}

const limited = `
	route "/a" {
	  limit_rate {
	    rate = 1
	    per  = "1h"
	  }
	  text { text = "a" }
	}
`

func TestARateLimitSurvivesAReload(t *testing.T) {
	l := live(t, "", limited)
	if got := l.status(t, "/a"); got != 200 {
		t.Fatalf("the first request: got %d, want 200", got)
	}
	l.change(t, "route \"/b\" {\n text { text = \"b\" }\n}\n# a comment\n"+strings.ReplaceAll(limited, `"a" }`, `"changed" }`))
	if got := l.status(t, "/a"); got != 429 {
		t.Errorf("the second request, after the site changed elsewhere: got %d, want 429", got)
	}
	l.write(t, "nonsense {}")
	if err := l.Reload(); err == nil {
		t.Error("Reload of an invalid file: got no error, want one")
	}
	l.change(t, limited)
	if got := l.status(t, "/a"); got != 429 {
		t.Errorf("after an invalid file: got %d, want 429", got)
	}
	l.change(t, strings.ReplaceAll(limited, "rate = 1", "rate = 2"))
	if got := l.status(t, "/a"); got != 200 {
		t.Errorf("after the limit itself changed: got %d, want 200", got)
	}
}

func TestEqualLimitsAreSeparate(t *testing.T) {
	l := live(t, "", limited+strings.ReplaceAll(limited, `"/a"`, `"/b"`))
	for _, path := range []string{"/a", "/b"} {
		if got := l.status(t, path); got != 200 {
			t.Errorf("%s: got %d, want 200", path, got)
		}
	}
	l.change(t, strings.ReplaceAll(limited, `"/a"`, `"/b"`)+limited)
	for _, path := range []string{"/a", "/b"} {
		if got := l.status(t, path); got != 429 {
			t.Errorf("%s, when the routes have changed places: got %d, want 429", path, got)
		}
	}
}

func TestACacheAndItsUpstreamsSurviveAReload(t *testing.T) {
	var asked atomic.Int32
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			asked.Add(1)
		}
		w.Header().Set("Cache-Control", "max-age=600")
	}))
	defer up.Close()
	text := `
		cache {
		  proxy {
		    upstreams   = ["http://127.0.0.1:1", "` + up.URL + `"]
		    max_fails   = 1
		    aside       = "1h"
		    health_path = "/health"
		    health_interval = "1h"
		  }
		}
	`
	l := live(t, "", text)
	for _, path := range []string{"/1", "/2", "/1"} {
		if got := l.status(t, path); got != 200 {
			t.Errorf("%s: got %d, want 200", path, got)
		}
	}
	before := asked.Load()
	l.change(t, "security {}\n"+strings.Replace(text, "max_fails", "weights = { \""+up.URL+"\" = 2 }\nmax_fails", 1))
	if got := l.status(t, "/1"); got != 200 || asked.Load() != before {
		t.Errorf("a cached response: got %d and %d requests to the upstream, want 200 and 0", got, asked.Load()-before)
	}
	first := l.Upstreams()[0]
	if first.Proxy != "proxy" || first.State != "aside" || first.Failures == 0 {
		t.Errorf("the failed upstream: got %+v, want it still set aside", first)
	}
}

// Draining an upstream changes its weight only: health, counts and connections stay.
func TestAProxyKeepsItsUpstreamsWhenAWeightChanges(t *testing.T) {
	var checks atomic.Int32
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			checks.Add(1)
		}
	}))
	defer up.Close()
	const dead = "http://127.0.0.1:1"
	text := func(weights string) string {
		return `
		proxy {
		  upstreams       = ["` + dead + `", "` + up.URL + `"]
		  weights         = ` + weights + `
		  max_fails       = 1
		  aside           = "1h"
		  health_path     = "/health"
		  health_interval = "1h"
		}
		`
	}
	l := live(t, "", text("{}"))
	for range 4 {
		if got := l.status(t, "/"); got != 200 {
			t.Errorf("got %d, want 200", got)
		}
	}
	webtest.Until(t, "the health check has come", func() bool { return checks.Load() == 1 })
	before := l.Upstreams()
	l.change(t, text(`{ "`+dead+`" = 0, "`+up.URL+`" = 5 }`))
	after := l.Upstreams()
	if got := after[0]; got.State != "drained" || got.Weight != 0 || got.Failures == 0 || got.Failures != before[0].Failures {
		t.Errorf("the drained upstream: got %+v, want drained with its %d failures", got, before[0].Failures)
	}
	if got := after[1]; got.State != "up" || got.Weight != 5 || got.Requests != 4 {
		t.Errorf("the other upstream: got %+v, want its 4 requests, with weight 5", got)
	}
	l.change(t, text("{}"))
	if got := l.Upstreams()[0]; got.State != "aside" || got.Weight != 1 {
		t.Errorf("no longer drained: got %+v, want it still aside", got)
	}
	l.write(t, text(`{ "`+dead+`" = 0, "`+up.URL+`" = 0 }`))
	if err := l.Reload(); err == nil || !strings.Contains(err.Error(), "weights are all 0") {
		t.Errorf("all drained: got %v, want an error", err)
	}
	if got := l.status(t, "/"); got != 200 || checks.Load() != 1 {
		t.Errorf("after a rejected file: got %d and %d health checks, want 200 and 1: the same checker runs on", got, checks.Load())
	}
}

func TestVerifiedCredentialsSurviveAReload(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("sesame"), 4)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, fmt.Appendf(nil, "ann:%s\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "authenticate {\n users = \"" + users + "\"\n attempts = 1\n}\ntext { text = \"in\" }\n"
	l := live(t, "", text)
	right := []string{"Authorization", "Basic YW5uOnNlc2FtZQ=="}
	wrong := []string{"Authorization", "Basic YW5uOndyb25n"}
	for i, want := range []int{200, 401, 429} {
		if got := l.status(t, "/", [][]string{right, wrong, wrong}[i]...); got != want {
			t.Errorf("request %d: got %d, want %d", i, got, want)
		}
	}
	l.change(t, "security {}\n"+text)
	if got := l.status(t, "/", right...); got != 200 {
		t.Errorf("the client verified before the reload: got %d, want 200", got)
	}
	if got := l.status(t, "/", wrong...); got != 429 {
		t.Errorf("the client with wrong passwords before the reload: got %d, want 429", got)
	}
}

func TestReloadReopensLogs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	l := live(t, "", "log { file = \""+name+"\" }\ntext { text = \"x\" }")
	l.status(t, "/before")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	l.status(t, "/after")
	for file, want := range map[string]string{name + ".1": "/before", name: "/after"} {
		webtest.Until(t, file+" has "+want, func() bool {
			got, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(got), want) && strings.Count(string(got), "\n") == 1
		})
	}
}

func TestReplacedFolderIsServedAfterAReload(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "www")
	put := func(text string) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("old")
	l := live(t, "", "files { dir = \""+dir+"\" }")
	if got := l.get(t); got != "old" {
		t.Fatalf("before the reload: got %q, want %q", got, "old")
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	put("new")
	if err := l.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := l.get(t); got != "new" {
		t.Errorf("got %q, want the content of the new folder", got)
	}
}
