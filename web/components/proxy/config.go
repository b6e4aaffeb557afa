package proxy

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"weir/web/components/internal/unit"
	"weir/web/internal/client"
)

// Config says what upstreams there are, and how they are asked. The zero value of every field but
// Upstreams is a good one.
type Config struct {
	// Upstreams are the servers: "http://HOST:PORT" or "https://HOST:PORT", with a path that goes
	// before the request's if there is one, or "unix:/PATH" of a socket. At least one.
	Upstreams []string `hcl:"upstreams"`

	// Policy is who is asked: "round robin" (also when empty), "least connections" or "hash".
	Policy string `hcl:"policy,optional"`

	// HashBy is what the policy "hash" keeps together: "address" of the client (also when empty),
	// "header NAME" or "cookie NAME". Of a request without that field or cookie, it is the address.
	HashBy string `hcl:"hash_by,optional"`

	// Host is the host that upstreams are asked for. Empty: the one that the client asked for.
	// "upstream": the upstream's own.
	Host string `hcl:"host,optional"`

	// RawPath gives upstreams the path as the client escaped it, for those that tell an encoded
	// slash from a slash (npm's /@a%2fb, signed addresses). In the whole site %2F then counts as a
	// slash when routes and conditions are matched. A path with empty or dot segments is answered
	// by 400, since upstreams may resolve them in another way.
	RawPath bool `hcl:"raw_path,optional"`

	// Trusted are further fronts before this server whose word on X-Forwarded-* and Forwarded is
	// passed on, beside those that the server trusts: addresses or prefixes, such as "10.0.0.0/8".
	// A site says it in its block server instead, where it holds for all components. Nil: there is
	// none.
	Trusted []string `hcl:"trusted,optional"`

	// UserField is a request field that tells upstreams who [web.User] is, such as "X-Remote-User";
	// the client's own is always removed. Empty: they are not told.
	UserField string `hcl:"user_field,optional"`

	// DialTimeout is how long making a connection may take. Empty: "5s".
	DialTimeout string `hcl:"dial_timeout,optional"`

	// HeadTimeout is how long an upstream may take to begin its response once it has the request.
	// Empty: "60s"; "0s": for ever.
	HeadTimeout string `hcl:"head_timeout,optional"`

	// IdleTimeout is for how long an upstream may take nothing of a request's body while that is
	// sent (then the answer is 504), and for how long nothing of a response's body may come while
	// it is waited for (then the response breaks off). The latter does not hold for WebSockets and
	// event streams. Empty: "60s"; "0s": for ever.
	IdleTimeout string `hcl:"idle_timeout,optional"`

	// Retries is on how many further upstreams a request is tried. 0: two; negative: none.
	Retries int `hcl:"retries,optional"`

	// MaxFails is how many failures in a row put an upstream aside. 0: three; negative: it never
	// is.
	MaxFails int `hcl:"max_fails,optional"`

	// Aside is for how long. Empty: "10s".
	Aside string `hcl:"aside,optional"`

	// HealthPath is what is asked of each upstream to see whether it is well, such as "/healthz": a
	// status of 200 to 399 in time. Empty: nothing is.
	HealthPath string `hcl:"health_path,optional"`

	// HealthInterval is the time between two such checks, and the longest that one may take. Empty:
	// "10s".
	HealthInterval string `hcl:"health_interval,optional"`

	// HealthThreshold is how many checks in a row must fail, or pass, to change what is thought of
	// an upstream. 0: two.
	HealthThreshold int `hcl:"health_threshold,optional"`

	// Width is how many exchanges wait for the head of a response at once, those included whose
	// requests have bodies that are still sent; half of them for one client, as web.Traits says.
	// 0: 256.
	Width int `hcl:"width,optional"`

	// Queue is how many may wait for that. 0: four times Width.
	Queue int `hcl:"queue,optional"`

	// TLS is how upstreams at https are spoken to. Nil: with the system's roots. It must not be
	// changed afterwards.
	TLS *tls.Config
}

// settings are a Config that was read.
type settings struct {
	Config
	dial, head, idle, aside, interval time.Duration
	retries, maxFails                 int
	trusted                           client.TrustedProxies
	key                               keyOf
	choose                            func(*pool, []*upstream, string) *upstream
}

// read checks a Config.
func read(cfg Config) (s settings, err error) {
	s.Config = cfg
	for _, d := range []struct {
		to    *time.Duration
		field string
		text  string
		def   time.Duration
		least time.Duration
	}{
		{&s.dial, "dial_timeout", cfg.DialTimeout, 5 * time.Second, 1},
		{&s.head, "head_timeout", cfg.HeadTimeout, time.Minute, 0},
		{&s.idle, "idle_timeout", cfg.IdleTimeout, time.Minute, 0},
		{&s.aside, "aside", cfg.Aside, 10 * time.Second, 0},
		{&s.interval, "health_interval", cfg.HealthInterval, 10 * time.Second, 1},
	} {
		if *d.to, err = unit.Duration("proxy: "+d.field, d.text, d.def); err != nil {
			return s, err
		}
		if *d.to < d.least {
			return s, fmt.Errorf("proxy: %s is %q, which leaves no time: write one such as \"5s\"", d.field, d.text)
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
		return s, fmt.Errorf("proxy: health_path is %q, which is no path: write one such as \"/healthz\"", cfg.HealthPath)
	}
	if s.trusted, err = client.ParseTrustedProxies(cfg.Trusted); err != nil {
		return s, fmt.Errorf("proxy: %w", err)
	}
	if s.choose, err = readPolicy(cfg.Policy); err != nil {
		return s, err
	}
	s.key, err = readHashBy(cfg.Policy, cfg.HashBy)
	return s, err
}
