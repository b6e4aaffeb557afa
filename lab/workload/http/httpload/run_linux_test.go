package httpload

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"weir/lab/internal/oneloop"

	"weir/internal/freeport"
	"weir/lab/load"
)

// lenient returns a Config with a timeout that no machine exceeds.
func lenient(url string) Config {
	return Config{URL: url, Connections: 4, Timeout: time.Minute, Expect: []byte(page)}
}

func mustRun(t *testing.T, c Config) Report {
	t.Helper()
	r, err := Run(t.Context(), c, load.Events{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestClosedLoopMakesTheNumberOfRequests(t *testing.T) {
	url := web(t)
	for name, change := range map[string]func(*Config){
		"keep-alive":              func(*Config) {},
		"no keep-alive":           func(c *Config) { c.Close = true },
		"more connections":        func(c *Config) { c.Connections = 500 },
		"the first body expected": func(c *Config) { c.Expect = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c := lenient(url)
			c.Requests = 300
			change(&c)
			r := mustRun(t, c)
			if r.Messages != 300 || r.Attempted != 300 || r.Offered != 300 || r.Failed != 0 || len(r.Errors) != 0 || r.BodyBytes != 300*int64(len(page)) {
				t.Errorf("got %+v, want 300 answers without an error", r)
			}
			if opened := map[bool]int64{true: int64(c.Connections), false: 300}[!c.Close]; r.Opened != opened {
				t.Errorf("got %d connections, want %d", r.Opened, opened)
			}
			if r.TotalUS.Min <= 0 || r.TotalUS.Max < r.TotalUS.Median || r.WaitUS.Max > r.ProcessingUS.Max || r.WindowNS <= 0 || r.CPUNS <= 0 || r.ConnectUS.Max <= 0 {
				t.Errorf("got impossible times, want phases above 0 and no longer than what has them in it: %+v", r)
			}
		})
	}
}

func TestClosedLoopEndsAfterItsDuration(t *testing.T) {
	c := lenient(web(t))
	c.Duration = 500 * time.Millisecond
	r := mustRun(t, c)
	if r.Messages == 0 || r.WindowNS != 500e6 || len(r.Errors) != 0 || r.Interrupt || r.Offered < r.Messages || r.Offered > r.Messages+4 {
		t.Errorf("got %+v, want a window of 500 ms without errors", r)
	}
}

// TestOpenLoopCompletesEveryRequest checks that each due request is answered or fails exactly once.
func TestOpenLoopCompletesEveryRequest(t *testing.T) {
	url := web(t)
	for name, change := range map[string]func(*Config){
		"keep-alive":       func(*Config) {},
		"no keep-alive":    func(c *Config) { c.Close, c.Connections = true, 500 },
		"one connection":   func(c *Config) { c.Connections = 1 },
		"idle connections": func(c *Config) { c.Connections = 300 },
	} {
		t.Run(name, func(t *testing.T) {
			c := lenient(url)
			c.Rate, c.Duration = 1000, 250*time.Millisecond
			change(&c)
			r := mustRun(t, c)
			if r.Offered != 250 || r.Answered != 250 || len(r.Errors) != 0 || r.WindowNS != 250e6 || r.OfferedRate != 1000 || r.Unfinished != 0 {
				t.Errorf("got %+v, want 250 requests offered and answered", r)
			}
			if r.LatencyUS.Max < r.TotalUS.Min || r.LatencyUS.P50 <= 0 {
				t.Errorf("got impossible times, want a P50 above 0 and a maximum that is at least the shortest request: %+v", r)
			}
		})
	}
}

// TestTheMeanLatencyOfAClosedLoopHasItsTail checks that two slow responses of forty, which the
// median does not show, are part of the mean.
func TestTheMeanLatencyOfAClosedLoopHasItsTail(t *testing.T) {
	slow, n := 50*time.Millisecond, 0
	url := rawServer(t, func(c net.Conn) {
		buffer := make([]byte, 4096)
		for {
			if _, err := c.Read(buffer); err != nil {
				return
			}
			if n++; n == 20 || n == 30 {
				time.Sleep(slow)
			}
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"); err != nil {
				return
			}
		}
	})
	r := mustRun(t, Config{URL: url, Connections: 1, Requests: 40, Duration: time.Minute, Timeout: time.Minute, Expect: []byte("x")})
	least, most := float64(2*slow.Microseconds())/40, float64(r.WindowNS)/1e3/40
	if r.Messages != 40 || r.LatencyMeanUS < 0.99*least || r.LatencyMeanUS > 1.01*most {
		t.Errorf("got a mean latency of %.0f us over %d answers, want %.0f (the two slow ones alone) to %.0f us (the whole window)", r.LatencyMeanUS, r.Messages, least, most)
	}
}

func TestEveryMisbehaviourHasItsKind(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\n"
	right := ok + "Content-Length: 4\r\n\r\nbody"
	own, ca := certificate(t, time.Now())
	for _, test := range []struct {
		name   string
		handle func(net.Conn)
		want   string
	}{
		{"wrong body", says(ok+"Content-Length: 4\r\n\r\nbodx", false), kindBody},
		{"short body", says(ok+"Content-Length: 3\r\n\r\nbod", false), kindBody},
		{"long body", says(ok+"Content-Length: 5\r\n\r\nbodyx", false), kindBody},
		{"no body", says(ok+"Content-Length: 0\r\n\r\n", false), kindBody},
		{"body with an unknown coding", says(ok+"Content-Encoding: br\r\nContent-Length: 4\r\n\r\nbody", false), kindBody},
		{"status 500", says("HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\nbody", false), kindStatus},
		{"status 204", says("HTTP/1.1 204 No Content\r\n\r\n", false), kindStatus},
		{"reset before the answer", resets(""), oneloop.KindReset},
		{"reset in mid-body", resets(ok + "Content-Length: 4\r\n\r\nbo"), oneloop.KindReset},
		{"close before the answer", says("", true), oneloop.KindClosed},
		{"close in mid-body", says(ok+"Content-Length: 4\r\n\r\nbo", true), oneloop.KindClosed},
		{"close in mid-chunk", says(ok+"Transfer-Encoding: chunked\r\n\r\n4\r\nbo", true), oneloop.KindClosed},
		{"never answers", says("", false), oneloop.KindTimeout},
		{"answers half", says(ok+"Content-Length: 4\r\n\r\nbo", false), oneloop.KindTimeout},
		{"bad chunk", says(ok+"Transfer-Encoding: chunked\r\n\r\nx\r\n", false), kindProtocol},
		{"garbage head", says("220 mail.example.org ESMTP\r\n", false), kindProtocol},
		{"bytes behind the answer", says(right+"HTTP", false), kindProtocol},
		{"right", says(right, false), ""},
		{"right in chunks", says(ok+"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", false), ""},
		{"right until close", says(ok+"\r\nbody", true), ""},
		{"right and closed", says(ok+"Connection: close\r\nContent-Length: 4\r\n\r\nbody", true), ""},
		{"right after 103", says("HTTP/1.1 103 Early Hints\r\n\r\n"+right, false), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			url := rawServer(t, test.handle)
			t.Run("closed loop", func(t *testing.T) {
				checkKind(t, Config{URL: url, Connections: 3, Requests: 12, Expect: []byte("body")}, test.want, 12)
			})
			t.Run("open loop", func(t *testing.T) {
				checkKind(t, Config{URL: url, Connections: 3, Rate: 400, Duration: 30 * time.Millisecond, Expect: []byte("body")}, test.want, 12)
			})
			t.Run("open loop without keep-alive", func(t *testing.T) {
				checkKind(t, Config{URL: url, Connections: 50, Close: true, Rate: 400, Duration: 30 * time.Millisecond, Expect: []byte("body")}, test.want, 12)
			})
			t.Run("https", func(t *testing.T) {
				url := "https" + strings.TrimPrefix(rawServer(t, secure(own, test.handle)), "http")
				checkKind(t, Config{URL: url, Connections: 3, Requests: 12, Expect: []byte("body"), TLS: TLS{CA: ca}}, test.want, 12)
			})
		})
	}
}

// TestAServerThatClosesWithoutNoticeFailsOnlyKeepAlive checks a server that closes without
// Connection: close. Without keep-alive that is no error. With keep-alive a request can meet the
// close, which is an error of the server.
func TestAServerThatClosesWithoutNoticeFailsOnlyKeepAlive(t *testing.T) {
	url := rawServer(t, says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", true))
	checkKind(t, Config{URL: url, Connections: 3, Close: true, Requests: 50, Expect: []byte("x")}, "", 50)
	r := mustRun(t, Config{URL: url, Connections: 3, Requests: 50, Expect: []byte("x"), Timeout: time.Minute})
	if met := r.Errors[oneloop.KindClosed] + r.Errors[oneloop.KindReset]; r.Answered == 0 || r.Answered+met != 50 || r.Failed != met {
		t.Errorf("got %+v, want 50 answers or closes", r)
	}
}

// TestIdleConnectionsAreReopened checks that a connection that the server closed while it was idle
// is opened again for the next request.
func TestIdleConnectionsAreReopened(t *testing.T) {
	// the server closes with the response or soon after it
	url := rawServer(t, says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", true))
	r := mustRun(t, Config{URL: url, Connections: 2, Rate: 50, Duration: 400 * time.Millisecond, Expect: []byte("x"), Timeout: time.Minute})
	if met := r.Errors[oneloop.KindClosed] + r.Errors[oneloop.KindReset]; r.Offered != 20 || r.Answered+met != 20 || r.Failed != met || r.Opened < r.Answered {
		t.Errorf("got %+v, want 20 requests and a connection for each", r)
	}
}

func TestRequestsAreSentByIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	s := &httptest.Server{Listener: l, Config: &nethttp.Server{Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Write([]byte(page)) //nolint:errcheck // the client sees it
	})}}
	s.Start()
	t.Cleanup(s.Close)
	c := lenient("http://" + l.Addr().String() + "/")
	c.Requests = 20
	if r := mustRun(t, c); r.Messages != 20 || len(r.Errors) != 0 {
		t.Errorf("got %+v, want 20 answers without an error", r)
	}
}

// checkKind runs c and checks that all n requests fail with the kind want, or none if it is empty.
func checkKind(t *testing.T, c Config, want string, n int64) {
	t.Helper()
	c.Timeout = time.Minute
	if want == oneloop.KindTimeout {
		c.Timeout = 50 * time.Millisecond
	}
	r := mustRun(t, c)
	if want == "" {
		if r.Answered != n || len(r.Errors) != 0 {
			t.Errorf("got %d answers and the errors %v %q, want %d and none", r.Answered, r.Errors, r.Details, n)
		}
		return
	}
	if r.Offered != n || r.Failed != n || r.Errors[want] != n || len(r.Errors) != 1 || len(r.Details) == 0 {
		t.Errorf("got %+v, want %d failures of kind %s", r, n, want)
	}
}

func TestAServerThatDoesNotListenIsAnError(t *testing.T) {
	addr, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), Config{URL: "http://" + addr + "/", Connections: 1, Requests: 1}, load.Events{})
	if err == nil || !strings.Contains(err.Error(), "nothing listens there: start the server or correct the address") {
		t.Errorf("got the error %v, want that nothing listens there", err)
	}
}

// TestAServerThatStopsListeningIsReported checks that each later request fails to connect.
func TestAServerThatStopsListeningIsReported(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		c, err := l.Accept()
		if err == nil {
			c.Close()
		}
		l.Close()
	}()
	c := Config{URL: "http://" + l.Addr().String() + "/", Connections: 2, Close: true, Requests: 6, Expect: []byte("x"), Timeout: time.Minute}
	r := mustRun(t, c)
	<-served
	if n := r.Errors[oneloop.KindConnect] + r.Errors[oneloop.KindReset] + r.Errors[oneloop.KindClosed]; r.Failed != 6 || n != 6 || r.Errors[oneloop.KindConnect] == 0 {
		t.Errorf("got %+v, want 6 failures, the last of kind connect", r)
	}
}

func TestRequestsUnderWayAreLimited(t *testing.T) {
	url := rawServer(t, says("", false))
	r := mustRun(t, Config{URL: url, Connections: 5, Close: true, Rate: 200, Duration: 100 * time.Millisecond, Timeout: time.Second, Expect: []byte("x")})
	if r.Offered != 20 || r.Failed != 20 || r.Errors[oneloop.KindTimeout] < 5 || r.Errors[kindLimit] == 0 || r.Errors[kindLimit]+r.Errors[oneloop.KindTimeout] != 20 {
		t.Errorf("got %+v, want 5 timeouts (more if the machine stalled for a second) and the others above the limit", r)
	}
}

func TestRunStopsAtTheLimitOfErrors(t *testing.T) {
	url := rawServer(t, says("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", false))
	r := mustRun(t, Config{URL: url, Connections: 2, Duration: time.Hour, MaxErrors: 10, Expect: []byte("x")})
	if r.Stopped != "after 10 errors" && r.Stopped != "after 11 errors" || r.Errors[kindStatus] < 10 || !r.Interrupt || r.WindowNS <= 0 {
		t.Errorf("got %+v, want a run that stopped after 10 errors", r)
	}
}

func TestTheFirstResponseMustBeValid(t *testing.T) {
	for text, want := range map[string]string{
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n":                    "status 404 Not Found: give a URL with the status 200",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n": "not requested",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab":                         "within a response",
		"220 mail.example.org\r\n":                                               "does not start with HTTP",
	} {
		_, err := Run(t.Context(), Config{URL: rawServer(t, says(text, true)), Connections: 1, Requests: 1}, load.Events{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestAnInterruptEndsARun(t *testing.T) {
	url := web(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := lenient(url)
	c.Duration = time.Hour
	r, err := Run(ctx, c, load.Events{Every: time.Millisecond, Progress: func(p load.Progress) {
		if p.Sent > 20 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r.Messages < 20 || !r.Interrupt {
		t.Errorf("got error %v and %+v, want an interrupted run of 20 or more", err, r)
	}
}
