package events

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// zip compresses what passes, and flushes.
var zip = web.Filter(func(c *web.Conn) web.Transform {
	c.SetHeader("Content-Encoding", "gzip")
	return func(next io.Writer) io.WriteCloser { return gzip.NewWriter(next) }
})

// bothWays runs a test of a component, made anew each time, as a chain and as a process network. It
// is closed before its server: what it holds open ends only then.
func bothWays(t *testing.T, component func() (web.Component, error), test func(t *testing.T, url string, c io.Closer, end <-chan webtest.ExchangeEnd), behind ...web.Component) {
	t.Helper()
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		c, err := component()
		if err != nil {
			t.Fatal(err)
		}
		to := make(chan webtest.ExchangeEnd, 16)
		url := webtest.Serve(t, way, web.Chain(append([]web.Component{webtest.RecordEnds(to), c}, behind...)...))
		defer func() {
			if err := c.(io.Closer).Close(); err != nil {
				t.Errorf("Close: got %v, want nil", err)
			}
		}()
		test(t, url, c.(io.Closer), to)
	})
}

// within is a context for what must not take long.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), webtest.WaitTimeout)
	t.Cleanup(cancel)
	return ctx
}

func dial(t *testing.T, url string, fields ...string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		h.Add(fields[i], fields[i+1])
	}
	c, resp, err := websocket.Dial(within(t), url, &websocket.DialOptions{HTTPClient: webtest.Client(t), HTTPHeader: h, Subprotocols: []string{"b", "a"}})
	if err == nil {
		t.Cleanup(func() { _ = c.CloseNow() })
	}
	return c, resp, err
}
