package http

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"weir/lab/contract"
	"weir/lab/load"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http/httpload"
	"weir/lab/workload/stream/streamload"
)

// Load is the requests offered to a subject. Without a Rate the loop is closed: a connection sends
// its next request when it has received the answer to the last.
type Load struct {
	workload.Common
	// arrival pattern of requests with a rate: staggered, together or poisson; empty: staggered
	Arrivals string `toml:"pattern"`
	// path of the request; empty: "/page.html", "/4k.html" or "/" by the workload
	Path        string `toml:"path"`
	NoKeepAlive bool   `toml:"no_keep_alive"` // one connection per request
	// closed loop only: also report the time that so many requests take, and its lower bound; the
	// window still ends by time
	Requests int `toml:"requests"`
	// milliseconds that every SleepEvery-th request sleeps in the subject
	SleepMS    int `toml:"sleep_ms"`
	SleepEvery int `toml:"sleep_every"` // 0: none
	// components in the subject that pass every request through unchanged
	Filters int  `toml:"filters"`
	Gzip    bool `toml:"gzip"` // the subject compresses the responses

	// For the workload requests:

	// a file of described requests, as of weir load http --mix
	MixFile string `toml:"mix"`
	// described requests, sent by their weights in a random order; with a MixFile those of it.
	// None: a GET of Path
	Mix   []httpload.Request `toml:"request"`
	HTTP2 bool               `toml:"http2"`
	// requests at once on each connection, with HTTP2; 0: 1
	Streams int `toml:"streams"`
	// requests by TLS 1.3; only for subjects that take a certificate
	TLS bool `toml:"tls"`
}

// maxStreams bounds Load.Streams.
const maxStreams = 1000

// maxRequests bounds Load.Requests.
const maxRequests = 1_000_000_000

// requestTarget matches the path and the query of a request, filePath the path of a file.
var (
	requestTarget = regexp.MustCompile(`^/[!$-;=?-Z_a-z~]*$`)
	filePath      = regexp.MustCompile(`^/[^ ?#%\\]*$`)
)

// defaultPaths are the paths of requests by workload.
var defaultPaths = map[string]string{Page: "/" + pageFile, Files: "/" + textFile, Proxy: "/" + textFile, Requests: "/"}

// Clone implements workload.Load.
func (l *Load) Clone() workload.Load { c := *l; return &c }

// Pattern implements workload.Load.
func (l *Load) Pattern() string { return l.LoopPattern(l.Arrivals) }

// Check implements workload.Load.
func (l *Load) Check(in workload.Context) string {
	workload.SetDefault(&l.Path, defaultPaths[in.Workload])
	if bad := l.checkMix(in.Workload); bad != "" {
		return bad
	}
	most := float64(slices.Max(in.Connections))
	switch {
	case l.CheckConnections() != "":
		return l.CheckConnections()
	case in.Workload == Requests && !requestTarget.MatchString(l.Path):
		return fmt.Sprintf("the path %q is not the target of a request: write for example /hello?name=me", l.Path)
	case in.Workload != Requests && !filePath.MatchString(l.Path) || strings.Contains(l.Path, ".."):
		return fmt.Sprintf("the path %q is not a plain file path: write for example /%s", l.Path, textFile)
	case l.Rate != 0 && !(l.Rate >= 1e-3 && l.Rate*most <= streamload.MaxRate):
		return fmt.Sprintf("a rate of %v requests a second a connection is out of range: give 0.001 to %.0f for %.0f connections, or none for a closed loop", l.Rate, streamload.MaxRate/most, most)
	case l.Arrivals != "" && !slices.Contains(load.Patterns, l.Arrivals):
		return fmt.Sprintf("the pattern %q is unknown: give staggered, together or poisson", l.Arrivals)
	case l.Arrivals != "" && l.Rate == 0:
		return "a closed loop has no arrival pattern: give a rate with it"
	case l.Requests < 0 || l.Requests > maxRequests || l.Requests > 0 && l.Rate != 0:
		return fmt.Sprintf("requests must be from 0 to %d, and are for a closed loop, which has no rate", maxRequests)
	case l.SleepMS < 0 || l.SleepMS > 60_000 || l.SleepEvery < 0 || (l.SleepMS > 0) != (l.SleepEvery > 0):
		return "sleep_ms must be from 0 to 60000, and with it sleep_every says which requests sleep"
	case l.Filters < 0 || l.Filters > 1000:
		return "filters must be from 0 to 1000"
	case slices.ContainsFunc(l.Mix, func(r httpload.Request) bool { return r.GRPC }):
		return "gRPC calls are for the workload grpc: describe one by its keys"
	}
	return ""
}

// checkMix reads the file of described requests, and returns what is wrong with these.
func (l *Load) checkMix(workload string) string {
	var err error
	switch {
	case workload != Requests && (l.MixFile != "" || len(l.Mix) > 0 || l.HTTP2 || l.Streams != 0):
		return "mix, request, http2 and streams are for the workload requests: leave them out, or set that"
	case l.Streams < 0 || l.Streams > maxStreams || l.Streams > 0 && !l.HTTP2:
		return fmt.Sprintf("streams must be from 1 to %d, and are for http2", maxStreams)
	case l.HTTP2 && l.NoKeepAlive:
		return "http2 keeps its connections: leave no_keep_alive out"
	case l.MixFile != "":
		l.Mix, err = httpload.ReadMix(l.MixFile)
	case len(l.Mix) > 0:
		for i := range l.Mix {
			err = errors.Join(err, l.Mix[i].ReadFiles("."))
		}
		err = cmp.Or(err, httpload.CheckMix(l.Mix))
	}
	if err != nil {
		return strings.TrimPrefix(err.Error(), "load: ")
	}
	return ""
}

// described returns the requests of the load.
func (l *Load) described() []httpload.Request {
	if len(l.Mix) > 0 {
		return l.Mix
	}
	return []httpload.Request{{Path: l.Path, Check: httpload.Check{Same: true}}}
}

// Contract returns the checks of what the load needs of a server, over the given number of
// connections.
func (l *Load) Contract(connections int) contract.Kind {
	return Needs{Requests: l.described(), KeepAlive: !l.NoKeepAlive, Connections: connections}.Contract()
}

// summary describes the described requests in the results: the first of them, and a digest of all.
func (l *Load) summary() string {
	if len(l.Mix) == 0 {
		return ""
	}
	text, err := httpload.FormatMix(l.Mix)
	if err != nil {
		return ""
	}
	first := cmp.Or(l.Mix[0].Method, "GET") + " " + cmp.Or(l.Mix[0].Path, l.Path)
	if len(l.Mix) > 1 {
		first += fmt.Sprintf(" and %d more", len(l.Mix)-1)
	}
	return fmt.Sprintf("%s, SHA-256 %.8x", first, sha256.Sum256(text))
}

// MessageRate implements workload.Load.
func (l *Load) MessageRate(connections int) float64 {
	if l.Rate > 0 {
		return l.Rate * float64(connections)
	}
	return math.Min(workload.GuessedRate, l.Recorded().Requests.Ceiling(connections))
}

// Recorded implements workload.Load.
func (l *Load) Recorded() result.Load {
	r := l.Common.Recorded()
	r.Requests.Path, r.Requests.Pattern, r.Requests.NoKeepAlive, r.Requests.Count = l.Path, l.Arrivals, l.NoKeepAlive, l.Requests
	r.Requests.SleepMS, r.Requests.SleepEvery, r.Requests.Filters, r.Requests.Gzip, r.Requests.TLS = l.SleepMS, l.SleepEvery, l.Filters, l.Gzip, l.TLS
	r.Requests.Mix, r.Requests.HTTP2, r.Requests.Streams = l.summary(), l.HTTP2, l.Streams
	return r
}

// Meets reports whether a subject can meet the load: requests by TLS need a subject that takes a
// certificate.
func (l *Load) Meets(s *subject.Subject, elsewhere bool) bool {
	return !l.TLS || !elsewhere && s.ServesTLS()
}

// Needs implements workload.Load.
func (l *Load) Needs() string { return "subjects with {cert}" }
