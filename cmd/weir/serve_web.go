package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"weir/flow"
	"weir/web"
	"weir/web/components/accesslog"
	"weir/web/components/compress"
	"weir/web/components/files"
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
	config := server.Config{Addr: first(c.Listen, defaultListen), ErrorLog: t.errorLine}
	return serveWeb(ctx, t, h, config, c.Admin, func() *web.Handler { return h })
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

// serveWeb serves until ctx ends, with the admin page beside it if it has an address.
func serveWeb(ctx context.Context, t *terminal, h http.Handler, config server.Config, admin string, running func() *web.Handler) error {
	s, err := server.New(h, config)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.err, "weir: serving on %s\n", address(s.Addr(), config.TLS != nil))
	if admin == "" {
		return s.Run(ctx)
	}
	return errors.Join(s.Run(ctx))
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
