package httpload

import (
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestCompressedBodiesAreComparedWithTheirText uses a server that compresses on request, and every
// seventh time compresses another body.
func TestCompressedBodiesAreComparedWithTheirText(t *testing.T) {
	text := zipped(t, page, 5)
	wrong := zipped(t, strings.ToUpper(page), 5)
	var n atomic.Int64
	url := serveHTTP(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			w.Write([]byte(page)) //nolint:errcheck // the client sees it
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		if n.Add(1)%7 == 0 {
			w.Write(wrong) //nolint:errcheck // the client sees it
			return
		}
		w.Write(text) //nolint:errcheck // the client sees it
	})
	for _, expect := range [][]byte{nil, []byte(page)} {
		n.Store(0) // without an expected body there is one more request
		r := mustRun(t, Config{URL: url, Connections: 3, Requests: 70, Gzip: true, Expect: expect, Timeout: time.Minute})
		if r.Messages != 60 || r.Encoded != 60 || r.Errors[kindBody] != 10 || len(r.Errors) != 1 || r.BodyBytes != 60*int64(len(text)) {
			t.Errorf("expected body of %d bytes: got %+v, want 60 correct and 10 wrong responses", len(expect), r)
		}
	}
	if r := mustRun(t, Config{URL: url, Connections: 3, Requests: 10, Expect: []byte(page), Timeout: time.Minute}); r.Messages != 10 || r.Encoded != 0 {
		t.Errorf("gzip not requested: got %+v, want 10 responses without gzip", r)
	}
}
