package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"weir/flow"
	"weir/web"
	"weir/web/admin"
	"weir/web/components/accesslog"
	"weir/web/components/compress"
	"weir/web/components/files"
	"weir/web/components/metrics"
	"weir/web/server"
)

const defaultListen = "127.0.0.1:8080"

// serveFolder serves a folder.
func (c *serveRunCmd) serveFolder(ctx context.Context, t *terminal) error {
	composition, closeAll, err := c.folder(t)
	if err != nil {
		return err
	}
	defer closeAll()
	h, err := web.New(composition, web.Options{Way: flow.Way(c.Way), Panicked: t.panicked})
	if err != nil {
		return err
	}
	defer h.Close()
	config := server.Config{Addr: first(c.Listen, c.usualListen()), ErrorLog: t.errorLine}
	return c.serveOn(ctx, t, h, config, beside{address: c.Admin, running: func() *web.Handler { return h }})
}

// folder is the composition that serves a folder, and what closes it.
func (c *serveRunCmd) folder(t *terminal) (web.Component, func(), error) {
	source, err := files.New(files.Config{Dir: c.Target, List: true})
	if err != nil {
		return nil, nil, err
	}
	zip, err := compress.New(compress.Config{})
	if err != nil {
		return nil, nil, err
	}
	parts := []web.Component{source, zip}
	if c.Log == "" {
		return web.Chain(parts...), closer(source), nil
	}
	where := accesslog.Config{File: c.Log, Failed: func(err error) { t.errorLine(err.Error()) }}
	if c.Log == "-" {
		where.File, where.Writer, where.Flush = "", os.Stdout, "100ms"
	}
	log, err := accesslog.New(where)
	if err != nil {
		return nil, nil, err
	}
	return web.Chain(append([]web.Component{log}, parts...)...), closer(log, source), nil
}

// closer closes what can be closed, in this order.
func closer(all ...any) func() {
	return func() {
		for _, c := range all {
			if c, ok := c.(io.Closer); ok {
				_ = c.Close()
			}
		}
	}
}

// beside is the admin page of what is served.
type beside struct {
	address string // empty: there is none
	running func() *web.Handler
	counts  *metrics.Metrics // nil: what Go knows of the process
}

// serveWeb serves until ctx ends, with the admin page beside it if it has an address.
func serveWeb(ctx context.Context, t *terminal, h http.Handler, config server.Config, b beside) error {
	s, err := server.New(h, config)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var page sync.WaitGroup
	var pageErr error
	if b.address != "" {
		a, err := b.server(t)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		fmt.Fprintf(t.err, "weir: admin page on %s\n", address(a.Addr(), false))
		page.Go(func() {
			if pageErr = a.Run(ctx); errors.Is(pageErr, server.ErrCutOff) {
				pageErr = nil // a profile that is being taken is not waited for
			}
			stop()
		})
	}
	fmt.Fprintf(t.err, "weir: serving on %s\n", address(s.Addr(), config.TLS != nil))
	second := await(s.Cut)
	err = s.Run(ctx)
	stop()
	if sig := second.stop(); sig != nil {
		return lastWords(ctx, &signalled{*sig, err})
	}
	page.Wait()
	return errors.Join(err, pageErr)
}

// server is the admin page's.
func (b beside) server(t *terminal) (*server.Server, error) {
	counts := b.counts
	if counts == nil {
		counts = metrics.New()
	}
	host, _, err := net.SplitHostPort(b.address)
	if err != nil {
		return nil, usageError{fmt.Errorf("the admin address is %q: write HOST:PORT", b.address)}
	}
	h, err := admin.New(admin.Config{Metrics: counts, Hosts: []string{host}, Source: func() []metrics.Site {
		return []metrics.Site{{Name: "site", Site: b.running()}}
	}})
	if err != nil {
		return nil, err
	}
	return server.New(h, server.Config{Addr: b.address, Drain: time.Second, ErrorLog: t.errorLine})
}

// address is where a browser finds what listens there.
func address(a net.Addr, tls bool) string {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}

func (t *terminal) panicked(stage string, value any, stack []byte) {
	fmt.Fprintf(t.err, "weir: component %s panicked: %v\n%s", stage, value, stack)
}
