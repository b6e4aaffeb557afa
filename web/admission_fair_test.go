package web_test

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/flow"
	"weir/web"
	"weir/web/internal/client"
	"weir/web/internal/webtest"
)

// lined is a composition with a stage that blocks, and control over its exchanges.
type lined struct {
	h       *web.Handler
	gate    chan struct{} // one value lets one active exchange continue
	entered chan string   // the client address of each exchange that becomes active
}

func newLined(t *testing.T, way flow.Way, width, queue int) *lined {
	t.Helper()
	l := &lined{gate: make(chan struct{}), entered: make(chan string, 64)}
	slow := web.Blocking(width, queue, web.Named("slow", web.Pipe(func(c *web.Conn) { l.entered <- c.RemoteAddr(); <-l.gate })))
	h, err := web.New(web.Chain(slow, text("done")), web.Options{Way: way})
	if err != nil {
		t.Fatal(err)
	}
	l.h = h
	return l
}

// ask sends a request from an address and returns a channel for the status. "front ADDRESS" is a
// trusted proxy that names no client.
func (l *lined) ask(from string) chan int { return l.askFor("/", from) }

// askFor requests a path as ask does.
func (l *lined) askFor(path, from string) chan int {
	status := make(chan int, 1)
	go func() {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
		if front, ok := strings.CutPrefix(from, "front "); ok {
			from = front
			r = r.WithContext(client.WithProxyAddr(r.Context(), front))
		}
		r.RemoteAddr = from
		l.h.ServeHTTP(w, r)
		status <- w.Code
	}()
	return status
}

// answer waits for the status of a request.
func answer(t *testing.T, status <-chan int) int {
	t.Helper()
	return webtest.Receive(t, status, "the status of an answer")
}

// waits waits until so many exchanges are active or waiting.
func (l *lined) waits(t *testing.T, depth uint64) {
	t.Helper()
	webtest.Until(t, "they wait", func() bool { return l.h.Topology().Edges[0].Depth == depth })
}

func TestFullAdmissionQueueEvictsTheGreediestClient(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		l := newLined(t, way, 1, 4)
		defer l.h.Close()
		var greedy []chan int
		for i := range 5 { // one is active, four wait: the queue is full
			greedy = append(greedy, l.ask("192.0.2.1:1"))
			l.waits(t, uint64(i+1))
		}
		if got := answer(t, l.ask("192.0.2.1:2")); got != 503 {
			t.Errorf("another request of the client that fills the queue: got %d, want 503", got)
		}
		other := l.ask("[2001:db8::1]:1")
		if got := answer(t, greedy[4]); got != 503 {
			t.Errorf("the last request of the client that fills the queue: got %d, want 503: evicted for another client", got)
		}
		webtest.Receive(t, l.entered, "an active exchange")
		l.gate <- struct{}{}
		if got := answer(t, greedy[0]); got != 200 {
			t.Errorf("the first of the greedy client: got %d, want 200", got)
		}
		first, second := webtest.Receive(t, l.entered, "an active exchange"), ""
		l.gate <- struct{}{}
		second = webtest.Receive(t, l.entered, "an active exchange")
		if first != "[2001:db8::1]:1" && second != "[2001:db8::1]:1" {
			t.Errorf("the next two active: got %s, %s, want one of the other client", first, second)
		}
		close(l.gate)
		if got := answer(t, other); got != 200 {
			t.Errorf("the other client: got %d, want 200", got)
		}
		for _, g := range greedy[1:4] {
			if got := answer(t, g); got != 200 {
				t.Errorf("waiting exchange: got %d, want 200", got)
			}
		}
	})
}

func TestClientsAreAdmittedInTurn(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		l := newLined(t, way, 1, 8)
		defer l.h.Close()
		var all []chan int
		for i, from := range []string{"192.0.2.9:1", "192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:1", "192.0.2.3:1"} {
			all = append(all, l.ask(from))
			l.waits(t, uint64(i+1))
		}
		order := ""
		for range all {
			order += (webtest.Receive(t, l.entered, "an active exchange"))[6:] + " "
			l.gate <- struct{}{}
		}
		if want := "2.9:1 2.1:1 2.2:1 2.3:1 2.1:2 2.1:3 "; order != want {
			t.Errorf("got the order %s, want %s", order, want)
		}
		for _, a := range all {
			answer(t, a)
		}
	})
}

func TestIPv6NetworkIsOneClientInTheAdmissionQueue(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		l := newLined(t, way, 1, 2)
		defer l.h.Close()
		all := []chan int{l.ask("[2001:db8::1]:1")}
		l.waits(t, 1)
		for i, from := range []string{"[2001:db8::2]:1", "[2001:db8::3]:1"} {
			all = append(all, l.ask(from))
			l.waits(t, uint64(i+2))
		}
		if got := answer(t, l.ask("[2001:db8::4]:1")); got != 503 {
			t.Errorf("another address of the network that fills the queue: got %d, want 503", got)
		}
		other := l.ask("192.0.2.1:1")
		select {
		case got := <-all[2]:
			if got != 503 {
				t.Errorf("the last request of the network that fills the queue: got %d, want 503: evicted for another client", got)
			}
		case got := <-other:
			t.Fatalf("another client: got %d, want the place of the network's last", got)
		}
		close(l.gate)
		for _, a := range append(all[:2], other) {
			if got := answer(t, a); got != 200 {
				t.Errorf("got %d, want 200", got)
			}
		}
	})
}

func TestOneClientHasAtMostHalfOfTheWidth(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		l := newLined(t, way, 4, 8)
		defer l.h.Close()
		var all []chan int
		for i := range 4 {
			all = append(all, l.ask(fmt.Sprintf("[2001:db8::%d]:1", i)))
			l.waits(t, uint64(i+1))
		}
		if got := []string{webtest.Receive(t, l.entered, "an active exchange"), webtest.Receive(t, l.entered, "an active exchange")}; len(l.entered) > 0 {
			t.Fatalf("of four requests of one network %q and %d more are active, want 2, half of the width", got, len(l.entered))
		}
		for _, other := range []string{"192.0.2.1:1", "192.0.2.2:1"} {
			all = append(all, l.ask(other))
			if got := webtest.Receive(t, l.entered, "an active exchange of another client, since half of the width is free"); got != other {
				t.Errorf("got the active client %s, want %s", got, other)
			}
		}
		close(l.gate)
		for i, a := range all {
			if got := answer(t, a); got != 200 {
				t.Errorf("request %d: got %d, want 200", i, got)
			}
		}
	})
}

// atWork counts active exchanges by client, and all of them under "".
type atWork struct {
	sync.Mutex
	now, most map[string]int
}

// change counts exchanges that start or end.
func (a *atWork) change(client string, by int) {
	a.Lock()
	defer a.Unlock()
	for _, of := range []string{client, ""} {
		a.now[of] += by
		a.most[of] = max(a.most[of], a.now[of])
	}
}

func TestSharesHoldWhateverEndsFirst(t *testing.T) {
	const width, each = 4, 50
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		seen := &atWork{now: map[string]int{}, most: map[string]int{}}
		work := web.Pipe(func(c *web.Conn) {
			seen.change(c.RemoteAddr(), 1)
			defer seen.change(c.RemoteAddr(), -1)
			time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
			if c.Path() == "/panic" {
				panic("leaves its place")
			}
		})
		l := &lined{}
		var err error
		if l.h, err = web.New(web.Chain(web.Blocking(width, 4*each, work), text("done")), web.Options{Way: way}); err != nil {
			t.Fatal(err)
		}
		defer l.h.Close()
		var all []chan int
		for i := range each {
			for _, from := range []string{"192.0.2.1:1", "192.0.2.2:1", "127.0.0.1:1"} {
				all = append(all, l.askFor([]string{"/", "/panic"}[i%2], from))
			}
		}
		for _, a := range all {
			if got := webtest.Receive(t, a, "an answer to each request"); got != 200 && got != 500 {
				t.Errorf("got %d, want 200, or 500 after a panic", got)
			}
		}
		for client, limit := range map[string]int{"": width, "192.0.2.1:1": width / 2, "192.0.2.2:1": width / 2} {
			if got := seen.most[client]; got > limit {
				t.Errorf("client %q: got %d active at once, want at most %d of %d", client, got, limit, width)
			}
		}
	})
}

func TestLoopbackSocketsAndProxiesHaveNoShareLimit(t *testing.T) {
	webtest.EachWay(t, func(t *testing.T, way flow.Way) {
		for _, from := range []string{"127.0.0.1:1", "[::1]:1", "@", "front 192.0.2.1:1"} {
			l := newLined(t, way, 2, 8)
			both := []chan int{l.ask(from), l.ask(from)}
			for range both {
				webtest.Receive(t, l.entered, "both requests of "+from+" active, since they may take the whole width")
			}
			close(l.gate)
			for _, b := range both {
				if got := answer(t, b); got != 200 {
					t.Errorf("%s: got %d, want 200", from, got)
				}
			}
			if err := l.h.Close(); err != nil {
				t.Errorf("%s: Close: got %v, want nil", from, err)
			}
		}
	})
}
