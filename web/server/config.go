package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"weir/internal/certificate"
	"weir/serve"
	"weir/web/http1"
	"weir/web/internal/client"
	"weir/web/internal/conn"
)

// Config configures a Server. The caller must not change it after New. For times and limits, zero
// means the default and a negative value means no limit.
type Config struct {
	// TCP address to listen on, such as ":8080" or "[::1]:0"; ignored with a Listener
	Addr     string
	Listener net.Listener // accepts connections instead of Addr; Run closes it

	// Engine serves HTTP/1: HTTP1 (the default) or NetHTTP. HTTP/2 and HTTP/3 are served by
	// net/http and quic-go.
	Engine string
	// Model is the concurrency model of the connections of HTTP/1: serve.Goroutine, or with HTTP1
	// also serve.Pool, serve.Loop, serve.Coroutine, serve.Prefork or serve.Process.
	Model serve.Way
	// Workers is the number of child processes of serve.Prefork (default: the processors), and at
	// most of serve.Process at once (default: 1,024). Limits hold for each process.
	Workers int
	// ChildCommand starts this program again as a child process, for serve.Prefork and
	// serve.Process: see [serve.Options]. There the program creates a server with the same
	// configuration and IsChild set. Addr and Listener are ignored in a child.
	ChildCommand []string
	IsChild      bool
	// ChildSignals are sent to all child processes: see [serve.Options]. Nil: none.
	ChildSignals <-chan os.Signal

	TLS   *TLS // nil: no TLS
	HTTP3 bool // also serve HTTP/3, on the UDP port of the same number; needs TLS

	// Limits the time from a request's first byte (or the start of the connection) to the end of
	// its head, and the time of a TLS handshake. Default: 10 s.
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration // between a response and the next request; default: 2 minutes
	// How long a body may arrive, or a response be read, more slowly than MinRate. Default: 20 s.
	SlowTransferGrace time.Duration
	MinRate           int // bytes per second; default: 500
	// How long graceful shutdown waits for requests in progress. Default: 10 s; negative: not at
	// all.
	DrainTimeout time.Duration

	// MaxConns limits the open connections. The default is 3/4 of the process's file descriptor
	// limit, at most 50,000. At the limit, a new connection replaces the longest idle one. If none
	// is idle, it waits to be accepted (over HTTP/3, it is rejected).
	MaxConns int
	// MaxConnsPerClient limits the open connections of one client: an IPv4 address or an IPv6 /64.
	// The default is an eighth of MaxConns, at least 16. At the limit, a new connection replaces
	// the client's longest idle one. If none is idle, the new one is closed, after a response 429
	// unless it uses TLS. Loopback, Unix sockets and trusted proxies have no such limit.
	MaxConnsPerClient int
	// TrustedProxies are addresses or prefixes, such as "10.0.0.0/8", of proxies and load
	// balancers. The server believes their X-Forwarded-For and X-Forwarded-Proto, so that handlers
	// see the client's address and scheme. Nil: none.
	TrustedProxies []string

	MaxHeadBytes int // of a request's head; default: 64 KiB, also if negative
	MaxFields    int // in a request's head; default: 100, also if negative

	// ErrorLog receives a line, without a line end, for each fault that is not reported to a
	// client: a failed handshake, a handler's panic, a certificate that cannot be loaded. Of each
	// kind it receives the first, then one a minute with the number suppressed. One goroutine at a
	// time calls it, and serving does not wait for it; shutdown waits at most a second. Nil: faults
	// are dropped.
	ErrorLog func(line string)
}

// TLS says where a certificate comes from: files, ACME, a local authority, or a shared source.
type TLS struct {
	// PEM files. After a change they are read again when a client connects, within a second.
	CertFile, KeyFile string
	ACME              *ACME
	Local             *Local
	// More are further certificates, which have no More themselves. The client's server name
	// (SNI) decides which one it gets. If none has the name, it gets the first one.
	More []TLS
	// Shared with others; its creator manages and closes it.
	Source *certificate.Source

	// TicketKeys is the file of the keys of session tickets. It is made if it does not exist, and
	// renewed. With it clients resume sessions after a restart, and at other servers with the same
	// file and a certificate for the same names. Child processes share the keys in any case. Empty:
	// a file in the folder of ACME or Local; without them, the keys end with the server. More
	// certificates have none.
	TicketKeys string
}

// withDefault returns n, or byDefault if n is zero, or none if n is negative.
func withDefault[T int | int64 | time.Duration](n, byDefault, none T) T {
	switch {
	case n == 0:
		return byDefault
	case n < 0:
		return none
	}
	return n
}

// validate returns an error for a configuration that cannot work.
func (c *Config) validate() error {
	switch {
	case c.Addr == "" && c.Listener == nil && !c.IsChild:
		return errors.New("server: no address to listen on: set Addr or Listener")
	case Unsupported(c.Engine, c.Model) != nil:
		return Unsupported(c.Engine, c.Model)
	case serve.Ways[c.Model].NeedsDescriptor && c.Listener != nil && !hasDescriptor(c.Listener):
		return fmt.Errorf("server: %s needs a Listener with a file descriptor, and %T has none: choose %s or %s", c.Model, c.Listener, serve.Goroutine, serve.Pool)
	case c.HTTP3 && c.TLS == nil:
		return errors.New("server: HTTP/3 needs TLS: set TLS, or leave HTTP3 out")
	}
	if err := c.validateProcesses(); err != nil {
		return err
	}
	if _, err := client.ParseTrustedProxies(c.TrustedProxies); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if c.TLS == nil {
		return nil
	}
	return c.TLS.validate()
}

func hasDescriptor(l net.Listener) bool {
	_, ok := l.(syscall.Conn)
	return ok
}

// validateProcesses returns an error for what several processes cannot share.
func (c *Config) validateProcesses() error {
	switch {
	case !serve.Ways[c.Model].MultiProcess && c.IsChild:
		return fmt.Errorf("server: IsChild is for models with child processes: %s has none", c.Model)
	case !serve.Ways[c.Model].MultiProcess:
		return nil
	case !c.IsChild && len(c.ChildCommand) == 0:
		return fmt.Errorf("server: %s starts this program again as a child process: set ChildCommand", c.Model)
	case c.HTTP3:
		return fmt.Errorf("server: HTTP/3 has its connections in one process, and %s has several: leave HTTP3 out", c.Model)
	case c.TLS != nil && (c.TLS.usesOneProcess() || slices.ContainsFunc(c.TLS.More, TLS.usesOneProcess)):
		return fmt.Errorf("server: ACME and Local renew certificates in one process, and %s has several: set CertFile and KeyFile", c.Model)
	}
	return nil
}

// UnsupportedState returns why a concurrency model cannot serve a handler: its components have
// state that several processes cannot share. It returns nil if the model can.
func UnsupportedState(h http.Handler, model serve.Way) error {
	in, ok := h.(interface{ InProcess() []string })
	if !ok || !serve.Ways[model].MultiProcess || len(in.InProcess()) == 0 {
		return nil
	}
	return fmt.Errorf("server: %s spreads connections over processes, but these components keep something in one: %s: remove them, or choose %s, %s, %s or %s",
		model, strings.Join(in.InProcess(), ", "), serve.Goroutine, serve.Pool, serve.Loop, serve.Coroutine)
}

// usesOneProcess reports whether a certificate is managed in a process.
func (t TLS) usesOneProcess() bool { return t.ACME != nil || t.Local != nil }

func (t *TLS) validate() error {
	sources := 0
	for _, isSet := range []bool{t.CertFile != "" || t.KeyFile != "", t.ACME != nil, t.Local != nil, t.Source != nil} {
		if isSet {
			sources++
		}
	}
	switch {
	case sources > 1:
		return errors.New("server: TLS has more than one source of certificates: set only one of files, ACME, Local and Source, and add others to More")
	case t.Source != nil && len(t.More) > 0:
		return errors.New("server: TLS has both Source and More: let Source choose among several certificates")
	}
	if err := t.validateSource(); err != nil {
		return err
	}
	for _, more := range t.More {
		if more.Source != nil || len(more.More) > 0 || more.TicketKeys != "" {
			return errors.New("server: a certificate of More has Source, More or TicketKeys: set files, ACME or Local")
		}
		if err := more.validate(); err != nil {
			return err
		}
	}
	return nil
}

// validateSource returns an error for a source of certificates that cannot work.
func (t *TLS) validateSource() (err error) {
	switch {
	case t.Source != nil:
	case t.ACME != nil:
		err = t.ACME.Validate()
	case t.Local != nil:
		err = t.Local.Validate()
	case t.CertFile == "" || t.KeyFile == "":
		err = errors.New("TLS needs CertFile and KeyFile, or ACME, or Local")
	}
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// connRules returns the timeouts and limits of connections.
func (c *Config) connRules() conn.Rules {
	return conn.Rules{
		Header: withDefault(c.HeaderTimeout, 10*time.Second, 0),
		Idle:   withDefault(c.IdleTimeout, 2*time.Minute, 0),
		Grace:  withDefault(c.SlowTransferGrace, 20*time.Second, 0),
		Rate:   int64(withDefault(c.MinRate, 500, 0)),
		HTTP:   http1.Limits{HeadBytes: c.maxHeadBytes(), Fields: max(c.MaxFields, 0)},
	}
}

func (c *Config) maxConns() int { return withDefault(c.MaxConns, defaultMaxConns(), 0) }

func (c *Config) maxConnsPerClient() int {
	return withDefault(c.MaxConnsPerClient, max(c.maxConns()/8, 16), 0)
}

func (c *Config) maxHeadBytes() int { return withDefault(c.MaxHeadBytes, 64<<10, 64<<10) }

func (c *Config) drainTimeout() time.Duration { return withDefault(c.DrainTimeout, 10*time.Second, 0) }

func (c *Config) logf(format string, args ...any) {
	if c.ErrorLog != nil {
		c.ErrorLog(fmt.Sprintf(format, args...))
	}
}

// lineWriter makes ErrorLog an io.Writer for log.New.
type lineWriter func(string)

func (l lineWriter) Write(p []byte) (int, error) {
	if l != nil {
		text := string(p)
		if n := len(text); n > 0 && text[n-1] == '\n' {
			text = text[:n-1]
		}
		l(text)
	}
	return len(p), nil
}
