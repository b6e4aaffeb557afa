package server

import (
	"errors"
	"fmt"
	"net"
	"time"

	"weir/internal/certificate"
	"weir/web/http1"
	"weir/web/internal/client"
	"weir/web/internal/conn"
)

// Config is how to serve. It is not changed, nor may it be, once New has it. Times and limits: zero
// is the default, negative is none.
type Config struct {
	// TCP address to listen on, such as ":8080" or "[::1]:0"; not used with a Listener
	Addr     string
	Listener net.Listener // where connections come from instead; Run closes it

	TLS   *TLS // nil: no TLS
	HTTP3 bool // HTTP/3 as well, on the UDP port of the same number; needs TLS

	// from a request's first byte (or the connection's beginning) to its head's end, and for a TLS
	// handshake; 10 s
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration // between an answer and the next request; 2 minutes
	// how long a body may come, or an answer be read, more slowly than Rate; 20 s
	Grace time.Duration
	Rate  int // bytes a second; 500
	// how long a stop waits for what is being done; 10 s, negative: not at all
	Drain time.Duration

	// MaxConns is how many connections may be open at a time; 3/4 of the descriptors the process
	// may have, at most 50,000. A new one takes the place of the longest idle; when none is idle,
	// it waits to be accepted (by HTTP/3, it is refused).
	MaxConns int
	// MaxConnsPerClient is how many a client's address may have open of these, 64 bits of an
	// address of version 6 being one; an eighth of MaxConns, at least 16. Its own longest idle one
	// gives way to a further one; when none is idle, that is closed, after an answer 429 unless
	// there is TLS. Loopback, Unix sockets and trusted fronts have no such limit.
	MaxConnsPerClient int
	// Trusted are the fronts, such as load balancers, that tell by X-Forwarded-For and
	// X-Forwarded-Proto where a request came from: addresses or prefixes, such as "10.0.0.0/8". The
	// request then is its client's for all that handle it. Nil: there is none.
	Trusted []string

	HeadBytes int // of a request's head; 64 KiB, negative: the default
	Fields    int // in a request's head; 100, negative: the default

	// ErrorLog gets a line, without a line end, for faults that no request can be told: a failed
	// handshake, a handler's panic, a certificate that cannot be loaded. Of one kind it gets the
	// first, and then one a minute with the number of those left out. It is called by one goroutine
	// at a time, and serving does not wait for it; a stop waits a second at most. Nil: they are
	// dropped.
	ErrorLog func(line string)
}

// TLS is where certificates come from: files, ACME, or whoever has them.
type TLS struct {
	// PEM; read again within a second of a change, when a client next connects
	CertFile, KeyFile string
	ACME              *ACME
	// which others may use too; whoever made it manages and closes it
	Source *certificate.Source
}

// or is n, otherwise when it is zero, and none when it is negative.
func or[T int | int64 | time.Duration](n, otherwise, none T) T {
	switch {
	case n == 0:
		return otherwise
	case n < 0:
		return none
	}
	return n
}

// validate says in one sentence what cannot work.
func (c *Config) validate() error {
	switch {
	case c.Addr == "" && c.Listener == nil:
		return errors.New("server: no address to listen on: set Addr or Listener")
	case c.HTTP3 && c.TLS == nil:
		return errors.New("server: HTTP/3 needs TLS: set TLS, or leave HTTP3 out")
	}
	if _, err := client.ReadFronts(c.Trusted); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if c.TLS == nil {
		return nil
	}
	return c.TLS.validate()
}

func (t *TLS) validate() error {
	files := t.CertFile != "" || t.KeyFile != ""
	switch {
	case files && t.ACME != nil, t.Source != nil && (files || t.ACME != nil):
		return errors.New("server: TLS has both files and ACME: leave one out")
	case t.Source != nil:
		return nil
	case t.ACME != nil:
		if err := t.ACME.Validate(); err != nil {
			return fmt.Errorf("server: %w", err)
		}
		return nil
	case t.CertFile == "" || t.KeyFile == "":
		return errors.New("server: TLS needs CertFile and KeyFile, or ACME")
	}
	return nil
}

// rules are the timeouts of connections.
func (c *Config) rules() conn.Rules {
	return conn.Rules{
		Header: or(c.HeaderTimeout, 10*time.Second, 0),
		Idle:   or(c.IdleTimeout, 2*time.Minute, 0),
		Grace:  or(c.Grace, 20*time.Second, 0),
		Rate:   int64(or(c.Rate, 500, 0)),
		HTTP:   http1.Limits{HeadBytes: c.headBytes(), Fields: max(c.Fields, 0)},
	}
}

func (c *Config) maxConns() int { return or(c.MaxConns, usualConns(), 0) }

func (c *Config) maxConnsPerClient() int {
	return or(c.MaxConnsPerClient, max(c.maxConns()/8, 16), 0)
}

func (c *Config) headBytes() int { return or(c.HeadBytes, 64<<10, 64<<10) }

func (c *Config) drain() time.Duration { return or(c.Drain, 10*time.Second, 0) }

func (c *Config) logf(format string, args ...any) {
	if c.ErrorLog != nil {
		c.ErrorLog(fmt.Sprintf(format, args...))
	}
}

// lines makes an ErrorLog a writer for log.New.
type lines func(string)

func (l lines) Write(p []byte) (int, error) {
	if l != nil {
		text := string(p)
		if n := len(text); n > 0 && text[n-1] == '\n' {
			text = text[:n-1]
		}
		l(text)
	}
	return len(p), nil
}
