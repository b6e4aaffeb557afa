package web_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"weir/tcpip/netsim"
)

// client sends requests, one after the other.
type client struct {
	w       *netsim.World
	name    string
	http    *http.Client
	random  *rand.Rand
	ordered map[string]bool // the orders that were sent: whether the answer was 200
	good    int             // answers of status 200 that were complete
	bad     int             // other requests
	leaves  bool            // it sometimes does not wait for the answer
	isCut   bool            // its network fails, too
}

// answerWithin is longer than the proxy may take for a response: three tries, each with the limits
// of the connection and of the head, and pauses within the body.
const answerWithin = time.Minute

func newClient(w *netsim.World, h *netsim.Host) *client {
	seed := rand.NewPCG(w.Rand().Uint64(), 1)
	return &client{w: w, name: h.Name(), http: h.HTTP(), random: rand.New(seed), ordered: map[string]bool{}}
}

// run sends requests until a time of the world.
func (c *client) run(until time.Duration) {
	defer c.http.CloseIdleConnections()
	for n := 0; c.w.Elapsed() < until; n++ {
		time.Sleep(time.Duration(c.random.IntN(4000)) * time.Millisecond)
		name := fmt.Sprintf("%s-%d", c.name, n)
		switch c.random.IntN(4) {
		case 0:
			body := []byte("one of " + name)
			c.ordered[name] = c.do("POST", "/order/"+name, body, []byte(fmt.Sprintf("order %s: %x", name, sha256.Sum256(body))))
		case 1: // a body that the proxy does not buffer
			body := content("file "+name, 60_000+c.random.IntN(20_000))
			c.do("PUT", "/file/"+name, body, []byte(fmt.Sprintf("file %s: %x", name, sha256.Sum256(body))))
		default:
			size := c.random.IntN(30_000)
			c.do("GET", fmt.Sprintf("/item/%s?size=%d", name, size), nil, content(name, size))
		}
	}
}

// do sends a request and checks the response. It reports whether it was complete, with status 200.
func (c *client) do(method, path string, body, want []byte) bool {
	limit := answerWithin
	if c.leaves && c.random.IntN(10) == 0 { // the client leaves early
		limit = time.Duration(c.random.IntN(3000)) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://proxy"+path, bytes.NewReader(body))
	if err != nil {
		c.w.Error(err)
		return false
	}
	began := time.Now()
	resp, err := c.http.Do(r)
	if err == nil {
		defer resp.Body.Close()
		var got []byte
		if got, err = io.ReadAll(resp.Body); err == nil && resp.StatusCode == http.StatusOK {
			c.check(method+" "+path, resp, got, want)
			return true
		}
	}
	c.bad++
	c.w.Logf("%s %s: got %v, %v after %v", method, path, resp, err, time.Since(began))
	if ctx.Err() != nil && limit == answerWithin && !c.isCut {
		c.w.Errorf("%s %s: got no response within %v, want one or an error", method, path, answerWithin)
	}
	return false
}

// check checks that a complete response is that of the request.
func (c *client) check(what string, resp *http.Response, got, want []byte) {
	c.good++
	path, _, _ := strings.Cut(what, "?")
	if name := resp.Header.Get("X-Name"); !strings.HasSuffix(path, "/"+name) {
		c.w.Errorf("%s: got the response to %s", what, name)
	}
	if !bytes.Equal(got, want) {
		c.w.Errorf("%s: got %d bytes without an error, want %d: the response's own", what, len(got), len(want))
	}
}
