package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"weir/web/components/internal/unit"
	"weir/web/internal/client"
)

// Config sets the upstreams of a proxy, and how it uses them. All fields but Upstreams may be zero.
type Config struct {
	// Upstreams are the servers, at least one: "http://HOST:PORT" or "https://HOST:PORT", with an
	// optional path that is put before the request's, or "unix:/PATH" for a socket.
	Upstreams []string `hcl:"upstreams"`

	// Weights are the upstreams' shares of the exchanges, 0 to 1000 each, by their names in
	// Upstreams. An upstream of weight 0 is drained: it gets no further exchange, whatever fails,
	// and those in progress complete. A reload that changes only weights keeps connections, counts
	// and health. Empty: 1 for each upstream that is not listed.
	Weights map[string]int `hcl:"weights,optional"`

	// Policy is the load-balancing policy: "round robin", "least connections" or "hash". Empty:
	// "round robin".
	Policy string `hcl:"policy,optional"`

	// HashBy is the input of the policy "hash": "address" of the client, "header NAME" or "cookie
	// NAME". Requests without that field or cookie use the address. Empty: "address".
	HashBy string `hcl:"hash_by,optional"`

	// Host is the host name that upstreams receive. Empty: the client's. "upstream": the
	// upstream's own.
	Host string `hcl:"host,optional"`

	// RawPath sends the path as the client escaped it, for upstreams that distinguish an encoded
	// slash from a slash (npm's /@a%2fb, signed addresses). In the whole site, %2F then counts as a
	// slash when routes and conditions are matched. A path with empty or dot segments is answered
	// by 400, because upstreams may resolve it differently.
	RawPath bool `hcl:"raw_path,optional"`

	// Trusted are further proxies before this server whose X-Forwarded-* and Forwarded fields are
	// passed on, in addition to those that the server trusts. They are addresses or prefixes, such
	// as "10.0.0.0/8". A site sets them in its block server instead, for all components. Nil: none.
	Trusted []string `hcl:"trusted,optional"`

	// UserField is a request field that passes the authenticated user ([web.User]) to upstreams,
	// such as "X-Remote-User". The client's own field is always removed. Empty: the user is not
	// passed on.
	UserField string `hcl:"user_field,optional"`

	// DialTimeout limits the time to connect to an upstream. Empty: "5s".
	DialTimeout string `hcl:"dial_timeout,optional"`

	// HeadTimeout limits the time from the end of the request to the response's header. Empty:
	// "60s". "0s": no limit.
	HeadTimeout string `hcl:"head_timeout,optional"`

	// IdleTimeout limits how long an upstream may accept nothing of a request's body (then 504),
	// and how long it may send nothing of a response's body (then the response is aborted). The
	// latter does not apply to WebSockets and event streams. Empty: "60s". "0s": no limit.
	IdleTimeout string `hcl:"idle_timeout,optional"`

	// Retries is the number of further upstreams that are tried when a request fails. 0: 2.
	// Negative: none.
	Retries int `hcl:"retries,optional"`

	// MaxFails is the number of consecutive failures after which an upstream is suspended. 0:
	// 3. Negative: it is never suspended.
	MaxFails int `hcl:"max_fails,optional"`

	// Aside is how long an upstream is suspended. Empty: "10s".
	Aside string `hcl:"aside,optional"`

	// HealthPath is the path of active health checks, such as "/healthz". A status of 200 to 399 in
	// time passes. Empty: no health checks.
	HealthPath string `hcl:"health_path,optional"`

	// HealthInterval is the time between two health checks, and the limit of each. Empty: "10s".
	HealthInterval string `hcl:"health_interval,optional"`

	// HealthThreshold is the number of consecutive checks that must fail, or pass, to change an
	// upstream's state. 0: 2.
	HealthThreshold int `hcl:"health_threshold,optional"`

	// Width is the number of exchanges that may wait for the header of a response, including those
	// whose request bodies are still being sent. One client may have half of them. 0: 256.
	Width int `hcl:"width,optional"`

	// Queue is the number of exchanges that may wait for one of these places. 0: four times Width.
	Queue int `hcl:"queue,optional"`

	// TLS configures connections to https upstreams. It must not be changed afterwards. Nil: the
	// system's root certificates.
	TLS *tls.Config

	// Dial makes the connections to upstreams, within DialTimeout: of a network stack in user
	// space, or of a test. The network is "tcp" or "unix". Nil: those of package net.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// settings are a parsed Config.
type settings struct {
	Config
	dialTimeout, headTimeout, idleTimeout, suspendTime, checkInterval time.Duration
	retries, maxFails                                                 int
	trusted                                                           client.TrustedProxies
	hashKey                                                           keyFunc
	choose                                                            policy
}

// parseConfig checks and parses a Config.
func parseConfig(cfg Config) (s settings, err error) {
	s.Config = cfg
	for _, d := range []struct {
		to    *time.Duration
		field string
		text  string
		def   time.Duration
		least time.Duration
	}{
		{&s.dialTimeout, "dial_timeout", cfg.DialTimeout, 5 * time.Second, 1},
		{&s.headTimeout, "head_timeout", cfg.HeadTimeout, time.Minute, 0},
		{&s.idleTimeout, "idle_timeout", cfg.IdleTimeout, time.Minute, 0},
		{&s.suspendTime, "aside", cfg.Aside, 10 * time.Second, 0},
		{&s.checkInterval, "health_interval", cfg.HealthInterval, 10 * time.Second, 1},
	} {
		if *d.to, err = unit.Duration("proxy: "+d.field, d.text, d.def); err != nil {
			return s, err
		}
		if *d.to < d.least {
			return s, fmt.Errorf("proxy: %s is %q, which is too short: write a duration such as \"5s\"", d.field, d.text)
		}
	}
	s.retries = max(0, cmp.Or(cfg.Retries, 2))
	s.maxFails = cmp.Or(cfg.MaxFails, 3)
	if s.HealthThreshold < 0 || s.Width < 0 || s.Queue < 0 {
		return s, fmt.Errorf("proxy: health_threshold, width and queue are %d, %d and %d: none may be negative", s.HealthThreshold, s.Width, s.Queue)
	}
	s.HealthThreshold = cmp.Or(cfg.HealthThreshold, 2)
	s.Width = cmp.Or(cfg.Width, 256)
	if cfg.HealthPath != "" && !strings.HasPrefix(cfg.HealthPath, "/") {
		return s, fmt.Errorf("proxy: health_path is %q, which does not begin with a slash: write a path such as \"/healthz\"", cfg.HealthPath)
	}
	if s.trusted, err = client.ParseTrustedProxies(cfg.Trusted); err != nil {
		return s, fmt.Errorf("proxy: %w", err)
	}
	if s.choose, err = parsePolicy(cfg.Policy); err != nil {
		return s, err
	}
	s.hashKey, err = parseHashBy(cfg.Policy, cfg.HashBy)
	return s, err
}
