package cgi

import (
	"io"
	"net/http/httptest"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// A slow upload occupies a place while its body is read. One client occupies at most half of the
// places, however slowly it uploads.
func TestSlowUploadsOfOneClientLeavePlacesForOthers(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		c, err := New(Config{Dir: "testdata/bin", Prefix: "/cgi-bin", Width: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer c.(*CGI).Close()
		h, err := web.New(c, web.Options{Way: way})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		status := make(chan int, 5) // from the requests, one each
		ask := func(from, path string, body io.Reader) {
			w, r := httptest.NewRecorder(), httptest.NewRequest("POST", path, body)
			r.RemoteAddr = from
			h.ServeHTTP(w, r)
			status <- w.Code
		}
		slow, upload := io.Pipe()
		for range 4 {
			go ask("192.0.2.1:1", "/cgi-bin/echo", slow)
		}
		webtest.Until(t, "four uploads are there", func() bool { return h.Topology().Edges[0].Depth == 4 })
		go ask("192.0.2.2:1", "/cgi-bin/hello", nil)
		if got := webtest.Receive(t, status, "the answer to another client"); got != 200 {
			t.Errorf("another client: got %d, want 200", got)
		}
		upload.Close()
		for range 4 {
			if got := webtest.Receive(t, status, "the answer to an upload"); got != 200 {
				t.Errorf("an upload: got %d, want 200", got)
			}
		}
	})
}
