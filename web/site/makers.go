package site

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"weir/web"
	"weir/web/components/accesslog"
	"weir/web/components/auth"
	"weir/web/components/basic"
	"weir/web/components/cache"
	"weir/web/components/cgi"
	"weir/web/components/events"
	"weir/web/components/proxy"
)

// limitRate makes the component limit_rate, which may tell clients apart by a field only where not
// every client can invent it.
func limitRate(b *block, c basic.LimitRateConfig) (web.Component, error) {
	if c.Header != "" && len(b.server.Trusted) == 0 {
		return nil, fmt.Errorf("limit_rate: header is %q, which every client can make up, and so escape the limit: name the fronts that set it in the "+
			"block server, as trusted = [\"10.0.0.0/8\"], or leave header out to limit by address", c.Header)
	}
	c.Fronts = true
	return basic.LimitRate(c)
}

// logged makes the component log.
func logged(b *block, c accesslog.Config) (*accesslog.Log, error) {
	if b.looking {
		return accesslog.Check(c)
	}
	tell := b.tell
	c.Failed = func(err error) { tell("log "+c.File, err.Error()) }
	return accesslog.New(c)
}

// proxied makes the component proxy. In a site, all components trust the same fronts.
func proxied(b *block, c proxy.Config) (web.Component, error) {
	if len(c.Trusted) > 0 {
		return nil, errors.New("proxy: trusted has moved: write it in the block server, where it holds for the log, the limits and the conditions too")
	}
	if b.looking {
		return proxy.Check(c)
	}
	return proxy.New(c)
}

// cached makes the component cache: what it keeps is of the components inside as they stand there.
func cached(b *block) web.Component {
	var config cache.Config
	inner := b.pipeline(b.Body, true)
	if !b.decode(&config) || inner == nil {
		return nil
	}
	store, err := b.keep(b.identity(), func() (any, error) { return cache.New(config) })
	if err != nil {
		b.fail(b.TypeRange, "Invalid cache", err.Error())
		return nil
	}
	return b.finish(store.(*cache.Cache).Around(inner))
}

// passwords makes the component authenticate. What is known of clients belongs to the file of
// users.
func passwords(b *block, c auth.BasicConfig, allowed web.Component, refused ...web.Component) (web.Component, error) {
	memory, err := b.share(fmt.Sprintf("users %q, %d attempts", c.Users, c.Attempts), func() (any, error) { return auth.NewMemory(c.Attempts), nil })
	if err != nil {
		return nil, err
	}
	tell := b.tell
	c.Memory = memory.(*auth.Memory)
	c.Broken = func(err error) { tell("users "+c.Users, err.Error()+"; who was known stays known") }
	return auth.Basic(c, allowed, refused...)
}

// tokens makes the component bearer.
func tokens(b *block, c auth.BearerConfig, allowed web.Component, refused ...web.Component) (web.Component, error) {
	tell := b.tell
	c.Broken = func(err error) { tell("bearer", err.Error()+"; who was known stays known") }
	return auth.Bearer(c, allowed, refused...)
}

// crowded reports to the operator the clients that are refused because of their share of a
// component.
func (b *block) crowded(of string) func(line string) {
	tell := b.tell
	return func(line string) { tell("crowded "+of, of+": "+line) }
}

// limitConcurrency makes the component limit_concurrency.
func limitConcurrency(b *block, c basic.LimitConcurrencyConfig) (web.Component, error) {
	c.Crowded = b.crowded("limit_concurrency")
	return basic.LimitConcurrency(c)
}

// echo makes the component echo.
func echo(b *block, c events.WebSocketConfig) (web.Component, error) {
	c.Crowded = b.crowded("echo")
	return events.Echo(c)
}

// watched makes the component watch.
func watched(b *block, c events.WatchConfig) (web.Component, error) {
	c.Crowded = b.crowded("watch")
	return events.Watch(c)
}

// programs makes the component cgi.
func programs(b *block, c cgi.Config) (web.Component, error) {
	c.Stderr, c.Crowded = complaints(b, "cgi"), b.crowded("cgi")
	return cgi.New(c)
}

// application makes the component fastcgi.
func application(b *block, c cgi.FastCGIConfig) (web.Component, error) {
	c.Stderr = complaints(b, "fastcgi "+c.Address)
	return cgi.NewFastCGI(c)
}

// complaints is where programs complain.
func complaints(b *block, of string) io.Writer { return &complaining{of, b.tell} }

type complaining struct {
	of   string
	tell func(kind, line string)
}

// Write implements [io.Writer].
func (w *complaining) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if line = strings.TrimSpace(line); line != "" {
			w.tell(w.of+line[:min(len(line), 40)], w.of+" says: "+line)
		}
	}
	return len(p), nil
}
