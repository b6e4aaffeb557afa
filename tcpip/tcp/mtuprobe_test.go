package tcp

import (
	"bytes"
	"testing"
	"time"
)

// connectToSend opens a connection on a simulated path, and has its first end send.
func (s *sim) connectToSend(c Config, bytes int) (from, to *end) {
	s.connect(c, c)
	s.ends[0].send = random(bytes, 1)
	return s.ends[0], s.ends[1]
}

// On a path that silently drops large segments, all data arrives, and the MSS ends within 8 bytes
// of what the path takes (RFC 4821, sections 7.3 and 7.7).
func TestABlackHoleIsDetectedAndItsSizeFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		largest int
		loss    float64
		conf    Config
	}{
		{"default", 1300, 0, Config{}},
		{"superframes", 1300, 0, Config{Superframe: 65000}},
		{"Reno", 1440, 0, Config{CongestionControl: Reno}},
		{"without SACK", 1300, 0, Config{NoSACK: true}},
		{"without timestamps", 1300, 0, Config{NoTimestamps: true}},
		{"loss", 1300, 0.01, Config{}},
		{"a hole below the base", 700, 0, Config{}},
		{"jumbo frames", 6000, 0, Config{MSS: 8960}},
		{"jumbo superframes", 6000, 0, Config{MSS: 8960, Superframe: 65000}},
		{"probing from the start", 1300, 0, Config{MTUProbing: ProbeAlways}},
		{"probing from the start, no hole", 1460, 0, Config{MTUProbing: ProbeAlways, Superframe: 65000}},
		{"probing jumbo frames from the start", 8960, 0, Config{MTUProbing: ProbeAlways, MSS: 8960}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSim(t, 1)
			s.largest, s.loss, s.rate = c.largest, c.loss, 100e6/8
			a, b := s.connectToSend(c.conf, 10<<20)
			begun := s.now
			s.run(10*time.Minute, func() bool { return b.received.Len() == len(a.send) })
			if !bytes.Equal(b.received.Bytes(), a.send) {
				t.Error("the peer received other bytes than were sent")
			}
			if a.mss > c.largest || a.mss <= c.largest-minSearchRange {
				t.Errorf("got an MSS of %d, want at most %d less than %d (RFC 4821, 7.3): %+v", a.mss, minSearchRange, c.largest, a.search)
			}
			t.Logf("%v, %d segments, %d dropped", s.now.Sub(begun), a.segments, s.dropped)
		})
	}
}

// Lost probes are not a sign of congestion: a path that loses nothing else never reduces the window
// (RFC 4821, section 7.6.2).
func TestLostProbesDoNotReduceTheCongestionWindow(t *testing.T) {
	for _, conf := range []Config{{}, {Superframe: 65000}, {CongestionControl: Reno, NoTimestamps: true}} {
		conf.MTUProbing, conf.SendBuffer, conf.ReceiveBuffer = ProbeAlways, BufferRange{1 << 20, 1 << 20}, BufferRange{100_000, 100_000}
		s := newSim(t, 1)
		s.largest = 1300
		a, b := s.connectToSend(conf, 3<<20)
		least, window := a.cwnd.size, 0
		s.run(time.Minute, func() bool {
			if a.phase == phaseOpen { // a recovery restores it
				window = max(window, a.cwnd.size)
				least = min(least, a.cwnd.size-window)
			}
			return b.received.Len() == len(a.send)
		})
		if s.dropped == 0 || least < 0 || a.rtoBackoff > 0 {
			t.Errorf("%d probes lost: the window shrank by %d bytes, want 0 (RFC 4821, 7.6.2)", s.dropped, -least)
		}
	}
}

// An outage looks like a black hole. When it ends, one probe restores the MSS.
func TestTheMSSIsRestoredAfterAnOutage(t *testing.T) {
	s := newSim(t, 1)
	a, b := s.connectToSend(Config{}, 8<<20)
	s.run(time.Minute, func() bool { return b.received.Len() > 1<<20 })
	s.loss = 1
	s.run(time.Minute, func() bool { return a.mss == minSearchMSS })
	s.loss = 0
	s.run(time.Minute, func() bool { return b.received.Len() == len(a.send) })
	if a.mss != 1460 || a.search != nil {
		t.Errorf("got an MSS of %d after the outage, want 1460: %+v", a.mss, a.search)
	}
}

// Without a black hole nothing is probed, and ten timeouts of small segments are none.
func TestSmallSegmentsThatTimeOutAreNoBlackHole(t *testing.T) {
	for _, mode := range []MTUProbing{ProbeOnBlackHole, ProbeNever} {
		s := newSim(t, 1)
		a, b := s.connectToSend(Config{MTUProbing: mode}, 1<<20)
		s.run(time.Minute, func() bool { return b.received.Len() == len(a.send) })
		size := 100
		if mode == ProbeNever {
			size = 5000
		}
		a.send, s.loss = append(a.send, random(size, 2)...), 1
		s.app(a)
		a.Output(s.now, s.emit(0))
		s.run(10*time.Minute, func() bool { return a.rtoBackoff == 8 })
		if a.search != nil || a.mss != 1460 {
			t.Errorf("mode %d: got an MSS of %d and a search %+v, want 1460 and none", mode, a.mss, a.search)
		}
	}
}

// Ten minutes after a search the path is probed again: its MTU may have grown (RFC 4821, section
// 7.3).
func TestThePathIsProbedAgainAfterTenMinutes(t *testing.T) {
	s := newSim(t, 1)
	s.largest = 1300
	a, b := s.connectToSend(Config{}, 3<<20)
	s.run(time.Minute, func() bool { return b.received.Len() == len(a.send) })
	low := a.mss
	if a.search == nil || a.search.restartAt == 0 {
		t.Fatalf("got the search %+v, want a complete one", a.search)
	}
	for _, c := range []struct {
		wait time.Duration
		want int
	}{{searchInterval - time.Minute, low}, {time.Minute, 1460}} {
		s.largest = 0
		s.now = s.now.Add(c.wait)
		a.send = append(a.send, random(1<<20, 2)...)
		s.app(a)
		a.Output(s.now, s.emit(0))
		s.run(30*time.Second, func() bool { return b.received.Len() == len(a.send) })
		if a.mss != c.want {
			t.Errorf("after %v more: got an MSS of %d, want %d", c.wait, a.mss, c.want)
		}
	}
}

// A Packet Too Big that arrives while a probe is in flight sets the next size to probe, and the
// data of the probe is retransmitted (RFC 8899, section 4.6).
func TestAPTBEndsAProbe(t *testing.T) {
	s := newSim(t, 1)
	s.largest = 1300
	a, b := s.connectToSend(Config{MTUProbing: ProbeAlways}, 1<<20)
	s.run(time.Minute, func() bool { return a.search != nil && a.search.probe.size == 1460 })
	a.LimitSegments(s.now, 1300+20)
	if a.search.probe.size != 0 || a.flight.lostBytes != 1448 || a.mss != baseMSS {
		t.Errorf("got the probe %+v and %d lost bytes, want none and 1448", a.search.probe, a.flight.lostBytes)
	}
	a.Output(s.now, s.emit(0))
	s.run(time.Minute, func() bool { return b.received.Len() == len(a.send) })
	if a.mss != 1300 || s.dropped != 1 || !bytes.Equal(b.received.Bytes(), a.send) {
		t.Errorf("got an MSS of %d and %d lost segments, want 1300 and 1", a.mss, s.dropped)
	}
}
