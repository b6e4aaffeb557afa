package web_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/tcpip/netsim"
)

// content returns the content of an item: different for each, so that no part of one can pass for
// a part of another.
func content(item string, size int) []byte {
	b := make([]byte, size)
	rand.NewChaCha8(sha256.Sum256([]byte(item))).Read(b) //nolint:errcheck // it never fails
	return b
}

// habit is how an upstream behaves.
type habit int

// The habits.
const (
	healthy  habit = iota
	stalling       // it pauses in the middle of a body
	late           // it pauses before the head
	sick           // it fails its health checks
)

// app is an upstream. A run of its host serves until the host crashes.
type app struct {
	name string
	host *netsim.Host
	shop *shop

	mu       sync.Mutex
	habit    habit
	requests int // other than health checks
}

// shop counts the orders that were carried out, by all upstreams together.
type shop struct {
	mu      sync.Mutex
	carried map[string]int
}

// stall is longer than any limit of the proxy.
const stall = 2 * time.Minute

// serve is the program of the upstream.
func (a *app) serve(h *netsim.Host) error {
	l, err := h.Listen("tcp", ":80")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: a, IdleTimeout: 3 * time.Second}
	go func() { // until the host crashes, or the world ends
		<-h.Context().Done()
		s.Close()
	}()
	if err := s.Serve(l); h.Context().Err() == nil {
		return err
	}
	return nil
}

func (a *app) setHabit(to habit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.habit = to
}

// begin counts a request, and returns the habit.
func (a *app) begin(count int) habit {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests += count
	return a.habit
}

func (a *app) served() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// ServeHTTP serves /healthz, GET /item/NAME?size=N, POST /order/NAME and PUT /file/NAME.
func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		if a.begin(0) == sick {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return
	}
	now := a.begin(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if kind == "order" {
		a.shop.mu.Lock()
		a.shop.carried[name]++
		a.shop.mu.Unlock()
	}
	if now == late {
		pause(r)
	}
	w.Header().Set("X-Name", name)
	a.answer(w, r, kind, name, body, now == stalling)
}

// answer writes the response. Items of an even size have a stated length, others are chunked.
func (a *app) answer(w http.ResponseWriter, r *http.Request, kind, name string, body []byte, stalls bool) {
	text := []byte(fmt.Sprintf("%s %s: %x", kind, name, sha256.Sum256(body)))
	if kind == "item" {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		text = content(name, size)
	}
	if len(text)%2 == 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	}
	half := len(text) / 2
	io.Copy(w, bytes.NewReader(text[:half])) //nolint:errcheck // the client notices
	if stalls {
		http.NewResponseController(w).Flush() //nolint:errcheck // as above
		pause(r)
	}
	io.Copy(w, bytes.NewReader(text[half:])) //nolint:errcheck // as above
}

// pause waits for long, or until the client has gone.
func pause(r *http.Request) {
	select {
	case <-time.After(stall):
	case <-r.Context().Done():
	}
}
