package site

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"weir/web"
	"weir/web/components/accesslog"
	"weir/web/components/auth"
	"weir/web/components/basic"
	"weir/web/components/cache"
	"weir/web/components/cgi"
	"weir/web/components/events"
	"weir/web/components/images"
	"weir/web/components/proxy"
)

// makeLimitRate makes the component limit_rate. It may identify clients by a header field only if
// trusted proxies set the field: otherwise each client could invent values.
func makeLimitRate(b *block, c basic.LimitRateConfig) (web.Component, error) {
	if c.Header != "" && len(b.server.Trusted) == 0 {
		return nil, fmt.Errorf("limit_rate: header is %q, which every client can forge to evade the limit: list the proxies that set it in the "+
			"block server, as trusted = [\"10.0.0.0/8\"], or remove header to limit by address", c.Header)
	}
	c.HeaderFromProxyOnly = true
	return basic.LimitRate(c)
}

// makeLog makes the component log.
func makeLog(b *block, c accesslog.Config) (*accesslog.Log, error) {
	if b.dryRun {
		return accesslog.Check(c)
	}
	report := b.reportTrouble
	c.OnError = func(err error) { report("log "+c.File, err.Error()) }
	return accesslog.New(c)
}

// proxyKind returns the kind proxy. Its identity does not include the weights: a proxy with new
// ones, as to drain an upstream, shares the upstreams of the former.
func proxyKind() Kind {
	return Kind{About: "forwards requests to upstream servers", Config: reflect.TypeFor[proxy.Config](), build: func(b *block) web.Component {
		var config proxy.Config
		if !b.decode(&config) || !b.hasNoBlocks() {
			return nil
		}
		weights := config.Weights
		config.Weights = nil
		c, err := b.ownState(b.identity(), func() (any, error) { return makeProxy(b, config) })
		if err == nil {
			c, err = c.(*proxy.Proxy).WithWeights(weights)
		}
		if err != nil {
			b.addError(b.TypeRange, "Invalid proxy", err.Error())
			return nil
		}
		return b.withName(c.(*proxy.Proxy))
	}}
}

// makeProxy makes the component proxy. All components of a site trust the same proxies.
func makeProxy(b *block, c proxy.Config) (web.Component, error) {
	if len(c.Trusted) > 0 {
		return nil, errors.New("proxy: \"trusted\" has moved to the \"server\" block, where it applies to the log, the limits and the conditions too")
	}
	if b.dryRun {
		return proxy.Check(c)
	}
	return proxy.New(c)
}

// makeCache makes the component cache. Its identity includes the components inside, whose responses
// it stores.
func makeCache(b *block) web.Component {
	var config cache.Config
	inner := b.pipeline(b.Body, true)
	if !b.decode(&config) || inner == nil {
		return nil
	}
	store, err := b.ownState(b.identity(), func() (any, error) { return cache.New(config) })
	if err != nil {
		b.addError(b.TypeRange, "Invalid cache", err.Error())
		return nil
	}
	return b.register(store.(*cache.Cache).Around(inner))
}

// makeAuthenticate makes the component authenticate. The counts of failed logins belong to the file
// of users.
func makeAuthenticate(b *block, c auth.BasicConfig, allowed web.Component, refused ...web.Component) (web.Component, error) {
	memory, err := b.sharedState(fmt.Sprintf("users %q, %d attempts", c.Users, c.Attempts), func() (any, error) { return auth.NewMemory(c.Attempts), nil })
	if err != nil {
		return nil, err
	}
	report := b.reportTrouble
	c.Memory = memory.(*auth.Memory)
	c.OnError = func(err error) { report("users "+c.Users, err.Error()+"; the last valid version stays in effect") }
	return auth.Basic(c, allowed, refused...)
}

// makeBearer makes the component bearer.
func makeBearer(b *block, c auth.BearerConfig, allowed web.Component, refused ...web.Component) (web.Component, error) {
	report := b.reportTrouble
	c.OnError = func(err error) { report("bearer", err.Error()+"; the last valid version stays in effect") }
	return auth.Bearer(c, allowed, refused...)
}

// reportOverLimit returns a function that reports clients rejected because of their share of a
// component.
func (b *block) reportOverLimit(of string) func(line string) {
	report := b.reportTrouble
	return func(line string) { report("crowded "+of, of+": "+line) }
}

// makeLimitConcurrency makes the component limit_concurrency.
func makeLimitConcurrency(b *block, c basic.LimitConcurrencyConfig) (web.Component, error) {
	c.OnOverLimit = b.reportOverLimit("limit_concurrency")
	return basic.LimitConcurrency(c)
}

// makeEcho makes the component echo.
func makeEcho(b *block, c events.WebSocketConfig) (web.Component, error) {
	c.OnOverLimit = b.reportOverLimit("echo")
	return events.Echo(c)
}

// makeWatch makes the component watch.
func makeWatch(b *block, c events.WatchConfig) (web.Component, error) {
	c.OnOverLimit = b.reportOverLimit("watch")
	return events.Watch(c)
}

// makeResize makes the component resize.
func makeResize(b *block, c images.ResizeConfig) (web.Component, error) {
	c.OnOverLimit = b.reportOverLimit("resize")
	return images.Resize(c)
}

// makeLowerQuality makes the component lower_quality.
func makeLowerQuality(b *block, c images.LowerQualityConfig) (web.Component, error) {
	c.OnOverLimit = b.reportOverLimit("lower_quality")
	return images.LowerQuality(c)
}

// makeWatermark makes the component watermark.
func makeWatermark(b *block, c images.WatermarkConfig) (web.Component, error) {
	c.OnOverLimit = b.reportOverLimit("watermark")
	return images.Watermark(c)
}

// makeCGI makes the component cgi.
func makeCGI(b *block, c cgi.Config) (web.Component, error) {
	c.Stderr, c.OnOverLimit = newStderrReporter(b, "cgi"), b.reportOverLimit("cgi")
	return cgi.New(c)
}

// makeFastCGI makes the component fastcgi.
func makeFastCGI(b *block, c cgi.FastCGIConfig) (web.Component, error) {
	c.Stderr = newStderrReporter(b, "fastcgi "+c.Address)
	return cgi.NewFastCGI(c)
}

// newStderrReporter returns the standard error of programs: its lines are reported as troubles.
func newStderrReporter(b *block, of string) io.Writer { return &stderrReporter{of, b.reportTrouble} }

// stderrReporter reports each line written to it as a trouble of a component.
type stderrReporter struct {
	component     string
	reportTrouble func(kind, line string)
}

// Write implements [io.Writer].
func (w *stderrReporter) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if line = strings.TrimSpace(line); line != "" {
			w.reportTrouble(w.component+line[:min(len(line), 40)], w.component+" says: "+line)
		}
	}
	return len(p), nil
}
