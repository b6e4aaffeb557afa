package events

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"weir/flow"
	"weir/web"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// zip compresses what passes, and flushes.
var zip = web.Filter(func(c *web.Conn) web.Transform {
	c.SetHeader("Content-Encoding", "gzip")
	return func(next io.Writer) io.WriteCloser { return gzip.NewWriter(next) }
})

// ended is what an exchange was at its end.
type ended struct {
	status int
	err    error
}

func noting(to chan<- ended) web.Component {
	return web.Pipe(func(c *web.Conn) {
		c.SetHeader("X-Before", "kept")
		c.After(func(c *web.Conn) { to <- ended{c.Status(), c.Err()} })
	})
}

// bothWays runs a test of a component, made anew each time, as a chain and as a process network.
func bothWays(t *testing.T, component func() (web.Component, error), test func(t *testing.T, url string, c io.Closer, end <-chan ended), behind ...web.Component) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		t.Run(string(way), func(t *testing.T) {
			c, err := component()
			if err != nil {
				t.Fatal(err)
			}
			to := make(chan ended, 16)
			h, err := web.New(web.Chain(append([]web.Component{noting(to), c}, behind...)...), web.Options{Way: way})
			if err != nil {
				t.Fatal(err)
			}
			s := httptest.NewServer(h)
			defer func() {
				if err := c.(io.Closer).Close(); err != nil {
					t.Error(err)
				}
				s.Close()
				h.Close()
			}()
			test(t, s.URL, c.(io.Closer), to)
		})
	}
}

func client(t *testing.T) *http.Client {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// within is a context for what must not take long.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func dial(t *testing.T, url string, fields ...string) (*websocket.Conn, *http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(fields); i += 2 {
		h.Add(fields[i], fields[i+1])
	}
	c, resp, err := websocket.Dial(within(t), url, &websocket.DialOptions{HTTPClient: client(t), HTTPHeader: h, Subprotocols: []string{"b", "a"}})
	if err == nil {
		t.Cleanup(func() { _ = c.CloseNow() })
	}
	return c, resp, err
}

// until waits for what must become true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come about that %s", what)
		}
	}
}
