package proxy

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"weir/web"
)

// Proxy is the component.
type Proxy struct {
	settings
	pool *pool
	stop context.CancelFunc
	runs sync.WaitGroup // health checks
}

// New makes the component, which is a *[Proxy]: who calls New calls its Close.
func New(cfg Config) (web.Component, error) {
	p, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	if p.HealthPath != "" {
		for _, u := range p.pool.upstreams {
			p.runs.Go(func() { p.watch(ctx, u) }) // until Close
		}
	}
	return p, nil
}

// Check is [New] for who only looks: no upstream is asked how it is. Who calls Check calls its
// Close.
func Check(cfg Config) (web.Component, error) {
	p, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	p.stop = func() {}
	return p, nil
}

// prepare makes a proxy that checks nothing yet.
func prepare(cfg Config) (*Proxy, error) {
	s, err := read(cfg)
	if err != nil {
		return nil, err
	}
	p := &Proxy{settings: s, pool: &pool{now: time.Now, choose: s.choose, maxFails: s.maxFails, aside: s.aside, checks: s.HealthThreshold}}
	for _, text := range cfg.Upstreams {
		u, err := newUpstream(text, s)
		if err != nil {
			return nil, err
		}
		p.pool.upstreams = append(p.pool.upstreams, u)
	}
	if len(p.pool.upstreams) == 0 {
		return nil, errors.New("proxy: upstreams is empty: write at least one, such as \"http://127.0.0.1:8080\"")
	}
	return p, nil
}

// Traits says how the component is composed.
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
	x := &exchange{p: p, user: c.StringValue(web.User)}
	if why := x.address(c); why != nil {
		c.Answer(c.Fail(http.StatusBadRequest, why))
		return
	}
	if p.key != nil {
		if x.key = p.key(c); x.key == "" {
			x.key = p.client(c.RemoteAddr(), c.RequestHeaders("X-Forwarded-For"))
		}
	}
	web.FromHTTP(http.HandlerFunc(x.serve)).Handle(c)
	if x.upstream != nil {
		c.SetValue(web.Upstream, x.upstream.reading.Name)
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
	if alone(c.HTTPRequest()) && !c.Body().IsHijack() {
		c.SetField(closing)
	}
	c.After(func(c *web.Conn) {
		if c.Err() == nil {
			c.SetErr(x.err)
		}
	})
}

var closing = web.NewField("Connection", "close")

// alone says whether no other request may follow on the connection: an upstream may answer a
// request whose body was not kept before all of it was read, and what is left of it is not to be
// looked for the next request.
func alone(r *http.Request) bool {
	return r.ProtoMajor < 2 && (r.ContentLength < 0 || r.ContentLength > kept)
}

// Upstreams says how the upstreams fare, in their order in the [Config]. It may be called from any
// goroutine.
func (p *Proxy) Upstreams() []UpstreamReading { return p.pool.read() }

// Close ends the health checks, waits for them, and closes connections to upstreams that are not in
// use. Exchanges under way go on. It may be called several times.
func (p *Proxy) Close() error {
	p.stop()
	p.runs.Wait()
	for _, u := range p.pool.upstreams {
		u.transport.CloseIdleConnections()
	}
	return nil
}
