package httpload

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/lab/internal/schedule"
	"weir/lab/load"
)

// Limits of a Config, so that a typing error does not exhaust the machine.
const (
	MaxRate     = 1_000_000 // requests per second
	MaxRequests = 1_000_000_000
)

// Config describes a load. Run does not modify it.
type Config struct {
	URL string // http://HOST[:PORT][/PATH][?QUERY], or https://
	// described requests, which are sent in a random order by their weights; empty: a GET of URL.
	// The same Seed has the same order
	Mix []Request
	TLS TLS // for https://
	// 1 to load.MaxConnections; in the open loop without keep-alive the limit of requests under way
	Connections int
	// requests per second over all connections (open loop); 0: closed loop
	Rate float64
	// of the open loop: load.Staggered, load.Together or load.Poisson; empty: load.Staggered
	Pattern  string
	Seed     uint64        // of load.Poisson and Mix: the same seed has the same times and order
	Requests int64         // number of requests after which a closed loop ends; 0: no limit
	Duration time.Duration // of the measured window; 0 only with Requests or when steered
	Close    bool          // no keep-alive: a new connection for each request
	// over https:// by ALPN, over http:// with prior knowledge; it needs keep-alive
	HTTP2 bool
	// requests under way on a connection of HTTP/2; 0: 1. Each is due as those of a connection are
	Streams int
	// from the due time of a request, in the closed loop from its start; 0: load.DefaultTimeout
	Timeout time.Duration
	Gzip    bool // accept gzip
	// expected body, decoded, of the only request; nil: what Mix says, or without a Mix the body of
	// the first response
	Expect    []byte
	MaxErrors int64 // errors after which the run stops; 0: no limit
	// CPUs that all threads of this process are bound to; empty: not changed
	CPUs       []int
	Histograms bool // the report has the distributions as histograms, for load.Merge
}

// Check returns an error that Is load.ErrUsage if c is invalid. A Config that is steered needs no
// Duration.
func (c Config) Check(steered bool) error {
	if _, err := c.address(); err != nil {
		return err
	}
	scheme, _, _ := strings.Cut(c.URL, ":")
	return load.Common{Connections: c.Connections, Rate: c.Rate, MaxRate: MaxRate, Unit: "requests", Pattern: c.Pattern, Duration: c.Duration, Timeout: c.Timeout, CPUs: c.CPUs}.
		Check(!steered && c.Requests == 0, c.TLS.Wrong("https", strings.EqualFold(scheme, "https")), cmp.Or(c.checkEnd(steered), c.checkHTTP2(), c.checkMix()))
}

// schedule returns when the requests of an open loop are due. Without keep-alive the connections
// of the schedule only determine the size of a burst.
func (c Config) schedule(start int64) schedule.Schedule {
	n := c.Connections * max(c.Streams, 1)
	return schedule.Schedule{Start: start, Pattern: c.pattern(), N: n, Period: float64(n) * 1e9 / c.Rate, Seed: c.Seed}
}

func (c Config) checkEnd(steered bool) string {
	switch {
	case c.Pattern != "" && c.Rate == 0:
		return "a closed loop has no arrival pattern: give a rate with it"
	case c.MaxErrors < 0:
		return fmt.Sprintf("a limit of %d errors is out of range: give 1 or more, or 0 for none", c.MaxErrors)
	case c.Requests < 0 || c.Requests > MaxRequests:
		return fmt.Sprintf("%d requests are out of range: give 1 to %d", c.Requests, MaxRequests)
	case c.Requests > 0 && c.Rate > 0:
		return "a number of requests ends a closed loop: give --duration with a rate"
	case c.Requests > 0 && steered:
		return "a number of requests cannot be used with --steer: leave it out"
	}
	return ""
}

// checkMix returns what is wrong with the described requests, or "".
func (c Config) checkMix() string {
	switch {
	case c.Expect != nil && len(c.Mix) > 1:
		return "an expected body is of one request: give it in the check of each of several"
	case c.Expect != nil && len(c.Mix) == 1 && (c.Mix[0].Check.Same || c.Mix[0].Check.Body != nil || c.Mix[0].Check.partial()):
		return "an expected body leaves nothing else to check: give the body or the other checks"
	}
	if !c.HTTP2 && slices.ContainsFunc(c.Mix, func(r Request) bool { return r.GRPC }) {
		return "a gRPC call is sent over HTTP/2: give --http2 with it"
	}
	return wrongMix(c.Mix)
}

// address returns the HOST:PORT to connect to.
func (c Config) address() (string, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Hostname() == "" || u.User != nil {
		return "", load.UsageError(fmt.Sprintf("the URL %q is invalid: write http://HOST:PORT/PATH or https://", c.URL))
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if port == "" {
		return "", load.UsageError(fmt.Sprintf("the URL %q is not of the web: write http:// or https://", c.URL))
	}
	port = cmp.Or(u.Port(), port)
	return net.JoinHostPort(u.Hostname(), port), nil
}

// pattern returns the arrival pattern; "" in a closed loop.
func (c Config) pattern() string {
	if c.Rate == 0 {
		return ""
	}
	return cmp.Or(c.Pattern, load.Staggered)
}

func (c Config) timeout() time.Duration { return cmp.Or(c.Timeout, load.DefaultTimeout) }
