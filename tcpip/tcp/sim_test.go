package tcp

import (
	"bytes"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"weir/internal/testsize"
	"weir/wire"
)

// sim is two ends and the path between them in virtual time.
type sim struct {
	t     *testing.T
	now   Time
	queue packets
	seq   int
	ends  [2]*end
	rand  *rand.Rand

	delay, jitter time.Duration
	loss          float64
	rate          float64 // bytes a second; 0: no limit
	busy          [2]Time
	room          int // bytes that the queue before the bottleneck holds; 0: no limit
	largest       int // largest segment that arrives, options included; 0: no limit
	trace         bool
	sends         func(from int, bytes int) // is called for each segment; may be nil
	dropped       int
	fastOpen      bool    // the ends open with Fast Open, with a valid cookie
	marks         float64 // share of ECN-capable segments that get a CE mark
}

// end is one end with what it sends and has received.
type end struct {
	*Conn
	send     []byte
	sent     int
	received bytes.Buffer
	close    bool
	events   Event
	segments int
}

type packet struct {
	at   Time
	seq  int
	to   int
	s    Segment
	data []byte
}

type packets []packet

func (p packets) Len() int { return len(p) }
func (p packets) Less(i, j int) bool {
	return p[i].at < p[j].at || p[i].at == p[j].at && p[i].seq < p[j].seq
}
func (p packets) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *packets) Push(x any)   { *p = append(*p, x.(packet)) }
func (p *packets) Pop() any     { old := *p; x := old[len(old)-1]; *p = old[:len(old)-1]; return x }

func newSim(t *testing.T, seed uint64) *sim {
	return &sim{t: t, now: Time(time.Second), rand: rand.New(rand.NewPCG(seed, 1)), delay: 10 * time.Millisecond}
}

// emit puts what an end sends on the path, cut into segments of the wire.
func (s *sim) emit(from int) Emit {
	return func(o *OutSegment) {
		data := append(append([]byte{}, o.Payload[0]...), o.Payload[1]...)
		size := o.SegmentSize
		if size == 0 {
			size = max(len(data), 1)
		}
		if e := s.ends[from]; min(size, len(data)) > e.cfg.MSS-len(o.Options.Append(nil)) || o.SegmentSize > 0 && e.cfg.Superframe == 0 {
			s.t.Fatalf("got a segment of %d bytes with %d bytes of options, want at most the MSS of %d in all", min(size, len(data)), len(o.Options.Append(nil)), e.cfg.MSS)
		}
		for first := true; first || len(data) > 0; first = false {
			n := min(size, len(data))
			seg := Segment{Seq: o.Seq, Ack: o.Ack, Flags: o.Flags, Window: o.Window, Urgent: o.Urgent, Options: o.Options}
			seg.CE = o.ECT && s.rand.Float64() < s.marks
			if n < len(data) {
				seg.Flags &^= wire.FIN | wire.PSH
			}
			s.put(from, seg, data[:n])
			data = data[n:]
			o.Seq = o.Seq.Add(n)
		}
	}
}

func (s *sim) put(from int, seg Segment, data []byte) {
	s.ends[from].segments++
	if s.sends != nil {
		s.sends(from, len(data))
	}
	if s.trace {
		s.t.Logf("%9.3f ms %d> %s seq %d ack %d win %d len %d sack %v", float64(s.now-Time(time.Second))/1e6, from, seg.Flags, seg.Seq, seg.Ack, seg.Window, len(data), seg.Options.SACKBlocks())
	}
	if s.rand.Float64() < s.loss || s.largest > 0 && len(data)+len(seg.Options.Append(nil)) > s.largest {
		s.dropped++
		return
	}
	at := s.now
	if s.rate > 0 {
		cost := time.Duration(float64(len(data)+66) / s.rate * 1e9)
		if s.room > 0 && s.busy[from] > s.now && float64(s.busy[from].Sub(s.now))/1e9*s.rate > float64(s.room) {
			s.dropped++
			return
		}
		s.busy[from] = max(s.busy[from], s.now).Add(cost)
		at = s.busy[from]
	}
	at = at.Add(s.delay + time.Duration(s.rand.Float64()*float64(s.jitter)))
	s.seq++
	heap.Push(&s.queue, packet{at, s.seq, 1 - from, seg, data})
}

// connect creates both ends and delivers the SYN.
func (s *sim) connect(a, b Config) {
	a, b = a.WithDefaults(), b.WithDefaults()
	s.ends[0] = &end{Conn: Dial(&a, 1000, 7)}
	s.ends[1] = &end{}
	if s.fastOpen {
		s.ends[0].Conn = DialFastOpen(&a, 1000, 7, FastOpen{wire.FastOpenCookie{Length: 8}, b.MSS})
		s.ends[0].send = random(s.rand.IntN(5000)+1, 0)
		s.app(s.ends[0])
	}
	s.ends[0].Output(s.now, s.emit(0))
	for s.ends[1].Conn == nil {
		if !s.step(func(p *packet) {
			if p.to == 1 && s.ends[1].Conn == nil {
				if s.ends[1].Conn = Accept(&b, 5_000_000, 99, &p.s, s.now); p.s.Options.HasFastOpen {
					s.ends[1].Conn = AcceptFastOpen(&b, 5_000_000, 99, &p.s, wire.FastOpenCookie{Length: 8}, s.rand.IntN(4) > 0, s.now)
				}
			}
		}) {
			s.t.Fatal("the SYN did not arrive, want it to: the simulated network sent its last packet")
		}
	}
}

// step advances to the next event and reports whether there was one.
func (s *sim) step(unknown func(*packet)) bool {
	var next Time
	if len(s.queue) > 0 {
		next = s.queue[0].at
	}
	for _, e := range s.ends {
		if e.Conn != nil {
			next = earlier(next, e.Deadline())
		}
	}
	if next == 0 {
		return false
	}
	s.now = max(s.now, next)
	for len(s.queue) > 0 && s.queue[0].at <= s.now {
		p := heap.Pop(&s.queue).(packet)
		p.s.Payload = p.data
		if s.ends[p.to].Conn == nil {
			unknown(&p)
		} else {
			s.ends[p.to].Arrive(s.now, &p.s)
		}
	}
	for i, e := range s.ends {
		if e.Conn == nil {
			continue
		}
		if e.Deadline().due(s.now) {
			e.Tick(s.now)
		}
		s.app(e)
		e.Output(s.now, s.emit(i))
		if e.Deadline().due(s.now) {
			s.t.Fatalf("%v: a deadline is still due after Tick and Output, want a later one: %+v", e.State(), e.timers)
		}
	}
	return true
}

func (s *sim) app(e *end) {
	e.events |= e.Events()
	buf := make([]byte, 64<<10)
	for n := e.Read(s.now, buf); n > 0; n = e.Read(s.now, buf) {
		e.received.Write(buf[:n])
	}
	if e.sent < len(e.send) {
		e.sent += e.Write(s.now, e.send[e.sent:])
	}
	if e.close && e.sent == len(e.send) {
		e.CloseWrite(s.now)
	}
}

// run advances until done reports true, for at most limit of virtual time.
func (s *sim) run(limit time.Duration, done func() bool) {
	s.t.Helper()
	until := s.now.Add(limit)
	for !done() {
		if s.now > until || !s.step(func(*packet) {}) {
			s.t.Fatalf("not done after %v, want the condition within it: %s; %s", limit, s.ends[0].describe(), s.ends[1].describe())
		}
	}
}

func (e *end) describe() string {
	return fmt.Sprintf("%v (%v) sent %d received %d, una %d nxt %d wnd %d flight %+v cwnd %+v phase %d timers %+v", e.State(), e.Cause(), e.sent, e.received.Len(), e.sndUna, e.sndNxt, e.sndWnd, e.flight, e.cwnd, e.phase, e.timers)
}

func random(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func TestAllDataArrives(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*sim)
		conf   Config
		size   int
	}{
		{"a clean path", func(*sim) {}, Config{}, 3 << 20},
		{"superframes", func(*sim) {}, Config{Superframe: 65000}, 3 << 20},
		{"1 percent loss", func(s *sim) { s.loss = 0.01 }, Config{}, 1 << 20},
		{"10 percent loss", func(s *sim) { s.loss = 0.1 }, Config{}, 1 << 18},
		{"10 percent loss, superframes", func(s *sim) { s.loss = 0.1 }, Config{Superframe: 65000}, 1 << 18},
		{"reordering", func(s *sim) { s.jitter = 5 * time.Millisecond }, Config{}, 1 << 20},
		{"loss and reordering", func(s *sim) { s.jitter, s.loss = 5*time.Millisecond, 0.02 }, Config{}, 1 << 20},
		{"without SACK", func(s *sim) { s.loss = 0.02 }, Config{NoSACK: true}, 1 << 19},
		{"without timestamps and window scaling", func(s *sim) { s.loss = 0.02 }, Config{NoTimestamps: true, NoWindowScaling: true}, 1 << 19},
		{"Reno", func(s *sim) { s.loss = 0.02 }, Config{CongestionControl: Reno}, 1 << 19},
		{"a bottleneck", func(s *sim) { s.rate, s.room = 1.25e6, 64<<10 }, Config{}, 4 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t, 1)
			c.change(s)
			s.connect(c.conf, c.conf)
			for i, e := range s.ends {
				e.send, e.close = random(c.size, byte(i)), true
			}
			begun := s.now
			s.run(10*time.Minute, func() bool {
				return s.ends[0].State() == TimeWait && s.ends[1].State() == Closed || s.ends[1].State() == TimeWait && s.ends[0].State() == Closed || s.ends[0].State() == TimeWait && s.ends[1].State() == TimeWait
			})
			for i := range s.ends {
				if !bytes.Equal(s.ends[i].received.Bytes(), s.ends[1-i].send) {
					t.Errorf("end %d received %d bytes, want the %d that were sent", i, s.ends[i].received.Len(), len(s.ends[1-i].send))
				}
			}
			took := s.now.Sub(begun)
			t.Logf("%v, %.1f Mbit/s, %d segments, %d dropped", took, float64(c.size)*8/took.Seconds()/1e6, s.ends[0].segments, s.dropped)
		})
	}
}

// newLimitedMemory is a Memory of n bytes, half of which is reserved for received data.
func newLimitedMemory(n int) *limitedMemory { return &limitedMemory{left: n, reserved: n / 2} }

// endedWell reports whether an end closed without an error. One whose peer has received all and
// has left TIME-WAIT may have timed out: on a path that loses a fifth, all acknowledgments of its
// last segments can be lost for the minute of TIME-WAIT, and a closed end here sends no RST.
func endedWell(s *sim, i int) bool {
	end, peer := s.ends[i], s.ends[1-i]
	return end.Cause() == NoCause || end.Cause() == TimedOut && peer.State() == Closed &&
		peer.Cause() == NoCause && bytes.Equal(peer.received.Bytes(), end.send)
}

func TestTransfersOfAllSeedsArrive(t *testing.T) {
	for seed := range uint64(testsize.Of(t, "WEIR_TCP_SEEDS", 150)) {
		s := newSim(t, seed)
		r := s.rand
		s.delay = time.Duration(r.IntN(50)) * time.Millisecond
		s.jitter = time.Duration(r.IntN(3)) * time.Duration(r.IntN(20)) * time.Millisecond
		s.loss = float64(r.IntN(3)) * r.Float64() * 0.1
		if r.IntN(3) == 0 {
			s.rate, s.room = 1e5+r.Float64()*1e7, 3000+r.IntN(100_000)
		}
		s.marks = float64(r.IntN(2)) * r.Float64() * 0.2
		s.fastOpen = r.IntN(3) == 0
		conf := func() Config {
			return Config{ECN: ECN(r.IntN(3)), Memory: newLimitedMemory(16<<10 + r.IntN(200_000)), NoSACK: r.IntN(4) == 0, NoTimestamps: r.IntN(4) == 0, NoWindowScaling: r.IntN(4) == 0, CongestionControl: Algorithm(r.IntN(2)), Superframe: r.IntN(2) * 60000,
				MSS: 500 + r.IntN(960), ReceiveBuffer: BufferRange{2000 + r.IntN(60_000), 4000 + r.IntN(500_000)}}
		}
		a, b := conf(), conf()
		a.MTUProbing, b.MTUProbing = MTUProbing(r.IntN(3)), MTUProbing(r.IntN(3))
		if a.MTUProbing != ProbeNever && b.MTUProbing != ProbeNever && r.IntN(2) == 0 {
			s.largest = baseMSS + r.IntN(400) // a black hole
		}
		s.connect(a, b)
		for i, e := range s.ends {
			e.send, e.close = append(e.send, random(r.IntN(100_000), byte(i))...), true
		}
		s.run(2*time.Hour, func() bool {
			done := func(e *end) bool { return e.State() == TimeWait || e.State() == Closed }
			return done(s.ends[0]) && done(s.ends[1])
		})
		for i := range s.ends {
			if !endedWell(s, i) || !bytes.Equal(s.ends[i].received.Bytes(), s.ends[1-i].send) {
				t.Errorf("seed %d: end %d received %d bytes, want the %d that were sent: %s", seed, i, s.ends[i].received.Len(), len(s.ends[1-i].send), s.ends[i].describe())
			}
			for s.ends[i].State() == TimeWait {
				s.step(func(*packet) {})
			}
			if s.ends[i].recvBuf.buf != nil || s.ends[i].sendBuf.buf != nil {
				t.Errorf("seed %d: end %d holds buffers after the end, want none", seed, i)
			}
		}
	}
}
