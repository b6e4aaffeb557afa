package proxy

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// UpstreamReading is how an upstream fares.
type UpstreamReading struct {
	Name     string    // as in [Config.Upstreams]
	Down     bool      // it fails its health checks
	Aside    time.Time // until when it is put aside; zero or past: it is not
	Active   int       // exchanges under way
	Requests int64     // so far, tries included
	Failures int64     // so far, of requests, not of checks
	Last     string    // the latest failure of a request or check; "" when there was none
}

// State is "down" when the upstream fails its health checks, "aside" when it is put aside, and
// otherwise "up".
func (u UpstreamReading) State() string {
	switch {
	case u.Down:
		return "down"
	case time.Now().Before(u.Aside):
		return "aside"
	}
	return "up"
}

// upstream is one server. What its reading and counters hold is guarded by the pool's lock.
type upstream struct {
	target    *url.URL
	transport *http.Transport
	reading   UpstreamReading
	fails     int // of requests, in a row
	against   int // checks in a row that speak against what is thought of it
}

// pool is the upstreams of a proxy.
type pool struct {
	now      func() time.Time
	choose   func(*pool, []*upstream, string) *upstream
	maxFails int
	aside    time.Duration
	checks   int // in a row that change what is thought of an upstream

	upstreams []*upstream

	mu   sync.Mutex
	turn uint64
}

// dialError is that no connection was made: nothing was asked.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// newUpstream reads one of [Config.Upstreams].
func newUpstream(text string, s settings) (*upstream, error) {
	network, address := "tcp", ""
	target, err := url.Parse(text)
	if path, ok := strings.CutPrefix(text, "unix:"); ok && path != "" {
		network, address = "unix", path
		target, err = &url.URL{Scheme: "http", Host: "localhost"}, nil
	}
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" || target.User != nil || target.RawQuery != "" || target.Fragment != "" {
		return nil, fmt.Errorf("proxy: upstreams has %q, which is no server: write \"http://HOST:PORT\", \"https://HOST:PORT\" or \"unix:/PATH\"", text)
	}
	dialer := &net.Dialer{Timeout: s.dial}
	dial := func(ctx context.Context, _, wanted string) (net.Conn, error) {
		if address != "" {
			wanted = address
		}
		c, err := dialer.DialContext(ctx, network, wanted)
		if err != nil {
			return nil, dialError{err}
		}
		return c, nil
	}
	return &upstream{reading: UpstreamReading{Name: text}, target: target, transport: &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        s.TLS,
		TLSHandshakeTimeout:    s.dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // what the client accepts is between it and the upstream
		MaxIdleConnsPerHost:    s.Width,
		IdleConnTimeout:        time.Minute,
		ResponseHeaderTimeout:  s.head,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}}, nil
}

// take chooses an upstream that is none of tried, and counts an exchange of it; nil when there is
// none.
func (p *pool) take(key string, tried []*upstream) *upstream {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	var well, aside []*upstream
	for _, u := range p.upstreams {
		switch {
		case u.reading.Down || slices.Contains(tried, u):
		case now.Before(u.reading.Aside):
			aside = append(aside, u)
		default:
			well = append(well, u)
		}
	}
	if well == nil {
		well = aside
	}
	if well == nil {
		return nil
	}
	u := p.choose(p, well, key)
	u.reading.Active++
	u.reading.Requests++
	return u
}

// give ends what take began; why is the upstream's failure, nil when it did well.
func (p *pool) give(u *upstream, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u.reading.Active--
	if why == nil {
		u.fails, u.reading.Aside = 0, time.Time{}
		return
	}
	u.reading.Failures++
	u.reading.Last = why.Error()
	if u.fails++; p.maxFails > 0 && u.fails >= p.maxFails {
		u.reading.Aside = p.now().Add(p.aside)
	}
}

// drop ends what take began, when nothing can be said of the upstream.
func (p *pool) drop(u *upstream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u.reading.Active--
}

// checked takes the result of a health check.
func (p *pool) checked(u *upstream, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if why != nil {
		u.reading.Last = why.Error()
	}
	if (why != nil) == u.reading.Down {
		u.against = 0
		return
	}
	if u.against++; u.against >= p.checks {
		u.reading.Down, u.against = why != nil, 0
	}
}

func (p *pool) read() []UpstreamReading {
	p.mu.Lock()
	defer p.mu.Unlock()
	readings := make([]UpstreamReading, len(p.upstreams))
	for i, u := range p.upstreams {
		readings[i] = u.reading
	}
	return readings
}
