package netsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/testsize"
	"weir/tcpip"
	"weir/tcpip/link"
	"weir/tcpip/tcp"
	"weir/wire"
)

// A seed chooses the version of IP, a path, the concurrency models of two stacks, and their
// applications: connections in parallel, dialed from either side, with writes of all lengths in
// both directions, pauses, and ends in any order. All data must arrive once, in order and to the
// end. After the last connection, both hosts must have no connection, no buffered byte, no timer
// that would send anything, and no goroutine.
func TestConversationsOfAllSeedsArriveAndLeaveNothing(t *testing.T) {
	for seed := range uint64(testsize.Of(t, "WEIR_NETSIM_SEEDS", 100)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { drawn(rand.New(rand.NewPCG(seed, 500))).run(t) })
		})
	}
}

// world is the choice of a seed.
type world struct {
	ipv6     bool
	pair     link.PairConfig
	ways     [2]link.ImpairConfig
	configs  [2]tcp.Config
	runs     [2]tcpip.Run
	sessions []session
}

// session is a connection: its dialing end, its start, and what each end does.
type session struct {
	dials int
	after time.Duration
	ends  [2]habits
	fast  bool // with Fast Open, and a cookie from an earlier connection
}

// habits describe what an application does with its end.
type habits struct {
	writes []int           // lengths
	pauses []time.Duration // before each
	sip    int             // maximum of a read
	idle   time.Duration   // between reads
}

func drawn(r *rand.Rand) *world {
	w := &world{}
	w.pair = link.PairConfig{MTU: []int{576, 1280, 1500, 1500, 9000}[r.IntN(5)], Depth: 10_000}
	if r.IntN(2) == 0 {
		w.pair.Superframe, w.pair.Checksum = 65535, true
	}
	for i := range w.ways {
		w.ways[i] = link.ImpairConfig{Out: way(r), Seed: r.Uint64()}
		w.configs[i] = tcp.Config{NoSACK: r.IntN(6) == 0, NoTimestamps: r.IntN(6) == 0, NoWindowScaling: r.IntN(6) == 0, CongestionControl: tcp.Algorithm(r.IntN(2)), TimeWaitDuration: 5 * time.Second}
		if w.runs[i] = tcpip.RunChain; r.IntN(4) == 0 {
			w.runs[i] = tcpip.RunNetwork
		}
		w.configs[i].ECN = tcp.ECN(r.IntN(3))
		if r.IntN(4) == 0 { // a small buffer
			w.configs[i].ReceiveBuffer = tcp.BufferRange{Initial: 4000, Max: 4000 + r.IntN(60_000)}
		}
	}
	for range 1 + r.IntN(4) {
		w.sessions = append(w.sessions, session{dials: r.IntN(2), after: time.Duration(r.IntN(300)) * time.Millisecond, ends: [2]habits{habit(r), habit(r)}, fast: r.IntN(3) == 0})
	}
	for i := range w.configs {
		w.configs[i].MTUProbing = tcp.MTUProbing(r.IntN(2))
	}
	if w.ipv6 = r.IntN(2) == 0; w.ipv6 {
		w.pair.MTU = max(w.pair.MTU, wire.IPv6MinMTU)
	}
	if r.IntN(4) == 0 { // a black hole that takes what a connection falls back to
		w.ways[0].Out.MaxFrame = min(w.pair.MTU, 1100+r.IntN(8000)) + wire.EthernetHeader
		w.ways[1].Out.MaxFrame = w.ways[0].Out.MaxFrame
	}
	return w
}

// way chooses the impairment of one direction.
func way(r *rand.Rand) link.Impairment {
	some := func(of int) bool { return r.IntN(of) == 0 }
	c := link.Impairment{Delay: time.Duration(r.IntN(60)) * time.Millisecond}
	if some(2) {
		c.Jitter = time.Duration(r.IntN(20)) * time.Millisecond
	}
	if some(2) {
		c.Loss = 0.1 * r.Float64()
	}
	if some(6) {
		c.Burst = link.Burst{Start: 0.01, End: 0.3}
	}
	if some(3) {
		c.Duplicate = 0.05 * r.Float64()
	}
	if some(3) {
		c.Reorder, c.ReorderDelay = 0.2*r.Float64(), time.Duration(r.IntN(30))*time.Millisecond
	}
	if some(3) {
		c.Rate, c.QueueBytes = 500_000+r.Int64N(50_000_000), 70_000+r.IntN(200_000)
	}
	return c
}

func habit(r *rand.Rand) (h habits) {
	for range r.IntN(6) {
		h.writes = append(h.writes, []int{1, 10, 100, 1000, 10_000, 50_000}[r.IntN(6)]*(1+r.IntN(2)))
		h.pauses = append(h.pauses, time.Duration(r.IntN(3)*r.IntN(100))*time.Millisecond)
	}
	h.sip = 1 << (7 + r.IntN(10))
	if r.IntN(4) == 0 {
		h.sip, h.idle = 1<<12, time.Duration(r.IntN(20))*time.Millisecond
	}
	return h
}

// run runs the simulation.
func (w *world) run(t *testing.T) {
	la, lb := link.Pair(w.pair)
	var hosts [2]*tcpip.Stack
	var links [2]link.Link
	for i, l := range []link.Link{la, lb} {
		impaired, err := link.Impair(l, w.ways[i])
		if err != nil {
			t.Fatal(err)
		}
		links[i] = impaired
		if hosts[i], err = tcpip.New(tcpip.Config{Link: impaired, Addrs: []netip.Prefix{netip.PrefixFrom(w.addr(i), 24)}, TCP: w.configs[i], Run: w.runs[i]}); err != nil {
			t.Fatal(err)
		}
	}
	results := make(chan error, len(w.sessions)) // the sessions -> here: one of each
	for i, s := range w.sessions {
		go func() { results <- s.play(hosts, w.addr(1-s.dials), i) }()
	}
	for range w.sessions {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	quiet(t, hosts, links)
	for _, s := range hosts {
		s.Close()
	}
}

// addr is the address of a host.
func (w *world) addr(host int) netip.Addr {
	if w.ipv6 {
		return netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(host + 1)})
	}
	return netip.AddrFrom4([4]byte{10, 0, 0, byte(host + 1)})
}

// quiet checks that nothing is left, in virtual time.
func quiet(t *testing.T, hosts [2]*tcpip.Stack, links [2]link.Link) {
	for range 600 {
		if len(hosts[0].Connections()) == 0 && len(hosts[1].Connections()) == 0 {
			break
		}
		time.Sleep(time.Second)
	}
	// wait for frames in flight, and for the probes of stale neighbours: they begin up to 5 s after
	// the last packet, and end after 3 s (RFC 4861, section 7.3.3)
	time.Sleep(15 * time.Second)
	var before [2]uint64
	for i, s := range hosts {
		if all := s.Connections(); len(all) > 0 {
			t.Errorf("host %d has %d connections left, want none: %+v", i+1, len(all), all[0])
		}
		if held, _ := s.Memory(); held != 0 {
			t.Errorf("host %d has %d bytes in use, want 0", i+1, held)
		}
		before[i] = links[i].Queue(0).Counters().Sent
	}
	time.Sleep(time.Hour)
	for i, l := range links {
		if now := l.Queue(0).Counters().Sent; now != before[i] {
			t.Errorf("host %d sent %d frames after the end, want none", i+1, now-before[i])
		}
	}
}

// play runs a session; its first end dials the other at its address.
func (s *session) play(hosts [2]*tcpip.Stack, at netip.Addr, number int) error {
	port := strconv.Itoa(80 + number)
	l, err := (&tcpip.ListenConfig{Stack: hosts[1-s.dials], FastOpen: 4}).Listen(context.Background(), "tcp", ":"+port)
	if err != nil {
		return err
	}
	time.Sleep(s.after)
	address := net.JoinHostPort(at.String(), port)
	if s.fast {
		if err := s.meet(hosts[s.dials], l, address); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	results := make(chan error, 2) // the ends -> here: one of each
	go func() {
		c, err := dial(hosts[s.dials], address, s.fast)
		if err != nil {
			results <- err
			l.Close()
			return
		}
		results <- s.ends[0].live(c.(*tcpip.Conn), &s.ends[1], byte(number))
	}()
	go func() { results <- s.serve(l, byte(number)) }()
	err = errors.Join(<-results, <-results)
	return errors.Join(err, l.Close())
}

// serve is the accepting end. With Fast Open it has a connection before the handshake is complete.
// If its neighbour is lost before that, the retransmitted SYN opens the connection again.
func (s *session) serve(l net.Listener, seed byte) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		err = s.ends[1].live(c.(*tcpip.Conn), &s.ends[0], seed)
		if !s.fast || !errors.Is(err, syscall.EHOSTUNREACH) {
			return err
		}
	}
}

// meet opens and closes a connection: the dialing host gets a cookie of Fast Open.
func (s *session) meet(from *tcpip.Stack, l net.Listener, address string) error {
	c, err := dial(from, address, true)
	if err != nil {
		return err
	}
	defer c.Close()
	d, err := l.Accept()
	if err != nil {
		return err
	}
	return d.Close()
}

// dial retries: at a loss of a tenth, three requests for the hardware address in a row are
// sometimes lost, and the neighbour is considered unreachable.
func dial(s *tcpip.Stack, address string, fast bool) (c net.Conn, err error) {
	for range 5 {
		if c, err = (&tcpip.Dialer{Stack: s, FastOpen: fast}).Dial("tcp", address); !errors.Is(err, syscall.EHOSTUNREACH) {
			break
		}
		time.Sleep(5 * time.Second)
	}
	return c, err
}

// live writes and reads as its habits say, and compares the received data with the other end's.
func (h *habits) live(c *tcpip.Conn, other *habits, seed byte) error {
	written := make(chan error, 1) // the writer -> here
	go func() { written <- h.write(c, seed) }()
	got, err := h.read(c)
	want := other.data(seed)
	if err != nil || !bytes.Equal(got, want) {
		err = fmt.Errorf("%d bytes have come, want %d (%w)", len(got), len(want), err)
	}
	return errors.Join(err, <-written, c.Close())
}

// data returns all that an end with these habits writes.
func (h *habits) data(seed byte) []byte {
	n := 0
	for _, k := range h.writes {
		n += k
	}
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func (h *habits) write(c *tcpip.Conn, seed byte) error {
	b := h.data(seed)
	for i, n := range h.writes {
		time.Sleep(h.pauses[i])
		if _, err := c.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return c.CloseWrite()
}

func (h *habits) read(c *tcpip.Conn) (all []byte, err error) {
	for b := make([]byte, h.sip); ; time.Sleep(h.idle) {
		n, err := c.Read(b)
		all = append(all, b[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}
