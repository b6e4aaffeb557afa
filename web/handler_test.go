package web_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

func TestUnansweredExchangeGets404(t *testing.T) {
	webtest.ServeBothWays(t, web.Chain(mark("m")), func(t *testing.T, url string) {
		resp, body := get(t, url)
		if resp.StatusCode != 404 || body != "404 Not Found\n" || resp.Header.Get("X-Way") != "m" {
			t.Errorf("got %d %q %v, want 404 with its text, after the pipe m", resp.StatusCode, body, resp.Header)
		}
	})
}

func TestPanicFailsOnlyItsExchange(t *testing.T) {
	var after atomic.Int32
	c := web.Chain(web.Pipe(func(c *web.Conn) {
		c.After(func(c *web.Conn) {
			if c.Status() == 500 && c.Err() != nil {
				after.Add(1)
			}
		})
	}), web.Named("fragile", web.Pipe(func(c *web.Conn) {
		if c.Path() == "/panic" {
			panic("no")
		}
	})), mark("behind"), text("fine"))
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		t.Run(string(way), func(t *testing.T) {
			after.Store(0)
			var reported atomic.Value
			h, err := web.New(c, web.Options{Way: way, OnPanic: func(stage string, value any, stack []byte) {
				reported.Store(fmt.Sprint(stage, ": ", value, ", with stack: ", len(stack) > 0))
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			s := httptest.NewServer(h)
			defer s.Close()
			if resp, body := get(t, s.URL+"/panic"); resp.StatusCode != 500 || body != "500 Internal Server Error\n" || resp.Header.Get("X-Way") != "" {
				t.Errorf("GET /panic: got %d %q %v, want 500 without a field of the panicking exchange", resp.StatusCode, body, resp.Header)
			}
			if resp, body := get(t, s.URL); resp.StatusCode != 200 || body != "fine" {
				t.Errorf("the exchange after a panic: got %d %q, want 200 and fine", resp.StatusCode, body)
			}
			if reported.Load() != "fragile: no, with stack: true" || after.Load() != 1 {
				t.Errorf("OnPanic got %v, After was called %d times, want the panic and 1", reported.Load(), after.Load())
			}
		})
	}
}

// A panic while the body is sent closes the connection. It is reported before functions registered
// by After run.
func TestPanicOfAStreamClosesTheConnection(t *testing.T) {
	seen := make(chan string, 2)
	c := web.Chain(web.Pipe(func(c *web.Conn) { c.After(func(c *web.Conn) { seen <- fmt.Sprint(c.Err()) }) }),
		web.Source(func(*web.Conn) web.Body { return web.Stream(-1, func(io.Writer) error { panic("no") }) }))
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		h, err := web.New(c, web.Options{Way: way, OnPanic: func(stage string, value any, _ []byte) { seen <- fmt.Sprint(stage, ": ", value) }})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(h)
		if resp, err := http.Get(s.URL); err == nil {
			if _, err = io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s: got a complete body, want a cut connection", way)
			}
			resp.Body.Close()
		}
		for _, want := range []string{"response: no", "web: a panic while the body was sent: no"} {
			if got := <-seen; got != want {
				t.Errorf("%s: got %q, want %q", way, got, want)
			}
		}
		s.Close()
		if err := h.Close(); err != nil {
			t.Errorf("%s: Close: got %v, want nil", way, err)
		}
	}
}

// Exchanges above the width of a component that blocks wait, up to its queue. Further ones are
// rejected. Exchanges that do not pass the component are not affected.
func TestBlockingComponentLimitsConcurrency(t *testing.T) {
	const width, waiting, more = 2, 3, 4
	gate := make(chan struct{}) // closed when the blocked may go on
	entered := make(chan struct{}, width+waiting+more)
	slow := web.Blocking(width, waiting, web.Named("slow", web.Pipe(func(c *web.Conn) {
		entered <- struct{}{}
		<-gate
	})))
	c := web.Chain(web.When("slow", pathIs("/slow"), slow), text("done"))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		// closed when the blocked exchanges may continue
		gate = make(chan struct{})
		status := make(chan int, width+waiting+more)
		ask := func() {
			resp, err := http.Get(url + "/slow")
			if err != nil {
				status <- 0
				return
			}
			_ = resp.Body.Close()
			status <- resp.StatusCode
		}
		for range width {
			go ask()
			<-entered
		}
		for range waiting + more {
			go ask()
		}
		for range more {
			if got := <-status; got != 503 {
				t.Errorf("beyond the queue: %d, want 503", got)
			}
		}
		if _, body := get(t, url+"/fast"); body != "done" {
			t.Errorf("an exchange that does not go through the blocked component: got %q, want %q", body, "done")
		}
		close(gate)
		for range width + waiting {
			if got := <-status; got != 200 {
				t.Errorf("within width and queue: %d, want 200", got)
			}
		}
		for range waiting {
			<-entered
		}
	})
}

func TestManyRequestsThroughEachWay(t *testing.T) {
	const connections, each = 50, 200
	var c web.Component = web.Chain(mark("in"), web.Branch("half", func(c *web.Conn) int { return int(c.Path()[1]-'0') % 2 }, text("even"), text("odd")),
		filter(shout), web.Pipe(func(c *web.Conn) {
			if strings.HasSuffix(c.Path(), "99") {
				panic("every hundredth")
			}
		}))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
		defer client.CloseIdleConnections()
		var wg sync.WaitGroup
		errs := make(chan error, connections)
		for k := range connections {
			wg.Go(func() { errs <- askAll(client, url, k, each) })
		}
		wg.Wait()
		for range connections {
			if err := <-errs; err != nil {
				t.Errorf("client: %v", err)
			}
		}
	})
}

func askAll(client *http.Client, url string, k, each int) error {
	for i := range each {
		resp, err := client.Get(fmt.Sprintf("%s/%d-%d", url, k%2, i))
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		want, status := []string{"EVEN", "ODD"}[k%2], 200
		if i%100 == 99 {
			want, status = "500 Internal Server Error\n", 500
		}
		if err != nil || string(body) != want || resp.StatusCode != status {
			return fmt.Errorf("request %d of %d: %d %q, %v; want %d %q", i, k, resp.StatusCode, body, err, status, want)
		}
	}
	return nil
}

func TestAClosedHandlerAnswers503(t *testing.T) {
	for _, way := range []flow.Way{flow.Chain, flow.Network} {
		h, err := web.New(text("x"), web.Options{Way: way})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(h.Close(), h.Close()); err != nil {
			t.Errorf("%s: Close, twice: got %v, want nil", way, err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != 503 || w.Header().Get("Retry-After") != "1" || h.Active() != 0 {
			t.Errorf("%s: after Close: got %d %v, %d active exchanges, want 503 with Retry-After: 1 and none active", way, w.Code, w.Header(), h.Active())
		}
	}
}

func TestAfterSeesTheFinalResponse(t *testing.T) {
	seen := make(chan string, 8)
	note := func(name string) web.Component {
		return web.Pipe(func(c *web.Conn) {
			c.SetValue("name", name)
			c.After(func(c *web.Conn) {
				seen <- fmt.Sprint(name, " ", c.Status(), " ", c.Sent(), " ", c.Header("Content-Type"), " ", c.Value("name"))
			})
		})
	}
	webtest.ServeBothWays(t, web.Chain(note("first"), note("second"), text("hello")), func(t *testing.T, url string) {
		get(t, url)
		for _, want := range []string{"second 200 5 text/plain second", "first 200 5 text/plain second"} {
			if got := <-seen; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

func TestUnknownWayIsRejected(t *testing.T) {
	if _, err := web.New(text("x"), web.Options{Way: "fast"}); err == nil || !strings.Contains(err.Error(), "choose chain or network") {
		t.Errorf("New with the model \"fast\": got %v, want an error that names chain and network", err)
	}
}

// A topology ends where responses are sent.
func TestTopologyCountsTheExchangesOfEachEdge(t *testing.T) {
	c := web.Chain(mark("in"), web.When("js", pathIs("/js"), text("js")), web.When("css", pathIs("/css"), text("css")))
	h, err := web.New(c, web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, path := range []string{"/js", "/css", "/"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	var edges []string
	for _, e := range h.Topology().Edges {
		edges = append(edges, fmt.Sprint(e.From, ">", e.To, ":", e.Items))
	}
	want := ">in:3 in>js:3 js>text:1 js>css:2 text>css:1 css>text-2:1 css>response:2 text-2>response:1"
	if got := strings.Join(edges, " "); got != want {
		t.Errorf("got edges %s, want %s", got, want)
	}
}

// After a panic of a function that runs at the end of an exchange, the other functions still run,
// and the body is closed.
func TestPanicOfAfterFuncRunsTheOthers(t *testing.T) {
	bad := func(*web.Conn) { panic("no") }
	for name, panics := range map[string]web.Component{
		"of After":    web.Pipe(func(c *web.Conn) { c.After(bad) }),
		"of Before":   web.Pipe(func(c *web.Conn) { c.Before(bad) }),
		"of the body": web.Pipe(func(c *web.Conn) { c.Answer(c.StatusBody(404).OnClose(func() { panic("no") })) }),
		"of two bodies": web.Pipe(func(c *web.Conn) {
			c.Answer(c.StatusBody(404).OnClose(func() { panic("no") }).OnClose(func() { panic("nor") }))
		}),
	} {
		for _, way := range []flow.Way{flow.Chain, flow.Network} {
			t.Run(name+"/"+string(way), func(t *testing.T) {
				var over, closed, reported int
				h, err := web.New(web.Chain(web.Pipe(func(c *web.Conn) { c.After(func(*web.Conn) { over++ }) }), panics,
					web.Pipe(func(c *web.Conn) {
						if !c.Answered() {
							c.Answer(web.String("x").OnClose(func() { closed++ }).OnClose(func() { closed++ }))
						} else {
							closed = 2
						}
					})), web.Options{Way: way, OnPanic: func(string, any, []byte) { reported++ }})
				if err != nil {
					t.Fatal(err)
				}
				func() {
					defer func() {
						if p := recover(); p != http.ErrAbortHandler {
							t.Errorf("got %v, want the connection cut", p)
						}
					}()
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
				}()
				if err := h.Close(); err != nil || h.Active() != 0 || over != 1 || closed != 2 || reported == 0 {
					t.Errorf("got %v, %d active, After called %d times, %d of 2 bodies closed, OnPanic called %d times; want nil, 0, once, both, at least once", err, h.Active(), over, closed, reported)
				}
			})
		}
	}
}

// A body that another replaces is closed once. Its panic does not end the process.
func TestPanicOfAReplacedBodyIsRecovered(t *testing.T) {
	c := web.Chain(web.Source(func(c *web.Conn) web.Body { return web.String("x").OnClose(func() { panic("no") }) }),
		web.Pipe(func(c *web.Conn) {
			if c.Path() == "/panic" {
				panic("nor")
			}
			c.Reply(403)
		}))
	webtest.ServeBothWays(t, c, func(t *testing.T, url string) {
		for path, want := range map[string]int{"/": 403, "/panic": 500} {
			if resp, _ := get(t, url+path); resp.StatusCode != want {
				t.Errorf("%s: got %d, want %d", path, resp.StatusCode, want)
			}
		}
	})
}
