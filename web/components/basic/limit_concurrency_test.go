package basic_test

import (
	"io"
	"net/http"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/components/basic"
	"weir/web/internal/webtest"
)

func ExampleLimitConcurrency() {
	limit := must(basic.LimitConcurrency(basic.LimitConcurrencyConfig{Max: 100}))
	ask(web.Chain(limit, basic.Text("hello")), "GET /")
	// Output:
	// 200 OK
	// hello
}

// A seat is taken until the response has been sent, or has broken off.
func TestLimitConcurrency(t *testing.T) {
	const seats = 2
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		gate, left := make(chan struct{}), make(chan struct{}, 100) // gate: closed when bodies may end; left: from After -> to the test
		limit := must(basic.LimitConcurrency(basic.LimitConcurrencyConfig{Max: seats}))
		slow := web.Source(func(c *web.Conn) web.Body {
			return web.Stream(-1, func(w io.Writer) error {
				_, _ = io.WriteString(w, "begun")
				_ = web.Flush(w)
				<-gate
				return nil
			})
		})
		leaves := web.Pipe(func(c *web.Conn) { c.After(func(*web.Conn) { left <- struct{}{} }) }) // after that of limit
		panics := web.Pipe(func(c *web.Conn) {
			if c.Path() == "/panic" {
				panic("no")
			}
		})
		url := webtest.Serve(t, way, web.Chain(leaves, limit, panics, slow))
		for range 5 * seats {
			if resp, _ := webtest.Get(t, url+"/panic"); resp.StatusCode != 500 {
				t.Errorf("%d, want 500", resp.StatusCode)
			}
			<-left
		}
		for range seats {
			resp, err := webtest.Client(t).Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%d, want 200", resp.StatusCode)
			}
		}
		resp, _ := webtest.Get(t, url)
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("%d %v, want 503", resp.StatusCode, resp.Header)
		}
		<-left
		close(gate)
		for range seats {
			<-left
		}
		if resp, body := webtest.Get(t, url); resp.StatusCode != 200 || body != "begun" {
			t.Errorf("after that: %d %q", resp.StatusCode, body)
		}
		<-left
	})
	c, err := basic.LimitConcurrency(basic.LimitConcurrencyConfig{})
	wantError(t, c, err, "limit_concurrency: max is 0")
}
