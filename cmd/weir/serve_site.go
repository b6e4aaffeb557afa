package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"weir/flow"
	"weir/web/server"
	"weir/web/site"
)

// enter changes the working directory to that of a site file, to which its paths are relative, and
// returns the file's name there.
func enter(file string) (string, error) {
	if err := os.Chdir(filepath.Dir(file)); err != nil {
		return "", err
	}
	return filepath.Base(file), nil
}

// explain prints the errors of a site file with their lines.
func explain(t *terminal, err error) error {
	wrong, ok := errors.AsType[*site.Error](err)
	if !ok {
		return err
	}
	if err := wrong.Explain(t.err, uint(t.width()), t.errTTY && os.Getenv("NO_COLOR") == ""); err != nil {
		return err
	}
	return errors.New("the site file is invalid: correct the lines above")
}

// serveSite serves the site of a site file, and reloads it when it changes.
func (c *serveRunCmd) serveSite(ctx context.Context, t *terminal) error {
	values, err := c.values()
	if err != nil {
		return err
	}
	file, err := enter(c.Target)
	if err != nil {
		return err
	}
	report := t.report
	if c.isChild { // its parent reads the file, too, and reports that
		report = func(e site.Event) {
			if e.Type != "refused" && e.Type != "reloaded" {
				t.report(e)
			}
		}
	}
	values.Engine, values.Model = c.Engine, c.Model
	// before the site is read, so that no reload is lost
	reload := watchReloads(c.isChild)
	defer reload.stop()
	live, err := site.NewLive(file, flow.Way(c.Way), report, values)
	if err != nil {
		return explain(t, err)
	}
	defer live.Close()
	all, err := c.services(t, live, reload)
	if err != nil {
		return err
	}
	page := beside{address: c.Admin, users: c.AdminUsers, sites: live.Sites, counts: live.Metrics()}
	for _, said := range live.Servers() { // one at most has an admin page
		page.address, page.users = first(page.address, said.Admin), first(page.users, said.AdminUsers)
	}
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() { live.Watch(watching, reload.site) })
	defer watcher.Wait()
	defer stop()
	return c.serveOn(ctx, t, all, page)
}

// services returns the servers of a live site.
func (c *serveRunCmd) services(t *terminal, live *site.Live, reload *reloads) ([]service, error) {
	servers := live.Servers()
	if c.Listen != "" && len(servers) > 1 {
		return nil, usageError{fmt.Errorf("--listen is for one server, and the site file has %d: change the attribute listen of each", len(servers))}
	}
	var all []service
	for i, said := range servers {
		one := service{name: said.Name, handler: live.Serve(i)}
		var err error
		if one.config, err = settings(said); err != nil {
			return nil, err
		}
		if err = c.setEngine(&one.config, said.Engine, said.Model); err != nil {
			return nil, err
		}
		one.config.Addr = first(c.Listen, said.Listen, c.usualListen())
		one.config.ErrorLog = func(line string) { t.errorLine(one.prefix() + line) }
		one.config.ChildSignals = reload.children
		all = append(all, one)
	}
	return all, nil
}

// settings returns the server's configuration from the "server" block of a site file.
func settings(s site.Server) (server.Config, error) {
	c := server.Config{MaxConns: s.MaxConnections, MaxHeadBytes: s.MaxHeaderBytes, MaxConnsPerClient: s.MaxConnectionsPerClient, TrustedProxies: s.Trusted}
	for _, d := range []struct {
		said string
		into *time.Duration
	}{{s.ReadHeaderTimeout, &c.HeaderTimeout}, {s.IdleTimeout, &c.IdleTimeout}, {s.DrainTimeout, &c.DrainTimeout}} {
		var err error
		if *d.into, err = site.Duration(d.said); err != nil {
			return c, err
		}
	}
	for i, said := range s.TLS {
		one := certificateOf(said)
		c.HTTP3 = c.HTTP3 || said.HTTP3
		if i == 0 {
			c.TLS, one.TicketKeys = &one, s.TicketKeys
		} else {
			c.TLS.More = append(c.TLS.More, one)
		}
	}
	return c, nil
}

// certificateOf returns the configuration of a certificate from a block tls.
func certificateOf(t site.TLS) server.TLS {
	c := server.TLS{CertFile: t.Cert, KeyFile: t.Key}
	store := first(t.Store, "certificates")
	if len(t.ACME) > 0 {
		c.ACME = &server.ACME{Names: t.ACME, Email: t.Email, Agreed: t.Agreed, Dir: store, CA: t.CA}
	}
	if t.SelfSigned {
		c.Local = &server.Local{Names: t.Names, Dir: store}
	}
	return c
}

// report prints an event of a live site.
func (t *terminal) report(e site.Event) {
	switch e.Type {
	case "refused":
		fmt.Fprintf(t.err, "weir: %v; the running configuration stays in effect\n", explain(t, e.Err))
	case "reloaded":
		fmt.Fprintln(t.err, "weir: reloaded", e.Text)
	default:
		fmt.Fprintln(t.err, "weir:", e.Text)
	}
}

func (t *terminal) errorLine(line string) { fmt.Fprintln(t.err, "weir:", line) }

// first returns the first string that is not empty.
func first(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}
