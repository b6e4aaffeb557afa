package http

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"weir/lab/contract"
	"weir/lab/result"
	"weir/lab/subject"
	"weir/lab/workload"
	"weir/lab/workload/http/httpload"
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
	// replaces {size} in paths; where none has it, and no request is described, bytes of the body
	// of a POST; 0: none
	Size int `toml:"size"`

	Encryption
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
	if bad := cmp.Or(l.checkMix(in.Workload), l.checkSize(in.Workload), l.CheckLoop("requests", l.Arrivals, in.Connections, httpload.MaxRate), l.Encryption.Check()); bad != "" {
		return bad
	}
	most := float64(slices.Max(in.Connections))
	switch {
	case in.Workload == Requests && !requestTarget.MatchString(l.target()):
		return fmt.Sprintf("the path %q is not the target of a request: write for example /hello?name=me", l.Path)
	case in.Workload != Requests && !filePath.MatchString(l.Path) || strings.Contains(l.Path, ".."):
		return fmt.Sprintf("the path %q is not a plain file path: write for example /%s", l.Path, textFile)
	case most*float64(max(l.Streams, 1)) > httpload.MaxStreams:
		return fmt.Sprintf("%d streams on each of %.0f connections are too many: give at most %d on all", l.Streams, most, httpload.MaxStreams)
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

// Contract returns the checks of what the load needs of a server, over the given number of
// connections.
func (l *Load) Contract(connections int) contract.Kind {
	return Needs{Requests: l.described(), KeepAlive: !l.NoKeepAlive, Connections: connections, HTTP2: l.HTTP2, Streams: l.Streams, Encryption: l.Encryption}.Contract()
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
	r.Requests.Mix, r.Requests.HTTP2, r.Requests.Streams, r.Size = l.summary(), l.HTTP2, l.Streams, l.Size
	return r
}

// Meets implements workload.Load: it reports whether a subject can meet the load.
func (l *Load) Meets(s *subject.Subject, elsewhere bool) bool {
	return l.Encryption.Meets(s, elsewhere)
}

// Needs implements workload.Load.
func (l *Load) Needs() string { return l.Encryption.Needs() }
