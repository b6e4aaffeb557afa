package host

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"

	"weir/chat"
	"weir/chat/front"
	"weir/internal/listening"
	"weir/serve"
)

// entrance is a listener for IRC clients and how their connections are run.
type entrance struct {
	name     string // name in logs and metrics: "irc" for clear text, "ircs" for TLS
	listener net.Listener
	way      serve.Way    // loop and coroutine require a listener with a file descriptor
	meter    *serve.Meter // shared by all entrances of a name
}

// openEntrances opens the listeners for clients in clear text.
func (h *Host) openEntrances(c *Config) error {
	way, err := c.way()
	if err != nil {
		return err
	}
	listen := c.Listen
	if listen == nil {
		listen = []string{"127.0.0.1:6667"}
	}
	meter := new(serve.Meter)
	for _, address := range listen {
		l, err := h.listen("irc", "listen", address)
		if err != nil {
			return err
		}
		h.entrances = append(h.entrances, &entrance{name: "irc", listener: l, way: way, meter: meter})
	}
	return nil
}

// listen opens a listener, or takes over the one of the former process. key is the configuration's,
// for errors.
func (h *Host) listen(what, key, address string) (net.Listener, error) {
	l, err := h.inheritedListener(what, address)
	if l == nil && err == nil {
		l, err = net.Listen("tcp", address)
	}
	if err == nil {
		err = h.keepListener(what, address, l)
	}
	if err != nil {
		return nil, &Problem{key, listening.Explain(address, err).Error()}
	}
	h.listeners = append(h.listeners, func() {
		h.log.Info("listening", append([]any{"entrance", what, "address", l.Addr().String()}, h.urlOf(what, l.Addr())...)...)
		if h.events.Listening != nil {
			h.events.Listening(what, l.Addr())
		}
	})
	return l, nil
}

// urlOf returns the URL of an HTTP entrance as log attributes, nil for other entrances.
func (h *Host) urlOf(entrance string, at net.Addr) []any {
	scheme, path := "http", "/"
	switch {
	case entrance == "metrics":
		path = "/metrics"
	case entrance != "web":
		return nil
	case h.Config().TLS.Web:
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return []any{"url", scheme + "://" + net.JoinHostPort(host, port) + path}
}

// reportListening reports all listeners, once the host is open.
func (h *Host) reportListening() {
	for _, tell := range h.listeners {
		tell()
	}
	h.listeners = nil
}

// reserveProcessors raises GOMAXPROCS, where there are few processors, to that of the event loops
// and two more. A loop keeps one for itself (see package serve), and a commit holds one during its
// fsync. While a third is idle, the runtime does not look every 20 us whether to take back that of
// the commit, which was a fifth of the server's CPU.
func (h *Host) reserveProcessors() {
	loops := 0
	for _, e := range h.entrances {
		if serve.Ways[e.way].LinuxOnly {
			loops += max(1, h.Config().Loops)
		}
	}
	if loops > 0 && runtime.GOMAXPROCS(0) < loops+2 { // a call ends the runtime's own updates
		runtime.GOMAXPROCS(loops + 2)
	}
}

// serveEntrance serves an entrance until ctx ends.
func (h *Host) serveEntrance(ctx context.Context, e *entrance) error {
	c := h.Config()
	service := h.chat.Sessions()
	service.Open = (&front.Door{Chat: h.chat, Proxies: h.proxies}).Open
	o := serve.Options{Loops: c.Loops, Workers: c.connections(), SendQueue: chat.Outbox, DrainTimeout: c.drain(), OnPanic: h.panicked, Meter: e.meter}
	h.setHandover(e, &o)
	err := serve.Run(ctx, e.way, e.listener, service, o)
	if errors.Is(err, serve.ErrDeadline) {
		err = nil // a client did not read until the deadline
	}
	return err
}

func (e *entrance) close() error { return ignoreClosed(e.listener.Close()) }

func (c *Config) connections() int {
	if c.Limits.Connections == 0 {
		return 10_000
	}
	return c.Limits.Connections
}
