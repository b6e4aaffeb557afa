package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"weir/flow"
	"weir/web"
)

// BenchmarkProxy transfers 4 KB over one connection from a net/http upstream: through ReverseProxy
// alone, and through the component.
func BenchmarkProxy(b *testing.B) {
	page := make([]byte, 4096)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "4096")
		_, _ = w.Write(page)
	}))
	defer up.Close()
	target, _ := url.Parse(up.URL)
	handlers := map[string]http.Handler{"library": &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.SetXForwarded() }}}
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		p, err := New(Config{Upstreams: []string{up.URL}})
		if err != nil {
			b.Fatal(err)
		}
		defer p.(*Proxy).Close()
		h, err := web.New(p, web.Options{Way: way})
		if err != nil {
			b.Fatal(err)
		}
		defer h.Close()
		handlers[string(way)] = h
	}
	for _, name := range []string{"library", "chain", "network"} {
		b.Run(name, func(b *testing.B) {
			s := httptest.NewServer(handlers[name])
			defer s.Close()
			b.ReportAllocs()
			for b.Loop() {
				resp, err := s.Client().Get(s.URL)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}
