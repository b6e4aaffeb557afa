package site_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/web/internal/webtest"
	"weir/web/server"
	"weir/web/site"
)

// running is a site file that is served behind a trusted proxy on the loopback.
type running struct {
	live *site.Live
	url  string
	stop func()
}

func served(t *testing.T, text string, config server.Config, report func(site.Event)) *running {
	t.Helper()
	file := filepath.Join(t.TempDir(), "site.hcl")
	put(t, file, text)
	live, err := site.NewLive(file, "", report)
	if err != nil {
		t.Fatal(err)
	}
	config.Addr = "127.0.0.1:0"
	s, err := server.New(live, config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1) // from Run to stop, one
	go func() { ended <- s.Run(ctx) }()
	stop := func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
		live.Close()
	}
	return &running{live, "http://" + s.Addr().String(), stop}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLogLimitsAndConditionsSeeTheClientBehindATrustedProxy(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	text := `
		server { trusted = ["127.0.0.0/8"] }
		log { file = "` + log + `" }
		when "inside" {
		  from = ["203.0.113.0/24"]
		  headers { set = { "X-Inside" = "yes" } }
		}
		when "keyed" {
		  path = "/keyed"
		  limit_rate {
		    rate   = 1
		    per    = "1h"
		    header = "X-Key"
		  }
		}
		when "plain" {
		  path = "/"
		  limit_rate {
		    rate = 1
		    per  = "1h"
		  }
		}
		text { text = "hello" }
	`
	s := served(t, text, server.Config{TrustedProxies: []string{"127.0.0.0/8"}}, nil)
	for _, c := range []struct {
		path, from, key, inside string
		status                  int
	}{
		{"/", "203.0.113.5", "", "yes", 200},
		{"/", "203.0.113.5", "", "yes", 429},
		// what the client itself wrote changes nothing
		{"/", "6.6.6.6, 203.0.113.5", "", "yes", 429},
		{"/", "198.51.100.7", "", "", 200},
		{"/keyed", "203.0.113.5", "a", "yes", 200},
		{"/keyed", "198.51.100.7", "a", "", 429},
		{"/keyed", "203.0.113.5", "b", "yes", 200},
	} {
		resp, _ := webtest.Get(t, s.url+c.path, "X-Forwarded-For", c.from, "X-Key", c.key)
		if inside := resp.Header.Get("X-Inside"); resp.StatusCode != c.status || inside != c.inside {
			t.Errorf("%s from %s: got %d, inside %q; want %d, %q", c.path, c.from, resp.StatusCode, inside, c.status, c.inside)
		}
	}
	s.stop()
	lines, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(lines), "203.0.113.5 - - ") + strings.Count(string(lines), "198.51.100.7 - - "); got != 7 {
		t.Errorf("the log names the client in %d lines, want 7:\n%s", got, lines)
	}
}

func TestLimitByFieldAppliesByAddressWithoutTrustedProxy(t *testing.T) {
	text := `
		server { trusted = ["10.0.0.1"] }
		limit_rate {
		  rate   = 1
		  per    = "1h"
		  header = "X-Key"
		}
		text { text = "hello" }
	`
	s := served(t, text, server.Config{TrustedProxies: []string{"10.0.0.1"}}, nil)
	defer s.stop()
	if resp, _ := webtest.Get(t, s.url, "X-Key", "a"); resp.StatusCode != http.StatusOK {
		t.Errorf("the first request: got %d, want 200", resp.StatusCode)
	}
	if resp, _ := webtest.Get(t, s.url, "X-Key", "invented"); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the second, with another key: got %d, want 429", resp.StatusCode)
	}
}
