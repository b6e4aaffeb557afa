package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestChildProcessesServeASite, from another working directory than that of the site file, and end
// with their parent. They share the log: each line in it is whole.
func TestChildProcessesServeASite(t *testing.T) {
	for _, model := range []string{"prefork", "process"} {
		t.Run(model, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "site", "www", "a.txt"), "from a child")
			writeFile(t, filepath.Join(dir, "site", "site.hcl"), `
server {
  listen = "127.0.0.1:0"
  engine = "http1"
  model  = "`+model+`"
}
route "/" {
  log {
    file  = "access.log"
    flush = "10ms"
  }
  files { dir = "www" }
}`)
			s := &served{Cmd: exec.Command(binary(t), "serve", "site/site.hcl")}
			s.Dir = dir
			s.url = s.start(t, "serving on")
			const requests = 20
			for range requests {
				resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(s.url + "a.txt")
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || string(body) != "from a child" {
					t.Fatalf("got %q, %v; want the file's content", body, err)
				}
			}
			if err := s.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(s.lines); err != nil || len(rest) > 0 {
				t.Errorf("after the start: got the lines %q, %v; want none", rest, err)
			}
			if err := s.Wait(); err != nil {
				t.Errorf("after SIGTERM: got %v, want exit status 0", err)
			}
			log, err := os.ReadFile(filepath.Join(dir, "site", "access.log"))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(log, []byte("GET /a.txt")); n != requests || bytes.Count(log, []byte("\n")) != requests {
				t.Errorf("the log has %d requests in %d lines, want %d in as many:\n%s", n, bytes.Count(log, []byte("\n")), requests, log)
			}
		})
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWhatProcessesCannotShareIsRejectedByName, with a remedy.
func TestWhatProcessesCannotShareIsRejectedByName(t *testing.T) {
	const server = "server { listen = \"127.0.0.1:0\" }\n"
	route := func(component string) string {
		return "route \"/\" {\n" + component + "\nfiles { dir = \".\" }\n}\n"
	}
	named := func(name string) string {
		return "server \"" + name + "\" {\nlisten = \"127.0.0.1:0\"\n" + route("") + "}\n"
	}
	for name, c := range map[string]struct {
		site string
		args []string
		want string
	}{
		"a rate limit":         {server + route("limit_rate { rate = 5 }"), nil, "limit_rate (rates of clients)"},
		"metrics":              {server + route("metrics {}"), nil, "metrics (counts of requests)"},
		"guesses of passwords": {server + route("authenticate { users = \"users\" }"), nil, "(wrong passwords of clients)"},
		"a limit of exchanges": {server + route("limit_concurrency { max = 5 }"), nil, "limit_concurrency (exchanges of clients)"},
		"a cache":              {server + route("cache {}"), nil, "cache (responses)"},
		"an admin page":        {"server {\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n}\n" + route(""), nil, "the attribute admin out"},
		"the flag":             {server + route(""), []string{"--admin", "127.0.0.1:0"}, "leave --admin"},
		"two servers":          {named("a") + named("b"), nil, "The model prefork is for one server, and the site file has 2"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "site.hcl")
			writeFile(t, file, c.site)
			writeFile(t, filepath.Join(filepath.Dir(file), "users"), "ann:$2a$04$abcdefghijklmnopqrstuuW5wkJ3V1Yr0oEo3nD5f8m1p1r2c3q4e\n")
			out, err := exec.Command(binary(t), append([]string{"serve", file, "--engine", "http1", "--model", "prefork"}, c.args...)...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("got %v and %q, want an error with %q", err, out, c.want)
			}
			if c.args != nil {
				return
			}
			out, err = exec.Command(binary(t), "serve", "check", file, "--engine", "http1", "--model", "prefork").CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("serve check: got %v and %q, want an error with %q", err, out, c.want)
			}
		})
	}
}
