package engine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipe serves one end of a net.Pipe, as package serve does, until it ends. The pipe has no buffer:
// a client's write returns when the server has read it.
func pipe(s *Server) (client net.Conn, ended <-chan struct{}) {
	a, b := net.Pipe()
	done := make(chan struct{}) // closed when ServeConn has returned
	go func() {
		defer close(done)
		s.ServeConn(nested{a}, nil, nil)
		a.Close()
	}()
	return b, done
}

// TestAReadThatOutlivesItsHandlerFails: a goroutine of the handler, like that of an http.Transport,
// still reads the content when the handler returns. Its read fails, and what the client sends
// afterwards is in no other client's request.
func TestAReadThatOutlivesItsHandlerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1) // one value, from the stray read
		var seen []string
		s := New(Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, fmt.Sprint(r.Method, r.RequestURI, r.Header))
			if r.Method == "POST" {
				go func() {
					_, err := r.Body.Read(make([]byte, 4096))
					failed <- err
				}()
				time.Sleep(time.Second) // the read waits for the client
			}
		})})
		attacker, ended := pipe(s)
		go io.Copy(io.Discard, attacker)
		io.WriteString(attacker, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n")
		<-ended
		if err := <-failed; err != http.ErrBodyReadAfterClose {
			t.Errorf("a read that waits while its handler returns: got error %v, want %v", err, http.ErrBodyReadAfterClose)
		}
		victim, ended := pipe(s)
		go io.Copy(io.Discard, victim)
		io.WriteString(victim, "GET /innocent HTTP/1.1\r\nHost: a\r\n")
		io.WriteString(attacker, "GET /transfer HTTP/1.1\r\nHost: a\r\n")
		io.WriteString(victim, "\r\n")
		victim.Close()
		<-ended
		if want := "GET/innocentmap[]"; len(seen) != 2 || seen[1] != want {
			t.Errorf("got the requests %q, want that the second is %q", seen, want)
		}
	})
}

// TestAStrayReadDoesNotDelayTheResponse: a goroutine drains the content, and the handler responds.
func TestAStrayReadDoesNotDelayTheResponse(t *testing.T) {
	s := New(Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		go io.Copy(io.Discard, r.Body)
		io.WriteString(w, "response")
	})})
	const content = 2000
	for range 20 {
		client, ended := pipe(s)
		go func() {
			io.WriteString(client, fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", content))
			for range content / 100 {
				io.WriteString(client, strings.Repeat("x", 100))
			}
		}()
		client.SetDeadline(time.Now().Add(10 * time.Second))
		got, err := io.ReadAll(client)
		if err != nil || !strings.HasSuffix(string(got), "response") {
			t.Fatalf("got %q, error %v; want the response, then the end", got, err)
		}
		client.Close()
		<-ended
	}
}

// TestContentIsClosedWhenTheResponseStarts, if the connection may be used again: what the handler
// has not read by then is dropped, or stays unread. A later read fails, so that the handler does
// not take a part for the whole.
func TestContentIsClosedWhenTheResponseStarts(t *testing.T) {
	for name, c := range map[string]struct {
		duplex bool
		field  string
		want   string
	}{
		"half duplex":                {false, "", "0 " + http.ErrBodyReadAfterClose.Error()},
		"the last of its connection": {false, "Connection: close\r\n", "600000 <nil>"},
		"full duplex":                {true, "", "600000 <nil>"},
	} {
		s := New(Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			if c.duplex {
				if err := control.EnableFullDuplex(); err != nil {
					t.Error(err)
				}
			}
			control.Flush()
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprintf(w, "got %d %v;", n, err)
		})})
		client, _ := pipe(s)
		go io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\n"+c.field+"Content-Length: 600000\r\n\r\n"+strings.Repeat("x", 600000))
		client.SetDeadline(time.Now().Add(10 * time.Second))
		var got []byte
		for want := "got " + c.want + ";"; !strings.Contains(string(got), want); {
			part := make([]byte, 1000)
			n, err := client.Read(part)
			if got = append(got, part[:n]...); err != nil {
				t.Errorf("%s: got %q, error %v; want %q in it", name, got, err, want)
				break
			}
		}
		client.Close()
	}
}

// TestOnlyTheClientsTimeCounts: a client that has sent everything in time is not late because the
// handler pauses; one that pauses itself is.
func TestOnlyTheClientsTimeCounts(t *testing.T) {
	for name, c := range map[string]struct{ handlerPauses, clientPauses time.Duration }{
		"the handler pauses": {handlerPauses: time.Hour},
		"the client pauses":  {clientPauses: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Config{SlowTransferGrace: time.Second, MinRate: 500, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.ReadFull(r.Body, make([]byte, 10))
				time.Sleep(c.handlerPauses)
				n, err := io.Copy(io.Discard, r.Body)
				fmt.Fprintf(w, "%d %v", n, err)
			})})
			client, ended := pipe(s)
			var sending sync.WaitGroup
			sending.Go(func() {
				io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9000\r\n\r\n")
				io.WriteString(client, strings.Repeat("x", 10))
				time.Sleep(c.clientPauses)
				io.WriteString(client, strings.Repeat("x", 8990))
			})
			got, _ := io.ReadAll(client)
			if fair := strings.Contains(string(got), "8990 <nil>"); fair != (c.clientPauses == 0) {
				t.Errorf("%s: got %q, want that the content arrives whole: %t", name, got, c.clientPauses == 0)
			}
			client.Close()
			<-ended
			sending.Wait()
		})
	}
}

// TestTrailersAreThoseOfTheirRequest: a later client that sends the same head without trailers does
// not get them.
func TestTrailersAreThoseOfTheirRequest(t *testing.T) {
	var seen []string
	s := New(Config{Handler: reusing{func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		seen = append(seen, r.Trailer.Get("X-User"))
	}}})
	for _, trailers := range []string{"X-User: alice\r\n", ""} {
		s.ServeConn(&repeater{request: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n" + trailers + "\r\n", left: 1}, nil, nil)
	}
	if len(seen) != 2 || seen[0] != "alice" || seen[1] != "" {
		t.Errorf("got the trailers %q, want alice for the first request alone", seen)
	}
}

// TestContinueIsNotSentWithinTheResponse: 100 (Continue) is sent by the goroutine that reads
// the content, the response by the handler's.
func TestContinueIsNotSentWithinTheResponse(t *testing.T) {
	s := New(Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		go io.Copy(io.Discard, r.Body)
		w.Write(make([]byte, 50_000))
	})})
	for range 50 {
		client, ended := pipe(s)
		go io.WriteString(client, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n")
		got, err := io.ReadAll(client)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Fatal(err)
		}
		if i := strings.LastIndex(string(got), "HTTP/1.1 100"); i > 0 {
			t.Fatalf("got 100 (Continue) at byte %d, want it before the response or not at all", i)
		}
		client.Close()
		<-ended
	}
}

// TestGoexitOfAHandlerEndsItsExchange: a goroutine that the handler has left reads nothing of other
// clients.
func TestGoexitOfAHandlerEndsItsExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := make(chan error, 1) // the result of the stray read
		start := make(chan struct{})
		s := New(Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/victim" {
				io.Copy(io.Discard, r.Body)
				return
			}
			go func() {
				<-start
				_, err := r.Body.Read(make([]byte, 1000))
				read <- err
			}()
			runtime.Goexit()
		})})
		attacker, ended := pipe(s)
		io.WriteString(attacker, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
		<-ended
		victim, ended := pipe(s)
		go io.Copy(io.Discard, victim)
		io.WriteString(victim, "POST /victim HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\nsecret")
		close(start)
		if err := <-read; err != http.ErrBodyReadAfterClose {
			t.Errorf("a read after the handler's Goexit: got error %v, want %v", err, http.ErrBodyReadAfterClose)
		}
		victim.Close()
		attacker.Close()
		<-ended
	})
}
