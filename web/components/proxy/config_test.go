package proxy

import (
	"strings"
	"testing"
)

func TestInvalidConfigs(t *testing.T) {
	up := []string{"http://127.0.0.1:1"}
	for _, c := range []struct {
		cfg  Config
		says string
	}{
		{Config{}, "upstreams is empty"},
		{Config{Upstreams: []string{"127.0.0.1:80"}}, "upstreams has"},
		{Config{Upstreams: []string{"ftp://a"}}, "upstreams has"},
		{Config{Upstreams: []string{"http://a/?b"}}, "upstreams has"},
		{Config{Upstreams: []string{"http://u:p@a"}}, "upstreams has"},
		{Config{Upstreams: []string{"unix:"}}, "upstreams has"},
		{Config{Upstreams: up, Policy: "best"}, "policy"},
		{Config{Upstreams: up, HashBy: "address"}, "hash_by"},
		{Config{Upstreams: up, Policy: "hash", HashBy: "header"}, "hash_by"},
		{Config{Upstreams: up, Trusted: []string{"10.0.0.0/99"}}, "proxy: trusted"},
		{Config{Upstreams: up, DialTimeout: "soon"}, "dial_timeout"},
		{Config{Upstreams: up, DialTimeout: "0s"}, "dial_timeout"},
		{Config{Upstreams: up, IdleTimeout: "-1s"}, "idle_timeout"},
		{Config{Upstreams: up, HealthInterval: "0s"}, "health_interval"},
		{Config{Upstreams: up, HealthPath: "healthz"}, "health_path"},
		{Config{Upstreams: up, Width: -1}, "width"},
	} {
		if p, err := New(c.cfg); err == nil || p != nil || !strings.HasPrefix(err.Error(), "proxy: ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want an error about %q", c.cfg, err, c.says)
		}
	}
}

func TestValidConfigs(t *testing.T) {
	for _, c := range []Config{
		{Upstreams: []string{"http://127.0.0.1:1", "https://example.org/base", "unix:/run/app.sock", "http://[::1]:8080"}},
		{Upstreams: []string{"http://a"}, Policy: "hash", HashBy: "cookie session", Trusted: []string{"127.0.0.1", "fd00::/8"}},
		{Upstreams: []string{"http://a"}, HeadTimeout: "0s", MaxFails: -1, Retries: -1},
	} {
		p := newProxy(t, c)
		if d := p.Traits(); d.Name != "proxy" || d.Width != 256 || len(p.Upstreams()) != len(c.Upstreams) {
			t.Errorf("%+v: got %+v, want the defaults", c, d)
		}
	}
}
