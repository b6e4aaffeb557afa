package basic_test

import (
	"net/http"
	"testing"

	"weir/web"
)

// nowhere discards a response.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// benchmark runs a composition without a network.
func benchmark(b *testing.B, c web.Component, r *http.Request) {
	b.Helper()
	h, err := web.New(c, web.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	w := nowhere{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		h.ServeHTTP(w, r)
	}
}

// benchmarkHeader runs exchanges one after the other, with the values of a field in turn.
func benchmarkHeader(b *testing.B, c web.Component, name string, values []string) {
	b.Helper()
	i := 0
	r, _ := http.NewRequest("GET", "http://h/", nil)
	r.RemoteAddr = "192.0.2.1:99"
	next := web.Pipe(func(c *web.Conn) {
		r.Header[name] = values[i%len(values) : i%len(values)+1]
		i++
	})
	benchmark(b, web.Chain(next, c, web.Source(func(*web.Conn) web.Body { return web.Body{} })), r)
}
