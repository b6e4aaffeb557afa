// Package admin serves pages for operators: the network of a server, drawn live in the browser, its
// metrics, and the profiles of the process. It is meant for an address of its own.
//
//	/               the page: each composition as a drawing, with figures for each stage
//	/api/topology   the page's data in JSON: see [Report]
//	/metrics        for Prometheus, if Config.Metrics is set
//	/debug/pprof/   profiles, for go tool pprof
//
// The page requests /api/topology once a second while it is visible, so no connection stays open
// between a browser and this handler. A Content-Security-Policy forbids it to load anything from
// other servers.
//
// The handler rejects requests that use an unknown host name (a page elsewhere may have its name
// resolve to this address: DNS rebinding), that come from a page of another site, or that are not
// GET or HEAD. No CORS field allows other sites to read a response.
//
// # Limitations
//
// There is no login: a client that reaches the address may see everything, take profiles, and read
// the command line of the process. Listen on loopback, or put a composition with authentication in
// front, as weir serve does for its admin_users. Rates are computed in the browser, from two
// snapshots; a snapshot of a busy stage lags by up to 64 batches (see package flow).
package admin

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"weir/flow"
	"weir/flow/draw"
	"weir/web/components/metrics"
)

// Config configures the handler.
type Config struct {
	// Source returns the running compositions. It is called by any goroutine for each view. Names
	// must differ. Source must be set.
	Source func() []metrics.Site
	// Metrics are served under /metrics, with those of the compositions. Nil: there is no /metrics.
	Metrics *metrics.Metrics
	// Hosts are host names, without port, that requests may use besides localhost and any IP
	// address.
	Hosts []string
}

// Report is the state of all compositions at one moment.
type Report struct {
	AtNS  int64  `json:"at_ns"` // nanoseconds since the handler was made; monotonic
	Sites []Site `json:"sites"`
}

// Site is a running composition.
type Site struct {
	Name   string `json:"name"`
	Active int    `json:"active"` // exchanges in progress
	flow.Topology
	Layout    draw.Layout        `json:"layout"`
	Upstreams []metrics.Upstream `json:"upstreams"`
}

// New returns the admin handler. With Metrics, it registers the compositions there.
func New(cfg Config) (http.Handler, error) {
	if cfg.Source == nil {
		return nil, errors.New("admin: Source is not set: set it to a function that returns the compositions")
	}
	mux := http.NewServeMux()
	mux.Handle("/{$}", page("page/index.html"))
	for _, name := range []string{"page.css", "page.js", "draw.js", "layered.js", "rail.js"} {
		mux.Handle("/"+name, page("page/"+name))
	}
	mux.Handle("/api/topology", topologyHandler(cfg.Source, time.Now()))
	if cfg.Metrics != nil {
		if err := cfg.Metrics.Watch(cfg.Source); err != nil {
			return nil, err
		}
		mux.Handle("/metrics", cfg.Metrics.Handler())
	}
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return restrict(cfg.Hosts, mux), nil
}

// topologyHandler serves a [Report] of the current state.
func topologyHandler(source func() []metrics.Site, began time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		r := Report{Sites: []Site{}}
		for _, s := range source() {
			t := s.Site.Topology()
			r.Sites = append(r.Sites, Site{s.Name, s.Site.Active(), t, draw.ComputeLayout(t), s.Upstreams})
		}
		r.AtNS = int64(time.Since(began))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(r) // it fails only if the connection does
	}
}

// restrict rejects requests by unknown host names, with other methods than GET and HEAD, and from
// pages of other sites.
func restrict(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		switch {
		case !isKnownHost(r.Host, hosts):
			http.Error(w, "unknown host name: use localhost or the IP address, or add the name to Config.Hosts", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "read-only: use GET", http.StatusMethodNotAllowed)
		case isCrossSite(r):
			http.Error(w, "cross-site request rejected", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// contentSecurityPolicy permits the page only what is served beside it. pprof's index has inline
// styles.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// isKnownHost reports whether a request uses an IP address, localhost or one of the names. A page
// of another site cannot do that by DNS rebinding.
func isKnownHost(host string, hosts []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	is := func(name string) bool { return strings.EqualFold(name, host) }
	return net.ParseIP(host) != nil || is("localhost") || slices.ContainsFunc(hosts, is)
}

// isCrossSite reports whether a browser sent the request for a page of another site (W3C Fetch
// Metadata). Following a link to the page is allowed.
func isCrossSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Mode") != "navigate"
}
