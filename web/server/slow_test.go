package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const shortTimeout = 300 * time.Millisecond

// impatient has short timeouts, and a minimum rate of 1 MiB a second. HeaderTimeout -1 is no limit,
// so that other clients of a slow machine are still served.
var impatient = Config{HeaderTimeout: -1, IdleTimeout: shortTimeout, SlowTransferGrace: shortTimeout, MinRate: 1 << 20}

// waitUntilServed repeats a request, each on a new connection, until it is answered: on a stalled
// machine every client is slow, and may be dropped. Unlike the attackers, it sends whole requests.
func waitUntilServed(t *testing.T, addr string) {
	t.Helper()
	wait(t, "the service is available", func() bool {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(waitTimeout))
		io.WriteString(c, get)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return false
		}
		body, err := io.ReadAll(resp.Body)
		return err == nil && string(body) == "here"
	})
}

// trickle opens n connections that send text and then more, piece by piece, and waits until the
// server has closed all of them. Other clients must be served meanwhile.
func trickle(t *testing.T, s *running, n int, text, more string) {
	t.Helper()
	var attackers sync.WaitGroup
	for range n {
		c := dial(t, s.addr)
		io.WriteString(c, text)
		attackers.Go(func() {
			for {
				c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				if _, err := io.WriteString(c, more); err != nil {
					return
				}
				if _, err := c.Read(make([]byte, 1)); err != nil && !timedOut(err) {
					return
				}
			}
		})
	}
	ended := make(chan struct{}) // carries no values; closed when all attackers have ended
	go func() { attackers.Wait(); close(ended) }()
	for limit := time.After(waitTimeout); ; {
		waitUntilServed(t, s.addr)
		select {
		case <-ended:
			return
		case <-limit:
			t.Fatalf("some of %d slow clients are still connected after %v, want all of them dropped", n, waitTimeout)
		default:
		}
	}
}

func timedOut(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

func TestSlowHeadersAreDropped(t *testing.T) {
	s := start(t, Config{HeaderTimeout: shortTimeout}, saying("here"))
	trickle(t, s, 20, "GET / HTTP/1.1\r\nHost: a\r\n", "X: y\r\n")
	trickle(t, s, 20, "G", "E")
}

func TestSlowBodiesAreDropped(t *testing.T) {
	s := start(t, impatient, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			io.WriteString(w, "here")
		}
	}))
	trickle(t, s, 20, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n", "a")
	trickle(t, s, 20, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n")
}

func TestSlowReadersAreDropped(t *testing.T) {
	gone := make(chan error, 100) // errors of the handlers of /long, one each, received by the test
	s := start(t, impatient, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/long" {
			io.WriteString(w, "here")
			return
		}
		block := make([]byte, 1<<20)
		for {
			if _, err := w.Write(block); err != nil {
				gone <- err
				return
			}
		}
	}))
	const n = 5
	for range n {
		c := dial(t, s.addr)
		c.(*net.TCPConn).SetReadBuffer(4096)
		io.WriteString(c, "GET /long HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	for range n {
		select {
		case <-gone:
		case <-time.After(waitTimeout):
			t.Fatalf("a client that reads nothing is still connected after %v, want it dropped", waitTimeout)
		}
		waitUntilServed(t, s.addr)
	}
}

// TestSmallWritesDoNotEvadeTheRate: what counts is what the client takes of the response, not when
// a write of the handler ends.
func TestSmallWritesDoNotEvadeTheRate(t *testing.T) {
	gone := make(chan error, 1) // the error of the handler
	s := start(t, impatient, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			_, err := w.Write(make([]byte, 512))
			if err == nil {
				err = http.NewResponseController(w).Flush()
			}
			if err != nil {
				gone <- err
				return
			}
		}
	}))
	c := dial(t, s.addr)
	c.(*net.TCPConn).SetReadBuffer(4096)
	io.WriteString(c, get)
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(shortTimeout / 4) {
		c.Read(make([]byte, 300))
		select {
		case <-gone:
			return
		default:
		}
	}
	t.Errorf("a client that takes some bytes in each %v is still connected after %v, want it dropped", shortTimeout, waitTimeout)
}

// TestAPausingHandlerIsNotASlowClient: the client has sent all of its content.
func TestAPausingHandlerIsNotASlowClient(t *testing.T) {
	s := start(t, impatient, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.ReadFull(r.Body, make([]byte, 10))
		time.Sleep(3 * shortTimeout)
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d %v", n, err)
	}))
	c := dial(t, s.addr)
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n"+strings.Repeat("x", 20000))
	if _, body := answer(t, bufio.NewReader(c)); body != "19990 <nil>" {
		t.Errorf("the handler has read %q behind its pause, want 19990 bytes and no error", body)
	}
}

func TestIdleConnectionsAreDropped(t *testing.T) {
	s := start(t, impatient, saying("here"))
	c := dial(t, s.addr)
	r := bufio.NewReader(c)
	io.WriteString(c, get)
	answer(t, r)
	if _, err := r.ReadByte(); err == nil || timedOut(err) {
		t.Errorf("an idle connection received %v, want EOF", err)
	}
	if n := s.Dropped(); n != 1 {
		t.Errorf("%d connections were dropped, want 1", n)
	}
}

// outlastIdleTimeout returns when the idle timeout of the connections under test would have
// expired: the server has dropped three idle connections, opened one after the other since. Their
// OPTIONS requests are for the connection only: the handlers of the tests answer that method at
// once.
func outlastIdleTimeout(t *testing.T, s *running) {
	t.Helper()
	for range 3 {
		c := dial(t, s.addr)
		io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
		r := bufio.NewReader(c)
		answer(t, r)
		if _, err := r.ReadByte(); timedOut(err) {
			t.Fatalf("an idle connection is still open after %v, want it closed", waitTimeout)
		}
	}
}

func TestEventStreamsAndUpgradedConnectionsMayBeIdle(t *testing.T) {
	next := make(chan string) // from the test to the handler of events
	s := start(t, impatient, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "OPTIONS":
			return
		case r.Header.Get("Upgrade") != "":
			echo(t).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for range 2 {
			io.WriteString(w, <-next)
			http.NewResponseController(w).Flush()
		}
	}))
	events, socket := dial(t, s.addr), dial(t, s.addr)
	io.WriteString(events, get)
	io.WriteString(socket, upgrade)
	r := bufio.NewReader(socket)
	if _, err := http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	}
	next <- "first"
	stream, err := http.ReadResponse(bufio.NewReader(events), nil)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, stream.Body, "first")
	outlastIdleTimeout(t, s)
	next <- "second"
	expect(t, stream.Body, "second")
	io.WriteString(socket, "still here")
	expect(t, r, "still here")
}

func TestSlowHandlerIsNotTimedOut(t *testing.T) {
	entered := make(chan struct{}) // no values; closed by the handler when it runs
	leave := make(chan struct{})   // no values; closed by the test to let the handler answer
	s := start(t, impatient, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "OPTIONS" {
			return
		}
		close(entered)
		<-leave
		if b, err := io.ReadAll(r.Body); err != nil || string(b) != "body" {
			t.Errorf("the handler read %q, error %v; want %q", b, err, "body")
		}
		io.WriteString(w, "at last")
	}))
	c := dial(t, s.addr)
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo")
	<-entered
	io.WriteString(c, "dy")
	outlastIdleTimeout(t, s)
	close(leave)
	if _, body := answer(t, bufio.NewReader(c)); body != "at last" {
		t.Errorf("got %q, want %q", body, "at last")
	}
}
