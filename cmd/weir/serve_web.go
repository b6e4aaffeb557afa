package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"weir/flow"
	"weir/internal/lograte"
	"weir/web"
	"weir/web/admin"
	"weir/web/components/accesslog"
	"weir/web/components/auth"
	"weir/web/components/basic"
	"weir/web/components/compress"
	"weir/web/components/files"
	"weir/web/components/metrics"
	"weir/web/server"
)

const defaultListen = "127.0.0.1:8080"

// serveFolder serves a folder.
func (c *serveRunCmd) serveFolder(ctx context.Context, t *terminal) error {
	faults := lograte.New(10*time.Second, func(format string, args ...any) { t.errorLine(fmt.Sprintf(format, args...)) })
	defer faults.Flush(true)
	composition, closeAll, err := c.folder(faults)
	if err != nil {
		return err
	}
	defer closeAll()
	panicked := func(stage string, value any, stack []byte) {
		faults.Say("panic in "+stage, fmt.Sprintf("component %s panicked: %v\n%s", stage, value, bytes.TrimSpace(stack)))
	}
	h, err := web.New(composition, web.Options{Way: flow.Way(c.Way), OnPanic: panicked, OnFailure: func(f web.Failure) {
		faults.Say(fmt.Sprint(f.Status), fmt.Sprintf("%s %q: answered by %d: %v", f.Method, f.Target, f.Status, f.Err))
	}})
	if err != nil {
		return err
	}
	defer h.Close()
	config := server.Config{Addr: first(c.Listen, c.usualListen()), ErrorLog: t.errorLine}
	if err := c.setEngine(&config, "", ""); err != nil {
		return err
	}
	return c.serveOn(ctx, t, []service{{"", h, config}}, beside{address: c.Admin, users: c.AdminUsers, sites: func() []metrics.Site { return []metrics.Site{{Name: "site", Site: h}} }})
}

// folder returns the composition that serves a folder, and the function that closes it.
func (c *serveRunCmd) folder(faults *lograte.Limiter) (web.Component, func(), error) {
	source, err := files.New(files.Config{Dir: c.Target, List: true})
	if err != nil {
		return nil, nil, err
	}
	zip, err := compress.New(compress.Config{})
	if err != nil {
		return nil, nil, err
	}
	pages, err := basic.ErrorPages(basic.ErrorPagesConfig{})
	if err != nil {
		return nil, nil, err
	}
	parts := []web.Component{pages, source, zip}
	if c.Log == "" {
		return web.Chain(parts...), closer(source), nil
	}
	where := accesslog.Config{File: c.Log, OnError: func(err error) { faults.Say("log", err.Error()) }}
	if c.Log == "-" {
		where.File, where.Writer, where.Flush = "", os.Stdout, "100ms"
	}
	log, err := accesslog.New(where)
	if err != nil {
		return nil, nil, err
	}
	return web.Chain(append([]web.Component{log}, parts...)...), closer(log, source), nil
}

// closer returns a function that closes each io.Closer, in this order.
func closer(all ...any) func() {
	return func() {
		for _, c := range all {
			if c, ok := c.(io.Closer); ok {
				_ = c.Close()
			}
		}
	}
}

// beside is the admin page beside a site.
type beside struct {
	address string                // empty: no page
	users   string                // users file; empty: no login, on a loopback address only
	sites   func() []metrics.Site // the running compositions
	counts  *metrics.Metrics      // nil: the metrics of the process only
}

// service is a server to run, with its name in messages; empty if there is one.
type service struct {
	name    string
	handler http.Handler
	config  server.Config
}

// prefix starts the messages about the service.
func (s service) prefix() string {
	if s.name == "" {
		return ""
	}
	return fmt.Sprintf("server %q: ", s.name)
}

// listen opens the servers of all services, or none.
func listen(all []service) ([]*server.Server, error) {
	var open []*server.Server
	for _, one := range all {
		s, err := server.New(one.handler, one.config)
		if err != nil {
			if one.name != "" {
				err = fmt.Errorf("%s%w", one.prefix(), err)
			}
			return nil, errors.Join(err, closeServers(open))
		}
		open = append(open, s)
	}
	return open, nil
}

// closeServers closes servers that did not run.
func closeServers(all []*server.Server) error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// serveWeb serves until ctx ends, with the admin page if it has an address. The servers shut down
// together, each within its own drain timeout. The admin page ends with them. If a server fails,
// the others are shut down.
func serveWeb(ctx context.Context, t *terminal, all []service, b beside) error {
	servers, err := listen(all)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var page, running sync.WaitGroup
	var pageErr error
	if b.address != "" {
		a, closePage, err := b.server(t)
		if err != nil {
			return errors.Join(err, closeServers(servers))
		}
		defer closePage()
		fmt.Fprintf(t.err, "weir: admin page on %s\n", address(a.Addr(), false))
		page.Go(func() {
			if pageErr = a.Run(ctx); errors.Is(pageErr, server.ErrDrainTimeout) {
				pageErr = nil // a running profile is not waited for
			}
			stop()
		})
	}
	errs := make([]error, len(servers))
	for i, s := range servers {
		sayTrust(t, all[i])
		if !all[i].config.IsChild {
			fmt.Fprintf(t.err, "weir: %sserving on %s\n", all[i].prefix(), address(s.Addr(), all[i].config.TLS != nil))
		}
		running.Go(func() {
			if errs[i] = s.Run(ctx); errs[i] != nil && all[i].name != "" {
				errs[i] = fmt.Errorf("%s%w", all[i].prefix(), errs[i])
			}
			stop()
		})
	}
	defer onSecond(ctx, func() {
		for _, s := range servers {
			s.AbortDrain()
		}
	})()
	running.Wait()
	page.Wait()
	return errors.Join(append(errs, pageErr)...)
}

// sayTrust says how clients trust a self-signed certificate.
func sayTrust(t *terminal, s service) {
	if s.config.TLS == nil {
		return
	}
	for _, one := range append([]server.TLS{*s.config.TLS}, s.config.TLS.More...) {
		if one.Local == nil {
			continue
		}
		file, err := filepath.Abs(one.Local.CertFile())
		if err != nil {
			file = one.Local.CertFile()
		}
		fmt.Fprintf(t.err, "weir: %sself-signed certificate for %s: browsers trust it once they have imported %s as an authority (for local names only); curl takes --cacert %s\n",
			s.prefix(), strings.Join(one.Local.AllNames(), ", "), file, file)
	}
}

// server returns the server of the admin page.
func (b beside) server(t *terminal) (*server.Server, func(), error) {
	host, _, err := net.SplitHostPort(b.address)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("the admin address is %q: write HOST:PORT", b.address)}
	}
	h, err := b.page(host)
	if err != nil {
		return nil, nil, err
	}
	closePage := func() {}
	if b.users != "" {
		asks, err := guarded(h, b.users, t)
		if err != nil {
			return nil, nil, err
		}
		h, closePage = asks, func() { _ = asks.Close() }
	}
	s, err := server.New(h, server.Config{Addr: b.address, DrainTimeout: time.Second, ErrorLog: t.errorLine})
	if err != nil {
		closePage()
		return nil, nil, err
	}
	if at, ok := s.Addr().(*net.TCPAddr); b.users == "" && !(ok && at.IP.IsLoopback()) {
		closePage()
		return nil, nil, errors.Join(usageError{fmt.Errorf("the admin address is %s, which other machines can reach: its page, profiles and command line would be "+
			"without a login: write 127.0.0.1:PORT, or give a users file from weir serve password (admin_users in the block server, or --admin-users)", b.address)}, s.Close())
	}
	return s, closePage, nil
}

// page returns the handler of the admin page, for requests to a host.
func (b beside) page(host string) (http.Handler, error) {
	counts := b.counts
	if counts == nil {
		counts = metrics.New()
	}
	var hosts []string
	if host != "" {
		hosts = []string{host}
	}
	return admin.New(admin.Config{Metrics: counts, Hosts: hosts, Source: b.sites})
}

// guarded returns a handler that requires a login of a users file.
func guarded(h http.Handler, users string, t *terminal) (*web.Handler, error) {
	login, err := auth.Basic(auth.BasicConfig{Users: users, Realm: "weir admin", OnError: func(err error) { t.errorLine(err.Error()) }}, nil)
	if err != nil {
		return nil, err
	}
	return web.New(web.Chain(login, web.FromHTTP(h)), web.Options{OnPanic: t.panicked})
}

// address returns the URL of a listener.
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
