package http

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"weir/lab/load"
)

// The limits of a Config. They keep a slip of the finger from taking the machine.
const (
	MaxConnections = load.MaxConnections
	MaxRate        = 1_000_000        // requests a second
	MaxRequests    = 1_000_000_000    //
	MinTimeout     = time.Millisecond //
	MaxTimeout     = 4 * time.Minute  // a time that long can still be recorded
	DefaultTimeout = 5 * time.Second
)

// Config says what load to offer. It isn't modified.
type Config struct {
	URL string // http://HOST[:PORT][/PATH][?QUERY]
	// 1 to MaxConnections; in the open loop without keep-alive how many may be under way at once
	Connections int
	Rate        float64       // requests a second in all, the open loop; 0 means the closed loop
	Requests    int64         // the closed loop ends after so many; 0 means no such end
	Duration    time.Duration // of the measured window; 0 only beside Requests or when steered
	Close       bool          // no keep-alive: a connection for each request
	// from when a request was due, or begun in the closed loop; 0 means DefaultTimeout
	Timeout   time.Duration
	Gzip      bool   // accept bodies in gzip
	Expect    []byte // what every body must be, decoded; nil: what the first one is
	MaxErrors int64  // the run stops after so many; 0 means never
	// to which every thread of this process is bound; empty leaves them as they are
	CPUs []int
}

type usage struct{ text string }

func (u usage) Error() string        { return "load: " + u.text }
func (u usage) Is(target error) bool { return target == load.ErrUsage }

// Check says what is wrong with c, in one sentence, or returns nil. A Config that is steered needs
// no Duration. Its errors are load.ErrUsage.
func (c Config) Check(steered bool) error {
	if _, err := c.address(); err != nil {
		return err
	}
	if why := c.checkNumbers(); why != "" {
		return usage{why}
	}
	if why := c.checkEnd(steered); why != "" {
		return usage{why}
	}
	return nil
}

func (c Config) checkNumbers() string {
	switch {
	case c.Connections < 1 || c.Connections > MaxConnections:
		return fmt.Sprintf("%d connections are out of range: give 1 to %d", c.Connections, MaxConnections)
	case c.Rate != 0 && !(c.Rate >= 1e-3 && c.Rate <= MaxRate):
		return fmt.Sprintf("a rate of %v requests a second is out of range: give 0.001 to %d, or none for a closed loop", c.Rate, MaxRate)
	case c.Timeout != 0 && (c.Timeout < MinTimeout || c.Timeout > MaxTimeout):
		return fmt.Sprintf("a timeout of %v is out of range: give %v to %v", c.Timeout, MinTimeout, MaxTimeout)
	case c.MaxErrors < 0:
		return fmt.Sprintf("an end after %d errors is out of range: give 1 or more, or 0 for none", c.MaxErrors)
	case slices.ContainsFunc(c.CPUs, func(cpu int) bool { return cpu < 0 || cpu > 1023 }):
		return fmt.Sprintf("the CPUs %v are out of range: give numbers from 0 to 1023", c.CPUs)
	}
	return ""
}

func (c Config) checkEnd(steered bool) string {
	switch {
	case c.Requests < 0 || c.Requests > MaxRequests:
		return fmt.Sprintf("%d requests are out of range: give 1 to %d", c.Requests, MaxRequests)
	case c.Requests > 0 && c.Rate > 0:
		return "a number of requests ends a closed loop: give --duration with a rate"
	case c.Requests > 0 && steered:
		return "a number of requests can't be steered: leave it out"
	case steered || c.Requests > 0 && c.Duration == 0:
		return ""
	case c.Duration < load.MinDuration || c.Duration > load.MaxDuration:
		return fmt.Sprintf("a duration of %v is out of range: give %v to %v", c.Duration, load.MinDuration, load.MaxDuration)
	}
	return ""
}

// address is the HOST:PORT to connect to.
func (c Config) address() (string, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.User != nil {
		return "", usage{fmt.Sprintf("the URL %q is not one: write http://HOST:PORT/PATH", c.URL)}
	}
	if u.Scheme != "http" {
		return "", usage{fmt.Sprintf("the URL %q is not plain HTTP: this generator speaks http:// alone", c.URL)}
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// request is what is sent for each answer. The URL is a good one.
func (c Config) request() []byte {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil
	}
	text := "GET " + u.RequestURI() + " HTTP/1.1\r\nHost: " + u.Host + "\r\nUser-Agent: weir-load\r\nAccept: */*\r\n"
	if c.Gzip {
		text += "Accept-Encoding: gzip\r\n"
	}
	if c.Close {
		text += "Connection: close\r\n"
	}
	return []byte(text + "\r\n")
}

func (c Config) timeout() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}
