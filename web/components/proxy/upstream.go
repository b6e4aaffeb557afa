package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/web/internal/origin"
)

// UpstreamReading is the state and the counts of an upstream.
type UpstreamReading struct {
	Name           string    // as in [Config.Upstreams]
	Down           bool      // it fails its health checks
	SuspendedUntil time.Time // it is suspended until then; zero or past: it is not
	Active         int       // exchanges in progress
	Requests       int64     // requests so far, retries included
	Failures       int64     // failed requests so far; health checks are not counted
	LastError      string    // the latest failure of a request or health check; "": none
	Weight         int       // its share of the exchanges; 0: it is drained
}

// State returns "down" for an upstream that fails its health checks, "drained" for one of weight 0,
// "aside" for one that is suspended, and otherwise "up".
func (u UpstreamReading) State() string {
	switch {
	case u.Down:
		return "down"
	case u.Weight == 0:
		return "drained"
	case time.Now().Before(u.SuspendedUntil):
		return "aside"
	}
	return "up"
}

// upstream is one server. The pool's lock guards its reading and counts.
type upstream struct {
	target           *url.URL
	transport        *http.Transport
	conns            *origin.Pool // by plain HTTP/1.1; nil: it is used over TLS
	nameValue        any          // reading.Name, for the log
	reading          UpstreamReading
	consecutiveFails int // consecutive failed requests
	contraryChecks   int // consecutive checks that contradict the current state
	credit           int // see roundRobin
}

// pool is the set of a proxy's upstreams.
type pool struct {
	now            func() time.Time
	choose         policy
	maxFails       int
	suspendTime    time.Duration
	checkThreshold int // consecutive checks that change an upstream's state

	upstreams []*upstream

	mu sync.Mutex
	// memory for take
	available, suspended []candidate
}

// dialError reports that no connection was made, so that the request was not sent.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// newUpstream parses one of [Config.Upstreams].
func newUpstream(text string, s settings) (*upstream, error) {
	network, address := "tcp", ""
	target, err := url.Parse(text)
	if path, ok := strings.CutPrefix(text, "unix:"); ok && path != "" {
		network, address = "unix", path
		target, err = &url.URL{Scheme: "http", Host: "localhost"}, nil
	}
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" || target.User != nil || target.RawQuery != "" || target.Fragment != "" {
		return nil, fmt.Errorf("proxy: upstreams has %q, which is not an upstream: write \"http://HOST:PORT\", \"https://HOST:PORT\" or \"unix:/PATH\"", text)
	}
	connect := s.dial()
	dial := func(ctx context.Context, _, wanted string) (net.Conn, error) {
		if address != "" {
			wanted = address
		}
		c, err := connect(ctx, network, wanted)
		if err != nil {
			return nil, dialError{err}
		}
		return c, nil
	}
	u := &upstream{reading: UpstreamReading{Name: text}, nameValue: text, target: target, transport: newTransport(dial, s)}
	if target.Scheme == "http" {
		at := target.Host
		if target.Port() == "" {
			at = net.JoinHostPort(target.Hostname(), "80")
		}
		u.conns = &origin.Pool{Dial: func(ctx context.Context) (net.Conn, error) { return dial(ctx, "tcp", at) }, MaxIdle: s.Width, IdleTimeout: idleConnTimeout}
	}
	return u, nil
}

// dial returns the function that makes connections within the time limit.
func (s *settings) dial() func(ctx context.Context, network, address string) (net.Conn, error) {
	if s.Dial == nil {
		return (&net.Dialer{Timeout: s.dialTimeout}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, s.dialTimeout)
		defer cancel()
		return s.Dial(ctx, network, address)
	}
}

// idleConnTimeout is how long an idle connection to an upstream is kept.
const idleConnTimeout = time.Minute

// newTransport returns the transport of exchanges that are not direct. It keeps no HTTP/1.1
// connections: net/http may use one before it sees that bytes arrive behind a response, and would
// take these for the next response. HTTP/2 connections are shared, and TLS sessions resumed.
func newTransport(dial func(ctx context.Context, network, address string) (net.Conn, error), s settings) *http.Transport {
	config := &tls.Config{}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	if config.ClientSessionCache == nil {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    s.dialTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // the client and the upstream negotiate codings
		MaxIdleConnsPerHost:    -1,
		IdleConnTimeout:        idleConnTimeout,
		ResponseHeaderTimeout:  s.headTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// take selects an upstream that is not down or drained and has not been tried, and counts the
// exchange. A suspended one is selected only if there is no other. It returns nil if there is none.
// weights are those of the upstreams, in their order.
func (p *pool) take(key string, tried []*upstream, weights []int) *upstream {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	available, suspended := p.available[:0], p.suspended[:0]
	for i, u := range p.upstreams {
		switch {
		case weights[i] == 0 || u.reading.Down || slices.Contains(tried, u):
		case now.Before(u.reading.SuspendedUntil):
			suspended = append(suspended, candidate{u, weights[i]})
		default:
			available = append(available, candidate{u, weights[i]})
		}
	}
	p.available, p.suspended = available, suspended
	if len(available) == 0 {
		available = suspended
	}
	if len(available) == 0 {
		return nil
	}
	u := p.choose(available, key)
	u.reading.Active++
	u.reading.Requests++
	return u
}

// give ends an exchange that take counted. why is the upstream's failure, nil for a success.
func (p *pool) give(u *upstream, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u.reading.Active--
	if why == nil {
		u.consecutiveFails, u.reading.SuspendedUntil = 0, time.Time{}
		return
	}
	u.reading.Failures++
	u.reading.LastError = why.Error()
	if u.consecutiveFails++; p.maxFails > 0 && u.consecutiveFails >= p.maxFails {
		u.reading.SuspendedUntil = p.now().Add(p.suspendTime)
	}
}

// drop ends an exchange that take counted, without a result for the upstream.
func (p *pool) drop(u *upstream) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u.reading.Active--
}

// recordCheck records the result of a health check.
func (p *pool) recordCheck(u *upstream, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if why != nil {
		u.reading.LastError = why.Error()
	}
	if (why != nil) == u.reading.Down {
		u.contraryChecks = 0
		return
	}
	if u.contraryChecks++; u.contraryChecks >= p.checkThreshold {
		u.reading.Down, u.contraryChecks = why != nil, 0
	}
}

// read returns the readings of the upstreams, with these weights.
func (p *pool) read(weights []int) []UpstreamReading {
	p.mu.Lock()
	defer p.mu.Unlock()
	readings := make([]UpstreamReading, len(p.upstreams))
	for i, u := range p.upstreams {
		readings[i] = u.reading
		readings[i].Weight = weights[i]
	}
	return readings
}
