package wsload

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"time"

	"weir/lab/internal/schedule"
	"weir/lab/internal/tlsclient"
	"weir/lab/load"
	"weir/lab/workload/http/httpload"
)

// Limits of a Config, so that a typing error does not exhaust the machine.
const (
	MaxRate = 1_000_000 // messages per second
	MaxSize = 1 << 20   // bytes of a message
)

// ports are the schemes of URLs with their ports.
var ports = map[string]string{"ws": "80", "wss": "443"}

// TLS has the settings of wss:// URLs.
type TLS = tlsclient.Settings

// Config describes a load. Run does not modify it.
type Config struct {
	URL         string   // ws://HOST[:PORT][/PATH][?QUERY], or wss://
	TLS         TLS      // for wss://
	Headers     []string // further fields of the upgrade, as "Name: value"
	Connections int      // 1 to load.MaxConnections
	// messages per second over all connections (open loop); 0: closed loop, or without Echo nothing
	// is sent
	Rate float64
	// of the open loop: load.Staggered, load.Together or load.Poisson; empty: load.Staggered
	Pattern  string
	Seed     uint64        // of load.Poisson: the same seed has the same due times
	Size     int           // bytes of a message, 0 to MaxSize
	Text     bool          // messages are text; else binary
	Message  string        // content of every message, of Size bytes; empty: contents that differ
	Echo     bool          // the server echoes every message, or with Any answers it
	Any      bool          // with Echo: any message is the answer to the first that has none
	Duration time.Duration // of the measured window; 0 only when steered
	// from the due time of a message to its echo, in the closed loop from its start; 0:
	// load.DefaultTimeout
	Timeout time.Duration
	// CPUs that all threads of this process are bound to; empty: not changed
	CPUs       []int
	Histograms bool // the report has the distributions as histograms, for load.Merge
}

// Check returns an error that Is load.ErrUsage if c is invalid. A Config that is steered needs no
// Duration.
func (c Config) Check(steered bool) error {
	u, err := c.parseURL()
	if err != nil {
		return err
	}
	if err := httpload.CheckMix([]httpload.Request{{Headers: c.Headers}}); err != nil {
		return err
	}
	why := ""
	switch {
	case c.Size < 0 || c.Size > MaxSize:
		why = fmt.Sprintf("messages of %d bytes are out of range: give 0 to %d", c.Size, MaxSize)
	case c.Message != "" && len(c.Message) != c.Size:
		why = fmt.Sprintf("the size of %d bytes is not that of the message, %d: leave it out", c.Size, len(c.Message))
	case c.Any && !c.Echo:
		why = "any message is an answer only where answers are awaited: leave --count or --any out"
	case c.Pattern != "" && c.Rate == 0:
		why = "only messages with a rate have an arrival pattern: give a rate with it"
	}
	return load.Common{Connections: c.Connections, Rate: c.Rate, MaxRate: MaxRate, Unit: "messages", Pattern: c.Pattern, Duration: c.Duration, Timeout: c.Timeout, CPUs: c.CPUs}.
		Check(!steered, why, c.TLS.Wrong("wss", u.Scheme == "wss"))
}

// parseURL returns the URL of c.
func (c Config) parseURL() (*url.URL, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil:
		return nil, load.UsageError(fmt.Sprintf("the URL %q is invalid: write ws://HOST:PORT/PATH or wss://", c.URL))
	case ports[u.Scheme] == "":
		return nil, load.UsageError(fmt.Sprintf("the URL %q is not of WebSocket: write ws:// or wss://", c.URL))
	}
	return u, nil
}

// address returns the HOST:PORT to connect to. The URL must be valid.
func (c Config) address() string {
	u, err := c.parseURL()
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme]))
}

// tlsConfig returns the settings of a client; nil if the URL is not wss://.
func (c Config) tlsConfig() *tls.Config {
	u, err := c.parseURL()
	if err != nil || u.Scheme != "wss" {
		return nil
	}
	return c.TLS.Config(u.Hostname(), "http/1.1")
}

// schedule returns when the messages of an open loop are due.
func (c Config) schedule(start int64) schedule.Schedule {
	return schedule.Schedule{Start: start, Pattern: c.pattern(), N: c.Connections, Period: float64(c.Connections) * 1e9 / c.Rate, Seed: c.Seed}
}

// pattern returns the arrival pattern; "" without a rate.
func (c Config) pattern() string {
	if c.Rate == 0 {
		return ""
	}
	return cmp.Or(c.Pattern, load.Staggered)
}

func (c Config) timeout() time.Duration { return cmp.Or(c.Timeout, load.DefaultTimeout) }
