package engine

import (
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestAHijackedExchangeIsNotUsedAgain: the handler keeps what it was given, for as long as it
// likes.
func TestAHijackedExchangeIsNotUsedAgain(t *testing.T) {
	var kept http.ResponseWriter
	var request *http.Request
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kept == nil {
			kept, request = w, r
			r.Header.Set("X-Verified-User", "alice")
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := w.Write(nil); err != http.ErrHijacked {
				t.Errorf("Write after Hijack: got error %v, want %v", err, http.ErrHijacked)
			}
			c.Close()
			return
		}
		kept.Header().Set("Late", "1")
		if _, err := io.WriteString(kept, "late"); !errors.Is(err, errOver) {
			t.Errorf("Write after the exchange: got error %v, want %v", err, errOver)
		}
		if w == kept || r == request || r.Header.Get("X-Verified-User") != "" {
			t.Error("the second client's exchange has values of the hijacked one, want values of its own")
		}
	})
	s := New(Config{Handler: reusing{h}})
	for range 2 {
		client, ended := pipe(s)
		go io.WriteString(client, get)
		client.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if got, _ := io.ReadAll(client); strings.Contains(string(got), "late") || strings.Contains(string(got), "Late") {
			t.Errorf("got %q, want nothing of what the first handler has written late", got)
		}
		client.Close()
		<-ended
	}
	if _, ok := request.Context().Value(http.LocalAddrContextKey).(net.Addr); !ok {
		t.Error("the context of the hijacked request has lost the local address, want it kept")
	}
}

// TestAHijackedConnectionEnds: by its user, by a panic, when nothing refers to it, and when the
// server aborts. Until then ServeConn waits, because its caller closes the connection.
func TestAHijackedConnectionEnds(t *testing.T) {
	hijack := func(w http.ResponseWriter) net.Conn {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
		}
		return c
	}
	kept := make(chan net.Conn, 1) // one value, from the handler that keeps the connection
	for name, h := range map[string]http.HandlerFunc{
		"closed":  func(w http.ResponseWriter, r *http.Request) { hijack(w).Close() },
		"panic":   func(w http.ResponseWriter, r *http.Request) { hijack(w); panic(http.ErrAbortHandler) },
		"dropped": func(w http.ResponseWriter, r *http.Request) { hijack(w) },
		"aborted": func(w http.ResponseWriter, r *http.Request) { kept <- hijack(w) },
	} {
		s := New(Config{Handler: h})
		client, ended := pipe(s)
		io.WriteString(client, get)
		if name == "aborted" {
			c := <-kept
			defer c.Close()
			s.Abort()
		}
		for end := time.Now().Add(10 * time.Second); ; {
			runtime.GC()
			select {
			case <-ended:
			case <-time.After(time.Millisecond):
				if time.Now().Before(end) {
					continue
				}
				t.Errorf("%s: ServeConn still waits for the hijacked connection, want that it has returned", name)
			}
			break
		}
		client.Close()
	}
}
