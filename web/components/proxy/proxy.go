package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"weir/web"
)

// Proxy is the component.
type Proxy struct {
	*upstreams
	weights []int // of the pool's upstreams, in their order
}

// upstreams are the settings and the state that a proxy shares with those made by WithWeights.
type upstreams struct {
	settings
	pool     *pool
	plain    bool // every upstream is used by plain HTTP/1.1
	stop     context.CancelFunc
	checkers sync.WaitGroup // goroutines of health checks
}

// maxWeight is the greatest weight of an upstream.
const maxWeight = 1000

// New returns the component, a *[Proxy], and starts its health checks. The caller closes it.
func New(cfg Config) (web.Component, error) {
	p, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	if p.HealthPath != "" {
		for _, u := range p.pool.upstreams {
			p.checkers.Go(func() { p.runChecks(ctx, u) }) // until Close
		}
	}
	return p, nil
}

// Check returns the component without health checks, to test a configuration. The caller closes it.
func Check(cfg Config) (web.Component, error) {
	p, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	p.stop = func() {}
	return p, nil
}

// prepare makes a proxy without health checks.
func prepare(cfg Config) (*Proxy, error) {
	s, err := parseConfig(cfg)
	if err != nil {
		return nil, err
	}
	p := &Proxy{upstreams: &upstreams{settings: s, pool: &pool{now: time.Now, choose: s.choose, maxFails: s.maxFails, suspendTime: s.suspendTime, checkThreshold: s.HealthThreshold}, plain: true}}
	for _, text := range cfg.Upstreams {
		u, err := newUpstream(text, s)
		if err != nil {
			return nil, err
		}
		p.pool.upstreams = append(p.pool.upstreams, u)
		p.plain = p.plain && u.conns != nil
	}
	if len(p.pool.upstreams) == 0 {
		return nil, errors.New("proxy: upstreams is empty: write at least one, such as \"http://127.0.0.1:8080\"")
	}
	return p.WithWeights(cfg.Weights)
}

// WithWeights returns a proxy that differs in [Config.Weights] only: it shares the upstreams with
// their connections, health and counts. Closing either closes both.
func (p *Proxy) WithWeights(weights map[string]int) (*Proxy, error) {
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if !slices.Contains(p.settings.Upstreams, name) {
			return nil, fmt.Errorf("proxy: weights has %q, which is not in upstreams: write it as it stands there", name)
		}
		if w := weights[name]; w < 0 || w > maxWeight {
			return nil, fmt.Errorf("proxy: weights has %d for %q: write 0, for none, to %d", w, name, maxWeight)
		}
	}
	other := &Proxy{upstreams: p.upstreams, weights: make([]int, len(p.pool.upstreams))}
	total := 0
	for i, name := range p.settings.Upstreams {
		w, ok := weights[name]
		if !ok {
			w = 1
		}
		other.weights[i] = w
		total += w
	}
	if total == 0 {
		return nil, errors.New("proxy: weights are all 0, so no upstream would get an exchange: leave one above 0")
	}
	return other, nil
}

// Traits implements the optional part of [web.Component].
func (p *Proxy) Traits() web.Traits {
	return web.Traits{Name: "proxy", Role: web.RoleSource, Width: p.Width, Queue: p.Queue, RawPath: p.RawPath}
}

// Handle implements [web.Component].
func (p *Proxy) Handle(c *web.Conn) {
	if c.Answered() {
		return
	}
	if c.Method() == http.MethodConnect {
		c.Answer(c.Fail(http.StatusNotImplemented, errConnect))
		return
	}
	d := &direct{exchange: exchange{p: p, user: c.StringValue(web.User)}}
	x := &d.exchange
	if why := x.setTarget(c); why != nil {
		c.Answer(c.Fail(http.StatusBadRequest, why))
		return
	}
	if p.hashKey != nil {
		if x.hashKey = p.hashKey(c); x.hashKey == "" {
			x.hashKey = p.clientAddr(c.RemoteAddr(), c.RequestHeaders("X-Forwarded-For"))
		}
	}
	isDirect := p.isDirect(c.BorrowRequest())
	if isDirect {
		d.serveDirect(c)
	} else {
		web.FromHTTP(http.HandlerFunc(x.serve)).Handle(c)
	}
	if x.upstream != nil {
		c.SetValue(web.Upstream, x.upstream.nameValue)
	}
	switch {
	case x.err != nil:
		status := x.status()
		c.Answer(c.Fail(status, x.err))
		if status == http.StatusServiceUnavailable {
			c.SetHeader("Retry-After", "1")
		}
	case c.Body().IsHijack():
		c.SetStatus(http.StatusSwitchingProtocols)
	}
	if isDirect {
		return
	}
	if mustClose(c.HTTPRequest()) && !c.Body().IsHijack() {
		c.SetField(closeField)
	}
	c.After(func(c *web.Conn) {
		if c.Err() == nil {
			c.SetErr(x.err)
		}
	})
}

var closeField = web.NewField("Connection", "close")

// mustClose reports whether the client's connection must close after the exchange. An upstream may
// answer a request whose body was not buffered before the body was read to its end. The next
// request must not be searched for in the rest.
func mustClose(r *http.Request) bool {
	return r.ProtoMajor < 2 && (r.ContentLength < 0 || r.ContentLength > maxBuffered)
}

// Upstreams returns the state of the upstreams, in their order in the [Config]. Any goroutine may
// call it.
func (p *Proxy) Upstreams() []UpstreamReading { return p.pool.read(p.weights) }

// Close stops the health checks, waits for them, and closes idle connections to upstreams.
// Exchanges in progress continue. It may be called several times.
func (p *Proxy) Close() error {
	p.stop()
	p.checkers.Wait()
	for _, u := range p.pool.upstreams {
		u.transport.CloseIdleConnections()
		if u.conns != nil {
			u.conns.Close()
		}
	}
	return nil
}
