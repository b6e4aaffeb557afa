package httpload

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"weir/lab/load"
)

func TestCheckRejectsInvalidConfigs(t *testing.T) {
	good := Config{URL: "http://127.0.0.1:8080/page.html", Connections: 1, Duration: time.Second}
	for want, change := range map[string]func(*Config){
		"":                                 func(*Config) {},
		"the URL \"\" is invalid":          func(c *Config) { c.URL = "" },
		"the URL \"127.0.0.1:8080\" is":    func(c *Config) { c.URL = "127.0.0.1:8080" },
		"the URL \"localhost\" is invalid": func(c *Config) { c.URL = "localhost" },
		"the URL \"http://:80/\"":          func(c *Config) { c.URL = "http://:80/" },
		"the URL \"http://a@b/\"":          func(c *Config) { c.URL = "http://a@b/" },
		"write http:// or https://":        func(c *Config) { c.URL = "ftp://a/" },
		"are for https:// URLs":            func(c *Config) { c.TLS.Insecure = true },
		"give one of them":                 func(c *Config) { c.URL, c.TLS = "https://a/", TLS{Insecure: true, CA: []byte("x")} },
		"has no certificate in PEM":        func(c *Config) { c.URL, c.TLS.CA = "https://a/", []byte("x") },
		"the key exchange \"P-1\" is unknown: give one of P-256, P-384, P-521, X25519, X25519MLKEM768": func(c *Config) { c.URL, c.TLS.KeyExchange = "https://a/", "P-1" },
		"0 connections":     func(c *Config) { c.Connections = 0 },
		"60001 connections": func(c *Config) { c.Connections = 60001 },
		"a rate of -1":      func(c *Config) { c.Rate = -1 },
		"a rate of NaN":     func(c *Config) { c.Rate = math.NaN() },
		"a rate of 2e+06":   func(c *Config) { c.Rate = 2e6 },
		"the pattern \"even\" is unknown: give staggered, together or poisson": func(c *Config) { c.Rate, c.Pattern = 1, "even" },
		"a closed loop has no arrival pattern":                                 func(c *Config) { c.Pattern = load.Poisson },
		"a timeout of 5m":                                                      func(c *Config) { c.Timeout = 5 * time.Minute },
		"a timeout of 1ns":                                                     func(c *Config) { c.Timeout = 1 },
		"a limit of -1 errors":                                                 func(c *Config) { c.MaxErrors = -1 },
		"the CPUs [2000]":                                                      func(c *Config) { c.CPUs = []int{2000} },
		"-1 requests":                                                          func(c *Config) { c.Requests = -1 },
		"ends a closed loop":                                                   func(c *Config) { c.Requests, c.Rate = 1, 1 },
		"a duration of 0s":                                                     func(c *Config) { c.Duration = 0 },
		"a duration of 25h":                                                    func(c *Config) { c.Requests, c.Duration = 5, 25*time.Hour },
	} {
		c := good
		change(&c)
		err := c.Check(false)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, load.ErrUsage) || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestConfigsThatNeedNoDuration(t *testing.T) {
	c := Config{URL: "http://[::1]/", Connections: 1}
	if err := c.Check(true); err != nil {
		t.Errorf("steered: got %v, want no error", err)
	}
	if c.Requests = 1; c.Check(false) != nil || c.Check(true) == nil {
		t.Errorf("number of requests: got %v, steered %v; want an error only when steered", c.Check(false), c.Check(true))
	}
}

func TestURLsBecomeRequestsAndAddresses(t *testing.T) {
	for url, want := range map[string][3]string{
		"http://127.0.0.1:8080":        {"127.0.0.1:8080", "GET / HTTP/1.1\r\n", "Host: 127.0.0.1:8080\r\n"},
		"http://example.org/a%20b?c=d": {"example.org:80", "GET /a%20b?c=d HTTP/1.1\r\n", "Host: example.org\r\n"},
		"https://example.org/":         {"example.org:443", "GET / HTTP/1.1\r\n", "Host: example.org\r\n"},
		"http://[::1]:81/x#y":          {"[::1]:81", "GET /x HTTP/1.1\r\n", "Host: [::1]:81\r\n"},
	} {
		c := Config{URL: url, Gzip: true, Close: true}
		address, err := c.address()
		text := string(c.prepare()[0].wire)
		if err != nil || address != want[0] || !strings.HasPrefix(text, want[1]) || !strings.Contains(text, want[2]) || !strings.HasSuffix(text, "\r\n\r\n") {
			t.Errorf("%s: got %s, %v, %q; want %q", url, address, err, text, want)
		}
		if !strings.Contains(text, "\r\nAccept-Encoding: gzip\r\n") || !strings.Contains(text, "\r\nConnection: close\r\n") {
			t.Errorf("%s: got %q, want Accept-Encoding and Connection fields", url, text)
		}
	}
}
