package basic_test

import (
	"io"
	"net/http"
	"net/http/httptest"
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

// An exchange occupies a place until its response is sent or aborted.
func TestLimitConcurrencyRejectsExchangesAboveItsNumber(t *testing.T) {
	const places = 2
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		// gate: closed when bodies may end; left: from After -> to the test
		gate, left := make(chan struct{}), make(chan struct{}, 100)
		limit := must(basic.LimitConcurrency(basic.LimitConcurrencyConfig{Max: places}))
		slow := web.Source(func(c *web.Conn) web.Body {
			return web.Stream(-1, func(w io.Writer) error {
				_, _ = io.WriteString(w, "begun")
				_ = web.Flush(w)
				<-gate
				return nil
			})
		})
		// after that of limit
		leaves := web.Pipe(func(c *web.Conn) { c.After(func(*web.Conn) { left <- struct{}{} }) })
		panics := web.Pipe(func(c *web.Conn) {
			if c.Path() == "/panic" {
				panic("no")
			}
		})
		url := webtest.Serve(t, way, web.Chain(leaves, limit, panics, slow))
		for range 5 * places {
			if resp, _ := webtest.Get(t, url+"/panic"); resp.StatusCode != 500 {
				t.Errorf("got %d, want 500", resp.StatusCode)
			}
			<-left
		}
		for range places {
			resp, err := webtest.Client(t).Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("got %d, want 200", resp.StatusCode)
			}
		}
		resp, _ := webtest.Get(t, url)
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("got %d %v, want 503", resp.StatusCode, resp.Header)
		}
		<-left
		close(gate)
		for range places {
			<-left
		}
		if resp, body := webtest.Get(t, url); resp.StatusCode != 200 || body != "begun" {
			t.Errorf("after that: got %d %q, want 200 \"begun\"", resp.StatusCode, body)
		}
		<-left
	})
	c, err := basic.LimitConcurrency(basic.LimitConcurrencyConfig{})
	wantError(t, c, err, "limit_concurrency: max is 0")
}

func TestOneClientGetsAtMostHalfOfThePlaces(t *testing.T) {
	// from the source; closed by the test
	entered, leave := make(chan struct{}, 4), make(chan struct{})
	slow := web.Source(func(*web.Conn) web.Body {
		entered <- struct{}{}
		<-leave
		return web.String("slow")
	})
	h, err := web.New(web.Chain(must(basic.LimitConcurrency(basic.LimitConcurrencyConfig{Max: 2})), slow), web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ask := func(from string) <-chan int { // the status, one value
		status := make(chan int, 1)
		go func() {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = from
			h.ServeHTTP(w, r)
			status <- w.Code
		}()
		return status
	}
	first := ask("192.0.2.1:1")
	webtest.Receive(t, entered, "the first request in the handler")
	select {
	case got := <-ask("192.0.2.1:2"):
		if got != 503 {
			t.Errorf("second request of the same client: got %d, want 503", got)
		}
	case <-entered:
		t.Error("second request of the same client: got it in the handler, want 503")
	}
	other := ask("192.0.2.2:1")
	webtest.Receive(t, entered, "the request of another client in the handler")
	close(leave)
	for _, status := range []<-chan int{first, other} {
		if got := webtest.Receive(t, status, "the answer to an admitted request"); got != 200 {
			t.Errorf("admitted request: got %d, want 200", got)
		}
	}
}
