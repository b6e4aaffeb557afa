// Package admin serves what operators look at: the network of a server, drawn live in the browser,
// its metrics, and the profiles of the process. It is for an address of its own.
//
//	/               the page: each composition as a drawing; a stage's figures by click or keyboard
//	/api/topology   what the page draws, in JSON: see [Report]
//	/metrics        for Prometheus, when Config.Metrics is given
//	/debug/pprof/   profiles, for go tool pprof
//
// The page asks for /api/topology once a second while it is looked at, so nothing stays open
// between a browser and this handler. It loads nothing from elsewhere, and is told not to
// (Content-Security-Policy).
//
// Requests are refused that come by a name that is not known (a page elsewhere may have its name
// resolve to this address: DNS rebinding), that a page of another site has made, or that are not
// GET or HEAD. No field allows other sites to read an answer.
//
// # Limitations
//
// There is no login: whoever reaches the address may look, take profiles, and see the command line
// of the process. Listen on loopback, or put a composition with authentication before it, as weir
// serve does for its admin_users. Rates are made in the browser, of two snapshots; a snapshot of a
// busy stage lags by up to 64 batches (see package flow).
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

// Config says what is shown.
type Config struct {
	// Source gives the compositions that run, whenever somebody looks, from any goroutine. Names
	// must differ. It must be given.
	Source func() []metrics.Site
	// Metrics are served under /metrics, with those of the compositions. Nil: there is no /metrics.
	Metrics *metrics.Metrics
	// Hosts are the names, without port, by which requests may come, beside localhost and all
	// addresses.
	Hosts []string
}

// Report is what is known at a moment.
type Report struct {
	AtNS  int64  `json:"at_ns"` // nanoseconds since the handler was made, never set back
	Sites []Site `json:"sites"`
}

// Site is a composition that runs.
type Site struct {
	Name   string `json:"name"`
	Active int    `json:"active"` // exchanges under way
	flow.Topology
	Layout    draw.Layout        `json:"layout"`
	Upstreams []metrics.Upstream `json:"upstreams"`
}

// New makes the handler. With Metrics, it has them watch the compositions.
func New(cfg Config) (http.Handler, error) {
	if cfg.Source == nil {
		return nil, errors.New("admin: Source is not set: give the compositions to draw")
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
	return guard(cfg.Hosts, mux), nil
}

// topologyHandler serves a [Report] of what runs now.
func topologyHandler(source func() []metrics.Site, began time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		r := Report{Sites: []Site{}}
		for _, s := range source() {
			t := s.Site.Topology()
			r.Sites = append(r.Sites, Site{s.Name, s.Site.Active(), t, draw.ComputeLayout(t), s.Upstreams})
		}
		r.AtNS = int64(time.Since(began))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(r) // what fails is the connection
	}
}

// guard refuses who has no business here.
func guard(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", policy)
		switch {
		case !known(r.Host, hosts):
			http.Error(w, "this address is not known by that name: use localhost or the address itself, or have the name added to Config.Hosts", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "there is nothing here but to look at: use GET", http.StatusMethodNotAllowed)
		case foreign(r):
			http.Error(w, "a page of another site has asked for this", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// policy lets the page use what is served beside it, and nothing else; pprof's index has styles of
// its own.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// known says whether a request came by an address, by localhost or by one of the names: nobody
// else's page can.
func known(host string, hosts []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	is := func(name string) bool { return strings.EqualFold(name, host) }
	return net.ParseIP(host) != nil || is("localhost") || slices.ContainsFunc(hosts, is)
}

// foreign says whether a browser has sent the request on behalf of another site's page (W3C Fetch
// Metadata). A link to the page may be followed.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Mode") != "navigate"
}
