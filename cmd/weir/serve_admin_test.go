package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

func TestAnAdminPageThatCanBeReachedFromElsewhereNeedsALogin(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "site.hcl")
	write(t, site, "server { admin = \":0\" }\ntext { text = \"hello\" }")
	for _, c := range []struct {
		args string
		code int
	}{
		{"--listen 127.0.0.1:0 --admin :0 " + dir, 2},
		{"--listen 127.0.0.1:0 --admin 0.0.0.0:0 " + dir, 2},
		{"--listen 127.0.0.1:0 --admin [::]:0 " + dir, 2},
		{"--listen 127.0.0.1:0 " + site, 1},
		{"check " + site, 1},
	} {
		// for one that serves after all
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, binary(t), append([]string{"serve"}, strings.Fields(c.args)...)...).CombinedOutput()
		cancel()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != c.code || !strings.Contains(string(out), "other machines can reach") || strings.Contains(string(out), "serving on") {
			t.Errorf("weir serve %s: %v, want exit status %d and why:\n%s", c.args, err, c.code, out)
		}
	}
}

func TestTheAdminPageAsksForAPasswordAndKnowsItsNames(t *testing.T) {
	dir := t.TempDir()
	users := filepath.Join(dir, "users")
	hash, err := bcrypt.GenerateFromPassword([]byte("sesame"), 4)
	if err != nil {
		t.Fatal(err)
	}
	write(t, users, "ann:"+string(hash)+"\n")
	write(t, filepath.Join(dir, "site.hcl"), "server {\n admin = \"0.0.0.0:0\"\n admin_users = \"users\"\n}\nproxy \"app\" { upstreams = [\"http://127.0.0.1:1\"] }")
	s := &served{Cmd: exec.Command(binary(t), "serve", filepath.Join(dir, "site.hcl"), "--listen", "127.0.0.1:0")}
	page := s.start(t, "admin page on")
	s.url = s.address(t, "serving on")
	for range 3 {
		if code, _ := s.get(t, "x"); code != 502 {
			t.Errorf("the proxy: got %d, want 502", code)
		}
	}
	s.says(t, "/x: answered by 502: proxy: http://127.0.0.1:1: dial tcp")
	for _, c := range []struct {
		path, password, host string
		status               int
		says                 string
	}{
		{"", "", "", 401, ""},
		{"debug/pprof/", "", "", 401, ""},
		{"debug/pprof/", "wrong", "", 401, ""},
		{"debug/pprof/", "sesame", "", 200, "goroutine"},
		{"api/topology", "sesame", "", 200, `"state":"aside"`},
		{"metrics", "sesame", "", 200, `weir_upstream_up{proxy="app",site="site",upstream="http://127.0.0.1:1"} 0`},
		{"metrics", "sesame", "evil.example", 421, ""},
		{"metrics", "sesame", "127.0.0.1", 200, "weir_upstream_failures_total"},
	} {
		r, err := http.NewRequest("GET", page+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host = c.host; c.password != "" {
			r.SetBasicAuth("ann", c.password)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || !strings.Contains(string(body), c.says) {
			t.Errorf("/%s with %q, as %q: got %d, want %d with %s", c.path, c.password, c.host, resp.StatusCode, c.status, c.says)
		}
	}
	s.stop(t)
}
