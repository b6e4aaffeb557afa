package web_test

import (
	"net/http/httptest"
	"testing"

	"weir/flow"
	"weir/web"
	"weir/web/internal/webtest"
)

// lined is a composition with a stage that blocks, and who is in it.
type lined struct {
	h       *web.Handler
	gate    chan struct{} // from the test -> to who is at work, a value lets one go
	entered chan string   // from who is at work -> to the test
}

func newLined(t *testing.T, width, queue int) *lined {
	t.Helper()
	l := &lined{gate: make(chan struct{}), entered: make(chan string, 64)}
	slow := web.Blocking(width, queue, web.Named("slow", web.Pipe(func(c *web.Conn) { l.entered <- c.RemoteAddr(); <-l.gate })))
	h, err := web.New(web.Chain(slow, text("done")), web.Options{Way: flow.Chain})
	if err != nil {
		t.Fatal(err)
	}
	l.h = h
	return l
}

// ask asks from an address, and gives the status when it comes.
func (l *lined) ask(from string) chan int {
	status := make(chan int, 1)
	go func() {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = from
		l.h.ServeHTTP(w, r)
		status <- w.Code
	}()
	return status
}

// waits waits until so many are in the stage or wait for it.
func (l *lined) waits(t *testing.T, depth uint64) {
	t.Helper()
	webtest.Until(t, "they wait", func() bool { return l.h.Topology().Edges[0].Depth == depth })
}

func TestOneClientCannotKeepOthersOutOfALine(t *testing.T) {
	l := newLined(t, 1, 4)
	defer l.h.Close()
	var greedy []chan int
	for i := range 5 { // one is at work, four wait: the line is full
		greedy = append(greedy, l.ask("192.0.2.1:1"))
		l.waits(t, uint64(i+1))
	}
	if got := <-l.ask("192.0.2.1:2"); got != 503 {
		t.Errorf("one more of the client that fills the line: got %d, want 503", got)
	}
	other := l.ask("[2001:db8::1]:1")
	if got := <-greedy[4]; got != 503 {
		t.Errorf("the last of the client that fills the line: got %d, want 503 in favour of another client", got)
	}
	<-l.entered
	l.gate <- struct{}{}
	if got := <-greedy[0]; got != 200 {
		t.Errorf("the first of the greedy client: got %d, want 200", got)
	}
	first, second := <-l.entered, ""
	l.gate <- struct{}{}
	second = <-l.entered
	if first != "[2001:db8::1]:1" && second != "[2001:db8::1]:1" {
		t.Errorf("the next two at work: %s, %s; want the other client to be one of them", first, second)
	}
	close(l.gate)
	if got := <-other; got != 200 {
		t.Errorf("the other client: got %d, want 200", got)
	}
	for _, g := range greedy[1:4] {
		if got := <-g; got != 200 {
			t.Errorf("who waited: got %d, want 200", got)
		}
	}
}

func TestClientsTakeTurns(t *testing.T) {
	l := newLined(t, 1, 8)
	defer l.h.Close()
	var all []chan int
	for i, from := range []string{"192.0.2.9:1", "192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.2:1", "192.0.2.3:1"} {
		all = append(all, l.ask(from))
		l.waits(t, uint64(i+1))
	}
	order := ""
	for range all {
		order += (<-l.entered)[6:] + " "
		l.gate <- struct{}{}
	}
	if want := "2.9:1 2.1:1 2.2:1 2.3:1 2.1:2 2.1:3 "; order != want {
		t.Errorf("at work in the order %s, want %s", order, want)
	}
	for _, a := range all {
		<-a
	}
}

func TestAnIPv6NetworkIsOneClientInALine(t *testing.T) {
	l := newLined(t, 1, 2)
	defer l.h.Close()
	all := []chan int{l.ask("[2001:db8::1]:1")}
	l.waits(t, 1)
	for i, from := range []string{"[2001:db8::2]:1", "[2001:db8::3]:1"} {
		all = append(all, l.ask(from))
		l.waits(t, uint64(i+2))
	}
	if got := <-l.ask("[2001:db8::4]:1"); got != 503 {
		t.Errorf("another address of the network that fills the line: got %d, want 503", got)
	}
	other := l.ask("192.0.2.1:1")
	select {
	case got := <-all[2]:
		if got != 503 {
			t.Errorf("the last of the network that fills the line: got %d, want 503 in favour of another client", got)
		}
	case got := <-other:
		t.Fatalf("another client: got %d, want the place of the network's last", got)
	}
	close(l.gate)
	for _, a := range append(all[:2], other) {
		if got := <-a; got != 200 {
			t.Errorf("got %d, want 200", got)
		}
	}
}
