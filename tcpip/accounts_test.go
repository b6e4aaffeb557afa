package tcpip

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/testsize"
	"weir/serve"
	"weir/tcpip/link"
)

// accounts counts the resources that a stack uses for its peers. Each is 0 once they are gone.
type accounts struct {
	Connections, Waiting, Timers, Posts int
	Memory                              int // bytes
	Opening, Kept                       int // of all listeners
	Fragments, NeighbourPackets, Pings  int
}

func (s *Stack) accounts() (a accounts) {
	a.Connections = len(s.conns.all())
	a.Waiting, _ = s.TimeWaits()
	a.Memory, _ = s.Memory()
	for _, i := range s.ifaces {
		for _, l := range i.readers {
			l.timers.mu.Lock()
			a.Timers += len(l.timers.heap)
			l.timers.mu.Unlock()
			l.wakeQueue.mu.Lock()
			a.Posts += len(l.wakeQueue.conns)
			l.wakeQueue.mu.Unlock()
		}
		i.mu.Lock()
		for n := range i.neigh.All() {
			a.NeighbourPackets += n.Waiting()
		}
		i.mu.Unlock()
	}
	for _, l := range s.listeners.all() {
		a.Opening += int(l.handshakes.Load())
		l.reservedMu.Lock()
		a.Kept += l.reserved.used + len(l.reserved.perClient)
		l.reservedMu.Unlock()
	}
	s.fragsMu.Lock()
	a.Fragments = s.fragments.HeldBytes()
	s.fragsMu.Unlock()
	s.sockets.mu.RLock()
	a.Pings = len(s.sockets.pings)
	s.sockets.mu.RUnlock()
	return a
}

// obedient is a session that obeys the first byte of its peer. It counts the running sessions.
type obedient struct {
	c     serve.Conn
	alive *atomic.Int64
}

func (o *obedient) Input(in []byte, out *serve.Writer) error {
	switch in[0] {
	case 'e':
		out.Write(in)
	case 'm':
		out.Write(make([]byte, 1<<20))
	case 'h':
		out.PauseInput()
	case 'w':
		out.PauseInput()
		out.WakeAt(time.Now().Add(10 * time.Hour))
	case 's':
		o.c.Send(make([]byte, 200<<10))
	case 'x':
		out.Write(make([]byte, 300<<10))
		return io.EOF
	case 'p':
		panic("as told")
	case 'g':
		runtime.Goexit()
	}
	return nil
}

func (o *obedient) Wake(time.Time, *serve.Writer) error { return nil }
func (o *obedient) Close(error)                         { o.alive.Add(-1) }

// obey serves such sessions at port 7.
func obey(t *testing.T, s *Stack) (v *Server, alive *atomic.Int64) {
	t.Helper()
	alive = new(atomic.Int64)
	v, err := s.Serve(":7", serve.Service{Open: func(c serve.Conn) serve.Session {
		alive.Add(1)
		return &obedient{c, alive}
	}}, serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v, alive
}

// A peer that does not read, and resets while output is unsent, leaves nothing behind, whatever its
// session does at that moment.
func TestAPeerThatResetsLeavesNothingBehind(t *testing.T) {
	for name, orders := range map[string][]string{
		"while output waits":                      {"m"},
		"while output waits and input is unread":  {"m", "more"},
		"while Send's output waits":               {"s", "s", "s", "more"},
		"while it is paused":                      {"h"},
		"while it is paused and input is unread":  {"h", "more"},
		"while it waits to be woken":              {"w", "more"},
		"while the last words of a session wait":  {"x", "more"},
		"while output waits, having ended before": {"m", "more", ""},
		"while it is paused, having ended before": {"h", "more", ""},
		"after a panic":                           {"p", "more"},
		"after a Goexit":                          {"g", "more"},
		"after the session has read all":          {"e"},
	} {
		ways(t, func(t *testing.T, run Run) {
			synctest.Test(t, func(t *testing.T) {
				a, b := hostsBy(t, run, link.PairConfig{})
				_, alive := obey(t, b)
				for range 20 {
					c := dial(t, a, "tcp", "10.0.0.2:7").(*Conn)
					for _, order := range orders {
						if order == "" {
							c.CloseWrite() //nolint:errcheck // the test checks what is left
						}
						io.WriteString(c, order) //nolint:errcheck // the test checks its effect
						time.Sleep(100 * time.Millisecond)
					}
					c.abort()
				}
				time.Sleep(time.Second)
				if n, left := alive.Load(), b.accounts(); n != 0 || left != (accounts{}) {
					t.Errorf("%s: a second after the reset: %d sessions and %+v, want none", name, n, left)
				}
				c := dial(t, a, "tcp", "10.0.0.2:7")
				expect(t, c, "e still served", "e still served")
			})
		})
	}
}

// A stack keeps no resources for peers that are gone, however hostile they were.
func TestHostilePeersLeaveNothingBehind(t *testing.T) {
	for seed := range testsize.Of(t, "WEIR_HOSTILE_SEEDS", 6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { (&hostility{rand.New(rand.NewPCG(uint64(seed), 1))}).run(t) })
		})
	}
}

// hostility is a random mix of hostile peers.
type hostility struct{ r *rand.Rand }

func (h *hostility) run(t *testing.T) {
	run := RunChain
	if h.r.IntN(4) == 0 {
		run = RunNetwork
	}
	la, lb := link.Pair(link.PairConfig{})
	a := stack(t, Config{Run: run, Link: la, Addrs: prefixes("10.0.0.1/24")})
	b := stack(t, Config{Run: run, Link: lb, Addrs: prefixes("10.0.0.2/24"), Backlog: 8, Memory: 8 << 20})
	v, alive := obey(t, b)
	l := listen(t, b, ":80")
	stopped := make(chan struct{}) // closed when the applications stop accepting
	go h.accept(l, rand.New(rand.NewPCG(h.r.Uint64(), 2)), stopped)
	var done []chan struct{} // each is closed when its peer has gone
	for range 60 {
		p := &hostilePeer{a, rand.New(rand.NewPCG(h.r.Uint64(), 3)), make(chan struct{})}
		done = append(done, p.gone)
		go p.run()
		time.Sleep(time.Duration(h.r.IntN(50)) * time.Millisecond)
	}
	if h.r.IntN(2) == 0 {
		time.Sleep(5 * time.Second)
		la.Close() // and the connected ones fall silent
	}
	for _, d := range done {
		<-d
	}
	l.Close()
	<-stopped
	a.Close()
	time.Sleep(40 * time.Minute) // more than the user timeout and the keep-alive limit
	if n, left := alive.Load(), b.accounts(); n != 0 || left != (accounts{}) {
		t.Errorf("after all peers are gone: %d sessions and %+v, want none", n, left)
		for _, c := range b.Connections() {
			t.Logf("%+v", c)
		}
	}
	v.Close()
	b.Close()
	left := b.accounts()
	left.NeighbourPackets = 0 // they end with the stack
	if left != (accounts{}) {
		t.Errorf("a closed stack has %+v, want nothing", left)
	}
}

// accept accepts some connections as applications do: some read, some write to peers that do not
// read, and all close in the end.
func (h *hostility) accept(l net.Listener, r *rand.Rand, stopped chan struct{}) {
	defer close(stopped)
	for {
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.SetDeadline(time.Now().Add(time.Duration(r.IntN(20)) * time.Second))
		what := r.IntN(3)
		go func() {
			defer c.Close()
			switch what {
			case 0:
				io.Copy(io.Discard, c) //nolint:errcheck // the test checks what is left
			case 1:
				c.Write(make([]byte, 1<<20)) //nolint:errcheck // the test checks its effect
			}
		}()
	}
}

// hostilePeer is one of many peers of a stack.
type hostilePeer struct {
	s    *Stack
	r    *rand.Rand
	gone chan struct{}
}

func (p *hostilePeer) run() {
	defer close(p.gone)
	d, err := p.s.Dial("tcp", []string{"10.0.0.2:7", "10.0.0.2:80"}[p.r.IntN(2)])
	if err != nil {
		return
	}
	c := d.(*Conn)
	c.SetDeadline(time.Now().Add(time.Minute))
	for range p.r.IntN(8) {
		switch p.r.IntN(6) {
		case 0:
			c.Read(make([]byte, 1+p.r.IntN(100_000))) //nolint:errcheck // hostile
		case 1:
			c.CloseWrite() //nolint:errcheck // the test checks its effect
		case 2:
			c.Write(bytes.Repeat([]byte{"emhwsxpg"[p.r.IntN(8)]}, 1+p.r.IntN(30_000))) //nolint:errcheck // the test checks its effect
		default:
			c.Write([]byte{"emhwsxpg"[p.r.IntN(8)]}) //nolint:errcheck // the test checks its effect
		}
		time.Sleep(time.Duration(p.r.IntN(2000)) * time.Millisecond)
	}
	switch p.r.IntN(4) {
	case 0:
		c.abort()
	case 1:
		c.Close()
	case 2: // it forgets the connection, and answers the next segment with a reset
		p.s.conns.remove(c)
		c.reader.timers.cancel(c)
	} // otherwise it stays as long as its stack
}
